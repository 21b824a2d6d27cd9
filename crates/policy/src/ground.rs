//! What judging asks about the disk, of whoever can look: this crate reads no file itself. Where nobody
//! answers, names are taken for what they say.

mod listing;

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use foldhash::HashMap;

use crate::paths::normalize;
use listing::Listing;
pub(crate) use listing::Standing;

use crate::glob::{Reading, without_double_stars};

/// A longer path leads nowhere.
const LONGEST: usize = 4096;
/// Few paths have more parts.
const DEEP: usize = 32;
/// More ways back of all words of a command are not followed.
const WALKED: usize = 4096;
/// So many paths in one folder are looked up by themselves, before all its names are listed.
const FEW: usize = 8;
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

    /// The names by which a path is known on the way to where it leads: each link, with what follows it.
    fn links(&self, _path: &Path) -> Vec<PathBuf> {
        Vec::new()
    }

    /// The names in a folder, as they are shown; none where it cannot be listed, or is too large.
    fn names(&self, folder: &Path) -> Option<Vec<String>>;

    /// The same as they are, which may be no text, with what they are names of.
    fn entries(&self, folder: &Path) -> Option<Vec<(OsString, Entry)>> {
        let names = self.names(folder)?;
        Some(names.into_iter().map(|name| (name.into(), Entry::Other)).collect())
    }

    /// The folders and files at which something is mounted; none where the system has no list of them.
    fn mounts(&self) -> Option<Vec<PathBuf>> {
        None
    }

    /// Whether something is mounted at a folder; asked only where there is no list.
    fn is_mount(&self, _folder: &Path) -> bool {
        false
    }

    /// What in the repository around `folder` makes git run a program when it only looks.
    fn git_runs(&self, _folder: &Path) -> Option<String> {
        None
    }

    /// Why git may take its files from elsewhere than where the repository around `folder` is.
    fn git_elsewhere(&self, _folder: &Path) -> Option<String> {
        None
    }

    /// The first file that is `wanted` among those that the repository around `folder` keeps.
    fn git_keeps(&self, _folder: &Path, _wanted: &mut dyn FnMut(&Path) -> bool) -> Sought {
        Sought::Nothing
    }

    /// Why git would obey a file at `path`, once it is written.
    fn git_obeys(&self, _path: &Path) -> Option<String> {
        None
    }

    /// Why a file at `path` would make programs of the project run once these lines are added, or any where
    /// they are not known.
    fn leads_to_program(&self, _path: &Path, _added: Option<Vec<&str>>) -> Option<String> {
        None
    }

    /// Whether a program is the system's own, and the first of its name on the search path.
    fn is_own(&self, _program: &str) -> bool {
        false
    }

    /// The first file at or below `folder` that is `wanted`.
    fn seek(
        &self,
        _folder: &Path,
        _width: Width,
        _wanted: &mut dyn FnMut(&Path) -> bool,
    ) -> Sought {
        Sought::Nothing
    }
}

/// What a name in a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A link, or something else, or nobody knows.
    Other,
}

/// Which files count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// All of them.
    Everything,
    /// Those that no ignore file of git names.
    Unignored,
    /// Those that a search with `rg` does not leave out for what its ignore files say.
    Searched,
    /// Those of them that are not hidden.
    Visible,
    /// Those that `fd` finds: neither hidden nor left out for what its own ignore files say.
    Found,
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
    /// What is spelled out before the first wildcard, by its name and by where it leads.
    pub(crate) bases: Rc<[PathBuf]>,
}

/// What is known of paths, by their very letters: to compare paths part by part takes long.
type Known<T> = HashMap<OsString, T>;

/// The names in folders; none of one that is there and cannot be listed.
type Names = Known<Option<Listing>>;

/// What fits patterns in folders.
type Filled = HashMap<(OsString, String, Reading), Rc<[PathBuf]>>;

