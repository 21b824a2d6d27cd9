//! Hooks in `hooks.json` and `settings.json`: events, matchers, handlers.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::text::head;
use serde_json::{Map, Value};

use super::claude_event::ClaudeEvent;
use super::event::Event;
use super::permission_rule::PermissionRule;
use super::values::{Reader, Values};
use crate::hooks::pattern::NameMatcher;

const QUESTION: Duration = Duration::from_secs(30);
/// Characters of a command by which people know it.
const MAX_LABEL_CHARS: usize = 60;
const LONGEST_ABOUT: usize = 100;
const INQUIRY: Duration = Duration::from_mins(1);

#[derive(Clone, Debug)]
pub(crate) struct Handler {
    pub(crate) event: Event,
    pub(crate) about: String,
    pub(crate) matcher: NameMatcher,
    pub(crate) condition: Option<PermissionRule>,
    pub(crate) program: Program,
    pub(crate) timeout: Duration,
    pub(crate) waiting: Waiting,
}

impl Handler {
    pub(crate) fn is_for(&self, what: &ClaudeEvent<'_>) -> bool {
        let call = what.input.get("tool_input").unwrap_or(&Value::Null);
        self.event == what.event
            && self.matcher.fits(&what.names)
            && self.condition.as_ref().is_none_or(|it| it.fits(&what.names, call))
    }

