//! Detects changed files by names, sizes and times. Reads no file.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The most files that are checked below one path.
const MAX_FILES: usize = 50_000;
const SKIPPED: &[&str] = &[".git", ".venv", "venv", "node_modules", "__pycache__"];

/// The state of files at some time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint(BTreeMap<PathBuf, u64>);

/// The places that are looked at.
#[derive(Clone, Debug, Default)]
pub struct Places {
    pub whole: Vec<PathBuf>,
    /// Directories of which only the entry names count.
    pub surface: Vec<PathBuf>,
}

impl Fingerprint {
    pub fn of(places: &Places) -> Self {
        let mut prints = BTreeMap::new();
        let whole: BTreeSet<&Path> = places.whole.iter().map(PathBuf::as_path).collect();
        let is_within_another =
            |place: &Path| place.ancestors().skip(1).any(|around| whole.contains(around));
        for place in whole.iter().filter(|place| !is_within_another(place)) {
            let mut hasher = DefaultHasher::new();
            let mut left = MAX_FILES;
            look(place, &mut hasher, &mut left);
            prints.insert(place.to_path_buf(), hasher.finish());
        }
        for place in &places.surface {
            let mut hasher = DefaultHasher::new();
            // A directory's own time changes when an entry is added or removed.
            if let Ok(found) = place.metadata() {
                (found.ino(), found.mtime(), found.mtime_nsec()).hash(&mut hasher);
            }
            prints.insert(place.clone(), hasher.finish());
        }
        Self(prints)
    }

    /// Returns true if these places differ between the two fingerprints.
    pub fn differs_at(&self, other: &Self, places: &[PathBuf]) -> bool {
        // A place within another is checked with that one.
        let seen = |place: &Path, of: &Self| {
            place.ancestors().find_map(|around| of.0.get(around).copied())
        };
        places.iter().any(|place| seen(place, self) != seen(place, other))
    }
}

fn look(path: &Path, hasher: &mut DefaultHasher, left: &mut usize) {
    if *left == 0 {
        return;
    }
    *left -= 1;
    let Ok(metadata) = path.symlink_metadata() else { return };
    note(path, &metadata, hasher);
    if !metadata.is_dir() {
        return;
    }
    let Ok(entries) = std::fs::read_dir(path) else { return };
    let mut names: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    names.sort_unstable();
    let is_skipped = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| SKIPPED.contains(&name))
    };
    for path in names.iter().filter(|path| !is_skipped(path)) {
        look(path, hasher, left);
    }
}

fn note(path: &Path, metadata: &Metadata, hasher: &mut DefaultHasher) {
    path.hash(hasher);
    (metadata.mode(), metadata.ino()).hash(hasher);
    // A directory changes with its entries, which are checked on their own.
    if !metadata.is_dir() {
        (metadata.size(), metadata.mtime(), metadata.mtime_nsec()).hash(hasher);
        (metadata.ctime(), metadata.ctime_nsec()).hash(hasher);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_added_and_removed_files_change_the_fingerprint() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().to_path_buf();
        std::fs::write(root.join("a"), "1").unwrap();
        let places = Places { whole: vec![root.join("a"), root.clone()], ..Places::default() };
        let print = || Fingerprint::of(&places);
        let mut seen = vec![print()];
        assert_eq!(seen[0], print());
        std::fs::write(root.join("a"), "22").unwrap();
        seen.push(print());
        std::fs::write(root.join("b"), "").unwrap();
        seen.push(print());
        std::fs::remove_file(root.join("a")).unwrap();
        seen.push(print());
        for (index, one) in seen.iter().enumerate() {
            assert!(!seen[..index].contains(one), "{index}");
        }
    }

    #[test]
    fn unloaded_files_do_not_change_the_fingerprint() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().to_path_buf();
        let places = Places { whole: vec![root.clone()], ..Places::default() };
        let before = Fingerprint::of(&places);
        std::fs::create_dir_all(root.join("__pycache__/x")).unwrap();
        assert_eq!(before, Fingerprint::of(&places));
    }

    #[test]
    fn only_names_of_a_surface_are_covered() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().to_path_buf();
        std::fs::create_dir(root.join("package")).unwrap();
        std::fs::File::open(&root).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        let places = Places { surface: vec![root.clone()], ..Places::default() };
        let before = Fingerprint::of(&places);
        std::fs::write(root.join("package/file"), "").unwrap();
        assert_eq!(before, Fingerprint::of(&places));
        std::fs::write(root.join("other"), "").unwrap();
        assert_ne!(before, Fingerprint::of(&places));
    }
}