/// Where paths lead, each asked about once: long texts name the same ones again and again. Where there are
/// more than can be asked about, that is noted.
pub(crate) struct Ends<'a> {
    ground: &'a Ground,
    workspace: &'a Path,
    known: RefCell<Known<PathBuf>>,
    real: RefCell<Known<Option<PathBuf>>>,
    links: RefCell<Known<Rc<[PathBuf]>>>,
    /// How many paths in a folder were looked up.
    within: RefCell<Known<usize>>,
    names: RefCell<Names>,
    files: RefCell<Known<Rc<[PathBuf]>>>,
    meant: RefCell<HashMap<(OsString, String), Meant>>,
    filled: RefCell<Filled>,
    led: RefCell<HashMap<(OsString, String), Option<PathBuf>>>,
    /// How often a way back may yet be followed, a path looked up, an entry compared, and how much of scripts.
    walks: Cell<usize>,
    looks: Cell<usize>,
    entries: Cell<usize>,
    scripted: Cell<usize>,
    is_cut_short: Cell<bool>,
}

impl<'a> Ends<'a> {
    pub(crate) fn new(ground: &'a Ground, workspace: &'a Path) -> Self {
        Self {
            ground,
            workspace,
            known: RefCell::default(),
            real: RefCell::default(),
            links: RefCell::default(),
            within: RefCell::default(),
            names: RefCell::default(),
            files: RefCell::default(),
            meant: RefCell::default(),
            filled: RefCell::default(),
            led: RefCell::default(),
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
        self.ground.look().is_none() || self.real(path).is_some()
    }

    /// Where a path from `folder` leads if each `..` is taken from where the links before it lead; none
    /// where there are too many of them.
    pub(crate) fn walked(&self, folder: &Path, path: &str) -> Option<PathBuf> {
        self.stepped(folder, path).map(|at| self.of(&at))
    }

    /// The same without the links behind the last `..`.
    pub(crate) fn stepped(&self, folder: &Path, path: &str) -> Option<PathBuf> {
        let mut at = PathBuf::new();
        for component in folder.join(path).components() {
            at = self.step(&at, component)?;
        }
        Some(at)
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
        let key = (folder.as_os_str().to_owned(), pattern.to_owned());
        if let Some(known) = self.led.borrow().get(&key) {
            return known.clone();
        }
        let led = self.led_anew(folder, pattern);
        self.led.borrow_mut().insert(key, led.clone());
        led
    }

    fn led_anew(&self, folder: &Path, pattern: &str) -> Option<PathBuf> {
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
        let key = (folder.as_os_str().to_owned(), pattern.to_owned());
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
            let text = without_double_stars(&text.to_lowercase());
            let mut fitting = Vec::new();
            for at in found {
                // It may be a name after all.
                let whole = Some(at.join(component));
                fitting.extend(whole.filter(|it| self.real(it).is_some()));
                let names = self.names(&at);
                let count = names.as_ref().map_or(0, Listing::count);
                is_whole &= names.is_some() && self.affords(&self.entries, count);
                if let Some(names) = names {
                    fitting.extend_from_slice(&self.filled(&at, &names, (&text, reading)));
                }
                if self.is_cut_short() {
                    break;
                }
            }
            found = fitting;
        }
        let mut paths: Vec<PathBuf> = Vec::with_capacity(found.len());
        for path in found {
            let end = self.of(&path);
            if end.as_os_str() != path.as_os_str() {
                paths.extend_from_slice(&self.links(&path));
                paths.push(end);
            }
            paths.push(path);
        }
        paths.sort_unstable_by(|one, other| one.as_os_str().cmp(other.as_os_str()));
        paths.dedup();
        let is_whole = is_whole && !self.is_cut_short();
        let bases = self.bases(folder, pattern);
        let meant = Meant { paths: paths.into(), is_whole, bases };
        self.meant.borrow_mut().insert(key, meant.clone());
        meant
    }

