//! Reads scenario files. Errors have the file, the line and a correction.

use std::path::Path;

use contract::text::visible;
use formats::yaml::tree::{Content, Node};
use formats::yaml::{self, Malformed, Options};

use super::scenario::{Expect, Fault, FaultKind, Scenario, TextMatch, Turn, WhenExhausted};
use super::template;

/// The keys for `plugin test`, which the model does not use.
const TEST_KEYS: [&str; 6] = ["prompt", "files", "config", "role", "agent", "expect"];

/// The error of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("scenario {file}{}: {problem}", at(*line))]
pub struct ScenarioError {
    /// The file, or the name of a scenario that is in the binary.
    pub file: String,
    pub line: Option<usize>,
    /// The problem and a correction.
    pub problem: String,
}

fn at(line: Option<usize>) -> String {
    line.map(|line| format!(", line {line}")).unwrap_or_default()
}

/// Reads a scenario file.
pub fn load(path: &Path) -> Result<Scenario, ScenarioError> {
    let file = path.display().to_string();
    let yaml = std::fs::read_to_string(path).map_err(|error| ScenarioError {
        file: file.clone(),
        line: None,
        problem: unreadable(&error),
    })?;
    parse(&file, &yaml)
}

/// Reads a scenario from its text; `name` stands for the file in messages.
pub fn parse(name: &str, yaml: &str) -> Result<Scenario, ScenarioError> {
    let fail = |line: Option<usize>, problem: String| ScenarioError {
        file: name.to_owned(),
        line,
        problem,
    };
    let malformed = |error: Malformed| fail(Some(error.line), explain(&error));
    let mut tree = yaml::parse(yaml, Options::default()).map_err(malformed)?;
    if let Content::Map(entries) = &mut tree.content {
        entries.retain(|(key, _)| !TEST_KEYS.contains(&key.as_str()));
    }
    let mut scenario: Scenario = tree.to_type().map_err(malformed)?;
    let turns = tree.get("turns").map(Node::items).unwrap_or_default();
    for (turn, node) in scenario.turns.iter_mut().zip(turns) {
        turn.line = node.place.line;
    }
    name.clone_into(&mut scenario.file);
    if scenario.turns.is_empty() {
        let problem = "`turns` is empty; write at least one turn, such as `- text: hello`";
        return Err(fail(None, problem.to_owned()));
    }
    for (turn, number) in scenario.turns.iter().zip(1..) {
        check(turn)
            .map_err(|problem| fail(Some(turn.line), format!("turn {number}: {problem}")))?;
    }
    if let WhenExhausted::Text(text) = &scenario.when_exhausted {
        template::check(text)
            .map_err(|problem| fail(None, format!("`when_exhausted`: {problem}")))?;
    }
    Ok(scenario)
}

/// `; did you mean ..?` if one of `known` is close to `word`, else the list of them.
pub(super) fn suggestion(word: &str, known: &[&str]) -> String {
    let close = similar::get_close_matches(word, known, 1, 0.6);
    match close.first() {
        Some(close) => format!("; did you mean `{close}`?"),
        None if known.is_empty() => String::new(),
        None => format!("; use one of `{}`", known.join("`, `")),
    }
}

fn unreadable(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            String::from("there is no such file; name a scenario, such as `--model play.yaml`")
        }
        std::io::ErrorKind::InvalidData => {
            String::from("the file is not UTF-8 text; save it as UTF-8")
        }
        _ => format!("cannot read the file: {error}"),
    }
}

fn explain(error: &Malformed) -> String {
    let message = visible(&error.message);
    if error.word.is_empty() {
        return message.into_owned();
    }
    format!("{message}{}", suggestion(&error.word, error.known))
}

fn check(turn: &Turn) -> Result<(), String> {
    check_expect(&turn.expect)?;
    if let Some(fault) = &turn.error {
        check_alone(turn)?;
        check_fault(fault)?;
    } else if turn.text.is_none() && turn.thinking.is_none() && turn.tool_calls.is_empty() {
        return Err(String::from(
            "it says nothing; give it `text`, `thinking`, `tool_calls` or `error` \
             (`text: \"\"` is an empty reply)",
        ));
    }
    for text in [&turn.text, &turn.thinking].into_iter().flatten() {
        template::check(text)?;
    }
    for call in &turn.tool_calls {
        match (&call.input, &call.input_text) {
            (Some(_), Some(_)) => {
                let name = &call.name;
                return Err(format!(
                    "the call of `{name}` has `input` and `input_text`; keep one of them"
                ));
            }
            (Some(input), None) => template::check_value(input)?,
            (None, Some(text)) => template::check(text)?,
            (None, None) => {}
        }
    }
    Ok(())
}

/// An error turn makes no reply, so it may have no key of a reply.
fn check_alone(turn: &Turn) -> Result<(), String> {
    let beside = [
        ("text", turn.text.is_some()),
        ("thinking", turn.thinking.is_some()),
        ("tool_calls", !turn.tool_calls.is_empty()),
        ("usage", turn.usage.is_some()),
        ("stop_reason", turn.stop_reason.is_some()),
    ];
    match beside.iter().find(|(_, present)| *present) {
        None => Ok(()),
        Some((key, _)) => Err(format!(
            "`{key}` cannot be combined with `error`; text that arrives before the failure goes \
             into `after_text` of the error"
        )),
    }
}

fn check_fault(fault: &Fault) -> Result<(), String> {
    let waits = matches!(fault.kind, FaultKind::RateLimited | FaultKind::Unavailable);
    if fault.retry_after_ms.is_some() && !waits {
        return Err(String::from(
            "`retry_after_ms` goes with the kinds `rate_limited` and `unavailable` only",
        ));
    }
    fault.after_text.as_deref().map_or(Ok(()), template::check)
}

fn check_expect(expect: &Expect) -> Result<(), String> {
    let texts = [("last_user", &expect.last_user), ("system", &expect.system)];
    for (key, text) in texts {
        if text.as_ref().is_some_and(TextMatch::is_empty) {
            return Err(format!(
                "`{key}` expects nothing; give it `equals`, `contains`, `matches` or \
                 `not_contains`"
            ));
        }
    }
    Ok(())
}
