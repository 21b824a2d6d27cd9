//! Files of a workspace that the settings of its repository lead git to: included settings, a folder
//! of hooks, programs of the project. Whoever can write them decides what git runs. So do those that
//! the shell of its user loads, by direnv or mise. Only reads.

mod environment;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use contract::text::normalize;

use crate::discovery::{common, git_directory, real};
use crate::git_settings::{Setting, guessed, settings};
use crate::nested;
use crate::protected::is_bare_repository;

const MOST_BYTES: u64 = 1 << 20;
const DEEPEST: usize = 5;
const MOST_HOOKS: usize = 64;
/// What ends a word in a setting or a script.
const SEPARATORS: &str = "'\"`;|&()<>=!\\";
/// So many folders are words of one text looked for in.
const MOST_FOLDERS: usize = 8;
/// So many paths that words could mean are looked at for one repository. Hooks of people name a few.
const MOST_PATHS: usize = 20_000;
/// Programs that run the file they are given.
const INTERPRETERS: [&str; 19] = [
    "bash",
    "bun",
    "dash",
    "deno",
    "dotenv",
    "dotenv_if_exists",
    "fish",
    "ksh",
    "lua",
    "node",
    "perl",
    "php",
    "python",
    "ruby",
    "sh",
    "source",
    "source_env",
    "source_env_if_exists",
    "zsh",
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
    Pointers::of(root, root, home).paths
}

/// What the settings and hooks of a repository lead to.
pub(crate) struct Pointers {
    pub(crate) paths: Vec<PathBuf>,
    /// Whether they name more than is looked at.
    pub(crate) is_cut: bool,
}

impl Pointers {
    /// Those of a repository whose files are at `tree`, in the workspace or at its top.
    pub(crate) fn of(within: &Path, tree: &Path, home: Option<&Path>) -> Self {
        search(Search { within, root: tree, home, missing: None, found: BTreeSet::new(), seen: 0 })
    }
}

/// Whether `path` would be one of them, or lie in one, if it were there: for the repository of the
/// workspace, for those in which the path lies, and for others in the workspace.
pub(crate) fn names(within: &Path, home: Option<&Path>, path: &Path) -> bool {
    let above = path.ancestors().skip(1).take_while(|folder| folder.starts_with(within));
    let above = above.filter(|folder| *folder == within || repository(folder).is_some());
    let mut trees: BTreeSet<PathBuf> = above.map(Path::to_owned).collect();
    trees.extend(nested::trees(within));
    trees.iter().any(|root| {
        let (missing, found) = (Some(path), BTreeSet::new());
        let found = search(Search { within, root, home, missing, found, seen: 0 });
        let is_in = |found: &PathBuf| path.starts_with(found) || path.starts_with(real(found));
        let could_be_named = || found.is_cut && (is_script(path) || could_be_script(path));
        found.paths.iter().any(is_in) || could_be_named()
    })
}

/// The git directory of a tree, or the folder itself where it is a bare repository.
fn repository(tree: &Path) -> Option<PathBuf> {
    git_directory(tree).or_else(|| is_bare_repository(tree).then(|| tree.to_owned()))
}

fn search(mut search: Search<'_>) -> Pointers {
    let (root, home) = (search.root, search.home);
    let directory = repository(root);
    // Of a linked worktree most is in the repository that it belongs to.
    let common = directory.as_deref().and_then(|directory| common(directory).ok());
    let common = common.filter(|common| Some(common) != directory.as_ref());
    let directories: Vec<PathBuf> = common.into_iter().chain(directory).collect();
    let own = directories
        .iter()
        .flat_map(|directory| ["config", "config.worktree"].map(|name| directory.join(name)));
    let user = home
        .into_iter()
        .flat_map(|home| [".gitconfig", ".config/git/config"].map(|name| home.join(name)));
    for file in own.chain(user).chain([PathBuf::from("/etc/gitconfig")]) {
        search.follow(&file, 0);
    }
    for directory in &directories {
        search.links(directory);
        search.hooks(&directory.join("hooks"));
    }
    for folder in search.found.clone() {
        search.hooks(&folder);
    }
    search.environment();
    // Where the workspace holds them, the user's own settings are no less than the repository's.
    for own in [".config/brynhild", ".config/git", ".gitconfig"] {
        let path = home.map(|home| home.join(own));
        search.found.extend(path.and_then(|path| search.beneath(&path)));
    }
    Pointers { is_cut: search.seen > MOST_PATHS, paths: search.found.into_iter().collect() }
}

