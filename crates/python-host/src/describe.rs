//! Describes plugins: from what is kept where their files have not changed, else by asking them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use contract::python::{PythonFacts, PythonPlugin, SharedPlugin};
use futures::StreamExt as _;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::description::{Answer, Complaint, Described};
use crate::interpreter::{Interpreter, Seen};
use crate::session::{Bounds, Failed};
use crate::settings::Missing;
use crate::state::{Chosen, HostState, Unready};
use crate::undeclared;
use crate::worker::{Trouble, Worker};
use crate::workers::Workers;

/// How long a plugin may take with one of its files: somebody waits for the program to start.
const LONGEST: Duration = Duration::from_mins(1);
/// How long it may take with all of them.
const LONGEST_OF_ALL: Duration = Duration::from_mins(10);
/// Workers that are asked at the same time.
const AT_ONCE: usize = 4;
/// Plugins above which a worker ends once it has described its plugin.
const FEW: usize = 8;
/// How many files of one plugin, or of one directory of plugins, may end their process.
const MOST_ENDING: usize = 32;
/// How many may hold it up for as long as each may take.
const MOST_HOLDING_UP: u32 = 8;

/// What is known of a plugin without asking it.
pub(crate) struct Kept {
    pub(crate) described: Option<Described>,
    stamp: Option<String>,
}

/// What is kept about plugins; starts no process.
pub(crate) fn kept(host: &HostState, plugins: &[SharedPlugin], missing: Missing) -> Vec<Kept> {
    let shared = if plugins.is_empty() { None } else { host.known_shared() };
    let mut all: Vec<Kept> =
        plugins.iter().map(|plugin| kept_one(host, &**plugin, shared.as_ref())).collect();
    if missing == Missing::Install {
        for (kept, plugin) in all.iter_mut().zip(plugins) {
            let plugin = plugin.facts();
            let Some(described) = kept.described.take() else { continue };
            let lacks = is_worth_while(host, plugin, &described.missing);
            if described.offer.faults.is_empty() {
                // It can be described without them, so that its first call is early enough.
                let lacking = if lacks { &described.missing[..] } else { &[] };
                host.expect(plugin, put_off(host, plugin, (lacking, described.is_pretended)));
            }
            kept.described = Some(described).filter(|one| !lacks || one.offer.faults.is_empty());
        }
    }
    all
}

/// The packages that a plugin gets with its first call, beside those that its manifest declares.
fn put_off(
    host: &HostState,
    plugin: &PythonFacts,
    (lacking, is_pretended): (&[String], bool),
) -> Vec<String> {
    let mut packages = undeclared::packages(lacking);
    if is_pretended && plugin.requirements.0.is_empty() {
        // A list that cannot be read is told where it is used.
        packages.extend(host.packages(plugin).unwrap_or_default());
    }
    packages
}

/// Whether modules that a plugin lacks should be got for it.
fn is_worth_while(host: &HostState, plugin: &PythonFacts, modules: &[String]) -> bool {
    let packages = undeclared::packages(modules);
    !packages.is_empty() && host.undeclared.may_try(plugin, &packages)
}

fn kept_one(host: &HostState, plugin: &dyn PythonPlugin, shared: Option<&Seen>) -> Kept {
    let facts = plugin.facts();
    let key = plugin.files().and_then(|files| {
        let seen = host.known_interpreter(facts, shared)?;
        Some(host.key(facts, &seen, &files))
    });
    let answer = key.as_ref().and_then(|(key, _)| host.cache.get(key));
    let left_out = answer.as_ref().and_then(|answer| answer.left_out.clone());
    host.leave_out_only(facts, left_out.unwrap_or_default());
    Kept {
        described: answer.map(|answer| Described::read(facts, answer)),
        stamp: key.map(|(_, process)| process),
    }
}

