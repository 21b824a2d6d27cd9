//! The files that a command must find at mounted paths. Bubblewrap mounts by path, and at the same time
//! another confined process may replace the target of a path, for example with a symlink to the home
//! directory. So the expected files are recorded first, and the helper compares them before anything runs.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::ops::Bound;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Mode, OFlags, StatVfsMountFlags, StatxAttributes, StatxFlags, fstat, fstatvfs, openat,
    statx,
};
use rustix::io::Errno;

use crate::pinned_path;

/// The disk and the number of a file or directory.
pub(crate) type Number = (u64, u64);

/// The expected file at one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpectedMount {
    /// This is mounted there.
    Mounted { file: Number, is_read_only: bool },
    /// An empty directory in memory is.
    Memory,
    /// It is the directory in which something is put over what lies there.
    Directory(Number),
}

/// The expected files at paths after all mounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExpectedMounts {
    places: BTreeMap<PathBuf, ExpectedMount>,
}

impl ExpectedMounts {
    /// Adds what is mounted, which covers what was mounted there and below.
    pub(crate) fn add(&mut self, path: &Path, meant: ExpectedMount) {
        let from = (Bound::Included(path), Bound::Unbounded);
        let below = self.places.range::<Path, _>(from).take_while(|(it, _)| it.starts_with(path));
        for covered in below.map(|(it, _)| it.clone()).collect::<Vec<_>>() {
            self.places.remove(&covered);
        }
        self.places.insert(path.to_owned(), meant);
    }

    /// Adds a directory in which something is put over what lies there, as it is now, unless it is known.
    pub(crate) fn add_directory(&mut self, path: &Path) -> io::Result<()> {
        if !self.places.contains_key(path) {
            self.places.insert(path.to_owned(), ExpectedMount::Directory(look(path)?));
        }
        Ok(())
    }

    /// Opens a path, if its file is the expected one; none for a path that is not recorded.
    pub(crate) fn open(&self, path: &Path) -> Option<io::Result<OwnedFd>> {
        let (ExpectedMount::Mounted { file, .. } | ExpectedMount::Directory(file)) =
            *self.places.get(path)?
        else {
            return None;
        };
        let opened = open(path);
        Some(opened.and_then(|opened| match number(&opened)? {
            found if found == file => Ok(opened),
            _ => Err(io::ErrorKind::NotFound.into()),
        }))
    }

    /// Each as bytes.
    pub(crate) fn encode(&self) -> impl Iterator<Item = Vec<u8>> {
        let line =
            |words: &str, path: &Path| [words.as_bytes(), path.as_os_str().as_bytes()].concat();
        self.places.iter().map(move |(path, meant)| {
            let words = match meant {
                ExpectedMount::Mounted { file: (disk, number), is_read_only: false } => {
                    format!("free {disk} {number} ")
                }
                ExpectedMount::Mounted { file: (disk, number), is_read_only: true } => {
                    format!("fixed {disk} {number} ")
                }
                ExpectedMount::Memory => "memory 0 0 ".to_owned(),
                ExpectedMount::Directory((disk, number)) => format!("directory {disk} {number} "),
            };
            line(&words, path)
        })
    }

    /// Adds one that was made bytes; none where they are not.
    pub(crate) fn decode(&mut self, bytes: &[u8]) -> Option<()> {
        let mut words = bytes.splitn(4, |&byte| byte == b' ');
        let kind = words.next()?;
        let mut number = || std::str::from_utf8(words.next()?).ok()?.parse().ok();
        let file = (number()?, number()?);
        let path = PathBuf::from(OsStr::from_bytes(words.next()?));
        let meant = match kind {
            b"free" => ExpectedMount::Mounted { file, is_read_only: false },
            b"fixed" => ExpectedMount::Mounted { file, is_read_only: true },
            b"memory" => ExpectedMount::Memory,
            b"directory" => ExpectedMount::Directory(file),
            _ => return None,
        };
        self.places.insert(path, meant);
        Some(())
    }

    /// Returns an error if something else lies at one of the paths.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.places.iter().find(|(path, it)| !sees(path, **it).unwrap_or(false)) {
            Some((path, _)) => {
                Err(format!("finds something else than was meant at {}", path.display()))
            }
            None => Ok(()),
        }
    }
}

/// The number of what lies at a path. Follows no symlink.
pub(crate) fn look(path: &Path) -> io::Result<Number> {
    number(open(path)?)
}

fn sees(path: &Path, meant: ExpectedMount) -> io::Result<bool> {
    let opened = open(path)?;
    let found = number(&opened)?;
    Ok(match meant {
        ExpectedMount::Mounted { file, is_read_only } => {
            let is_fixed =
                || fstatvfs(&opened).map(|it| it.f_flag.contains(StatVfsMountFlags::RDONLY));
            found == file && is_top(&opened)? && (!is_read_only || is_fixed()?)
        }
        ExpectedMount::Memory => {
            let parent = pinned_path::directory(path.parent().unwrap_or(path))?;
            number(parent)?.0 != found.0 && is_top(&opened)?
        }
        ExpectedMount::Directory(file) => found == file,
    })
}

