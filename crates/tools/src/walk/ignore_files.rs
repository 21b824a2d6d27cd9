//! Ignore files. They are read here and not by the `ignore` crate, which opens whatever has their
//! name: it would wait forever for a pipe, and read a device or a file of any size.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use ::files::bounded;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The largest ignore file that is read, in bytes.
const MAX_SIZE: u64 = 1 << 20;
const GITIGNORE: &str = ".gitignore";
const EXCLUDE: &str = "info/exclude";

/// The ignore files that are used.
#[derive(Clone, Default)]
pub struct Sources {
    /// Their names in a directory, the stronger first. `.gitignore` includes `.git/info/exclude`.
    pub names: Vec<&'static str>,
    /// The user's own file, the weakest of all.
    pub global: Option<PathBuf>,
    /// True if those of git are used only in a repository, and only up to its root.
    pub repositories_only: bool,
    /// True if those above the start of a walk are used.
    pub above: bool,
}

/// The ignore files of a walk, each read once.
pub struct IgnoreFiles {
    sources: Sources,
    /// The start of the walk with symlinks resolved.
    real: PathBuf,
    /// The start as the walk names it, if that is another path.
    start: Option<PathBuf>,
    directories: RwLock<HashMap<OsString, Arc<Level>>>,
    unread: AtomicBool,
}

/// The rules in force in a directory.
#[derive(Default)]
struct Level {
    above: Option<Arc<Level>>,
    rules: Vec<(Strength, Gitignore)>,
    is_repository: bool,
    is_in_repository: bool,
}

/// Rules of the stronger kind win in any directory; of one kind, those of the nearest directory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strength {
    Named(usize),
    Exclude,
    Global,
}

impl IgnoreFiles {
    /// The ignore files of a walk from a directory.
    pub fn new(start: &Path, sources: Sources) -> Self {
        let real = start.canonicalize().unwrap_or_else(|_| start.to_owned());
        let start = (start != real).then(|| start.to_owned());
        let (directories, unread) = (RwLock::default(), AtomicBool::new(false));
        Self { sources, real, start, directories, unread }
    }

    /// Returns true if one is a pipe or a device, or is too large.
    pub(super) fn has_unread(&self) -> bool {
        self.unread.load(Ordering::Relaxed)
    }

    pub(crate) fn matched(&self, path: &Path, is_directory: bool) -> Match<()> {
        let below = self.start.as_ref().and_then(|start| path.strip_prefix(start).ok());
        let real = below.map(|below| self.real.join(below));
        let path = real.as_deref().unwrap_or(path);
        let Some(directory) = path.parent() else { return Match::None };
        let level = self.level(directory);
        let named = (0..self.sources.names.len()).map(Strength::Named);
        let mut matches = named
            .chain([Strength::Exclude, Strength::Global])
            .map(|strength| self.of_strength(strength, &level, path, is_directory));
        matches.find(|found| !found.is_none()).unwrap_or(Match::None)
    }

    fn of_strength(
        &self,
        strength: Strength,
        level: &Arc<Level>,
        path: &Path,
        is_directory: bool,
    ) -> Match<()> {
        let is_bound = self.sources.repositories_only
            && match strength {
                Strength::Named(at) => self.sources.names[at] == GITIGNORE,
                Strength::Exclude | Strength::Global => true,
            };
        if is_bound && !level.is_in_repository {
            return Match::None;
        }
        let mut level = Some(level);
        while let Some(this) = level {
            let rules = this.rules.iter().filter(|(kind, _)| *kind == strength);
            for (_, rules) in rules {
                let found = rules.matched(path, is_directory).map(drop);
                if !found.is_none() {
                    return found;
                }
            }
            if is_bound && this.is_repository && strength != Strength::Global {
                return Match::None;
            }
            level = this.above.as_ref();
        }
        Match::None
    }

