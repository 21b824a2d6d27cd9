//! Files that rules keep from every process: which of them are there, and what must be mounted so that
//! no program reaches them, whatever it is told and however it goes about it. Only looks.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use contract::sandbox::SandboxError;
use files::changes::{Changes, Cursor};

use crate::Settings;
use crate::request::Request;
use crate::{tree, visible_paths};

/// So many entries are looked at.
const ENTRIES: usize = 2_000_000;
const DEPTH: usize = 64;
/// So many mounts are made; many more would hold up every command.
const MOUNTS: usize = 300;

/// Rules for files, which every process is held to. What holds for a directory holds for all in it.
pub trait FileRules: Send + Sync + std::fmt::Debug {
    /// Returns true if it may not be read.
    fn hides(&self, path: &Path) -> bool;
    /// Returns true if it may not be written.
    fn denies_write(&self, path: &Path) -> bool;
    /// Returns true if they apply to the file at this path and to no other path of it.
    fn binds(&self, path: &Path) -> bool;
    /// Returns true if they may apply to a path below a directory.
    fn may_mean_below(&self, directory: &Path) -> bool;
    /// The paths that they spell out, each up to its first wildcard.
    fn starts(&self) -> Vec<PathBuf>;
}

/// Returns true if rules hide the file at a real path, by that path or by a symlink to it.
pub fn is_hidden(rules: &dyn FileRules, real: &Path) -> bool {
    is_meant(rules, real, |path| rules.hides(path))
}

/// Returns true if rules forbid writing the file at a real path, by that path or by a symlink to it.
pub(crate) fn is_read_only(rules: &dyn FileRules, real: &Path) -> bool {
    is_meant(rules, real, |path| rules.denies_write(path))
}

fn is_meant(rules: &dyn FileRules, real: &Path, means: impl Fn(&Path) -> bool) -> bool {
    let by_start = |start: PathBuf| {
        let led = fs::canonicalize(&start).ok()?;
        let below = real.strip_prefix(led).ok()?;
        let is_itself = below.as_os_str().is_empty();
        Some(if is_itself { start } else { start.join(below) })
    };
    means(real) || rules.starts().into_iter().filter_map(by_start).any(|it| means(&it))
}

/// The refusal of a start in a directory that may not be read.
pub(crate) fn nowhere_to_work(path: &Path) -> SandboxError {
    SandboxError::Refused(format!(
        "a rule denies reading {}, so nothing can work there; start in another directory",
        path.display()
    ))
}

/// The paths that a process must not reach, parents before children.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeniedPaths {
    /// Paths that it may not read.
    pub(crate) hidden: BTreeSet<PathBuf>,
    /// Paths that it may not write.
    pub(crate) read_only: BTreeSet<PathBuf>,
    /// Directories that may not be moved, since what lies in them would be held no more.
    pub(crate) fixed_parents: BTreeSet<PathBuf>,
}

impl DeniedPaths {
    /// Looks for what the rules keep from `request`.
    pub(crate) fn find(request: &Request, settings: &Settings) -> Result<Self, SandboxError> {
        let Some(rules) = &settings.rules else { return Ok(Self::default()) };
        let (found, is_cut) = searched(request, rules, settings);
        let mut search = Search { denied: found, is_cut, ..Search::new(request, rules) };
        for start in search.starts.clone() {
            if !request.roots.iter().any(|root| start.starts_with(root)) {
                search.begin(&start);
            }
        }
        let (mut denied, is_cut) = (search.denied, search.is_cut);
        denied.tidy();
        let count = denied.hidden.len() + denied.read_only.len() + denied.fixed_parents.len();
        if is_cut || count > MOUNTS {
            return Err(SandboxError::Refused(format!(
                "the deny rules match more than {MOUNTS} files, or there are too many files to \
                 search; name directories in the rules (`secrets/**`)"
            )));
        }
        // The user has looked at these and wants them to run: they are shown as they were.
        let fixed: BTreeSet<&Path> = request.fixed.iter().map(|it| it.place.as_path()).collect();
        denied.hidden = denied.hidden.iter().flat_map(|path| without(path, &fixed)).collect();
        denied.read_only.retain(|path| !fixed.contains(path.as_path()));
        match denied.hidden.iter().find(|path| request.cwd.starts_with(path)) {
            None => Ok(denied),
            Some(path) => Err(nowhere_to_work(path)),
        }
    }

    /// Returns true if something was found at or below a path.
    fn has_below(&self, path: &Path) -> bool {
        let Self { hidden, read_only, fixed_parents, .. } = self;
        hidden.iter().chain(read_only).chain(fixed_parents).any(|found| found.starts_with(path))
    }

