//! Copies of protected files in memory, to compare them with the files after a command and to
//! restore them. Used where no mount protects the files.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::contents;
use crate::pinned_path::PinnedPath;
use crate::quarantine::quarantine;

/// Bounds on one copy.
const ENTRIES: usize = 2_000;
const BYTES: u64 = 4 << 20;

/// A copy of a file or directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Saved {
    /// Nothing is there.
    Absent,
    /// A file.
    File { bytes: Arc<[u8]>, mode: u32 },
    /// A symlink with its target.
    Symlink(PathBuf),
    /// A directory.
    Directory { entries: BTreeMap<OsString, Saved>, mode: u32 },
    /// Too large, of another kind, or unreadable: cannot be restored. Compared by its identity.
    Opaque((u64, u64)),
}

impl Saved {
    /// Copies what is at `path`.
    pub(crate) fn read(path: &Path) -> Self {
        let mut left = (ENTRIES, BYTES);
        Self::read_within(path, &mut left).unwrap_or_else(|| match fs::symlink_metadata(path) {
            Ok(found) => Self::Opaque((found.dev(), found.ino())),
            Err(_) => Self::Absent,
        })
    }

    fn read_within(path: &Path, left: &mut (usize, u64)) -> Option<Self> {
        let found = match fs::symlink_metadata(path) {
            Ok(found) => found,
            Err(error) if contents::is_absent(&error) => return Some(Self::Absent),
            Err(_) => return None,
        };
        left.0 = left.0.checked_sub(1)?;
        let mode = found.mode() & 0o7777;
        if found.is_symlink() {
            return fs::read_link(path).ok().map(Self::Symlink);
        }
        if found.is_file() {
            left.1 = left.1.checked_sub(found.len())?;
            let bytes = contents::plain_file(path, found.len()).known()?.into();
            return Some(Self::File { bytes, mode });
        }
        if !found.is_dir() {
            return None;
        }
        let mut entries = BTreeMap::new();
        for entry in fs::read_dir(path).ok()? {
            let name = entry.ok()?.file_name();
            // Git runs no hook of such a name, and obeys no list of references.
            let is_list = name == "refs" && path.ends_with("info");
            if !name.to_string_lossy().ends_with(".sample") && !is_list {
                entries.insert(name.clone(), Self::read_within(&path.join(&name), left)?);
            }
        }
        Some(Self::Directory { entries, mode })
    }

    /// Returns true if something is there.
    pub(crate) fn is_present(&self) -> bool {
        *self != Self::Absent
    }

    /// Makes `path` below `root` what it was. Moves what differs to quarantine. Returns the paths
    /// that were changed back.
    pub(crate) fn restore(&self, root: &Path, path: &Path) -> io::Result<Vec<PathBuf>> {
        let now = Self::read(path);
        if now == *self {
            return Ok(Vec::new());
        }
        match (self, &now) {
            (
                Self::Directory { entries, mode },
                Self::Directory { entries: found, mode: found_mode },
            ) => {
                if mode != found_mode {
                    set_mode(path, *mode)?;
                }
                let names =
                    entries.keys().chain(found.keys().filter(|it| !entries.contains_key(*it)));
                let mut changed = Vec::new();
                for name in names {
                    let before = entries.get(name).unwrap_or(&Self::Absent);
                    changed.extend(before.restore(root, &path.join(name))?);
                }
                Ok(changed)
            }
            (Self::File { bytes, mode }, Self::File { bytes: found, .. }) if bytes == found => {
                set_mode(path, *mode)?;
                Ok(vec![path.to_owned()])
            }
            // Its content is unknown, so nothing better can be put in its place.
            (Self::Opaque(_), _) => Ok(vec![path.to_owned()]),
            _ => {
                quarantine(root, path)?;
                self.write(path)?;
                Ok(vec![path.to_owned()])
            }
        }
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        let pinned = PinnedPath::of(path)?;
        match self {
            Self::Absent | Self::Opaque(_) => Ok(()),
            Self::Symlink(target) => symlink(target, pinned.path()),
            Self::File { bytes, mode } => {
                let mut options = OpenOptions::new();
                let file = options.write(true).create_new(true).mode(*mode).open(pinned.path());
                let mut file = file?;
                file.write_all(bytes)?;
                file.set_permissions(fs::Permissions::from_mode(*mode))
            }
            Self::Directory { entries, mode } => {
                fs::DirBuilder::new().mode(0o700).create(pinned.path())?;
                for (name, saved) in entries {
                    saved.write(&path.join(name))?;
                }
                set_mode(path, *mode)
            }
        }
    }
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let pinned = PinnedPath::of(path)?;
    if fs::symlink_metadata(pinned.path())?.is_symlink() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    fs::set_permissions(pinned.path(), fs::Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_directory_is_restored_entry_by_entry() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let hooks = root.join("hooks");
        fs::create_dir(&hooks).unwrap();
        for name in ["pre-commit", "gone", "x.sample"] {
            fs::write(hooks.join(name), "mine").unwrap();
        }
        let saved = Saved::read(&hooks);
        assert!(saved.restore(&root, &hooks).unwrap().is_empty());
        fs::write(hooks.join("pre-commit"), "evil").unwrap();
        fs::write(hooks.join("new"), "evil").unwrap();
        fs::remove_file(hooks.join("gone")).unwrap();
        assert_eq!(saved.restore(&root, &hooks).unwrap().len(), 3);
        assert_eq!(Saved::read(&hooks), saved);
        assert_eq!(fs::read_to_string(hooks.join("pre-commit")).unwrap(), "mine");
        assert!(hooks.join("x.sample").exists() && !hooks.join("new").exists());
    }

    #[test]
    fn saved_file_replaces_a_symlink_without_following_it() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let (config, other) = (root.join("config"), root.join("other"));
        fs::write(&config, "mine").unwrap();
        fs::write(&other, "other").unwrap();
        let saved = Saved::read(&config);
        fs::remove_file(&config).unwrap();
        symlink(&other, &config).unwrap();
        assert_eq!(saved.restore(&root, &config).unwrap().len(), 1);
        assert_eq!(fs::read_to_string(&config).unwrap(), "mine");
        assert_eq!(fs::read_to_string(&other).unwrap(), "other");
    }
}