    /// What fits a pattern in a folder of these names; the same one comes again and again (`**/a`, `**/b`).
    fn filled(&self, folder: &Path, names: &Listing, pattern: (&str, Reading)) -> Rc<[PathBuf]> {
        let key = (folder.as_os_str().to_owned(), pattern.0.to_owned(), pattern.1);
        if let Some(known) = self.filled.borrow().get(&key) {
            return Rc::clone(known);
        }
        let fitting = names.fitting(pattern).into_iter();
        let fitting: Rc<[PathBuf]> = fitting.map(|name| folder.join(name)).collect();
        self.filled.borrow_mut().insert(key, Rc::clone(&fitting));
        fitting
    }

    /// What a path with wildcards spells out before the first of them, by its name and by where it leads.
    fn bases(&self, folder: &Path, pattern: &str) -> Rc<[PathBuf]> {
        let path = normalize(&folder.join(pattern));
        let led = self.led(folder, pattern);
        let mut bases = vec![spelled_out(&path)];
        bases.extend(led.map(|led| spelled_out(&led)));
        let ends: Vec<PathBuf> = bases.iter().map(|base| self.of(base)).collect();
        bases.extend(ends);
        bases.sort();
        bases.dedup();
        bases.into()
    }

    /// All files below a folder; what is left out is noted.
    pub(crate) fn files(&self, folder: &Path) -> Rc<[PathBuf]> {
        if let Some(files) = self.files.borrow().get(folder.as_os_str()) {
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
        self.files.borrow_mut().insert(folder.as_os_str().to_owned(), Rc::clone(&files));
        files
    }

    /// The names by which a path that leads elsewhere is known on its way.
    pub(crate) fn links(&self, path: &Path) -> Rc<[PathBuf]> {
        if let Some(known) = self.links.borrow().get(path.as_os_str()) {
            return Rc::clone(known);
        }
        let links = self.ground.look().map(|look| look.links(path)).unwrap_or_default();
        let links: Rc<[PathBuf]> = links.into();
        self.links.borrow_mut().insert(path.as_os_str().to_owned(), Rc::clone(&links));
        links
    }

    /// Where a path leads that is there for certain.
    pub(crate) fn real(&self, path: &Path) -> Option<PathBuf> {
        if let Some(real) = self.real.borrow().get(path.as_os_str()) {
            return real.clone();
        }
        if path.as_os_str().len() > LONGEST {
            return None;
        }
        let asked = || self.listed(path).or_else(|| self.ground.look()?.real(path));
        let real = if self.is_absent(path) { None } else { asked() };
        self.real.borrow_mut().insert(path.as_os_str().to_owned(), real.clone());
        real
    }

    /// Whether nothing is at a path in the workspace for certain, by the names in the folders on the way. These
    /// are listed where many paths in them are asked about: long texts name many files that are not there.
    fn is_absent(&self, path: &Path) -> bool {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return false };
        // Elsewhere folders may hold more than they list, such as those that are mounted when asked for.
        if is_deep(path) || !self.is_in_workspace(folder) {
            return false;
        }
        if self.real(folder).is_none() || self.entry(folder) == Some(Entry::File) {
            return true;
        }
        if self.counted(folder) <= FEW {
            return false;
        }
        let listing = self.names(folder);
        name.to_str().zip(listing).is_some_and(|(name, listing)| listing.lacks(name))
    }

    fn is_in_workspace(&self, folder: &Path) -> bool {
        // By bytes first: components take long to compare.
        let workspace = self.workspace.as_os_str().as_encoded_bytes();
        let below = folder.as_os_str().as_encoded_bytes().strip_prefix(workspace);
        below.is_some_and(|below| below.is_empty() || below.starts_with(b"/"))
            || folder.starts_with(self.workspace)
    }

