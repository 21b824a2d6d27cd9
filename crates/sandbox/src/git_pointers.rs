//! Files of a workspace that the settings of its repository lead git to: included settings, a folder
//! of hooks, programs of the project. Whoever can write them decides what git runs. So do those that
//! the shell of its user loads, by direnv or mise. Only reads.

mod environment;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::text::normalize;

use crate::User;
use crate::contents::{self, Found, is_text};
use crate::discovery::{common, git_directory, real};
use crate::git_settings::{Setting, guessed, settings};
use crate::nested;
use crate::protected::is_bare_repository;

const MOST_BYTES: u64 = 1 << 20;
/// So many files that name others are read, be they settings or what the shell loads.
const MOST_FILES: usize = 256;
/// So many files in one folder of hooks are read.
const MOST_HOOKS: usize = 512;
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

/// What git runs in a folder of hooks.
#[rustfmt::skip]
const HOOKS: [&str; 28] = [
    "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit",
    "prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge",
    "pre-push", "pre-receive", "update", "proc-receive", "post-receive", "post-update",
    "reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite", "sendemail-validate",
    "fsmonitor-watchman", "p4-changelist", "p4-prepare-changelist", "p4-post-changelist",
    "p4-pre-submit", "post-index-change",
];
/// What git takes from a template that decides what it runs.
const TEMPLATE: [&str; 2] = ["config", "hooks"];

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
pub fn git_pointers(root: &Path, user: Option<&User>) -> Vec<PathBuf> {
    Pointers::of(root, root, user).paths
}

/// What the settings and hooks of a repository lead to.
pub(crate) struct Pointers {
    pub(crate) paths: Vec<PathBuf>,
    /// Whether they name more than is looked at, or could: some of them could not be read.
    pub(crate) is_cut: bool,
}

impl Pointers {
    /// Those of a repository whose files are at `tree`, in the workspace or at its top.
    pub(crate) fn of(within: &Path, tree: &Path, user: Option<&User>) -> Self {
        search(Search::new(within, tree, user))
    }
}

/// Whether `path` would be one of them, or lie in one, if it were there as a file.
pub(crate) fn names(within: &Path, user: Option<&User>, path: &Path) -> bool {
    named(within, user, &BTreeSet::from([path.to_owned()]), &[]).is_some()
}

/// The first of `paths` that would be one of them, or lie in one, if all were there: for the repository of
/// the workspace, for those in which the paths lie, and for others in the workspace. Of those that would be
/// `links`, the first that lies on the way to one of them, too.
pub(crate) fn named<'a>(
    within: &Path,
    user: Option<&User>,
    paths: &'a BTreeSet<PathBuf>,
    links: &[PathBuf],
) -> Option<&'a PathBuf> {
    let above = paths.iter().flat_map(|path| path.ancestors().skip(1));
    let above: BTreeSet<&Path> = above.filter(|folder| folder.starts_with(within)).collect();
    let above = above.into_iter().filter(|it| *it == within || repository(it).is_some());
    let mut trees: BTreeSet<PathBuf> = above.map(Path::to_owned).collect();
    trees.extend(nested::trees(within));
    trees.iter().find_map(|root| {
        let found =
            search(Search { missing: Some(paths), links, ..Search::new(within, root, user) });
        let led = found.paths.iter().flat_map(|found| [found.clone(), real(found)]);
        // By a link to a folder that holds the repository not all of it is named.
        let led: BTreeSet<PathBuf> = led.filter(|led| !root.starts_with(led)).collect();
        let could_be_named =
            |path: &Path| found.is_cut && (is_script(path) || could_be_script(path));
        let is_on_the_way =
            |path: &PathBuf| links.contains(path) && led.iter().any(|led| led.starts_with(path));
        paths.iter().find(|path| {
            let is_led = path.ancestors().any(|above| led.contains(above));
            is_led || is_on_the_way(path) || could_be_named(path)
        })
    })
}

/// The git directory of a tree, or the folder itself where it is a bare repository.
fn repository(tree: &Path) -> Option<PathBuf> {
    git_directory(tree).or_else(|| is_bare_repository(tree).then(|| tree.to_owned()))
}

