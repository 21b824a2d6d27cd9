//! `plugin.yaml`: read leniently, so that a fault costs as little as possible, and strictly for
//! authors. Reads the manifest and the names of the files it speaks of, and nothing else.

mod check;
mod fields;
mod requirement;

use std::path::Path;

use ::files::foreign::{self, Boundary, Refusal};
use formats::yaml::{self, YES_NO};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::plugin::{Manifest, Permissions};
use crate::problem::Problem;

pub use check::{Validation, validate};

/// The file that makes a directory a plugin.
pub const FILE: &str = "plugin.yaml";

pub(crate) const NAME_LIMIT: usize = 64;

const DESCRIPTION_LIMIT: usize = 1024;

const FILE_LIMIT: usize = 256 * 1024;

const RESERVED: [&str; 3] = ["search_paths", "enabled", "python"];

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Read {
    /// None if it cannot be used.
    pub manifest: Option<Manifest>,
    /// All faults of the file in one message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// Notes for the author about things that were understood.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Problem>,
}

pub fn read(root: &Path, boundary: Option<&Path>) -> Read {
    let file = root.join(FILE);
    match text(&file, boundary) {
        Ok(text) => parse(&text, &file),
        Err(problem) => Read { problem: Some(problem), ..Read::default() },
    }
}

pub fn parse(text: &str, file: &Path) -> Read {
    let (manifest, faults) = fields::read(text);
    let (notes, faults): (Vec<Fault>, Vec<Fault>) =
        faults.into_iter().partition(|fault| fault.weight == Weight::Note);
    let notes = joined(file, &notes).into_iter().collect();
    Read { manifest, problem: joined(file, &faults), notes }
}

/// The fault of a plugin's name, if any.
pub fn fault_of_name(name: &str) -> Option<&'static str> {
    let in_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() {
        Some("is empty")
    } else if name.len() > NAME_LIMIT {
        Some("is longer than 64 characters")
    } else if !name.chars().all(in_name) {
        Some("has other characters than lower-case letters, digits and hyphens")
    } else if name.starts_with('-') || name.ends_with('-') {
        Some("begins or ends with a hyphen")
    } else {
        None
    }
}

/// Reads `{network, read, write, env, exec}` of a manifest or the configuration, and its faults.
pub fn permissions(value: &Value) -> (Permissions, Vec<String>) {
    let mut faults = Vec::new();
    let permissions = fields::permissions(value, &mut faults);
    (permissions, faults)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    Fatal,
    /// A part of it does not count.
    Part,
    Ignored,
    /// It counts, and should be written otherwise.
    Note,
}

#[derive(Clone, Debug)]
struct Fault {
    line: usize,
    what: String,
    hint: String,
    weight: Weight,
}

impl Fault {
    fn words(&self) -> String {
        format!("line {}: {}", self.line, self.what)
    }

    fn problem(&self, file: &Path) -> Problem {
        Problem::new(file, self.words(), &self.hint)
    }
}

fn joined(file: &Path, faults: &[Fault]) -> Option<Problem> {
    let worst = faults.iter().find(|fault| fault.weight == Weight::Fatal);
    let words: Vec<String> = faults.iter().map(Fault::words).collect();
    let mut hints: Vec<&str> = Vec::new();
    for fault in worst.into_iter().chain(faults) {
        if !hints.contains(&fault.hint.as_str()) {
            hints.push(&fault.hint);
        }
    }
    let outcome = if worst.is_some() { "the plugin is left out: " } else { "" };
    let what = format!("{outcome}{}", words.join("; "));
    (!faults.is_empty()).then(|| Problem::new(file, what, hints.join("; ")))
}

fn text(file: &Path, boundary: Option<&Path>) -> Result<String, Problem> {
    let directories: Vec<_> = boundary.map(Path::to_path_buf).into_iter().collect();
    let boundary =
        if directories.is_empty() { Boundary::Anywhere } else { Boundary::Within(&directories) };
    let missing = || {
        let what = "Plugin manifest not found";
        Problem::new(file, what, "write a `plugin.yaml` with `name` and `version`")
    };
    foreign::read_whole(file, boundary, FILE_LIMIT).map_err(|refusal| match refusal {
        Refusal::Missing => missing(),
        refusal => Problem::unreadable(file, refusal),
    })
}

fn mapping(text: &str) -> Result<serde_json::Map<String, Value>, Fault> {
    let fault = |line: usize, what: String, hint: &str| Fault {
        line,
        what,
        hint: hint.to_owned(),
        weight: Weight::Fatal,
    };
    let hint = "write `name:` and `version:` lines; `docs/reference/manifest.md` lists the keys";
    match yaml::parse(text, YES_NO).map(|tree| tree.to_value()) {
        Ok(Value::Object(keys)) => Ok(keys),
        Ok(Value::Null) => Err(fault(1, String::from("the manifest is empty"), hint)),
        Ok(_) => Err(fault(1, String::from("the manifest is not a mapping of keys"), hint)),
        Err(error) => Err(fault(
            error.line,
            format!("this is not YAML: {}", error.message),
            "correct the line",
        )),
    }
}

#[cfg(test)]
mod tests;
