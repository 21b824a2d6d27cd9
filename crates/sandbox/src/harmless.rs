//! Whether a repository that a confined process has made runs nothing of its choice when the person
//! steps into it: only then it stays where it is. Over-approximates, and only reads.

use std::fs;
use std::path::Path;

use crate::gitlinks::git_directory;

const MOST_BYTES: u64 = 64 << 10;
const DEEPEST: usize = 8;

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
    ("remote", &["url", "pushurl", "fetch", "tagopt", "promisor", "partialclonefilter"]),
    ("branch", &["remote", "merge", "rebase"]),
    ("submodule", &["url", "active"]),
    ("user", &["name", "email"]),
    ("extensions", &["objectformat", "partialclone", "refstorage"]),
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
    let Ok(found) = fs::symlink_metadata(path) else {
        return true;
    };
    if found.is_dir() {
        return is_harmless_directory(path, 0);
    }
    let directory = path.parent().and_then(git_directory);
    let root = fs::canonicalize(root);
    let directory = directory.filter(|it| root.is_ok_and(|root| it.starts_with(root)));
    found.is_file() && directory.is_some_and(|directory| is_harmless_directory(&directory, 0))
}

/// Whether a git directory, or a bare repository, names nothing that runs.
pub(crate) fn is_harmless_directory(directory: &Path, depth: usize) -> bool {
    let is_absent = |name: &str| fs::symlink_metadata(directory.join(name)).is_err();
    let is_sample =
        |name: &std::ffi::OsStr| Path::new(name).extension().is_some_and(|it| it == "sample");
    let entries = |name: &str| fs::read_dir(directory.join(name)).into_iter().flatten().flatten();
    let is_plain =
        |name: &str| fs::symlink_metadata(directory.join(name)).map_or(true, |it| it.is_dir());
    depth < DEEPEST
        && ["commondir", "config.worktree"].into_iter().all(is_absent)
        && ["hooks", "modules"].into_iter().all(is_plain)
        && entries("hooks").all(|entry| is_sample(&entry.file_name()))
        && entries("modules").all(|entry| is_harmless_module(&entry.path(), depth + 1))
        && has_harmless_settings(&directory.join("config"))
}

/// A module's name may hold slashes.
fn is_harmless_module(folder: &Path, depth: usize) -> bool {
    let Ok(found) = fs::symlink_metadata(folder) else {
        return true;
    };
    if !found.is_dir() || fs::symlink_metadata(folder.join("HEAD")).is_ok() {
        return found.is_dir() && is_harmless_directory(folder, depth);
    }
    let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
    depth < DEEPEST && entries.all(|entry| is_harmless_module(&entry.path(), depth + 1))
}

fn has_harmless_settings(file: &Path) -> bool {
    match fs::symlink_metadata(file) {
        Ok(found) if found.is_file() && found.len() <= MOST_BYTES => {}
        Ok(_) => return false,
        Err(_) => return true,
    }
    fs::read_to_string(file).is_ok_and(|text| are_harmless(&text))
}

/// Whether every setting is a known one.
fn are_harmless(text: &str) -> bool {
    let is_known = |setting: &Setting<'_>| {
        let known = SETTINGS.iter().find(|(name, _)| *name == setting.section);
        known.is_some_and(|(_, keys)| keys.contains(&setting.key.as_str()))
    };
    settings(text).is_some_and(|settings| settings.iter().all(is_known))
}

/// A line of git's settings.
pub(crate) struct Setting<'a> {
    /// The section without what stands in quotes, in lower case.
    pub(crate) section: String,
    /// The name, in lower case.
    pub(crate) key: String,
    /// What comes after the name.
    pub(crate) value: &'a str,
}

/// All settings of a text; none where it is not plain. The line after one that goes on counts as a
/// setting too.
pub(crate) fn settings(text: &str) -> Option<Vec<Setting<'_>>> {
    let mut section = String::new();
    let mut found = Vec::new();
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            let (name, after) = rest.split_at(end_of_section(rest)?);
            let after = &after[1..];
            section = name.split([' ', '\t', '"']).next().unwrap_or_default().to_lowercase();
            line = after.trim();
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let key = key.split([' ', '\t']).next().unwrap_or_default().to_lowercase();
        found.push(Setting { section: section.clone(), key, value: value.trim() });
    }
    Some(found)
}

/// Where the bracket stands that ends the name of a section: not within quotes.
fn end_of_section(text: &str) -> Option<usize> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.char_indices().find_map(|(at, c)| {
        let was_escaped = is_escaped;
        is_escaped = is_quoted && !was_escaped && c == '\\';
        is_quoted ^= c == '"' && !was_escaped;
        (c == ']' && !is_quoted).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_git_writes_are_harmless_and_programs_are_not() {
        let plain = "[core]\n\trepositoryformatversion = 0\n\tbare=false\n# x\n\
                     [remote \"origin\"]\n\turl = /x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
                     [branch \"a b\"] remote = origin\n";
        assert!(are_harmless(plain));
        for text in [
            "[core]\n\tfsmonitor = x",
            "[CORE] FsMonitor=x",
            "[core]fsmonitor",
            "[include]\npath = x",
            "[filter \"a\"]\nclean = x",
            "[remote \"a]\"]\nuploadpack = x",
            "[remote \"a\"]\nvcs = x",
            "[core.x]\nbare = true",
            "\u{feff}[core]\nbare = true",
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
}