fn search(mut search: Search<'_>) -> Pointers {
    let (root, home) = (search.root, search.home());
    let further = search.user.map(|user| user.git.as_slice()).unwrap_or_default();
    let further: Vec<PathBuf> = further.iter().map(|file| normalize(&root.join(file))).collect();
    let directory = repository(root);
    // Of a linked worktree most is in the repository that it belongs to.
    let common = directory.as_deref().map(common);
    search.is_cut |= matches!(common, Some(Err(_)));
    let common = common.and_then(Result::ok);
    let common = common.filter(|common| Some(common) != directory.as_ref());
    let directories: Vec<PathBuf> = common.into_iter().chain(directory).collect();
    let own = directories
        .iter()
        .flat_map(|directory| ["config", "config.worktree"].map(|name| directory.join(name)));
    let user = home
        .into_iter()
        .flat_map(|home| [".gitconfig", ".config/git/config"].map(|name| home.join(name)));
    let system = [PathBuf::from("/etc/gitconfig")];
    for file in own.chain(user).chain(further.iter().cloned()).chain(system) {
        search.follow(&file);
    }
    let given = search.user.map(|user| user.settings.as_slice()).unwrap_or_default();
    let given = given.iter().filter_map(|(name, value)| Setting::named(name, value));
    search.obey(given.collect(), root);
    for directory in &directories {
        search.links(directory);
        search.hooks(&directory.join("hooks"));
    }
    for path in search.found.clone() {
        search.hooks(&path);
        if path.file_name().is_some_and(|name| HOOKS.iter().any(|hook| name == *hook)) {
            search.hook(&path);
        }
    }
    search.environment();
    // Where the workspace holds them, the user's own settings are no less than the repository's.
    let own = [".config/brynhild", ".config/git", ".gitconfig"];
    let own = home.into_iter().flat_map(|home| own.map(|name| home.join(name)));
    for path in own.chain(further) {
        search.found.extend(search.beneath(&path));
    }
    let is_cut = search.is_cut || search.seen > MOST_PATHS;
    Pointers { is_cut, paths: search.found.into_iter().collect() }
}

struct Search<'a> {
    /// The workspace.
    within: &'a Path,
    /// Where the files of the repository are.
    root: &'a Path,
    user: Option<&'a User>,
    /// Files that count although they are not there.
    missing: Option<&'a BTreeSet<PathBuf>>,
    /// Those of them that are links, behind which may be anything.
    links: &'a [PathBuf],
    found: BTreeSet<PathBuf>,
    /// How many paths words could have meant so far.
    seen: usize,
    /// Files that were read for what they name.
    read: BTreeSet<PathBuf>,
    /// The names in folders of which some files count.
    names: BTreeMap<PathBuf, Arc<[OsString]>>,
    /// How many names were compared with patterns so far.
    compared: usize,
    /// Whether something was left out that could name more.
    is_cut: bool,
}

impl<'a> Search<'a> {
    fn new(within: &'a Path, root: &'a Path, user: Option<&'a User>) -> Self {
        Self {
            within,
            root,
            user,
            missing: None,
            links: &[],
            found: BTreeSet::new(),
            seen: 0,
            read: BTreeSet::new(),
            names: BTreeMap::new(),
            compared: 0,
            is_cut: false,
        }
    }

