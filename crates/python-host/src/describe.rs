//! Describes plugins: from the cache, or by asking their Python.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use contract::python::{PythonFacts, PythonPlugin, SharedPlugin};
use futures::FutureExt as _;
use futures::StreamExt as _;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::adapter::adapter;
use crate::batch;
use crate::description::{Answer, Complaint, Described};
use crate::interpreter::KnownInterpreter;
use crate::session::{Bounds, RequestError};
use crate::settings::Missing;
use crate::state::{ChosenInterpreter, HostState};
use crate::worker::{Purpose, Worker, WorkerError};
use crate::workers::Workers;

/// The time for a plugin to load one of its files: the user waits for the program to start.
const FILE_TIME: Duration = Duration::from_mins(1);
/// How long it may take with all of them.
const PLUGIN_TIME: Duration = Duration::from_mins(10);
/// Workers that are asked at the same time.
const PARALLEL_WORKERS: usize = 4;
/// Plugins above which a worker ends once it has described its plugin.
const IDLE_WORKERS_LIMIT: usize = 8;
/// How many files of one plugin, or of one directory of plugins, may end their process.
const CRASHES_LIMIT: usize = 32;
/// How many may hold it up for as long as each may take.
const TIMEOUTS_LIMIT: u32 = 8;

/// A conversation waits for the descriptions of so few plugins, which take moments.
const FEW: usize = 16;
/// How long a conversation waits for more descriptions, which it can do without at first.
const DESCRIBE_TIMEOUT: Duration = Duration::from_millis(400);

/// The cached description of a plugin.
pub(crate) struct Cached {
    pub(crate) described: Option<Described>,
    /// A hash of what a running process depends on.
    process: Option<String>,
}

/// Reads the cached descriptions of plugins; starts no process.
pub(crate) fn cached(host: &HostState, plugins: &[SharedPlugin]) -> Vec<Cached> {
    let shared = if plugins.is_empty() { None } else { host.known_shared() };
    plugins.iter().map(|plugin| cached_one(host, &**plugin, shared.as_ref())).collect()
}

fn cached_one(
    host: &HostState,
    plugin: &dyn PythonPlugin,
    shared: Option<&KnownInterpreter>,
) -> Cached {
    let facts = plugin.facts();
    let key = plugin.files().and_then(|files| {
        let seen = host.known_interpreter(facts, shared)?;
        Some(host.key(facts, &seen, &files))
    });
    let answer = key.as_ref().and_then(|(key, _)| host.cache.get(key));
    if let Some(answer) = &answer {
        host.leave_out_only(facts, answer.left_out.clone().unwrap_or_default());
        host.expect(facts, !answer.pretended.is_empty());
    }
    Cached {
        described: answer.map(|answer| Described::read(facts, answer)),
        process: key.map(|(_, process)| process),
    }
}

/// Describes all of `plugins`, in their order.
pub(crate) async fn describe_all(
    workers: &Workers,
    plugins: &[SharedPlugin],
    missing: Missing,
) -> Vec<Described> {
    describe_unknown(workers, plugins, cached(&workers.host, plugins), missing).await
}

/// Describes those of `plugins` that are cached or described within moments. If many are left, they are
/// described meanwhile, and then noted as changed.
pub(crate) async fn describe_soon(
    workers: &Arc<Workers>,
    plugins: &[SharedPlugin],
    missing: Missing,
) -> Vec<Described> {
    let cached = cached(&workers.host, plugins);
    let known: Vec<Described> = cached.iter().filter_map(|it| it.described.clone()).collect();
    let unknown = plugins.len() - known.len();
    let is_unknown = cached.iter().map(|it| it.described.is_none());
    let first = plugins.iter().zip(is_unknown).find(|(_, is_unknown)| *is_unknown);
    let first = first.map(|(plugin, _)| plugin.facts().name.clone()).unwrap_or_default();
    let (own, plugins) = (Arc::clone(workers), plugins.to_vec());
    let work = async move { describe_unknown(&own, &plugins, cached, missing).await };
    let mut work = work.boxed();
    if unknown <= FEW {
        return work.await;
    }
    if let Ok(described) = timeout(DESCRIBE_TIMEOUT, &mut work).await {
        return described;
    }
    let others = unknown - 1;
    let what = format!("it and {others} others are still being read; their tools join then");
    (workers.host.settings.on_progress)(&first, &what);
    let host = Arc::clone(&workers.host);
    let rest = tokio::spawn(async move {
        work.await;
        host.note_changed_tool();
    });
    workers.describe_late(AbortOnDropHandle::new(rest));
    known
}

