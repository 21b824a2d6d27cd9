//! Files of a workspace that the settings of its repository lead git to: included settings, a folder
//! of hooks, programs of the project. Whoever can write them decides what git runs. Only reads.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use contract::text::normalize;

use crate::gitlinks::git_directory;
use crate::harmless::{Setting, settings};

const MOST_BYTES: u64 = 1 << 20;
const DEEPEST: usize = 5;
const MOST_HOOKS: usize = 64;
/// What ends a word in a setting or a script.
const SEPARATORS: &str = "'\"`;|&()<>=!";

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

/// The paths beneath `root` that the settings of its repository, of the user and of the system name.
/// Not all of them exist.
pub fn git_pointers(root: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    search(Search { root, home, missing: None, found: BTreeSet::new() })
}

/// Whether `path` would be one of them, or lie in one, if it were there.
pub(crate) fn names(root: &Path, home: Option<&Path>, path: &Path) -> bool {
    let found = search(Search { root, home, missing: Some(path), found: BTreeSet::new() });
    found.iter().any(|found| path.starts_with(found) || path.starts_with(real(found)))
}

fn search(mut search: Search<'_>) -> Vec<PathBuf> {
    let (root, home) = (search.root, search.home);
    let own = git_directory(root)
        .into_iter()
        .flat_map(|directory| ["config", "config.worktree"].map(|name| directory.join(name)));
    let user = home
        .into_iter()
        .flat_map(|home| [".gitconfig", ".config/git/config"].map(|name| home.join(name)));
    for file in own.chain(user).chain([PathBuf::from("/etc/gitconfig")]) {
        search.follow(&file, 0);
    }
    if let Some(directory) = git_directory(root) {
        search.links(&directory);
        search.hooks(&directory.join("hooks"));
    }
    for folder in search.found.clone() {
        search.hooks(&folder);
    }
    // Where the workspace holds them, the user's own settings are no less than the repository's.
    for own in [".config/brynhild", ".config/git", ".gitconfig"] {
        let path = home.map(|home| home.join(own));
        search.found.extend(path.and_then(|path| search.beneath(&path)));
    }
    search.found.into_iter().collect()
}

struct Search<'a> {
    root: &'a Path,
    home: Option<&'a Path>,
    /// A file that counts although it is not there.
    missing: Option<&'a Path>,
    found: BTreeSet<PathBuf>,
}

impl Search<'_> {
    fn follow(&mut self, file: &Path, depth: usize) {
        let is_small = fs::metadata(file).is_ok_and(|it| it.is_file() && it.len() <= MOST_BYTES);
        let text = if is_small { fs::read(file).unwrap_or_default() } else { Vec::new() };
        let text = String::from_utf8_lossy(&text).into_owned();
        for setting in settings(&text).unwrap_or_default() {
            if DATA.contains(&setting.section.as_str()) || setting.key == "worktree" {
                continue;
            }
            if setting.section.starts_with("include") {
                let base = file.parent().unwrap_or(self.root);
                let path = normalize(&base.join(self.at_home(setting.value.trim_matches('"'))));
                if depth < DEEPEST {
                    self.follow(&path, depth + 1);
                }
                self.found.extend(self.beneath(&path));
            } else {
                self.found.extend(self.named(&setting));
            }
        }
    }

    /// What the parts of a git directory that git obeys lead to, where they are links.
    fn links(&mut self, directory: &Path) {
        let parts = ["config", "config.worktree", "hooks", "info/attributes", "info/exclude"];
        for part in parts.map(|part| directory.join(part)) {
            self.link(&part);
        }
    }

    fn link(&mut self, path: &Path) {
        if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
            let target = fs::canonicalize(path).or_else(|_| {
                // It leads to what is not there yet.
                let folder = path.parent().unwrap_or(path);
                fs::read_link(path).map(|target| normalize(&folder.join(target)))
            });
            self.found.extend(target.ok().and_then(|target| self.beneath(&target)));
        }
    }

    /// What the hooks in a folder lead to, and the scripts of the project that they name.
    fn hooks(&mut self, folder: &Path) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_HOOKS) {
            let path = entry.path();
            self.link(&path);
            let is_sample = path.extension().is_some_and(|it| it == "sample");
            let is_small =
                fs::metadata(&path).is_ok_and(|it| it.is_file() && it.len() <= MOST_BYTES);
            if is_sample || !is_small {
                continue;
            }
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
            let words = text.split(|c: char| c.is_whitespace() || SEPARATORS.contains(c));
            let words = words.filter(|word| word.contains('/') && !word.starts_with('/'));
            let paths = words.filter_map(|word| self.beneath(&normalize(&self.root.join(word))));
            let could_be_script = |path: &Path| {
                self.is_missing(path) && (has_ending(path) || path.extension().is_none())
            };
            let is_named = |path: &PathBuf| is_script(path) || could_be_script(path);
            let scripts: Vec<PathBuf> = paths.filter(is_named).collect();
            self.found.extend(scripts);
        }
    }

    /// What a setting names: as a whole where it is a path, otherwise by each word that is there.
    fn named(&self, setting: &Setting<'_>) -> Vec<PathBuf> {
        let value = setting.value.trim_matches('"');
        if setting.key == "hookspath" {
            let path = normalize(&self.root.join(self.at_home(value)));
            // What makes hooks itself keeps those that people write in the folder above its own.
            let path = if path.ends_with("_") { path.parent().unwrap_or(&path) } else { &path };
            return self.beneath(path).into_iter().collect();
        }
        let words = value.split(|c: char| c.is_whitespace() || SEPARATORS.contains(c));
        let words = words.filter(|word| word.contains('/') || word.starts_with('.'));
        let paths = words.filter_map(|word| self.beneath(&normalize(&self.root.join(word))));
        let is_there = |path: &PathBuf| fs::symlink_metadata(path).is_ok() || self.is_missing(path);
        paths.filter(is_there).collect()
    }

    /// Whether it is the file that counts although it is not there.
    fn is_missing(&self, path: &Path) -> bool {
        self.missing.is_some_and(|missing| missing == path || missing == real(path))
    }

    /// A path with the home in place of `~`.
    fn at_home(&self, path: &str) -> PathBuf {
        match (path.strip_prefix("~/"), self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(path),
        }
    }

    /// A path where it lies beneath the root and is not the root.
    fn beneath(&self, path: &Path) -> Option<PathBuf> {
        let is_git = path.starts_with(self.root.join(".git"));
        (path.starts_with(self.root) && path != self.root && !is_git).then(|| path.to_owned())
    }
}

