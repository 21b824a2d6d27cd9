//! What ignore files leave out of a walk. They are read here and not by the `ignore` crate, which
//! opens whatever has their name: it would wait without end for a pipe, and read a device or a
//! file of any size.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{Mode, OFlags};

/// Larger ones are not read.
const LARGEST: u64 = 1 << 20;
const GITIGNORE: &str = ".gitignore";
const EXCLUDE: &str = "info/exclude";

/// Which ignore files count.
#[derive(Clone, Default)]
pub struct Sources {
    /// Their names in a directory, the stronger first. With `.gitignore`, `.git/info/exclude` counts too.
    pub names: Vec<&'static str>,
    /// The user's own list, the weakest of all.
    pub global: Option<PathBuf>,
    /// Whether those of git count only in a repository, and only up to its root.
    pub repositories_only: bool,
    /// Whether those above the directory where a walk begins count.
    pub above: bool,
}

/// The ignore files that a walk comes upon, each read once.
pub struct IgnoreFiles {
    sources: Sources,
    /// The directory where the walk begins, with links resolved: it tells what is above.
    real: PathBuf,
    /// The same as the walk names it, where that is another path.
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

/// Rules of the stronger kind win wherever they are; of one kind, those of the nearest directory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strength {
    Named(usize),
    Exclude,
    Global,
}

impl IgnoreFiles {
    /// Those of a walk that begins at a directory.
    pub fn new(start: &Path, sources: Sources) -> Self {
        let real = start.canonicalize().unwrap_or_else(|_| start.to_owned());
        let start = (start != real).then(|| start.to_owned());
        Self {
            sources,
            real,
            start,
            directories: RwLock::default(),
            unread: AtomicBool::new(false),
        }
    }

    /// Whether one was left unread that says what nobody here knows: a pipe, a device, a file
    /// that is too large.
    pub(super) fn has_unread(&self) -> bool {
        self.unread.load(Ordering::Relaxed)
    }

    /// What they say of a path of the walk.
    pub(crate) fn matched(&self, path: &Path, is_directory: bool) -> Match<()> {
        let below = self.start.as_ref().and_then(|start| path.strip_prefix(start).ok());
        let real = below.map(|below| self.real.join(below));
        let path = real.as_deref().unwrap_or(path);
        let Some(directory) = path.parent() else { return Match::None };
        let level = self.level(directory);
        let named = (0..self.sources.names.len()).map(Strength::Named);
        for strength in named.chain([Strength::Exclude, Strength::Global]) {
            let found = self.of_strength(strength, &level, path, is_directory);
            if !found.is_none() {
                return found;
            }
        }
        Match::None
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

    /// The rules in a directory, which are read when its first name is asked about.
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

    /// The rules in a directory, from those above it. One that says nothing of its own shares these.
    fn within(&self, above: Arc<Level>, directory: &Path, counts: bool) -> Arc<Level> {
        let bounds = self.sources.repositories_only;
        let is_repository =
            bounds && [".git", ".jj"].iter().any(|name| directory.join(name).exists());
        let files = if counts { self.files(directory) } else { Vec::new() };
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

    /// Where the ignore files of a directory would be.
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
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let mut text = Vec::new();
        let is_read = before.is_file() && {
            // One that may not be opened says nothing to anyone.
            let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
            file.metadata().is_ok_and(|opened| opened.is_file())
                && file.take(LARGEST + 1).read_to_end(&mut text).is_ok()
                && text.len() as u64 <= LARGEST
        };
        if !is_read {
            self.unread.store(true, Ordering::Relaxed);
        }
        is_read.then_some(text)
    }
}

/// The rules of a text, as `rg` takes them: up to the first line that is no text, without those
/// that are no pattern.
fn rules(directory: &Path, text: &[u8]) -> Gitignore {
    let mut builder = GitignoreBuilder::new(directory);
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    for line in text.split(|byte| *byte == b'\n') {
        let Ok(line) = str::from_utf8(line) else { break };
        let _ = builder.add_line(None, line.strip_suffix('\r').unwrap_or(line));
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
