//! The strict check of a skill, for its author: everything that any reader could stumble over.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use ::files::foreign::Boundary;
use serde_json::Value;

use super::{BODY_LINES_LIMIT, directory};
use crate::hidden;
use crate::problem::Problem;
use formats::frontmatter::{self, Document, Reading};

const KEYS: [&str; 6] =
    ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];

const COMPATIBILITY_LIMIT: usize = 500;

/// Checks the skill in a directory (or of a `SKILL.md`) strictly. Without problems it works everywhere.
pub fn validate(path: &Path) -> Vec<Problem> {
    let canonical = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let directory = match canonical.parent() {
        Some(parent) if canonical.is_file() => parent,
        _ => &canonical,
    };
    let Some(file) = directory::skill_file(directory) else {
        return vec![Problem::new(
            path,
            "there is no `SKILL.md` here",
            "name the directory that holds the skill's `SKILL.md`",
        )];
    };
    let mut check = Check { file: &file, problems: Vec::new() };
    let boundary = [directory.to_path_buf()];
    match directory::read(&file, Boundary::Within(&boundary)) {
        Ok(text) => check.text(&text, directory.file_name().unwrap_or_default()),
        Err(problem) => check.problems.push(problem),
    }
    check.problems
}

struct Check<'a> {
    file: &'a Path,
    problems: Vec<Problem>,
}

impl Check<'_> {
    fn report(&mut self, what: impl AsRef<str>, hint: &str) {
        self.problems.push(Problem::new(self.file, what, hint));
    }

    fn text(&mut self, text: &str, directory: &OsStr) {
        let stripped = hidden::strip(text);
        if let Some(report) = stripped.report {
            self.report(report, hidden::HINT);
        }
        let document = match frontmatter::parse(&stripped.text, Reading::Strict) {
            Ok(document) => document,
            Err(error) => return self.report(error.what, error.hint),
        };
        self.name(&document, directory);
        self.description(&document);
        self.optional_keys(&document);
        let lines = document.body.lines().count();
        if lines == 0 {
            self.report("the body is empty", "write the instructions below the front matter");
        } else if lines > BODY_LINES_LIMIT {
            self.report(
                format!("the body has {lines} lines, more than {BODY_LINES_LIMIT}"),
                "move text that is not always needed to files in `references/`",
            );
        }
    }

    fn name(&mut self, document: &Document<'_>, directory: &OsStr) {
        let place = document.place_of("name");
        let hint = "use 1 to 64 lower-case letters, digits and hyphens, as in the directory's name";
        let Some(Value::String(name)) = document.keys.get("name") else {
            return self.report(format!("{place}`name` is missing or not text"), hint);
        };
        if let Some(fault) = directory::fault_of_name(name) {
            self.report(format!("{place}the name {name:?} {fault}"), hint);
        }
        if name.contains("--") {
            self.report(format!("{place}the name has two hyphens in a row"), hint);
        }
        if directory != OsStr::new(name) {
            let directory = directory.to_string_lossy();
            self.report(
                format!("{place}the name {name:?} differs from the directory's, {directory:?}"),
                "rename one of them",
            );
        }
    }

    fn description(&mut self, document: &Document<'_>) {
        let place = document.place_of("description");
        let hint = "say in 1 to 1024 characters what the skill does and when to use it";
        let Some(Value::String(text)) = document.keys.get("description") else {
            return self.report(format!("{place}`description` is missing or not text"), hint);
        };
        if text.trim().is_empty() {
            self.report(format!("{place}`description` is empty"), hint);
        }
        let length = text.chars().count();
        if length > directory::DESCRIPTION_LIMIT {
            self.report(format!("{place}`description` has {length} characters"), hint);
        }
        if let Some(report) = hidden::strip(text).report {
            self.report(report, hidden::HINT);
        }
    }

    fn optional_keys(&mut self, document: &Document<'_>) {
        for (key, value) in &document.keys {
            let fault = match (key.as_str(), value) {
                ("license", Value::String(_)) => None,
                ("compatibility", Value::String(text)) => {
                    let too_long = text.chars().count() > COMPATIBILITY_LIMIT;
                    too_long.then_some("is longer than 500 characters")
                }
                ("license" | "compatibility", _) => Some("is not text"),
                ("metadata", Value::Object(entries)) => {
                    let all_text = entries.values().all(Value::is_string);
                    (!all_text).then_some("has values that are not text")
                }
                ("metadata", _) => Some("is not a mapping"),
                ("allowed-tools", value) => fault_of_tools(value),
                _ => None,
            };
            let place = document.place_of(key);
            if let Some(fault) = fault {
                self.report(
                    format!("{place}`{key}` {fault}"),
                    "see the table of keys in `docs/guides/rules-and-skills.md`",
                );
            }
            if !KEYS.contains(&key.as_str()) {
                self.report(
                    format!("{place}`{key}` is not a key of a skill"),
                    "remove it or move it under `metadata`",
                );
            }
        }
    }
}

fn fault_of_tools(value: &Value) -> Option<&'static str> {
    match value {
        Value::Array(items) if items.iter().all(Value::is_string) => None,
        Value::Array(_) => Some("has entries that are not text"),
        Value::String(text)
            if directory::split_tools(text)
                != directory::split_outside(text, char::is_whitespace) =>
        {
            Some("is separated by commas; use blanks or a list")
        }
        Value::String(_) => None,
        _ => Some("is neither a list nor text"),
    }
}