/// Describes all of `plugins`, in their order.
pub(crate) async fn all(
    workers: &Workers,
    plugins: &[SharedPlugin],
    missing: Missing,
) -> Vec<Described> {
    let kept = kept(&workers.host, plugins, missing);
    for (plugin, kept) in plugins.iter().zip(&kept) {
        if let Some(stamp) = &kept.stamp {
            workers.settle(plugin.facts(), stamp);
        }
        if let Some(described) = &kept.described {
            workers.compare(plugin.facts(), &described.offer);
        }
    }
    let mut described: Vec<Option<Described>> =
        kept.into_iter().map(|kept| kept.described).collect();
    let unknown: Vec<usize> =
        (0..plugins.len()).filter(|&index| described[index].is_none()).collect();
    let is_many = unknown.len() > FEW;
    let work = unknown.into_iter().map(|index| async move {
        let answer = one(workers, &plugins[index], missing).await;
        if is_many {
            workers.worker(&plugins[index]).stop().await;
        }
        (index, answer)
    });
    // Listed first: a stream over borrowed work could not be sent to another thread.
    let work: Vec<_> = work.collect();
    let mut answers = futures::stream::iter(work).buffered(AT_ONCE);
    while let Some((index, answer)) = answers.next().await {
        described[index] = Some(answer);
    }
    workers.host.cache.save();
    described.into_iter().flatten().collect()
}

async fn one(workers: &Workers, plugin: &SharedPlugin, missing: Missing) -> Described {
    let (seated, facts) = (workers.worker(plugin), plugin.facts());
    if !seated.adapter().is_shared || !workers.is_served(facts) {
        let described = by(workers, &seated, missing).await;
        workers.remember_offer(facts, &described.offer);
        return described;
    }
    // One that goes on while files beside its modules change has read them as they were.
    let fresh = Arc::new(Worker::new(Arc::clone(&workers.host), Arc::clone(plugin)));
    let described = by(workers, &fresh, missing).await;
    fresh.stop().await;
    workers.compare(facts, &described.offer);
    described
}

async fn by(workers: &Workers, worker: &Arc<Worker>, missing: Missing) -> Described {
    let (host, plugin) = (&workers.host, worker.facts());
    let hint = "mend the plugin, or switch it off with `brynhild plugin disable`";
    let mut chosen = host.interpreter(plugin, Missing::Report).await;
    if matches!(chosen, Err(Unready::NotInstalled(_))) {
        if let Some(described) = without_packages(workers, &worker.plugin).await {
            return described;
        }
        if missing == Missing::Install {
            chosen = host.interpreter(plugin, missing).await;
        }
    }
    let chosen = match chosen {
        Ok(chosen) => chosen,
        Err(Unready::Failed(why)) => {
            let hint = "see to its Python, name another with `plugins.python`, or switch the plugin \
                        off with `brynhild plugin disable`";
            return Described::failed(plugin, &format!("its Python cannot run: {why}"), hint);
        }
        Err(Unready::NotInstalled(packages)) => {
            let what = format!("its packages are not installed yet: {}", packages.join(", "));
            let hint = "they are installed when it is first used";
            return Described { needs_install: true, ..Described::failed(plugin, &what, hint) };
        }
    };
    if !worker.adapter().loads_whole {
        (host.settings.on_progress)(&plugin.name, "reading its tools and providers");
    }
    // Looked at before they are read: what changes meanwhile is seen the next time.
    let files = worker.plugin.files();
    let mut answer = match ask_for_the_rest(worker).await {
        Ok(answer) => answer,
        Err(why) => return Described::failed(plugin, &why, hint),
    };
    let left_out = host.left_out(plugin).kept();
    let lacking = host.lacking(plugin, &chosen, &answer.missing);
    if lacking.is_empty() {
        answer.missing.clear();
    }
    let needs = Needs::of(host, plugin, (&chosen, lacking), &answer);
    let mut seen = chosen.seen;
    if needs.is_some() && answer.is_faulty() {
        worker.stop().await;
        let pretended = ask(worker, Packages::Pretended).await.ok();
        // What it has loaded is of no use for calls.
        worker.stop().await;
        answer = pretended.filter(|answer| !answer.is_faulty()).unwrap_or(answer);
    }
    if missing == Missing::Install
        && !answer.is_faulty()
        && let Some(needs) = &needs
    {
        needs.put_off(host, plugin);
        worker.stop().await;
    } else if missing == Missing::Install
        && let Some(needs) = &needs
    {
        match needs.install(host, plugin).await {
            Ok(interpreter) => {
                worker.stop().await;
                seen = Seen::new(interpreter);
                answer = match ask(worker, Packages::AsTheyAre).await {
                    Ok(answer) => answer,
                    Err(unanswered) => return Described::failed(plugin, &unanswered.why, hint),
                };
            }
            Err(why) => needs.complain(host, plugin, why, &mut answer),
        }
    }
    answer.left_out = left_out;
    if let Some(files) = files {
        let (key, process) = host.key(plugin, &seen, &files);
        // A role does not run without one of its modules, and may do so a moment later.
        if answer.left_out.is_some() && worker.adapter().loads_whole {
            host.cache.put_for_now(key, &answer);
        } else {
            host.cache.put(key, &answer);
        }
        workers.remember(plugin, &process);
    }
    let needs_install = needs.is_some() && missing == Missing::Report;
    Described { needs_install, ..Described::read(plugin, answer) }
}

