//! The state of a git repository that undo restores: HEAD, refs, index, stash and unfinished
//! merges. Objects are not covered: see `git_objects`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use files::git::GitDirectories;

use super::git_objects;
use super::state::SkipReason;

/// Files in the git directory of a working tree, and directories with everything in them.
const OWN: [&str; 13] = [
    "HEAD",
    "ORIG_HEAD",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "AUTO_MERGE",
    "index",
    "refs",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
];
/// Those in the common git directory.
const COMMON: [&str; 3] = ["packed-refs", "logs/refs/stash", "refs"];
/// Names in it that are not covered, but whose removal is reported.
pub(super) const REPORTED: [(&str, SkipReason); 2] =
    [("objects", SkipReason::GitObjects), ("config", SkipReason::GitConfig)];
/// The name of git's directory in a workspace.
pub(super) const GIT: &str = ".git";

/// Facts of an index entry before its object's name, and where its mode is in them.
const FACTS: usize = 40;
const MODE: std::ops::Range<usize> = 24..28;
/// Bytes of an object's name, with SHA-1 and with SHA-256.
const OBJECT: [usize; 2] = [20, 32];
/// Says that two more bytes of flags follow.
const EXTENDED: u16 = 0x4000;

/// The paths to look at.
pub(super) fn paths(git: &GitDirectories) -> BTreeSet<PathBuf> {
    let own = OWN.iter().map(|name| git.own.join(name));
    own.chain(COMMON.iter().map(|name| git.common.join(name))).collect()
}

/// Returns true if undo covers a path of a repository.
fn covers(git: &GitDirectories, path: &Path) -> bool {
    let is_lock = path.extension().is_some_and(|extension| extension == "lock");
    let is_reported = REPORTED.iter().any(|(name, _)| path == git.common.join(name));
    let is_covered = paths(git).iter().any(|covered| path.starts_with(covered));
    is_reported || path == git.own || (is_covered && !is_lock)
}

/// The repository whose covered state a path belongs to: that of a workspace, or a linked one.
pub(super) fn repository_of(
    path: &Path,
    linked: Option<&GitDirectories>,
) -> Option<GitDirectories> {
    if let Some(linked) = linked.filter(|linked| covers(linked, path)) {
        return Some(linked.clone());
    }
    let git = path.ancestors().filter(|above| above.ends_with(GIT)).last()?;
    let git = GitDirectories::single(git);
    covers(&git, path).then_some(git)
}

/// Returns true if a path is the index of a repository.
pub(super) fn is_index(path: &Path, linked: Option<&GitDirectories>) -> bool {
    path.ends_with(".git/index") || linked.is_some_and(|git| path == git.own.join("index"))
}

/// Returns true if another worktree has the branch of a ref file checked out. Whoever works there
/// moves it.
pub(super) fn is_checked_out_elsewhere(git: &GitDirectories, path: &Path) -> bool {
    let Ok(name) = path.strip_prefix(&git.common) else { return false };
    let worktrees = std::fs::read_dir(git.common.join("worktrees")).into_iter().flatten().flatten();
    let mut others = worktrees.map(|entry| entry.path()).chain([git.common.clone()]);
    let head = [b"ref: ", name.as_os_str().as_encoded_bytes()].concat();
    others.any(|other| {
        let is_there = git_objects::read(&other.join("HEAD"));
        other != git.own && is_there.is_some_and(|text| text.trim_ascii_end() == head)
    })
}

/// Returns true if two versions of the index differ at most in the file times that `git status`
/// writes down.
pub(super) fn is_same_index(one: &[u8], other: &[u8]) -> bool {
    let entries = |index| OBJECT.into_iter().find_map(|object| entries(index, object));
    entries(one).is_some_and(|one| entries(other) == Some(one))
}