struct Search<'a> {
    /// The workspace.
    within: &'a Path,
    /// Where the files of the repository are.
    root: &'a Path,
    home: Option<&'a Path>,
    /// A file that counts although it is not there.
    missing: Option<&'a Path>,
    found: BTreeSet<PathBuf>,
    /// How many paths words could have meant so far.
    seen: usize,
}

impl Search<'_> {
    fn follow(&mut self, file: &Path, depth: usize) {
        let is_small = fs::metadata(file).is_ok_and(|it| it.is_file() && it.len() <= MOST_BYTES);
        let text = if is_small { fs::read(file).unwrap_or_default() } else { Vec::new() };
        for setting in settings(&text).unwrap_or_else(|| guessed(&text)) {
            if DATA.contains(&setting.section.as_str()) || setting.key == "worktree" {
                continue;
            }
            let is_unplaced = setting.section.is_empty() && setting.key == "path";
            if setting.section.starts_with("include") || is_unplaced {
                for path in self.paths(&setting, file.parent().unwrap_or(self.root)) {
                    if depth < DEEPEST {
                        self.follow(&path, depth + 1);
                    }
                    self.found.extend(self.beneath(&path));
                }
            } else {
                let named = self.named(&setting);
                self.found.extend(named);
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
            let mut scripts = self.meant(&text, folder);
            let is_missing = |path: &Path| could_be_script(path) && self.is_missing(path);
            scripts.retain(|path| is_script(path) || is_missing(path));
            self.found.extend(scripts);
        }
    }

    /// The paths beneath the root that the words of a text could mean to a shell in `folder`: those
    /// that are written as paths, and what an interpreter is given.
    fn meant(&mut self, text: &str, folder: &Path) -> BTreeSet<PathBuf> {
        let words = text.split(|c: char| c.is_whitespace() || SEPARATORS.contains(c));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let folders = self.folders(&words, folder);
        let (mut candidates, mut interpreter) = (BTreeSet::new(), None);
        for word in words {
            let is_option = word.starts_with('-');
            if word.contains('/') || word.starts_with('.') || interpreter.is_some() && !is_option {
                candidates.insert(word);
            }
            if !is_option {
                interpreter = interpreter_of(word);
            } else if interpreter.is_some_and(|name| takes_text(name, word)) {
                interpreter = None;
            }
        }
        let mut found = BTreeSet::new();
        for (word, folder) in
            candidates.iter().flat_map(|word| folders.iter().map(move |it| (word, it)))
        {
            let paths = self.spelled(word, folder);
            self.seen += paths.len();
            if self.seen > MOST_PATHS {
                break;
            }
            found.extend(paths.iter().filter_map(|path| self.beneath(path)));
        }
        found
    }

    /// The folders in which a shell that runs these words in `folder` could be.
    fn folders(&self, words: &[&str], folder: &Path) -> Vec<PathBuf> {
        let mut folders = vec![self.root.to_owned(), folder.to_owned()];
        for pair in words.windows(2).filter(|pair| pair[0] == "cd") {
            if folders.len() >= MOST_FOLDERS {
                break;
            }
            let entered: Vec<PathBuf> =
                folders.iter().flat_map(|folder| self.spelled(pair[1], folder)).collect();
            let entered = entered.into_iter().filter(|path| self.beneath(path).is_some());
            folders.extend(entered.take(MOST_FOLDERS.saturating_sub(folders.len())));
        }
        folders
    }

    /// The paths that one word could mean in a folder. What a variable or a substitution stands for
    /// at its beginning is taken for the root or for this folder.
    fn spelled(&self, word: &str, folder: &Path) -> Vec<PathBuf> {
        let rest = if word.starts_with(['$', '/']) { word.split_once('/') } else { None };
        let rest = rest.map(|(_, rest)| folder.join(rest.trim_start_matches('/')));
        let whole = folder.join(self.at_home(Path::new(word)));
        [Some(whole), rest].into_iter().flatten().map(|path| normalize(&path)).collect()
    }

    /// What a setting names: as a whole where it is a path, otherwise the file of each word.
    fn named(&mut self, setting: &Setting) -> BTreeSet<PathBuf> {
        if matches!(setting.key.as_str(), "hookspath" | "templatedir") {
            let paths = self.paths(setting, self.root);
            // What makes hooks itself keeps those that people write in the folder above its own.
            let folders = paths.iter().map(|path| match path.parent() {
                Some(above) if path.ends_with("_") => above,
                _ => path.as_path(),
            });
            return folders.filter_map(|path| self.beneath(path)).collect();
        }
        let mut paths = self.meant(&setting.text(), self.root);
        paths.retain(|path| is_file(path) || self.is_missing(path));
        paths
    }

    /// The paths that a value could mean which is one, in a folder.
    fn paths(&self, setting: &Setting, folder: &Path) -> Vec<PathBuf> {
        let value = setting.bytes();
        let value = value.strip_prefix(b":(optional)").unwrap_or(value);
        let slash = value.iter().position(|byte| *byte == b'/').unwrap_or(value.len());
        // Any user's home is taken for this one's.
        let start = if value.starts_with(b"~") { b"~" } else { &value[..slash] };
        let value = [start, &value[slash..]].concat();
        // Older versions of git make a space of every blank.
        let space = |byte: &u8| if byte.is_ascii_whitespace() { b' ' } else { *byte };
        let spaced: Vec<u8> = value.iter().map(space).collect();
        let mut paths = vec![value, spaced];
        paths.dedup();
        let at = |value: &Vec<u8>| folder.join(self.at_home(Path::new(OsStr::from_bytes(value))));
        paths.iter().map(|value| normalize(&at(value))).collect()
    }

    /// Whether it is the file that counts although it is not there.
    fn is_missing(&self, path: &Path) -> bool {
        // To follow links costs much, and only a link itself can lead to another name.
        let may_be = |missing: &Path| missing.file_name() == path.file_name() || path.is_symlink();
        self.missing
            .is_some_and(|missing| missing == path || (may_be(missing) && missing == real(path)))
    }

    /// A path with the home in place of `~`.
    fn at_home(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), self.home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path.to_owned(),
        }
    }

    /// A path where it lies in the workspace, holds no repository, and is no part of one's own folder.
    fn beneath(&self, path: &Path) -> Option<PathBuf> {
        let is_git = [self.within, self.root].iter().any(|it| path.starts_with(it.join(".git")));
        let is_below = path.starts_with(self.within) && !self.root.starts_with(path);
        (is_below && !is_git).then(|| path.to_owned())
    }
}

