//! A cache of manifests and packages that earlier runs have read, so that a start with many plugins
//! parses nothing. An entry counts only while its file has not changed; a lost or broken index
//! costs time and nothing else.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ::files::cache;
use ::files::stamp::Stamp;
use foldhash::HashMap;
use rustix::fs::Stat;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

const FORMAT: u32 = 7;

/// Entries above which those that were not asked for in this run are dropped.
const MAX_INDEX_ENTRIES: usize = 4096;

#[derive(Debug, Default)]
pub struct Index {
    file: Option<PathBuf>,
    manifests: HashMap<String, Entry>,
    sites: HashMap<String, Entry>,
    is_changed: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    stamp: Stamp,
    /// Taken apart when somebody asks for it: whole manifests would make a large table of them.
    value: Box<RawValue>,
    #[serde(skip)]
    is_used: bool,
    /// True if its file changed so lately that another change might not be seen: nothing to keep.
    #[serde(skip)]
    is_fresh: bool,
}

#[derive(Serialize)]
struct Written<'a> {
    format: u32,
    manifests: &'a HashMap<String, Entry>,
    sites: &'a HashMap<String, Entry>,
}

#[derive(Deserialize)]
struct Stored {
    format: u32,
    manifests: HashMap<String, Entry>,
    sites: HashMap<String, Entry>,
}

impl Index {
    /// Reads the index that is kept in a file; an empty one where there is none that is any good.
    pub fn load(file: Option<PathBuf>) -> Self {
        let stored =
            file.as_deref().and_then(cache::read::<Stored>).filter(|it| it.format == FORMAT);
        match stored {
            Some(Stored { manifests, sites, .. }) => {
                Self { file, manifests, sites, is_changed: false }
            }
            None => Self { file, ..Self::default() },
        }
    }

    /// Writes the index where something in it is new. That it cannot be written only costs time.
    pub fn save(mut self) {
        let Some(file) = self.file.take().filter(|_| self.is_changed) else {
            return;
        };
        if self.manifests.len() > MAX_INDEX_ENTRIES {
            self.manifests.retain(|_, entry| entry.is_used);
        }
        if self.sites.len() > MAX_INDEX_ENTRIES {
            self.sites.retain(|_, entry| entry.is_used);
        }
        self.manifests.retain(|_, entry| !entry.is_fresh);
        self.sites.retain(|_, entry| !entry.is_fresh);
        let written = Written { format: FORMAT, manifests: &self.manifests, sites: &self.sites };
        let _ = cache::write(&file, &written);
    }

    /// The facts of a manifest: those that were read in an earlier run, else those that `read` reads.
    pub(crate) fn manifest<T: Serialize + DeserializeOwned>(
        &mut self,
        file: &Path,
        found: &Stat,
        read: impl FnOnce() -> T,
    ) -> T {
        look_up(&mut self.manifests, (file, found), &mut self.is_changed, read)
    }

    /// The packages in a directory: those of an earlier run, else those that `read` finds.
    pub(crate) fn site<T: Serialize + DeserializeOwned>(
        &mut self,
        directory: &Path,
        found: &Stat,
        read: impl FnOnce() -> T,
    ) -> T {
        look_up(&mut self.sites, (directory, found), &mut self.is_changed, read)
    }
}

fn look_up<T: Serialize + DeserializeOwned>(
    entries: &mut HashMap<String, Entry>,
    (path, found): (&Path, &Stat),
    is_changed: &mut bool,
    read: impl FnOnce() -> T,
) -> T {
    let (now, stamp) = (SystemTime::now(), Stamp::of(found));
    let Some(key) = path.to_str() else {
        return read();
    };
    if let Some(entry) = entries.get_mut(key).filter(|entry| entry.stamp == stamp)
        && let Ok(value) = serde_json::from_str(entry.value.get())
    {
        entry.is_used = true;
        return value;
    }
    let value = read();
    let is_fresh = !stamp.is_settled(now);
    if let Ok(kept) = serde_json::value::to_raw_value(&value) {
        let entry = Entry { stamp, value: kept, is_used: true, is_fresh };
        entries.insert(key.to_owned(), entry);
        *is_changed |= !is_fresh;
    }
    value
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::manifest;

    fn asked(index: &mut Index, file: &Path) -> bool {
        let mut was_read = false;
        index.manifest(file, &rustix::fs::stat(file).unwrap(), || {
            was_read = true;
            manifest::read(file.parent().unwrap(), None)
        });
        was_read
    }

    #[test]
    fn a_file_is_read_again_only_when_it_changed() {
        let directory = tempfile::tempdir().unwrap();
        let (kept, file) =
            (directory.path().join("cache/index.json"), directory.path().join("plugin.yaml"));
        fs::write(&file, "name: a\nversion: '1'\n").unwrap();
        let mut index = Index::load(Some(kept.clone()));
        assert!(asked(&mut index, &file));
        assert!(!asked(&mut index, &file));
        settle(&mut index);
        index.save();
        let mut index = Index::load(Some(kept.clone()));
        assert!(!asked(&mut index, &file));
        fs::write(&file, "name: ab\nversion: '1'\n").unwrap();
        assert!(asked(&mut index, &file));
    }

    /// Has everything count as old enough to be kept.
    fn settle(index: &mut Index) {
        index.manifests.values_mut().for_each(|entry| entry.is_fresh = false);
        index.is_changed = true;
    }

    #[test]
    fn recently_changed_file_is_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let (kept, file) =
            (directory.path().join("index.json"), directory.path().join("plugin.yaml"));
        fs::write(&file, "name: a\nversion: '1'\n").unwrap();
        let mut index = Index::load(Some(kept.clone()));
        assert!(asked(&mut index, &file));
        index.save();
        assert!(asked(&mut Index::load(Some(kept)), &file));
    }

    #[test]
    fn broken_or_missing_index_is_empty() {
        let directory = tempfile::tempdir().unwrap();
        let kept = directory.path().join("index.json");
        for text in ["", "{", "[]", "{\"format\": 99, \"manifests\": {}, \"sites\": {}}"] {
            fs::write(&kept, text).unwrap();
            assert!(Index::load(Some(kept.clone())).manifests.is_empty());
        }
        Index::load(None).save();
        Index { is_changed: true, ..Index::load(Some("/proc/none/x".into())) }.save();
    }
}
