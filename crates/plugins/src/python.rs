//! Runs the Python of plugins: one confined process for each plugin, started when it is needed,
//! beside descriptions that are kept so that a start of the program runs no Python.
//!
//! What a plugin may do is what the user grants it. Nothing here decides whether a call may run.

mod cache;
mod describe;
pub(crate) mod description;
mod dialect;
#[cfg(test)]
pub(crate) mod fixture;
mod health;
mod host;
mod interpreter;
mod job;
pub(crate) mod lines;
mod payload;
mod provider;
mod reply;
pub(crate) mod session;
pub(crate) mod tool;
mod undeclared;
mod venv;
pub(crate) mod wire;
pub(crate) mod worker;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::files::surroundings::Surroundings;
use contract::policy::Mode;
use contract::provider::Provider;
use contract::sandbox::Sandbox;
use contract::tool::Tool;
use foldhash::HashMap;
use serde_json::Value;

use crate::directories::Directories;
use crate::output::Listener;
use crate::plugin::{Dialect, NetworkWish, Plugin};
pub use description::{Described, ProviderDescription, ToolDescription};
use host::Host;
pub use provider::ProviderSettings;
use provider::PythonProvider;
use tool::PythonTool;
use worker::Worker;

/// What the host needs to know.
#[derive(Clone)]
pub struct HostSettings {
    /// A directory of ours, for what is kept between runs.
    pub state: PathBuf,
    /// The directory in which each plugin has one of its own.
    pub data: PathBuf,
    /// Starts processes.
    pub sandbox: Arc<dyn Sandbox>,
    /// Whether it confines them; a worker that it does not has the user's home.
    pub is_confined: bool,
    /// Where workers find themselves.
    pub surroundings: Surroundings,
    /// The mode at the beginning.
    pub mode: Mode,
    /// The interpreter for plugins without a venv; none for `python3`.
    pub python: Option<PathBuf>,
    /// The configuration that holds, without secrets.
    pub config: Value,
    /// The provider and the model that answer.
    pub model: Option<(String, String)>,
    /// Hears what plugins print.
    pub on_output: Listener,
    /// Hears what is done for a plugin and takes time.
    pub on_progress: Listener,
}

/// What to do about declared packages that are not installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Install them; that may take minutes.
    Install,
    /// Say so.
    Report,
}

/// The workers of all plugins. Clones share them.
#[derive(Clone)]
pub struct Hosts(Arc<Inner>);

struct Inner {
    host: Arc<Host>,
    workers: Mutex<HashMap<Seat, Arc<Worker>>>,
    /// What the files of each plugin were like when they were last looked at.
    stamps: Mutex<HashMap<Key, String>>,
    /// What the plugins of LMAO's directories offered when they were last described.
    offers: Mutex<HashMap<Key, Offer>>,
}

/// What a worker is known by. Plugins of one directory may have two: one that may write the workspace,
/// and one that may not.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Seat {
    name: String,
    /// A path, as text: paths are hashed part by part, which costs a start with many plugins.
    root: OsString,
    opens_workspace: bool,
    /// Whether it serves a provider alone.
    answers: bool,
}

impl Seat {
    fn of(plugin: &Plugin) -> Self {
        let is_shared = plugin.manifest.dialect == Dialect::Lmao;
        let mut granted = plugin.settings.grants.write.iter();
        let opens_workspace = is_shared && granted.any(|path| path == Path::new("."));
        let root = plugin.root.clone().into_os_string();
        Self { name: plugin.name().to_owned(), root, opens_workspace, answers: false }
    }
}

impl Hosts {
    /// Makes the host. Starts and reads nothing.
    pub fn new(settings: HostSettings) -> Self {
        let host = Arc::new(Host::new(settings));
        Self(Arc::new(Inner {
            host,
            workers: Mutex::default(),
            stamps: Mutex::default(),
            offers: Mutex::default(),
        }))
    }

