//! The content of protected names before a command, where no mount keeps them from it, and how it
//! is brought back.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use contract::sandbox::SandboxError;

use super::quarantine;
use crate::protected::{self, is_bare_repository};

const SAVED_ENTRIES: usize = 2000;
const SAVED_BYTES: u64 = 4 << 20;

/// The parts of a git directory that make git run or obey something.
const GIT_PARTS: [&str; 6] =
    ["config", "config.worktree", "commondir", "hooks", "info", "objects/info"];
const MOST_PARTS: usize = 1000;

/// The protected names of one root, with their content.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    root: PathBuf,
    /// Whether git would have taken the root for a repository before.
    was_bare: bool,
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
        let mut snapshot = Self {
            root: root.to_owned(),
            was_bare: is_bare_repository(root),
            names: Vec::new(),
            saved: BTreeMap::new(),
        };
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

    /// Undoes every change; `moved` tells of each.
    pub(super) fn restore(&self, moved: &mut Vec<io::Result<String>>) {
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
    let is_folder = fs::symlink_metadata(name).is_ok_and(|metadata| metadata.is_dir());
    if !name.ends_with(".git") || !is_folder {
        return vec![name.to_owned()];
    }
    let mut parts = Vec::new();
    let mut directories = vec![name.to_owned()];
    while let Some(directory) = directories.pop() {
        parts.extend(GIT_PARTS.iter().map(|part| directory.join(part)));
        if parts.len() < MOST_PARTS {
            modules(&directory.join("modules"), &mut directories);
        }
    }
    parts
}

/// The git directories of submodules in `folder`; a module's name may hold slashes.
fn modules(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) || found.len() >= MOST_PARTS {
            continue;
        }
        if fs::symlink_metadata(entry.path().join("HEAD")).is_ok() {
            found.push(entry.path());
        } else {
            modules(&entry.path(), found);
        }
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

/// How snapshots travel to the process that restores them when nobody else is left to.
impl Snapshot {
    /// The bytes of several snapshots: fields, each after its length.
    pub(crate) fn encode(snapshots: &[Self]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |field: &[u8]| {
            bytes.extend_from_slice(&(field.len() as u64).to_le_bytes());
            bytes.extend_from_slice(field);
        };
        for snapshot in snapshots {
            put(if snapshot.was_bare { b"bare root" } else { b"root" });
            put(snapshot.root.as_os_str().as_bytes());
            for name in &snapshot.names {
                put(b"name");
                put(name.as_os_str().as_bytes());
            }
            for (path, saved) in &snapshot.saved {
                let (kind, content) = match saved {
                    Saved::Folder => ("folder".to_owned(), [].as_slice()),
                    Saved::Link(target) => ("link".to_owned(), target.as_os_str().as_bytes()),
                    Saved::File { bytes, mode } => (format!("file {mode}"), bytes.as_slice()),
                };
                put(kind.as_bytes());
                put(path.as_os_str().as_bytes());
                put(content);
            }
        }
        bytes
    }

    /// Reads snapshots back. `None` where the bytes are none.
    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Vec<Self>> {
        let mut snapshots: Vec<Self> = Vec::new();
        while !bytes.is_empty() {
            let kind = field(&mut bytes)?;
            let path = PathBuf::from(OsStr::from_bytes(field(&mut bytes)?));
            if let b"root" | b"bare root" = kind {
                let was_bare = kind == b"bare root";
                let (names, saved) = (Vec::new(), BTreeMap::new());
                snapshots.push(Self { root: path, was_bare, names, saved });
                continue;
            }
            let snapshot = snapshots.last_mut()?;
            let saved = match std::str::from_utf8(kind).ok()?.split_once(' ') {
                None if kind == b"name" => {
                    snapshot.names.push(path);
                    continue;
                }
                None if kind == b"folder" => field(&mut bytes).map(|_| Saved::Folder)?,
                None if kind == b"link" => {
                    Saved::Link(PathBuf::from(OsStr::from_bytes(field(&mut bytes)?)))
                }
                Some(("file", mode)) => {
                    Saved::File { mode: mode.parse().ok()?, bytes: field(&mut bytes)?.to_vec() }
                }
                _ => return None,
            };
            snapshot.saved.insert(path, saved);
        }
        Some(snapshots)
    }

    /// Undoes every change in these bytes' roots, with nobody to tell.
    pub(crate) fn restore_all(bytes: &[u8]) {
        let mut moved = Vec::new();
        for snapshot in Self::decode(bytes).unwrap_or_default() {
            if !snapshot.was_bare {
                moved.extend(super::quarantine_repository(&snapshot.root));
            }
            snapshot.restore(&mut moved);
        }
    }
}

fn field<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let (field, rest) =
        rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    *bytes = rest;
    Some(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_survives_its_journey_and_can_be_restored_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let (root, other) = (folder.path().join("root"), folder.path().join("other"));
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        fs::create_dir_all(root.join(".vscode")).unwrap();
        fs::create_dir_all(&other).unwrap();
        fs::write(root.join(".git/config"), [0, 1, 255]).unwrap();
        std::os::unix::fs::symlink("x", root.join(".vscode/link")).unwrap();
        let taken = [Snapshot::take(&root).unwrap(), Snapshot::take(&other).unwrap()];
        let bytes = Snapshot::encode(&taken);
        assert_eq!(Snapshot::decode(&bytes).as_deref(), Some(taken.as_slice()));
        assert_eq!(Snapshot::decode(&bytes[..bytes.len() - 1]), None);
        fs::write(root.join(".git/config"), "evil").unwrap();
        fs::write(root.join(".git/hooks/pre-commit"), "evil").unwrap();
        fs::write(other.join(".envrc"), "evil").unwrap();
        Snapshot::restore_all(&bytes);
        assert_eq!(fs::read(root.join(".git/config")).unwrap(), [0, 1, 255]);
        assert!(!root.join(".git/hooks/pre-commit").exists() && !other.join(".envrc").exists());
    }

    #[test]
    fn the_settings_of_large_submodules_are_kept_too() {
        let folder = tempfile::tempdir().unwrap();
        let module = folder.path().join(".git/modules/group/sub");
        let objects = module.join("objects/aa");
        fs::create_dir_all(&objects).unwrap();
        fs::write(module.join("HEAD"), "ref: refs/heads/main").unwrap();
        fs::write(module.join("config"), "mine").unwrap();
        for number in 0..=SAVED_ENTRIES {
            fs::write(objects.join(number.to_string()), "").unwrap();
        }
        let snapshot = Snapshot::take(folder.path()).unwrap();
        fs::write(module.join("config"), "evil").unwrap();
        snapshot.restore(&mut Vec::new());
        assert_eq!(fs::read_to_string(module.join("config")).unwrap(), "mine");
    }
}
