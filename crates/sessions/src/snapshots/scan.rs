//! Goes through a workspace and brings what is known of it up to date. Names are read again only
//! where a folder has changed, bytes only where a file has.

use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{Dir, Stat};
use tokio_util::sync::CancellationToken;

use super::place::{self, Keep};
use super::rules::{self, Rules, Verdict};
use super::state::{Change, State, Why};
use super::stock::{Folder, Known, Stock};
use super::survey;
use super::tracked::Indexes;

/// Files and folders that are looked at, at most.
const MOST_ENTRIES: usize = 200_000;
/// Folders within folders.
const DEEPEST: usize = 128;

/// One look at a workspace.
pub(super) struct Scan<'a> {
    keep: Keep<'a>,
    cancel: &'a CancellationToken,
    now: SystemTime,
    device: u64,
    entries: usize,
    known: Already,
    /// The folders in which something is different, with those above; none where nobody looked.
    dirty: Option<HashSet<PathBuf>>,
    /// What has changed since the last look.
    pub(super) changes: Vec<Change>,
    /// Whether anything that is known is different from before, told or not.
    pub(super) is_changed: bool,
    /// Whether something was left out for want of room.
    pub(super) is_partial: bool,
}

/// What ignore files say of names that were looked at before they said so.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Already {
    /// They are ignored like all others.
    #[default]
    Ignored,
    /// They are looked at all the same: whoever writes the rules may want something overlooked.
    Watched,
}

/// What to make of names that were never seen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unseen {
    /// They may have been there all the time.
    Silent,
    /// They were made since the last look.
    Created,
}

/// A folder on the way.
struct Here<'a> {
    descriptor: &'a OwnedFd,
    rules: Rules,
    depth: usize,
}

impl<'a> Scan<'a> {
    /// Begins to look.
    pub(super) fn new(keep: Keep<'a>, known: Already, cancel: &'a CancellationToken) -> Self {
        Self {
            keep,
            cancel,
            known,
            now: SystemTime::now(),
            device: 0,
            entries: 0,
            dirty: None,
            changes: Vec::new(),
            is_changed: false,
            is_partial: false,
        }
    }

    /// Looks at all of `roots`. What is not known yet is taken in silently.
    pub(super) fn run(
        &mut self,
        (roots, indexes): (&[PathBuf], &mut Indexes),
        mut known: Stock,
    ) -> io::Result<Stock> {
        let mut stock = Stock::default();
        for root in roots {
            let old = known.take(root);
            let descriptor = match place::open(root) {
                Ok(descriptor) => descriptor,
                Err(error) if place::is_absence(&error) => continue,
                Err(error) => return Err(error),
            };
            let stat = rustix::fs::fstat(&descriptor)?;
            self.device = stat.st_dev;
            let rules = Rules::above(root, indexes);
            self.dirty = old.as_ref().and_then(|old| {
                // Rules from above the workspace reach every folder in it.
                let is_same = rules.within(root, &old.rule_files).id == old.rules;
                is_same.then(|| survey::dirty(root, old, self.now))
            });
            let old = match (&self.dirty, old) {
                (Some(dirty), Some(old)) if dirty.is_empty() => {
                    stock.roots.push((root.clone(), old));
                    continue;
                }
                (_, old) => old,
            };
            let here = Here { descriptor: &descriptor, rules, depth: 0 };
            let folder = self.folder(&here, &mut root.clone(), (&stat, old, Unseen::Silent))?;
            stock.roots.extend(folder.map(|folder| (root.clone(), folder)));
        }
        self.is_changed |= !known.roots.is_empty();
        Ok(stock)
    }

