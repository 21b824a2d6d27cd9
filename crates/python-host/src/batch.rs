//! Describes many plugins in one process, which forks for each of them.
//!
//! Only plugins without grants and packages of their own take part: they may see each other's files,
//! and nothing else of each other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use contract::python::{PythonFacts, SharedPlugin};
use contract::sandbox::{Access, Channel, Network, Profile, Spawn, Stdin};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::description::Answer;
use crate::session::{Bounds, Session, SessionSettings};
use crate::state::HostState;
use crate::wire::{Initialize, PROTOCOL};
use crate::worker::{Worker, arguments};

const ADAPTER: &str = "brynhild";
const TIME: Duration = Duration::from_mins(10);
/// The variables that differ between plugins and are no grants.
const OWN_VARIABLES: [&str; 2] = ["BRYNHILD_PLUGIN_DATA", "BRYNHILD_PLUGIN_NAME"];

type Environment = BTreeMap<String, String>;

#[derive(Deserialize)]
struct Answers {
    answers: Vec<Option<Answer>>,
}

/// The descriptions of plugins, by their index in `plugins`. A plugin that is not among them needs a
/// worker of its own.
pub(crate) async fn describe(
    host: &Arc<HostState>,
    plugins: &[(usize, &SharedPlugin)],
) -> Vec<(usize, Answer)> {
    let mode = host.mode();
    let candidates = plugins.iter().filter(|(_, plugin)| is_plain(host, plugin.facts()));
    let candidates = candidates.filter_map(|&(index, plugin)| {
        let (profile, problems) = plugin.profile(mode);
        let is_plain = problems.is_empty()
            && profile.access == Access::ReadOnly
            && profile.network == Network::None
            && profile.own == [plugin.facts().data.clone()];
        is_plain.then_some((index, plugin, profile))
    });
    let mut candidates: Vec<(usize, &SharedPlugin, Profile)> = candidates.collect();
    let common = common_variables(candidates.iter().map(|(_, _, profile)| &profile.env));
    candidates.retain(|(_, _, profile)| {
        let own = |name: &String| OWN_VARIABLES.contains(&name.as_str());
        profile.env.iter().all(|(name, value)| own(name) || common.get(name) == Some(value))
    });
    let answers = ask(host, &candidates, common).await.unwrap_or_default();
    let indexes = candidates.iter().map(|(index, ..)| *index);
    let answers = indexes.zip(answers).filter_map(|(index, answer)| Some((index, answer?)));
    answers.filter(|(_, it)| !it.is_faulty() && it.pretended.is_empty()).collect()
}

fn is_plain(host: &HostState, facts: &PythonFacts) -> bool {
    let (declared, lists) = &facts.requirements;
    facts.adapter == ADAPTER
        && facts.venv.is_none()
        && declared.is_empty()
        && lists.is_empty()
        && host.admit(facts).is_ok()
        && host.left_out(facts).files.is_empty()
}

/// The variables that all environments have with the same value.
fn common_variables<'a>(mut all: impl Iterator<Item = &'a Environment>) -> Environment {
    let mut common = all.next().cloned().unwrap_or_default();
    for environment in all {
        common.retain(|name, value| environment.get(name) == Some(value));
    }
    common
}

/// Asks the process; none if it cannot be started or does not answer.
async fn ask(
    host: &Arc<HostState>,
    plugins: &[(usize, &SharedPlugin, Profile)],
    env: Environment,
) -> Option<Vec<Option<Answer>>> {
    let (_, _, first) = plugins.first()?;
    let settings = &host.settings;
    let interpreter = host.shared().await.ok()?.interpreter;
    let payload = host.payload().ok()?;
    let mut read: BTreeSet<_> = plugins.iter().flat_map(|(_, _, it)| it.read.clone()).collect();
    read.insert(payload.clone());
    read.extend(interpreter.directories(settings.surroundings.home.as_deref()));
    let read = read.into_iter().collect();
    let profile = Profile { read, own: Vec::new(), env, ..first.clone() };
    let spawn = Spawn {
        program: interpreter.program.clone(),
        args: arguments(&interpreter, &payload, &settings.state),
        cwd: settings.surroundings.directory().to_owned(),
        stdin: Stdin::Piped,
        channel: Channel::None,
        env: BTreeMap::new(),
        home: None,
    };
    (settings.on_progress)("plugins", &format!("reading {} new plugins", plugins.len()));
    let child = settings.sandbox.start(&spawn, &profile).ok()?;
    let opening = SessionSettings {
        plugin: String::from("plugins"),
        listener: Arc::clone(&settings.on_output),
        on_end: Box::new(|_| {}),
    };
    let greeting = Initialize {
        protocol: PROTOCOL,
        dialect: "batch",
        cwd: String::new(),
        project_root: String::new(),
        config: &Value::Null,
        left_out: BTreeMap::new(),
        last: None,
        rest: Map::new(),
    };
    let session = Session::open(child, opening, &greeting).ok()?;
    let parameters = plugins.iter().filter_map(|(_, plugin, profile)| {
        let worker = Worker::new(Arc::clone(host), Arc::clone(plugin));
        let mut parameters = serde_json::to_value(worker.initialize()).ok()?;
        parameters["env"] = json!(profile.env);
        // A home that lasts is for calls.
        parameters["home"] = Value::Null;
        Some(parameters)
    });
    let parameters: Vec<Value> = parameters.collect();
    let bounds = Bounds { time: TIME, cancel: &CancellationToken::new() };
    let answer = session.ask("describe", &json!({"plugins": parameters}), bounds).await;
    session.stop().await;
    let answers: Answers = serde_json::from_str(answer.ok()?.get()).ok()?;
    (answers.answers.len() == plugins.len()).then_some(answers.answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_variables_have_one_value_everywhere() {
        let one = |value: &str| {
            BTreeMap::from([("A", "1"), ("B", value)].map(|(k, v)| (k.to_owned(), v.to_owned())))
        };
        let common = common_variables([&one("x"), &one("y")].into_iter());
        assert_eq!(common, BTreeMap::from([("A".to_owned(), "1".to_owned())]));
    }
}
