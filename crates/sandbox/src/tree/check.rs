//! Examines a tree after a process that could write: restores changed copies and moves new
//! protected files and repositories to quarantine.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use files::changes::Changes;
use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::scan::Kind;
use super::{ProtectedMounts, State, Tree, identity, real_identity};
use crate::git_directory;
use crate::quarantine::{make_writable, quarantine};

/// The result of a check.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Paths that were moved, with their places in the quarantine.
    pub(crate) quarantined: Vec<(PathBuf, PathBuf)>,
    /// Paths whose earlier content was restored.
    pub(crate) restored: Vec<PathBuf>,
    /// True if git wrote a commit message in the repository at the top.
    pub(crate) is_commit: bool,
    /// Errors.
    pub(crate) failed: Vec<io::Error>,
}

struct Check<'a> {
    tree: &'a Tree,
    state: &'a mut State,
    mounts: &'a ProtectedMounts,
    outcome: Outcome,
    /// Guards that were compared.
    compared: BTreeSet<PathBuf>,
}

impl Tree {
    /// Examines `changes`.
    pub(super) fn check(
        &self,
        state: &mut State,
        changes: Changes,
        mounts: &ProtectedMounts,
        private: &[PathBuf],
    ) -> Outcome {
        let mut paths = match changes {
            Changes::Paths(paths) => paths,
            Changes::Unknown => {
                let mut found = State::default();
                self.scan(&mut found);
                let known = state.guards.keys().cloned();
                let known =
                    known.chain(found.guards.into_keys()).chain(found.repositories.into_keys());
                known.chain(found.closed.difference(&state.closed).cloned()).collect()
            }
        };
        paths.extend(hidden_below(&paths));
        let is_commit = paths.contains(&self.root.join(".git/COMMIT_EDITMSG"));
        let outcome = Outcome { is_commit, ..Outcome::default() };
        let mut check = Check { tree: self, state, mounts, outcome, compared: BTreeSet::new() };
        for path in &paths {
            if !private.iter().any(|own| path.starts_with(own)) {
                check.examine(path);
            }
        }
        let outcome = check.outcome;
        for path in paths.iter().filter(|path| fs::symlink_metadata(path).is_err()) {
            let below = state.repositories.range(path.clone()..).map(|(git, _)| git.clone());
            for git in below.take_while(|git| git.starts_with(path)).collect::<Vec<_>>() {
                state.forget(&git);
            }
        }
        outcome
    }
}

/// Paths in changed directories that cannot be listed: nobody reports what was planted there.
fn hidden_below(paths: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let is_closed = |path: &PathBuf| {
        let is_directory = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
        is_directory && access(path, Access::READ_OK | Access::EXEC_OK) == Err(Errno::ACCESS)
    };
    let mut closed: Vec<PathBuf> = paths.iter().filter(|path| is_closed(path)).cloned().collect();
    while let Some(directory) = closed.pop() {
        make_writable(&directory);
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            found.push(entry.path());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                closed.push(entry.path());
            }
        }
    }
    found
}

