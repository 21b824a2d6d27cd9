//! Finds the folders in which something is different from what is known, by the times of all files:
//! on several threads, because it happens before and after every command. Reads no bytes.

use std::collections::HashSet;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use super::place;
use super::stock::Folder;

/// Threads that look, at most.
const THREADS: usize = 8;
/// Folders that a thread takes at once.
const BATCH: usize = 32;

/// The folders that have to be looked at closely, with all folders above them.
pub(super) fn dirty(root: &Path, known: &Folder, now: SystemTime) -> HashSet<PathBuf> {
    let mut folders = Vec::new();
    flatten(root.to_owned(), known, &mut folders);
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(THREADS);
    let threads = threads.min(folders.len().div_ceil(BATCH));
    let next = AtomicUsize::new(0);
    let look = || {
        let mut found = Vec::new();
        loop {
            let from = next.fetch_add(BATCH, Ordering::Relaxed);
            let Some(batch) = folders.get(from..) else { return found };
            let batch = &batch[..batch.len().min(BATCH)];
            let differing = batch.iter().filter(|(path, folder)| !is_same(path, folder, now));
            found.extend(differing.map(|(path, _)| path.as_path()));
        }
    };
    let found: Vec<&Path> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(look)).collect();
        let mut found = look();
        for other in others {
            match other.join() {
                Ok(more) => found.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        found
    });
    let mut dirty = HashSet::new();
    for path in found {
        for above in path.ancestors().take_while(|above| above.starts_with(root)) {
            if !dirty.insert(above.to_owned()) {
                break;
            }
        }
    }
    dirty
}

fn flatten<'a>(path: PathBuf, folder: &'a Folder, found: &mut Vec<(PathBuf, &'a Folder)>) {
    for (name, inner) in &folder.folders {
        flatten(path.join(name), inner, found);
    }
    found.push((path, folder));
}

/// Whether a folder and the files in it are as they were known.
fn is_same(path: &Path, folder: &Folder, now: SystemTime) -> bool {
    // Rules that are not themselves looked at could change unseen.
    let is_known = |name: &std::ffi::OsString| folder.files.iter().any(|known| known.name == *name);
    if folder.is_recent || !folder.rule_files.iter().all(is_known) {
        return false;
    }
    let Ok(descriptor) = place::open_to_look(path) else { return false };
    let Ok(stat) = rustix::fs::fstat(&descriptor) else { return false };
    place::mark(&stat, now).0 == folder.mark
        && folder.files.iter().all(|known| {
            let stat = place::stat(&descriptor, &known.name).ok().flatten();
            !known.is_recent && stat.is_some_and(|stat| place::mark(&stat, now).0 == known.mark)
        })
}
