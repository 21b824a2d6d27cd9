//! Descriptions of a plugin's Python: its tools, its providers, and what its entry points offer.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use contract::python::{PythonFacts, PythonFault, PythonOffer, PythonTool};
use contract::text::visible;
use contract::tool::{Recovery, Risk, ToolSpec, Traits};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// The time for which a file that ended or blocked a process is not loaded, unless its plugin changes.
const RETRY_AFTER: Duration = Duration::from_hours(24);

/// The longest name of a tool that model APIs take.
const NAME_LIMIT: usize = 64;

/// The description of a plugin's Python.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Described {
    /// Its offer beside providers, and its faults.
    pub offer: PythonOffer,
    /// Its providers.
    pub providers: Vec<ProviderDescription>,
    /// Faults that cost nothing, for its author.
    pub notes: Vec<PythonFault>,
    /// True if the packages that it declares are not installed yet.
    pub needs_install: bool,
}

/// A tool as its plugin describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ToolDescription {
    /// Names it in calls to the worker.
    pub(crate) key: String,
    /// The name the model calls.
    pub(crate) name: String,
    /// The text that the model reads.
    pub(crate) description: String,
    /// JSON Schema of the arguments.
    pub(crate) input_schema: Arc<Value>,
    /// The tool's own version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) version: String,
    /// Tags for users.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) categories: Vec<String>,
    /// True if a user must agree before it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) requires_permission: Option<bool>,
    /// `read_only`, `mutating` or `high_impact`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) risk_level: String,
    /// `allow`, `confirm` or `deny`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) recovery_policy: String,
    /// True if its properties may change from call to call.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) live: bool,
}

/// A provider as its plugin describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProviderDescription {
    /// Names it to the worker.
    pub key: String,
    /// The name by which users select it.
    pub name: String,
    /// Its own description.
    pub doc: Option<String>,
    /// The default of its class for `model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// The answer to `describe`, as it is cached.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Answer {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tools: Vec<ToolDescription>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) providers: Vec<ProviderDescription>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) problems: Vec<Complaint>,
    /// Modules that are not there and that something stood in for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) pretended: Vec<String>,
    /// True if the description may depend on the search path for programs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) looks_for_programs: bool,
    /// Files that ended or blocked a process, and are not loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) left_out: Option<SkippedFiles>,
    /// The offers of its entry points, without empty ones.
    #[serde(flatten)]
    pub(crate) offer: Map<String, Value>,
}

/// Files that are not loaded for a while: what ended the process may have been something else.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SkippedFiles {
    /// When they were tried, in seconds since 1970.
    tried: u64,
    /// How each ended the process.
    pub(crate) files: BTreeMap<String, String>,
    /// The last of them, where they were too many: what comes behind it was not tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last: Option<String>,
}

impl SkippedFiles {
    /// The files with the present time; none if all were loaded.
    pub(crate) fn kept(self) -> Option<Self> {
        (!self.files.is_empty()).then(|| Self { tried: seconds(), ..self })
    }

    /// Returns true if they should be tried again.
    pub(crate) fn is_old(&self) -> bool {
        seconds().abs_diff(self.tried) > RETRY_AFTER.as_secs()
    }
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Read by hand: what a start with many plugins spends most of its time on would take three times as
/// long if every answer were held as a whole before it is taken apart.
impl<'de> Deserialize<'de> for Answer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AnswerVisitor)
    }
}

struct AnswerVisitor;

impl<'de> Visitor<'de> for AnswerVisitor {
    type Value = Answer;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what a plugin says of itself")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Answer, A::Error> {
        let mut answer = Answer::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "tools" => answer.tools = map.next_value()?,
                "providers" => answer.providers = map.next_value()?,
                "problems" => answer.problems = map.next_value()?,
                "pretended" => answer.pretended = map.next_value()?,
                "looks_for_programs" => answer.looks_for_programs = map.next_value()?,
                "left_out" => answer.left_out = map.next_value()?,
                _ => {
                    let given: Value = map.next_value()?;
                    if !is_nothing(&given) {
                        answer.offer.insert(key, given);
                    }
                }
            }
        }
        Ok(answer)
    }
}

fn is_nothing(given: &Value) -> bool {
    given.is_null() || given.as_array().is_some_and(Vec::is_empty)
}

/// A fault that a worker reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Complaint {
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u64>,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// `error`, `warning`, or `note` for what costs nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) severity: String,
}

impl Answer {
    /// Returns true if something of it could not be used.
    pub(crate) fn is_faulty(&self) -> bool {
        !self.problems.iter().all(Complaint::is_note)
    }
}

impl Described {
    /// A plugin that could not be described.
    pub(crate) fn failed(plugin: &PythonFacts, what: &str, hint: &str) -> Self {
        let rest = Value::Object(Map::new());
        let faults = vec![fault(&plugin.root, what, hint)];
        let offer = PythonOffer { plugin: plugin.name.clone(), rest, faults, ..Default::default() };
        Self { offer, ..Self::default() }
    }

    /// Reads the answer of a worker; tools that no model could call are left out and named.
    pub(crate) fn read(plugin: &PythonFacts, answer: Answer) -> Self {
        let root = plugin.root.as_path();
        let (notes, faults): (Vec<&Complaint>, Vec<&Complaint>) =
            answer.problems.iter().partition(|complaint| complaint.is_note());
        let told = |complaints: Vec<&Complaint>| -> Vec<PythonFault> {
            complaints.into_iter().map(|complaint| complaint.fault(root)).collect()
        };
        let (notes, mut faults) = (told(notes), told(faults));
        let mut tools: Vec<PythonTool> = Vec::with_capacity(answer.tools.len());
        for tool in answer.tools {
            if let Err(what) = tool.check(&tools) {
                let hint = "change it in the tool; the rest of the plugin is used";
                faults.push(fault(&tool.file(root), &what, hint));
                continue;
            }
            tools.push(tool.into_tool(&plugin.name));
        }
        let rest = Value::Object(answer.offer);
        Self {
            offer: PythonOffer { plugin: plugin.name.clone(), tools, rest, faults },
            providers: answer.providers,
            notes,
            needs_install: false,
        }
    }
}

