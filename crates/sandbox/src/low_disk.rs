//! Ends a command that is about to fill the disk, or the memory by what its processes share: limits
//! bound each file and each process, not their number.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::Notice;
use crate::shared_memory::Before;

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
    /// Watches the disks of `folders`, and what the process `id` shares where there is a limit on it,
    /// and calls `kill` once when there is too little of the one or too much of the other. Needs a
    /// runtime.
    pub(crate) fn new(
        folders: &[PathBuf],
        (id, limit): (u32, Option<u64>),
        notice: Option<Notice>,
        kill: impl FnOnce() + Send + 'static,
    ) -> Option<Self> {
        let watched: Vec<(PathBuf, u64)> = folders
            .iter()
            .filter_map(|folder| Some((folder.clone(), floor(free(folder)?))))
            .collect();
        if watched.is_empty() && limit.is_none() {
            return None;
        }
        let shared = limit.zip(Before::look());
        let task = tokio::spawn(async move {
            let why = loop {
                tokio::time::sleep(INTERVAL).await;
                let is_low = |(folder, floor): &&(PathBuf, u64)| {
                    free(folder).is_some_and(|free| free < *floor)
                };
                if let Some((folder, _)) = watched.iter().find(is_low) {
                    break format!("the disk of {} is nearly full", folder.display());
                }
                if shared.is_some_and(|(limit, before)| before.is_passed(id, limit)) {
                    break "its processes share too much memory".to_owned();
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
