//! What counts in the folders of a workspace. There may be very many, and most stay as they are from one
//! command to the next, so a folder is listed again only where its time says that something may have
//! come or gone. Only looks.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{DirEntryExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::closed;
use crate::guard::Birth;
use crate::nested::{BARE, SKIPPED, is_protected};
use crate::version_files;

/// So many folders are remembered.
const FOLDERS: usize = 100_000;

/// A folder, as it was before it was listed. No process can set this time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    birth: Birth,
    changed: (i64, i64),
}

impl Seen {
    pub(crate) fn of(found: &Metadata) -> Self {
        Self { birth: Birth::seen(found), changed: (found.ctime(), found.ctime_nsec()) }
    }
}

/// What is in a folder. Nothing here depends on what is in its files, where its links lead, or how many
/// names something has.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    seen: Option<Seen>,
    /// Whether the folder was taken for the top of a workspace.
    is_top: bool,
    /// What has a protected name, or may be protected for what it holds.
    pub(crate) names: Vec<PathBuf>,
    /// Folders, with their numbers; also what may be one.
    pub(crate) folders: Vec<(PathBuf, u64)>,
    /// Folders that hold what tools have fetched or made.
    pub(crate) skipped: Vec<PathBuf>,
    pub(crate) links: Vec<PathBuf>,
    pub(crate) sockets: Vec<PathBuf>,
    /// How many of the parts of a repository are there.
    pub(crate) bare_parts: usize,
    /// How many entries there are.
    pub(crate) count: usize,
    /// Whether there are more.
    pub(crate) is_cut: bool,
    /// Whether the kind of something could not be told.
    pub(crate) is_unclear: bool,
}

impl Listing {
    fn add(&mut self, folder: &Path, entry: &fs::DirEntry) {
        let (name, path) = (entry.file_name(), entry.path());
        self.count += 1;
        self.bare_parts += usize::from(BARE.iter().any(|part| name == *part));
        if is_protected(folder, &name, usize::from(!self.is_top)) || version_files::is_name(&name) {
            self.names.push(path);
            return;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_symlink() => self.links.push(path),
            Ok(kind) if kind.is_socket() => self.sockets.push(path),
            Ok(kind) if !kind.is_dir() => {}
            kind => {
                self.is_unclear |= kind.is_err();
                if SKIPPED.iter().any(|skip| name == *skip) {
                    self.skipped.push(path);
                } else {
                    self.folders.push((path, entry.ino()));
                }
            }
        }
    }
}

/// The time that a file system has set last on a folder. Whatever changes in it afterwards gets this time
/// or a later one, so that a folder with an earlier one shows every change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    device: u64,
    time: (i64, i64),
}

impl Clock {
    /// That of the file system in which a folder lies.
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        let found = fs::metadata(folder).ok()?;
        Some(Self { device: found.dev(), time: (found.ctime(), found.ctime_nsec()) })
    }

    /// Whether every change of a folder since then would show.
    pub(crate) fn tells(self, seen: &Seen) -> bool {
        seen.birth.device() == self.device && seen.changed < self.time
    }
}

static KNOWN: Mutex<Option<HashMap<PathBuf, Arc<Listing>>>> = Mutex::new(None);

/// What is in a folder, of which at most so many entries are read. The clock was looked at before.
pub(crate) fn list(
    folder: &Path,
    is_top: bool,
    most: usize,
    clock: Option<Clock>,
) -> io::Result<Arc<Listing>> {
    let seen = Seen::of(&fs::metadata(folder)?);
    let is_same = |it: &Arc<Listing>| it.seen.as_ref() == Some(&seen) && it.is_top == is_top;
    if let Some(listing) = known(folder).filter(is_same) {
        return Ok(listing);
    }
    let is_lasting = clock.is_some_and(|clock| clock.tells(&seen));
    if !closed::can_enter(folder) {
        // Its names alone say nothing of what lies there.
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mut listing = Listing { is_top, ..Listing::default() };
    let mut entries = fs::read_dir(folder)?;
    for entry in entries.by_ref().take(most) {
        listing.add(folder, &entry?);
    }
    listing.is_cut = entries.next().is_some();
    if is_lasting && !listing.is_cut && !listing.is_unclear {
        listing.seen = Some(seen);
    }
    let listing = Arc::new(listing);
    remember(folder, &listing);
    Ok(listing)
}

fn known(folder: &Path) -> Option<Arc<Listing>> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.as_ref().and_then(|known| known.get(folder)).map(Arc::clone)
}

fn remember(folder: &Path, listing: &Arc<Listing>) {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if listing.seen.is_none() {
        known.remove(folder);
    } else if known.len() < FOLDERS || known.contains_key(folder) {
        known.insert(folder.to_owned(), Arc::clone(listing));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nested::tests::pass_time;

    fn names(paths: &[PathBuf]) -> Vec<String> {
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        let mut names: Vec<String> = paths.iter().map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_is_listed_again_when_something_may_have_come_or_gone() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("w");
        let list = || list(&folder, false, 100, Clock::of(base.path())).unwrap();
        fs::create_dir_all(folder.join("src")).unwrap();
        fs::create_dir(folder.join("node_modules")).unwrap();
        fs::write(folder.join(".mcp.json"), "").unwrap();
        fs::write(folder.join("main.rs"), "").unwrap();
        // The next change may get the time that it has already.
        let first = list();
        assert!(!Arc::ptr_eq(&first, &list()));
        assert_eq!((names(&first.names), first.count), (vec![".mcp.json".to_owned()], 4));
        assert_eq!(names(&first.skipped), ["node_modules"]);
        assert_eq!(first.folders[0].0, folder.join("src"));
        pass_time();
        fs::write(base.path().join("later"), "").unwrap();
        let known = list();
        assert!(Arc::ptr_eq(&known, &list()));
        fs::rename(folder.join("main.rs"), folder.join(".envrc")).unwrap();
        assert_eq!(names(&list().names), [".envrc", ".mcp.json"]);
        // What takes its place is another folder.
        fs::rename(&folder, base.path().join("old")).unwrap();
        fs::create_dir(&folder).unwrap();
        assert_eq!(list().count, 0);
    }

    #[test]
    fn neither_a_part_of_a_folder_nor_another_look_at_it_is_taken_for_it() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("w");
        fs::create_dir_all(folder.join(".claude/b")).unwrap();
        fs::create_dir(folder.join("c")).unwrap();
        pass_time();
        fs::write(base.path().join("later"), "").unwrap();
        let list = |is_top, most| list(&folder, is_top, most, Clock::of(base.path())).unwrap();
        let (cut, whole) = (list(false, 1), list(false, 2));
        assert_eq!((cut.count, cut.is_cut, whole.count, whole.is_cut), (1, true, 2, false));
        assert_eq!([true, false].map(|is_top| list(is_top, 2).names.len()), [0, 1]);
    }
}
