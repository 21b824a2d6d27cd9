//! The reader of `hooks.yaml`. A bad entry costs itself and one message. Runs nothing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use contract::hook::OnFailure;
use contract::text::closest;
use formats::yaml::tree::{Content, Position, Tree as Node};
use formats::yaml::{self, Options, YES_NO};
use serde_json::Value;

use super::event::{self, Event};
use super::matching::Matcher;
use crate::problem::Problem;
use crate::words::Words;

const USUAL_TIME: Duration = Duration::from_secs(30);

const LONGEST_TIME: f64 = 86_400.0;

const KEYS: Words =
    Words("name type event command script prompt model match message timeout enabled on_failure");

#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) event: Event,
    pub(crate) name: String,
    pub(crate) action: Action,
    pub(crate) matcher: Matcher,
    pub(crate) message: Option<String>,
    pub(crate) timeout: Timeout,
    pub(crate) enabled: bool,
    pub(crate) on_failure: OnFailure,
    /// Its line; 0 where it comes from no file.
    pub(crate) line: usize,
}

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Command(String),
    Script(PathBuf),
    Prompt {
        prompt: String,
        model: Option<String>,
    },
    /// Blocks whatever it could have been about, and says what is wrong with its definition.
    Refuse(String),
}

impl Action {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Command(_) => "command",
            Self::Script(_) => "script",
            Self::Prompt { .. } => "prompt",
            Self::Refuse(_) => "broken",
        }
    }

    pub(crate) fn subject(&self) -> String {
        match self {
            Self::Command(command) => command.trim().to_owned(),
            Self::Script(script) => script.display().to_string(),
            Self::Prompt { prompt, .. } => prompt.trim().to_owned(),
            Self::Refuse(why) => why.clone(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timeout {
    pub(crate) limit: Duration,
    pub(crate) then: OnTimeout,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnTimeout {
    Block,
    Continue,
}

#[derive(Debug, Default)]
pub(crate) struct File {
    pub(crate) definitions: Vec<Definition>,
    pub(crate) problems: Vec<Problem>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    Blocks,
    IsLeftOut,
}

/// A file that cannot be read at all: everything that a hook could block is.
pub(crate) fn unreadable(problem: Problem) -> File {
    let what = format!("{}{}", problem.what, blocked(&EVERY_GUARD));
    let problem = Problem::new(&problem.path, what, problem.hint);
    let definitions = EVERY_GUARD.map(|event| refusal(event, 0, &problem)).to_vec();
    File { definitions, problems: vec![problem] }
}

pub(crate) fn read(path: &Path, text: &str, broken: Broken) -> File {
    let mut reader = Reader { path, broken, file: File::default() };
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return reader.file;
    }
    let options = Options { repeated_keys: true, ..YES_NO };
    match yaml::parse(text, options) {
        Ok(node) => reader.whole(&node),
        Err(error) => reader.guards(
            &EVERY_GUARD,
            (
                error.line,
                format!(
                    "the file cannot be read, so that none of its hooks runs: {}",
                    error.message
                ),
                String::from("correct the line; `brynhild hooks validate` checks again"),
            ),
        ),
    }
    reader.file
}

/// Understands a value of the same shape that comes from no file; `path` is where it comes from.
pub(crate) fn from_value(path: &Path, value: &Value) -> File {
    let mut reader = Reader { path, broken: Broken::IsLeftOut, file: File::default() };
    reader.whole(&Node::from_value(value.clone(), &Position::default()));
    reader.file
}

fn kind(node: &Node) -> &'static str {
    match &node.content {
        Content::Scalar(Value::Null) => "nothing",
        Content::Scalar(Value::Bool(_)) => "a truth value",
        Content::Scalar(Value::Number(_)) => "a number",
        Content::Scalar(_) => "text",
        Content::List(_) => "a list",
        Content::Map(_) => "a mapping",
    }
}

fn truth(node: &Node) -> Option<bool> {
    match &node.content {
        Content::Scalar(Value::Bool(truth)) => Some(*truth),
        Content::Scalar(Value::String(word)) => match word.to_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        },
        Content::Scalar(_) | Content::List(_) | Content::Map(_) => None,
    }
}

fn number(node: &Node) -> Option<f64> {
    match &node.content {
        Content::Scalar(value) => value.as_f64(),
        Content::List(_) | Content::Map(_) => None,
    }
}

struct Reader<'a> {
    path: &'a Path,
    broken: Broken,
    file: File,
}

const EVERY_GUARD: [Event; 3] = [Event::UserPromptSubmit, Event::PreMessage, Event::PreToolUse];

/// Why an entry is left out: its line, what is wrong, what to do.
type Refusal = (usize, String, String);

