//! Markdown files of these plugins and of a project's `.claude` directory, read leniently: front matter and quotes may be missing.

use std::path::{Path, PathBuf};

use ::files::foreign;
use formats::frontmatter::{self, Error};
use serde_json::{Map, Value};

use crate::problem::{Problem, entries_of};
use crate::skills::split_tools;

const MOST_FILES: usize = 2000;

pub(crate) struct Document {
    pub(crate) keys: Map<String, Value>,
    pub(crate) body: String,
}

pub(crate) fn read(text: &str) -> Result<Document, Error> {
    frontmatter::parse_optional(text).map(|(keys, body)| Document { keys, body })
}

/// The Markdown files below a directory, sorted. Directories behind symlinks are not entered.
pub(crate) fn files_below(
    directory: &Path,
    depth: usize,
    problems: &mut Vec<Problem>,
) -> Vec<PathBuf> {
    let mut found = Vec::new();
    add_files(directory, depth, &mut found, problems);
    if found.len() == MOST_FILES {
        let what = format!("only {MOST_FILES} files below this directory were read");
        problems.push(Problem::new(directory, what, "keep fewer Markdown files in it"));
    }
    found
}

fn add_files(
    directory: &Path,
    depth: usize,
    found: &mut Vec<PathBuf>,
    problems: &mut Vec<Problem>,
) {
    let entries = foreign::entries(directory, MOST_FILES);
    for entry in entries_of(directory, entries, "Markdown files", problems) {
        let is_directory = entry.symlink_metadata().is_ok_and(|found| found.is_dir());
        if found.len() == MOST_FILES {
            return;
        }
        if is_directory && depth > 0 {
            add_files(&entry, depth - 1, found, problems);
        } else if entry.extension().is_some_and(|it| it == "md") && !entry.is_dir() {
            found.push(entry);
        }
    }
}

impl Document {
    pub(crate) fn words(&self, key: &str) -> Option<String> {
        let text = match self.keys.get(key)? {
            Value::Null | Value::Object(_) => return None,
            Value::String(text) => text.clone(),
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(plain).collect();
                format!("[{}]", items.join(", "))
            }
            other => other.to_string(),
        };
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    pub(crate) fn names(&self, key: &str) -> Vec<String> {
        match self.keys.get(key) {
            Some(Value::String(text)) => split_tools(text),
            Some(Value::Array(items)) => items.iter().map(plain).collect(),
            _ => Vec::new(),
        }
    }

    pub(crate) fn switch(&self, key: &str) -> Option<bool> {
        let word = match self.keys.get(key)? {
            Value::Bool(switch) => return Some(*switch),
            other => plain(other).to_lowercase(),
        };
        match word.as_str() {
            "yes" | "on" | "true" | "1" => Some(true),
            "no" | "off" | "false" | "0" => Some(false),
            _ => None,
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lenient_front_matter_is_read() {
        let text = "---\nargument-hint: [issue] [priority]\ndescription: fix: now\n\
                    allowed-tools: Bash(git add:*), Read\nuser-invocable: off\n---\nbody\n";
        let document = read(text).unwrap_or_else(|error| panic!("{error:?}"));
        assert_eq!(document.words("argument-hint").as_deref(), Some("[issue] [priority]"));
        assert_eq!(document.words("description").as_deref(), Some("fix: now"));
        assert_eq!(document.names("allowed-tools"), ["Bash(git add:*)", "Read"]);
        assert_eq!(document.switch("user-invocable"), Some(false));
        assert_eq!(document.body, "body");
    }
}
