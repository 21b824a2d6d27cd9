//! Protected files that have further names: a mount keeps a command from the protected one, but not
//! from the others, so they are compared when it has ended. What git and editors obey is small and comes
//! back; of packages that were linked from a store only the times are known.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use contract::sandbox::SandboxError;

use super::quarantine;
use super::snapshot::{Saved, parts, read, write};
use crate::nested::SKIPPED;

/// So much is kept to be brought back, of all files together.
const KEPT_BYTES: u64 = 1 << 20;
/// So many entries are looked at, and so many of what package managers have fetched, where there are
/// often very many that share their content with a store.
const ENTRIES: usize = 300_000;
const FETCHED_ENTRIES: usize = 20_000;

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
        fs::symlink_metadata(path).ok().as_ref().map(Self::seen)
    }

    fn seen(found: &Metadata) -> Self {
        Self { number: (found.dev(), found.ino()), time: found.created().ok() }
    }
}

/// The files that have further names.
#[derive(Debug, Default)]
pub(crate) struct Linked {
    /// With their content.
    kept: Vec<(PathBuf, Birth, Saved)>,
    /// How long all that is.
    kept_bytes: u64,
    /// With their times.
    noted: Vec<(PathBuf, Birth, Stamp)>,
}

/// When a file was changed. The first of these no process can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    change: (i64, i64),
    content: (i64, i64, u64),
}

impl Stamp {
    fn seen(found: &Metadata) -> Self {
        Self {
            change: (found.ctime(), found.ctime_nsec()),
            content: (found.mtime(), found.mtime_nsec(), found.len()),
        }
    }
}

impl Linked {
    /// Finds them at and beneath protected paths; none where there are none.
    pub(crate) fn find(names: &[PathBuf]) -> Result<Option<Self>, SandboxError> {
        let mut linked = Self::default();
        let mut folders = Vec::new();
        for part in names.iter().flat_map(|name| parts(name)) {
            match fs::symlink_metadata(&part) {
                Ok(found) if found.is_dir() => folders.push(part),
                Ok(found) => linked.add(part, &found, true)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(unguarded(&part, &error)),
            }
        }
        let fetched = linked.walk(folders)?;
        linked.walk_fetched(fetched)?;
        Ok((!linked.kept.is_empty() || !linked.noted.is_empty()).then_some(linked))
    }

    /// Looks through folders. Returns those in them that hold what tools have fetched.
    fn walk(&mut self, mut left: Vec<PathBuf>) -> Result<Vec<PathBuf>, SandboxError> {
        let (mut fetched, mut seen) = (Vec::new(), 0);
        while let Some(folder) = left.pop() {
            let fault = |error: io::Error| unguarded(&folder, &error);
            let entries = match fs::read_dir(&folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                entries => entries.map_err(fault)?,
            };
            for entry in entries {
                let entry = entry.map_err(fault)?;
                seen += 1;
                if seen > ENTRIES {
                    return Err(fault(io::ErrorKind::FileTooLarge.into()));
                }
                let kind = entry.file_type().map_err(fault)?;
                let is_fetched = || SKIPPED.iter().any(|skip| entry.file_name() == *skip);
                if kind.is_file() {
                    self.look_at(&entry, true)?;
                } else if kind.is_dir() && is_fetched() {
                    fetched.push(entry.path());
                } else if kind.is_dir() {
                    left.push(entry.path());
                }
            }
        }
        Ok(fetched)
    }