fn blocked(events: &[Event]) -> String {
    let names: Vec<&str> = events.iter().map(|event| event.name()).collect();
    format!("; these events are blocked until the file is corrected: {}", names.join(", "))
}

/// Returns true if an entry says of itself that nothing depends on it.
fn may_fail(entry: &Node) -> bool {
    let pairs = entry.as_map().unwrap_or_default();
    let entry = Entry { line: 0, pairs };
    entry.get("on_failure").and_then(Node::text) == Some("continue")
        || entry.get("enabled").and_then(truth) == Some(false)
}

fn all_may_fail(entries: &Node) -> bool {
    match &entries.content {
        Content::List(entries) => entries.iter().all(may_fail),
        Content::Scalar(_) | Content::Map(_) => entries.is_null(),
    }
}

/// A hook that blocks, because what stands in its place makes no sense.
fn refusal(event: Event, line: usize, problem: &Problem) -> Definition {
    let why = format!("{problem} ({})", problem.hint);
    Definition {
        event,
        name: String::from("broken"),
        action: Action::Refuse(why),
        matcher: Matcher::default(),
        message: None,
        timeout: Timeout { limit: USUAL_TIME, then: OnTimeout::Block },
        enabled: true,
        on_failure: OnFailure::Block,
        line,
    }
}