/// The entries of an index without file times; none if it is damaged.
/// See <https://git-scm.com/docs/index-format>.
fn entries(index: &[u8], object: usize) -> Option<Vec<Vec<u8>>> {
    let rest = index.strip_prefix(b"DIRC")?;
    let (version, rest) = number(rest)?;
    let (count, mut rest) = number(rest)?;
    let mut entries = Vec::new();
    for _ in 0..count {
        let start = rest;
        let (facts, after) = start.split_at_checked(FACTS)?;
        let mut entry = facts[MODE].to_vec();
        let (flags, _) = after.get(object..)?.split_first_chunk::<2>()?;
        let is_extended = version >= 3 && u16::from_be_bytes(*flags) & EXTENDED != 0;
        let named = object + if is_extended { 4 } else { 2 };
        let (prefix, after) = if version >= 4 {
            offset(after.get(named..)?)?
        } else {
            (&[][..], after.get(named..)?)
        };
        let end = memchr::memchr(0, after)?;
        entry.extend_from_slice(start.get(FACTS..FACTS + named)?);
        entry.extend_from_slice(prefix);
        entry.extend_from_slice(&after[..end]);
        rest = after.get(end + 1..)?;
        if version < 4 {
            let taken = start.len() - rest.len();
            rest = rest.get(taken.next_multiple_of(8) - taken..)?;
        }
        entries.push(entry);
    }
    Some(entries)
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (first, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*first), rest))
}

/// A number of any length: bytes up to the first without the high bit.
fn offset(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| byte & 128 == 0)?;
    Some(bytes.split_at(end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(version: u32, time: u8, names: &[&str]) -> Vec<u8> {
        let mut index = b"DIRC".to_vec();
        index.extend(version.to_be_bytes());
        index.extend(u32::try_from(names.len()).unwrap().to_be_bytes());
        for name in names {
            let start = index.len();
            index.extend([time; 24]);
            index.extend([1; 4]);
            index.extend([time; 12]);
            index.extend([7; 20]);
            let flags = if version == 3 { EXTENDED } else { 0 };
            index.extend(flags.to_be_bytes());
            index.extend(if version == 3 { vec![0; 2] } else { Vec::new() });
            index.extend(if version == 4 { vec![0] } else { Vec::new() });
            index.extend(name.as_bytes());
            index.push(0);
            while version < 4 && !(index.len() - start).is_multiple_of(8) {
                index.push(0);
            }
        }
        index.extend([time; 20]);
        index
    }

    #[test]
    fn indexes_are_compared_without_file_times() {
        for version in [2, 3, 4] {
            let old = index(version, 1, &["a", "dir/name"]);
            assert!(is_same_index(&old, &index(version, 2, &["a", "dir/name"])), "{version}");
            assert!(!is_same_index(&old, &index(version, 1, &["a", "dir/other"])), "{version}");
            assert!(!is_same_index(&old, &index(version, 1, &["a"])), "{version}");
        }
        assert!(!is_same_index(b"nonsense", b"nonsense"));
        assert!(!is_same_index(b"DIRC\0\0\0\x02\0\0\0\x09", b"DIRC\0\0\0\x02\0\0\0\x09"));
    }

    #[test]
    fn git_directories_are_found_by_the_first_name() {
        let git = repository_of(Path::new("/p/.git/refs/heads/.git/x"), None);
        assert_eq!(git, Some(GitDirectories::single(Path::new("/p/.git"))));
        for path in ["/p/.git/hooks/.git/HEAD", "/p/HEAD", "/p/.github"] {
            assert_eq!(repository_of(Path::new(path), None), None, "{path}");
        }
    }

    #[test]
    fn refs_are_covered_and_config_hooks_and_locks_are_not() {
        let git = GitDirectories::single(Path::new("/p/.git"));
        for path in ["HEAD", "index", "refs/heads/a/b", "logs/refs/stash", "refs/stash"] {
            assert!(covers(&git, &git.own.join(path)), "{path}");
        }
        for path in ["hooks/pre-commit", "objects/ab/c", "index.lock", "logs/HEAD", "info"] {
            assert!(!covers(&git, &git.own.join(path)), "{path}");
        }
    }
}