    fn home(&self) -> Option<&'a Path> {
        self.user.and_then(|user| user.home.as_deref())
    }

    /// What is in a file that names others; none where nothing is there, or it was read before.
    fn text(&mut self, file: &Path) -> Option<Vec<u8>> {
        if !self.read.insert(file.to_owned()) {
            return None;
        }
        if self.read.len() > MOST_FILES {
            self.is_cut = true;
            return None;
        }
        let found = contents::file(file, MOST_BYTES);
        // Nobody reads a folder, and a sandbox beside this one holds such in place of files.
        self.is_cut |= found == Found::Unknown && !file.is_dir() && is_text(file);
        found.known()
    }

    fn follow(&mut self, file: &Path) {
        let text = self.text(file).unwrap_or_default();
        let folder = file.parent().unwrap_or(self.root);
        self.obey(settings(&text).unwrap_or_else(|| guessed(&text)), folder);
    }

    /// Adds what settings lead to that stand in a folder.
    fn obey(&mut self, settings: Vec<Setting>, folder: &Path) {
        for setting in settings {
            if DATA.contains(&setting.section.as_str()) || setting.key == "worktree" {
                continue;
            }
            let is_unplaced = setting.section.is_empty() && setting.key == "path";
            if setting.section.starts_with("include") || is_unplaced {
                for path in self.paths(&setting, folder) {
                    self.follow(&path);
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
        let listing = contents::list(folder, 2 * MOST_HOOKS);
        self.is_cut |= matches!(listing, Found::Unknown);
        let listing = listing.known().unwrap_or_default();
        let is_sample = |path: &PathBuf| path.extension().is_some_and(|it| it == "sample");
        let hooks = listing.entries.iter().map(fs::DirEntry::path);
        let mut hooks: Vec<PathBuf> = hooks.filter(|path| !is_sample(path)).collect();
        self.is_cut |= listing.is_cut || hooks.len() > MOST_HOOKS;
        hooks.truncate(MOST_HOOKS);
        for path in hooks {
            self.hook(&path);
        }
    }

    /// What one hook leads to.
    fn hook(&mut self, path: &Path) {
        self.link(path);
        let text = contents::file(path, MOST_BYTES);
        // What else lies there runs nothing.
        self.is_cut |= text == Found::Unknown && is_script(path) && is_text(path);
        let text = text.known().unwrap_or_default();
        let folder = path.parent().unwrap_or(self.root);
        let mut scripts = self.meant(&String::from_utf8_lossy(&text), folder);
        let is_missing = |path: &Path| could_be_script(path) && self.is_missing(path);
        scripts.retain(|path| is_script(path) || is_missing(path));
        self.found.extend(scripts);
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
        let obeyed: &[&str] = match setting.key.as_str() {
            "hookspath" => &HOOKS,
            "templatedir" => &TEMPLATE,
            _ => &[],
        };
        if !obeyed.is_empty() {
            // Nothing is no folder to git.
            if setting.bytes().is_empty() {
                return BTreeSet::new();
            }
            let paths = self.paths(setting, self.root);
            return paths.iter().flat_map(|path| self.obeyed_in(path, obeyed)).collect();
        }
        let mut paths = self.meant(&setting.text(), self.root);
        paths.retain(|path| is_file(path) || self.is_missing(path));
        paths
    }

    /// What counts of a folder in which git obeys these names: all of it, or only they where it holds the
    /// files of the repository, in which people work.
    fn obeyed_in(&self, path: &Path, names: &[&str]) -> Vec<PathBuf> {
        // What makes hooks itself keeps those that people write in the folder above its own.
        let folder = path.parent().filter(|_| path.ends_with("_")).unwrap_or(path);
        let place = real(folder);
        if !place.starts_with(self.within) || !self.root.starts_with(&place) {
            return self.beneath(folder).into_iter().collect();
        }
        let names = names.iter().map(|name| place.join(name));
        // A link that leads there must not be exchanged.
        names.chain(self.beneath(folder)).chain(self.beneath(path)).collect()
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

    /// Whether it is a file that counts although it is not there.
    fn is_missing(&self, path: &Path) -> bool {
        let is_one = |missing: &BTreeSet<PathBuf>, path: &Path| {
            missing.contains(path) || self.links.iter().any(|link| path.starts_with(link))
        };
        // To follow links costs much, and few paths have any.
        let has_link = || {
            let mut parts = path.ancestors().take_while(|it| *it != self.within);
            parts.any(Path::is_symlink)
        };
        self.missing.is_some_and(|missing| {
            is_one(missing, path) || (has_link() && is_one(missing, &real(path)))
        })
    }

    /// A path with the home in place of `~`.
    fn at_home(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), self.home()) {
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
mod tests;
