//! The files that `mcp add`, `mcp remove` and `mcp import` write: the user's `mcp.json` and the
//! project's `.mcp.json`. Other keys in them stay as they are.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use files::private::{self, Durability};
use serde_json::{Map, Value, json};

/// The kind of a file with servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// The user's own: private, and locked while it is edited.
    User,
    /// The project's: no other file is left beside it.
    Project,
}

/// The reason why a file was not edited.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// Its content is not a document with servers.
    #[error("{0}")]
    Content(String),
    /// It cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Reads a file with servers. None if it does not exist.
pub fn read_file(path: &Path) -> Result<Option<Value>, String> {
    let bytes =
        private::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let Some(bytes) = bytes else { return Ok(None) };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Some(json!({})));
    }
    parse_file(path, &bytes).map(Some)
}

/// The document of a file with servers.
pub(super) fn parse_file(path: &Path, bytes: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(bytes)
        .map_err(|error| format!("{} is not valid JSON: {error}", path.display()))
}

/// Edits the servers of a file. `change` returns true if the file shall be written.
pub fn edit_file<E: From<EditError>>(
    path: &Path,
    kind: FileKind,
    change: impl FnOnce(&mut Map<String, Value>) -> Result<bool, E>,
) -> Result<(), E> {
    let _lock = match kind {
        FileKind::User => Some(private::lock(path).map_err(EditError::from)?),
        FileKind::Project => None,
    };
    let mut document = match read_file(path).map_err(EditError::Content)? {
        Some(Value::Object(document)) => document,
        Some(_) => {
            let wrong = format!("{} is not an object", path.display());
            return Err(EditError::Content(wrong).into());
        }
        None => Map::new(),
    };
    let has_wrapper = document.contains_key("mcpServers");
    let is_server = |value: &Value| value.get("command").or(value.get("url")).is_some();
    let servers = if !has_wrapper && document.values().any(is_server) {
        &mut document
    } else {
        let servers = document.entry("mcpServers").or_insert_with(|| json!({}));
        let wrong = || format!("`mcpServers` in {} is not an object", path.display());
        servers.as_object_mut().ok_or_else(|| EditError::Content(wrong()))?
    };
    if change(servers)? {
        let text = format!("{:#}\n", Value::Object(document));
        match kind {
            FileKind::User => private::replace(path, text.as_bytes(), Durability::Synced),
            FileKind::Project => replace(path, &text),
        }
        .map_err(EditError::from)?;
    }
    Ok(())
}

/// Replaces a file of the project atomically.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let draft = path.with_extension("json.draft");
    // A command may have put a symlink there, whose target must not be written.
    if let Err(error) = fs::remove_file(&draft)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    fs::File::create_new(&draft)?.write_all(text.as_bytes())?;
    fs::rename(&draft, path)
}
