//! A command's file: front matter with five keys, and a body.

use std::path::{Path, PathBuf};

use ::files::foreign::Boundary;
use contract::text::closest;
use serde_json::{Map, Value};

use super::{Command, Label};
use crate::hidden;
use crate::hooks::relocated;
use crate::problem::{Problem, text_file};
use formats::frontmatter::{self, Reading};

const NAME_LIMIT: usize = 64;
const DESCRIPTION_LIMIT: usize = 512;
const KEYS: [&str; 5] = ["name", "description", "aliases", "args", "run"];

pub(super) fn read(
    path: &Path,
    boundary: Boundary<'_>,
    label: &Label,
) -> Result<(Command, Vec<Problem>), Problem> {
    let stripped = hidden::strip(&text_file(path, boundary)?);
    let remarks: Vec<Problem> = stripped
        .report
        .map(|report| Problem::new(path, report, hidden::HINT))
        .into_iter()
        .collect();
    let document = frontmatter::parse(&stripped.text, Reading::Strict)
        .map_err(|error| Problem::new(path, error.what, error.hint))?;
    let fault = |fault: Fault| {
        let place = document.place_of(fault.key);
        Problem::new(path, format!("{place}{}", fault.what), fault.hint)
    };
    let command = command(&document.keys, document.body, label).map_err(fault)?;
    let directory = path.parent().unwrap_or(path);
    let run = command.run.map(|line| relocated(&line, directory));
    Ok((Command { path: Some(path.to_path_buf()), run, ..command }, remarks))
}

pub(super) fn from_value(item: &Value, label: &Label) -> Result<Command, Problem> {
    let place = PathBuf::from(format!("<{}>", label.source));
    let Value::Object(fields) = item else {
        return Err(Problem::new(&place, "this command is not a mapping", "return a dict"));
    };
    // The fields may lie in `frontmatter`, as in the object that packages are offered to return.
    let mut keys = match fields.get("frontmatter") {
        Some(Value::Object(keys)) => keys.clone(),
        _ => fields.clone(),
    };
    for key in ["body", "frontmatter", "entry_point", "path", "plugin_name", "plugin", "source"] {
        keys.shift_remove(key);
    }
    let body = fields.get("body").and_then(Value::as_str).unwrap_or_default();
    let body = hidden::strip(body).text;
    command(&keys, body.trim(), label).map_err(|fault| Problem::new(&place, fault.what, fault.hint))
}

struct Fault {
    key: &'static str,
    what: String,
    hint: String,
}

fn fault(key: &'static str, what: impl Into<String>, hint: &str) -> Fault {
    Fault { key, what: what.into(), hint: hint.to_owned() }
}

fn command(keys: &Map<String, Value>, body: &str, label: &Label) -> Result<Command, Fault> {
    if let Some(unknown) = keys.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let meant = closest(unknown, KEYS);
        let hint = meant.map_or_else(
            || format!("remove it; the keys are {}", KEYS.join(", ")),
            |known| format!("did you mean `{known}`?"),
        );
        return Err(fault("", format!("`{unknown}` is not a key of a command"), &hint));
    }
    let name = match keys.get("name") {
        Some(Value::String(name)) => name.trim().to_owned(),
        None | Some(Value::Null) => {
            return Err(fault("name", "`name` is missing", "add a line such as `name: deploy`"));
        }
        Some(_) => return Err(fault("name", "`name` is not text", "put it in quotes")),
    };
    if name.is_empty() || name.chars().count() > NAME_LIMIT {
        return Err(fault("name", "`name` has not 1 to 64 characters", "give it another name"));
    }
    if !is_typeable(&name) {
        let what = format!("the name {name:?} cannot be typed as a command");
        return Err(fault("name", what, "do not use spaces, `/` or `:`"));
    }
    let description = words(keys, "description")?;
    if description.chars().count() > DESCRIPTION_LIMIT {
        let what = "`description` is longer than 512 characters";
        return Err(fault("description", what, "shorten it"));
    }
    Ok(Command {
        name,
        description,
        aliases: aliases(keys)?,
        args: words(keys, "args")?,
        body: body.to_owned(),
        run: Some(words(keys, "run")?).filter(|line| !line.trim().is_empty()),
        source: label.source.clone(),
        plugin: label.plugin.clone(),
        path: None,
        rank: label.rank,
        recipe: None,
    })
}

fn is_typeable(name: &str) -> bool {
    !name.contains(|c: char| c.is_whitespace() || c == '/' || c == ':')
}

fn words(keys: &Map<String, Value>, key: &'static str) -> Result<String, Fault> {
    match keys.get(key) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(hidden::strip(text).text),
        Some(_) => Err(fault(key, format!("`{key}` is not text"), "put it in quotes")),
    }
}

fn aliases(keys: &Map<String, Value>) -> Result<Vec<String>, Fault> {
    let wrong = || fault("aliases", "`aliases` is not a list of texts", "write `aliases: [a, b]`");
    let items = match keys.get("aliases") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(_) => return Err(wrong()),
    };
    let alias = |item: &Value| item.as_str().map(str::to_owned).ok_or_else(wrong);
    let aliases: Vec<String> = items.iter().map(alias).collect::<Result<_, _>>()?;
    match aliases.iter().find(|alias| alias.is_empty() || !is_typeable(alias)) {
        Some(odd) => {
            let what = format!("the alias {odd:?} cannot be typed as a command");
            Err(fault("aliases", what, "do not use spaces, `/` or `:`"))
        }
        None => Ok(aliases),
    }
}
