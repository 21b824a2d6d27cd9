//! The tool types that roles have without any plugin. Each states what a call would do, so that it
//! is judged like every other, and starts processes only through the confinement that it is handed.
//! Building reads an entry and runs nothing.

mod audio;
mod calculator;
mod clarify;
mod csv_analysis;
mod datetime;
mod directory;
mod documents;
mod email;
mod filesystem;
mod function;
mod git;
pub(super) mod http;
mod memory;
mod network;
mod options;
mod process;
mod python;
mod script;
mod search;
mod shell;
mod slack;
mod spawn;
mod sql;
mod task_end;
mod think;
mod todo;
mod web;

use std::path::PathBuf;
use std::sync::Arc;

use ::files::surroundings::Surroundings;
use contract::tool::{Recovery, Risk, Tool, ToolSpec, Traits};
use serde_json::{Value, json};

use super::role::{ModelSettings, ToolEntry};
use crate::documents::DocumentPlace;
use crate::host::{HttpClient, ProcessRunner, UserQuestions};
use crate::task::RunScope;
use options::Options;

pub use csv_analysis::TableAnalysis;
pub use documents::search_documents;
pub use memory::memory_tools;
pub use network::Granted;
pub use spawn::{SpawnableAgent, Start, spawn_limits, spawn_tools};
pub use task_end::task_tools;

#[cfg(test)]
pub(crate) use tests::fixture;

/// The directories, processes and network that the tools of a role use.
pub struct ToolHost {
    pub role_directory: PathBuf,
    pub surroundings: Surroundings,
    pub requests: Arc<dyn HttpClient>,
    pub processes: Arc<dyn ProcessRunner>,
    pub network: Granted,
    pub run: RunScope,
    pub user: Arc<dyn UserQuestions>,
    pub source: String,
    /// The place of the role's documents, if it has any.
    pub documents: Option<DocumentPlace>,
    /// Evaluates an expression of Python. An error is for the model.
    pub calculate: fn(&str) -> Result<String, String>,
    pub analyze_table: TableAnalysis,
    /// The model of the role.
    pub model: ModelSettings,
}

impl ToolHost {
    /// The directory that a program runs in: `named` from where the user is, else the role's own, as
    /// far as it lies in the workspace, which is all that a confined program sees.
    fn working_directory(&self, named: Option<&str>) -> Result<PathBuf, String> {
        let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
        let directory = real(match named {
            Some(named) => self.surroundings.directory().join(named),
            None => self.role_directory.clone(),
        });
        if directory.starts_with(real(self.surroundings.workspace.clone())) {
            return Ok(directory);
        }
        match named {
            Some(named) => Err(format!("`working_dir` {named:?} lies outside of the workspace")),
            None => Ok(self.surroundings.directory().to_owned()),
        }
    }
}

#[derive(Default)]
pub struct Built {
    pub tools: Vec<Arc<dyn Tool>>,
    /// Ignored parts, in words for people.
    pub notes: Vec<String>,
}

impl Built {
    fn of<const N: usize>(tools: [Arc<dyn Tool>; N]) -> Self {
        Self { tools: tools.into(), notes: Vec::new() }
    }
}

type Build = fn(&Options<'_>, &ToolHost) -> Result<Built, String>;

/// The types: name, keys, and what makes their tools.
const KINDS: [(&str, &[&str], Build); 19] = [
    ("filesystem", &["root_path", "allowed_extensions", "read_only"], filesystem::build),
    ("http", &["base_url", "allowed_methods", "headers"], http::build),
    ("web_reader", web::KEYS, web::build_reader),
    ("web_scraper", web::KEYS, web::build_scraper),
    ("python", python::KEYS, python::build),
    ("datetime", &["default_timezone"], datetime::build),
    ("sql", sql::KEYS, sql::build),
    ("git", &["repo_path", "read_only", "timeout_seconds", "max_output_bytes"], git::build),
    ("shell", shell::KEYS, shell::build),
    ("slack", slack::KEYS, slack::build),
    ("think", think::KEYS, think::build),
    ("todo", todo::KEYS, todo::build),
    ("calculator", calculator::KEYS, calculator::build),
    ("csv_analysis", csv_analysis::KEYS, csv_analysis::build),
    ("script", script::KEYS, script::build),
    ("search", search::KEYS, search::build),
    ("clarify", clarify::KEYS, clarify::build),
    ("email", email::KEYS, email::build),
    ("audio", audio::KEYS, audio::build),
];

const SHARED: &[&str] = &["type", "permissions", "approval"];

/// Types whose tools the caller makes: those that reach servers, agents and Python files.
pub const MADE_BY_CALLER: [&str; 5] = ["api", "mcp", "delegate", "spawn", "custom"];

pub fn is_known(kind: &str) -> bool {
    kinds().any(|name| name == kind)
}

pub(crate) fn kinds() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|(name, ..)| *name)
}

/// Returns true if tools of a type keep state for one run; a role with such tools has
/// `finish_task` too.
pub fn has_run_state(kind: &str) -> bool {
    ["think", "todo", "clarify", "spawn"].contains(&kind)
}

pub fn unknown_keys(entry: &ToolEntry) -> Option<String> {
    let (_, known, _) = KINDS.iter().find(|(name, ..)| *name == entry.kind)?;
    let is_known = |key: &str| {
        // The older name of a key that both generations of roles use.
        let aged = key == "timeout" && known.contains(&"timeout_seconds");
        known.contains(&key) || SHARED.contains(&key) || aged
    };
    let keys = entry.fields.keys().map(String::as_str);
    let unknown: Vec<String> =
        keys.filter(|key| !is_known(key)).map(|key| format!("'{key}'")).collect();
    (!unknown.is_empty())
        .then(|| format!("Unknown keys for tool '{}': [{}]", entry.kind, unknown.join(", ")))
}

