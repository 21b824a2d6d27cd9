//! Bounded reading of regular files. Waits for no pipe and opens no device.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags};

use crate::exact_path;

const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Opens a regular file. Follows symlinks.
pub fn open(path: &Path) -> io::Result<File> {
    checked(File::from(rustix::fs::openat(CWD, path, READ, Mode::empty())?))
}

/// Opens a regular file by its absolute path, of which no part may be a symlink.
pub fn open_exactly(path: &Path) -> io::Result<File> {
    checked(File::from(exact_path::open(path, READ)?))
}

/// Reads a regular file; none if it is longer than `max` bytes. Follows symlinks.
pub fn read(path: &Path, max: u64) -> io::Result<Option<Vec<u8>>> {
    up_to(open(path)?, max)
}

/// Reads a regular file by its name in a directory; none if it is longer than `max` bytes. Follows
/// no symlink.
pub fn read_in(directory: impl AsFd, name: &OsStr, max: u64) -> io::Result<Option<Vec<u8>>> {
    let file = rustix::fs::openat(directory, name, READ | OFlags::NOFOLLOW, Mode::empty())?;
    up_to(checked(File::from(file))?, max)
}

fn checked(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// Reads an open file; none if it is longer than `max` bytes.
pub fn up_to(file: File, max: u64) -> io::Result<Option<Vec<u8>>> {
    let limit = usize::try_from(max).unwrap_or(usize::MAX);
    let bytes = head_of(file, limit.saturating_add(1))?;
    Ok((bytes.len() <= limit).then_some(bytes))
}

/// Reads at most `limit` bytes of an open file.
pub fn head_of(file: File, limit: usize) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len().min(limit as u64);
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0) + 1);
    // It may grow while it is read.
    file.take(limit as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads at most `limit` bytes of a regular file; none if that is not possible.
pub fn head(path: &Path, limit: usize) -> Option<Vec<u8>> {
    head_of(open(path).ok()?, limit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_within_the_limit_are_read() {
        let base = tempfile::tempdir().unwrap();
        let path = |name: &str| base.path().join(name);
        std::fs::write(path("file"), "four").unwrap();
        std::os::unix::fs::symlink("file", path("symlink")).unwrap();
        rustix::fs::mkfifoat(CWD, path("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        assert_eq!(read(&path("file"), 4).unwrap().unwrap(), b"four");
        assert_eq!(read(&path("symlink"), 4).unwrap().unwrap(), b"four");
        assert!(read(&path("file"), 3).unwrap().is_none());
        assert!(read(&path("pipe"), 4).is_err());
        assert!(read(base.path(), 4).is_err());
        let exactly = |name: &str| open_exactly(&base.path().canonicalize().unwrap().join(name));
        assert!(exactly("file").is_ok());
        assert!(exactly("symlink").is_err() && exactly("pipe").is_err());
        let directory = File::open(base.path()).unwrap();
        assert!(read_in(&directory, "file".as_ref(), 4).is_ok());
        assert!(read_in(&directory, "symlink".as_ref(), 4).is_err());
    }
}
