//! The looks at a repository: each as the words that git is given.

use serde_json::{Value, json};

use super::super::text;

pub(super) struct Look {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) properties: fn() -> Value,
    pub(super) required: &'static [&'static str],
    /// The words that git is given. An error is words for the model.
    pub(super) words: fn(&Value) -> Result<Vec<String>, String>,
    pub(super) paths: fn(&Value) -> Vec<&str>,
}

pub(super) const ALL: [Look; 7] = [
    Look {
        name: "git_status",
        description: "Show the branch and what has changed since the last commit.",
        properties: || json!({}),
        required: &[],
        words: |_| Ok(words(["status", "--short", "--branch"])),
        paths: |_| Vec::new(),
    },
    Look {
        name: "git_log",
        description: "Show the history of commits, the latest first.",
        properties: || {
            let count = json!({"type": "integer", "default": 20, "minimum": 1, "maximum": 10000});
            let format = json!({
                "type": "string", "default": "oneline",
                "description": "oneline, short, medium, full, fuller, compact, or format:... with placeholders",
            });
            json!({"max_count": count, "format": format})
        },
        required: &[],
        words: log,
        paths: |_| Vec::new(),
    },
    Look {
        name: "git_diff",
        description: "Show changes: of the working tree, of what is staged, or since a commit.",
        properties: || {
            json!({
                "ref": {"type": "string", "default": "", "description": "A commit, branch or range"},
                "staged": {"type": "boolean", "default": false},
                "path": {"type": "string", "default": "", "description": "Only this file or directory"},
            })
        },
        required: &[],
        words: diff,
        paths: |args| {
            let mut paths = files(text(args, "ref"));
            paths.extend(filled(args, "path"));
            paths
        },
    },
    Look {
        name: "git_show",
        description: "Show a commit with its changes.",
        properties: || json!({"ref": {"type": "string", "default": "HEAD"}}),
        required: &[],
        words: |args| {
            let mut words = words(["show", "--stat", "--patch", "--no-ext-diff", "--no-textconv"]);
            words.push(reference(filled(args, "ref").unwrap_or("HEAD"))?);
            words.push(String::from("--"));
            Ok(words)
        },
        paths: |args| files(text(args, "ref")),
    },
    Look {
        name: "git_blame",
        description: "Show who wrote each line of a file, and in which commit.",
        properties: || json!({"path": {"type": "string"}}),
        required: &["path"],
        words: |args| {
            let mut words = words(["blame", "--no-textconv", "--"]);
            words.push(plain(text(args, "path"))?);
            Ok(words)
        },
        paths: |args| filled(args, "path").into_iter().collect(),
    },
    Look {
        name: "git_changed_files",
        description: "List the files that have changed since a commit, with how: A added, M modified, D deleted.",
        properties: || json!({"ref": {"type": "string", "default": "HEAD~1"}}),
        required: &[],
        words: |args| {
            let mut words = words(["diff", "--no-ext-diff", "--name-status"]);
            words.push(reference(filled(args, "ref").unwrap_or("HEAD~1"))?);
            words.push(String::from("--"));
            Ok(words)
        },
        paths: |_| Vec::new(),
    },
    Look {
        name: "git_list_files",
        description: "List the files that git knows.",
        properties: || {
            let path = json!({"type": "string", "default": "", "description": "Only below this directory"});
            json!({"path": path})
        },
        required: &[],
        words: |args| {
            let mut words = words(["ls-files", "--"]);
            if let Some(path) = filled(args, "path") {
                words.push(plain(path)?);
            }
            Ok(words)
        },
        paths: |_| Vec::new(),
    },
];

fn log(args: &Value) -> Result<Vec<String>, String> {
    let count = args.get("max_count").and_then(Value::as_u64).unwrap_or(20);
    let mut words = words(["log", "--no-ext-diff", "--no-textconv"]);
    words.push(format!("--max-count={count}"));
    match filled(args, "format").unwrap_or("oneline") {
        "oneline" => words.push(String::from("--oneline")),
        "compact" => words.push(String::from("--pretty=format:%h %an %s")),
        known @ ("short" | "medium" | "full" | "fuller") => words.push(format!("--pretty={known}")),
        other if other.starts_with("format:") => words.push(format!("--pretty={}", plain(other)?)),
        other => {
            return Err(format!(
                "'{other}' is not a format; there are oneline, short, medium, full, fuller, compact"
            ));
        }
    }
    Ok(words)
}

fn diff(args: &Value) -> Result<Vec<String>, String> {
    let mut words = words(["diff", "--no-ext-diff", "--no-textconv"]);
    if args.get("staged").and_then(Value::as_bool) == Some(true) {
        words.push(String::from("--staged"));
    }
    if let Some(name) = filled(args, "ref") {
        words.push(reference(name)?);
    }
    words.push(String::from("--"));
    if let Some(path) = filled(args, "path") {
        words.push(plain(path)?);
    }
    Ok(words)
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

fn filled<'a>(args: &'a Value, key: &str) -> Option<&'a str> {
    Some(text(args, key)).filter(|text| !text.is_empty())
}

/// The files whose versions a reference could name: `main:file`, and two of them as a range. Dots may
/// belong to a path as well, so that all readings count.
fn files(reference: &str) -> Vec<&str> {
    let dots = reference.match_indices("..").map(|(at, _)| at);
    let ends = dots.flat_map(|at| [&reference[..at], &reference[at + 2..]]);
    std::iter::once(reference).chain(ends).filter_map(file_of).collect()
}

/// The file of `main:file`, or of `:0:file`, which is what the index has of it.
fn file_of(name: &str) -> Option<&str> {
    let (revision, path) = name.split_once(':')?;
    let staged = ["0:", "1:", "2:", "3:"].iter().find_map(|stage| path.strip_prefix(stage));
    let path = staged.filter(|_| revision.is_empty()).unwrap_or(path);
    Some(path).filter(|path| !path.is_empty())
}

fn reference(name: &str) -> Result<String, String> {
    if name.starts_with('-') {
        return Err(format!("'{name}' is not a commit, branch or tag"));
    }
    plain(name)
}

fn plain(word: &str) -> Result<String, String> {
    if word.contains('\0') {
        return Err(String::from("a word holds a NUL byte, which git cannot be given"));
    }
    Ok(word.to_owned())
}
