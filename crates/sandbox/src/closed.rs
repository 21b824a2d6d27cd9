//! Folders that the user cannot list, or not write. A confined process can close its own, and what lies in
//! one that can still be entered is obeyed all the same; so they are opened before they are looked
//! through, and before something is taken out of them. Afterwards they are as closed as they were: some are
//! the person's own.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, Mode, access};

use crate::held::Held;

/// What its owner needs to look into a folder, and all that an owner can have.
const SIGHT: u32 = 0o500;
const ALL: u32 = 0o700;
/// The bits that a mode has besides the kind of a file.
const MODE: u32 = 0o7777;

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

/// A folder as it was before it was opened.
#[derive(Debug)]
struct Before {
    path: PathBuf,
    file: (u64, u64),
    mode: u32,
    changed: (i64, i64),
}

/// Folders that were opened. Each has its mode back when this goes, if it still stands where it did.
#[derive(Debug, Default)]
pub(crate) struct Opened(Vec<Before>);

impl Opened {
    /// Opens a folder beneath `root`, and those on the way there, to the user whose own they are. What
    /// stays closed shows when it is looked at.
    pub(crate) fn open(&mut self, root: &Path, folder: &Path) {
        let way: Vec<&Path> = folder.ancestors().take_while(|it| it.starts_with(root)).collect();
        for folder in way.into_iter().rev() {
            self.0.extend(open_one(folder, SIGHT).ok().flatten());
        }
    }

    /// Opens a folder beneath `root` in the same way, this one so that it can be written.
    pub(crate) fn open_to_write(&mut self, root: &Path, folder: &Path) {
        self.open(root, folder);
        self.0.extend(open_one(folder, ALL).ok().flatten());
    }

    /// When a folder that was opened had changed before.
    pub(crate) fn changed(&self, folder: &Path) -> Option<(i64, i64)> {
        self.0.iter().find(|before| before.path == folder).map(|before| before.changed)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // What lies deeper could not be reached any more.
        for before in self.0.iter().rev() {
            // What was moved away meanwhile, or is gone, needs no mode.
            let _ = close_one(before);
        }
    }
}

/// Opens a folder for good, so that it can be written.
pub(crate) fn keep_open(folder: &Path) {
    // What stays closed shows when something is put there.
    let _ = open_one(folder, ALL);
}

/// Sets the mode of what lies at a path, if that is no link.
pub(crate) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let opened = Handle::of(path)?;
    if opened.metadata()?.is_symlink() {
        return Err(io::Error::other("a link has taken its place"));
    }
    opened.set_mode(mode)
}

fn open_one(folder: &Path, needed: u32) -> io::Result<Option<Before>> {
    let opened = Handle::of(folder)?;
    let found = opened.metadata()?;
    let is_own = found.uid() == rustix::process::geteuid().as_raw();
    if !found.is_dir() || !is_own || found.mode() & needed == needed {
        return Ok(None);
    }
    opened.set_mode(found.mode() | ALL)?;
    Ok(Some(Before {
        path: folder.to_owned(),
        file: (found.dev(), found.ino()),
        mode: found.mode(),
        changed: (found.ctime(), found.ctime_nsec()),
    }))
}

fn close_one(before: &Before) -> io::Result<()> {
    let opened = Handle::of(&before.path)?;
    let found = opened.metadata()?;
    if (found.dev(), found.ino()) == before.file {
        opened.set_mode(before.mode)?;
    }
    Ok(())
}

/// A file or folder that nothing can be put in the place of meanwhile. No link is followed, on the way
/// or at its end.
#[cfg(target_os = "linux")]
struct Handle(fs::File);

#[cfg(target_os = "linux")]
impl Handle {
    fn of(path: &Path) -> io::Result<Self> {
        use rustix::fs::OFlags;

        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = Held::of(path)?;
        Ok(Self(rustix::fs::open(held.path(), flags, Mode::empty())?.into()))
    }

    fn metadata(&self) -> io::Result<Metadata> {
        self.0.metadata()
    }

    fn set_mode(&self, mode: u32) -> io::Result<()> {
        let place = crate::held::place(&self.0);
        Ok(rustix::fs::chmod(place, Mode::from_raw_mode(mode & MODE))?)
    }
}

/// The place of it, where the system has no such handles.
#[cfg(not(target_os = "linux"))]
struct Handle(PathBuf);

#[cfg(not(target_os = "linux"))]
impl Handle {
    fn of(path: &Path) -> io::Result<Self> {
        Ok(Self(Held::of(path)?.path().to_owned()))
    }

    fn metadata(&self) -> io::Result<Metadata> {
        fs::symlink_metadata(&self.0)
    }

    fn set_mode(&self, mode: u32) -> io::Result<()> {
        use rustix::fs::{AtFlags, CWD, chmodat};

        let mode = Mode::from_bits_truncate((mode & MODE) as _);
        Ok(chmodat(CWD, &self.0, mode, AtFlags::SYMLINK_NOFOLLOW)?)
    }
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
        let mut opened = Opened::default();
        opened.open(&root, &path("a/b"));
        opened.open(&root, &path("link"));
        assert_eq!((mode("a"), mode("a/b"), mode("other")), (0o711, 0o700, 0o311));
        assert_eq!(Shut::of(&path("a")), None);
        assert!(opened.changed(&path("a")).is_some() && opened.changed(&path("link")).is_none());
        let mut behind = Opened::default();
        fs::create_dir(path("other/deep")).unwrap();
        fs::set_permissions(path("other/deep"), fs::Permissions::from_mode(0o300)).unwrap();
        behind.open_to_write(&root, &path("link/deep"));
        keep_open(&path("link/deep"));
        assert!(
            set_mode(&path("link/deep"), 0o700).is_err() && set_mode(&path("link"), 0).is_err()
        );
        assert_eq!((mode("other"), mode("other/deep")), (0o311, 0o300));
        drop(opened);
        assert_eq!(mode("a"), 0o211);
        fs::set_permissions(path("a"), fs::Permissions::from_mode(0o511)).unwrap();
        assert_eq!(mode("a/b"), 0o000);
        fs::set_permissions(path("a/b"), fs::Permissions::from_mode(0o555)).unwrap();
        let mut opened = Opened::default();
        opened.open_to_write(&root, &path("a/b"));
        opened.open_to_write(&root, &path("link"));
        assert_eq!((mode("a"), mode("a/b"), mode("other")), (0o511, 0o755, 0o311));
        // What stands there by then is another one.
        fs::rename(path("a/b"), path("moved")).unwrap();
        fs::create_dir(path("a/b")).unwrap();
        let new = mode("a/b");
        drop(opened);
        assert_eq!((mode("a"), mode("a/b"), mode("moved")), (0o511, new, 0o755));
    }
}
