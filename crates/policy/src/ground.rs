//! What judging asks about the disk, of whoever can look: this crate reads no file itself. Where nobody
//! answers, names are taken for what they say.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use crate::glob::{Reading, stands_for};

/// A longer path leads nowhere.
const LONGEST: usize = 4096;
/// Few paths have more parts.
const DEEP: usize = 32;
/// More ways back of all words of a command are not followed.
const WALKED: usize = 4096;
/// More paths of one command are not looked up.
const LOOKED: usize = 16 * 1024;
/// More entries of folders are not held against the patterns of one command.
const MEANT: usize = 256 * 1024;

/// Answers about the disk.
pub trait Look: Send + Sync {
    /// Where a path leads once every link is followed; none where nothing is there.
    fn real(&self, path: &Path) -> Option<PathBuf>;

    /// The names in a folder; none where it cannot be listed, or is too large.
    fn names(&self, folder: &Path) -> Option<Vec<String>>;

    /// What in the repository around `folder` makes git run a program when it only looks.
    fn git_runs(&self, folder: &Path) -> Option<String>;

    /// Why git may take its files from elsewhere than where the repository around `folder` is.
    fn git_elsewhere(&self, folder: &Path) -> Option<String>;

    /// The first file that is `wanted` among those that the repository around `folder` keeps.
    fn git_keeps(&self, folder: &Path, wanted: &mut dyn FnMut(&Path) -> bool) -> Sought;

    /// Why git would obey a file at `path`, once it is written.
    fn git_obeys(&self, path: &Path) -> Option<String>;

    /// Whether a program is the system's own, and the first of its name on the search path.
    fn is_own(&self, program: &str) -> bool;

    /// The first file at or below `folder` that is `wanted`.
    fn seek(&self, folder: &Path, width: Width, wanted: &mut dyn FnMut(&Path) -> bool) -> Sought;
}

/// Which files count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// All of them.
    Everything,
    /// Those that no ignore file names.
    Unignored,
    /// Those of them that are not hidden.
    Visible,
}

/// What came of looking for a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sought {
    /// There is none.
    Nothing,
    /// There is this one.
    Found(PathBuf),
    /// There are too many files to tell, or they cannot be told.
    TooMany,
}

/// Whoever answers, if anybody does.
#[derive(Clone, Default)]
pub struct Ground(Option<Arc<dyn Look>>);

impl Ground {
    /// The answers of `look`.
    pub fn new(look: impl Look + 'static) -> Self {
        Self(Some(Arc::new(look)))
    }

    pub(crate) fn look(&self) -> Option<&dyn Look> {
        self.0.as_deref()
    }

    /// Where a path leads once every link in it is followed; what does not exist stays as it is.
    pub(crate) fn leads(&self, path: &Path) -> PathBuf {
        // No file has so long a path.
        if path.as_os_str().len() > LONGEST {
            return path.to_owned();
        }
        let is_there = |part: &&Path| self.look().is_some_and(|look| look.real(part).is_some());
        // Of a deep path the least part is there, so that it is quicker to begin at the root.
        let deep: Vec<&Path> = path.ancestors().skip(DEEP).collect();
        let top = deep.iter().rev().copied().take_while(is_there).last();
        let start = if deep.is_empty() || top == deep.first().copied() { Some(path) } else { top };
        let found = start.into_iter().flat_map(Path::ancestors).find_map(|ancestor| {
            let real = self.look()?.real(ancestor)?;
            let rest = path.strip_prefix(ancestor).ok()?;
            // Joining nothing would add a slash.
            Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
        });
        found.unwrap_or_else(|| path.to_owned())
    }
}

/// What patterns stand for, each in a folder.
type Meant = HashMap<(PathBuf, String), Rc<[PathBuf]>>;

/// Where paths lead, each asked about once: long texts name the same ones again and again. Where there are
/// more than can be asked about, that is noted.
pub(crate) struct Ends<'a> {
    ground: &'a Ground,
    known: RefCell<HashMap<PathBuf, PathBuf>>,
    names: RefCell<HashMap<PathBuf, Rc<[String]>>>,
    meant: RefCell<Meant>,
    /// How often a way back may yet be followed, a path looked up, and an entry compared.
    walks: Cell<usize>,
    looks: Cell<usize>,
    entries: Cell<usize>,
    is_cut_short: Cell<bool>,
}

impl<'a> Ends<'a> {
    pub(crate) fn new(ground: &'a Ground) -> Self {
        Self {
            ground,
            known: RefCell::default(),
            names: RefCell::default(),
            meant: RefCell::default(),
            walks: Cell::new(WALKED),
            looks: Cell::new(LOOKED),
            entries: Cell::new(MEANT),
            is_cut_short: Cell::default(),
        }
    }

    /// Notes that not all of what a command names could be followed.
    pub(crate) fn cut_short(&self) {
        self.is_cut_short.set(true);
    }

