//! Finds in files of a workspace what they would run or connect to, to show it to the person. What
//! is found decides nothing.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::config;
use crate::mcp::command_lines as servers;

/// Names whose value is a program or a command.
const COMMANDS: &[&str] =
    &["command", "cmd", "run", "exec", "executable", "script", "shell", "entrypoint", "statusLine"];
/// Names whose value is a place to connect to.
const ADDRESSES: &[&str] = &["url", "base_url", "endpoint", "host", "serverUrl", "httpUrl"];
/// Names whose value completes a command.
const ARGUMENTS: &[&str] = &["args", "arguments", "argv"];

/// Something that a file would run or connect to.
struct Line {
    shown: String,
    /// None where it is no command.
    run: Option<Run>,
}

/// A command that a file would run.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Run {
    /// What a shell would make of it, with the variables that it is given.
    pub(crate) command: String,
    /// The folder that it is started in, where one is given.
    pub(crate) folder: Option<String>,
    /// Words that are given on their own, as they are: each may be the path of a file.
    pub(crate) paths: Vec<String>,
    /// What runs, word for word: for a shell, or the path of a script.
    pub(crate) exact: String,
    /// Whether that is the path of a script.
    pub(crate) is_file: bool,
}

impl Line {
    fn shown(shown: String) -> Self {
        Self { shown, run: None }
    }

    fn command(command: String) -> Self {
        Self {
            shown: command.clone(),
            run: Some(Run { exact: command.clone(), command, ..Run::default() }),
        }
    }
}

/// Every command line and address in a file; a message where the file cannot be understood.
pub(crate) fn command_lines(path: &str, bytes: &[u8]) -> Vec<String> {
    lines(path, bytes).into_iter().map(|line| line.shown).collect()
}

/// Every command in a file, as a shell would read it.
pub(crate) fn commands(path: &str, bytes: &[u8]) -> Vec<Run> {
    lines(path, bytes).into_iter().filter_map(|line| line.run).collect()
}

fn lines(path: &str, bytes: &[u8]) -> Vec<Line> {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let text = String::from_utf8_lossy(bytes);
    let value = match extension {
        "json" => serde_json::from_str(&text).map_err(|error| error.to_string()),
        "yaml" | "yml" => config::plain_yaml(&text),
        "md" => return in_markdown(&text),
        _ => return Vec::new(),
    };
    match value {
        Ok(value) => {
            let mut lines = Vec::new();
            match (&value, path.rsplit('/').next()) {
                (_, Some(".mcp.json")) => look(&value, Runs::Servers, &mut lines),
                (Value::Object(fields), Some("config.yaml")) => {
                    lines.extend(
                        fields.iter().filter_map(|(name, value)| {
                            line(name, value, (fields, Runs::Anything))
                        }),
                    );
                    for (name, value) in fields {
                        let runs = if name == "mcp" { Runs::Servers } else { Runs::Anything };
                        look(value, runs, &mut lines);
                    }
                }
                _ => look(&value, Runs::Anything, &mut lines),
            }
            lines
        }
        Err(problem) => vec![Line::shown(format!("(cannot be told: {problem})"))],
    }
}

/// What a skill or command lets run, and runs. Read as it is when it is used: without what nobody sees.
fn in_markdown(text: &str) -> Vec<Line> {
    let (mut seen, mut end) = (String::new(), 0);
    for (at, c) in plugins::hidden::places(text) {
        seen.push_str(&text[end..at]);
        end = at + c.len_utf8();
    }
    seen.push_str(&text[end..]);
    let head = seen.strip_prefix("---").and_then(|rest| Some(rest.split_once("\n---")?.0));
    let head = head.and_then(|head| config::plain_yaml(head).ok());
    let run = head.as_ref().and_then(|head| words(head.get("run")?));
    let granted = head.as_ref().and_then(granted);
    let commands = run.into_iter().chain(filled(&seen)).chain(fenced(&seen)).map(Line::command);
    granted.map(Line::shown).into_iter().chain(commands).collect()
}

/// What the head of a skill or command lets run.
fn granted(value: &Value) -> Option<String> {
    let tools = ["allowed-tools", "allowed_tools"].iter().find_map(|name| value.get(*name))?;
    let tools = match tools {
        Value::Array(items) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        other => other.as_str()?.to_owned(),
    };
    (!tools.is_empty())
        .then(|| format!("lets these run without a question while it is used: {tools}"))
}