fn open(path: &Path) -> io::Result<OwnedFd> {
    let name = path.file_name().map_or(OsStr::new("."), |name| name);
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let parent = pinned_path::directory(path.parent().unwrap_or(path))?;
    Ok(openat(parent, name, flags, Mode::empty())?)
}

fn number(opened: impl AsFd) -> io::Result<Number> {
    let found = fstat(opened)?;
    Ok((found.st_dev, found.st_ino))
}

/// Returns true if it is the root of a mount, as far as the kernel tells.
fn is_top(opened: impl AsFd) -> io::Result<bool> {
    match statx(opened, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS) {
        Ok(found) => {
            let (told, known) = (found.stx_attributes, found.stx_attributes_mask);
            let top = StatxAttributes::MOUNT_ROOT;
            Ok(told.contains(top) || !known.contains(top))
        }
        Err(Errno::NOSYS) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    fn file(path: &Path) -> Number {
        let found = fs::metadata(path).unwrap();
        (found.dev(), found.ino())
    }

    #[test]
    fn covered_mounts_are_not_expected() {
        let mut expected = ExpectedMounts::default();
        let meant = ExpectedMount::Mounted { file: (1, 2), is_read_only: true };
        for path in ["/p/x/.git", "/p/x y", "/p/x", "/p/x/deep/a"] {
            expected.add(Path::new(path), meant);
        }
        let paths: Vec<&Path> = expected.places.keys().map(PathBuf::as_path).collect();
        assert_eq!(paths, ["/p/x", "/p/x/deep/a", "/p/x y"].map(Path::new));
        expected.add_directory(Path::new("/p/x")).unwrap();
        assert_eq!(expected.places[Path::new("/p/x")], meant);
    }

    #[test]
    fn expected_mounts_survive_encoding() {
        let mut expected = ExpectedMounts::default();
        expected
            .add(Path::new("/a b/ c"), ExpectedMount::Mounted { file: (1, 2), is_read_only: true });
        expected.add(Path::new("/b"), ExpectedMount::Mounted { file: (1, 2), is_read_only: false });
        expected.add(Path::new("/d"), ExpectedMount::Memory);
        expected.add(Path::new("/e"), ExpectedMount::Directory((3, 4)));
        let mut read = ExpectedMounts::default();
        for bytes in expected.encode() {
            read.decode(&bytes).unwrap();
        }
        assert_eq!(read, expected);
        assert!(read.decode(b"free 1 x /a").is_none() && read.decode(b"free 1 2").is_none());
    }

    #[test]
    fn mount_check_follows_no_symlink() {
        let base = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(base.path()).unwrap();
        fs::create_dir_all(base.join("x/deep")).unwrap();
        symlink("x", base.join("y")).unwrap();
        assert_eq!(look(&base.join("x/deep")).unwrap(), file(&base.join("x/deep")));
        assert!(look(&base.join("y/deep")).is_err());
        assert_ne!(look(&base.join("y")).unwrap(), file(&base.join("x")));
        // Nor does what was meant lie behind one that came later.
        let (meant, mut expected) = (base.join("x/deep"), ExpectedMounts::default());
        expected.add_directory(&meant).unwrap();
        assert!(expected.open(&meant).unwrap().is_ok() && expected.open(&base).is_none());
        fs::rename(&meant, base.join("moved")).unwrap();
        symlink("../moved", &meant).unwrap();
        assert!(expected.open(&meant).unwrap().is_err());
    }

    #[test]
    fn missing_or_different_mount_is_an_error() {
        let check = |path: &Path, meant| {
            let mut expected = ExpectedMounts::default();
            expected.add(path, meant);
            expected.check()
        };
        let mounted =
            |path: &Path, is_read_only| ExpectedMount::Mounted { file: file(path), is_read_only };
        let (proc, memory, base) =
            (Path::new("/proc"), Path::new("/dev/shm"), tempfile::tempdir().unwrap());
        let base = fs::canonicalize(base.path()).unwrap();
        assert_eq!(check(proc, mounted(proc, false)), Ok(()));
        assert_eq!(check(proc, ExpectedMount::Memory), Ok(()));
        assert_eq!(check(&base, ExpectedMount::Directory(file(&base))), Ok(()));
        let others = [
            (proc, mounted(&base, false)),
            // It can be written, as far as the mount says.
            (memory, mounted(memory, true)),
            (&base, mounted(&base, false)),
            (&base, ExpectedMount::Memory),
            (&base, ExpectedMount::Directory(file(proc))),
            (&base.join("absent"), ExpectedMount::Memory),
        ];
        for (path, meant) in others {
            assert!(check(path, meant).is_err(), "{path:?} {meant:?}");
        }
    }
}
