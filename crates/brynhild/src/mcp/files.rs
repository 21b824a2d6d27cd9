//! The files that `mcp add` and its kin write: the user's `mcp.json` and the project's
//! `.mcp.json`. Other keys in them stay as they are.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use files::private;
use serde_json::{Map, Value, json};

use crate::args::McpScope;
use crate::exit::Problem;
use crate::world::World;

pub(crate) use crate::trust::SERVERS as PROJECT;

/// The user's own file.
pub(crate) fn own(world: &World) -> Result<PathBuf, Problem> {
    Ok(world.config_dir()?.join("mcp.json"))
}

/// The file of a scope.
pub(crate) fn path(world: &World, scope: McpScope) -> Result<PathBuf, Problem> {
    match scope {
        McpScope::User => own(world),
        McpScope::Project => Ok(world.root()?.join(PROJECT)),
    }
}

/// Reads a file; none where there is none.
pub(crate) fn read(path: &Path) -> Result<Option<Value>, String> {
    let bytes =
        private::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let Some(bytes) = bytes else { return Ok(None) };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Some(json!({})));
    }
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|error| format!("{} is not valid JSON: {error}", path.display()))
}

/// Changes the servers of a file by `change`, which says whether anything is to be written.
pub(crate) fn edit(
    world: &World,
    scope: McpScope,
    change: impl FnOnce(&mut Map<String, Value>) -> Result<bool, Problem>,
) -> Result<PathBuf, Problem> {
    let path = path(world, scope)?;
    let _lock = match scope {
        McpScope::User => Some(private::lock(&path)?),
        // No other file is left in the project.
        McpScope::Project => None,
    };
    let document = read(&path).map_err(Problem::misuse)?;
    let mut document = match document {
        Some(Value::Object(document)) => document,
        Some(_) => {
            return Err(Problem::misuse(format!("{} is not an object", path.display())));
        }
        None => Map::new(),
    };
    let is_bare = !document.contains_key("mcpServers")
        && document.values().any(|value| value.get("command").or(value.get("url")).is_some());
    let servers = if is_bare {
        &mut document
    } else {
        let servers = document.entry("mcpServers").or_insert_with(|| json!({}));
        servers.as_object_mut().ok_or_else(|| {
            Problem::misuse(format!("`mcpServers` in {} is not an object", path.display()))
        })?
    };
    if !change(servers)? {
        return Ok(path);
    }
    let mut text = serde_json::to_string_pretty(&Value::Object(document))?;
    text.push('\n');
    match scope {
        McpScope::User => private::replace(&path, text.as_bytes(), private::Durability::Synced)?,
        McpScope::Project => replace(&path, &text)?,
    }
    Ok(path)
}

/// Puts a text in place of a file of the project, whole.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let draft = path.with_extension("json.draft");
    // What a command has put there may be a link, and what that leads to is not to be written.
    if let Err(error) = fs::remove_file(&draft)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    fs::File::create_new(&draft)?.write_all(text.as_bytes())?;
    fs::rename(&draft, path)
}
