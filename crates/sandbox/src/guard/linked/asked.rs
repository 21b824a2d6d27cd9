//! Which files of large protected folders have further names, as it was found a moment ago. To ask each
//! file takes longer than most commands run, and who can write to none of these names needs no watching.
//!
//! What can change unseen: a folder's time shows every file that comes or goes, but not a further name for
//! one that stays. No confined process can give it one, since a mount is another disk to the kernel; the
//! host can. So what is known here lasts for a while only.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Within;
use crate::listings::{Clock, Seen};

/// So many files of each protected name are asked before every command, the nearest first.
pub(super) const NEAR: usize = 2_000;
/// The others are asked again after this time.
pub(super) const WHILE: Duration = Duration::from_mins(1);
/// So many folders are remembered.
const FOLDERS: usize = 100_000;

/// A folder whose files were asked.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) seen: Seen,
    pub(super) when: Instant,
    /// Whether it was taken for one that is obeyed even as a repository of its own.
    pub(super) is_obeyed: bool,
    /// How many entries there are.
    pub(super) count: usize,
    /// The files that have further names. These are asked each time.
    pub(super) linked: Vec<PathBuf>,
    pub(super) below: Vec<(PathBuf, Within)>,
}

/// The moment of a look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) clock: Option<Clock>,
    pub(super) now: Instant,
}

static KNOWN: Mutex<Option<HashMap<PathBuf, Arc<Asked>>>> = Mutex::new(None);

/// What is known of a folder, where it has not changed since.
pub(super) fn known(folder: &Path, is_obeyed: bool, moment: Moment) -> Option<Arc<Asked>> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let asked = known.as_ref()?.get(folder).map(Arc::clone)?;
    drop(known);
    let is_new = moment.now.saturating_duration_since(asked.when) < WHILE;
    let is_same = || fs::metadata(folder).is_ok_and(|found| Seen::of(&found) == asked.seen);
    (is_new && asked.is_obeyed == is_obeyed && is_same()).then_some(asked)
}

/// Remembers a folder, where its time will show what changes. Without mounts a command could give a further
/// name to a file in it.
pub(super) fn remember(folder: &Path, asked: Asked, moment: Moment) {
    let is_lasting = moment.clock.is_some_and(|clock| clock.tells(&asked.seen));
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if !is_lasting || !cfg!(target_os = "linux") {
        known.remove(folder);
    } else if known.len() < FOLDERS || known.contains_key(folder) {
        known.insert(folder.to_owned(), Arc::new(asked));
    }
}
