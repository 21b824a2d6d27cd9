//! Git directories: which of their files git executes or obeys, and where a working tree keeps its
//! own. Only reads, and waits for no pipe.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use files::git::GitDirectories;
use files::path::normalize;

use crate::contents;
use crate::git_settings::{Setting, settings};

/// Files of a git directory that git executes or obeys, or that redirect it.
#[rustfmt::skip]
pub(crate) const PARTS: [&str; 7] = [
    "config", "config.worktree", "hooks", "info", "commondir", "objects/info/alternates",
    "objects/info/http-alternates",
];
/// The protected parts of a linked worktree below `worktrees`.
pub(crate) const WORKTREE_PARTS: [&str; 2] = ["commondir", "config.worktree"];

/// The longest file that is read.
const MAX_BYTES: u64 = 1 << 20;

/// Returns true if git takes a directory for a repository without a `.git`.
pub(crate) fn is_git_directory(directory: &Path) -> bool {
    let has = |name: &str| fs::symlink_metadata(directory.join(name)).is_ok();
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

/// The directory that a `.git` file names.
pub(crate) fn named_by(file: &Path) -> Option<PathBuf> {
    let target = path_in(file, b"gitdir: ")?;
    Some(normalize(&file.parent()?.join(target)))
}

/// The git directories of a linked worktree or submodule that lie outside of `workspace`, if they
/// name the workspace in turn: a hostile `.git` file grants only its own repository.
pub fn linked_git_directories(workspace: &Path) -> Option<GitDirectories> {
    let file = workspace.join(".git");
    if !fs::symlink_metadata(&file).ok()?.is_file() {
        return None;
    }
    let directory = fs::canonicalize(named_by(&file)?).ok()?;
    if directory.starts_with(workspace) {
        return None;
    }
    let back = path_in(&directory.join("gitdir"), b"");
    if back.is_some_and(|back| fs::canonicalize(directory.join(back)).ok() == Some(file)) {
        let common = path_in(&directory.join("commondir"), b"")?;
        let common = fs::canonicalize(directory.join(common)).ok()?;
        let is_inside = directory.starts_with(common.join("worktrees"));
        let is_plain = is_inside && is_git_directory(&common);
        return is_plain.then_some(GitDirectories { own: directory, common });
    }
    let settings = config(&directory)?;
    let worktree = settings.iter().rev().find(|setting| setting.is("core", "worktree"))?;
    let named = fs::canonicalize(directory.join(worktree.path())).ok()?;
    let is_plain = named == workspace && is_git_directory(&directory);
    is_plain.then(|| GitDirectories::single(&directory))
}

/// Paths below `tree` that the config of its git directory names: `core.hooksPath` and includes.
pub(crate) fn named_paths(git: &Path, tree: &Path) -> Vec<PathBuf> {
    let place = |setting: &Setting| match (setting.section.as_str(), setting.key.as_str()) {
        ("core", "hookspath") => Some(tree.join(setting.path())),
        ("include" | "includeif", "path") => Some(git.join(setting.path())),
        _ => None,
    };
    let all = config(git).unwrap_or_default();
    let named = all.iter().filter_map(place).map(|path| normalize(&path));
    let is_below =
        |path: &PathBuf| path.starts_with(tree) && path != tree && !path.starts_with(git);
    named.filter(is_below).collect()
}

/// Returns true if git created `worktree`, a directory below `worktrees` of `git`, or could have.
pub(crate) fn is_plain_worktree(git: &Path, worktree: &Path) -> bool {
    let common = path_in(&worktree.join("commondir"), b"");
    common.is_some_and(|common| normalize(&worktree.join(common)) == git)
        && fs::symlink_metadata(worktree.join("config.worktree")).is_err()
}

fn config(git: &Path) -> Option<Vec<Setting>> {
    settings(&contents::plain_file(&git.join("config"), MAX_BYTES).known()?)
}

/// The path that a file holds after some bytes.
fn path_in(file: &Path, before: &[u8]) -> Option<PathBuf> {
    let text = contents::plain_file(file, MAX_BYTES).known()?;
    let path = text.strip_prefix(before)?.trim_ascii_end();
    (!path.is_empty() && !path.contains(&0)).then(|| PathBuf::from(OsStr::from_bytes(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn config_names_hooks_and_includes_in_the_working_tree() {
        let tree = tempfile::tempdir().unwrap();
        let git = tree.path().join(".git");
        fs::create_dir(&git).unwrap();
        let text =
            "[core]\n\thooksPath = .husky\n[include]\n\tpath = ../tools/config\n\tpath = /etc/x\n";
        fs::write(git.join("config"), text).unwrap();
        let named = named_paths(&git, tree.path());
        assert_eq!(named, [tree.path().join(".husky"), tree.path().join("tools/config")]);
    }

    #[test]
    fn a_git_file_shows_only_a_repository_that_points_back() {
        let directory = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(directory.path()).unwrap();
        let (main, work) = (base.join("main/.git"), base.join("work"));
        let link = main.join("worktrees/work");
        fs::create_dir_all(&link).unwrap();
        fs::create_dir_all(main.join("objects")).unwrap();
        fs::create_dir(main.join("refs")).unwrap();
        fs::create_dir(&work).unwrap();
        fs::write(main.join("HEAD"), "ref: refs/heads/main").unwrap();
        fs::write(link.join("commondir"), "../..\n").unwrap();
        fs::write(work.join(".git"), format!("gitdir: {}\n", link.display())).unwrap();
        assert!(linked_git_directories(&work).is_none());
        fs::write(link.join("gitdir"), format!("{}\n", work.join(".git").display())).unwrap();
        let found = linked_git_directories(&work);
        assert_eq!(found, Some(GitDirectories { own: link, common: main }));
    }

    #[test]
    fn submodule_shows_only_a_directory_that_points_back() {
        let directory = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(directory.path()).unwrap();
        let (modules, work) = (base.join(".git/modules/sub"), base.join("sub"));
        fs::create_dir_all(modules.join("objects")).unwrap();
        fs::create_dir(modules.join("refs")).unwrap();
        fs::create_dir(&work).unwrap();
        fs::write(modules.join("HEAD"), "ref: refs/heads/main").unwrap();
        fs::write(work.join(".git"), "gitdir: ../.git/modules/sub\n").unwrap();
        fs::write(modules.join("config"), "[core]\n\tworktree = ../../../other\n").unwrap();
        assert!(linked_git_directories(&work).is_none());
        fs::write(modules.join("config"), "[core]\n\tworktree = ../../../sub\n").unwrap();
        assert_eq!(linked_git_directories(&work), Some(GitDirectories::single(&modules)));
        let long = "# nothing\n".repeat(200_000) + "[core]\n\tworktree = ../../../sub\n";
        fs::write(modules.join("config"), long).unwrap();
        assert!(linked_git_directories(&work).is_none());
    }
}
