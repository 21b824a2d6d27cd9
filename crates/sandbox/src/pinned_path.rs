//! Paths whose directory is open, so that nothing can be put in its place.
//!
//! Confined processes may run in a workspace while we work there, and any of them can replace a
//! directory by a symlink after we looked at it. Code that moves, writes or removes something in a
//! workspace pins the path first.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

/// A path whose directory is open. No symlink on the way was followed; the last part may be one.
#[derive(Debug)]
pub(crate) struct PinnedPath {
    #[cfg(target_os = "linux")]
    _directory: OwnedFd,
    path: PathBuf,
}

impl PinnedPath {
    /// The path within the open directory. Operations by it must not follow a symlink.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Pins a path, which is absolute and has no `..`.
    #[cfg(target_os = "linux")]
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let parts = path.parent().zip(path.file_name());
        let (parent, name) = parts.ok_or(io::ErrorKind::InvalidInput)?;
        let opened = directory(parent)?;
        let path = place(&opened).join(name);
        Ok(Self { _directory: opened, path })
    }

    /// Other systems have no path of an open directory, so this is the path itself.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned() })
    }
}

/// Some directories can be entered and not listed.
#[cfg(target_os = "linux")]
const ENTER: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const ENTER: OFlags = OFlags::empty();

/// The metadata of the directory at a path, if no symlink leads there.
pub fn directory_metadata(path: &Path) -> io::Result<Metadata> {
    File::from(directory(path)?).metadata()
}

/// Opens a directory without following symlinks.
pub(crate) fn directory(path: &Path) -> io::Result<OwnedFd> {
    let is_step = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    if !path.is_absolute() || !path.components().all(is_step) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let flags = ENTER | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // Older kernels and some containers have no such call.
            Err(Errno::NOSYS | Errno::PERM) => {}
            Err(Errno::LOOP) => return Err(symlink_error(path)),
            opened => return Ok(opened?),
        }
    }
    let mut opened = directory_in(&CWD, Path::new("/"))?;
    for part in path.components().skip(1) {
        opened = directory_in(&opened, Path::new(part.as_os_str()))?;
    }
    Ok(opened)
}

/// Opens the directory of this name in another one, unless it is a symlink.
pub(crate) fn directory_in(above: &impl AsFd, name: &Path) -> io::Result<OwnedFd> {
    let flags = ENTER | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(above, name, flags, Mode::empty()).map_err(|errno| match errno {
        Errno::NOTDIR => symlink_error(name),
        other => other.into(),
    })
}

fn symlink_error(path: &Path) -> io::Error {
    let words = format!("`{}` is a symlink or no directory", path.display());
    io::Error::new(io::ErrorKind::NotADirectory, words)
}

/// A path of an open directory.
#[cfg(target_os = "linux")]
pub(crate) fn place(directory: &impl AsFd) -> PathBuf {
    use std::os::fd::AsRawFd;
    PathBuf::from(format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd()))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn pinned_path_follows_no_symlink_and_survives_an_exchange() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("a/b")).unwrap();
        fs::write(base.join("a/b/file"), "mine").unwrap();
        std::os::unix::fs::symlink("a", base.join("symlink")).unwrap();
        assert!(PinnedPath::of(&base.join("symlink/b/file")).is_err());
        assert!(PinnedPath::of(&base.join("a/../a/b/file")).is_err());
        let pinned = PinnedPath::of(&base.join("a/b/file")).unwrap();
        fs::rename(base.join("a"), base.join("old")).unwrap();
        fs::create_dir_all(base.join("a/b")).unwrap();
        fs::write(base.join("a/b/file"), "other").unwrap();
        assert_eq!(fs::read_to_string(pinned.path()).unwrap(), "mine");
    }
}