    /// Where a path leads by the names in its folder, where these are known: what is no link is where it says.
    fn listed(&self, path: &Path) -> Option<PathBuf> {
        let (folder, name) = (path.parent()?, path.file_name()?);
        self.entry(path).filter(|entry| *entry != Entry::Other)?;
        Some(self.real(folder)?.join(name))
    }

    /// What a path is by the names in its folder, where these are known.
    fn entry(&self, path: &Path) -> Option<Entry> {
        let names = self.names.borrow();
        names.get(path.parent()?.as_os_str())?.as_ref()?.entry(path.file_name()?.to_str()?)
    }

    /// How many paths in a folder were looked up, with one more.
    fn counted(&self, folder: &Path) -> usize {
        let mut within = self.within.borrow_mut();
        if let Some(count) = within.get_mut(folder.as_os_str()) {
            *count += 1;
            return *count;
        }
        within.insert(folder.as_os_str().to_owned(), 1);
        1
    }

    /// What is known of all that is in a folder.
    pub(crate) fn standing(&self, folder: &Path) -> Standing {
        let goes_back = folder.components().any(|part| part == Component::ParentDir);
        if goes_back || self.of(folder) != folder {
            return Standing::Unsure;
        }
        if self.real(folder).is_none() {
            return Standing::Absent;
        }
        let names = Some(folder).filter(|it| it.starts_with(self.workspace));
        names.and_then(|it| self.names(it)).map_or(Standing::Unsure, Standing::Listed)
    }

    /// Whether a folder is one of the workspace, with no repository of its own on the way.
    pub(crate) fn is_part_of_workspace(&self, folder: &Path) -> bool {
        let is_repository = |folder: &Path| {
            let listing = self.names(folder);
            listing.is_none_or(|listing| listing.has(".git") || listing.has("HEAD"))
        };
        let mut on_the_way = folder.ancestors().take_while(|it| *it != self.workspace);
        folder.starts_with(self.workspace)
            && self.of(folder) == folder
            && self.real(self.workspace).is_some_and(|real| real == self.workspace)
            && !on_the_way.any(is_repository)
    }

    /// The names in a folder; none where it is there and cannot be listed.
    fn names(&self, folder: &Path) -> Option<Listing> {
        if let Some(names) = self.names.borrow().get(folder.as_os_str()) {
            return names.clone();
        }
        let look = self.ground.look()?;
        // A file has no entries either.
        let is_none = self.entry(folder) == Some(Entry::File) || self.real(folder).is_none();
        let absent = || look.real(&folder.join(".")).is_none().then(Vec::new);
        let entries = if is_none { Some(Vec::new()) } else { look.entries(folder) };
        let names = entries.or_else(absent).map(Listing::of);
        self.names.borrow_mut().insert(folder.as_os_str().to_owned(), names.clone());
        names
    }

    /// Where a path leads.
    pub(crate) fn of(&self, path: &Path) -> PathBuf {
        if let Some(end) = self.known.borrow().get(path.as_os_str()) {
            return end.clone();
        }
        if self.ground.look().is_none() || !self.affords(&self.looks, 1) {
            return path.to_owned();
        }
        let is_deep = is_deep(path);
        let real = if is_deep { None } else { self.real(path) };
        let end = match (real, path.parent(), path.file_name()) {
            (Some(real), ..) => real,
            (None, Some(folder), Some(name)) if !is_deep => self.of(folder).join(name),
            (None, ..) => self.ground.leads(path),
        };
        self.known.borrow_mut().insert(path.as_os_str().to_owned(), end.clone());
        end
    }
}

/// The part of a path before the first component with wildcards.
pub(crate) fn spelled_out(path: &Path) -> PathBuf {
    path.components().take_while(|part| !is_wild(&part.as_os_str().to_string_lossy())).collect()
}

/// Whether a path has more parts than most.
fn is_deep(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.len() > DEEP && bytes.split(|byte| *byte == b'/').nth(DEEP).is_some()
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
