//! The parts of a run that are created on first use: plugins, the Python host, the sandbox.

pub mod workers;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use config::secrets::Secrets;
use contract::provider::ReasoningLevel;
use contract::sandbox::Sandbox;
use files::changes::ChangeTracker;
use mcp::ClientRegistry;
use plugins::claude::Expansions;
use plugins::dialects::{self, Loaded};
use plugins::directories::Directories;
use plugins::env::PluginCache;
use plugins::offer::Contributions;
use plugins::plugin_set::PluginSet;
use plugins::problem::Problem as Fault;
use python_host::{Host, Missing};
use tokio::sync::OnceCell;
use trust::process_check::TrustedRoots;

use crate::exit::Problem;
use crate::output;
use crate::run_context::RunContext;
use workers::{HostedPython, Workers};

/// A run with its lazily created parts. Clones share the parts.
#[derive(Clone)]
pub struct Assembly {
    run: RunContext,
    /// Services that outlive a reload.
    pub services: Arc<SharedServices>,
    pub(super) parts: Arc<PluginParts>,
}

impl Deref for Assembly {
    type Target = RunContext;

    fn deref(&self) -> &RunContext {
        &self.run
    }
}

impl DerefMut for Assembly {
    fn deref_mut(&mut self) -> &mut RunContext {
        &mut self.run
    }
}

/// Services that a conversation keeps when its plugins and its configuration are reloaded.
#[derive(Default)]
pub struct SharedServices {
    pub(crate) sandbox: OnceLock<Arc<dyn Sandbox>>,
    /// The MCP servers that an editor brings.
    pub editor_servers: OnceLock<mcp::config::Source>,
    trusted_roots: OnceLock<Arc<TrustedRoots>>,
    directories: OnceLock<Arc<Directories>>,
    expansions: OnceLock<Arc<Expansions>>,
    jobs: OnceLock<Arc<tools::jobs::Jobs>>,
    pub clients: OnceLock<Arc<ClientRegistry>>,
    trackers: Mutex<BTreeMap<PathBuf, Arc<ChangeTracker>>>,
    warned: Mutex<BTreeSet<String>>,
    /// Set in conversations, which tools of plugins may join when they are described.
    pub has_late_tools: OnceLock<()>,
    /// The reasoning effort that the user set in this session.
    pub(crate) effort: Mutex<Option<ReasoningLevel>>,
}

impl SharedServices {
    pub(crate) fn in_same_sandbox(&self) -> Self {
        let (sandbox, trusted_roots) = (self.sandbox.clone(), self.trusted_roots.clone());
        Self { sandbox, trusted_roots, ..Self::default() }
    }

    /// The change tracker of a workspace: undo and the sandbox share it.
    pub(crate) fn tracker(&self, root: &Path) -> Arc<ChangeTracker> {
        let mut trackers = self.trackers.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || Arc::new(ChangeTracker::new(root.to_owned()));
        Arc::clone(trackers.entry(root.to_owned()).or_insert_with(make))
    }
}

#[derive(Default)]
pub(super) struct PluginParts {
    cache: PluginCache,
    /// The reason why plugins could not run processes.
    failure: Mutex<Option<Problem>>,
    python: OnceLock<HostedPython>,
    workers: OnceCell<Workers>,
    pub(super) secrets: OnceLock<Secrets>,
    /// Problems of plugins that wait for [`Assembly::release_problems`]; none if they are not held.
    held_problems: Mutex<Option<Vec<Fault>>>,
}

impl Assembly {
    /// A run whose parts are not created yet.
    pub fn new(run: RunContext) -> Self {
        Self::with_services(run, Arc::default())
    }

    pub(crate) fn with_services(run: RunContext, services: Arc<SharedServices>) -> Self {
        Self { run, services, parts: Arc::default() }
    }

    /// A copy with plugins and a Python host of its own, which end with its conversation.
    #[must_use]
    pub fn separate(&self) -> Self {
        let services = Arc::new(self.services.in_same_sandbox());
        Self::with_services(self.run.clone(), services)
    }

    /// The run without its parts.
    pub fn into_run(self) -> RunContext {
        self.run
    }

