//! The Python of plugins: the interface between a plugin dialect and its host. Names no dialect.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::policy::Mode;
use crate::sandbox::{Network, Profile};
use crate::tool::{Tool, ToolSpec};

/// A plugin's Python, as its dialect presents it to the host.
pub trait PythonPlugin: Send + Sync {
    /// The facts that decide about its worker; other facts need another worker.
    fn facts(&self) -> &PythonFacts;
    /// The data for its adapter when a worker starts.
    fn initialize(&self) -> Map<String, Value>;
    /// The confinement of its workers in a mode, and messages about grants that cannot be given.
    fn profile(&self, mode: Mode) -> (Profile, Vec<String>);
    /// Hashes of the files that its description and its worker depend on; none if there are too many.
    fn files(&self) -> Option<[String; 2]>;
    /// The setting that allows what a failure says the sandbox refused.
    fn advice(&self, failure: &str, mode: Mode) -> Option<String>;
}

/// The facts that decide about the worker of a plugin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PythonFacts {
    pub name: String,
    /// Tells apart workers that serve the same plugin at the same time.
    pub worker: &'static str,
    pub root: PathBuf,
    /// A directory of its own that lasts.
    pub data: PathBuf,
    pub adapter: &'static str,
    /// The pip requirements of its manifest, and files that list more.
    pub requirements: (Vec<String>, Vec<PathBuf>),
    pub venv: Option<PathBuf>,
    /// True if any package of the interpreter may change what it offers.
    pub needs_packages: bool,
    /// How long a call may take; none for the usual time.
    pub timeout: Option<Duration>,
    /// True if it may write outside of `data`.
    pub may_write: bool,
    pub network: Network,
    /// Changes with all else that its description and its worker depend on.
    pub identity: String,
}

/// The offer of a plugin's Python: tools, and whatever else its adapter reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PythonOffer {
    pub plugin: String,
    pub tools: Vec<PythonTool>,
    pub rest: Value,
    pub faults: Vec<PythonFault>,
}

/// A tool: its name in the worker, and its spec, which may change from call to call if it is `live`.
#[derive(Clone, Debug, PartialEq)]
pub struct PythonTool {
    pub key: String,
    pub spec: ToolSpec,
    pub live: bool,
}

/// A fault of a plugin, and what to do about it.
#[derive(Clone, Debug, PartialEq)]
pub struct PythonFault {
    pub path: PathBuf,
    pub what: String,
    pub hint: String,
}

/// A plugin's Python, shared.
pub type SharedPlugin = Arc<dyn PythonPlugin>;

/// Runs the Python of plugins in confined workers.
#[async_trait]
pub trait PythonHost: Send + Sync {
    /// Describes plugins, from the cache or by loading them. Installs no packages.
    async fn describe(&self, plugins: &[SharedPlugin]) -> Vec<PythonOffer>;
    /// A tool of a plugin.
    fn tool(&self, plugin: SharedPlugin, tool: PythonTool) -> Arc<dyn Tool>;
    /// Asks the worker of a plugin something short.
    async fn ask(&self, plugin: &SharedPlugin, what: &str, about: Value) -> Result<Value, String>;
    /// Ends the workers of an adapter's plugins other than these, and starts them no more.
    fn retain(&self, adapter: &str, plugins: &[SharedPlugin]);
    /// Ends the worker of a plugin.
    async fn stop(&self, plugin: &SharedPlugin);
    /// The mode in force.
    fn mode(&self) -> Mode;
    /// The program behind `python3`, and the directories that it needs.
    async fn interpreter(&self) -> Option<(PathBuf, Vec<PathBuf>)>;
    /// Ends all workers.
    async fn shutdown(&self);
}