    /// Looks at a folder; none where nothing in it is to be looked at.
    fn folder(
        &mut self,
        here: &Here<'_>,
        path: &mut PathBuf,
        (stat, old, unseen): (&Stat, Option<Folder>, Unseen),
    ) -> io::Result<Option<Folder>> {
        if self.cancel.is_cancelled() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let (mark, is_recent) = place::mark(stat, self.now);
        if let Some(mut old) = old {
            if old.mark == mark && !old.is_recent && !is_reopened(here, &old)? {
                let rules = here.rules.within(path, &old.rule_files);
                if rules.id == old.rules {
                    old.mode = place::mode(stat);
                    let here = Here { descriptor: here.descriptor, rules, depth: here.depth };
                    self.known(&here, path, &mut old)?;
                    return Ok(Some(old));
                }
            }
            self.is_changed = true;
            return self.listed(here, path, ((mark, is_recent), stat), (old, None));
        }
        self.is_changed = true;
        let at = ((mark, is_recent), stat);
        self.listed(here, path, at, (Folder::default(), Some(unseen)))
    }

    /// Looks at what is known of a folder that has the same names as before.
    fn known(&mut self, here: &Here<'_>, path: &mut PathBuf, old: &mut Folder) -> io::Result<()> {
        self.entries += old.files.len();
        for known in &mut old.files {
            let Some(stat) = place::stat(here.descriptor, &known.name)? else {
                // It has gone since the folder was looked at.
                old.is_recent = true;
                continue;
            };
            let (mark, is_recent) = place::mark(&stat, self.now);
            if mark == known.mark && !known.is_recent {
                continue;
            }
            let state = self.keep.state(here.descriptor, &known.name, &stat)?;
            self.differs(path, known, state);
            self.is_changed = true;
            (known.mark, known.is_recent) = (mark, is_recent);
        }
        let mut folders = Vec::with_capacity(old.folders.len());
        for (name, folder) in old.folders.drain(..) {
            let before = folder.mode;
            path.push(&name);
            if self.dirty.as_ref().is_some_and(|dirty| !dirty.contains(path)) {
                path.pop();
                folders.push((name, folder));
                continue;
            }
            if !place::may_open(here.descriptor, &name)? {
                let mut folder = folder;
                if let Some(stat) = place::stat(here.descriptor, &name)? {
                    self.closed(path, &mut folder, &stat);
                }
                path.pop();
                folders.push((name, folder));
                continue;
            }
            let rules = if folder.is_narrow { here.rules.narrow() } else { here.rules.clone() };
            let looked = self.below(here, path, (&name, rules), (Some(folder), Unseen::Created))?;
            if let Some(folder) = &looked
                && folder.mode != before
            {
                let (before, after) =
                    (State::Folder { mode: before }, State::Folder { mode: folder.mode });
                self.changes.push(Change::new(path, before, after));
            }
            path.pop();
            match looked {
                Some(folder) => folders.push((name, folder)),
                None => old.is_recent = true,
            }
        }
        old.folders = folders;
        Ok(())
    }

    /// Takes in that a folder cannot be read any more. What is in it is as it was, for all anybody
    /// knows.
    fn closed(&mut self, path: &Path, folder: &mut Folder, stat: &Stat) {
        let before = State::Folder { mode: folder.mode };
        self.is_changed |= folder.mode != place::mode(stat) || !folder.is_recent;
        folder.mode = place::mode(stat);
        folder.is_recent = true;
        self.tell(path, Some(before), State::Folder { mode: folder.mode }, Unseen::Silent);
    }

    fn differs(&mut self, path: &Path, known: &mut Known, state: State) {
        self.is_partial |= state.unkept() == Some(Why::NoRoom);
        if known.state != state {
            let before = std::mem::replace(&mut known.state, state.clone());
            self.changes.push(Change::new(&path.join(&known.name), before, state));
        }
    }

    /// Opens a folder and looks at it; none where that is not to be.
    fn below(
        &mut self,
        here: &Here<'_>,
        path: &mut PathBuf,
        (name, rules): (&OsStr, Rules),
        (old, unseen): (Option<Folder>, Unseen),
    ) -> io::Result<Option<Folder>> {
        let descriptor = match place::open_within(here.descriptor, name) {
            Ok(descriptor) => descriptor,
            Err(error) if error.raw_os_error() == Some(TOO_MANY_FILES) => return Err(error),
            Err(_) => return Ok(None),
        };
        let stat = rustix::fs::fstat(&descriptor)?;
        self.entries += 1;
        let is_too_much = self.entries > MOST_ENTRIES || here.depth == DEEPEST;
        self.is_partial |= is_too_much;
        if is_too_much || stat.st_dev != self.device {
            return Ok(None);
        }
        let inner = Here { descriptor: &descriptor, rules, depth: here.depth + 1 };
        self.folder(&inner, path, (&stat, old, unseen))
    }