/// A fault in words that may come from anywhere.
fn fault(path: &Path, what: &str, hint: &str) -> PythonFault {
    let text = |words: &str| visible(words).into_owned();
    PythonFault { path: path.to_owned(), what: text(what), hint: text(hint) }
}

impl Complaint {
    fn is_note(&self) -> bool {
        self.severity == "note"
    }

    fn fault(&self, root: &Path) -> PythonFault {
        let hint = |usual: &'static str| self.hint.as_deref().unwrap_or(usual);
        if let Some(point) = self.file.as_ref().and_then(|file| file.strip_prefix("entry:")) {
            let what = format!("entry point `{point}`: {}", self.message);
            return fault(root, &what, hint("correct what it names"));
        }
        let file = self.file.as_ref().map_or_else(|| root.to_owned(), |file| root.join(file));
        let what = match self.line {
            Some(line) => format!("line {line}: {}", self.message),
            None => self.message.clone(),
        };
        fault(&file, &what, hint("correct the file"))
    }
}

impl ToolDescription {
    /// Checks that a model can call it.
    fn check(&self, others: &[PythonTool]) -> Result<(), String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if self.name.is_empty() || self.name.len() > NAME_LIMIT || !self.name.chars().all(fits) {
            return Err(format!(
                "a tool cannot be called `{}`: use 1 to {NAME_LIMIT} letters, digits, `_` or `-`",
                self.name
            ));
        }
        if others.iter().any(|other| other.spec.name == self.name) {
            return Err(format!("the plugin has another tool called `{}`", self.name));
        }
        if is_object_schema(&self.input_schema) {
            return Ok(());
        }
        Err(format!("`input_schema` of `{}` is not a JSON Schema of an object", self.name))
    }

    fn file(&self, root: &Path) -> PathBuf {
        let file = root.join(&self.key);
        if file.is_file() { file } else { root.to_owned() }
    }

    /// The tool as the rest of the program knows it.
    fn into_tool(self, plugin: &str) -> PythonTool {
        let risk_level = match self.risk_level.as_str() {
            "read_only" | "" => Risk::ReadOnly,
            "mutating" => Risk::Mutating,
            // An unknown value may be the worst one.
            _ => Risk::HighImpact,
        };
        let recovery_policy = match (self.recovery_policy.as_str(), risk_level) {
            ("allow", _) | ("", Risk::ReadOnly | Risk::Mutating) => Recovery::Allow,
            ("confirm", _) => Recovery::Confirm,
            _ => Recovery::Deny,
        };
        let spec = ToolSpec {
            name: self.name,
            description: self.description,
            input_schema: self.input_schema,
            version: if self.version.is_empty() { "0.0.0".into() } else { self.version },
            categories: self.categories,
            requires_permission: self.requires_permission.unwrap_or(true),
            risk_level,
            recovery_policy,
            // Calls of one plugin share a loop, and their authors count on one at a time.
            parallel: false,
            source: plugin.to_owned(),
            traits: Traits::default(),
        };
        PythonTool { key: self.key, spec, live: self.live }
    }
}

/// Returns true if a schema says that it is one of an object.
pub(crate) fn is_object_schema(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "object")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn described(tools: &Value) -> PythonOffer {
        let answer = json!({"tools": tools, "rules": [{"name": "r", "content": "c"}]});
        let facts = PythonFacts { name: "p".into(), ..PythonFacts::default() };
        Described::read(&facts, serde_json::from_value(answer).unwrap()).offer
    }

    #[test]
    fn missing_fields_get_the_documented_defaults() {
        let described =
            described(&json!([{"key": "k", "name": "t", "input_schema": {"type": "object"}}]));
        let spec = &described.tools[0].spec;
        assert!(spec.requires_permission && !spec.parallel);
        assert_eq!((spec.version.as_str(), spec.source.as_str()), ("0.0.0", "p"));
        assert_eq!((spec.risk_level, spec.recovery_policy), (Risk::ReadOnly, Recovery::Allow));
        assert_eq!(described.rest["rules"][0]["name"], "r");
    }

    #[test]
    fn recovery_policy_defaults_by_risk() {
        let spec = |risk: &str, recovery: &str| {
            let tool = json!({"name": "t", "input_schema": {"type": "object"}, "risk_level": risk,
                "recovery_policy": recovery});
            let spec = described(&json!([tool])).tools.remove(0).spec;
            (spec.risk_level, spec.recovery_policy)
        };
        assert_eq!(spec("high_impact", ""), (Risk::HighImpact, Recovery::Deny));
        assert_eq!(spec("mutating", ""), (Risk::Mutating, Recovery::Allow));
        assert_eq!(spec("mutating", "confirm"), (Risk::Mutating, Recovery::Confirm));
        assert_eq!(spec("odd", "odd"), (Risk::HighImpact, Recovery::Deny));
    }

    #[test]
    fn uncallable_tool_is_one_fault() {
        let described = described(&json!([
            {"name": "good", "input_schema": {"type": "object"}}, {"name": "bad name"},
            {"name": "good"}, {"name": ""},
            {"name": "list", "input_schema": []}, {"name": "text", "input_schema": {"type": "string"}},
        ]));
        assert_eq!(described.tools.len(), 1);
        assert_eq!(described.faults.len(), 5, "{:?}", described.faults);
    }
}
