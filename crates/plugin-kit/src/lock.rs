//! `plugins.lock`: the plugins that were installed, from where, and the hash of their content.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use contract::tool::ToolSpec;
use files::private::{self, Durability};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::source::Source;

pub const FILE: &str = "plugins.lock";

const VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    version: u32,
    #[serde(default)]
    pub plugins: BTreeMap<String, LockedPlugin>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedPlugin {
    pub source: Source,
    /// The commit or the version that was installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The directory below that of the configuration.
    pub directory: PathBuf,
    pub content: String,
    /// The packages with versions that were installed with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<String>,
    /// The hashes of the tools of its MCP servers, by server. One that never started has none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<String, String>,
}

/// One hash over the names, descriptions and schemas of tools, in any order.
pub fn tools_hash<'a>(tools: impl IntoIterator<Item = &'a ToolSpec>) -> String {
    let line = |tool: &ToolSpec| {
        let mut value = json!([tool.name, tool.description, tool.input_schema]);
        value.sort_all_objects();
        value.to_string()
    };
    let lines: BTreeSet<String> = tools.into_iter().map(line).collect();
    let text = lines.into_iter().collect::<Vec<_>>().join("\n");
    blake3::hash(text.as_bytes()).to_hex()[..32].to_owned()
}

impl Default for Lock {
    fn default() -> Self {
        Self { version: VERSION, plugins: BTreeMap::new() }
    }
}

impl Lock {
    /// Reads the lock file in a directory; an empty lock if there is none.
    pub fn read(directory: &Path) -> io::Result<Self> {
        let file = directory.join(FILE);
        let Some(bytes) = private::read(&file)? else { return Ok(Self::default()) };
        let wrong = |why: String| {
            let what = format!("{}: {why}", file.display());
            io::Error::new(io::ErrorKind::InvalidData, what)
        };
        let lock: Self =
            serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        if lock.version != VERSION {
            return Err(wrong(format!("version {} is not known, only 1", lock.version)));
        }
        Ok(lock)
    }

    pub fn write(&self, directory: &Path) -> io::Result<()> {
        private::make_directory(directory)?;
        let text = serde_json::to_string_pretty(self)? + "\n";
        private::replace(&directory.join(FILE), text.as_bytes(), Durability::Synced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_survives_writing_and_reading() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Lock::read(directory.path()).unwrap(), Lock::default());
        let mut lock = Lock::default();
        let plugin = LockedPlugin {
            source: Source::Npm("a@1".into()),
            revision: Some("1".into()),
            directory: "plugins/a".into(),
            content: "c".into(),
            packages: Vec::new(),
            servers: BTreeMap::from([("plugin:a:s".into(), "h".into())]),
        };
        lock.plugins.insert("a".into(), plugin);
        lock.write(directory.path()).unwrap();
        assert_eq!(Lock::read(directory.path()).unwrap(), lock);
        std::fs::write(directory.path().join(FILE), "{").unwrap();
        let error = Lock::read(directory.path()).unwrap_err().to_string();
        assert!(error.contains(FILE), "{error}");
    }
}