    pub(crate) async fn adopt(&self, host: Host) -> Result<(), Problem> {
        self.use_python(HostedPython::new(self, host)?);
        self.workers(Missing::Install).await.map(|_| ())
    }

    /// Sets the Python host, unless there is one.
    pub fn use_python(&self, python: HostedPython) {
        self.parts.python.get_or_init(|| python);
    }

    pub(crate) fn trusted_roots(&self) -> &Arc<TrustedRoots> {
        self.services.trusted_roots.get_or_init(Arc::default)
    }

    /// The listings of plugin directories, as they were when first read.
    pub(crate) fn directories(&self) -> &Arc<Directories> {
        self.services.directories.get_or_init(|| {
            let file =
                self.loaded.config_dir.as_ref().map(|dir| dir.join("cache/directories.json"));
            let project = self.root().ok().map(Path::to_owned);
            Arc::new(Directories::load(file.filter(|_| !self.global.safe), project))
        })
    }

    /// The plugins of this state of the configuration, found on first use.
    pub(crate) fn plugin_cache(&self) -> &PluginCache {
        &self.parts.cache
    }

    /// The reason why plugins could not run processes, if one asked for it.
    pub(crate) fn plugin_failure(&self) -> MutexGuard<'_, Option<Problem>> {
        self.parts.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plugins of this run. The first call finds them and warns about broken ones.
    pub fn plugins(&self) -> &PluginSet {
        plugins::dialects::plugins(&self.plugin_env())
    }

    /// The Python host. The first call starts it.
    pub fn python(&self) -> Result<&HostedPython, Problem> {
        if let Some(python) = self.parts.python.get() {
            return Ok(python);
        }
        let python = workers::host(self)?;
        Ok(self.parts.python.get_or_init(|| python))
    }

    pub(crate) fn warn_once(&self, text: &str) {
        let mut warned = self.services.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.insert(text.to_owned()) {
            output::warning(text);
        }
    }

    /// Warns about a fault of a plugin's file, now or when held problems are released.
    pub(crate) fn report_plugin(&self, problem: &Fault) {
        match &mut *self.held_problems() {
            Some(held) => held.push(problem.clone()),
            None => output::warning(&format!("{problem} ({})", problem.hint)),
        }
    }

    /// Holds back warnings about plugins' files until it is known which of them are of interest.
    pub fn hold_problems(&self) {
        self.held_problems().get_or_insert_default();
    }

    /// Warns about the held problems that are of interest, and drops the others.
    pub fn release_problems(&self, is_wanted: impl Fn(&Path) -> bool) {
        let held = self.held_problems().take().unwrap_or_default();
        for problem in held.iter().filter(|problem| is_wanted(&problem.path)) {
            self.report_plugin(problem);
        }
    }

    fn held_problems(&self) -> MutexGuard<'_, Option<Vec<Fault>>> {
        self.parts.held_problems.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files of active plugins and of a trusted project. The first call finds them and warns
    /// about broken ones.
    pub fn loaded_plugins(&self) -> impl Iterator<Item = &Loaded> {
        dialects::loaded(&self.plugin_env()).into_iter()
    }

    /// The lines that templates of commands add to prompts.
    pub fn expansions(&self) -> &Arc<Expansions> {
        self.services.expansions.get_or_init(Arc::default)
    }

    /// The background commands of the run.
    pub fn jobs(&self) -> &Arc<tools::jobs::Jobs> {
        self.services.jobs.get_or_init(Arc::default)
    }

    /// What the active plugins contribute as text files.
    pub fn contributions(&self) -> Contributions<'_> {
        let mut contributions = self.plugins().contributions();
        contributions.skills.extend(self.loaded_plugins().flat_map(|it| &it.skills));
        contributions
    }

    /// The workers of Python plugins. The first call asks the plugins what they offer.
    pub async fn workers(&self, missing: Missing) -> Result<&Workers, Problem> {
        self.parts.workers.get_or_try_init(|| Workers::ask(self, missing)).await
    }

    pub(crate) fn known_workers(&self) -> Option<&Workers> {
        self.parts.workers.get()
    }
}