    /// What is kept about plugins from earlier runs; none for one that would have to be asked.
    /// Starts no process.
    pub fn described(&self, plugins: &[&Plugin]) -> Vec<Option<Described>> {
        let kept = describe::kept(&self.0.host, plugins, Missing::Report, &Directories::default());
        kept.into_iter().map(|kept| kept.described).collect()
    }

    /// Describes plugins: from what is kept, else by asking their Python, several at once.
    pub async fn describe(&self, plugins: &[&Plugin], missing: Missing) -> Vec<Described> {
        self.describe_seen(plugins, missing, &Directories::default()).await
    }

    /// The same for whoever has looked at the directories of plugins already.
    pub async fn describe_seen(
        &self,
        plugins: &[&Plugin],
        missing: Missing,
        directories: &Directories,
    ) -> Vec<Described> {
        describe::all(self, plugins, missing, directories).await
    }

    /// The tools of a plugin.
    pub fn tools(&self, plugin: &Plugin, described: &Described) -> Vec<Arc<dyn Tool>> {
        let tool = |description: &ToolDescription| {
            let tool = PythonTool::new(description, self.worker(plugin), plugin.name());
            Arc::new(tool) as Arc<dyn Tool>
        };
        described.tools.iter().map(tool).collect()
    }

    /// A provider of a plugin. It is made in the worker when it is first asked.
    pub fn provider(&self, plugin: &Plugin, settings: ProviderSettings) -> Arc<dyn Provider> {
        let worker = self.worker(plugin);
        let apart = (plugin.settings.grants.network != NetworkWish::None).then(|| {
            let seat = Seat { answers: true, ..Seat::of(plugin) };
            self.seated(seat, plugin, Worker::that_answers)
        });
        let apart = apart.unwrap_or_else(|| Arc::clone(&worker));
        Arc::new(PythonProvider::new(settings, worker, apart))
    }

    /// Says which plugins of our own count from now on; nothing of others runs any more.
    pub fn set_active(&self, plugins: &[&Plugin]) {
        self.0.host.set_active(plugins);
        self.keep(Dialect::Brynhild, plugins);
    }

    /// Ends the workers of a dialect whose plugins are not among these, and those that serve a
    /// provider with a network which its plugin has no more.
    pub(crate) fn keep(&self, dialect: Dialect, plugins: &[&Plugin]) {
        let is_kept = |seat: &Seat, worker: &Worker| {
            worker.plugin.manifest.dialect != dialect
                || plugins.iter().any(|plugin| {
                    let is_same = plugin.name() == seat.name && plugin.root == *seat.root;
                    let has_network = plugin.settings.grants.network != NetworkWish::None;
                    is_same && (has_network || !seat.answers)
                })
        };
        self.workers().retain(|seat, worker| {
            let is_kept = is_kept(seat, worker);
            if !is_kept {
                worker.retire();
            }
            is_kept
        });
    }

    /// Sets the mode. Workers that may do less in it are replaced at their next call.
    pub fn set_mode(&self, mode: Mode) {
        self.0.host.set_mode(mode);
    }

    /// The mode that is in force.
    pub fn mode(&self) -> Mode {
        self.0.host.exact_mode()
    }

    /// Tools that describe themselves in another way since they ran, to take the place of those of
    /// the same name.
    pub fn take_refreshed(&self) -> Vec<Arc<dyn Tool>> {
        self.0.host.take_refreshed()
    }

    /// Closes down all workers; each gets a moment, all of them together.
    pub async fn shutdown(&self) {
        let workers: Vec<Arc<Worker>> = self.workers().drain().map(|(_, worker)| worker).collect();
        futures::future::join_all(workers.iter().map(|worker| worker.stop())).await;
    }

    /// The worker of a plugin as it is: another one where its files or settings have changed.
    pub(crate) fn worker(&self, plugin: &Plugin) -> Arc<Worker> {
        self.seated(Seat::of(plugin), plugin, Worker::new)
    }

