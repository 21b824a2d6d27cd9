//! Git's way to change a file: `NAME.lock` is created where there is none, filled, and renamed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use contract::broker::BrokerError;

use crate::guard::Birth;

/// A file that nobody else who keeps to the protocol changes. Dropping it leaves the file as it was.
#[derive(Debug)]
pub(crate) struct Lock {
    target: PathBuf,
    path: PathBuf,
    file: File,
}

impl Lock {
    /// Locks `target`, which need not exist.
    pub(crate) fn take(target: &Path) -> Result<Self, BrokerError> {
        let mut name = target.as_os_str().to_owned();
        name.push(".lock");
        let path = PathBuf::from(name);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => Ok(Self { target: target.to_owned(), path, file }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(BrokerError::Locked(path))
            }
            Err(error) => {
                Err(BrokerError::Failed(format!("cannot create {}: {error}", path.display())))
            }
        }
    }

    /// Where the lock itself lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What tells its file from any other; none where that is its number alone, which another may get.
    pub(crate) fn birth(&self) -> Option<Birth> {
        let found = self.file.metadata().ok()?;
        found.created().ok().map(|_| Birth::seen(&found))
    }

    /// Gives the file that will take the place of the locked one a time of change.
    pub(crate) fn date(&self, time: SystemTime) -> Result<(), BrokerError> {
        self.file.set_modified(time).map_err(|error| self.fault(&error))
    }

    /// Fills the file that will take the place of the locked one, and keeps that one's mode.
    pub(crate) fn fill(&mut self, bytes: &[u8]) -> Result<(), BrokerError> {
        let mode = fs::symlink_metadata(&self.target).ok().filter(fs::Metadata::is_file);
        let written = match mode {
            Some(found) => {
                let mode = found.permissions().mode() & 0o666;
                self.file.set_permissions(fs::Permissions::from_mode(mode))
            }
            None => Ok(()),
        };
        written
            .and_then(|()| self.file.write_all(bytes))
            .and_then(|()| self.file.sync_all())
            .map_err(|error| self.fault(&error))
    }

    /// Puts the file in its place.
    pub(crate) fn put(self) -> Result<(), BrokerError> {
        fs::rename(&self.path, &self.target).map_err(|error| self.fault(&error))
        // Dropping it removes nothing: the name is gone.
    }

    fn fault(&self, error: &io::Error) -> BrokerError {
        BrokerError::Failed(format!("cannot write {}: {error}", self.target.display()))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Where it was put in its place, another process may hold a lock of this name.
        let is_ours = match (self.file.metadata(), fs::symlink_metadata(&self.path)) {
            (Ok(ours), Ok(there)) => {
                use std::os::unix::fs::MetadataExt;
                ours.ino() == there.ino() && ours.dev() == there.dev()
            }
            _ => false,
        };
        if is_ours {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_keeps_others_out_until_it_is_put_or_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("index");
        let mut lock = Lock::take(&target).unwrap();
        assert!(matches!(Lock::take(&target), Err(BrokerError::Locked(_))));
        lock.fill(b"one").unwrap();
        lock.put().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"one");
        drop(Lock::take(&target).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(fs::read(&target).unwrap(), b"one");
    }
}
