//! Files of a workspace that the settings of its repository lead git to: included settings, a folder
//! of hooks, programs of the project. Whoever can write them decides what git runs. Only reads.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use contract::text::normalize;

use crate::gitlinks::git_directory;
use crate::harmless::{Setting, settings};

const MOST_BYTES: u64 = 1 << 20;
const DEEPEST: usize = 5;

/// Sections whose settings lead to no file.
const DATA: [&str; 10] = [
    "author",
    "branch",
    "color",
    "committer",
    "extensions",
    "http",
    "lfs",
    "remote",
    "url",
    "user",
];

/// The paths beneath `root` that its repository's settings name. Not all of them exist.
pub fn git_pointers(root: &Path) -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    if let Some(directory) = git_directory(root) {
        for name in ["config", "config.worktree"] {
            follow(root, &directory.join(name), 0, &mut found);
        }
    }
    found.into_iter().collect()
}

fn follow(root: &Path, file: &Path, depth: usize, found: &mut BTreeSet<PathBuf>) {
    let is_small = fs::metadata(file).is_ok_and(|it| it.is_file() && it.len() <= MOST_BYTES);
    let text = if is_small { fs::read(file).unwrap_or_default() } else { Vec::new() };
    let text = String::from_utf8_lossy(&text).into_owned();
    for setting in settings(&text).unwrap_or_default() {
        if DATA.contains(&setting.section.as_str()) || setting.key == "worktree" {
            continue;
        }
        let is_include = setting.section.starts_with("include");
        let base = if is_include { file.parent().unwrap_or(root) } else { root };
        for path in paths(root, base, &setting, is_include) {
            if is_include && depth < DEEPEST {
                follow(root, &path, depth + 1, found);
            }
            found.insert(path);
        }
    }
}

/// What a setting names: as a whole where it is a path, otherwise by each word that is there.
fn paths(root: &Path, base: &Path, setting: &Setting<'_>, is_include: bool) -> Vec<PathBuf> {
    let value = setting.value.trim_matches('"');
    if is_include || setting.key == "hookspath" {
        return beneath(root, base, value).into_iter().collect();
    }
    let words = value.split(|c: char| c.is_whitespace() || "'\"`;|&()<>=!".contains(c));
    let words = words.filter(|word| word.contains('/') || word.starts_with('.'));
    let paths = words.filter_map(|word| beneath(root, base, word));
    paths.filter(|path| fs::symlink_metadata(path).is_ok()).collect()
}

/// A path as text, without `..`, where it lies beneath the root and is not the root.
fn beneath(root: &Path, base: &Path, word: &str) -> Option<PathBuf> {
    let path = normalize(&base.join(word));
    let is_git = path.starts_with(root.join(".git"));
    (path.starts_with(root) && path != root && !is_git && !word.is_empty()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn included_settings_hooks_and_programs_of_the_project_are_found() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path();
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            ".git/config",
            "[core]\n\thooksPath = .husky\n\tbare = false\n[include]\n\tpath = ../tools/gitconfig\n\
             [remote \"origin\"]\n\turl = ./tools/x\n[branch \"m\"]\n\tmerge = refs/heads/m\n",
        );
        write("tools/gitconfig", "[filter \"f\"]\n\tclean = sh tools/clean.sh %f\n");
        write("tools/clean.sh", "cat");
        write("tools/x", "");
        let wanted = [".husky", "tools/clean.sh", "tools/gitconfig"].map(|name| root.join(name));
        assert_eq!(git_pointers(root), wanted);
    }
}
