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
const SEPARATORS: &str = "'\"`;|&()<>=!\\";
/// So many folders are words of one text looked for in.
const MOST_FOLDERS: usize = 8;
/// Programs that run the file they are given.
const INTERPRETERS: [&str; 15] = [
    "bash", "bun", "dash", "deno", "fish", "ksh", "lua", "node", "perl", "php", "python", "ruby",
    "sh", "source", "zsh",
];

/// Sections whose settings lead to no file.
const DATA: [&str; 11] = [
    "author",
    "branch",
    "color",
    "committer",
    "extensions",
    "http",
    "lfs",
    "remote",
    "safe",
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
        // Where the whole is not understood, each line counts by itself.
        let by_line = || text.lines().filter_map(settings).flatten().collect();
        for setting in settings(&text).unwrap_or_else(by_line) {
            if DATA.contains(&setting.section.as_str()) || setting.key == "worktree" {
                continue;
            }
            let is_unplaced = setting.section.is_empty() && setting.key == "path";
            if setting.section.starts_with("include") || is_unplaced {
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
            let could_be_script = |path: &Path| {
                self.is_missing(path) && (has_ending(path) || path.extension().is_none())
            };
            let is_named = |path: &PathBuf| is_script(path) || could_be_script(path);
            let mut scripts = self.meant(&text, folder);
            scripts.retain(is_named);
            self.found.extend(scripts);
        }
    }

    /// The paths beneath the root that the words of a text could mean to a shell in `folder`: those
    /// that are written as paths, and what an interpreter is given.
    fn meant(&self, text: &str, folder: &Path) -> Vec<PathBuf> {
        let words = text.split(|c: char| c.is_whitespace() || SEPARATORS.contains(c));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let mut folders = vec![self.root.to_owned(), folder.to_owned()];
        for pair in words.windows(2).filter(|pair| pair[0] == "cd") {
            let entered: Vec<PathBuf> =
                folders.iter().flat_map(|folder| self.spelled(pair[1], folder)).collect();
            let entered = entered.into_iter().filter(|path| self.beneath(path).is_some());
            folders.extend(entered.take(MOST_FOLDERS.saturating_sub(folders.len())));
        }
        let mut found = Vec::new();
        let mut interpreter = None;
        for word in words {
            let is_option = word.starts_with('-');
            if word.contains('/') || word.starts_with('.') || interpreter.is_some() && !is_option {
                let paths = folders.iter().flat_map(|folder| self.spelled(word, folder));
                found.extend(paths.filter_map(|path| self.beneath(&path)));
            }
            if !is_option {
                interpreter = interpreter_of(word);
            } else if interpreter.is_some_and(|name| takes_text(name, word)) {
                interpreter = None;
            }
        }
        found
    }

    /// The paths that one word could mean in a folder. What a variable or a substitution stands for
    /// at its beginning is taken for the root or for this folder.
    fn spelled(&self, word: &str, folder: &Path) -> Vec<PathBuf> {
        let rest = if word.starts_with(['$', '/']) { word.split_once('/') } else { None };
        let rest = rest.map(|(_, rest)| folder.join(rest.trim_start_matches('/')));
        let whole = folder.join(self.at_home(word));
        [Some(whole), rest].into_iter().flatten().map(|path| normalize(&path)).collect()
    }

    /// What a setting names: as a whole where it is a path, otherwise the file of each word.
    fn named(&self, setting: &Setting<'_>) -> Vec<PathBuf> {
        let value = setting.value.trim_matches('"');
        if matches!(setting.key.as_str(), "hookspath" | "templatedir") {
            let path = normalize(&self.root.join(self.at_home(value)));
            // What makes hooks itself keeps those that people write in the folder above its own.
            let path = if path.ends_with("_") { path.parent().unwrap_or(&path) } else { &path };
            return self.beneath(path).into_iter().collect();
        }
        let mut paths = self.meant(value, self.root);
        paths.retain(|path| is_file(path) || self.is_missing(path));
        paths
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

/// The interpreter that a word names.
fn interpreter_of(word: &str) -> Option<&'static str> {
    let name = word.rsplit('/').next().unwrap_or(word);
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.into_iter().find(|known| *known == name)
}

/// Whether an interpreter runs by this option what is no file.
fn takes_text(interpreter: &str, option: &str) -> bool {
    let is_shell = interpreter.ends_with("sh");
    option.contains('c') || (!is_shell && option.contains(['e', 'm', 'p']))
}

/// Whether it is a file, or a link that leads to none yet.
fn is_file(path: &Path) -> bool {
    let is_link = || fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    fs::metadata(path).map_or_else(|_| is_link(), |found| found.is_file())
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

    /// Whether a missing file counts, with this as the settings and this as a hook.
    fn is_named(settings: &str, hook: &str, file: &str) -> bool {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        let place = |text: &str| text.replace("ROOT", &root.display().to_string());
        fs::write(root.join(".git/config"), place(settings)).unwrap();
        fs::write(root.join(".git/hooks/pre-commit"), place(hook)).unwrap();
        names(&root, None, &root.join(file))
    }

    #[test]
    fn a_file_is_found_by_the_usual_spellings_in_settings_though_it_is_missing() {
        for (settings, file) in [
            ("[core]\nfsmonitor = sh scripts/fsm.sh", "scripts/fsm.sh"),
            ("[core]\nfsmonitor = sh \\\"scripts/fsm.sh\\\"", "scripts/fsm.sh"),
            ("[core]\nfsmonitor = sh fsm.sh", "fsm.sh"),
            ("[core]\nfsmonitor = ROOT/fsm", "fsm"),
            ("[branch \"a]b\"]\nmerge = x\n[core]\nfsmonitor = ./fsm", "fsm"),
            ("[core\nfsmonitor = ./fsm", "fsm"),
            ("[alias]\na = x \\\n[core\n[core]\nhooksPath = h", "h/pre-commit"),
            ("[init]\ntemplateDir = tools/template", "tools/template/hooks/x"),
        ] {
            assert!(is_named(settings, "", file), "{settings}");
        }
        for (settings, file) in [
            ("[core]\nfsmonitor = sh -c fsm.sh", "fsm.sh"),
            ("[alias]\nlint = !eslint src/", "src/new.js"),
            ("[safe]\ndirectory = ROOT/src", "src"),
            ("[core]\neditor = code", "code"),
        ] {
            assert!(!is_named(settings, "", file), "{settings}");
        }
    }

    #[test]
    fn a_script_is_found_by_the_usual_spellings_in_hooks_though_it_is_missing() {
        for (hook, file) in [
            ("exec ./scripts/check", "scripts/check"),
            ("\"$(git rev-parse --show-toplevel)/scripts/check\"", "scripts/check"),
            ("\"$TOP/scripts/check\" x", "scripts/check"),
            ("\"$(dirname \"$0\")/../../scripts/check\"", "scripts/check"),
            ("ROOT/scripts/check", "scripts/check"),
            ("sh check.sh", "check.sh"),
            ("python3 -u check.py", "check.py"),
            ("cd scripts && ./check", "scripts/check"),
            ("cd scripts && bash -e check", "scripts/check"),
        ] {
            assert!(is_named("", hook, file), "{hook}");
        }
        for (hook, file) in [
            ("python3 -m pytest tests", "pytest"),
            ("npx eslint index.js", "index.js"),
            ("exec check", "check"),
        ] {
            assert!(!is_named("", hook, file), "{hook}");
        }
    }

    #[test]
    fn a_folder_counts_only_where_git_takes_a_folder() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        for folder in [".git", "src", "hooks"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("src/run"), "").unwrap();
        let root_text = root.display();
        let text = format!(
            "[alias]\n\tlint = !eslint src/\n\tgo = !./src/run src\n[safe]\n\tdirectory = \
             {root_text}/src\n[core]\n\thooksPath = hooks\n"
        );
        fs::write(root.join(".git/config"), text).unwrap();
        assert_eq!(git_pointers(&root, None), ["hooks", "src/run"].map(|name| root.join(name)));
    }
}
