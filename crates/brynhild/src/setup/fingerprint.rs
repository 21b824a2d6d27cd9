//! Tells whether files have changed, by their names, sizes and times. Reads no file.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::fs::Metadata;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files that are looked at below one place, at most.
const MOST: usize = 5_000;
/// Folders whose files nobody loads.
const SKIPPED: &[&str] = &[".git", ".venv", "venv", "node_modules", "__pycache__"];

/// The state of some places, each a file or a folder with all that is beneath it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fingerprint(BTreeMap<PathBuf, u64>);

impl Fingerprint {
    /// Looks at places.
    pub(super) fn of(places: impl IntoIterator<Item = PathBuf>) -> Self {
        let print = |place: PathBuf| {
            let mut hasher = DefaultHasher::new();
            let mut left = MOST;
            look(&place, &mut hasher, &mut left);
            (place, hasher.finish())
        };
        Self(places.into_iter().map(print).collect())
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
    // A folder changes with what is in it, which is looked at on its own.
    if !metadata.is_dir() {
        (metadata.size(), metadata.mtime(), metadata.mtime_nsec()).hash(hasher);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_an_added_and_a_removed_file_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_path_buf();
        std::fs::write(root.join("a"), "1").unwrap();
        let print = || Fingerprint::of([root.clone()]);
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
    fn what_nobody_loads_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_path_buf();
        let before = Fingerprint::of([root.clone()]);
        std::fs::create_dir_all(root.join("__pycache__/x")).unwrap();
        assert_eq!(before, Fingerprint::of([root]));
    }
}
