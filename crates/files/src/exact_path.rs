//! Paths of which no part may be a symlink.
//!
//! Commands that run in a workspace can replace a directory by a symlink after it was checked. So
//! the directory of a path is opened first, and everything else happens by the name in that open
//! directory. Files and symlinks are replaced in one step.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat};
use rustix::io::Errno;

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Needs no permission to list the directory.
#[cfg(target_os = "linux")]
const PASS: OFlags = DIRECTORY.union(OFlags::PATH);
#[cfg(not(target_os = "linux"))]
const PASS: OFlags = DIRECTORY;

/// A name in an open directory.
#[derive(Debug)]
pub struct ExactPath {
    pub directory: OwnedFd,
    pub name: OsString,
}

/// Opens an absolute path. A symlink on the way is an error.
pub fn open(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // Old kernels lack the call, and some containers forbid it.
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return Ok(opened?),
        }
    }
    open_stepwise(path, flags)
}

fn open_stepwise(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(rustix::fs::open(path, flags, Mode::empty())?);
    };
    let directory = walk(parent, Missing::Fail)?;
    Ok(rustix::fs::openat(directory, name, flags | OFlags::NOFOLLOW, Mode::empty())?)
}

/// Opens a directory by its absolute path. A symlink on the way is an error of the kind
/// `NotADirectory`.
pub fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    open(path, DIRECTORY).map_err(|error| {
        let is_symlink = error.raw_os_error() == Some(Errno::LOOP.raw_os_error());
        if is_symlink { Errno::NOTDIR.into() } else { error }
    })
}

/// Opens a directory by its absolute path, to work with names in it. Creates it and its parents if
/// they are missing.
pub fn make_directories(path: &Path) -> io::Result<OwnedFd> {
    walk(path, Missing::Create)
}

/// The treatment of missing directories.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Create,
    Fail,
}

/// Opens a directory one step at a time, so that no step can be a symlink.
fn walk(path: &Path, missing: Missing) -> io::Result<OwnedFd> {
    let step = |directory: &OwnedFd, name: &OsStr| {
        rustix::fs::openat(directory, name, PASS, Mode::empty())
    };
    let mut directory = rustix::fs::open("/", PASS, Mode::empty())?;
    for part in path.components() {
        let Component::Normal(name) = part else { continue };
        directory = match step(&directory, name) {
            Err(Errno::NOENT) if missing == Missing::Create => {
                make_in(&directory, name, Mode::from_raw_mode(0o777))?;
                sync_directory(&directory)?;
                step(&directory, name)?
            }
            opened => opened?,
        };
    }
    Ok(directory)
}

/// Creates a directory in another one, unless it exists.
fn make_in(directory: &OwnedFd, name: &OsStr, mode: Mode) -> io::Result<()> {
    match rustix::fs::mkdirat(directory, name, mode) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Opens a directory by its name in another one.
pub fn open_directory_in(directory: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(directory, name, DIRECTORY, Mode::empty())?)
}

/// The metadata of a name in a directory; none if there is no such name.
pub fn stat_in(directory: impl AsFd, name: &OsStr) -> io::Result<Option<Stat>> {
    match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl ExactPath {
    /// Opens the directory of an absolute path.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::within(path, open_directory)
    }

    /// Opens the directory of an absolute path. Creates it if it is missing.
    pub fn open_or_create(path: &Path) -> io::Result<Self> {
        Self::within(path, make_directories)
    }

    fn within(path: &Path, open: impl Fn(&Path) -> io::Result<OwnedFd>) -> io::Result<Self> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        Ok(Self { directory: open(parent)?, name: name.to_owned() })
    }

    /// The metadata; none if nothing has this name.
    pub fn stat(&self) -> io::Result<Option<Stat>> {
        stat_in(&self.directory, &self.name)
    }

    /// Replaces whatever has this name, except a directory, by a file with this mode, or else with
    /// the mode of new files.
    pub fn write(&self, bytes: &[u8], mode: Option<u32>) -> io::Result<()> {
        // A file that gets a mode of its own may be private.
        let first = Mode::from_raw_mode(mode.map_or(0o666, |_| 0o600));
        let (temporary, mut file) = create_temporary(&self.directory, first)?;
        let permissions = mode.map(Permissions::from_mode);
        let filled = file
            .write_all(bytes)
            .and_then(|()| permissions.map_or(Ok(()), |it| file.set_permissions(it)))
            .and_then(|()| file.sync_all());
        self.replace(&temporary, filled)
    }

    /// Replaces whatever has this name, except a directory, by a symlink.
    pub fn write_symlink(&self, target: &Path) -> io::Result<()> {
        let make = |name: &str| rustix::fs::symlinkat(target, &self.directory, name);
        let (temporary, ()) = make_temporary(make)?;
        self.replace(&temporary, Ok(()))
    }

    /// Gives a temporary file this name, or removes it if it could not be filled.
    fn replace(&self, temporary: &str, filled: io::Result<()>) -> io::Result<()> {
        let directory = &self.directory;
        let rename = || rustix::fs::renameat(directory, temporary, directory, &self.name);
        let renamed = filled.and_then(|()| Ok(rename()?));
        if renamed.is_err() {
            // The first error says what went wrong.
            let _ = rustix::fs::unlinkat(directory, temporary, AtFlags::empty());
        }
        renamed?;
        self.sync()
    }

    /// Creates a directory, or gives one that exists these permissions.
    pub fn make_directory(&self, mode: u32) -> io::Result<()> {
        make_in(&self.directory, &self.name, Mode::RWXU)?;
        match open_directory_in(&self.directory, &self.name) {
            Ok(opened) => File::from(opened).set_permissions(Permissions::from_mode(mode))?,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.change_unreadable(mode)?;
            }
            Err(error) => return Err(error),
        }
        self.sync()
    }

    /// Changes the permissions of a directory that cannot be opened.
    #[cfg(target_os = "linux")]
    fn change_unreadable(&self, mode: u32) -> io::Result<()> {
        use std::os::fd::AsRawFd;
        // Linux changes no permissions by a name that could be a symlink.
        let opened = rustix::fs::openat(&self.directory, &self.name, PASS, Mode::empty())?;
        let path = format!("/proc/self/fd/{}", opened.as_raw_fd());
        std::fs::set_permissions(path, Permissions::from_mode(mode))
    }

    #[cfg(not(target_os = "linux"))]
    fn change_unreadable(&self, mode: u32) -> io::Result<()> {
        let mode = Mode::from_bits_truncate(mode.try_into().unwrap_or(0));
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        Ok(rustix::fs::chmodat(&self.directory, &self.name, mode, flags)?)
    }

    /// Removes whatever has this name, except a directory.
    pub fn remove(&self) -> io::Result<()> {
        rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::empty())?;
        self.sync()
    }

    /// Removes an empty directory.
    pub fn remove_directory(&self) -> io::Result<()> {
        rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::REMOVEDIR)?;
        self.sync()
    }

    fn sync(&self) -> io::Result<()> {
        sync_directory(&self.directory)
    }
}

