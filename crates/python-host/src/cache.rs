//! Descriptions from earlier runs, so that a start runs no Python: one file for each environment that
//! plugins were described in, read whole.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use files::cache;
use foldhash::HashMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::description::{Answer, SkippedFiles};
use crate::hash::short_hash;
use crate::payload;

/// Plugins above which a file is begun anew.
const PLUGINS_LIMIT: usize = 4096;
/// Environments above which the one that was not used for the longest time is dropped.
const ENVIRONMENTS_LIMIT: usize = 16;

/// The cached descriptions.
pub(crate) struct Cache {
    file: PathBuf,
    entries: Mutex<Option<Entries>>,
}

#[derive(Default)]
struct Entries {
    plugins: HashMap<String, Entry>,
    is_changed: bool,
}

/// The description of one plugin.
#[derive(Serialize, Deserialize)]
struct Entry {
    key: Key,
    /// An [`Answer`], which is parsed on demand.
    answer: Box<RawValue>,
    /// True if it ends with the program.
    #[serde(skip)]
    is_temporary: bool,
}

/// Everything that a description depends on.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Key {
    /// The name and the directory of the plugin.
    #[serde(skip)]
    pub(crate) plugin: String,
    /// Changes with the files, the interpreter and the settings.
    pub(crate) hash: String,
    /// Changes with the installed packages, which count if something is wrong.
    pub(crate) packages: String,
    /// The search path for programs, which counts then and if the plugin looks for some.
    pub(crate) search_path: String,
}

impl Key {
    /// Returns true if a description that was given under another key is the same under this one.
    fn fits(&self, other: &Self, answer: &Answer) -> bool {
        let has_packages = self.packages == other.packages || !answer.is_faulty();
        let needs_path = answer.is_faulty() || answer.looks_for_programs;
        let has_path = self.search_path == other.search_path || !needs_path;
        let is_old = answer.left_out.as_ref().is_some_and(SkippedFiles::is_old);
        self.hash == other.hash && has_packages && has_path && !is_old
    }
}

impl Cache {
    /// The descriptions of an environment, cached in a directory. Reads nothing yet.
    pub(crate) fn new(directory: &Path, environment: &str) -> Self {
        let name = short_hash(format!("{} {environment}", payload::IDENTITY).as_bytes());
        Self { file: directory.join(name).with_extension("json"), entries: Mutex::new(None) }
    }

    /// The cached description of a plugin.
    pub(crate) fn get(&self, key: &Key) -> Option<Answer> {
        self.with(|entries| {
            let entry = entries.plugins.get(&key.plugin)?;
            let answer = serde_json::from_str(entry.answer.get()).ok()?;
            key.fits(&entry.key, &answer).then_some(answer)
        })
    }

    /// Keeps a description.
    pub(crate) fn put(&self, key: Key, answer: &Answer) {
        self.insert(key, answer, false);
    }

    /// Keeps a description until the program ends.
    pub(crate) fn put_for_now(&self, key: Key, answer: &Answer) {
        self.insert(key, answer, true);
    }

    fn insert(&self, key: Key, answer: &Answer, is_temporary: bool) {
        let Ok(answer) = serde_json::value::to_raw_value(answer) else { return };
        self.with(|entries| {
            if entries.plugins.len() >= PLUGINS_LIMIT {
                entries.plugins.clear();
            }
            entries.plugins.insert(key.plugin.clone(), Entry { key, answer, is_temporary });
            entries.is_changed = true;
        });
    }

    /// Removes the description of a plugin, because it describes itself differently when it runs.
    pub(crate) fn forget(&self, plugin: &str) {
        self.with(|entries| entries.is_changed |= entries.plugins.remove(plugin).is_some());
        self.save();
    }

    /// Writes the descriptions if they have changed. What cannot be written is found out again.
    pub(crate) fn save(&self) {
        self.with(|entries| {
            if std::mem::take(&mut entries.is_changed) {
                let lasting = entries.plugins.iter().filter(|(_, entry)| !entry.is_temporary);
                let lasting: HashMap<&String, &Entry> = lasting.collect();
                let _ = cache::write(&self.file, &lasting);
                self.drop_oldest();
            }
        });
    }