impl Check<'_> {
    fn examine(&mut self, path: &Path) {
        let is_directory = |path: &Path| fs::symlink_metadata(path).is_ok_and(|it| it.is_dir());
        if self.state.repositories.contains_key(path) && !is_directory(path) {
            self.state.forget(path);
            self.remove(path);
        }
        self.compare_below(path);
        match self.state.kind(&self.tree.root, path) {
            Kind::Part(part) => self.compare(&part),
            Kind::Name(name) => self.remove(&name),
            Kind::Git(git) if self.state.repositories.contains_key(&git) => {
                self.compare_below(&git);
            }
            Kind::Git(git) => self.judge_git(&git),
            Kind::Bare(directory) => {
                if !self.state.repositories.contains_key(&directory) && !self.is_moved(&directory) {
                    self.remove(&directory.join("HEAD"));
                }
            }
            Kind::Module(module) => self.remove(&module),
            Kind::Worktree(worktree) => self.judge_worktree(&worktree),
            Kind::Plain => {}
        }
    }

    /// Compares the guards at and below a path that changed as a whole.
    fn compare_below(&mut self, path: &Path) {
        let guards = self.state.guards.range(path.to_owned()..);
        let below = guards.map(|(key, _)| key).take_while(|key| key.starts_with(path));
        for guard in below.cloned().collect::<Vec<_>>() {
            self.compare(&guard);
        }
    }

    /// Restores a guarded path if it differs from its copy.
    fn compare(&mut self, path: &Path) {
        if !self.compared.insert(path.to_owned()) {
            return;
        }
        let Some(guard) = self.state.guards.get(path) else { return self.remove(path) };
        let parent = path.parent().and_then(real_identity);
        let is_mounted = self.mounts.read_only.iter().any(|mounted| path == mounted);
        if is_mounted && guard.parent == parent {
            // The process could not change it, so somebody else did.
            self.state.guard(path.to_owned());
            return;
        }
        if !guard.saved.is_present() {
            return self.remove(path);
        }
        if parent.is_none() {
            self.state.guards.remove(path);
            return;
        }
        match guard.saved.restore(&self.tree.root, path) {
            Ok(changed) => self.outcome.restored.extend(changed),
            Err(error) => self.outcome.failed.push(error),
        }
    }

    /// Moves a path to quarantine.
    fn remove(&mut self, path: &Path) {
        match quarantine(&self.tree.root, path) {
            Ok(None) => {}
            Ok(Some(place)) => self.outcome.quarantined.push((path.to_owned(), place)),
            Err(error) => self.outcome.failed.push(error),
        }
    }

    /// Leaves a new `.git` only if it belongs to a repository that was there before.
    fn judge_git(&mut self, git: &Path) {
        let Ok(found) = fs::symlink_metadata(git) else { return };
        if found.is_file() && self.leads_to_known(git) {
            self.state.guard(git.to_owned());
        } else if !(found.is_dir() && self.is_moved(git)) {
            self.remove(git);
        }
    }

    /// Returns true if a `.git` file names a module or worktree of the repository at the top.
    fn leads_to_known(&mut self, file: &Path) -> bool {
        let top = self.tree.root.join(".git");
        let Some(named) = git_directory::named_by(file) else { return false };
        if named.parent() == Some(&top.join("worktrees")) {
            self.judge_worktree(&named);
            return git_directory::is_plain_worktree(&top, &named);
        }
        named.starts_with(top.join("modules")) && self.state.repositories.contains_key(&named)
    }

    /// Takes over the copies of a git directory that was renamed and is otherwise unchanged.
    fn is_moved(&mut self, git: &Path) -> bool {
        let found = identity(git);
        let mut known = self.state.repositories.iter();
        let old = known.find(|(path, known)| Some(**known) == found && path.as_path() != git);
        let Some(old) = old.map(|(path, _)| path.clone()) else { return false };
        let is_same = |part: &&str| {
            let saved = self.state.guards.get(&old.join(part)).map(|guard| &guard.saved);
            saved == Some(&crate::saved::Saved::read(&git.join(part)))
        };
        let is_moved = git_directory::PARTS.iter().all(is_same);
        if is_moved {
            self.state.add_git_directory(git);
        }
        is_moved
    }

    /// Leaves a worktree of the repository only if git could have created it like this.
    fn judge_worktree(&mut self, worktree: &Path) {
        let Some(git) = worktree.parent().and_then(Path::parent) else { return };
        let is_known = self.state.guards.contains_key(&worktree.join("commondir"));
        if fs::symlink_metadata(worktree).is_err() {
            self.state.forget(worktree);
        } else if is_known {
            self.compare_below(worktree);
        } else if git_directory::is_plain_worktree(git, worktree) {
            self.state.add_worktree(worktree);
        } else {
            self.remove(worktree);
        }
    }
}