/// Describes plugins that are not cached. Returns the descriptions of all.
async fn describe_unknown(
    workers: &Workers,
    plugins: &[SharedPlugin],
    cached: Vec<Cached>,
    missing: Missing,
) -> Vec<Described> {
    for (plugin, cached) in plugins.iter().zip(&cached) {
        if let Some(process) = &cached.process {
            workers.retire_if_files_changed(plugin.facts(), process);
        }
        if let Some(described) = &cached.described {
            workers.retire_if_offer_changed(plugin.facts(), &described.offer);
        }
    }
    let mut described: Vec<Option<Described>> =
        cached.into_iter().map(|cached| cached.described).collect();
    let unknown = |described: &[Option<Described>]| -> Vec<usize> {
        (0..plugins.len()).filter(|&index| described[index].is_none()).collect()
    };
    if unknown(&described).len() > IDLE_WORKERS_LIMIT {
        describe_together(workers, plugins, &mut described).await;
    }
    let unknown = unknown(&described);
    let is_many = unknown.len() > IDLE_WORKERS_LIMIT;
    let work = unknown.into_iter().map(|index| async move {
        let answer = describe_one(workers, &plugins[index], missing).await;
        if is_many {
            workers.worker(&plugins[index]).stop().await;
        }
        (index, answer)
    });
    // Listed first: a stream over borrowed work could not be sent to another thread.
    let work: Vec<_> = work.collect();
    let mut answers = futures::stream::iter(work).buffered(PARALLEL_WORKERS);
    while let Some((index, answer)) = answers.next().await {
        described[index] = Some(answer);
    }
    workers.host.cache.save();
    described.into_iter().flatten().collect()
}

/// Describes those that are not described yet and need no worker of their own for it.
async fn describe_together(
    workers: &Workers,
    plugins: &[SharedPlugin],
    described: &mut [Option<Described>],
) {
    let Ok(seen) = workers.host.shared().await else { return };
    let unknown = described.iter().zip(plugins).enumerate();
    let unknown = unknown.filter(|(_, (described, _))| described.is_none());
    let unknown: Vec<_> = unknown.map(|(index, (_, plugin))| (index, plugin)).collect();
    // Listed before they are read: a change in between is noticed the next time.
    let files: Vec<_> = unknown.iter().map(|(index, plugin)| (*index, plugin.files())).collect();
    let mut files: BTreeMap<_, _> = files.into_iter().collect();
    for (index, answer) in batch::describe(&workers.host, &unknown).await {
        let facts = plugins[index].facts();
        if let Some(files) = files.remove(&index).flatten() {
            let process = workers.host.keep(adapter(facts), (facts, &seen, &files), &answer);
            workers.remember_files(facts, &process);
        }
        described[index] = Some(Described::read(facts, answer));
    }
}

async fn describe_one(workers: &Workers, plugin: &SharedPlugin, missing: Missing) -> Described {
    let (seated, facts) = (workers.worker(plugin), plugin.facts());
    if !seated.adapter().is_shared || !workers.is_served(facts) {
        let described = describe_with(workers, &seated, missing).await;
        workers.remember_offer(facts, &described.offer);
        return described;
    }
    // One that goes on while files beside its modules change has read them as they were.
    let fresh = Arc::new(Worker::new(Arc::clone(&workers.host), Arc::clone(plugin)));
    let described = describe_with(workers, &fresh, missing).await;
    fresh.stop().await;
    workers.retire_if_offer_changed(facts, &described.offer);
    described
}

async fn describe_with(workers: &Workers, worker: &Arc<Worker>, missing: Missing) -> Described {
    let (host, plugin) = (&workers.host, worker.facts());
    let ChosenInterpreter { mut seen, missing: packages } = match host.interpreter(plugin).await {
        Ok(chosen) => chosen,
        Err(why) => return unusable(plugin, &why),
    };
    if !worker.adapter().loads_whole {
        (host.settings.on_progress)(&plugin.name, "reading its tools and providers");
    }
    // Listed before they are read: a change in between is noticed the next time.
    let files = worker.plugin.files();
    let keep = |seen: &KnownInterpreter, answer: &Answer| {
        if let Some(files) = &files {
            workers.remember_files(
                plugin,
                &host.keep(worker.adapter(), (plugin, seen, files), answer),
            );
        }
    };
    let mut complaint = None;
    if !packages.is_empty() {
        if let Some(answer) = pretended(worker, &packages).await {
            keep(&seen, &answer);
            return Described::read(plugin, answer);
        }
        let installed = match missing {
            Missing::Install => host.install(plugin, &packages).await,
            Missing::Report => Err(String::new()),
        };
        match installed {
            Ok(interpreter) => seen = KnownInterpreter::new(interpreter),
            // A list beside the manifest may be for those who develop the plugin.
            Err(why) if plugin.requirements.0.is_empty() => complaint = Some(why),
            Err(why) if missing == Missing::Install => return unusable(plugin, &why),
            Err(_) => return uninstalled(plugin, &packages),
        }
    }
    let mut answer = match ask_around_crashes(worker).await {
        Ok(answer) => answer,
        Err(why) => {
            let hint = "correct the plugin, or switch it off with `brynhild plugin disable`";
            return Described::failed(plugin, &why, hint);
        }
    };
    answer.left_out = host.left_out(plugin).kept();
    let needs_install = complaint.is_some() && missing == Missing::Report;
    if let Some(message) = complaint.filter(|_| missing == Missing::Install) {
        answer.problems.push(Complaint { message, ..Complaint::default() });
    }
    keep(&seen, &answer);
    Described { needs_install, ..Described::read(plugin, answer) }
}

