//! Folders that the user cannot list, or not write. A confined process can close its own, and what lies in
//! one that can still be entered is obeyed all the same; so they are opened again before they are looked
//! through, and before something is taken out of them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Access, Mode, access};

/// What its owner needs to look into a folder, and all that an owner can have.
const SIGHT: u32 = 0o500;
const ALL: u32 = 0o700;

/// A folder that the user cannot enter, as it was seen. Of one of their own everything that a process
/// could do to it changes the time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shut {
    file: (u64, u64),
    changed: Option<(i64, i64)>,
}

impl Shut {
    /// A folder that cannot be entered; none where it can be, or that cannot be told.
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        if can_enter(folder) {
            return None;
        }
        let found = fs::symlink_metadata(folder).ok()?;
        let is_own = found.uid() == rustix::process::geteuid().as_raw();
        let changed = is_own.then(|| (found.ctime(), found.ctime_nsec()));
        Some(Self { file: (found.dev(), found.ino()), changed })
    }
}

/// Whether the user can enter a folder.
pub(crate) fn can_enter(folder: &Path) -> bool {
    access(folder, Access::EXEC_OK).is_ok()
}

/// Opens a folder beneath `root`, and those on the way there, to the user whose own they are. What stays
/// closed shows when it is looked at.
pub(crate) fn open(root: &Path, folder: &Path) {
    let mut way: Vec<&Path> = folder.ancestors().take_while(|it| it.starts_with(root)).collect();
    way.reverse();
    for folder in way {
        let _ = open_one(folder, SIGHT);
    }
}

/// Opens a folder beneath `root` in the same way, this one so that it can be written.
pub(crate) fn open_to_write(root: &Path, folder: &Path) {
    open(root, folder);
    let _ = open_one(folder, ALL);
}

#[cfg(target_os = "linux")]
fn open_one(folder: &Path, needed: u32) -> std::io::Result<()> {
    use std::os::fd::AsRawFd;

    use rustix::fs::OFlags;

    // No link is followed, and none can be put in its place meanwhile.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(folder, flags, Mode::empty())?;
    let found = rustix::fs::fstat(&opened)?;
    if found.st_uid == rustix::process::geteuid().as_raw() && found.st_mode & needed != needed {
        let mode = Mode::from_raw_mode(found.st_mode | ALL);
        rustix::fs::chmod(format!("/proc/self/fd/{}", opened.as_raw_fd()), mode)?;
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn open_one(folder: &Path, needed: u32) -> std::io::Result<()> {
    use rustix::fs::{AtFlags, CWD, chmodat};

    let found = fs::symlink_metadata(folder)?;
    let is_own = found.uid() == rustix::process::geteuid().as_raw();
    if found.is_dir() && is_own && found.mode() & needed != needed {
        let mode = Mode::from_bits_truncate((found.mode() | ALL) as _);
        chmodat(CWD, folder, mode, AtFlags::SYMLINK_NOFOLLOW)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn folders_on_the_way_are_opened_and_nothing_behind_a_link() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        let path = |name: &str| root.join(name);
        let mode = |name: &str| fs::metadata(path(name)).unwrap().mode() & 0o777;
        fs::create_dir_all(path("a/b")).unwrap();
        fs::create_dir_all(path("other")).unwrap();
        std::os::unix::fs::symlink("other", path("link")).unwrap();
        for (name, mode) in [("other", 0o311), ("a/b", 0o000), ("a", 0o211)] {
            fs::set_permissions(path(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        open(&root, &path("a/b"));
        open(&root, &path("link"));
        assert_eq!((mode("a"), mode("a/b"), mode("other")), (0o711, 0o700, 0o311));
        assert_eq!(Shut::of(&path("a")), None);
        for (name, mode) in [("a/b", 0o555), ("a", 0o511)] {
            fs::set_permissions(path(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        open_to_write(&root, &path("a/b"));
        open_to_write(&root, &path("link"));
        assert_eq!((mode("a"), mode("a/b"), mode("other")), (0o511, 0o755, 0o311));
    }
}
