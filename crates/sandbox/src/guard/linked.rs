//! Protected files that have further names: a mount keeps a command from the protected one, but not
//! from the others, so what is in them is compared when it has ended.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use contract::sandbox::SandboxError;

use super::quarantine;
use super::snapshot::{SAVED_BYTES, SAVED_ENTRIES, Saved, parts, read, write};

/// What tells a file or folder from another at the same path. Numbers are given again, times of birth
/// are not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Birth {
    number: (u64, u64),
    time: Option<SystemTime>,
}

impl Birth {
    /// That of what stands at `path`, links not followed.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        Some(Self { number: (found.dev(), found.ino()), time: found.created().ok() })
    }
}

/// The files that have further names, with their content.
#[derive(Debug)]
pub(crate) struct Linked {
    files: Vec<(PathBuf, Birth, Saved)>,
}

impl Linked {
    /// Finds them at and beneath protected paths; none where there are none.
    pub(crate) fn find(names: &[PathBuf]) -> Result<Option<Self>, SandboxError> {
        let mut left: Vec<PathBuf> = names.iter().flat_map(|name| parts(name)).collect();
        let (mut files, mut seen, mut size) = (Vec::new(), 0, 0);
        while let Some(path) = left.pop() {
            let Ok(found) = fs::symlink_metadata(&path) else { continue };
            seen += 1;
            if found.is_dir() && seen < SAVED_ENTRIES {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                left.extend(entries.map(|entry| entry.path()));
            }
            if !found.is_file() || found.nlink() < 2 {
                continue;
            }
            size += found.len();
            if size > SAVED_BYTES {
                return Err(unguarded(&path, &io::ErrorKind::FileTooLarge.into()));
            }
            let saved = read(&path).map_err(|error| unguarded(&path, &error))?;
            files.extend(Birth::of(&path).zip(saved).map(|(birth, saved)| (path, birth, saved)));
        }
        Ok((!files.is_empty()).then_some(Self { files }))
    }

    /// Undoes what was written by another name. What the host has put in the place of a file stays.
    pub(super) fn restore(&self, root: &Path) -> Vec<io::Result<String>> {
        let mut moved = Vec::new();
        for (path, birth, saved) in &self.files {
            let is_same = Birth::of(path).as_ref() == Some(birth);
            if !is_same || read(path).is_ok_and(|found| found.as_ref() == Some(saved)) {
                continue;
            }
            moved.push(quarantine(root, path));
            moved.extend(write(path, saved).err().map(Err));
        }
        moved
    }
}

fn unguarded(path: &Path, error: &io::Error) -> SandboxError {
    SandboxError::Refused(format!(
        "{} has further names (hard links), by which a command could write it, and cannot be compared \
         afterwards ({error}); put a copy in its place, or use read-only access",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_by_another_name_is_undone_and_what_the_host_replaces_stays() {
        let base = tempfile::tempdir().unwrap();
        let path = |name: &str| base.path().join(name);
        fs::create_dir_all(path(".git/hooks")).unwrap();
        for name in [".git/config", ".git/hooks/one", ".git/hooks/two", "alone"] {
            fs::write(path(name), "mine").unwrap();
        }
        assert!(Linked::find(&[path(".git"), path("alone")]).unwrap().is_none());
        for (name, other) in [("config", "a"), ("hooks/one", "b"), ("hooks/two", "c")] {
            fs::hard_link(path(".git").join(name), path(other)).unwrap();
        }
        let linked = Linked::find(&[path(".git"), path("alone")]).unwrap().unwrap();
        fs::write(path("a"), "evil").unwrap();
        fs::write(path("new"), "theirs").unwrap();
        fs::rename(path("new"), path(".git/hooks/two")).unwrap();
        assert_eq!(linked.restore(base.path()).len(), 1);
        let text = |name: &str| fs::read_to_string(path(name)).unwrap();
        assert_eq!((text(".git/config"), text(".git/hooks/one")), ("mine".into(), "mine".into()));
        assert_eq!(text(".git/hooks/two"), "theirs");
        assert!(path(".brynhild-quarantine/.git_config.1").exists());
    }
}