    /// Looks at a folder whose names have to be read. `old` is what was known of it; where nothing
    /// was, `unseen` says what to make of its names.
    fn listed(
        &mut self,
        here: &Here<'_>,
        path: &mut PathBuf,
        ((mark, is_recent), stat): ((u64, bool), &Stat),
        (old, unseen): (Folder, Option<Unseen>),
    ) -> io::Result<Option<Folder>> {
        let mut names = names(here.descriptor)?;
        if names.iter().any(|name| name == rules::CACHE_TAG) && here.depth > 0 {
            return Ok(None);
        }
        names.sort();
        let is_rules = |name: &&OsString| rules::RULE_FILES.iter().any(|file| **name == **file);
        let rule_files: Vec<OsString> = names.iter().filter(is_rules).cloned().collect();
        let rules = here.rules.within(path, &rule_files);
        let here = Here { descriptor: here.descriptor, rules, depth: here.depth };
        let mut before = Before {
            files: old.files.into_iter().map(|known| (known.name.clone(), known)).collect(),
            folders: old.folders.into_iter().collect(),
            ignored: old.ignored,
            unseen,
        };
        let mut folder = Folder {
            mode: place::mode(stat),
            mark,
            is_recent,
            rules: here.rules.id,
            is_narrow: here.rules.is_narrow,
            rule_files,
            ..Folder::default()
        };
        for name in names {
            path.push(&name);
            let looked = self.name(&here, path, name, (&mut before, &mut folder));
            path.pop();
            looked?;
        }
        self.gone(path, before, &folder.ignored);
        Ok(Some(folder))
    }

    /// Looks at one name of a folder.
    fn name(
        &mut self,
        here: &Here<'_>,
        path: &mut PathBuf,
        name: OsString,
        (before, folder): (&mut Before, &mut Folder),
    ) -> io::Result<()> {
        let Some(stat) = place::stat(here.descriptor, &name)? else { return Ok(()) };
        let is_folder = place::is_folder(&stat);
        let is_watched = self.known == Already::Watched && before.knows(&name);
        let verdict = here.rules.verdict(path, is_folder);
        if rules::is_closed(&name) || (!is_watched && verdict == Verdict::Ignored) {
            folder.ignored.push(name);
            return Ok(());
        }
        let unseen = before.unseen(&name);
        if is_folder && !place::may_open(here.descriptor, &name)? {
            let Some(mut old) = before.folders.remove(&name) else {
                return self.file(here, path, (name, &stat, unseen), (before, folder));
            };
            self.closed(path, &mut old, &stat);
            folder.folders.push((name, old));
            return Ok(());
        }
        if is_folder {
            let old = before.folders.remove(&name);
            let earlier = old.as_ref().map(|old| State::Folder { mode: old.mode });
            // What was in a folder that could not be read was there before, for all anybody knows.
            let inner = match before.files.get(&name).map(|known| known.state.unkept()) {
                Some(Some(Why::Closed)) => Unseen::Silent,
                Some(_) => Unseen::Created,
                None => unseen,
            };
            let is_whole = is_watched && old.as_ref().is_some_and(|old| !old.is_narrow);
            // Also once git has stopped to track what is in it.
            let is_narrow = verdict != Verdict::Seen && !is_whole;
            let rules = if is_narrow { here.rules.narrow() } else { here.rules.clone() };
            let Some(found) = self.below(here, path, (&name, rules), (old, inner))? else {
                folder.ignored.push(name);
                return Ok(());
            };
            let earlier = earlier.or_else(|| before.files.remove(&name).map(|known| known.state));
            self.tell(path, earlier, State::Folder { mode: found.mode }, unseen);
            folder.folders.push((name, found));
            return Ok(());
        }
        self.file(here, path, (name, &stat, unseen), (before, folder))
    }