    /// Looks through the first of what tools have fetched.
    fn walk_fetched(&mut self, mut left: Vec<PathBuf>) -> Result<(), SandboxError> {
        let mut seen = 0;
        while let Some(folder) = left.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                seen += 1;
                if seen > FETCHED_ENTRIES {
                    return Ok(());
                }
                match entry.file_type() {
                    Ok(kind) if kind.is_file() => self.look_at(&entry, false)?,
                    Ok(kind) if kind.is_dir() => left.push(entry.path()),
                    Ok(_) | Err(_) => {}
                }
            }
        }
        Ok(())
    }

    fn look_at(&mut self, entry: &fs::DirEntry, is_obeyed: bool) -> Result<(), SandboxError> {
        match entry.metadata() {
            Ok(found) if found.nlink() > 1 => self.add(entry.path(), &found, is_obeyed),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(unguarded(&entry.path(), &error))
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Keeps a file that has further names: its content while there is room, otherwise its times.
    fn add(
        &mut self,
        path: PathBuf,
        found: &Metadata,
        is_obeyed: bool,
    ) -> Result<(), SandboxError> {
        if !found.is_file() || found.nlink() < 2 {
            return Ok(());
        }
        let birth = Birth::seen(found);
        let bytes = self.kept_bytes.saturating_add(found.len());
        if !is_obeyed || bytes > KEPT_BYTES {
            self.noted.push((path, birth, Stamp::seen(found)));
            return Ok(());
        }
        let saved = read(&path).map_err(|error| unguarded(&path, &error))?;
        self.kept.extend(saved.map(|saved| (path, birth, saved)));
        self.kept_bytes = bytes;
        Ok(())
    }

    /// Undoes what was written by another name. What the host has put in the place of a file stays.
    pub(super) fn restore(&self, root: &Path) -> Vec<io::Result<String>> {
        let mut moved = Vec::new();
        for (path, birth, saved) in &self.kept {
            let is_same = Birth::of(path).as_ref() == Some(birth);
            if !is_same || read(path).is_ok_and(|found| found.as_ref() == Some(saved)) {
                continue;
            }
            moved.push(quarantine(root, path));
            moved.extend(write(path, saved).err().map(Err));
        }
        let mut doubtful = Vec::new();
        for (path, birth, stamp) in &self.noted {
            let found = fs::symlink_metadata(path).ok();
            let Some(found) = found.filter(|found| Birth::seen(found) == *birth) else { continue };
            let now = Stamp::seen(&found);
            if now.content != stamp.content {
                moved.push(quarantine(root, path));
            } else if now.change != stamp.change {
                doubtful.push(path);
            }
        }
        // That also happens where another name of it is made or removed.
        moved.extend(doubtful.first().map(|path| {
            Ok(format!(
                "a confined process touched `{}` and {} other protected files by further names of \
                 theirs (hard links); whether it wrote into them cannot be told",
                path.display(),
                doubtful.len() - 1
            ))
        }));
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

    #[test]
    fn packages_of_a_store_are_neither_kept_nor_refused_and_a_write_to_one_is_found() {
        let base = tempfile::tempdir().unwrap();
        let path = |name: &str| base.path().join(name);
        let packages = path(".claude/worktrees/w/node_modules");
        fs::create_dir_all(&packages).unwrap();
        fs::create_dir(path("store")).unwrap();
        for name in ["a", "b", "c"] {
            fs::write(path("store").join(name), vec![b'x'; 1 << 20]).unwrap();
            fs::hard_link(path("store").join(name), packages.join(name)).unwrap();
        }
        let linked = Linked::find(&[path(".claude")]).unwrap().unwrap();
        assert_eq!((linked.kept.len(), linked.noted.len()), (0, 3));
        assert!(linked.restore(base.path()).is_empty());
        fs::write(path("store/a"), "evil").unwrap();
        fs::remove_file(path("store/b")).unwrap();
        let told = linked.restore(base.path());
        assert!(told.iter().flatten().any(|words| words.contains("cannot be told")), "{told:?}");
        assert_eq!(told.len(), 2);
        assert!(!packages.join("a").exists() && packages.join("b").exists());
    }

    #[test]
    fn very_many_files_hide_none_that_has_another_name() {
        let base = tempfile::tempdir().unwrap();
        let path = |name: &str| base.path().join(name);
        fs::create_dir_all(path(".git/hooks")).unwrap();
        fs::write(path(".git/hooks/pre-commit"), "mine").unwrap();
        fs::hard_link(path(".git/hooks/pre-commit"), path("b")).unwrap();
        fs::create_dir_all(path(".claude/worktrees/w")).unwrap();
        for number in 0..=FETCHED_ENTRIES {
            fs::write(path(&format!(".claude/worktrees/w/{number}")), "").unwrap();
        }
        let linked = Linked::find(&[path(".git"), path(".claude")]).unwrap().unwrap();
        fs::write(path("b"), "evil").unwrap();
        assert_eq!(linked.restore(base.path()).len(), 1);
        assert_eq!(fs::read_to_string(path(".git/hooks/pre-commit")).unwrap(), "mine");
    }
}