    pub(crate) fn title(&self) -> String {
        if self.about.is_empty() { self.program.shown() } else { self.about.clone() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    Shell(String),
    Direct(Vec<String>),
    Address { url: String, headers: BTreeMap<String, String>, variables: Vec<String> },
    Question { prompt: String, model: Option<String> },
    Inquiry { prompt: String, model: Option<String> },
    Tool { server: String, tool: String, input: Value },
}

impl Program {
    pub(crate) fn shown(&self) -> String {
        let whole = self.words();
        let mut words = whole.split_whitespace().collect::<Vec<_>>().join(" ");
        if words.chars().count() > MAX_LABEL_CHARS {
            words = words.chars().take(MAX_LABEL_CHARS).chain(['…']).collect();
        }
        words
    }

    fn words(&self) -> String {
        match self {
            Self::Shell(line) => line.clone(),
            Self::Direct(words) => words.join(" "),
            Self::Address { url, .. } => url.clone(),
            Self::Question { prompt, .. } | Self::Inquiry { prompt, .. } => {
                prompt.lines().next().unwrap_or_default().to_owned()
            }
            Self::Tool { server, tool, .. } => format!("{tool} of {server}"),
        }
    }

    pub(crate) fn needs_services(&self) -> bool {
        matches!(self, Self::Inquiry { .. } | Self::Tool { .. })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    ForEnd,
    No,
    /// No; if it ends with exit code 2, the model reads its output.
    Woken,
}

#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) handlers: Vec<Handler>,
    /// Parts that have no counterpart here, with the reason: one line each.
    pub(crate) ignored: Vec<String>,
    pub(crate) faults: Vec<String>,
}

/// Reads the value behind `hooks`, or a document that holds it.
pub(crate) fn read(document: &Value, values: &Values) -> Result<Read, String> {
    let events = match document.get("hooks") {
        Some(Value::Object(events)) => events,
        Some(_) => return Err("`hooks` is not an object".to_owned()),
        None => match document {
            // The events stand at the top in files that some people write.
            Value::Object(events) if events.keys().all(|key| Event::of(key).is_ok()) => events,
            Value::Object(_) => return Err("`hooks` is missing".to_owned()),
            _ => return Err("it is not an object".to_owned()),
        },
    };
    let mut read = Read::default();
    for (name, groups) in events {
        let event = match Event::of(name) {
            Ok(event) => event,
            Err(why) => {
                let known =
                    if Event::is_of_others(name) { &mut read.ignored } else { &mut read.faults };
                known.push(format!("hooks of {name}: {why}"));
                continue;
            }
        };
        let Value::Array(groups) = groups else {
            read.faults.push(format!("hooks of {name}: they are not a list"));
            continue;
        };
        for group in groups {
            group_of(event, group, values, &mut read);
        }
    }
    Ok(read)
}

fn group_of(event: Event, group: &Value, values: &Values, read: &mut Read) {
    let name = event.name();
    let matcher = match group.get("matcher") {
        Some(Value::String(text)) if event.has_matcher() => NameMatcher::new(text),
        Some(Value::String(_) | Value::Null) | None => Ok(NameMatcher::default()),
        Some(_) => Err("its matcher is not text".to_owned()),
    };
    let matcher = match matcher {
        Ok(matcher) => matcher,
        Err(why) => return read.faults.push(format!("a hook of {name}: {why}")),
    };
    let Some(Value::Array(handlers)) = group.get("hooks") else {
        return read.faults.push(format!("a hook of {name}: it has no list `hooks`"));
    };
    for handler in handlers {
        let about = about(handler).or_else(|| about(group)).unwrap_or_default();
        match handler_of(event, handler, values) {
            Ok(handler) => {
                read.handlers.push(Handler { matcher: matcher.clone(), about, ..handler });
            }
            Err(why) => read.faults.push(format!("a hook of {name}: {why}")),
        }
    }
}

fn about(entry: &Value) -> Option<String> {
    let said = ["description", "name", "id"].iter().find_map(|key| entry.get(key)?.as_str())?;
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(head(&line, LONGEST_ABOUT).to_owned()).filter(|line| !line.is_empty())
}

fn handler_of(event: Event, handler: &Value, values: &Values) -> Result<Handler, String> {
    let Value::Object(keys) = handler else { return Err("it is not an object".to_owned()) };
    let text = |key: &str| keys.get(key).and_then(Value::as_str);
    let flag = |key: &str| keys.get(key) == Some(&Value::Bool(true));
    let mut patience = event.patience();
    let program = match text("type") {
        Some("http") => address(keys)?,
        Some("prompt") => {
            patience = patience.min(QUESTION);
            let (prompt, model) = question(keys)?;
            Program::Question { prompt, model }
        }
        Some("agent") => {
            patience = patience.min(INQUIRY);
            let (prompt, model) = question(keys)?;
            Program::Inquiry { prompt, model }
        }
        Some("mcp_tool") => tool(keys, values)?,
        Some(other) if other != "command" => {
            return Err(format!("the type `{other}` is not known"));
        }
        None if !keys.contains_key("command") => return Err("`type` is missing".to_owned()),
        Some(_) | None if text("shell") == Some("powershell") => {
            return Err("it needs PowerShell".to_owned());
        }
        Some(_) | None => program(keys, values)?,
    };
    Ok(Handler {
        event,
        about: String::new(),
        matcher: NameMatcher::default(),
        condition: text("if").filter(|_| event.is_of_tools()).map(PermissionRule::new),
        program,
        timeout: timeout(keys).unwrap_or(patience),
        waiting: match (flag("asyncRewake"), flag("async")) {
            (true, _) => Waiting::Woken,
            (false, true) => Waiting::No,
            (false, false) => Waiting::ForEnd,
        },
    })
}

fn address(keys: &Map<String, Value>) -> Result<Program, String> {
    let url = keys.get("url").and_then(Value::as_str).map(str::trim).unwrap_or_default();
    if !url.starts_with("https://") && !url.starts_with("http://") {
        return Err("`url` is not an address with http or https".to_owned());
    }
    let texts = |value: &Value| value.as_str().map(str::to_owned);
    let mut headers = BTreeMap::new();
    for (name, value) in keys.get("headers").and_then(Value::as_object).into_iter().flatten() {
        headers.insert(name.clone(), texts(value).ok_or("a header is not text")?);
    }
    let variables = keys.get("allowedEnvVars").and_then(Value::as_array);
    let variables = variables.into_iter().flatten().filter_map(texts).collect();
    Ok(Program::Address { url: url.to_owned(), headers, variables })
}

fn worded<'a>(keys: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    keys.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

fn question(keys: &Map<String, Value>) -> Result<(String, Option<String>), String> {
    let prompt = worded(keys, "prompt").ok_or("`prompt` is missing")?.to_owned();
    Ok((prompt, worded(keys, "model").map(str::to_owned)))
}

fn tool(keys: &Map<String, Value>, values: &Values) -> Result<Program, String> {
    let server = worded(keys, "server").ok_or("`server` is missing")?.to_owned();
    let tool = worded(keys, "tool").ok_or("`tool` is missing")?.to_owned();
    let input = match keys.get("input") {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(input @ Value::Object(_)) => put_into(input, values),
        Some(_) => return Err("`input` is not an object".to_owned()),
    };
    Ok(Program::Tool { server, tool, input })
}

fn put_into(value: &Value, values: &Values) -> Value {
    match value {
        Value::String(text) => values.put_into(text, Reader::Program).into(),
        Value::Array(items) => items.iter().map(|item| put_into(item, values)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (key.clone(), put_into(value, values))).collect()
        }
        other => other.clone(),
    }
}

fn program(keys: &Map<String, Value>, values: &Values) -> Result<Program, String> {
    let Some(command) = keys.get("command").and_then(Value::as_str).map(str::trim) else {
        return Err("`command` is missing".to_owned());
    };
    if command.is_empty() || command.contains('\0') {
        return Err("`command` says nothing that can be run".to_owned());
    }
    let Some(args) = keys.get("args") else {
        if command.contains("${user_config.") {
            let what = "an option of the user must not become a part of a shell's line; use \
                        `args`, or the variable CLAUDE_PLUGIN_OPTION_NAME";
            return Err(what.to_owned());
        }
        return Ok(Program::Shell(command.to_owned()));
    };
    let Some(args) = args.as_array() else { return Err("`args` is not a list".to_owned()) };
    let mut words = vec![values.put_into(command, Reader::Program)];
    for arg in args {
        let arg = arg.as_str().ok_or("`args` holds what is not text")?;
        words.push(values.put_into(arg, Reader::Program));
    }
    Ok(Program::Direct(words))
}

fn timeout(keys: &Map<String, Value>) -> Option<Duration> {
    let seconds = keys.get("timeout")?.as_f64()?;
    let seconds = seconds.is_finite().then(|| seconds.clamp(0.01, 86_400.0))?;
    Some(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unusable_handlers_are_reported() {
        let document = json!({"description": "x", "hooks": {
            "PreToolUse": [
                {"matcher": "Bash", "hooks": [
                    {"type": "command", "command": "x", "timeout": 5, "if": "Bash(git *)"},
                    {"type": "http", "url": "https://example.org"},
                    {"type": "prompt", "prompt": "Is $ARGUMENTS fine?"},
                    {"type": "agent", "prompt": "x"},
                    {"type": "mcp_tool", "server": "s", "tool": "t", "input": {"a": "${b}"}},
                    {"type": "mcp_tool", "server": "s"},
                    {"type": "http", "url": "file:///etc/passwd"},
                ]},
                {"matcher": "(", "hooks": []},
            ],
            "Stop": [{"hooks": [{"type": "command", "command": "y", "asyncRewake": true}]}],
            "FileChanged": [{"hooks": []}],
            "Sometimes": [],
        }});
        let read = read(&document, &Values::default()).unwrap();
        assert_eq!(read.handlers.len(), 6);
        assert_eq!(read.handlers[0].timeout, Duration::from_secs(5));
        assert!(read.handlers[0].condition.is_some());
        assert_eq!(read.handlers[2].timeout, QUESTION);
        assert_eq!(read.handlers[3].timeout, INQUIRY);
        assert!(
            read.handlers[3].program.needs_services() && read.handlers[4].program.needs_services()
        );
        assert_eq!(read.handlers[5].waiting, Waiting::Woken);
        let told = read.faults.join("\n");
        for words in ["`tool` is", "not an address", "not a regular expression", "Sometimes"] {
            assert!(told.contains(words), "{told}");
        }
        assert!(read.ignored[0].contains("FileChanged") && read.ignored.len() == 1);
    }

    #[test]
    fn long_command_is_named_by_its_beginning() {
        let long = Program::Shell(format!("export PATH=x;\n  run {}", "y".repeat(2000)));
        let shown = long.shown();
        assert!(shown.starts_with("export PATH=x; run yyy") && shown.ends_with('…'), "{shown}");
        assert_eq!(shown.chars().count(), MAX_LABEL_CHARS + 1);
        assert_eq!(Program::Shell("a  b".to_owned()).shown(), "a b");
    }

    #[test]
    fn option_is_never_inserted_into_a_shell_line() {
        let made = |handler: Value| {
            let document = json!({"hooks": {"Stop": [{"hooks": [handler]}]}});
            read(&document, &Values::default()).unwrap()
        };
        let shell = made(json!({"type": "command", "command": "x ${user_config.a}"}));
        assert!(shell.handlers.is_empty() && shell.faults[0].contains("must not"));
        let direct = made(json!({"type": "command", "command": "x", "args": ["${user_config.a}"]}));
        assert!(matches!(direct.handlers[0].program, Program::Direct(_)));
    }

    #[test]
    fn a_document_without_hooks_is_refused() {
        assert!(read(&json!({"x": 1}), &Values::default()).is_err());
        assert!(read(&json!([]), &Values::default()).is_err());
        assert!(read(&json!({"Stop": []}), &Values::default()).is_ok());
    }
}