/// The interpreter that a word names.
fn interpreter_of(word: &str) -> Option<&'static str> {
    if word == "." {
        return Some("source");
    }
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

/// Whether a file that is not there could be one that is run, by its name.
fn could_be_script(path: &Path) -> bool {
    has_ending(path) || path.extension().is_none()
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
            ("[core]\nhooksPath = .husky # shared", ".husky/pre-commit"),
            ("[core]\nhooksPath = .hus\"ky\" ; x", ".husky/pre-commit"),
            ("[core]\nhooksPath = \".hus\\\n\\\"ky\"", ".hus\"ky/pre-commit"),
            ("[color][core] hooksPath = h", "h/pre-commit"),
            ("[user] [core]\nfsmonitor = ./fsm", "fsm"),
            ("[core]\nnotesRef = x \\\n[color]\nfsmonitor = ./fsm", "fsm"),
            ("[core]\nhooksPath = a\tb", "a b/pre-commit"),
            ("[core]\nhooksPath = :(optional)h", "h/pre-commit"),
            ("[core]\nhooksPath = \"h", "h/pre-commit"),
            ("\u{feff}[core]\nhooksPath = h", "h/pre-commit"),
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
    fn a_hook_of_very_many_words_is_not_followed_for_ever_and_names_every_script() {
        let words: Vec<String> = (0..MOST_PATHS).map(|it| format!("cd d{it}; ./s{it}/x")).collect();
        let hook = words.join("\n");
        assert!(is_named("", &hook, "other.sh") && is_named("", &hook, "other"));
        assert!(!is_named("", &hook, "src/new.rs"));
        // The same word again and again is one word.
        let hook = "./scripts/x\n".repeat(MOST_PATHS);
        assert!(is_named("", &hook, "scripts/x") && !is_named("", &hook, "other.sh"));
    }

    #[test]
    fn what_the_repository_of_a_linked_worktree_names_counts_for_its_own_files() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let (git, tree) = (base.join("main/.git"), base.join("tree"));
        fs::create_dir_all(git.join("worktrees/w")).unwrap();
        fs::create_dir_all(git.join("hooks")).unwrap();
        fs::create_dir_all(&tree).unwrap();
        fs::write(git.join("config"), "[core]\nhooksPath = .husky\nfsmonitor = ./mon\n").unwrap();
        fs::write(git.join("hooks/pre-push"), "exec ./scripts/check.sh\n").unwrap();
        fs::write(git.join("worktrees/w/commondir"), "../..\n").unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", git.join("worktrees/w").display()))
            .unwrap();
        assert_eq!(git_pointers(&tree, None), [tree.join(".husky")]);
        for name in [".husky/pre-commit", "mon", "scripts/check.sh"] {
            assert!(names(&tree, None, &tree.join(name)), "{name}");
        }
        assert!(!names(&tree, None, &tree.join("other")));
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
