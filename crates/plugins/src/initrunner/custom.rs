//! The Python behind a role's tools: custom modules, and tool types that packages and files bring.
//! One confined worker serves all of a role, so that what its modules share stays shared.
//!
//! The worker may do what the user grants the role. The role's own settings only tighten.

mod tool;
mod worker;

use std::collections::BTreeMap;
use std::sync::Arc;

use contract::python::{PythonHost, PythonOffer, SharedPlugin};
use contract::tool::Tool;
use formats::schema;
use serde::Deserialize;
use serde_json::Value;

use super::registry::{self, Maker, suggested};
use super::{Entry, EntryProblem, RoleFacts, kind};
use crate::plugin::Plugin;
use crate::python::Python;
use tool::RoleTool;
pub use worker::{Depth, Wanted, plugin, variables};

/// The tools of a role that are Python, described.
pub struct RolePython {
    host: Arc<dyn PythonHost>,
    plugin: Plugin,
    python: SharedPlugin,
    offer: PythonOffer,
    entries: Vec<EntryFacts>,
    said: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct EntryFacts {
    error: Option<Fault>,
    warnings: Vec<String>,
    /// The parameters of each tool that a model does not fill, by the tool's key.
    hidden: BTreeMap<String, Vec<String>>,
    summary: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Fault {
    message: String,
    file: Option<String>,
    line: Option<u64>,
    unknown_type: bool,
}

impl RolePython {
    /// Learns what the entries of a role bring: from what is kept, else by running them.
    pub async fn open(python: &Python, plugin: Plugin) -> Self {
        let (host, python) = (Arc::clone(python.host()), python.plugin(&plugin));
        let mut offers = host.describe(std::slice::from_ref(&python)).await;
        let offer = offers.pop().unwrap_or_default();
        let fact = |key: &str| offer.rest.get("initrunner")?.get(key);
        let entries = fact("entries").and_then(|facts| Vec::deserialize(facts).ok());
        let said = fact("said").and_then(|said| BTreeMap::deserialize(said).ok());
        let (entries, said) = (entries.unwrap_or_default(), said.unwrap_or_default());
        Self { host, plugin, python, offer, entries, said }
    }

    pub async fn close(&self) {
        self.host.stop(&self.python).await;
    }

    /// Findings about an entry, by its number among those that are Python.
    pub fn findings(&self, index: usize, entry: &Entry, place: &str) -> Vec<EntryProblem> {
        let finding =
            |is_error, message| EntryProblem { place: place.to_owned(), message, is_error };
        let Some(facts) = self.entries.get(index) else {
            if index > 0 {
                // What keeps all of them from working was said of the first.
                return Vec::new();
            }
            let words: Vec<String> =
                self.offer.faults.iter().map(|it| format!("{} ({})", it.what, it.hint)).collect();
            return vec![finding(true, words.join("; "))];
        };
        let mut findings: Vec<EntryProblem> = Vec::new();
        let may_be_missing = registry::maker(entry) == Maker::PythonIfBrought;
        match &facts.error {
            // The type is known elsewhere, and the file that would bring it could not be loaded.
            Some(fault) if may_be_missing && fault.unknown_type => {
                let kind = kind(entry);
                let what = format!(
                    "tools of type `{kind}` are left out: the file that brings them cannot be \
                     loaded here (a file of initrunner needs initrunner installed beside the role)"
                );
                findings.push(finding(false, what));
            }
            Some(fault) => findings.push(finding(true, fault.words(kind(entry)))),
            None => {}
        }
        let warnings = facts.warnings.iter().cloned();
        findings.extend(warnings.map(|words| finding(false, words)));
        if index == 0 {
            // They are of all entries together, and do not say of which.
            let path = place.split('[').next().unwrap_or(place);
            findings.extend(self.offer.faults.iter().map(|problem| EntryProblem {
                place: path.to_owned(),
                message: problem.what.clone(),
                is_error: false,
            }));
        }
        findings
    }

    /// The descriptions that types of loaded packages gave, by their places.
    pub fn said(&self) -> &BTreeMap<String, String> {
        &self.said
    }

    /// The files and directories that it is loaded from.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.plugin.manifest.tools.iter().map(String::as_str)
    }

    pub fn summary(&self, index: usize) -> Option<&str> {
        self.entries.get(index)?.summary.as_deref()
    }

    pub fn tools(&self, index: usize) -> Vec<Arc<dyn Tool>> {
        let Some(facts) = self.entries.get(index) else { return Vec::new() };
        let source = format!("role:{}", self.plugin.name());
        let own = format!("{index}:");
        let tools = self.offer.tools.iter().filter(|tool| tool.key.starts_with(&own));
        let made = tools.map(|tool| {
            let hidden = facts.hidden.get(&tool.key).map_or(&[][..], Vec::as_slice);
            let accepts = schema::loosen(&tool.spec.input_schema, hidden);
            let mut tool = tool.clone();
            tool.spec.source.clone_from(&source);
            tool.spec.traits.accepted_schema = Some(accepts.into());
            let python = self.host.tool(Arc::clone(&self.python), tool);
            let role = self.plugin.name().to_owned();
            Arc::new(RoleTool { python, role }) as Arc<dyn Tool>
        });
        made.collect()
    }
}

impl Fault {
    fn words(&self, kind: &str) -> String {
        let words = match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{} ({file}:{line})", self.message),
            _ => self.message.clone(),
        };
        let words = contract::text::visible(&words).into_owned();
        if self.unknown_type { suggested(kind, words) } else { words }
    }
}

/// Faults of a custom entry that show without running anything.
pub fn check(role: &RoleFacts<'_>, entry: &Entry, place: &str) -> Vec<EntryProblem> {
    const KNOWN: [&str; 6] = ["type", "module", "function", "config", "permissions", "approval"];
    let mut findings = Vec::new();
    let mut note = |is_error, message: &str| {
        findings.push(EntryProblem {
            place: place.to_owned(),
            message: message.to_owned(),
            is_error,
        });
    };
    match entry.get("module") {
        Some(Value::String(name)) if !name.trim().is_empty() => {}
        None | Some(Value::Null | Value::String(_)) => {
            note(true, "module: Field required");
        }
        Some(_) => note(true, "module: Input should be a valid string"),
    }
    if !matches!(entry.get("function"), None | Some(Value::Null | Value::String(_))) {
        note(true, "function: Input should be a valid string");
    }
    if !matches!(entry.get("config"), None | Some(Value::Null | Value::Object(_))) {
        note(true, "config: Input should be a valid dictionary");
    }
    let keys = entry.keys().filter(|key| !KNOWN.contains(&key.as_str()));
    let unknown: Vec<String> = keys.map(|key| format!("'{key}'")).collect();
    if !unknown.is_empty() {
        // Only the flat shape refuses what it does not know.
        note(role.is_strict, &format!("Unknown keys for tool 'custom': [{}]", unknown.join(", ")));
    }
    findings
}

#[cfg(test)]
mod tests;
