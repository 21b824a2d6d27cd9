//! A skill's directory, read leniently: what can be understood is taken, the rest is reported.

use std::fs;
use std::path::{Path, PathBuf};

use ::files::foreign::{self, Boundary, Refusal};
use contract::skill::Skill;
use formats::frontmatter::{self, Document, Reading};
use serde_json::{Map, Value};

use super::blocks::Blocks;
use crate::hidden;
use crate::problem::{Problem, TEXT_LIMIT};

pub(super) const NAME_LIMIT: usize = 64;

pub(super) const DESCRIPTION_LIMIT: usize = 1024;

/// Reads the skill in a directory; none if the path is not a directory with a `SKILL.md`.
pub(super) fn load(
    entry: &Path,
    source: &str,
    boundary: Boundary<'_>,
    blocks: &mut Blocks,
) -> Result<Option<(Skill, Vec<Problem>)>, Problem> {
    let Ok(directory) = foreign::resolved(entry) else {
        return Err(Problem::unreadable(entry, Refusal::Dangling));
    };
    if !directory.is_dir() {
        return Ok(None);
    }
    if !boundary.holds(&directory) {
        return Err(Problem::unreadable(entry, Refusal::Outside(directory)));
    }
    let Some(file) = skill_file(&directory) else {
        return Ok(None);
    };
    if directory.to_str().is_none() {
        return Err(Problem::new(
            entry,
            "the name of this skill's directory is not UTF-8",
            "rename the directory",
        ));
    }
    let own_directory = [directory.clone()];
    let inside = match boundary {
        Boundary::Anywhere => Boundary::Anywhere,
        Boundary::Within(_) => Boundary::Within(&own_directory),
    };
    let text = read(&file, inside)?;
    let (mut skill, remarks) = parse(&text, &file, source, blocks)?;
    skill.directory = Some(directory);
    Ok(Some((skill, remarks)))
}

pub(super) fn skill_file(directory: &Path) -> Option<PathBuf> {
    ["SKILL.md", "skill.md"]
        .into_iter()
        .map(|name| directory.join(name))
        .find(|file| fs::symlink_metadata(file).is_ok())
}

pub(super) fn read(file: &Path, boundary: Boundary<'_>) -> Result<String, Problem> {
    foreign::read_whole(file, boundary, TEXT_LIMIT).map_err(|refusal| match refusal {
        Refusal::TooLong(_) => {
            let hint = "move text that is not always needed to files in `references/`";
            Problem { hint: hint.to_owned(), ..Problem::unreadable(file, refusal) }
        }
        _ => Problem::unreadable(file, refusal),
    })
}

/// Reads the keys and the body of a skill's file, with a repair of what is almost YAML.
pub fn keys_and_body(file: &Path) -> Result<(Map<String, Value>, String), String> {
    let text = read(file, Boundary::Anywhere).map_err(|problem| problem.to_string())?;
    let document = frontmatter::parse(&text, Reading::Lenient)
        .map_err(|error| format!("{}: {}", file.display(), error.what))?;
    Ok((document.keys, document.body.to_owned()))
}

/// Makes a skill of the text of `file`, which may be the name of a skill in the binary.
pub(super) fn parse(
    text: &str,
    file: &Path,
    source: &str,
    blocks: &mut Blocks,
) -> Result<(Skill, Vec<Problem>), Problem> {
    let mut remarks = Vec::new();
    let text = strip(text, file, &mut remarks);
    let document = frontmatter::parse_known(&text, Reading::Lenient, |block| blocks.get(block))
        .map_err(|error| Problem::new(file, error.what, error.hint))?;
    if document.repaired.is_none() {
        blocks.keep(document.block, &document.keys);
    }
    if let Some(error) = &document.repaired {
        let what = format!("{} (read as text all the same)", error.what);
        remarks.push(Problem::new(file, what, error.hint));
    }
    let name = name(&document, file, &mut remarks)?;
    let description = description(&document, file, &mut remarks)?;
    let skill = Skill {
        name,
        description: strip(&description, file, &mut remarks),
        source: source.to_owned(),
        license: document
            .keys
            .get("license")
            .and_then(Value::as_str)
            .map(|license| strip(license, file, &mut remarks)),
        allowed_tools: allowed_tools(&document, file, &mut remarks),
        body: document.body.to_owned(),
        directory: None,
    };
    Ok((skill, remarks))
}

pub(crate) fn fault_of_name(name: &str) -> Option<&'static str> {
    let is_long = name.chars().count() > NAME_LIMIT;
    fault_of_characters(name).or(is_long.then_some("is longer than 64 characters"))
}