/// Describes a plugin without the packages that it declares, where all of it can be described so:
/// they are installed with its first call.
async fn without_packages(workers: &Workers, plugin: &SharedPlugin) -> Option<Described> {
    let (host, files) = (&workers.host, plugin.files());
    let worker = workers.worker(plugin);
    let plugin = plugin.facts();
    host.set_bare(plugin, true);
    let answer = ask(&worker, Packages::Pretended).await;
    let seen = host.shared().await;
    worker.stop().await;
    host.set_bare(plugin, false);
    let mut answer = answer.ok().filter(|answer| !answer.is_faulty())?;
    let declared = &plugin.requirements.0;
    answer.missing.retain(|module| !undeclared::is_among(module, declared));
    Needs::Undeclared(undeclared::packages(&answer.missing)).put_off(host, plugin);
    if let (Some(files), Ok(seen)) = (files, seen) {
        let (key, process) = host.key(plugin, &seen, &files);
        host.cache.put(key, &answer);
        workers.remember(plugin, &process);
    }
    Some(Described::read(plugin, answer))
}

/// Packages that would help a plugin.
enum Needs {
    /// Those it lists and may do without.
    Listed(Vec<String>),
    /// Those it imports without a word.
    Undeclared(Vec<String>),
}

impl Needs {
    fn of(
        host: &HostState,
        plugin: &PythonFacts,
        (chosen, lacking): (&Chosen, Vec<String>),
        answer: &Answer,
    ) -> Option<Self> {
        if answer.is_faulty() && !chosen.missing.is_empty() {
            return Some(Self::Listed(chosen.missing.clone()));
        }
        let is_worth_while = !lacking.is_empty() && host.undeclared.may_try(plugin, &lacking);
        is_worth_while.then_some(Self::Undeclared(lacking))
    }

    /// Has a plugin get them with its first call, and says so.
    fn put_off(&self, host: &HostState, plugin: &PythonFacts) {
        let (Self::Listed(packages) | Self::Undeclared(packages)) = self;
        host.expect(plugin, packages.clone());
        let mut all: BTreeSet<&str> = packages.iter().map(String::as_str).collect();
        all.extend(plugin.requirements.0.iter().map(String::as_str));
        let names = all.into_iter().collect::<Vec<_>>().join(", ");
        let what = format!("{names} will be installed when it is first called");
        (host.settings.on_progress)(&plugin.name, &what);
    }