/// Waits until changes of names in a directory are on disk.
pub fn sync_directory(directory: &OwnedFd) -> io::Result<()> {
    let readable = rustix::fs::openat(directory, ".", DIRECTORY, Mode::empty());
    match readable.and_then(rustix::fs::fsync) {
        // Some file systems cannot sync a directory, and one without read permission cannot be opened.
        Ok(()) | Err(Errno::INVAL | Errno::NOTSUP | Errno::ACCESS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Creates a temporary file in a directory and returns its name, too.
pub fn create_temporary(directory: &OwnedFd, mode: Mode) -> io::Result<(String, File)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let (name, file) = make_temporary(|name| rustix::fs::openat(directory, name, flags, mode))?;
    Ok((name, file.into()))
}

/// Calls `make` with random names until one is free.
fn make_temporary<T>(make: impl Fn(&str) -> Result<T, Errno>) -> io::Result<(String, T)> {
    loop {
        let random = RandomState::new().build_hasher().finish();
        let name = format!(".brynhild-{random:016x}.tmp");
        match make(&name) {
            Err(Errno::EXIST) => {}
            outcome => return Ok((name, outcome?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_part_of_a_path_may_be_a_symlink() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("real/inner")).unwrap();
        symlink("real", base.join("symlink")).unwrap();
        for path in ["symlink", "symlink/inner"] {
            let error = open_directory(&base.join(path)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotADirectory, "{path}");
        }
        fs::write(base.join("real/file"), "x").unwrap();
        symlink("file", base.join("real/symlink")).unwrap();
        for open in [open, open_stepwise] {
            assert!(open(&base.join("real/inner"), DIRECTORY).is_ok());
            assert!(open(&base.join("real/file"), OFlags::RDONLY).is_ok());
            for path in ["symlink/file", "real/symlink", "symlink/inner"] {
                assert!(open(&base.join(path), OFlags::RDONLY).is_err(), "{path}");
            }
            let error = open(&base.join("absent"), DIRECTORY).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound);
        }
    }

    #[test]
    fn missing_directories_are_created_without_following_symlinks() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        ExactPath::open_or_create(&base.join("a/b/file")).unwrap().write(b"new", None).unwrap();
        assert_eq!(fs::read(base.join("a/b/file")).unwrap(), b"new");
        symlink("a", base.join("symlink")).unwrap();
        let error = ExactPath::open_or_create(&base.join("symlink/c/file")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
        assert!(!base.join("a/c").exists());
    }

    #[test]
    fn writing_replaces_a_symlink_and_not_its_target() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        fs::write(base.join("victim"), "safe").unwrap();
        symlink("victim", base.join("name")).unwrap();
        let path = ExactPath::open(&base.join("name")).unwrap();
        path.write(b"new", Some(0o640)).unwrap();
        assert_eq!(fs::read(base.join("victim")).unwrap(), b"safe");
        assert_eq!(fs::read(base.join("name")).unwrap(), b"new");
        assert_eq!(fs::metadata(base.join("name")).unwrap().permissions().mode() & 0o777, 0o640);
        path.write_symlink(Path::new("victim")).unwrap();
        assert_eq!(fs::read(base.join("name")).unwrap(), b"safe");
        path.remove().unwrap();
        path.make_directory(0o500).unwrap();
        path.make_directory(0o000).unwrap();
        path.make_directory(0o700).unwrap();
        path.remove_directory().unwrap();
        assert!(path.stat().unwrap().is_none());
        assert_eq!(fs::read_dir(&base).unwrap().count(), 1, "no temporary file is left");
    }
}
