//! Finds protected paths: in the whole tree once, and at single paths that changed.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use files::protected::protected;
use files::skip;

use super::{State, Tree};
use crate::git_directory::{self, PARTS, WORKTREE_PARTS, is_git_directory};
use crate::quarantine::QUARANTINE;

/// The kind of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A part of a known repository, or a path that its config names.
    Part(PathBuf),
    /// A protected name.
    Name(PathBuf),
    /// A `.git` file, directory or symlink.
    Git(PathBuf),
    /// A directory that git takes for a repository.
    Bare(PathBuf),
    /// A repository below `modules` of another one.
    Module(PathBuf),
    /// A linked worktree below `worktrees` of a repository.
    Worktree(PathBuf),
    /// None of these.
    Plain,
}

impl Tree {
    /// Adds all protected paths of the tree to `state`.
    pub(super) fn scan(&self, state: &mut State) {
        let mut directories = vec![self.root.clone()];
        while let Some(directory) = directories.pop() {
            if is_git_directory(&directory) {
                state.add_git_directory(&directory);
                continue;
            }
            let Ok(entries) = fs::read_dir(&directory) else {
                state.closed.insert(directory);
                continue;
            };
            for entry in entries.flatten() {
                let (name, path) = (entry.file_name(), directory.join(entry.file_name()));
                match protected_name(&directory, &name) {
                    Some(".git") => state.add_git(&path),
                    Some(_) => state.guard(path),
                    None if entry.file_type().is_ok_and(|kind| kind.is_dir())
                        && !is_skipped(&self.root, &path) =>
                    {
                        directories.push(path);
                    }
                    None => {}
                }
            }
        }
        state.add_named(&self.root);
    }
}

/// Returns true if a directory is neither scanned nor watched.
fn is_skipped(root: &Path, directory: &Path) -> bool {
    directory.parent() == Some(root) && is_quarantine(directory) || skip::is_regenerable(directory)
}

fn is_quarantine(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(QUARANTINE))
}

/// The protected name that an entry has in some spelling.
fn protected_name(directory: &Path, name: &OsStr) -> Option<&'static str> {
    // Most names are ruled out by their first letter.
    let bytes = name.as_encoded_bytes();
    let first = bytes.first().map_or(0, u8::to_ascii_lowercase);
    if bytes.is_ascii() && !b".cgmo".contains(&first) {
        let is_github = || name.eq_ignore_ascii_case("hooks");
        return is_github()
            .then(|| protected(Path::new(directory.file_name()?).join(name)))
            .flatten()
            .filter(|it| *it == ".github/hooks");
    }
    protected(name)
}

impl State {
    /// Guards a `.git`: a directory with its parts, a file or symlink as such.
    pub(super) fn add_git(&mut self, path: &Path) {
        if fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
            self.add_git_directory(path);
        } else {
            self.guard(path.to_owned());
        }
    }

    /// Guards a git directory with its modules and worktrees.
    pub(super) fn add_git_directory(&mut self, git: &Path) {
        self.add_repository(git);
        for entry in fs::read_dir(git.join("worktrees")).into_iter().flatten().flatten() {
            self.add_worktree(&entry.path());
        }
        let mut directories = vec![git.join("modules")];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let path = entry.path();
                if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    continue;
                }
                if is_git_directory(&path) {
                    self.add_git_directory(&path);
                } else {
                    directories.push(path);
                }
            }
        }
    }

    pub(super) fn add_worktree(&mut self, worktree: &Path) {
        for part in WORKTREE_PARTS {
            self.guard(worktree.join(part));
        }
    }

    /// Guards the paths of the tree that its config names.
    pub(super) fn add_named(&mut self, root: &Path) {
        let git = root.join(".git");
        if self.repositories.contains_key(&git) {
            for path in git_directory::named_paths(&git, root) {
                self.guard(path);
            }
        }
    }

    /// Reads again what a change outside of the sandbox concerns.
    pub(super) fn refresh(&mut self, root: &Path, path: &Path) {
        let kind = self.kind(root, path);
        let is_gone = fs::symlink_metadata(path).is_err();
        if is_gone {
            self.forget(path);
        }
        match kind {
            Kind::Part(part) => self.guard(part),
            Kind::Name(name) if fs::symlink_metadata(&name).is_err() => self.forget(&name),
            Kind::Name(name) => self.guard(name),
            Kind::Git(git) | Kind::Bare(git) | Kind::Module(git) => {
                if !self.repositories.contains_key(&git) || git == path {
                    self.forget(&git);
                    if fs::symlink_metadata(&git).is_ok() {
                        self.add_git(&git);
                    }
                }
            }
            Kind::Worktree(worktree) => self.add_worktree(&worktree),
            Kind::Plain => {}
        }
        if path == root.join(".git/config") || path == root.join(".git") {
            self.add_named(root);
        }
    }

    /// Classifies a path below `root`.
    pub(super) fn kind(&self, root: &Path, path: &Path) -> Kind {
        let Ok(below) = path.strip_prefix(root) else { return Kind::Plain };
        if below.iter().next().is_some_and(|first| is_quarantine(Path::new(first))) {
            return Kind::Plain;
        }
        if let Some(git) = self.repository_around(path).filter(|git| *git != path) {
            return kind_within(git, path);
        }
        if let Some(known) = path.ancestors().find(|it| self.guards.contains_key(*it)) {
            return Kind::Part(known.to_owned());
        }
        let mut above = root.to_owned();
        for name in below {
            let found = protected_name(&above, name);
            above.push(name);
            match found {
                Some(".git") => return Kind::Git(above),
                Some(_) => return Kind::Name(above),
                None => {}
            }
        }
        let names = ["HEAD", "objects", "refs", "commondir", "config"];
        let parent = path.parent().unwrap_or(root);
        if is_git_directory(path) {
            Kind::Bare(path.to_owned())
        } else if path.file_name().is_some_and(|name| names.iter().any(|it| name == *it))
            && is_git_directory(parent)
        {
            Kind::Bare(parent.to_owned())
        } else {
            Kind::Plain
        }
    }
}

/// Classifies a path in a known repository.
fn kind_within(git: &Path, path: &Path) -> Kind {
    let Ok(below) = path.strip_prefix(git) else { return Kind::Plain };
    if let Some(part) = PARTS.iter().find(|part| below.starts_with(part)) {
        return Kind::Part(git.join(part));
    }
    let mut parts = below.iter();
    match (parts.next().and_then(OsStr::to_str), parts.next()) {
        (Some("worktrees"), Some(name)) => Kind::Worktree(git.join("worktrees").join(name)),
        (Some("modules"), Some(_)) => {
            let modules = git.join("modules");
            let within = path.ancestors().take_while(|above| *above != modules);
            let found = within.filter(|above| is_git_directory(above)).last();
            found.map_or(Kind::Plain, |module| Kind::Module(module.to_owned()))
        }
        _ => Kind::Plain,
    }
}