    /// The rules in a directory. They are read when the first name in it is matched.
    fn level(&self, directory: &Path) -> Arc<Level> {
        let known = self.directories.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(level) = known.get(directory.as_os_str()) {
            return Arc::clone(level);
        }
        drop(known);
        let above = match directory.parent() {
            Some(parent) if directory != self.real => self.level(parent),
            _ => self.above(),
        };
        let level = self.within(above, directory, true);
        let mut known = self.directories.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(directory.as_os_str().to_owned(), Arc::clone(&level));
        level
    }

    /// The rules from outside of the walk.
    fn above(&self) -> Arc<Level> {
        let mut level = Level::default();
        if let Some(text) = self.sources.global.as_deref().and_then(|path| self.read(path)) {
            level.rules.push((Strength::Global, rules(&self.real, &text)));
        }
        let mut directories: Vec<&Path> = self.real.ancestors().skip(1).collect();
        directories.reverse();
        let within = |level, directory| self.within(level, directory, self.sources.above);
        directories.into_iter().fold(Arc::new(level), within)
    }

    /// The rules in a directory, from those above it, which a directory without rules shares.
    fn within(&self, above: Arc<Level>, directory: &Path, is_used: bool) -> Arc<Level> {
        let bounds = self.sources.repositories_only;
        let is_repository =
            bounds && [".git", ".jj"].iter().any(|name| directory.join(name).exists());
        let files = if is_used { self.files(directory) } else { Vec::new() };
        let read = |(strength, path): (Strength, PathBuf)| {
            Some((strength, rules(directory, &self.read(&path)?)))
        };
        let rules: Vec<(Strength, Gitignore)> = files.into_iter().filter_map(read).collect();
        if rules.is_empty() && !is_repository {
            return above;
        }
        let is_in_repository = is_repository || above.is_in_repository;
        Arc::new(Level { above: Some(above), rules, is_repository, is_in_repository })
    }

    /// The possible ignore files of a directory.
    fn files(&self, directory: &Path) -> Vec<(Strength, PathBuf)> {
        let named = |(at, name): (usize, &&str)| (Strength::Named(at), directory.join(name));
        let mut files: Vec<_> = self.sources.names.iter().enumerate().map(named).collect();
        if self.sources.names.contains(&GITIGNORE)
            && let Some(repository) = self.repository(&directory.join(".git"))
        {
            files.push((Strength::Exclude, repository.join(EXCLUDE)));
        }
        files
    }

    /// The directory that worktrees of a repository share, from its `.git`.
    fn repository(&self, git: &Path) -> Option<PathBuf> {
        let kind = git.metadata().ok()?;
        if kind.is_dir() {
            return Some(git.to_owned());
        }
        let line = |path: &Path| {
            let text = String::from_utf8(self.read(path)?).ok()?;
            text.lines().next().map(str::to_owned)
        };
        let own = git.parent()?.join(line(git)?.strip_prefix("gitdir: ")?);
        let shared = line(&own.join("commondir"))?;
        Some(own.join(shared))
    }

    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        // Opening a device can have an effect of its own, so look first.
        let before = path.metadata().ok().filter(|before| !before.is_dir())?;
        let text = if before.is_file() { bounded::read(path, MAX_SIZE) } else { Ok(None) };
        let is_unread = match &text {
            Ok(text) => text.is_none(),
            // Programs that may not open it ignore it, too.
            Err(error) => error.kind() == io::ErrorKind::InvalidInput,
        };
        self.unread.fetch_or(is_unread, Ordering::Relaxed);
        text.ok().flatten()
    }
}

/// The rules of a text, as `rg` reads them: up to the first line that is not UTF-8, without invalid
/// patterns.
fn rules(directory: &Path, text: &[u8]) -> Gitignore {
    let mut builder = GitignoreBuilder::new(directory);
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    for line in text.split(|byte| *byte == b'\n') {
        let Ok(line) = str::from_utf8(line) else { break };
        let _ = builder.add_line(None, line.strip_suffix('\r').unwrap_or(line));
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
