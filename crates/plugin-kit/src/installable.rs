//! Directories that can be installed: a plugin, a skill or a role, and its place.

use std::path::{Path, PathBuf};

use files::bounded;
use formats::yaml;
use serde_json::Value;

use crate::source::is_name;

const LARGEST: u64 = 1 << 20;
/// Manifests with a `name`, in the order in which they count.
const MANIFESTS: [&str; 4] =
    ["plugin.yaml", ".claude-plugin/plugin.json", ".plugin/plugin.json", "plugin.json"];
/// Parts of a plugin without a manifest.
const PARTS: [&str; 7] =
    ["tool.py", "commands", "skills", "agents", "hooks/hooks.json", "hooks.yaml", ".mcp.json"];

/// The name of what a directory holds, and its place below the directory of the configuration.
/// An error says that it holds nothing that can be installed.
pub(crate) fn recognize(directory: &Path, fallback: &str) -> Result<(String, PathBuf), String> {
    let named = |name: String, parent: &str| {
        if !is_name(&name) {
            return Err(format!("{name:?} cannot name a directory: use letters, digits, - and _"));
        }
        let place = Path::new(parent).join(&name);
        Ok((name, place))
    };
    for manifest in MANIFESTS {
        let file = directory.join(manifest);
        if file.is_file() {
            let name = name_in(&file).map_err(|why| format!("{manifest}: {why}"))?;
            return named(name.unwrap_or_else(|| fallback.to_owned()), "plugins");
        }
    }
    if directory.join("SKILL.md").is_file() {
        return named(fallback.to_owned(), "skills");
    }
    if ["agent.yaml", "role.yaml"].iter().any(|file| directory.join(file).is_file()) {
        return named(fallback.to_owned(), "agents");
    }
    if PARTS.iter().any(|part| directory.join(part).exists()) || has_program(directory) {
        return named(fallback.to_owned(), "plugins");
    }
    if directory.join("pyproject.toml").is_file() {
        return Err("this is a Python package: install it with `pip:` in front of its path".into());
    }
    Err(format!(
        "there is no plugin: none of {}, SKILL.md, agent.yaml, role.yaml, {}",
        MANIFESTS.join(", "),
        PARTS.join(", ")
    ))
}

fn name_in(file: &Path) -> Result<Option<String>, String> {
    let bytes = bounded::read(file, LARGEST).map_err(|error| error.to_string())?;
    let bytes = bytes.ok_or("it is larger than 1 MiB")?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text")?;
    // JSON is YAML too.
    let value =
        yaml::value(&text).map_err(|error| format!("line {}: {}", error.line, error.message))?;
    Ok(value.get("name").and_then(Value::as_str).map(str::to_owned))
}

/// Returns true if an executable file is directly in a directory, as systems with one program per
/// plugin have it.
fn has_program(directory: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let entries = directory.read_dir().into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.metadata().ok())
        .any(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_place_follow_from_the_files() {
        let base = tempfile::tempdir().unwrap();
        let place = |file: &str, text: &str| {
            let directory = tempfile::tempdir_in(base.path()).unwrap();
            let path = directory.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
            recognize(directory.path(), "fallback").map(|(_, place)| place.display().to_string())
        };
        assert_eq!(place("plugin.yaml", "name: a\n").unwrap(), "plugins/a");
        assert_eq!(place(".claude-plugin/plugin.json", r#"{"name": "b"}"#).unwrap(), "plugins/b");
        assert_eq!(place("SKILL.md", "").unwrap(), "skills/fallback");
        assert_eq!(place("role.yaml", "").unwrap(), "agents/fallback");
        assert_eq!(place("tool.py", "").unwrap(), "plugins/fallback");
        assert!(place("README.md", "").unwrap_err().contains("no plugin"));
        assert!(place("plugin.yaml", "name: ../x\n").unwrap_err().contains("cannot name"));
    }
}