    async fn install(&self, host: &HostState, plugin: &PythonFacts) -> Result<Interpreter, String> {
        let made = match self {
            Self::Listed(packages) => host.install(plugin, packages).await,
            Self::Undeclared(packages) => host.supply(plugin, packages).await,
        };
        made.map_err(|unready| match unready {
            Unready::Failed(why) => why,
            Unready::NotInstalled(packages) => {
                format!("its packages are not installed: {}", packages.join(", "))
            }
        })
    }

    fn complain(&self, host: &HostState, plugin: &PythonFacts, why: String, answer: &mut Answer) {
        match self {
            Self::Listed(_) => {
                answer.problems.push(Complaint { message: why, ..Complaint::default() });
            }
            // Its own imports say what is missing.
            Self::Undeclared(packages) => {
                let what = format!("{} could not be installed", packages.join(", "));
                (host.settings.on_progress)(&plugin.name, &what);
            }
        }
    }
}

/// What a plugin finds of the packages that it imports.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Packages {
    /// Those that are installed.
    AsTheyAre,
    /// Stand-ins for those that are not, which are good for a description alone.
    Pretended,
}

/// Why a plugin was not described.
struct Unanswered {
    why: String,
    /// The file that it was loading then.
    loading: Option<String>,
}

/// Asks again without a file that ended or held up the process, so that it costs the others nothing.
/// After too many of them nothing more is tried, and what there is by then is the answer.
async fn ask_for_the_rest(worker: &Arc<Worker>) -> Result<Answer, String> {
    let begun = Instant::now();
    for count in 1..=MOST_ENDING {
        match ask(worker, Packages::AsTheyAre).await {
            Err(Unanswered { why, loading: Some(file) }) => {
                let is_last = count == MOST_ENDING
                    || begun.elapsed() >= time_for_one(worker) * MOST_HOLDING_UP;
                worker.leave_out(file, why, is_last).await;
                if is_last {
                    break;
                }
            }
            answer => return answer.map_err(|unanswered| unanswered.why),
        }
    }
    ask(worker, Packages::AsTheyAre).await.map_err(|unanswered| match unanswered.loading {
        Some(file) => format!("{file}: {}", unanswered.why),
        None => unanswered.why,
    })
}

/// How long a worker may take with one file.
fn time_for_one(worker: &Worker) -> Duration {
    // If all of it loads before a call, its time is that of one call, and nothing is called yet.
    if worker.adapter().loads_whole { LONGEST } else { worker.time().min(LONGEST) }
}

async fn ask(worker: &Arc<Worker>, packages: Packages) -> Result<Answer, Unanswered> {
    let time = time_for_one(worker);
    let failed = |why: String| Unanswered { why, loading: None };
    let session = worker.session().await.map_err(|trouble| failed(trouble.words()))?;
    let loading = session.loading();
    let bounds = Bounds { time: LONGEST_OF_ALL, cancel: &CancellationToken::new() };
    let pretend = packages == Packages::Pretended;
    let params = json!({"known": undeclared::modules(), "pretend": pretend});
    let answer = tokio::select! {
        biased;
        answer = session.ask("describe", &params, bounds) => answer,
        () = standstill(loading.clone(), time) => Err(Failed::Late(time)),
    };
    let answer = answer.map_err(|failed| {
        let why = match Trouble::Failed(failed) {
            Trouble::Failed(Failed::Late(time)) => {
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
async fn standstill(mut loading: watch::Receiver<Option<String>>, time: Duration) {
    loop {
        match timeout(time, loading.changed()).await {
            Ok(Ok(())) => {}
            // How it ended is told to who asked.
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
    async fn each_file_has_a_time_of_its_own() {
        let (sender, receiver) = watch::channel(None);
        let begun = Instant::now();
        let files = async {
            for name in ["a.py", "b.py", "c.py"] {
                sleep(LONGEST / 3 * 2).await;
                sender.send_replace(Some(name.to_owned()));
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = standstill(receiver, LONGEST) => {}
            () = files => {}
        }
        assert_eq!(begun.elapsed(), LONGEST * 3);
        assert_eq!(sender.borrow().as_deref(), Some("c.py"));
    }
}
