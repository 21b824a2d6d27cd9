//! Ends a command that is about to fill the disk: limits bound each file, not their number.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::Notice;

/// What stays free, where there was as much.
const KEPT: u64 = 1 << 30;
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
    /// Watches the disks of `folders` and calls `kill` once when one of them is nearly full. Needs
    /// a runtime.
    pub(crate) fn new(
        folders: &[PathBuf],
        notice: Option<Notice>,
        kill: impl FnOnce() + Send + 'static,
    ) -> Option<Self> {
        let watched: Vec<(PathBuf, u64)> = folders
            .iter()
            .filter_map(|folder| Some((folder.clone(), floor(free(folder)?))))
            .collect();
        if watched.is_empty() {
            return None;
        }
        let task = tokio::spawn(async move {
            let full = loop {
                tokio::time::sleep(INTERVAL).await;
                let is_low = |(folder, floor): &&(PathBuf, u64)| {
                    free(folder).is_some_and(|free| free < *floor)
                };
                if let Some((folder, _)) = watched.iter().find(is_low) {
                    break folder.clone();
                }
            };
            kill();
            if let Some(notice) = notice {
                let folder = full.display();
                notice(format!("the command was killed: the disk of {folder} is nearly full"));
            }
        });
        Some(Self { task })
    }
}

/// How little may be left of `free` bytes: a disk that is nearly full already is still of use.
fn floor(free: u64) -> u64 {
    if free > KEPT { KEPT } else { free / 2 }
}

fn free(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gigabyte_is_kept_or_half_of_what_is_left() {
        assert_eq!(floor(5 << 30), 1 << 30);
        assert_eq!(floor(1 << 30), 1 << 29);
        assert_eq!(floor(0), 0);
        assert!(free(Path::new("/")).is_some());
        assert!(free(Path::new("/no/such/place")).is_none());
    }
}
