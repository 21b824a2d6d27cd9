//! Descriptions from earlier runs, by what is in the plugin's files, so that a start runs nothing.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use ::files::cache as cache_file;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::executable::Executable;
use super::schema::Schema;
use crate::directories::Directories;
use crate::fingerprint::Files;
use crate::problem::Problem;

/// How long a plugin that failed is left alone, unless its file is touched.
const REST: Duration = Duration::from_hours(1);
const MAX_SCHEMAS: usize = 4096;

pub(crate) struct SchemaCache(Mutex<Entries>);

#[derive(Default, Serialize, Deserialize)]
struct Entries {
    plugins: BTreeMap<String, Entry>,
    #[serde(skip)]
    is_changed: bool,
}

#[derive(Clone, Serialize, Deserialize)]
struct Entry {
    /// The files by their times, and all else that a description depends on.
    stamp: String,
    /// A hash of the files, and of all else that a description depends on.
    content: String,
    #[serde(rename = "said")]
    result: SchemaResult,
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum SchemaResult {
    Printed(Value),
    Failed { problem: Problem, at: u64 },
}

impl SchemaCache {
    pub(crate) fn read(file: &Path) -> Self {
        Self(Mutex::new(cache_file::read(file).unwrap_or_default()))
    }

    /// Writes the cache if it has changed. A failed write costs another `--schema` run.
    pub(crate) fn save(&self, file: &Path) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut entries.is_changed) {
            let _ = cache_file::write(file, &*entries);
        }
    }

    fn get(&self, key: &Key) -> Option<SchemaResult> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.plugins.get_mut(&key.path)?;
        let is_same = entry.stamp == key.stamp;
        match &entry.result {
            SchemaResult::Failed { at, .. } if !is_same || now() > at + REST.as_secs() => {
                return None;
            }
            SchemaResult::Printed(_) if !is_same && entry.content != key.content() => return None,
            SchemaResult::Failed { .. } | SchemaResult::Printed(_) => {}
        }
        let result = entry.result.clone();
        if !is_same {
            entry.stamp.clone_from(&key.stored_stamp(&result));
            entries.is_changed = true;
        }
        Some(result)
    }

    fn put(&self, key: Key, result: SchemaResult) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.plugins.len() >= MAX_SCHEMAS {
            entries.plugins.clear();
        }
        let entry = Entry { content: key.content(), stamp: key.stored_stamp(&result), result };
        entries.plugins.insert(key.path, entry);
        entries.is_changed = true;
    }
}

pub(crate) async fn describe(
    cache: &SchemaCache,
    executable: &Executable,
    directories: &Directories,
) -> Schema {
    let file = &executable.path;
    let key = Key::of(executable, directories);
    let known = key.as_ref().and_then(|key| cache.get(key));
    let result = match known {
        Some(result) => result,
        None => match executable.schema().await {
            Ok(result) => {
                if let Some(key) = key {
                    cache.put(key, result.clone());
                }
                result
            }
            // The machine's fault, and not the plugin's: it is asked again the next time.
            Err(problem) => return Schema { tools: Vec::new(), problems: vec![problem] },
        },
    };
    match result {
        SchemaResult::Printed(printed) => Schema::read(file, &printed),
        SchemaResult::Failed { problem, .. } => Schema::failed(file, &problem.what, &problem.hint),
    }
}

pub(crate) fn failed(problem: Problem) -> SchemaResult {
    SchemaResult::Failed { problem, at: now() }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

struct Key {
    path: String,
    stamp: String,
    base: blake3::Hasher,
    files: Files,
}

impl Key {
    fn of(executable: &Executable, directories: &Directories) -> Option<Self> {
        let files = Files::below(&executable.plugin.root, directories)?;
        let mut base = blake3::Hasher::new();
        // What it is granted may decide what it can say of itself.
        base.update(format!("{:?}", executable.plugin.settings).as_bytes());
        let mut stamp = base.clone();
        files.stamp(&mut stamp);
        let stamp = stamp.finalize().to_hex().to_string();
        Some(Self { path: executable.path.to_string_lossy().into_owned(), stamp, base, files })
    }

    /// Empty if it may hide a change, so that the content is compared; a failed plugin still waits.
    fn stored_stamp(&self, result: &SchemaResult) -> String {
        match result {
            SchemaResult::Printed(_) if !self.files.are_settled() => String::new(),
            SchemaResult::Printed(_) | SchemaResult::Failed { .. } => self.stamp.clone(),
        }
    }

    fn content(&self) -> String {
        let mut hasher = self.base.clone();
        self.files.content(&mut hasher);
        hasher.finalize().to_hex().to_string()
    }
}
