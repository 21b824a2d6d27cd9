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
/// More bytes of what scripts in a command may name are not held against rules.
const SCRIPTED: usize = 4 * 1024 * 1024;

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

/// What a pattern stands for.
#[derive(Clone)]
pub(crate) struct Meant {
    /// The files, and where they lead.
    pub(crate) paths: Rc<[PathBuf]>,
    /// Whether that is all of them: every folder on the way could be listed, or is not there.
    pub(crate) is_whole: bool,
}

/// The names in folders; none of one that is there and cannot be listed.
type Names = HashMap<PathBuf, Option<Rc<[String]>>>;

/// Where paths lead, each asked about once: long texts name the same ones again and again. Where there are
/// more than can be asked about, that is noted.
pub(crate) struct Ends<'a> {
    ground: &'a Ground,
    known: RefCell<HashMap<PathBuf, PathBuf>>,
    names: RefCell<Names>,
    files: RefCell<HashMap<PathBuf, Rc<[PathBuf]>>>,
    meant: RefCell<HashMap<(PathBuf, String), Meant>>,
    /// How often a way back may yet be followed, a path looked up, an entry compared, and how much of scripts.
    walks: Cell<usize>,
    looks: Cell<usize>,
    entries: Cell<usize>,
    scripted: Cell<usize>,
    is_cut_short: Cell<bool>,
}

impl<'a> Ends<'a> {
    pub(crate) fn new(ground: &'a Ground) -> Self {
        Self {
            ground,
            known: RefCell::default(),
            names: RefCell::default(),
            files: RefCell::default(),
            meant: RefCell::default(),
            walks: Cell::new(WALKED),
            looks: Cell::new(LOOKED),
            entries: Cell::new(MEANT),
            scripted: Cell::new(SCRIPTED),
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

    /// Whether one more name in a script may be looked at.
    pub(crate) fn affords_scripted(&self, name: &str) -> bool {
        self.affords(&self.scripted, name.len())
    }

    /// Whether so many more files may be held against a pattern.
    pub(crate) fn affords_compared(&self, count: usize) -> bool {
        self.affords(&self.entries, count)
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

    /// The files that a path with wildcards stands for, and where they lead, as far as folders can be listed.
    pub(crate) fn meant(&self, folder: &Path, pattern: &str, reading: Reading) -> Meant {
        let key = (folder.to_owned(), pattern.to_owned());
        if let Some(known) = self.meant.borrow().get(&key) {
            return known.clone();
        }
        let mut found = vec![PathBuf::new()];
        let mut is_whole = self.ground.look().is_some();
        for component in folder.join(pattern).components() {
            let text = component.as_os_str().to_string_lossy();
            if !is_wild(&text) {
                let steps: Vec<PathBuf> =
                    found.iter().filter_map(|at| self.step(at, component)).collect();
                is_whole &= steps.len() == found.len();
                found = steps;
                continue;
            }
            // Some shells are told to disregard case.
            let text = text.to_lowercase();
            let mut fitting = Vec::new();
            for at in found {
                // It may be a name after all.
                let whole = Some(at.join(component));
                fitting.extend(whole.filter(|it| self.real(it).is_some()));
                let names = self.names(&at);
                let count = names.as_ref().map_or(0, |names| names.len());
                is_whole &= names.is_some() && self.affords(&self.entries, count);
                let fits = |name: &&String| stands_for((&text, reading), &name.to_lowercase());
                let names = names.as_deref().unwrap_or_default();
                fitting.extend(names.iter().filter(fits).map(|name| at.join(name)));
                if self.is_cut_short() {
                    break;
                }
            }
            found = fitting;
        }
        let mut paths: Vec<PathBuf> = found.iter().map(|path| self.of(path)).collect();
        paths.extend(found);
        paths.sort();
        paths.dedup();
        let is_whole = is_whole && !self.is_cut_short();
        let meant = Meant { paths: paths.into(), is_whole };
        self.meant.borrow_mut().insert(key, meant.clone());
        meant
    }

    /// All files below a folder; what is left out is noted.
    pub(crate) fn files(&self, folder: &Path) -> Rc<[PathBuf]> {
        if let Some(files) = self.files.borrow().get(folder) {
            return Rc::clone(files);
        }
        let mut files = Vec::new();
        let sought = self.ground.look().map(|look| {
            look.seek(folder, Width::Everything, &mut |path| {
                files.push(path.to_owned());
                false
            })
        });
        if sought == Some(Sought::TooMany) {
            self.cut_short();
        }
        let files: Rc<[PathBuf]> = files.into();
        self.files.borrow_mut().insert(folder.to_owned(), Rc::clone(&files));
        files
    }

    /// Where a path leads that is there for certain.
    pub(crate) fn real(&self, path: &Path) -> Option<PathBuf> {
        self.ground.look()?.real(path)
    }

    /// The names in a folder; none where it is there and cannot be listed.
    fn names(&self, folder: &Path) -> Option<Rc<[String]>> {
        if let Some(names) = self.names.borrow().get(folder) {
            return names.clone();
        }
        let look = self.ground.look()?;
        // A file has no entries either.
        let absent = || look.real(&folder.join(".")).is_none().then(Vec::new);
        let names: Option<Rc<[String]>> = look.names(folder).or_else(absent).map(Into::into);
        self.names.borrow_mut().insert(folder.to_owned(), names.clone());
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