/// Makes the tools of an entry. An error says what is wrong with it.
pub fn build(entry: &ToolEntry, tool_host: &ToolHost) -> Result<Built, String> {
    let found = KINDS.iter().find(|(name, ..)| *name == entry.kind);
    let (_, _, build) = found.ok_or_else(|| format!("there is no type `{}`", entry.kind))?;
    build(&Options::new(&entry.fields), tool_host)
}

struct About<'a> {
    name: &'a str,
    description: &'a str,
    kind: &'a str,
    risk: Risk,
    properties: Value,
    required: &'a [&'a str],
}

impl About<'_> {
    /// The description of a tool; its risk decides about permission, recovery and parallelism.
    fn spec(self, tool_host: &ToolHost) -> ToolSpec {
        let only_looks = self.risk == Risk::ReadOnly;
        let schema = json!({
            "type": "object", "properties": self.properties, "required": self.required,
            "additionalProperties": false,
        });
        ToolSpec {
            name: self.name.to_owned(),
            description: self.description.to_owned(),
            input_schema: schema.into(),
            version: String::new(),
            categories: vec![self.kind.to_owned()],
            requires_permission: !only_looks,
            risk_level: self.risk,
            recovery_policy: match self.risk {
                Risk::ReadOnly => Recovery::Allow,
                Risk::Mutating => Recovery::Confirm,
                Risk::HighImpact => Recovery::Deny,
            },
            parallel: only_looks,
            source: tool_host.source.clone(),
            traits: Traits::default(),
        }
    }
}

fn text<'a>(args: &'a Value, name: &str) -> &'a str {
    args.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The beginning of a text, within `limit` bytes and with a note where it goes on.
fn shortened(text: String, limit: usize) -> String {
    if text.len() <= limit { text } else { cut(&text, limit) }
}

fn cut(text: &str, limit: usize) -> String {
    const NOTE: &str = "\n[truncated]";
    format!("{}{NOTE}", contract::text::head(text, limit.saturating_sub(NOTE.len())))
}

#[cfg(test)]
mod tests {
    pub(crate) mod fixture;

    use super::*;

    fn entry(value: &Value) -> ToolEntry {
        let fields = value.as_object().unwrap().clone();
        ToolEntry { kind: fields["type"].as_str().unwrap().to_owned(), fields }
    }

    #[test]
    fn unknown_keys_are_reported() {
        let odd = json!({"type": "shell", "allowed_command": [], "timeout": 3, "approval": "auto"});
        let said = unknown_keys(&entry(&odd)).unwrap();
        assert_eq!(said, "Unknown keys for tool 'shell': ['allowed_command']");
        assert_eq!(unknown_keys(&entry(&json!({"type": "datetime"}))), None);
        assert_eq!(unknown_keys(&entry(&json!({"type": "linear", "x": 1}))), None);
    }

    #[test]
    fn every_type_describes_its_tools() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join(".git")).unwrap();
        let tool_host = fixture::tool_host(directory.path());
        for (value, names) in [
            (json!({"type": "filesystem"}), vec!["read_file", "list_directory"]),
            (
                json!({"type": "filesystem", "read_only": false}),
                vec!["read_file", "list_directory", "write_file"],
            ),
            (json!({"type": "http", "base_url": "https://x.test"}), vec!["http_request"]),
            (json!({"type": "web_reader"}), vec!["fetch_page"]),
            (json!({"type": "web_scraper"}), vec!["scrape_page"]),
            (json!({"type": "python"}), vec!["run_python"]),
            (json!({"type": "datetime"}), vec!["current_time", "parse_date"]),
            (json!({"type": "sql", "database": "a.db"}), vec!["query_database"]),
            (
                json!({"type": "git"}),
                vec![
                    "git_status",
                    "git_log",
                    "git_diff",
                    "git_show",
                    "git_blame",
                    "git_changed_files",
                    "git_list_files",
                ],
            ),
            (json!({"type": "shell"}), vec!["run_shell"]),
            (json!({"type": "think"}), vec!["think"]),
            (json!({"type": "clarify"}), vec!["clarify"]),
            (json!({"type": "audio"}), vec!["get_youtube_transcript", "transcribe_audio"]),
            (json!({"type": "search"}), vec!["web_search", "news_search"]),
            (json!({"type": "calculator"}), vec!["calculate"]),
            (json!({"type": "csv_analysis"}), vec!["inspect_csv", "summarize_csv", "query_csv"]),
            (
                json!({"type": "todo"}),
                vec![
                    "add_todo",
                    "batch_add_todos",
                    "update_todo",
                    "remove_todo",
                    "list_todos",
                    "get_next_todo",
                ],
            ),
            (json!({"type": "slack", "webhook_url": "https://x.test"}), vec!["send_slack_message"]),
        ] {
            let built = build(&entry(&value), &tool_host).unwrap_or_else(|error| panic!("{error}"));
            let found: Vec<_> = built.tools.iter().map(|it| it.spec().name.clone()).collect();
            assert_eq!(found, names, "{value}");
            for tool in &built.tools {
                let spec = tool.spec();
                assert_eq!(spec.source, "role:test");
                assert_eq!(spec.input_schema["additionalProperties"], false, "{}", spec.name);
                assert!(spec.description.len() > 20, "{}", spec.name);
            }
        }
    }

    #[test]
    fn long_text_is_cut_with_a_note() {
        assert_eq!(shortened("abc".into(), 3), "abc");
        let cut = shortened("é".repeat(20), 21);
        assert_eq!(cut, "éééé\n[truncated]");
        assert!(cut.len() <= 21);
    }
}