    /// Whether there was more than could be followed.
    pub(crate) fn is_cut_short(&self) -> bool {
        self.is_cut_short.get()
    }

    /// Takes so much of what may yet be done; says whether there was as much left.
    fn affords(&self, left: &Cell<usize>, count: usize) -> bool {
        let rest = left.get().checked_sub(count);
        left.set(rest.unwrap_or(0));
        if rest.is_none() {
            self.cut_short();
        }
        rest.is_some()
    }

    /// Whether something is at a path, as far as anybody can tell.
    pub(crate) fn is_there(&self, path: &Path) -> bool {
        self.ground.look().is_none_or(|look| look.real(path).is_some())
    }

    /// Where a path from `folder` leads if each `..` is taken from where the links before it lead; none
    /// where there are too many of them.
    pub(crate) fn walked(&self, folder: &Path, path: &str) -> Option<PathBuf> {
        let mut at = PathBuf::new();
        for component in folder.join(path).components() {
            at = self.step(&at, component)?;
        }
        Some(self.of(&at))
    }

    fn step(&self, at: &Path, component: Component<'_>) -> Option<PathBuf> {
        if component != Component::ParentDir {
            return Some(at.join(component));
        }
        if at.as_os_str().len() > LONGEST || !self.affords(&self.walks, 1) {
            return None;
        }
        let mut at = self.of(at);
        at.pop();
        Some(at)
    }

    /// A path with wildcards, with the links followed that stand before the first of them.
    pub(crate) fn led(&self, folder: &Path, pattern: &str) -> Option<PathBuf> {
        let mut at = PathBuf::new();
        let mut is_known = true;
        for component in folder.join(pattern).components() {
            let is_name = || self.real(&at.join(component)).is_some();
            if is_known && is_wild(&component.as_os_str().to_string_lossy()) && !is_name() {
                at = self.of(&at);
                is_known = false;
            }
            at = if is_known { self.step(&at, component)? } else { at.join(component) };
        }
        Some(at)
    }

    /// Where the files lead that a path with wildcards stands for, as far as folders can be listed.
    pub(crate) fn meant(&self, folder: &Path, pattern: &str, reading: Reading) -> Rc<[PathBuf]> {
        let key = (folder.to_owned(), pattern.to_owned());
        if let Some(known) = self.meant.borrow().get(&key) {
            return Rc::clone(known);
        }
        let mut found = vec![PathBuf::new()];
        for component in folder.join(pattern).components() {
            let text = component.as_os_str().to_string_lossy();
            if !is_wild(&text) {
                let steps = found.iter().filter_map(|at| self.step(at, component));
                found = steps.collect();
                continue;
            }
            let mut fitting = Vec::new();
            for at in found {
                // It may be a name after all.
                let whole = Some(at.join(component));
                fitting.extend(whole.filter(|it| self.real(it).is_some()));
                let names = self.names(&at);
                if !self.affords(&self.entries, names.len()) {
                    break;
                }
                let fits = |name: &&String| stands_for((&text, reading), name);
                fitting.extend(names.iter().filter(fits).map(|name| at.join(name)));
            }
            found = fitting;
        }
        let ends: Rc<[PathBuf]> = found.iter().map(|path| self.of(path)).collect();
        self.meant.borrow_mut().insert(key, Rc::clone(&ends));
        ends
    }

    /// Where a path leads that is there for certain.
    pub(crate) fn real(&self, path: &Path) -> Option<PathBuf> {
        self.ground.look()?.real(path)
    }

    /// The names in a folder; nothing where it cannot be listed.
    pub(crate) fn names(&self, folder: &Path) -> Rc<[String]> {
        if let Some(names) = self.names.borrow().get(folder) {
            return Rc::clone(names);
        }
        let names = self.ground.look().and_then(|look| look.names(folder));
        let names: Rc<[String]> = names.unwrap_or_default().into();
        self.names.borrow_mut().insert(folder.to_owned(), Rc::clone(&names));
        names
    }

    /// Where a path leads.
    pub(crate) fn of(&self, path: &Path) -> PathBuf {
        if let Some(end) = self.known.borrow().get(path) {
            return end.clone();
        }
        if self.ground.look().is_none() || !self.affords(&self.looks, 1) {
            return path.to_owned();
        }
        let is_deep = path.ancestors().nth(DEEP).is_some();
        let real = self.ground.look().filter(|_| !is_deep).and_then(|look| look.real(path));
        let end = match (real, path.parent(), path.file_name()) {
            (Some(real), ..) => real,
            (None, Some(folder), Some(name)) if !is_deep => self.of(folder).join(name),
            (None, ..) => self.ground.leads(path),
        };
        self.known.borrow_mut().insert(path.to_owned(), end.clone());
        end
    }
}

/// Whether a name has wildcards.
pub(crate) fn is_wild(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

impl fmt::Debug for Ground {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Ground").finish_non_exhaustive()
    }
}
