//! Advisory locks of the operating system on small files. A lock ends with its process.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

/// A lock. Dropping it releases it and removes the file.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    /// The file at the path. Its content is for other processes that want the lock.
    pub file: File,
}

impl Lock {
    /// Takes the lock at `path`; none if another process holds it.
    pub fn try_take(path: &Path) -> io::Result<Option<Self>> {
        Self::take(path, FlockOperation::NonBlockingLockExclusive)
    }

    /// Waits for the lock at `path`.
    pub fn wait(path: &Path) -> io::Result<Self> {
        loop {
            if let Some(lock) = Self::take(path, FlockOperation::LockExclusive)? {
                return Ok(lock);
            }
        }
    }

    fn take(path: &Path, operation: FlockOperation) -> io::Result<Option<Self>> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        loop {
            let file = File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?);
            match flock(&file, operation) {
                // The last holder removes the file before it lets go: the lock on a file without a
                // name is worthless.
                Ok(()) if is_still_at(&file, path)? => {
                    return Ok(Some(Self { path: path.to_owned(), file }));
                }
                Ok(()) | Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A file that stays does no harm: the lock itself ends with the descriptor.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn is_still_at(file: &File, path: &Path) -> io::Result<bool> {
    let held = rustix::fs::fstat(file)?;
    match rustix::fs::lstat(path) {
        Ok(named) => Ok((named.st_ino, named.st_dev) == (held.st_ino, held.st_dev)),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn a_held_lock_is_not_taken_and_a_stale_file_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.lock");
        let first = Lock::try_take(&path).unwrap().unwrap();
        assert!(Lock::try_take(&path).unwrap().is_none());
        drop(first);
        assert!(!path.exists());
        fs::write(&path, "left by a dead process").unwrap();
        assert!(Lock::try_take(&path).unwrap().is_some());
    }

    #[test]
    fn many_takers_never_hold_a_lock_together() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.lock");
        let (inside, taken) = (AtomicU32::new(0), AtomicU32::new(0));
        let enter = |lock: Lock| {
            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
            taken.fetch_add(1, Ordering::SeqCst);
            inside.fetch_sub(1, Ordering::SeqCst);
            drop(lock);
        };
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (path, taken, enter) = (&path, &taken, &enter);
                scope.spawn(move || {
                    while taken.load(Ordering::SeqCst) < 200 {
                        if number % 2 == 0 {
                            enter(Lock::wait(path).unwrap());
                        } else if let Some(lock) = Lock::try_take(path).unwrap() {
                            enter(lock);
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn a_lock_follows_no_symlink() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("precious");
        fs::write(&target, "precious").unwrap();
        let path = directory.path().join("a.lock");
        std::os::unix::fs::symlink(&target, &path).unwrap();
        assert!(Lock::try_take(&path).is_err());
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
    }
}