/// What a command runs to fill in its text; the rest of it is for the model.
fn filled(text: &str) -> impl Iterator<Item = String> {
    let commands = text.split("!`").skip(1);
    commands.filter_map(|rest| Some(rest.split_once('`')?.0.to_owned()))
}

/// The same where it stands in lines of its own. Whatever the lines around them are, all that is run is
/// among these: every such fence ends with the next mark.
fn fenced(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fence: Option<Vec<&str>> = None;
    for line in text.lines() {
        match (&mut fence, line.trim()) {
            (Some(_), "```") => found.extend(fence.take().map(|lines| lines.join("\n"))),
            (Some(lines), _) => lines.push(line),
            (None, "```!") => fence = Some(Vec::new()),
            (None, _) => {}
        }
    }
    found
}

/// What the commands of a file are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runs {
    /// MCP servers.
    Servers,
    Anything,
}

fn look(value: &Value, runs: Runs, lines: &mut Vec<Line>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| look(item, runs, lines)),
        Value::Object(fields) => {
            let within = (fields, runs);
            lines.extend(fields.iter().filter_map(|(name, value)| line(name, value, within)));
            fields.values().for_each(|value| look(value, runs, lines));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn line(name: &str, value: &Value, (fields, runs): (&Map<String, Value>, Runs)) -> Option<Line> {
    let is = |names: &[&str]| {
        names.iter().any(|known| known.eq_ignore_ascii_case(name)) || name.ends_with("Helper")
    };
    if ADDRESSES.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        return Some(Line::shown(format!("connects to {}", words(value)?)));
    }
    if !is(COMMANDS) {
        return None;
    }
    let mut line = words(value)?;
    let mut paths = texts(value);
    // The name of a script needs no sign of a path.
    let is_file = name == "script" && !line.contains(char::is_whitespace);
    let mut command = if is_file { format!(". {line}") } else { line.clone() };
    for (other, value) in fields {
        if ARGUMENTS.contains(&other.as_str())
            && let Some(more) = words(value).filter(|more| !more.is_empty())
        {
            line.push(' ');
            line.push_str(&more);
            command.push(' ');
            command.push_str(&more);
            paths.extend(texts(value));
        }
    }
    let folder = ["cwd", "workingDirectory", "working_dir"].iter().find_map(|it| fields.get(*it));
    let folder = folder.and_then(Value::as_str).map(str::to_owned);
    if let Some(folder) = &folder {
        let _ = write!(line, " (in {folder})");
    }
    let mut set = String::new();
    if let Some(Value::Object(env)) = fields.get("env")
        && !env.is_empty()
    {
        let names: Vec<&str> = env.keys().map(String::as_str).collect();
        let _ = write!(line, " (with {})", names.join(", "));
        let values = env.iter().map(|(name, value)| (name, value.as_str().unwrap_or_default()));
        let values: Vec<String> =
            values.map(|(name, value)| format!("{name}={} ", quoted(value))).collect();
        command.insert_str(0, &values.concat());
        set = names.iter().flat_map(|name| [*name, "=x "]).collect();
    }
    let floating = || mcp::config::floating_entry(&Value::Object(fields.clone()), servers::read);
    if runs == Runs::Servers
        && let Some(floating) = floating()
    {
        let _ = write!(line, " ({})", floating.describe());
    }
    let is_list = value.is_array()
        || runs == Runs::Servers
        || ARGUMENTS.iter().any(|it| fields.contains_key(*it));
    let exact = match (name, value, is_list) {
        ("script", Value::String(path), _) => path.clone(),
        (_, Value::String(text), false) => format!("{set}{text}"),
        _ => set + &paths.iter().map(|word| exact(word)).collect::<Vec<_>>().join(" "),
    };
    let is_file = name == "script" && value.is_string();
    Some(Line { shown: line, run: Some(Run { command, folder, paths, exact, is_file }) })
}

/// A word as a shell takes it for just that; with a variable in it, one that is not known.
fn exact(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+".contains(c);
    if word.contains('$') {
        "\"$_\"".to_owned()
    } else if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// A text, or the texts of a list, as they are.
fn texts(value: &Value) -> Vec<String> {
    let items = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned)).collect()
}

/// A word of a line, in quotes where there is a space in it.
fn quoted(text: &str) -> String {
    if text.is_empty() || text.contains(char::is_whitespace) {
        format!("'{}'", text.replace('\'', "'\\''"))
    } else {
        text.to_owned()
    }
}

