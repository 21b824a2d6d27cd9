//! A skill that a package offers through an entry point: plain data, checked like a directory's.

use std::path::{Path, PathBuf};

use contract::skill::Skill;
use serde_json::Value;

use super::directory::{self, SHORTEN};
use crate::hidden;
use crate::problem::Problem;

/// Reads `{name, description, body, license, allowed_tools, path}`; the first keys may also lie in
/// `frontmatter`. A remark goes with a skill of which not all is used.
pub(super) fn read(item: &Value, source: &str) -> Result<(Skill, Option<Problem>), Problem> {
    let place = PathBuf::from(format!("<{source}>"));
    let wrong = |what: String, hint: &str| Problem::new(&place, what, hint);
    let front = item.get("frontmatter").filter(|front| front.is_object()).unwrap_or(item);
    let words = |key: &str| front.get(key).and_then(Value::as_str);
    let name = words("name").unwrap_or_default().to_owned();
    if let Some(fault) = directory::fault_of_name(&name) {
        let hint = "use 1 to 64 lower-case letters, digits and hyphens";
        return Err(wrong(format!("the skill's name {name:?} {fault}"), hint));
    }
    let description = hidden::strip(words("description").unwrap_or_default()).text;
    if description.trim().is_empty() {
        let what = format!("the skill `{name}` has no description");
        return Err(wrong(what, "say in 1 to 1024 characters what it does and when to use it"));
    }
    let (description, remark) = directory::limited(description.trim());
    let remark = remark.map(|what| wrong(format!("the skill `{name}`: {what}"), SHORTEN));
    let tools = front.get("allowed-tools").or_else(|| front.get("allowed_tools"));
    let allowed_tools = match tools {
        Some(Value::String(text)) => directory::split_tools(text),
        Some(Value::Array(items)) => {
            items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    let body = item.get("body").and_then(Value::as_str).unwrap_or_default();
    let skill = Skill {
        name,
        description,
        source: source.to_owned(),
        license: words("license").map(str::to_owned),
        allowed_tools,
        body: hidden::strip(body).text.trim().to_owned(),
        directory: item.get("path").and_then(Value::as_str).and_then(own_directory),
    };
    Ok((skill, remark))
}

fn own_directory(path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    let directory = if path.is_file() { path.parent()? } else { path };
    directory.join("SKILL.md").is_file().then(|| directory.canonicalize().ok()).flatten()
}
