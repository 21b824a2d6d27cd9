//! A role: a file that says who a model is, which model it is, what it may use and how far it may
//! go. Both shapes are read: keys at the top, and an envelope with `apiVersion`, `kind`, `metadata`
//! and `spec`. What is not supported is told by name.

mod autonomy_settings;
mod content_settings;
mod fields;
mod guardrails;
mod import_rules;
mod ingest_settings;
mod memory_settings;
mod reasoning_settings;
mod shape;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use files::bounded;
use formats::yaml;
use serde::Serialize;
use serde_json::{Map, Value};

pub use autonomy_settings::AutonomySettings;
pub use content_settings::ContentSettings;
pub(crate) use content_settings::compile;
pub(crate) use fields::Fields;
pub use guardrails::{Guardrails, SessionBudget};
pub(crate) use ingest_settings::{ChunkStrategy, SearchStrategy};
pub use ingest_settings::{EmbeddingSettings, IngestSettings};
pub use memory_settings::{Consolidation, Interval, MemorySettings, SharedMemory};
pub(crate) use reasoning_settings::Pattern;
pub use reasoning_settings::ReasoningSettings;
pub(crate) use shape::{
    COMPOSED, METADATA, NAME_RULE, VERSION, is_enveloped, is_name, read as read_document,
    tools as tool_entries,
};

#[cfg(test)]
pub(crate) use tests::test_role;

const FILE_LIMIT: u64 = 1 << 20;
const MOST_FILES: usize = 1000;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Role {
    pub name: String,
    pub description: String,
    pub tags: Vec<String>,
    pub file: PathBuf,
    /// Environment variables of this role alone.
    pub environment: BTreeMap<String, String>,
    /// The system prompt, with places for variables.
    pub prompt: String,
    pub model: ModelSettings,
    pub tools: Vec<ToolEntry>,
    pub skills: Vec<String>,
    /// Skills that it finds by itself at most; 0 if it does not look for any.
    pub max_auto_skills: usize,
    /// The schema of its answer, where that has one.
    pub output: Option<Value>,
    pub guardrails: Guardrails,
    pub autonomy: Option<AutonomySettings>,
    pub reasoning: ReasoningSettings,
    /// True if it is run autonomously, and has `finish_task` for that.
    pub is_autonomous: bool,
    pub variables: Option<Value>,
    pub answer_retries: u32,
    pub tool_time: Option<Duration>,
    /// The rules on imports of its modules, as their worker takes them.
    pub imports: Value,
    pub memory: Option<MemorySettings>,
    pub ingest: Option<IngestSettings>,
    /// Rules on prompts and answers, if it has any.
    pub content: Option<ContentSettings>,
    pub network: ProgramNetwork,
    /// The keys below `security`, for a server.
    pub security: Value,
    /// True if its stores may lie outside of InitRunner's home (`restrict_db_paths: false`).
    pub has_free_store_paths: bool,
    /// True if it stands in an envelope, which ignores keys that it does not know.
    pub is_enveloped: bool,
}

/// The network of the programs that a role's tools run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgramNetwork {
    /// What the user grants.
    #[default]
    Granted,
    None,
}

impl Role {
    pub fn directory(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new(""))
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelSettings {
    pub provider: Option<String>,
    pub name: Option<String>,
    pub base_url: Option<String>,
    pub api_key_env: Option<String>,
    pub temperature: Option<f64>,
    pub max_tokens: Option<u64>,
    /// Models that answer in order if this one fails.
    pub fallback: Vec<String>,
    /// Kinds of failure after which the next one answers; any if empty.
    pub fallback_on: Vec<String>,
    pub context_window: Option<u64>,
    /// The effort of reasoning, in the words of the configuration.
    pub thinking: Option<String>,
    /// Further settings of requests, by InitRunner's names.
    pub params: BTreeMap<String, Value>,
}

impl ModelSettings {
    /// Reads `provider:name`, or a name alone.
    pub fn from_text(text: &str) -> Self {
        Fields::default().model(Some(&text.into()))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolEntry {
    pub kind: String,
    /// Everything that stands there, `type` included.
    pub fields: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub severity: Severity,
    /// Where it stands, such as `guardrails.timeout_seconds`.
    pub path: String,
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.path.is_empty() { "" } else { ": " };
        write!(f, "{}{separator}{}", self.path, self.message)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Error,
    /// It runs without this, and whoever wrote it meant otherwise: an error to those who check.
    #[serde(rename = "error")]
    Loss,
    Warning,
}

#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The role; none where there is an error.
    pub role: Option<Role>,
    pub findings: Vec<Finding>,
}

impl Reading {
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.severity == Severity::Error)
    }

    /// Returns true if nothing is wrong with it; warnings may be.
    pub fn is_valid(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity == Severity::Warning)
    }
}

/// The file of a role: `path` itself, or `agent.yaml`, `role.yaml` or the only YAML file in it.
pub fn locate(path: &Path) -> Result<PathBuf, String> {
    if path.is_file() {
        return Ok(path.to_owned());
    }
    if !path.is_dir() {
        let path_shown = path.display();
        return Err(if path.exists() {
            format!("the role {path_shown} is not a regular file")
        } else {
            format!("there is no role {path_shown}")
        });
    }
    let usual = ["agent.yaml", "role.yaml"].map(|name| path.join(name));
    if let Some(usual) = usual.into_iter().find(|file| file.is_file()) {
        return Ok(usual);
    }
    let mut roles = yaml_files(path)?.into_iter();
    match (roles.next(), roles.next()) {
        (Some(only), None) => Ok(only),
        (Some(_), Some(_)) => Err(format!("{} has several YAML files; name one", path.display())),
        (None, _) => Err(format!("{} has no role in it", path.display())),
    }
}

pub(crate) fn yaml_files(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for entry in directory.read_dir().map_err(|error| error.to_string())?.take(MOST_FILES) {
        files.push(entry.map_err(|error| error.to_string())?.path());
    }
    files.sort();
    files.retain(|file| file.extension().is_some_and(|it| it == "yaml" || it == "yml"));
    Ok(files)
}

pub fn read(file: &Path) -> Reading {
    match document(file) {
        Ok(document) => read_document(&document, file),
        Err(what) => unreadable(&what),
    }
}

/// Reads the keys of a file.
pub(crate) fn document(file: &Path) -> Result<Map<String, Value>, String> {
    match yaml::value(&read_text(file)?) {
        Ok(Value::Object(document)) => Ok(document),
        Ok(_) => Err(String::from("the file is not a mapping of keys")),
        Err(error) => Err(format!("line {}: {}", error.line, error.message)),
    }
}

/// Reads a text file of at most 1 MiB, without a byte order mark.
pub(crate) fn read_text(file: &Path) -> Result<String, String> {
    let bytes = match bounded::read(file, FILE_LIMIT) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Err(String::from("the file is larger than 1 MiB")),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(String::from("the file does not exist"));
        }
        Err(error) if error.kind() == ErrorKind::InvalidInput => {
            return Err(String::from("this is not a regular file"));
        }
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    let text = String::from_utf8(bytes).map_err(|_| String::from("this is not UTF-8 text"))?;
    Ok(text.strip_prefix('\u{feff}').map_or_else(|| text.clone(), str::to_owned))
}

fn unreadable(what: &str) -> Reading {
    let finding =
        Finding { severity: Severity::Error, path: String::new(), message: what.to_owned() };
    Reading { role: None, findings: vec![finding] }
}
