//! Whether a repository that a confined process has made runs nothing of its choice when the person
//! steps into it: only then it stays where it is. Over-approximates, and only reads.

use std::fs;
use std::path::Path;

use crate::contents::{self, Found, holds_only};
use crate::discovery::{git_directory, named_tree};
use crate::git_settings::{Setting, settings};

const MOST_BYTES: u64 = 64 << 10;
const DEEPEST: usize = 8;
/// So many hooks or modules are looked at.
const MOST_ENTRIES: usize = 10_000;

/// Settings that name no program, as git itself and build tools write them.
const SETTINGS: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
            "worktree",
            "autocrlf",
            "eol",
            "safecrlf",
            "quotepath",
            "longpaths",
            "sparsecheckout",
            "sparsecheckoutcone",
        ],
    ),
    ("remote", &["url", "pushurl", "fetch", "tagopt"]),
    ("branch", &["remote", "merge", "rebase"]),
    ("submodule", &["url", "active"]),
    ("user", &["name", "email"]),
    // Not that of a partial clone: to look at it makes git fetch what is missing, from any address.
    ("extensions", &["objectformat", "refstorage"]),
    ("commit", &["gpgsign"]),
    ("tag", &["gpgsign"]),
    ("gc", &["auto"]),
    ("init", &["defaultbranch"]),
    ("pull", &["rebase", "ff"]),
    ("push", &["default"]),
    ("receive", &["denycurrentbranch"]),
];

/// Whether `path`, a `.git` in a folder beneath `root`, makes git run nothing.
pub(crate) fn is_harmless(root: &Path, path: &Path) -> bool {
    let found = match contents::kind(path) {
        Found::Absent => return true,
        Found::Read(found) if found.is_dir() => return is_harmless_directory(path, 0),
        Found::Read(found) => found,
        Found::Unknown => return false,
    };
    let directory = path.parent().and_then(git_directory);
    let root = fs::canonicalize(root);
    let directory = directory.filter(|it| root.is_ok_and(|root| it.starts_with(root)));
    found.is_file() && directory.is_some_and(|directory| is_harmless_directory(&directory, 0))
}

/// Whether a git directory, or a bare repository, names nothing that runs.
pub(crate) fn is_harmless_directory(directory: &Path, depth: usize) -> bool {
    let is_absent = |name: &str| matches!(contents::kind(&directory.join(name)), Found::Absent);
    let is_sample = |name: &Path| name.extension().is_some_and(|it| it == "sample");
    let is_plain = |name: &str| match contents::kind(&directory.join(name)) {
        Found::Absent => true,
        Found::Read(found) => found.is_dir(),
        Found::Unknown => false,
    };
    let hooks = directory.join("hooks");
    let modules = directory.join("modules");
    depth < DEEPEST
        && ["commondir", "config.worktree"].into_iter().all(is_absent)
        && ["hooks", "modules"].into_iter().all(is_plain)
        && holds_only(&hooks, MOST_ENTRIES, |entry| is_sample(&entry.path()))
        && holds_only(&modules, MOST_ENTRIES, |it| is_harmless_module(&it.path(), depth + 1))
        && has_harmless_settings(directory)
}

/// A module's name may hold slashes.
fn is_harmless_module(folder: &Path, depth: usize) -> bool {
    match contents::kind(folder) {
        Found::Absent => return true,
        Found::Read(found) if found.is_dir() => {}
        Found::Read(_) | Found::Unknown => return false,
    }
    if !matches!(contents::kind(&folder.join("HEAD")), Found::Absent) {
        return is_harmless_directory(folder, depth);
    }
    let is_harmless = |path: &Path| is_harmless_module(path, depth + 1);
    depth < DEEPEST && holds_only(folder, MOST_ENTRIES, |entry| is_harmless(&entry.path()))
}

fn has_harmless_settings(directory: &Path) -> bool {
    match contents::plain_file(&directory.join("config"), MOST_BYTES) {
        Found::Absent => true,
        Found::Read(text) => are_harmless(directory, &text),
        Found::Unknown => false,
    }
}

/// Whether every setting of a git directory is a known one.
fn are_harmless(directory: &Path, text: &[u8]) -> bool {
    let is_known = |setting: &Setting| {
        let known = SETTINGS.iter().find(|(name, _)| *name == setting.section);
        known.is_some_and(|(_, keys)| keys.contains(&setting.key.as_str()))
            && (setting.key != "worktree" || leads_back(directory, setting))
    };
    settings(text).is_some_and(|settings| settings.iter().all(is_known))
}