    /// Leaves out what lies in what is hidden: nothing can be mounted there.
    fn tidy(&mut self) {
        let hidden = self.hidden.clone();
        let is_open =
            |path: &PathBuf| !path.ancestors().skip(1).any(|above| hidden.contains(above));
        for paths in [&mut self.hidden, &mut self.read_only, &mut self.fixed_parents] {
            paths.retain(is_open);
        }
        self.fixed_parents.retain(|directory| !hidden.contains(directory));
    }
}

/// A path, or what lies there beside what is wanted.
fn without(path: &Path, wanted: &BTreeSet<&Path>) -> Vec<PathBuf> {
    if wanted.contains(path) {
        return Vec::new();
    }
    if !wanted.iter().any(|it| it.starts_with(path)) {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.flat_map(|entry| without(&entry.path(), wanted)).collect()
}

/// The result of a search through roots, valid until a path changes that the rules mean.
struct Known {
    rules: Arc<dyn FileRules>,
    roots: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    cursors: Vec<Cursor>,
    found: (DeniedPaths, bool),
}

/// Searches with the last few sets of roots.
static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());
const KNOWN_SETS: usize = 8;

/// Searches the roots of a request, unless nothing changed that the rules mean.
fn searched(
    request: &Request,
    rules: &Arc<dyn FileRules>,
    settings: &Settings,
) -> (DeniedPaths, bool) {
    let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let writable = request.writable();
    let is_same = |it: &Known| {
        Arc::ptr_eq(&it.rules, rules) && it.roots == request.roots && it.writable == writable
    };
    let known = all.iter().position(is_same).map(|at| all.remove(at));
    let (mut cursors, mut is_current) = (Vec::new(), known.is_some());
    for (number, root) in request.roots.iter().enumerate() {
        let before = known.as_ref().and_then(|it| it.cursors.get(number).copied());
        let (changes, now) = tree::at(root, settings).since(before);
        cursors.push(now);
        is_current &= match changes {
            Changes::Unknown => false,
            Changes::Paths(paths) => !paths.iter().any(|path| {
                let is_found = known.as_ref().is_some_and(|it| it.found.0.has_below(path));
                is_found || rules.hides(path) || rules.denies_write(path) || path.is_symlink()
            }),
        };
    }
    let found = match known.filter(|_| is_current) {
        Some(known) => known.found,
        None => search(request, rules),
    };
    let (rules, roots) = (Arc::clone(rules), request.roots.clone());
    all.push(Known { rules, roots, writable, cursors, found: found.clone() });
    if all.len() > KNOWN_SETS {
        all.remove(0);
    }
    found
}

fn search(request: &Request, rules: &Arc<dyn FileRules>) -> (DeniedPaths, bool) {
    let mut search = Search::new(request, rules);
    for root in &request.roots {
        if rules.hides(root) {
            search.denied.hidden.insert(root.clone());
            continue;
        }
        if rules.denies_write(root) && search.writable.contains(root) {
            search.denied.read_only.insert(root.clone());
        }
        search.walk(root, root);
    }
    for start in search.starts.clone() {
        if request.roots.iter().any(|root| start.starts_with(root)) {
            search.begin(&start);
        }
    }
    (search.denied, search.is_cut)
}

/// The entries of one directory that rules apply to.
#[derive(Debug, Default)]
struct DirectoryMatches {
    count: usize,
    /// Names that may not be read, and those that may not be written.
    hidden: Vec<OsString>,
    read_only: Vec<OsString>,
    /// Directories to look into.
    directories: Vec<OsString>,
}

struct Search<'a> {
    request: &'a Request,
    rules: &'a Arc<dyn FileRules>,
    starts: Vec<PathBuf>,
    /// The roots that may be written.
    writable: Vec<PathBuf>,
    left: usize,
    is_cut: bool,
    denied: DeniedPaths,
}

impl<'a> Search<'a> {
    fn new(request: &'a Request, rules: &'a Arc<dyn FileRules>) -> Self {
        let (starts, denied) = (rules.starts(), DeniedPaths::default());
        let writable = request.writable();
        Self { request, rules, starts, writable, left: ENTRIES, is_cut: false, denied }
    }