impl Reader<'_> {
    fn report(&mut self, line: usize, what: impl AsRef<str>, hint: impl AsRef<str>) {
        let place = if line == 0 { String::new() } else { format!("line {line}: ") };
        let what = format!("{place}{}", what.as_ref());
        self.file.problems.push(Problem::new(self.path, what, hint));
    }

    /// Reports what keeps hooks of these events from being known. Where any of them could be a
    /// guard, all that it could be about is blocked.
    fn guards(&mut self, events: &[Event], (line, what, hint): Refusal) {
        let guarded: Vec<Event> =
            events.iter().copied().filter(|event| event.can_block()).collect();
        if self.broken == Broken::IsLeftOut || guarded.is_empty() {
            return self.report(line, what, hint);
        }
        self.report(line, format!("{what}{}", blocked(&guarded)), hint);
        let Some(problem) = self.file.problems.last() else { return };
        let refusals = guarded.into_iter().map(|event| refusal(event, line, problem));
        self.file.definitions.extend(refusals);
    }

    fn whole(&mut self, node: &Node) {
        let Some(pairs) = node.as_map() else {
            let what = format!("this is {}, where a mapping with `hooks` belongs", kind(node));
            let hint = String::from("begin with `version: 1` and `hooks:`");
            return self.guards(&EVERY_GUARD, (node.place.line, what, hint));
        };
        for (key, value) in pairs {
            match key.as_str() {
                "version" => self.version(value),
                "hooks" => self.events(value),
                other => self.odd_part(other, value),
            }
        }
    }

    fn odd_part(&mut self, name: &str, node: &Node) {
        let what = format!("there is no key `{name}` here");
        let event = event::meant(name).and_then(Event::parse);
        if let Some(event) = event {
            let hint = format!("put `{}` beneath `hooks:`", event.name());
            let events: &[Event] = if all_may_fail(node) { &[] } else { &[event] };
            return self.guards(events, (node.place.line, what, hint));
        }
        let hint = String::from("there are `version` and `hooks`");
        let events: &[Event] = if closest(name, ["hooks"]).is_some() { &EVERY_GUARD } else { &[] };
        self.guards(events, (node.place.line, what, hint));
    }

    fn version(&mut self, node: &Node) {
        let is_one = number(node).is_some_and(|number| (number - 1.0).abs() == 0.0);
        if !is_one && node.text() != Some("1") {
            let what = "only version 1 is known; the file is read as such";
            self.report(node.place.line, what, "write `version: 1`");
        }
    }

    fn events(&mut self, node: &Node) {
        if node.is_null() {
            return;
        }
        let Some(events) = node.as_map() else {
            let what = format!("`hooks` is {}, where a mapping from events belongs", kind(node));
            let hint = String::from("write `pre_tool_use:` and a list beneath it");
            return self.guards(&EVERY_GUARD, (node.place.line, what, hint));
        };
        let mut seen = Vec::new();
        for (name, entries) in events {
            let Some(event) = Event::parse(name) else {
                self.unknown_event(name, entries);
                continue;
            };
            if seen.contains(&event) {
                let what = format!("`{name}` appears twice; the hooks of both are used");
                self.report(entries.place.line, what, "put them into one list");
            }
            seen.push(event);
            self.entries(event, entries);
        }
    }

    fn unknown_event(&mut self, name: &str, entries: &Node) {
        let all = || {
            let names: Vec<&str> = Event::ALL.into_iter().map(Event::name).collect();
            format!("the events are {}", names.join(", "))
        };
        let guess = |meant: &str| format!("did you mean `{meant}`?");
        let meant = event::meant(name);
        let event = meant.and_then(Event::parse).filter(|_| !all_may_fail(entries));
        let what = format!("there is no event `{name}`, so its hooks never run");
        let hint = meant.map_or_else(all, guess);
        self.guards(event.as_slice(), (entries.place.line, what, hint));
    }

    fn entries(&mut self, event: Event, node: &Node) {
        let entries = match &node.content {
            Content::List(entries) => entries,
            Content::Scalar(Value::Null) => return,
            Content::Scalar(_) | Content::Map(_) => {
                let what = format!("`{}` is {}, where a list belongs", event.name(), kind(node));
                let hint = String::from("begin each hook with `- name: NAME`");
                return self.guards(&[event], (node.place.line, what, hint));
            }
        };
        for entry in entries {
            match self.entry(event, entry) {
                Ok(definition) => self.file.definitions.push(definition),
                Err(refusal) => self.left_out(event, entry, refusal),
            }
        }
    }

    /// Reports an entry that makes no sense. Where it could be a guard, and does not say that it
    /// may fail, it blocks what its `match` fits, as far as that makes sense.
    fn left_out(&mut self, event: Event, node: &Node, (line, what, hint): Refusal) {
        let before = self.file.definitions.len();
        let what = format!("this hook is left out: {what}");
        let events: &[Event] = if may_fail(node) { &[] } else { &[event] };
        let pairs = node.as_map().unwrap_or_default();
        let entry = Entry { line, pairs };
        let usual = self.broken;
        // Who says what a failure means is taken at the word, wherever the entry stands.
        if matches!(on_failure(&entry), Ok(OnFailure::Block | OnFailure::Ask)) {
            self.broken = Broken::Blocks;
        }
        self.guards(events, (line, what, hint));
        self.broken = usual;
        for refusal in &mut self.file.definitions[before..] {
            if let Ok(name) = entry.required("name") {
                refusal.name = name;
            }
            if let Some(conditions) = entry.get("match").and_then(Node::as_map) {
                refusal.matcher = Matcher::of_sense(conditions, &event.fields());
            }
        }
    }

    fn entry(&mut self, event: Event, node: &Node) -> Result<Definition, Refusal> {
        let Some(pairs) = node.as_map() else {
            let what = format!("it is {}, where a mapping belongs", kind(node));
            return Err((node.place.line, what, "begin it with `- name: NAME`".to_owned()));
        };
        let entry = Entry { line: node.place.line, pairs };
        let name = entry.required("name")?;
        let definition = Definition {
            event,
            action: action(&entry)?,
            matcher: self.matcher(event, node, &name)?,
            message: entry.text("message")?,
            timeout: timeout(&entry)?,
            enabled: match entry.get("enabled") {
                None => true,
                Some(node) => truth(node).ok_or_else(|| wrong("enabled", node, "true or false"))?,
            },
            on_failure: on_failure(&entry)?,
            line: node.place.line,
            name,
        };
        self.odd_keys(event, &entry, &definition);
        Ok(definition)
    }

    fn matcher(&mut self, event: Event, whole: &Node, name: &str) -> Result<Matcher, Refusal> {
        let entry = Entry { line: whole.place.line, pairs: whole.as_map().unwrap_or_default() };
        let Some(node) = entry.get("match") else { return Ok(Matcher::default()) };
        let pairs =
            node.as_map().ok_or_else(|| wrong("match", node, "a mapping such as `tool: Bash`"))?;
        let (matcher, complaints) = Matcher::new(pairs);
        let mut findings: Vec<Refusal> = Vec::new();
        for (line, what) in complaints {
            let hint =
                "correct the expression; plain characters such as `(` need a `\\` before them";
            findings.push((line, format!("hook `{name}`: {what}"), hint.to_owned()));
        }
        let fields = event.fields();
        for unknown in matcher.names().filter(|name| !fields.contains(name)) {
            let what =
                format!("hook `{name}` never runs: {} has no `{unknown}` to match", event.name());
            let meant = if unknown == "tool_name" && fields.contains(&"tool") {
                Some("tool")
            } else {
                closest(unknown, fields.iter().copied())
            };
            let hint = match meant {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("it has {}", fields.join(", ")),
            };
            findings.push((node.place.line, what, hint));
        }
        if self.broken == Broken::Blocks && event.can_block() && !may_fail(whole) {
            if let Some(finding) = findings.into_iter().next() {
                return Err(finding);
            }
            return Ok(matcher);
        }
        for (line, what, hint) in findings {
            self.report(line, what, hint);
        }
        Ok(matcher)
    }

    /// Reports keys that mean nothing; the hook stays, since it may be a guard.
    fn odd_keys(&mut self, event: Event, entry: &Entry, definition: &Definition) {
        let name = &definition.name;
        for (key, node) in entry.pairs {
            if !KEYS.has(key) {
                let hint = match closest(key, KEYS) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("there are {}", KEYS.0.replace(' ', ", ")),
                };
                self.report(
                    node.place.line,
                    format!("hook `{name}`: `{key}` has no meaning"),
                    hint,
                );
            }
        }
        let said = entry.get("event").and_then(Node::text);
        if let Some(said) = said.filter(|said| *said != event.name()) {
            let what =
                format!("hook `{name}` says `event: {said}`, but is listed under {}", event.name());
            self.report(definition.line, what, "move it, or remove `event`");
        }
        let is_name = |other: &&Definition| other.event == event && other.name == *name;
        if self.file.definitions.iter().any(|other| is_name(&other)) {
            let what = format!("a second hook of {} is called `{name}`; both run", event.name());
            self.report(definition.line, what, "give each a name of its own");
        }
    }
}

