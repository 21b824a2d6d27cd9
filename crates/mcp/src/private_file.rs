//! The private files of this crate: the user's list of servers, and what is known of servers.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use files::lock::Lock;
use files::private::{self, Durability};

/// The largest file that is read, in bytes.
const MAX_SIZE: u64 = 16 << 20;

/// Reads a file. None if it does not exist; a symlink without a target is an error.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match files::bounded::read(path, MAX_SIZE) {
        Ok(None) => Err(io::Error::other("it is larger than 16 MiB")),
        Ok(bytes) => Ok(bytes),
        Err(error) => match error.kind() {
            ErrorKind::InvalidInput => Err(io::Error::other("it is not a regular file")),
            ErrorKind::NotFound | ErrorKind::NotADirectory => {
                dangling_symlink(path).map_or(Ok(None), |text| Err(io::Error::other(text)))
            }
            _ => Err(error),
        },
    }
}

/// The symlink on a path that has no target: the user meant a file to be there.
fn dangling_symlink(path: &Path) -> Option<String> {
    let link = path.ancestors().find(|it| it.is_symlink() && !it.exists())?;
    let target = std::fs::read_link(link).ok()?;
    Some(format!(
        "{} is a symlink to {}, which does not exist; create it, or remove the symlink",
        link.display(),
        target.display()
    ))
}

/// Locks a file against other processes that lock it, until the result is dropped.
pub(crate) fn lock(path: &Path) -> io::Result<Lock> {
    path.parent().map_or(Ok(()), private::make_directory)?;
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    Lock::wait(&PathBuf::from(name))
}

/// Replaces the content of a locked file: a reader sees all of the old or all of the new.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    private::replace(path, bytes, Durability::Synced)
}