    fn seated(
        &self,
        key: Seat,
        plugin: &Plugin,
        make: fn(Arc<Host>, Plugin) -> Worker,
    ) -> Arc<Worker> {
        let mut workers = self.workers();
        match workers.get(&key) {
            Some(worker) if worker.plugin == *plugin => Arc::clone(worker),
            _ => {
                let worker = Arc::new(make(Arc::clone(&self.0.host), plugin.clone()));
                if let Some(other) = workers.insert(key, Arc::clone(&worker)) {
                    other.retire();
                }
                worker
            }
        }
    }

    /// Ends a worker whose plugin's files have changed, so that the next call finds them.
    pub(crate) fn settle(&self, plugin: &Plugin, stamp: &str) {
        let before = self.remember(plugin, stamp);
        if before.is_some_and(|before| before != stamp) {
            self.workers_of(plugin).iter().for_each(|worker| worker.retire());
        }
    }

    /// Ends the workers of LMAO's plugins where these offer something else than what the workers
    /// have loaded.
    pub(crate) fn compare(&self, plugin: &Plugin, described: &Described) {
        let before = self.remember_offer(plugin, described);
        let now = (&described.tools, &described.offer);
        if before.is_some_and(|(tools, offer)| (&tools, &offer) != now) {
            self.workers_of(plugin).iter().for_each(|worker| worker.retire());
        }
    }

    /// Takes note of what LMAO's plugins offer. Returns what they offered before.
    pub(crate) fn remember_offer(&self, plugin: &Plugin, described: &Described) -> Option<Offer> {
        // What could not be described says nothing of what is loaded.
        described.offer.get("lmao")?;
        let now = (described.tools.clone(), described.offer.clone());
        let mut offers = self.0.offers.lock().unwrap_or_else(PoisonError::into_inner);
        offers.insert(key(plugin), now)
    }

    /// Whether a process serves a plugin.
    pub(crate) fn is_served(&self, plugin: &Plugin) -> bool {
        self.workers_of(plugin).iter().any(|worker| worker.is_running())
    }

    fn workers_of(&self, plugin: &Plugin) -> Vec<Arc<Worker>> {
        let of_plugin = |seat: &Seat| seat.name == plugin.name() && seat.root == plugin.root;
        let workers = self.workers();
        let own = workers.iter().filter(|(seat, _)| of_plugin(seat));
        own.map(|(_, worker)| Arc::clone(worker)).collect()
    }

    /// The directory for what is kept between runs.
    pub(crate) fn state(&self) -> &Path {
        &self.0.host.settings.state
    }

    /// The program behind `python3`, and the directories that it needs; none if another one is
    /// configured for plugins, or there is none.
    pub(crate) async fn python(&self) -> Option<(PathBuf, Vec<PathBuf>)> {
        let host = &self.0.host;
        if host.settings.python.is_some() {
            return None;
        }
        let interpreter = host.shared().await.ok()?.interpreter;
        let directories = interpreter.directories(host.settings.surroundings.home.as_deref());
        Some((interpreter.program, directories))
    }

    /// Takes note of what a plugin's files are like. Returns what they were like before.
    pub(crate) fn remember(&self, plugin: &Plugin, stamp: &str) -> Option<String> {
        let mut stamps = self.0.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        stamps.insert(key(plugin), stamp.to_owned())
    }

    fn workers(&self) -> MutexGuard<'_, HashMap<Seat, Arc<Worker>>> {
        self.0.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What plugins are told apart by while the program runs: name and directory.
type Key = (String, OsString);

/// The tools of plugins, and what else they offer.
type Offer = (Vec<ToolDescription>, Value);

fn key(plugin: &Plugin) -> Key {
    (plugin.name().to_owned(), plugin.root.clone().into_os_string())
}

/// Writes the packages that plugins import into a directory, so that their authors can test without
/// this program. Returns the files.
pub fn install_stubs(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    payload::write_stubs(directory)
}

#[cfg(test)]
mod tests;