struct Entry<'a> {
    line: usize,
    pairs: &'a [(String, Node)],
}

impl Entry<'_> {
    fn get(&self, key: &str) -> Option<&Node> {
        let found = self.pairs.iter().rev().find(|(name, _)| name == key);
        found.map(|(_, node)| node).filter(|node| !node.is_null())
    }

    fn text(&self, key: &str) -> Result<Option<String>, Refusal> {
        let Some(node) = self.get(key) else { return Ok(None) };
        let text = node.text().ok_or_else(|| wrong(key, node, "text"))?;
        if text.contains('\0') {
            return Err(wrong(key, node, "text without a NUL character"));
        }
        Ok(Some(text.to_owned()))
    }

    fn required(&self, key: &str) -> Result<String, Refusal> {
        match self.text(key)? {
            Some(text) if !text.trim().is_empty() => Ok(text),
            _ => Err((self.line, format!("it has no `{key}`"), format!("add `{key}: ...`"))),
        }
    }
}

fn wrong(key: &str, node: &Node, wanted: &str) -> Refusal {
    let what = format!("`{key}` is {}, and must be {wanted}", kind(node));
    (node.place.line, what, format!("write `{key}:` and {wanted}"))
}

fn action(entry: &Entry) -> Result<Action, Refusal> {
    let kind = entry.required("type")?;
    match kind.as_str() {
        "command" => Ok(Action::Command(entry.required("command")?)),
        "script" => Ok(Action::Script(PathBuf::from(entry.required("script")?.trim()))),
        "prompt" => {
            Ok(Action::Prompt { prompt: entry.required("prompt")?, model: entry.text("model")? })
        }
        other => {
            let kinds = ["command", "script", "prompt"];
            let hint = match closest(other, kinds) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "there are command, script and prompt".to_owned(),
            };
            Err((entry.line, format!("there is no type `{other}`"), hint))
        }
    }
}

fn timeout(entry: &Entry) -> Result<Timeout, Refusal> {
    let usual = Timeout { limit: USUAL_TIME, then: OnTimeout::Block };
    let Some(node) = entry.get("timeout") else { return Ok(usual) };
    if let Content::Scalar(_) = &node.content {
        return Ok(Timeout { limit: seconds(node)?, ..usual });
    }
    let pairs = node.as_map().ok_or_else(|| wrong("timeout", node, "a number of seconds"))?;
    let mut timeout = usual;
    for (key, value) in pairs.iter().filter(|(_, value)| !value.is_null()) {
        match key.as_str() {
            "seconds" => timeout.limit = seconds(value)?,
            "on_timeout" => {
                timeout.then = match value.text() {
                    Some("block") => OnTimeout::Block,
                    Some("continue") => OnTimeout::Continue,
                    _ => return Err(wrong("on_timeout", value, "`block` or `continue`")),
                }
            }
            other => {
                let what = format!("`timeout` has no `{other}`");
                let hint = "there are `seconds` and `on_timeout`".to_owned();
                return Err((value.place.line, what, hint));
            }
        }
    }
    Ok(timeout)
}

fn seconds(node: &Node) -> Result<Duration, Refusal> {
    let number = number(node).filter(|seconds| *seconds > 0.0 && *seconds <= LONGEST_TIME);
    let number = number.ok_or_else(|| wrong("timeout", node, "between 0 and 86400 seconds"))?;
    Ok(Duration::from_secs_f64(number))
}

fn on_failure(entry: &Entry) -> Result<OnFailure, Refusal> {
    let Some(node) = entry.get("on_failure") else { return Ok(OnFailure::Continue) };
    match node.text() {
        Some("continue") => Ok(OnFailure::Continue),
        Some("ask") => Ok(OnFailure::Ask),
        Some("block") => Ok(OnFailure::Block),
        _ => Err(wrong("on_failure", node, "`block`, `ask` or `continue`")),
    }
}

#[cfg(test)]
mod tests;
