//! The files that `mcp add`, `mcp remove` and `mcp import` write: the user's `mcp.json` and the
//! project's `.mcp.json`. Other keys in them stay as they are.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use files::lock::Lock;
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
pub(super) fn read_file(path: &Path) -> Result<Option<Value>, String> {
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

/// A file with servers that is being edited.
pub struct ServerFile {
    /// Its path.
    pub path: PathBuf,
    kind: FileKind,
    document: Map<String, Value>,
    _lock: Option<Lock>,
}

impl ServerFile {
    /// Opens a file, which need not exist. The user's own file is locked.
    pub fn open(path: PathBuf, kind: FileKind) -> Result<Self, EditError> {
        let lock = match kind {
            FileKind::User => Some(private::lock(&path)?),
            FileKind::Project => None,
        };
        let document = match read_file(&path).map_err(EditError::Content)? {
            Some(Value::Object(document)) => document,
            Some(_) => {
                let text = format!("{} is not an object", path.display());
                return Err(EditError::Content(text));
            }
            None => Map::new(),
        };
        Ok(Self { path, kind, document, _lock: lock })
    }

    /// The servers by name, with or without the wrapper `mcpServers`.
    pub fn servers(&mut self) -> Result<&mut Map<String, Value>, EditError> {
        let has_wrapper = self.document.contains_key("mcpServers");
        let is_server = |value: &Value| value.get("command").or(value.get("url")).is_some();
        if !has_wrapper && self.document.values().any(is_server) {
            return Ok(&mut self.document);
        }
        let servers = self.document.entry("mcpServers").or_insert_with(|| json!({}));
        let path = self.path.display();
        servers
            .as_object_mut()
            .ok_or_else(|| EditError::Content(format!("`mcpServers` in {path} is not an object")))
    }

    /// Writes the file.
    pub fn save(self) -> io::Result<()> {
        let text = format!("{:#}\n", Value::Object(self.document));
        match self.kind {
            FileKind::User => private::replace(&self.path, text.as_bytes(), Durability::Synced),
            FileKind::Project => replace(&self.path, &text),
        }
    }
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
