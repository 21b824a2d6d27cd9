//! What is done when a process has ended: planted repositories and, where no mount protects them,
//! changed protected names go to quarantine; stubs and scratch space go away.
//!
//! By then nothing confined runs, but what it left is hostile: no link is followed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use contract::sandbox::SandboxError;

use crate::Notice;
use crate::protected::{self, is_bare_repository};
use crate::stubs::Hold;

/// Where planted files are moved to, at the top of a root.
pub(crate) const QUARANTINE: &str = ".brynhild-quarantine";
const SAVED_ENTRIES: usize = 2000;
const SAVED_BYTES: u64 = 4 << 20;

/// The parts of a git directory that make git run or obey something.
const GIT_PARTS: [&str; 7] =
    ["config", "config.worktree", "commondir", "hooks", "info", "objects/info", "modules"];

/// What happens after a process; dropping it does it.
#[derive(Default)]
pub(crate) struct After {
    /// Roots that were no bare repository before.
    pub(crate) roots: Vec<PathBuf>,
    /// Protected names as they were before, where nothing else keeps them.
    pub(crate) snapshots: Vec<Snapshot>,
    /// Stubs in use.
    pub(crate) holds: Vec<Hold>,
    /// Scratch space.
    #[cfg(target_os = "linux")]
    pub(crate) scratch: Option<crate::landlock::Scratch>,
    /// Another folder to remove.
    pub(crate) folder: Option<tempfile::TempDir>,
    /// Who hears of it.
    pub(crate) notice: Option<Notice>,
}

impl fmt::Debug for After {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("After").finish_non_exhaustive()
    }
}

impl Drop for After {
    fn drop(&mut self) {
        let mut moved = Vec::new();
        for root in &self.roots {
            if is_bare_repository(root) {
                moved.push(quarantine(root, &root.join("HEAD")));
            }
        }
        for snapshot in &self.snapshots {
            snapshot.restore(&mut moved);
        }
        self.holds.clear();
        if let Some(notice) = &self.notice {
            for result in moved {
                notice(match result {
                    Ok(words) => words,
                    Err(error) => format!("a planted file could not be moved away: {error}"),
                });
            }
        }
    }
}

impl After {
    /// Watches `roots` for planted bare repositories.
    pub(crate) fn watch(roots: &[PathBuf], notice: Option<Notice>) -> Self {
        let roots = roots.iter().filter(|root| !is_bare_repository(root)).cloned().collect();
        let mut after = Self::default();
        after.roots = roots;
        after.notice = notice;
        after
    }
}

/// The protected names of one root, with their content.
#[derive(Debug)]
pub(crate) struct Snapshot {
    root: PathBuf,
    names: Vec<PathBuf>,
    saved: BTreeMap<PathBuf, Saved>,
}

#[derive(Debug, PartialEq, Eq)]
enum Saved {
    Folder,
    File { bytes: Vec<u8>, mode: u32 },
    Link(PathBuf),
}

impl Snapshot {
    /// Saves the protected names under `root`.
    pub(crate) fn take(root: &Path) -> Result<Self, SandboxError> {
        let found = protected::find(root)?;
        let mut snapshot =
            Self { root: root.to_owned(), names: Vec::new(), saved: BTreeMap::new() };
        for name in found.present.into_iter().chain(found.absent) {
            for part in parts(&name) {
                let mut saved = BTreeMap::new();
                let mut budget = (SAVED_ENTRIES, SAVED_BYTES);
                // A tree too large to save is left alone, before and after.
                if save(&part, &mut saved, &mut budget).is_ok() {
                    snapshot.saved.append(&mut saved);
                    snapshot.names.push(part);
                }
            }
        }
        Ok(snapshot)
    }

    fn restore(&self, moved: &mut Vec<io::Result<String>>) {
        for (path, saved) in &self.saved {
            if read(path).is_ok_and(|found| found.as_ref() == Some(saved)) {
                continue;
            }
            if fs::symlink_metadata(path).is_ok() {
                moved.push(quarantine(&self.root, path));
            }
            if let Err(error) = write(path, saved) {
                moved.push(Err(error));
            }
        }
        let mut found = BTreeSet::new();
        for name in &self.names {
            list(name, &mut found);
        }
        for path in found.iter().filter(|path| !self.saved.contains_key(*path)) {
            if fs::symlink_metadata(path).is_ok() {
                moved.push(quarantine(&self.root, path));
            }
        }
    }
}

/// The protected name itself, or the parts of a git directory that matter.
fn parts(name: &Path) -> Vec<PathBuf> {
    let is_git = name.ends_with(".git");
    if is_git && fs::symlink_metadata(name).is_ok_and(|metadata| metadata.is_dir()) {
        GIT_PARTS.iter().map(|part| name.join(part)).collect()
    } else {
        vec![name.to_owned()]
    }
}