    /// Looks at one name of a folder that has no further names in it, or none that can be read.
    fn file(
        &mut self,
        here: &Here<'_>,
        path: &Path,
        (name, stat, unseen): (OsString, &Stat, Unseen),
        (before, folder): (&mut Before, &mut Folder),
    ) -> io::Result<()> {
        self.entries += 1;
        let (mark, is_recent) = place::mark(stat, self.now);
        let mut known = match before.files.remove(&name) {
            Some(known) if known.mark == mark && !known.is_recent => {
                folder.files.push(known);
                return Ok(());
            }
            Some(known) => known,
            None => {
                let state = before.replaced(self, path, &name).unwrap_or(State::Absent);
                Known { name, mark, is_recent, state }
            }
        };
        let state = self.keep.state(here.descriptor, &known.name, stat)?;
        self.is_partial |= state.unkept() == Some(Why::NoRoom);
        let earlier = Some(known.state).filter(|earlier| *earlier != State::Absent);
        self.tell(path, earlier, state.clone(), unseen);
        known = Known { name: known.name, mark, is_recent, state };
        folder.files.push(known);
        Ok(())
    }

    /// Tells of a change, if it is one.
    fn tell(&mut self, path: &Path, before: Option<State>, after: State, unseen: Unseen) {
        match before {
            Some(before) if before == after => {}
            Some(before) => self.changes.push(Change::new(path, before, after)),
            None if unseen == Unseen::Created => {
                self.changes.push(Change::new(path, State::Absent, after));
            }
            None => {}
        }
    }

    /// Tells what is no longer there. What is ignored from here on is there all the same.
    fn gone(&mut self, path: &Path, before: Before, ignored: &[OsString]) {
        let is_gone = |name: &OsString| ignored.binary_search(name).is_err();
        for (name, known) in before.files {
            if is_gone(&name) {
                self.changes.push(Change::new(&path.join(name), known.state, State::Absent));
            }
        }
        for (name, folder) in before.folders {
            if is_gone(&name) {
                let path = path.join(name);
                let mode = folder.mode;
                self.changes.push(Change::new(&path, State::Folder { mode }, State::Absent));
                self.emptied(&path, &folder);
            }
        }
    }

    fn emptied(&mut self, path: &Path, folder: &Folder) {
        folder.visit(path, &mut |path, state| {
            self.changes.push(Change::new(path, state.clone(), State::Absent));
        });
    }
}

/// Whether a folder that could not be read is another than before.
fn is_reopened(here: &Here<'_>, folder: &Folder) -> io::Result<bool> {
    for known in &folder.files {
        if known.state.unkept() == Some(Why::Closed) {
            let stat = place::stat(here.descriptor, &known.name)?;
            let is_same = |stat| place::mark(&stat, SystemTime::UNIX_EPOCH).0 == known.mark;
            if !stat.is_some_and(is_same) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// `EMFILE`: the limit of this process; everything else is about the folder.
const TOO_MANY_FILES: i32 = 24;

/// What was in a folder.
struct Before {
    files: BTreeMap<OsString, Known>,
    folders: BTreeMap<OsString, Folder>,
    /// Sorted.
    ignored: Vec<OsString>,
    /// Set where nothing was known.
    unseen: Option<Unseen>,
}

impl Before {
    fn knows(&self, name: &OsString) -> bool {
        self.files.contains_key(name) || self.folders.contains_key(name)
    }

    fn unseen(&self, name: &OsString) -> Unseen {
        match self.unseen {
            Some(unseen) => unseen,
            None if self.ignored.binary_search(name).is_ok() => Unseen::Silent,
            None => Unseen::Created,
        }
    }

    /// The folder that a file has taken the place of.
    fn replaced(&mut self, scan: &mut Scan<'_>, path: &Path, name: &OsString) -> Option<State> {
        let folder = self.folders.remove(name)?;
        scan.emptied(path, &folder);
        Some(State::Folder { mode: folder.mode })
    }
}

fn names(folder: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}