    /// Removes files of environments that were not described in for long.
    fn drop_oldest(&self) {
        let Some(files) = self.file.parent().and_then(|it| fs::read_dir(it).ok()) else { return };
        let dated =
            files.flatten().filter_map(|it| Some((it.metadata().ok()?.modified().ok()?, it)));
        let mut dated: Vec<_> = dated.map(|(time, entry)| (time, entry.path())).collect();
        dated.sort();
        for (_, file) in dated.iter().rev().skip(ENVIRONMENTS_LIMIT) {
            let _ = fs::remove_file(file);
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Entries) -> T) -> T {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        act(entries.get_or_insert_with(|| Entries {
            plugins: cache::read(&self.file).unwrap_or_default(),
            is_changed: false,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::{Complaint, ToolDescription};

    fn key(plugin: &str, hash: &str) -> Key {
        let text = str::to_owned;
        Key {
            plugin: text(plugin),
            hash: text(hash),
            packages: text("1"),
            search_path: text("/bin"),
        }
    }

    #[test]
    fn description_is_cached_by_hash_and_environment() {
        let directory = tempfile::tempdir().unwrap();
        let cache = |environment: &str| Cache::new(directory.path(), environment);
        let answer = Answer { tools: vec![ToolDescription::default()], ..Answer::default() };
        let first = cache("a");
        first.put(key("p", "1"), &answer);
        first.save();
        assert_eq!(cache("a").get(&key("p", "1")), Some(answer));
        assert_eq!(cache("a").get(&key("p", "2")), None);
        assert_eq!(cache("b").get(&key("p", "1")), None);
        cache("a").forget("p");
        assert_eq!(cache("a").get(&key("p", "1")), None);
    }

    #[test]
    fn temporary_description_ends_with_the_program() {
        let directory = tempfile::tempdir().unwrap();
        let cache = || Cache::new(directory.path(), "a");
        let first = cache();
        first.put_for_now(key("p", "1"), &Answer::default());
        first.save();
        assert_eq!(first.get(&key("p", "1")), Some(Answer::default()));
        assert_eq!(cache().get(&key("p", "1")), None);
    }

    #[test]
    fn environments_that_were_not_used_for_long_are_dropped() {
        let directory = tempfile::tempdir().unwrap();
        for number in 0..ENVIRONMENTS_LIMIT + 3 {
            let cache = Cache::new(directory.path(), &number.to_string());
            cache.put(key("p", "1"), &Answer::default());
            cache.save();
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), ENVIRONMENTS_LIMIT);
    }

    #[test]
    fn faulty_description_is_keyed_by_packages_and_search_path() {
        let faulty = Answer { problems: vec![Complaint::default()], ..Answer::default() };
        let looking = Answer { looks_for_programs: true, ..Answer::default() };
        let with_packages = Key { packages: "2".to_owned(), ..key("p", "1") };
        let elsewhere = Key { search_path: "/opt".to_owned(), ..key("p", "1") };
        let fits = |answer: &Answer| {
            [&with_packages, &elsewhere].map(|other| key("p", "1").fits(other, answer))
        };
        assert_eq!(fits(&Answer::default()), [true, true]);
        assert_eq!(fits(&looking), [true, false]);
        assert_eq!(fits(&faulty), [false, false]);
    }

    #[test]
    fn files_that_crashed_python_are_retried_after_a_day() {
        let mut ended = SkippedFiles::default();
        ended.files.insert("a.py".to_owned(), "exit code 3".to_owned());
        let mut answer = Answer { left_out: ended.kept(), ..Answer::default() };
        assert!(key("p", "1").fits(&key("p", "1"), &answer));
        answer.left_out = Some(SkippedFiles::default());
        assert!(!key("p", "1").fits(&key("p", "1"), &answer));
    }
}
