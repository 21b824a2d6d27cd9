//! Reads the state of a path and saves its bytes. Follows no symlink, not even on the way, and opens
//! nothing but regular files.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use files::bounded;
use files::exact_path::{ExactPath, open_directory_in};
use files::stamp::stamp;
use rustix::fs::{FileType, Stat, readlinkat};
use rustix::io::Errno;

use super::blob_store::BlobStore;
use super::git_state;
use super::state::{Hash, Name, SkipReason, State};

const PERMISSIONS: u32 = 0o7777;

/// Reads states within limits.
pub(super) struct StateReader<'a> {
    pub(super) blobs: &'a mut BlobStore,
    /// Bytes of the largest file that is saved.
    pub(super) max_file: u64,
}

/// The permission bits.
pub(super) fn mode(stat: &Stat) -> u32 {
    // Its width differs between systems.
    u32::try_from(i64::from(stat.st_mode)).unwrap_or(0) & PERMISSIONS
}

/// Returns true for a directory.
pub(super) fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

/// Returns true if an error says that nothing is at a path.
pub(super) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns true if the names in a directory can be read, or if it is gone.
fn may_list(directory: impl AsFd, name: &OsStr) -> io::Result<bool> {
    match open_directory_in(directory, name) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(false),
        Err(error) if is_limit(&error) => Err(error),
        Ok(_) | Err(_) => Ok(true),
    }
}

/// Returns true if an error is about the number of open files and not about a path.
pub(super) fn is_limit(error: &io::Error) -> bool {
    let limits = [Errno::MFILE, Errno::NFILE];
    limits.iter().any(|limit| error.raw_os_error() == Some(limit.raw_os_error()))
}

impl StateReader<'_> {
    /// The state of a name that `stat` is about.
    pub(super) fn state(
        &mut self,
        directory: impl AsFd,
        name: &OsStr,
        stat: &Stat,
    ) -> io::Result<State> {
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        let unsaved = |why| State::Unsaved { why, size, mark: stamp(stat) };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory if !may_list(&directory, name)? => Ok(unsaved(SkipReason::Closed)),
            FileType::Directory => Ok(State::Directory { mode: mode(stat) }),
            FileType::Symlink => match readlinkat(directory, name, Vec::new()) {
                Ok(target) => {
                    let target = OsString::from_vec(target.into_bytes());
                    Ok(State::Link { target: Name::of(&target) })
                }
                Err(Errno::NOENT) => Ok(State::Absent),
                Err(_) => Ok(unsaved(SkipReason::Unreadable)),
            },
            FileType::RegularFile if size > self.max_file => Ok(unsaved(SkipReason::TooLarge)),
            FileType::RegularFile => match bounded::read_in(directory, name, self.max_file) {
                Ok(None) => Ok(unsaved(SkipReason::TooLarge)),
                Ok(Some(bytes)) => {
                    let (hash, size) = (Hash::of(&bytes), bytes.len() as u64);
                    if !self.blobs.holds(hash) && !self.blobs.has_room(size) {
                        return Ok(unsaved(SkipReason::NoRoom));
                    }
                    self.blobs.put(hash, &bytes)?;
                    Ok(State::File { hash, size, mode: mode(stat) })
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(State::Absent),
                Err(_) => Ok(unsaved(SkipReason::Unreadable)),
            },
            _ => Ok(unsaved(SkipReason::Special)),
        }
    }

    /// Returns true if two versions of git's index differ at most in file times.
    pub(super) fn is_same_index(&mut self, one: &State, other: &State) -> io::Result<bool> {
        let (Some(one), Some(other)) = (one.hash(), other.hash()) else { return Ok(false) };
        let (one, other) = (self.blobs.get(one)?, self.blobs.get(other)?);
        Ok(one.zip(other).is_some_and(|(one, other)| git_state::is_same_index(&one, &other)))
    }

    /// The state of an absolute path.
    pub(super) fn look(&mut self, path: &Path) -> io::Result<State> {
        self.look_again(path, &State::Absent)
    }

    /// The state of an absolute path, in terms of the state that was recorded for it.
    pub(super) fn look_again(&mut self, path: &Path, recorded: &State) -> io::Result<State> {
        let path = match ExactPath::open(path) {
            Err(error) if is_absence(&error) => return Ok(State::Absent),
            path => path?,
        };
        match path.stat()? {
            // A directory that was looked into before it was closed is known by its permissions.
            Some(stat) if is_directory(&stat) && recorded.is_directory() => {
                Ok(State::Directory { mode: mode(&stat) })
            }
            Some(stat) => self.state(&path.directory, &path.name, &stat),
            None => Ok(State::Absent),
        }
    }
}
