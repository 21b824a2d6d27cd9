//! The host: describes plugins, and makes their tools and providers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use contract::policy::Mode;
use contract::provider::Provider;
use contract::python::{PythonHost, PythonOffer, PythonTool, SharedPlugin};
use contract::tool::Tool;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::describe;
use crate::description::Described;
use crate::provider::{ProviderSettings, WorkerProvider};
use crate::session::Bounds;
use crate::settings::{Missing, Settings};
use crate::state::HostState;
use crate::tool::WorkerTool;
use crate::worker::WorkerError;
use crate::workers::Workers;

/// How long a worker may take for an answer to a dialect.
const QUESTION_TIME: Duration = Duration::from_mins(1);

/// Runs the Python of plugins in confined workers. Clones share them.
#[derive(Clone)]
pub struct Host(Arc<Workers>);

impl Host {
    /// Makes the host. Starts and reads nothing.
    pub fn new(settings: Settings) -> Self {
        Self(Arc::new(Workers::new(HostState::new(settings))))
    }

    /// Descriptions from earlier runs; none for a plugin that would have to be asked.
    /// Starts no process.
    pub fn described(&self, plugins: &[SharedPlugin]) -> Vec<Option<Described>> {
        let cached = describe::cached(&self.0.host, plugins);
        cached.into_iter().map(|cached| cached.described).collect()
    }

    /// Describes plugins: from the cache, else by asking their Python, several at once.
    pub async fn describe(&self, plugins: &[SharedPlugin], missing: Missing) -> Vec<Described> {
        describe::describe_all(&self.0, plugins, missing).await
    }

    /// Describes plugins like [`Host::describe`], but waits less than half a second. Those that are
    /// described later count as changed tools.
    pub async fn describe_soon(
        &self,
        plugins: &[SharedPlugin],
        missing: Missing,
    ) -> Vec<Described> {
        describe::describe_soon(&self.0, plugins, missing).await
    }

    /// The tools of a plugin.
    pub fn tools(&self, plugin: &SharedPlugin, offer: &PythonOffer) -> Vec<Arc<dyn Tool>> {
        offer.tools.iter().map(|tool| self.tool(Arc::clone(plugin), tool.clone())).collect()
    }

    /// A provider of a plugin. It is made in the worker when it is first asked.
    pub fn provider(&self, plugin: &SharedPlugin, settings: ProviderSettings) -> Arc<dyn Provider> {
        let (worker, apart) = (self.0.worker(plugin), self.0.worker_that_answers(plugin));
        Arc::new(WorkerProvider::new(settings, worker, apart))
    }

    /// Sets the mode. Workers that may do less in it are replaced at their next call.
    pub fn set_mode(&self, mode: Mode) {
        self.0.host.set_mode(mode);
    }

    /// Like the next function, which forgets it.
    pub fn has_changed_tool(&self) -> bool {
        self.0.host.has_changed_tool()
    }

    /// Returns true if a tool describes itself in another way since the last time.
    pub fn take_changed_tool(&self) -> bool {
        self.0.host.take_changed_tool()
    }

    /// Ends all workers; each gets a moment, all of them together.
    pub async fn shutdown(&self) {
        self.0.shutdown().await;
    }
}

#[async_trait]
impl PythonHost for Host {
    async fn describe(&self, plugins: &[SharedPlugin]) -> Vec<PythonOffer> {
        let described = describe::describe_all(&self.0, plugins, Missing::Report).await;
        described.into_iter().map(|one| one.offer).collect()
    }

    fn tool(&self, plugin: SharedPlugin, tool: PythonTool) -> Arc<dyn Tool> {
        Arc::new(WorkerTool::new(tool, self.0.worker(&plugin), plugin))
    }

    async fn ask(&self, plugin: &SharedPlugin, what: &str, about: Value) -> Result<Value, String> {
        let (worker, cancel) = (self.0.worker(plugin), CancellationToken::new());
        let bounds = Bounds { time: worker.time().min(QUESTION_TIME), cancel: &cancel };
        let answer = worker.ask(what, &about, bounds).await.map_err(WorkerError::words)?;
        serde_json::from_str(answer.get()).map_err(|error| format!("it answered nonsense: {error}"))
    }

    fn retain(&self, adapter: &str, plugins: &[SharedPlugin]) {
        self.0.retain(adapter, plugins);
    }

    async fn stop(&self, plugin: &SharedPlugin) {
        self.0.worker(plugin).stop().await;
    }

    fn mode(&self) -> Mode {
        self.0.host.exact_mode()
    }

    async fn interpreter(&self) -> Option<(PathBuf, Vec<PathBuf>)> {
        let host = &self.0.host;
        if host.settings.python.is_some() {
            return None;
        }
        let interpreter = host.shared().await.ok()?.interpreter;
        let directories = interpreter.directories(host.settings.surroundings.home.as_deref());
        Some((interpreter.program, directories))
    }

    async fn shutdown(&self) {
        Self::shutdown(self).await;
    }
}