fn save(
    path: &Path,
    saved: &mut BTreeMap<PathBuf, Saved>,
    budget: &mut (usize, u64),
) -> io::Result<()> {
    let Some(entry) = read(path)? else {
        return Ok(());
    };
    let size = match &entry {
        Saved::File { bytes, .. } => bytes.len() as u64,
        Saved::Folder | Saved::Link(_) => 0,
    };
    let over = || io::Error::from(io::ErrorKind::FileTooLarge);
    budget.0 = budget.0.checked_sub(1).ok_or_else(over)?;
    budget.1 = budget.1.checked_sub(size).ok_or_else(over)?;
    let is_folder = entry == Saved::Folder;
    saved.insert(path.to_owned(), entry);
    if is_folder {
        for entry in fs::read_dir(path)? {
            save(&entry?.path(), saved, budget)?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> io::Result<Option<Saved>> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if metadata.is_symlink() {
        return Ok(Some(Saved::Link(fs::read_link(path)?)));
    }
    if metadata.is_dir() {
        return Ok(Some(Saved::Folder));
    }
    if !metadata.is_file() || metadata.len() > SAVED_BYTES {
        return Err(io::ErrorKind::Unsupported.into());
    }
    Ok(Some(Saved::File { bytes: fs::read(path)?, mode: metadata.mode() & 0o7777 }))
}

fn write(path: &Path, saved: &Saved) -> io::Result<()> {
    match saved {
        Saved::Folder => fs::create_dir(path),
        Saved::Link(target) => std::os::unix::fs::symlink(target, path),
        Saved::File { bytes, mode } => {
            OpenOptions::new().write(true).create_new(true).mode(*mode).open(path)?.write_all(bytes)
        }
    }
}

/// Paths at and below `path`, without following links. A planted folder counts as one.
fn list(path: &Path, found: &mut BTreeSet<PathBuf>) {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return;
    };
    found.insert(path.to_owned());
    if metadata.is_dir() && found.len() < 4 * SAVED_ENTRIES {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            list(&entry.path(), found);
        }
    }
}

/// Moves `path` out of effect, to a folder in the same file system that nothing looks into.
fn quarantine(root: &Path, path: &Path) -> io::Result<String> {
    let folder = quarantine_folder(root)?;
    let name = path.strip_prefix(root).unwrap_or(path);
    let flat = name.to_string_lossy().replace('/', "_");
    for number in 1..10_000 {
        let target = folder.join(format!("{flat}.{number}"));
        if fs::symlink_metadata(&target).is_err() {
            fs::rename(path, &target)?;
            return Ok(format!(
                "a confined process changed or planted `{}`, which the host could obey; it was \
                 moved to `{}`",
                path.display(),
                target.display()
            ));
        }
    }
    Err(io::Error::other("the quarantine is full"))
}

fn quarantine_folder(root: &Path) -> io::Result<PathBuf> {
    for number in 0..100 {
        let suffix = if number == 0 { String::new() } else { format!("-{number}") };
        let folder = root.join(format!("{QUARANTINE}{suffix}"));
        if fs::create_dir(&folder).is_ok()
            || fs::symlink_metadata(&folder).is_ok_and(|metadata| metadata.is_dir())
        {
            return Ok(folder);
        }
    }
    Err(io::Error::other("there is no place for a quarantine"))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    fn after(root: &Path, snapshots: Vec<Snapshot>) -> (After, Arc<Mutex<Vec<String>>>) {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ear = Arc::clone(&heard);
        let notice: Notice = Arc::new(move |words| ear.lock().unwrap().push(words));
        let mut after = After::watch(&[root.to_owned()], Some(notice));
        after.snapshots = snapshots;
        (after, heard)
    }

    fn plant_bare(root: &Path) {
        fs::create_dir(root.join("objects")).unwrap();
        fs::create_dir(root.join("refs")).unwrap();
        fs::write(root.join("HEAD"), "ref: refs/heads/main").unwrap();
    }

    #[test]
    fn a_planted_bare_repository_loses_its_head() {
        let root = tempfile::tempdir().unwrap();
        let (after, heard) = after(root.path(), Vec::new());
        plant_bare(root.path());
        drop(after);
        assert!(!root.path().join("HEAD").exists());
        assert!(root.path().join(QUARANTINE).join("HEAD.1").exists());
        assert_eq!(heard.lock().unwrap().len(), 1);
    }

    #[test]
    fn a_bare_repository_of_the_user_stays() {
        let root = tempfile::tempdir().unwrap();
        plant_bare(root.path());
        let (after, _) = after(root.path(), Vec::new());
        drop(after);
        assert!(root.path().join("HEAD").exists());
    }

    #[test]
    fn changed_and_planted_protected_names_are_undone() {
        let root = tempfile::tempdir().unwrap();
        let git = root.path().join(".git");
        fs::create_dir_all(git.join("hooks")).unwrap();
        fs::write(git.join("config"), "[core]\n").unwrap();
        let snapshot = Snapshot::take(root.path()).unwrap();
        let (after, heard) = after(root.path(), vec![snapshot]);

        fs::write(git.join("config"), "[core]\n\tfsmonitor = evil\n").unwrap();
        fs::write(git.join("hooks/pre-commit"), "evil").unwrap();
        fs::write(git.join("commondir"), "../evil").unwrap();
        fs::write(git.join("HEAD"), "ref: refs/heads/main").unwrap();
        fs::create_dir(root.path().join(".vscode")).unwrap();
        fs::write(root.path().join(".vscode/settings.json"), "{}").unwrap();
        drop(after);

        assert_eq!(fs::read_to_string(git.join("config")).unwrap(), "[core]\n");
        assert!(!git.join("hooks/pre-commit").exists());
        assert!(!git.join("commondir").exists());
        assert!(git.join("HEAD").exists());
        assert!(!root.path().join(".vscode").exists());
        assert_eq!(heard.lock().unwrap().len(), 4);
    }

    #[test]
    fn nothing_is_written_through_a_planted_link() {
        let folder = tempfile::tempdir().unwrap();
        let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(root.join(".git/hooks/sample"), "x").unwrap();
        let snapshot = Snapshot::take(&root).unwrap();
        let (after, _) = after(&root, vec![snapshot]);
        fs::remove_dir_all(root.join(".git/hooks")).unwrap();
        std::os::unix::fs::symlink(&outside, root.join(".git/hooks")).unwrap();
        std::os::unix::fs::symlink(&outside, root.join(QUARANTINE)).unwrap();
        drop(after);
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        assert_eq!(fs::read_to_string(root.join(".git/hooks/sample")).unwrap(), "x");
    }
}
