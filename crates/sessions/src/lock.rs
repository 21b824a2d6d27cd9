//! The lock of a session: an advisory lock of the operating system on a small file beside the log,
//! which also says who holds it. It ends with the process, however that ends.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use contract::id::Timestamp;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::error::{FileError, cannot};

/// Who holds a lock, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The process.
    pub pid: Option<u32>,
    /// Since when.
    pub since: Option<Timestamp>,
    /// The run of the machine that the process belongs to.
    pub boot_id: Option<String>,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, self.since) {
            (Some(pid), Some(since)) => write!(f, "process {pid} since {since}"),
            (Some(pid), None) => write!(f, "process {pid}"),
            (None, _) => f.write_str("another process"),
        }
    }
}

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    _file: File,
}

/// Why a lock was not taken.
#[derive(Debug)]
pub(crate) enum NotLocked {
    /// Somebody holds it.
    Held(Holder),
    /// The system refused.
    File(FileError),
}

impl Lock {
    /// Takes the lock at `path`, at once or not at all.
    pub(crate) fn take(path: &Path) -> Result<Self, NotLocked> {
        let fail = |source: io::Error| NotLocked::File(cannot("lock", path)(source));
        loop {
            let mut file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
                .open(path)
                .map_err(fail)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Err(NotLocked::Held(read_holder(&mut file))),
                Err(error) => return Err(fail(error.into())),
            }
            // The last holder removes the file before it lets go: this may be a file without a
            // name, whose lock keeps nobody out.
            if is_still_at(&file, path).map_err(fail)? {
                write_holder(&mut file).map_err(fail)?;
                let path = path.to_owned();
                return Ok(Self { path, _file: file });
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // What remains is an empty promise at worst: the lock itself ends with the file.
        let _ = fs::remove_file(&self.path);
    }
}

fn is_still_at(file: &File, path: &Path) -> io::Result<bool> {
    let held = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(named) => Ok(named.ino() == held.ino() && named.dev() == held.dev()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn read_holder(file: &mut File) -> Holder {
    let mut text = Vec::new();
    let read = file.take(4096).read_to_end(&mut text);
    read.ok().and_then(|_| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

fn write_holder(file: &mut File) -> io::Result<()> {
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    let holder = Holder {
        pid: Some(std::process::id()),
        since: Some(Timestamp::now()),
        boot_id: boot_id.map(|id| id.trim().to_owned()),
    };
    file.set_len(0)?;
    file.write_all(&serde_json::to_vec(&holder)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_learns_who_was_first() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.lock");
        let first = Lock::take(&path).unwrap();
        let Err(NotLocked::Held(holder)) = Lock::take(&path) else {
            panic!("two holders");
        };
        assert_eq!(holder.pid, Some(std::process::id()));
        assert!(holder.since.is_some());
        assert!(holder.to_string().contains(" since "));
        drop(first);
        assert!(!path.exists());
        Lock::take(&path).unwrap();
    }

    #[test]
    fn a_lock_left_by_a_dead_process_is_taken_over() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.lock");
        for left in ["{\"pid\":1,\"since\":\"2020-01-01T00:00:00Z\"}", "", "\0garbage"] {
            fs::write(&path, left).unwrap();
            Lock::take(&path).unwrap();
        }
    }

    #[test]
    fn many_takers_never_hold_it_together() {
        use std::sync::atomic::{AtomicU32, Ordering};
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.lock");
        let (inside, taken) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    while taken.load(Ordering::SeqCst) < 200 {
                        if let Ok(lock) = Lock::take(&path) {
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                            taken.fetch_add(1, Ordering::SeqCst);
                            inside.fetch_sub(1, Ordering::SeqCst);
                            drop(lock);
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn a_link_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("precious");
        fs::write(&target, "precious").unwrap();
        let path = directory.path().join("a.lock");
        std::os::unix::fs::symlink(&target, &path).unwrap();
        assert!(matches!(Lock::take(&path), Err(NotLocked::File(_))));
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
    }
}
