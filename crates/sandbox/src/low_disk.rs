//! Ends a command that is about to fill the disk: limits bound each file, not their number.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::Notice;

/// Bytes of disk that stay free, if that many were free at the start.
const RESERVED_BYTES: u64 = 1 << 30;
const INTERVAL: Duration = Duration::from_millis(250);

/// A watch over the disks that a command can write to, while this lives.
#[derive(Debug)]
pub(crate) struct Watch {
    task: JoinHandle<()>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Watch {
    /// Watches the disks that a process can write to, and calls `kill` once when one is nearly full.
    /// Needs a runtime.
    pub(crate) fn new(
        disks: &[PathBuf],
        notice: Option<Notice>,
        kill: impl FnOnce() + Send + 'static,
    ) -> Option<Self> {
        let watch = |path: &PathBuf| Some((path.clone(), floor(free(path)?)));
        let watched: Vec<(PathBuf, u64)> = disks.iter().filter_map(watch).collect();
        if watched.is_empty() {
            return None;
        }
        let task = tokio::spawn(async move {
            let why = loop {
                tokio::time::sleep(INTERVAL).await;
                let is_low = |it: &&(PathBuf, u64)| free(&it.0).is_some_and(|free| free < it.1);
                if let Some((directory, _)) = watched.iter().find(is_low) {
                    break format!("the disk of {} is nearly full", directory.display());
                }
            };
            kill();
            if let Some(notice) = notice {
                notice(format!("the command was killed: {why}"));
            }
        });
        Some(Self { task })
    }
}

/// How little may be left of `free` bytes: a disk that is nearly full already is still of use.
fn floor(free: u64) -> u64 {
    if free > RESERVED_BYTES { RESERVED_BYTES } else { free / 2 }
}

fn free(directory: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(directory).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserve_is_a_gigabyte_or_half_of_the_free_space() {
        assert_eq!(floor(5 << 30), 1 << 30);
        assert_eq!(floor(1 << 30), 1 << 29);
        assert_eq!(floor(0), 0);
        assert!(free(Path::new("/")).is_some());
        assert!(free(Path::new("/no/such/place")).is_none());
    }
}