/// Whether the folder whose files a git directory takes for its own knows of it: in any other git would
/// write, once the person uses it, where the confined process could not.
fn leads_back(directory: &Path, setting: &Setting) -> bool {
    let tree = setting.plain_path().and_then(|value| named_tree(directory, value));
    let back = tree.and_then(|tree| fs::canonicalize(git_directory(&tree)?).ok());
    back.is_some() && back == fs::canonicalize(directory).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_git_writes_are_harmless_and_programs_are_not() {
        let plain = "[core]\n\trepositoryformatversion = 0\n\tbare=false\n# x\n\
                     [remote \"origin\"]\n\turl = /x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
                     [branch \"a b\"] remote = origin\n";
        let are_harmless = |text: &str| super::are_harmless(Path::new("/nowhere"), text.as_bytes());
        assert!(are_harmless(plain));
        for text in [
            "[core]\n\tfsmonitor = x",
            "[CORE] FsMonitor=x",
            "[core]fsmonitor",
            "[include]\npath = x",
            "[filter \"a\"]\nclean = x",
            "[remote \"a]\"]\nuploadpack = x",
            "[remote \"a\"]\nvcs = x",
            "[extensions]\npartialClone = o",
            "[remote \"o\"]\nurl = /x\npromisor = true",
            "[remote \"o\"]\npartialclonefilter = blob:none",
            "[core.x]\nbare = true",
            "[color][core]fsmonitor = x",
            "[core]\nbare = true \\\n[user]\nname = x\n[core]fsmonitor = x",
            "[core]\nworktree = /etc",
            "bare = true",
            "[core\nbare = true",
        ] {
            assert!(!are_harmless(text), "{text:?}");
        }
    }

    #[test]
    fn hooks_links_and_other_directories_are_not_harmless() {
        let base = tempfile::tempdir().unwrap();
        let git = base.path().join("a/.git");
        let is_harmless = || is_harmless(base.path(), &git);
        fs::create_dir_all(git.join("hooks")).unwrap();
        fs::write(git.join("config"), "[core]\nbare = false\n").unwrap();
        fs::write(git.join("hooks/pre-commit.sample"), "x").unwrap();
        assert!(is_harmless());
        for name in ["hooks/pre-commit", "commondir", "config.worktree"] {
            fs::write(git.join(name), "x").unwrap();
            assert!(!is_harmless(), "{name}");
            fs::remove_file(git.join(name)).unwrap();
        }
        fs::create_dir_all(git.join("modules/x/y")).unwrap();
        fs::write(git.join("modules/x/y/HEAD"), "").unwrap();
        assert!(is_harmless());
        fs::write(git.join("modules/x/y/config"), "[core]\nfsmonitor = x").unwrap();
        assert!(!is_harmless());
        fs::remove_dir_all(&git).unwrap();
        fs::write(&git, "gitdir: ../evil").unwrap();
        assert!(!is_harmless());
        fs::create_dir(base.path().join("evil")).unwrap();
        assert!(is_harmless());
        fs::write(base.path().join("evil/config"), "[core]\nfsmonitor = x").unwrap();
        assert!(!is_harmless());
        fs::write(&git, "gitdir: /etc").unwrap();
        assert!(!is_harmless());
    }

    #[test]
    fn a_repository_that_has_the_files_of_another_folder_is_not_harmless() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let write = |path: &str, text: &str| {
            let path = base.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let is_harmless = |worktree: &str| {
            write("a/.git/config", &format!("[core]\nworktree = {worktree}\n"));
            is_harmless(&base, &base.join("a/.git"))
        };
        write("a/x", "");
        write("victim/x", "");
        std::os::unix::fs::symlink(".", base.join("a/link")).unwrap();
        for worktree in ["..", "../../a", "\"..\" # as git writes it"] {
            assert!(is_harmless(worktree), "{worktree}");
        }
        for worktree in ["../../victim", "/etc", "../link", ".", "../nothing", "", "\\\n/etc"] {
            assert!(!is_harmless(worktree), "{worktree:?}");
        }
        // What `git submodule` makes.
        write("a/.git/config", "");
        write("a/lib/x/.git", "gitdir: ../../.git/modules/lib/x\n");
        write("a/.git/modules/lib/x/HEAD", "");
        write("a/.git/modules/lib/x/config", "[core]\nworktree = ../../../../lib/x\n");
        assert!(super::is_harmless(&base, &base.join("a/.git")));
        assert!(super::is_harmless(&base, &base.join("a/lib/x/.git")));
        write("a/.git/modules/lib/x/config", "[core]\nworktree = ../../..\n");
        assert!(!super::is_harmless(&base, &base.join("a/.git")));
    }
}