/// A path whose links are followed as far as something is there.
fn real(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|above| {
        let below = path.strip_prefix(above).ok()?;
        Some((fs::canonicalize(above).ok()?, below))
    });
    found.map_or_else(|| path.to_owned(), |(above, below)| above.join(below))
}

/// Whether a file is one that is run.
fn is_script(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| {
        found.is_file() && (found.permissions().mode() & 0o111 != 0 || has_ending(path))
    })
}

fn has_ending(path: &Path) -> bool {
    let ending = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    ["sh", "bash", "py", "js", "mjs", "rb", "pl", "php", "lua"].contains(&ending)
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
        assert_eq!(git_pointers(root, None), wanted);
    }

    #[test]
    fn hooks_of_the_user_s_settings_and_those_above_made_ones_are_found() {
        let base = tempfile::tempdir().unwrap();
        let (root, home) = (base.path().join("w"), base.path().join("home"));
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir_all(&home).unwrap();
        fs::write(home.join(".gitconfig"), "[include]\n\tpath = ~/more\n").unwrap();
        fs::write(home.join("more"), "[core]\n\thooksPath = .githooks\n").unwrap();
        fs::write(root.join(".git/config"), "[core]\n\thooksPath = .husky/_\n").unwrap();
        let wanted = [".githooks", ".husky"].map(|name| root.join(name));
        assert_eq!(git_pointers(&root, Some(&home)), wanted);
    }

    #[test]
    fn links_of_the_git_directory_and_scripts_that_hooks_name_are_found() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        for folder in [".git/hooks", ".git/info", "scripts", "src", ".config/brynhild"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in ["scripts/pc", "scripts/check.sh", "cfg", "at", "src/a.rs"] {
            fs::write(root.join(file), "").unwrap();
        }
        let link = |target: &str, path: &str| {
            std::os::unix::fs::symlink(target, root.join(path)).unwrap();
        };
        link("../../scripts/pc", ".git/hooks/pre-commit");
        link("../cfg", ".git/config");
        link("../../at", ".git/info/attributes");
        let hook = "#!/bin/sh\nexec ./scripts/check.sh src/ src/a.rs\n";
        fs::write(root.join(".git/hooks/pre-push"), hook).unwrap();
        let own = [".config/brynhild", ".config/git", ".gitconfig"];
        let named = ["at", "cfg", "scripts/check.sh", "scripts/pc"];
        let wanted: Vec<_> = own.iter().chain(&named).map(|name| root.join(name)).collect();
        assert_eq!(git_pointers(&root, Some(&root)), wanted);
    }
}
