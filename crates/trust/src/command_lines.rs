//! Finds the command lines and addresses in files of a workspace, for the trust dialog and for the
//! files that trust covers.

use std::fmt::Write as _;

use formats::{frontmatter, shell, yaml};
use serde_json::{Map, Value};

use crate::program::Program;

const COMMANDS: &[&str] =
    &["command", "cmd", "run", "exec", "executable", "script", "shell", "entrypoint", "statusLine"];
const ADDRESSES: &[&str] = &["url", "base_url", "endpoint", "host", "serverUrl", "httpUrl"];
const ARGUMENTS: &[&str] = &["args", "arguments", "argv"];

pub(crate) struct CommandLine {
    pub(crate) shown: String,
    pub(crate) start: Option<Start>,
}

pub(crate) enum Start {
    Shell(String),
    /// A program and its arguments, and the directory to start it in.
    Words {
        words: Vec<String>,
        directory: Option<String>,
    },
    File(String),
}

impl CommandLine {
    fn shown(shown: String) -> Self {
        Self { shown, start: None }
    }

    fn shell(text: String) -> Self {
        Self { shown: text.clone(), start: Some(Start::Shell(text)) }
    }
}

/// Every command line and address in a file; a message if the file cannot be parsed.
pub(crate) fn command_lines(path: &str, bytes: &[u8], program: &Program) -> Vec<CommandLine> {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let text = String::from_utf8_lossy(bytes);
    let value = match extension {
        "json" => serde_json::from_str(&text).map_err(|error| error.to_string()),
        "yaml" | "yml" => yaml::value(&text).map_err(|error| error.to_string()),
        "md" => return in_markdown(&(program.without_hidden)(&text)),
        _ => return Vec::new(),
    };
    let value = match value {
        Ok(value) => value,
        Err(problem) => return vec![CommandLine::shown(format!("(cannot be read: {problem})"))],
    };
    let runs = if path.ends_with(".mcp.json") { Runs::Servers } else { Runs::Anything };
    let mut lines = Vec::new();
    look(&value, (runs, program), &mut lines);
    lines
}

fn in_markdown(text: &str) -> Vec<CommandLine> {
    let (keys, _) = frontmatter::parse_optional(text).unwrap_or_default();
    let run = keys.get("run").and_then(words);
    let granted = granted(&keys);
    let commands = run.into_iter().chain(filled(text)).chain(fenced(text)).map(CommandLine::shell);
    granted.map(CommandLine::shown).into_iter().chain(commands).collect()
}

fn granted(keys: &Map<String, Value>) -> Option<String> {
    let tools = ["allowed-tools", "allowed_tools"].iter().find_map(|name| keys.get(*name))?;
    let tools = texts(tools).join(", ");
    (!tools.is_empty())
        .then(|| format!("lets these run without a question while it is used: {tools}"))
}

/// The commands in the text of a slash command; the rest of it is for the model.
fn filled(text: &str) -> impl Iterator<Item = String> {
    let commands = text.split("!`").skip(1);
    commands.filter_map(|rest| Some(rest.split_once('`')?.0.to_owned()))
}

/// The commands in fences. A fence ends at the next mark, so that none that would run is missing.
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Runs {
    Servers,
    Anything,
}

