//! Paths of which no part may be a symlink.
//!
//! Commands may run in a workspace while we work there, and can replace a directory by a symlink
//! after we looked at it. So the directory of a path is opened first, and everything else happens
//! by the name in that open directory. Files and symlinks are replaced in one step.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat};
use rustix::io::Errno;

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// To pass through a directory, nobody needs to list it.
#[cfg(target_os = "linux")]
const PASS: OFlags = DIRECTORY.union(OFlags::PATH);
#[cfg(not(target_os = "linux"))]
const PASS: OFlags = DIRECTORY;

/// A name in an open directory.
#[derive(Debug)]
pub struct ExactPath {
    directory: OwnedFd,
    name: OsString,
}

/// Opens a directory by its absolute path. A symlink on the way is an error of the kind
/// `NotADirectory`.
pub fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        match openat2(CWD, path, DIRECTORY, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // Old kernels lack the call, and some containers forbid it.
            Err(Errno::NOSYS | Errno::PERM) => {}
            Err(Errno::LOOP) => return Err(Errno::NOTDIR.into()),
            opened => return Ok(opened?),
        }
    }
    open_stepwise(path)
}

fn open_stepwise(path: &Path) -> io::Result<OwnedFd> {
    let mut directory = rustix::fs::openat(CWD, "/", PASS, Mode::empty())?;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else { continue };
        let flags = if parts.peek().is_some() { PASS } else { DIRECTORY };
        directory = rustix::fs::openat(&directory, name, flags, Mode::empty())?;
    }
    Ok(directory)
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
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        Ok(Self { directory: open_directory(parent)?, name: name.to_owned() })
    }

    /// The open directory.
    pub fn directory(&self) -> &OwnedFd {
        &self.directory
    }

    /// The name in it.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// The metadata; none if nothing has this name.
    pub fn stat(&self) -> io::Result<Option<Stat>> {
        stat_in(&self.directory, &self.name)
    }

    /// Replaces whatever has this name, except a directory, by a file.
    pub fn write(&self, bytes: &[u8], mode: u32) -> io::Result<()> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        self.replace(|name| {
            let file = rustix::fs::openat(&self.directory, name, flags, Mode::RUSR | Mode::WUSR)?;
            let mut file = File::from(file);
            let filled = file
                .write_all(bytes)
                .and_then(|()| file.set_permissions(Permissions::from_mode(mode)))
                .and_then(|()| file.sync_all());
            if filled.is_err() {
                let _ = rustix::fs::unlinkat(&self.directory, name, AtFlags::empty());
            }
            filled
        })
    }

    /// Replaces whatever has this name, except a directory, by a symlink.
    pub fn write_symlink(&self, target: &Path) -> io::Result<()> {
        self.replace(|name| Ok(rustix::fs::symlinkat(target, &self.directory, name)?))
    }

    /// Gives what `make` makes this name. `make` gets a name that is free.
    fn replace(&self, make: impl Fn(&str) -> io::Result<()>) -> io::Result<()> {
        let temporary = loop {
            let name = format!(".brynhild-{:016x}.tmp", random());
            match make(&name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                outcome => break outcome.map(|()| name)?,
            }
        };
        let renamed =
            rustix::fs::renameat(&self.directory, &temporary, &self.directory, &self.name);
        if renamed.is_err() {
            // The first error says what went wrong.
            let _ = rustix::fs::unlinkat(&self.directory, &temporary, AtFlags::empty());
        }
        renamed?;
        self.sync()
    }

    /// Creates a directory, or gives one that exists these permissions.
    pub fn make_directory(&self, mode: u32) -> io::Result<()> {
        match rustix::fs::mkdirat(&self.directory, &self.name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
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
        match rustix::fs::fsync(&self.directory) {
            // Some file systems cannot sync a directory, and say so.
            Ok(()) | Err(Errno::INVAL | Errno::NOTSUP) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
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
        for open in [open_directory, open_stepwise] {
            assert!(open(&base.join("real/inner")).is_ok());
            for path in ["symlink", "symlink/inner"] {
                let error = open(&base.join(path)).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::NotADirectory, "{path}");
            }
            let error = open(&base.join("absent")).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound);
        }
    }

    #[test]
    fn writing_replaces_a_symlink_and_not_its_target() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        fs::write(base.join("victim"), "safe").unwrap();
        symlink("victim", base.join("name")).unwrap();
        let path = ExactPath::open(&base.join("name")).unwrap();
        path.write(b"new", 0o640).unwrap();
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
