//! The workers of all plugins, and what is known of the files and offers that they have loaded.

use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contract::python::{PythonFacts, PythonOffer, SharedPlugin};
use contract::sandbox::Network;
use foldhash::HashMap;
use tokio_util::task::AbortOnDropHandle;

use crate::adapter::adapter;
use crate::state::{HostState, plugin_key};
use crate::worker::Worker;

/// The workers of all plugins.
pub(crate) struct Workers {
    pub(crate) host: Arc<HostState>,
    seats: Mutex<HashMap<WorkerKey, Arc<Worker>>>,
    /// Hashes of each plugin's files when they were last looked at.
    file_hashes: Mutex<HashMap<String, String>>,
    /// The offers of plugins that share a worker when they were last described.
    offers: Mutex<HashMap<String, PythonOffer>>,
    /// Describes plugins that nobody waits for.
    late: Mutex<Option<AbortOnDropHandle<()>>>,
}

/// Names a worker.
#[derive(Clone, PartialEq, Eq, Hash)]
struct WorkerKey {
    name: String,
    /// A path, as text: paths are hashed part by part, which costs a start with many plugins.
    root: OsString,
    worker: &'static str,
    /// True if it serves a provider alone.
    answers: bool,
}

impl WorkerKey {
    fn of(plugin: &PythonFacts) -> Self {
        let root = plugin.root.clone().into_os_string();
        Self { name: plugin.name.clone(), root, worker: plugin.worker, answers: false }
    }

    fn is_of(&self, plugin: &PythonFacts) -> bool {
        self.name == plugin.name && plugin.root == *self.root
    }
}

impl Workers {
    pub(crate) fn new(host: HostState) -> Self {
        Self {
            host: Arc::new(host),
            seats: Mutex::default(),
            file_hashes: Mutex::default(),
            offers: Mutex::default(),
            late: Mutex::default(),
        }
    }

    /// Keeps a task that describes plugins, instead of the one before.
    pub(crate) fn describe_late(&self, task: AbortOnDropHandle<()>) {
        *self.late.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
    }

    /// The worker of a plugin as it is: another one if its facts have changed.
    pub(crate) fn worker(&self, plugin: &SharedPlugin) -> Arc<Worker> {
        self.worker_at(WorkerKey::of(plugin.facts()), plugin, Worker::new)
    }

    /// The worker for a provider of a plugin in modes in which its tools have no network.
    pub(crate) fn worker_that_answers(&self, plugin: &SharedPlugin) -> Arc<Worker> {
        if plugin.facts().network == Network::None {
            return self.worker(plugin);
        }
        let seat = WorkerKey { answers: true, ..WorkerKey::of(plugin.facts()) };
        self.worker_at(seat, plugin, Worker::that_answers)
    }

    fn worker_at(
        &self,
        key: WorkerKey,
        plugin: &SharedPlugin,
        make: fn(Arc<HostState>, SharedPlugin) -> Worker,
    ) -> Arc<Worker> {
        let mut workers = self.seats();
        match workers.get(&key) {
            Some(worker) if worker.facts() == plugin.facts() => Arc::clone(worker),
            _ => {
                let worker = Arc::new(make(Arc::clone(&self.host), Arc::clone(plugin)));
                if let Some(other) = workers.insert(key, Arc::clone(&worker)) {
                    other.retire();
                }
                worker
            }
        }
    }

    /// Ends the workers of an adapter's plugins other than these, and those that serve a provider
    /// with a network which its plugin has no more.
    pub(crate) fn retain(&self, adapter: &str, plugins: &[SharedPlugin]) {
        self.host.set_active(adapter, plugins);
        let is_kept = |seat: &WorkerKey, worker: &Worker| {
            worker.facts().adapter != adapter
                || plugins.iter().map(|plugin| plugin.facts()).any(|plugin| {
                    seat.is_of(plugin) && (plugin.network != Network::None || !seat.answers)
                })
        };
        self.seats().retain(|seat, worker| {
            let is_kept = is_kept(seat, worker);
            if !is_kept {
                worker.retire();
            }
            is_kept
        });
    }

    /// Ends all workers; each gets a moment, all of them together.
    pub(crate) async fn shutdown(&self) {
        drop(self.late.lock().unwrap_or_else(PoisonError::into_inner).take());
        let workers: Vec<Arc<Worker>> = self.seats().drain().map(|(_, worker)| worker).collect();
        futures::future::join_all(workers.iter().map(|worker| worker.stop())).await;
    }

    /// Ends a worker whose plugin's files have changed, so that the next call finds them.
    pub(crate) fn retire_if_files_changed(&self, plugin: &PythonFacts, stamp: &str) {
        let before = self.remember_files(plugin, stamp);
        if before.is_some_and(|before| before != stamp) {
            self.workers_of(plugin).iter().for_each(|worker| worker.retire());
        }
    }

    /// Takes note of what a plugin's files are like. Returns what they were like before.
    pub(crate) fn remember_files(&self, plugin: &PythonFacts, stamp: &str) -> Option<String> {
        let mut file_hashes = self.file_hashes.lock().unwrap_or_else(PoisonError::into_inner);
        file_hashes.insert(plugin_key(plugin), stamp.to_owned())
    }

    /// Ends a worker that plugins share if they offer something else than what it has loaded.
    pub(crate) fn retire_if_offer_changed(&self, plugin: &PythonFacts, offer: &PythonOffer) {
        if self.remember_offer(plugin, offer) {
            self.workers_of(plugin).iter().for_each(|worker| worker.retire());
        }
    }

    /// Takes note of what plugins that share a worker offer. Returns true if they offered something
    /// else before.
    pub(crate) fn remember_offer(&self, plugin: &PythonFacts, offer: &PythonOffer) -> bool {
        // Without a description the offer says nothing about loaded plugins.
        let is_described = offer.rest.get(plugin.adapter).is_some();
        if !adapter(plugin).is_shared || !is_described {
            return false;
        }
        let now = PythonOffer { faults: Vec::new(), ..offer.clone() };
        let mut offers = self.offers.lock().unwrap_or_else(PoisonError::into_inner);
        let before = offers.insert(plugin_key(plugin), now.clone());
        before.is_some_and(|before| before != now)
    }

    /// Returns true if a process serves a plugin.
    pub(crate) fn is_served(&self, plugin: &PythonFacts) -> bool {
        self.workers_of(plugin).iter().any(|worker| worker.is_running())
    }

    fn workers_of(&self, plugin: &PythonFacts) -> Vec<Arc<Worker>> {
        let workers = self.seats();
        let own = workers.iter().filter(|(seat, _)| seat.is_of(plugin));
        own.map(|(_, worker)| Arc::clone(worker)).collect()
    }

    fn seats(&self) -> MutexGuard<'_, HashMap<WorkerKey, Arc<Worker>>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