/// Text, or a list of texts as one line.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let words: Option<Vec<String>> = items
                .iter()
                .map(|item| match item {
                    Value::String(text) => Some(quoted(text)),
                    Value::Number(_) | Value::Bool(_) => Some(item.to_string()),
                    Value::Null | Value::Array(_) | Value::Object(_) => None,
                })
                .collect();
            words.map(|words| words.join(" "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_hooks_and_addresses_are_found_wherever_they_stand() {
        let servers = br#"{"mcpServers": {
            "a": {"command": "node", "args": ["s.js", "two words"], "env": {"KEY": "x"}},
            "b": {"url": "http://evil/x", "headersHelper": "./h.sh"}}}"#;
        let found = command_lines(".mcp.json", servers);
        assert_eq!(
            found,
            ["node s.js 'two words' (with KEY)", "connects to http://evil/x", "./h.sh"]
        );
        let hooks = b"pre_tool_use:\n  - match: Bash\n    command: ./check.sh\n";
        assert_eq!(command_lines(".brynhild/hooks.yaml", hooks), ["./check.sh"]);
        let settings =
            br#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "id"}]}]}}"#;
        assert_eq!(command_lines(".claude/settings.json", settings), ["id"]);
    }

    #[test]
    fn a_server_that_takes_the_newest_version_says_so() {
        let entry = br#"{"a": {"command": "npx", "args": ["-y", "x"]}}"#;
        let found = command_lines(".mcp.json", entry).concat();
        assert!(found.contains("whatever version of `x` is newest"), "{found}");
        let yaml = b"mcp: {servers: {a: {command: uvx, args: [x]}}}\nother: {command: npx x}\n";
        let found = command_lines(".brynhild/config.yaml", yaml);
        assert!(found[0].contains("newest") && found[1] == "npx x", "{found:?}");
        let settings = br#"{"hooks": {"Stop": [{"hooks": [{"command": "npx tsc"}]}]}}"#;
        assert_eq!(command_lines(".claude/settings.json", settings), ["npx tsc"]);
    }

    #[test]
    fn what_a_skill_lets_run_is_named() {
        let path = ".brynhild/skills/a/SKILL.md";
        let head = "---\nname: a\nallowed-tools: [Bash, \"Write(src/**)\"]\n---\nWords\n";
        let wanted = "lets these run without a question while it is used: Bash, Write(src/**)";
        assert_eq!(command_lines(path, head.as_bytes()), [wanted]);
        let head = "---\nallowed-tools: Bash(git:*), Read\n---\n";
        assert!(command_lines(path, head.as_bytes())[0].ends_with("Bash(git:*), Read"));
        assert!(command_lines(path, b"---\nname: a\n---\nallowed-tools: Bash\n").is_empty());
        assert!(command_lines(path, b"plain").is_empty());
    }

    #[test]
    fn of_a_command_s_text_counts_what_fills_it_in() {
        let text = b"---\ndescription: d\n---\nSee ./other.sh:\n!`./see.sh $1` and !`git status`\n";
        assert_eq!(command_lines(".claude/commands/a.md", text), ["./see.sh $1", "git status"]);
    }

    #[test]
    fn fences_and_lines_of_the_head_are_command_lines() {
        let text = "---\nname: r\nrun: sh tools/s1.sh\n---\nWords\n```!\nsh tools/see.sh\nid\n```\n\
                    ```sh\n```!\n```!\n./other.sh\n```\n```!\nwithout an end\n";
        let found = command_lines(".brynhild/commands/r.md", text.as_bytes());
        assert_eq!(found[..2], ["sh tools/s1.sh", "sh tools/see.sh\nid"]);
        assert!(found[2].contains("./other.sh") && found.len() == 3, "{found:?}");
        let hidden = "!\u{200b}`./a.sh` ``\u{200b}`!\r\n./b.sh\r\n```\r\n";
        assert_eq!(command_lines("a.md", hidden.as_bytes())[0], "./a.sh");
        let hidden = "``\u{200b}`!\r\n./b.sh\r\n```\r\n";
        assert_eq!(command_lines("a.md", hidden.as_bytes()), ["./b.sh"]);
    }

    #[test]
    fn what_cannot_be_understood_says_so() {
        assert!(command_lines(".mcp.json", b"{").concat().starts_with("(cannot be told"));
        assert!(command_lines("run.sh", b"command: x").is_empty());
    }
}