fn fault_of_characters(name: &str) -> Option<&'static str> {
    let in_name = |c: char| (c.is_alphanumeric() && !c.is_uppercase()) || c == '-';
    if name.is_empty() {
        Some("is empty")
    } else if !name.chars().all(in_name) {
        Some("has other characters than lower-case letters, digits and hyphens")
    } else if name.starts_with('-') || name.ends_with('-') {
        Some("begins or ends with a hyphen")
    } else {
        None
    }
}

/// Splits tool names at commas and blanks outside of parentheses.
pub fn split_tools(text: &str) -> Vec<String> {
    split_outside(text, |c| c == ',' || c.is_whitespace())
}

pub(super) fn split_outside(text: &str, is_separator: fn(char) -> bool) -> Vec<String> {
    let mut depth = 0_usize;
    text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && is_separator(c)
    })
    .filter(|name| !name.is_empty())
    .map(str::to_owned)
    .collect()
}

fn strip(text: &str, file: &Path, remarks: &mut Vec<Problem>) -> String {
    let stripped = hidden::strip(text);
    if let Some(report) = stripped.report {
        remarks.push(Problem::new(file, report, hidden::HINT));
    }
    stripped.text
}

fn name(
    document: &Document<'_>,
    file: &Path,
    remarks: &mut Vec<Problem>,
) -> Result<String, Problem> {
    let directory = file.parent().and_then(Path::file_name);
    let directory = directory.unwrap_or_default().to_string_lossy().into_owned();
    let name = match document.keys.get("name") {
        Some(Value::String(name)) => name.clone(),
        Some(Value::Null) | None => {
            let what = format!("the skill has no `name`; its directory's is used: {directory}");
            remarks.push(Problem::new(file, what, "add `name:` to the front matter"));
            directory.clone()
        }
        Some(_) => {
            let what = format!("{}`name` is not text", document.place_of("name"));
            return Err(Problem::new(file, what, "put it in quotes"));
        }
    };
    let Some(fault) = fault_of_name(&name) else { return Ok(name) };
    let mut problem = Problem::new(
        file,
        format!("{}the name {name:?} {fault}", document.place_of("name")),
        "use 1 to 64 lower-case letters, digits and hyphens",
    );
    // A name that is only too long is used.
    if fault_of_characters(&name).is_none() {
        remarks.push(problem);
        return Ok(name);
    }
    if fault_of_name(&directory).is_some() {
        return Err(problem);
    }
    problem.what.push_str("; its directory's is used: ");
    problem.what.push_str(&directory);
    remarks.push(problem);
    Ok(directory)
}

fn description(
    document: &Document<'_>,
    file: &Path,
    remarks: &mut Vec<Problem>,
) -> Result<String, Problem> {
    let place = document.place_of("description");
    let (what, hint) = match document.keys.get("description") {
        Some(Value::String(text)) if text.trim().is_empty() => {
            ("is empty", "say what the skill does and when to use it")
        }
        Some(Value::String(text)) => {
            let (text, remark) = limited(text.trim());
            remarks.extend(remark.map(|what| Problem::new(file, place + what, SHORTEN)));
            return Ok(text);
        }
        Some(Value::Null) | None => {
            ("is missing", "add `description:` and say what the skill does and when to use it")
        }
        Some(_) => ("is not text", "put it in quotes"),
    };
    Err(Problem::new(file, format!("{place}`description` {what}"), hint))
}

pub(super) const SHORTEN: &str = "shorten it; details belong in the body";

/// The part of a description that the model reads, and a remark if that is not all of it.
pub(super) fn limited(description: &str) -> (String, Option<&'static str>) {
    let Some((end, _)) = description.char_indices().nth(DESCRIPTION_LIMIT) else {
        return (description.to_owned(), None);
    };
    let remark = "`description` is longer than 1024 characters; the model reads the first 1024";
    (description[..end].to_owned(), Some(remark))
}

fn allowed_tools(document: &Document<'_>, file: &Path, remarks: &mut Vec<Problem>) -> Vec<String> {
    let mut tools = Vec::new();
    let mut understood = true;
    match document.keys.get("allowed-tools") {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) => {
            tools = split_tools(&strip(text, file, remarks));
        }
        Some(Value::Array(items)) => {
            for item in items {
                match item {
                    Value::String(tool) => tools.push(strip(tool, file, remarks)),
                    _ => understood = false,
                }
            }
        }
        Some(_) => understood = false,
    }
    if !understood {
        let place = document.place_of("allowed-tools");
        remarks.push(Problem::new(
            file,
            format!("{place}`allowed-tools` has entries that are not text; they are left out"),
            "write a list of tool names",
        ));
    }
    tools
}
