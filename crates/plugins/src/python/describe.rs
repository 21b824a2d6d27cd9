//! Describes plugins: from what is kept where their files have not changed, else by asking them.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::cache::Key;
use super::description::{Answer, Complaint, Described};
use super::fingerprint::Files;
use super::host::{Host, Unready};
use super::interpreter::Seen;
use super::session::{Bounds, Failed};
use super::worker::{Trouble, Worker};
use super::{Hosts, Missing};
use crate::folders::Folders;
use crate::plugin::{Dialect, Plugin};

/// How long a plugin may take to describe itself: somebody waits for the program to start.
const LONGEST: Duration = Duration::from_mins(1);
/// Workers that are asked at the same time.
const AT_ONCE: usize = 4;
/// Plugins above which a worker ends once it has described its plugin.
const FEW: usize = 8;

/// What is known of a plugin without asking it.
pub(crate) struct Kept {
    pub(crate) described: Option<Described>,
    stamp: Option<String>,
}

/// What is kept about plugins; starts no process.
pub(crate) fn kept(host: &Host, plugins: &[&Plugin], folders: &Folders) -> Vec<Kept> {
    let has_python = plugins.iter().any(|plugin| brings_python(plugin));
    let shared = if has_python { host.known_shared() } else { None };
    plugins.iter().map(|plugin| kept_one(host, plugin, shared.as_ref(), folders)).collect()
}

fn brings_python(plugin: &Plugin) -> bool {
    let manifest = &plugin.manifest;
    plugin.package.is_some() || !manifest.tools.is_empty() || !manifest.providers.is_empty()
}

fn kept_one(host: &Host, plugin: &Plugin, shared: Option<&Seen>, folders: &Folders) -> Kept {
    if !brings_python(plugin) {
        return Kept { described: Some(Described::empty(plugin)), stamp: None };
    }
    let key = Files::of(plugin, folders).and_then(|files| {
        let seen = host.known_interpreter(plugin, &files, shared)?;
        Key::of(plugin, &seen, &host.settings.surroundings, files)
    });
    let answer = key.as_ref().and_then(|key| host.cache.get(key));
    Kept {
        described: answer.map(|answer| Described::read(plugin, answer)),
        stamp: key.map(|key| key.stamp),
    }
}

/// Describes all of `plugins`, in their order.
pub(crate) async fn all(
    hosts: &Hosts,
    plugins: &[&Plugin],
    missing: Missing,
    folders: &Folders,
) -> Vec<Described> {
    let host = &hosts.0.host;
    let kept = kept(host, plugins, folders);
    for (plugin, stamp) in plugins.iter().zip(&kept).filter_map(|(plugin, kept)| {
        let stamp = kept.stamp.as_deref()?;
        Some((plugin, stamp))
    }) {
        hosts.settle(plugin, stamp);
    }
    let mut described: Vec<Option<Described>> =
        kept.into_iter().map(|kept| kept.described).collect();
    let unknown: Vec<usize> =
        (0..plugins.len()).filter(|&index| described[index].is_none()).collect();
    let is_many = unknown.len() > FEW;
    let work = unknown.into_iter().map(|index| async move {
        let answer = one(hosts, plugins[index], missing).await;
        if is_many {
            hosts.worker(plugins[index]).stop().await;
        }
        (index, answer)
    });
    // Listed first: a stream over borrowed work could not be sent to another thread.
    let work: Vec<_> = work.collect();
    let mut answers = futures::stream::iter(work).buffered(AT_ONCE);
    while let Some((index, answer)) = answers.next().await {
        described[index] = Some(answer);
    }
    host.cache.save();
    described.into_iter().flatten().collect()
}

async fn one(hosts: &Hosts, plugin: &Plugin, missing: Missing) -> Described {
    let host = &hosts.0.host;
    let hint = "mend the plugin, or switch it off with `brynhild plugin disable`";
    let chosen = match host.interpreter(plugin, missing).await {
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
    if plugin.manifest.dialect != Dialect::InitRunner {
        (host.settings.on_progress)(plugin.name(), "reading its tools and providers");
    }
    // Looked at before they are read: what changes meanwhile is seen the next time.
    let files = Files::of(plugin, &Folders::default());
    let worker = hosts.worker(plugin);
    let mut answer = match ask(&worker).await {
        Ok(answer) => answer,
        Err(why) => return Described::failed(plugin, &why, hint),
    };
    let mut seen = chosen.seen;
    let needs_install = !answer.problems.is_empty() && !chosen.missing.is_empty();
    if needs_install && missing == Missing::Install {
        match host.install(plugin, &chosen.missing).await {
            Ok(interpreter) => {
                worker.stop().await;
                seen = Seen::new(interpreter);
                answer = match ask(&worker).await {
                    Ok(answer) => answer,
                    Err(why) => return Described::failed(plugin, &why, hint),
                };
            }
            Err(Unready::Failed(why)) => {
                answer.problems.push(Complaint { message: why, ..Complaint::default() });
            }
            Err(Unready::NotInstalled(_)) => {}
        }
    }
    if let Some(key) =
        files.and_then(|files| Key::of(plugin, &seen, &host.settings.surroundings, files))
    {
        host.cache.put(&key, &answer);
        hosts.remember(plugin, &key.stamp);
    }
    let needs_install = needs_install && missing == Missing::Report;
    Described { needs_install, ..Described::read(plugin, answer) }
}

async fn ask(worker: &Arc<Worker>) -> Result<Answer, String> {
    let time = match worker.plugin.manifest.dialect {
        Dialect::Brynhild | Dialect::Lmao => worker.time().min(LONGEST),
        // The time of a role is that of one call, and nothing is called yet.
        Dialect::InitRunner => LONGEST,
    };
    let bounds = Bounds { time, cancel: &CancellationToken::new() };
    let answer = worker.ask("describe", &json!({}), bounds).await;
    let answer = answer.map_err(|trouble| match trouble {
        Trouble::Failed(Failed::Late(time)) => {
            format!("it could not be read within {} s", time.as_secs_f64())
        }
        other => other.words(),
    })?;
    serde_json::from_str(answer.get()).map_err(|error| format!("it answered nonsense: {error}"))
}