fn look(value: &Value, (runs, program): (Runs, &Program), lines: &mut Vec<CommandLine>) {
    match value {
        Value::Array(items) => {
            for item in items {
                look(item, (runs, program), lines);
            }
        }
        Value::Object(fields) => {
            let unpinned = (runs == Runs::Servers).then_some(program.unpinned_package);
            let found = |(name, value): (&String, &Value)| line(name, value, fields, unpinned);
            lines.extend(fields.iter().filter_map(found));
            for (name, value) in fields {
                let runs = if name == "mcp" { Runs::Servers } else { runs };
                look(value, (runs, program), lines);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The command line or address in a field. `unpinned` describes the package of a server.
fn line(
    name: &str,
    value: &Value,
    fields: &Map<String, Value>,
    unpinned: Option<fn(&Value) -> Option<String>>,
) -> Option<CommandLine> {
    let is_one_of = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    if is_one_of(ADDRESSES) {
        return Some(CommandLine::shown(format!("connects to {}", words(value)?)));
    }
    if !is_one_of(COMMANDS) && !name.ends_with("Helper") {
        return None;
    }
    let mut shown = words(value)?;
    let mut argv = texts(value);
    let mut is_list = value.is_array() || unpinned.is_some();
    for more in ARGUMENTS.iter().filter_map(|name| fields.get(*name)) {
        is_list = true;
        argv.extend(texts(more));
        let more = words(more).filter(|more| !more.is_empty());
        shown.extend(more.map(|more| format!(" {more}")));
    }
    let mut directory = ["cwd", "workingDirectory", "working_dir"].iter();
    let directory = directory.find_map(|it| fields.get(*it)?.as_str()).map(str::to_owned);
    if let Some(directory) = &directory {
        let _ = write!(shown, " (in {directory})");
    }
    if let Some(Value::Object(env)) = fields.get("env")
        && !env.is_empty()
    {
        let names: Vec<&str> = env.keys().map(String::as_str).collect();
        let _ = write!(shown, " (with {})", names.join(", "));
    }
    if let Some(package) = unpinned.and_then(|find| find(&Value::Object(fields.clone()))) {
        let _ = write!(shown, " ({package})");
    }
    let start = match (name, value) {
        ("script", Value::String(path)) => Start::File(path.clone()),
        (_, Value::String(text)) if !is_list => Start::Shell(text.clone()),
        _ => Start::Words { words: argv, directory },
    };
    Some(CommandLine { shown, start: Some(start) })
}

fn texts(value: &Value) -> Vec<String> {
    let items = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned)).collect()
}

fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(_) => Some(shell::join(texts(value))),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(path: &str, bytes: &[u8]) -> Vec<String> {
        command_lines(path, bytes, &crate::program::NONE)
            .into_iter()
            .map(|line| line.shown)
            .collect()
    }

    #[test]
    fn servers_hooks_and_addresses_are_found_at_any_depth() {
        let servers = br#"{"mcpServers": {
            "a": {"command": "node", "args": ["s.js", "two words"], "env": {"KEY": "x"}},
            "b": {"url": "http://evil/x", "headersHelper": "./h.sh"}}}"#;
        let found = shown(".mcp.json", servers);
        assert_eq!(
            found,
            ["node s.js 'two words' (with KEY)", "connects to http://evil/x", "./h.sh"]
        );
        let hooks = b"pre_tool_use:\n  - match: Bash\n    command: ./check.sh\n";
        assert_eq!(shown(".brynhild/hooks.yaml", hooks), ["./check.sh"]);
        let settings =
            br#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "id"}]}]}}"#;
        assert_eq!(shown(".claude/settings.json", settings), ["id"]);
    }

    #[test]
    fn unpinned_server_is_marked() {
        let entry = br#"{"a": {"command": "npx", "args": ["-y", "x"]}}"#;
        let found = shown(".mcp.json", entry).concat();
        assert!(found.ends_with("(newest)"), "{found}");
        let yaml = b"mcp: {servers: {a: {command: npx, args: [x]}}}\nother: {command: npx x}\n";
        let found = shown(".brynhild/config.yaml", yaml);
        assert!(found[0].contains("newest") && found[1] == "npx x", "{found:?}");
        let settings = br#"{"hooks": {"Stop": [{"hooks": [{"command": "npx tsc"}]}]}}"#;
        assert_eq!(shown(".claude/settings.json", settings), ["npx tsc"]);
    }

    #[test]
    fn commands_allowed_by_a_skill_are_listed() {
        let path = ".brynhild/skills/a/SKILL.md";
        let head = "---\nname: a\nallowed-tools: [Bash, \"Write(src/**)\"]\n---\nWords\n";
        let wanted = "lets these run without a question while it is used: Bash, Write(src/**)";
        assert_eq!(shown(path, head.as_bytes()), [wanted]);
        let head = "---\nallowed-tools: Bash(git:*), Read\n---\n";
        assert!(shown(path, head.as_bytes())[0].ends_with("Bash(git:*), Read"));
        let head = "---\ndescription: Use it: now\nallowed-tools: Bash\n---\n";
        assert!(shown(path, head.as_bytes())[0].ends_with("while it is used: Bash"));
        assert!(shown(path, b"---\nname: a\n---\nallowed-tools: Bash\n").is_empty());
        assert!(shown(path, b"plain").is_empty());
    }

    #[test]
    fn embedded_commands_of_a_text_are_listed() {
        let text = b"---\ndescription: d\n---\nSee ./other.sh:\n!`./see.sh $1` and !`git status`\n";
        assert_eq!(shown(".claude/commands/a.md", text), ["./see.sh $1", "git status"]);
    }

    #[test]
    fn fences_and_lines_of_the_head_are_shown() {
        let text = "---\nname: r\nrun: sh tools/s1.sh\n---\nWords\n```!\nsh tools/see.sh\nid\n```\n\
                    ```sh\n```!\n```!\n./other.sh\n```\n```!\nwithout an end\n";
        let found = shown(".brynhild/commands/r.md", text.as_bytes());
        assert_eq!(found[..2], ["sh tools/s1.sh", "sh tools/see.sh\nid"]);
        assert!(found[2].contains("./other.sh") && found.len() == 3, "{found:?}");
        let hidden = "!\u{200b}`./a.sh` ``\u{200b}`!\r\n./b.sh\r\n```\r\n";
        assert_eq!(shown("a.md", hidden.as_bytes())[0], "./a.sh");
        let hidden = "``\u{200b}`!\r\n./b.sh\r\n```\r\n";
        assert_eq!(shown("a.md", hidden.as_bytes()), ["./b.sh"]);
    }

    #[test]
    fn unreadable_files_are_marked() {
        assert!(shown(".mcp.json", b"{").concat().starts_with("(cannot be read"));
        assert!(shown("run.sh", b"command: x").is_empty());
    }
}