    /// Looks at a path that rules spell out, which a walk from the roots may not come to.
    fn begin(&mut self, start: &Path) {
        let Ok(real) = fs::canonicalize(start) else { return };
        if visible_paths::is_of_system(&real) {
            // Of the system's own only files that are spelled out: programs need the rest.
            if real.is_file() && self.rules.hides(start) {
                self.denied.hidden.insert(real);
            }
        } else if is_shown(self.request, &real) {
            self.take(start, &real);
            if real.is_dir() {
                self.walk(start, &real);
            }
        }
    }

    /// Takes what rules say of a path, and of where it really lies.
    fn take(&mut self, named: &Path, real: &Path) {
        if self.rules.hides(named) {
            self.denied.hidden.insert(real.to_owned());
        } else if self.rules.denies_write(named) && self.is_writable(real) {
            self.denied.read_only.insert(real.to_owned());
        } else {
            return;
        }
        let is_bound = self.rules.binds(named);
        // Where nothing can be written nothing can be moved.
        let root = self.writable.iter().rfind(|root| real.starts_with(root));
        if let Some(root) = root.filter(|_| is_bound) {
            // A root itself has no way within it.
            let is_within = |directory: &&Path| *directory != root && directory.starts_with(root);
            let above = real.ancestors().skip(1).take_while(is_within);
            self.denied.fixed_parents.extend(above.map(Path::to_owned));
        }
    }

    /// Returns true if a process may write at a real path.
    fn is_writable(&self, real: &Path) -> bool {
        self.writable.iter().any(|root| real.starts_with(root))
    }

    /// Looks below a directory, which rules know by the name of `named`.
    fn walk(&mut self, named: &Path, real: &Path) {
        let mut level = vec![(named.to_owned(), real.to_owned())];
        for _ in 0..DEPTH {
            for (named, real) in std::mem::take(&mut level) {
                if self.denied.hidden.contains(&real) || !self.rules.may_mean_below(&named) {
                    continue;
                }
                let Some(found) = self.look(&named, &real) else {
                    // No process can list it either, until it changes its permissions.
                    self.denied.hidden.insert(real);
                    continue;
                };
                let is_read_only =
                    real.ancestors().any(|above| self.denied.read_only.contains(above));
                for name in
                    found.hidden.iter().chain(found.read_only.iter().filter(|_| !is_read_only))
                {
                    self.take_entry(&named.join(name), &real.join(name));
                }
                level.extend(found.directories.iter().map(|it| (named.join(it), real.join(it))));
                if found.count > self.left {
                    self.is_cut = true;
                    return;
                }
                self.left -= found.count;
            }
        }
        self.is_cut |= !level.is_empty();
    }

    /// Takes what was found in a directory, and what it leads to where it is a link.
    fn take_entry(&mut self, named: &Path, real: &Path) {
        let is_link = fs::symlink_metadata(real).is_ok_and(|found| found.is_symlink());
        if !is_link {
            self.take(named, real);
            return;
        }
        if let Ok(target) = fs::canonicalize(real)
            && is_shown(self.request, &target)
            && !visible_paths::is_of_system(&target)
            && !self.request.roots.iter().any(|root| root.starts_with(&target))
        {
            self.take(named, &target);
        }
    }

    /// Returns none if the directory cannot be listed.
    fn look(&self, named: &Path, real: &Path) -> Option<DirectoryMatches> {
        // Without the permission to enter, nothing can be told of what is listed.
        rustix::fs::access(real, rustix::fs::Access::EXEC_OK).ok()?;
        let mut found = DirectoryMatches::default();
        for entry in fs::read_dir(real).ok()? {
            let entry = entry.ok()?;
            let name = entry.file_name();
            let path = named.join(&name);
            found.count += 1;
            if found.count > ENTRIES {
                return Some(found);
            }
            if self.rules.hides(&path) {
                found.hidden.push(name);
                continue;
            }
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_directory && !self.is_skipped(&path) {
                found.directories.push(name.clone());
            }
            if self.rules.denies_write(&path) {
                found.read_only.push(name);
            }
        }
        Some(found)
    }

    /// Returns true if tools created the content of a directory and no rule names a path in it.
    fn is_skipped(&self, directory: &Path) -> bool {
        files::skip::is_regenerable(directory)
            && !self.starts.iter().any(|start| start.starts_with(directory))
    }
}

/// Returns true if a process sees a path, apart from system paths.
fn is_shown(request: &Request, path: &Path) -> bool {
    let home = request.home.iter();
    let toolchains = home
        .flat_map(|home| visible_paths::toolchains(home).into_iter().map(|name| home.join(name)));
    let is_in = |directory: &PathBuf| path.starts_with(directory);
    request.roots.iter().chain(&request.read).any(is_in)
        || toolchains.into_iter().any(|it| is_in(&it))
}
