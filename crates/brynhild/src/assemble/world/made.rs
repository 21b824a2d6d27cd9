//! The lazily created parts of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use contract::policy::Mode;
use contract::sandbox::Sandbox;
use files::changes::ChangeTracker;
use mcp::ClientRegistry;
use plugins::claude::{AgentFile, Expansions};
use plugins::directories::Directories;
use tokio::sync::OnceCell;

use crate::assemble::dialects::claude::ClaudeSet;
use crate::assemble::plugin_set::PluginSet;
use crate::assemble::role::Chosen;
use crate::assemble::secrets::Secrets;
use crate::assemble::trust::process_check::TrustedRoots;
use crate::assemble::workers::{HostedPython, Workers};

/// The parts, each made on first use.
#[derive(Default)]
pub(crate) struct Made {
    /// The user's own directory, where something can be kept in it.
    pub(super) keeping: OnceLock<Option<PathBuf>>,
    /// What lies in directories of plugins.
    pub(crate) directories: OnceLock<Arc<Directories>>,
    pub(super) plugins: OnceLock<PluginSet>,
    pub(super) claude: OnceLock<ClaudeSet>,
    /// The commands that were typed.
    pub(crate) expansions: OnceLock<Arc<Expansions>>,
    pub(super) workers: OnceCell<Workers>,
    pub(super) python: OnceLock<HostedPython>,
    /// The directories of packages of the interpreter for plugins.
    pub(crate) sites: OnceLock<Vec<PathBuf>>,
    /// The role that is played.
    pub(crate) role: OnceLock<Chosen>,
    /// The agent that answers, where a file describes it.
    pub(crate) agent: OnceLock<Arc<AgentFile>>,
    /// The provider and the model that were typed, where a role has put its own in their place.
    pub(crate) typed: OnceLock<(Option<String>, Option<String>)>,
    /// The directories that are used because the user trusts the project.
    pub(crate) trusted_roots: OnceLock<Arc<TrustedRoots>>,
    /// Starts processes.
    pub(crate) sandbox: OnceLock<Arc<dyn Sandbox>>,
    /// The mode of the conversation that goes on, whatever the configuration says meanwhile.
    pub(crate) mode: OnceLock<Mode>,
    /// The clients that we serve, where we do.
    pub(crate) clients: OnceLock<Arc<ClientRegistry>>,
    /// The background commands of the session.
    pub(crate) jobs: OnceLock<Arc<tools::jobs::Jobs>>,
    /// The keys that no process may see.
    pub(crate) secrets: OnceLock<Secrets>,
    /// The change trackers of workspaces.
    pub(super) trackers: Mutex<BTreeMap<PathBuf, Arc<ChangeTracker>>>,
    /// The warnings that are said once.
    pub(super) warned: Mutex<BTreeSet<String>>,
}

impl Made {
    /// The change tracker of a workspace: undo and the sandbox share it.
    pub(crate) fn tracker(&self, root: &Path) -> Arc<ChangeTracker> {
        let mut trackers = self.trackers.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || Arc::new(ChangeTracker::new(root.to_owned()));
        Arc::clone(trackers.entry(root.to_owned()).or_insert_with(make))
    }
}