/// Describes a plugin without packages that are not installed, if all of it can be described so:
/// those that it needs are installed with its first call.
async fn pretended(worker: &Arc<Worker>, packages: &[String]) -> Option<Answer> {
    let (host, plugin) = (&worker.host, worker.facts());
    let answer = ask(worker, Packages::Pretended).await;
    // A worker with pretended packages is of no use for calls.
    worker.stop().await;
    let answer = answer.ok().filter(|answer| !answer.is_faulty())?;
    host.expect(plugin, !answer.pretended.is_empty());
    if host.needs_packages(plugin) {
        let what = format!("{} will be installed when it is first called", packages.join(", "));
        (host.settings.on_progress)(&plugin.name, &what);
    }
    Some(answer)
}

fn unusable(plugin: &PythonFacts, why: &str) -> Described {
    let hint = "see to its Python, name another with `plugins.python`, or switch the plugin off with \
                `brynhild plugin disable`";
    Described::failed(plugin, &format!("its Python cannot run: {why}"), hint)
}

fn uninstalled(plugin: &PythonFacts, packages: &[String]) -> Described {
    let what = format!("its packages are not installed yet: {}", packages.join(", "));
    let hint = "they are installed when it is first used";
    Described { needs_install: true, ..Described::failed(plugin, &what, hint) }
}

/// The packages that a plugin finds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Packages {
    /// Those that are installed.
    Installed,
    /// Stand-ins for those that are not, which are good for a description alone.
    Pretended,
}

/// Why a plugin was not described.
struct Unanswered {
    why: String,
    /// The file that it was loading then.
    loading: Option<String>,
}

/// Asks again without a file that ended or blocked the process, so that the others are loaded.
/// After too many of them nothing more is tried, and what there is by then is the answer.
async fn ask_around_crashes(worker: &Arc<Worker>) -> Result<Answer, String> {
    let begun = Instant::now();
    for count in 1..=CRASHES_LIMIT {
        match ask(worker, Packages::Installed).await {
            Err(Unanswered { why, loading: Some(file) }) => {
                let is_last = count == CRASHES_LIMIT
                    || begun.elapsed() >= time_for_one(worker) * TIMEOUTS_LIMIT;
                worker.leave_out(file, why, is_last).await;
                if is_last {
                    break;
                }
            }
            answer => return answer.map_err(|unanswered| unanswered.why),
        }
    }
    ask(worker, Packages::Installed).await.map_err(|unanswered| match unanswered.loading {
        Some(file) => format!("{file}: {}", unanswered.why),
        None => unanswered.why,
    })
}

/// How long a worker may take with one file.
fn time_for_one(worker: &Worker) -> Duration {
    // If all of it loads before a call, its time is that of one call, and nothing is called yet.
    if worker.adapter().loads_whole { FILE_TIME } else { worker.time().min(FILE_TIME) }
}

async fn ask(worker: &Arc<Worker>, packages: Packages) -> Result<Answer, Unanswered> {
    let time = time_for_one(worker);
    let failed = |why: String| Unanswered { why, loading: None };
    let session = worker.session(Purpose::Describe).await;
    let session = session.map_err(|trouble| failed(trouble.words()))?;
    let loading = session.loading();
    let bounds = Bounds { time: PLUGIN_TIME, cancel: &CancellationToken::new() };
    let pretend = packages == Packages::Pretended;
    let params = json!({"pretend": pretend});
    let answer = tokio::select! {
        biased;
        answer = session.ask("describe", &params, bounds) => answer,
        () = stall(loading.clone(), time) => Err(RequestError::Late(time)),
    };
    let answer = answer.map_err(|failed| {
        let why = match WorkerError::Request(failed) {
            WorkerError::Request(RequestError::Late(time)) => {
                format!("it could not be read within {} s", time.as_secs_f64())
            }
            other => other.words(),
        };
        Unanswered { why, loading: loading.borrow().clone() }
    })?;
    serde_json::from_str(answer.get())
        .map_err(|error| failed(format!("it answered nonsense: {error}")))
}

/// Returns when a process has been at the same file for so long, or between files: each has this time
/// for itself.
async fn stall(mut loading: watch::Receiver<Option<String>>, time: Duration) {
    loop {
        match timeout(time, loading.changed()).await {
            Ok(Ok(())) => {}
            // The caller gets its end as an error.
            Ok(Err(_)) => std::future::pending().await,
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_file_has_its_own_timeout() {
        let (sender, receiver) = watch::channel(None);
        let begun = Instant::now();
        let files = async {
            for name in ["a.py", "b.py", "c.py"] {
                sleep(FILE_TIME / 3 * 2).await;
                sender.send_replace(Some(name.to_owned()));
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = stall(receiver, FILE_TIME) => {}
            () = files => {}
        }
        assert_eq!(begun.elapsed(), FILE_TIME * 3);
        assert_eq!(sender.borrow().as_deref(), Some("c.py"));
    }
}
