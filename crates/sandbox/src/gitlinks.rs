//! The folders that git on the host looks into whenever it looks at a repository: its submodules, and
//! theirs. They stand in the index, whatever `.gitmodules` says, as do the files that it keeps. Only reads,
//! and follows no link.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::contents::{self, Found};
use crate::discovery::{self, Repository, git_directory, is_absent};

/// Submodules of one workspace that are looked at.
const MOST: usize = 512;
const MOST_BYTES: u64 = 256 << 20;

/// The kind of an entry that is the commit of another repository, that of one for all that a folder
/// holds, and all kinds that there are.
const LINK: u32 = 0o160_000;
const FOLDER: u32 = 0o040_000;
const KINDS: [u32; 4] = [0o100_000, 0o120_000, FOLDER, LINK];
/// Git looks at no other part of a kind to tell them apart.
const KIND: u32 = 0o170_000;

/// An index as it was when it was read.
type Stamp = (u64, u64, i64, i64);

/// What an index links to.
#[derive(Clone, Default)]
struct Links {
    paths: Vec<PathBuf>,
    /// Folders of which it says nothing more, since they are left out of the tree.
    folders: Vec<PathBuf>,
    /// Whether there may be more of them.
    is_cut: bool,
}

/// The folders beneath `root` that its repository, and those in them, take for repositories. They
/// need not exist.
pub(crate) fn find(root: &Path) -> Vec<PathBuf> {
    search(root).0
}

/// The same; fails where there may be more of them.
pub(crate) fn find_all(root: &Path) -> Result<Vec<PathBuf>, String> {
    let (found, is_cut) = search(root);
    let words = || format!("an index in {} cannot be understood", root.display());
    if is_cut { Err(words()) } else { Ok(found) }
}

fn search(root: &Path) -> (Vec<PathBuf>, bool) {
    let (mut found, mut is_cut) = (BTreeSet::new(), false);
    let mut left = vec![root.to_owned()];
    while let Some(folder) = left.pop() {
        let links = git_directory(&folder).map(|git| links(&git)).unwrap_or_default();
        // What is there all the same git looks up in its history.
        let is_there = |left_out: &PathBuf| folder.join(left_out).symlink_metadata().is_ok();
        is_cut |= links.is_cut || links.folders.iter().any(is_there);
        for link in links.paths {
            let path = folder.join(link);
            is_cut |= found.len() >= MOST;
            if found.len() < MOST && found.insert(path.clone()) {
                left.push(path);
            }
        }
    }
    (found.into_iter().collect(), is_cut)
}

/// The first file that is `wanted` among those that the repository around `folder` keeps, by its index.
/// Fails where that cannot be told.
pub fn git_keeps(
    folder: &Path,
    wanted: &mut dyn FnMut(&Path) -> bool,
) -> Result<Option<PathBuf>, String> {
    let real = discovery::real(folder);
    for repository in discovery::around(folder)? {
        for file in indexes(&repository.directory) {
            // Without an index only the history knows what is kept, where there is any.
            let bytes = match contents::plain_file(&file, MOST_BYTES) {
                Found::Read(bytes) => bytes,
                Found::Absent if has_no_history(&repository) => continue,
                Found::Absent | Found::Unknown => {
                    return Err(format!("{} is no index that can be read", file.display()));
                }
            };
            let names = [20, 32].into_iter().find_map(|hash| entries(&bytes, hash, |_| true));
            let Some(names) = names else {
                return Err(format!("{} cannot be understood", file.display()));
            };
            for (kind, name) in names {
                // What is in a folder that was left out of the tree stands in the history alone.
                if kind == FOLDER {
                    return Err(format!("{} has whole folders in it", file.display()));
                }
                let path = repository.tree.join(OsStr::from_bytes(&name));
                // Whoever asks knows the folder by the name that it was given.
                let below = path.strip_prefix(&real).map(|below| folder.join(below));
                let path = below.unwrap_or(path);
                if wanted(&path) {
                    return Ok(Some(path));
                }
            }
        }
    }
    Ok(None)
}

/// Whether a repository that is not bare surely has no commit yet: its branch is nowhere.
fn has_no_history(repository: &Repository) -> bool {
    let Ok(common) = discovery::common(&repository.directory) else { return false };
    let head = repository.directory.join("HEAD");
    let branch = discovery::told(&head, b"ref:");
    let branch = branch.as_deref().and_then(Path::to_str).map(str::trim_ascii_start);
    let is_nowhere = |path: PathBuf| fs::symlink_metadata(path).is_err_and(|it| is_absent(&it));
    let is_unborn = |branch: &str| {
        let places = [&common, &repository.directory].map(|folder| folder.join(branch));
        let packed = match contents::file(&common.join("packed-refs"), MOST_BYTES) {
            Found::Read(packed) => packed,
            Found::Absent => Vec::new(),
            Found::Unknown => return false,
        };
        let mut lines = packed.split(|byte| *byte == b'\n');
        let is_packed = lines.any(|line| line.trim_ascii_end().ends_with(branch.as_bytes()));
        branch.starts_with("refs/") && places.into_iter().all(is_nowhere) && !is_packed
    };
    // What has no head is no repository to git.
    let is_headless = || is_nowhere(head.clone());
    // In another format branches are no files.
    let is_plain = || is_nowhere(common.join("reftable"));
    !repository.is_bare() && (branch.is_some_and(is_unborn) && is_plain() || is_headless())
}

/// The index of a git directory, and what it shares with others.
fn indexes(git: &Path) -> Vec<PathBuf> {
    let is_shared = |name: &OsStr| name.as_bytes().starts_with(b"sharedindex.");
    let shared = fs::read_dir(git).into_iter().flatten().flatten();
    let shared = shared.filter(|entry| is_shared(&entry.file_name())).map(|entry| entry.path());
    shared.chain([git.join("index")]).collect()
}

/// What the index of a git directory links to, from the top of its working tree.
fn links(git: &Path) -> Links {
    static KNOWN: Mutex<BTreeMap<PathBuf, (Stamp, Links)>> = Mutex::new(BTreeMap::new());
    let mut all = Links::default();
    for file in indexes(git) {
        let found = match fs::symlink_metadata(&file) {
            Ok(found) if found.is_file() && found.len() <= MOST_BYTES => found,
            Err(error) if is_absent(&error) => continue,
            Ok(_) | Err(_) => {
                all.is_cut = true;
                continue;
            }
        };
        let stamp = (found.ino(), found.size(), found.ctime(), found.ctime_nsec());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if known.get(&file).is_none_or(|(seen, _)| *seen != stamp) {
            let read = contents::plain_file(&file, MOST_BYTES).known().unwrap_or_default();
            known.insert(file.clone(), (stamp, parse(&read)));
        }
        if let Some((_, links)) = known.get(&file) {
            all.paths.extend(links.paths.iter().cloned());
            all.folders.extend(links.folders.iter().cloned());
            all.is_cut |= links.is_cut;
        }
    }
    all
}

/// The links in an index, for either length of hashes.
fn parse(bytes: &[u8]) -> Links {
    let is_meant = |kind| kind == LINK || kind == FOLDER;
    let Some(entries) = [20, 32].into_iter().find_map(|hash| entries(bytes, hash, is_meant)) else {
        return Links { is_cut: true, ..Links::default() };
    };
    let is_plain = |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
    let mut links = Links::default();
    for (kind, name) in entries {
        let path = PathBuf::from(OsStr::from_bytes(&name));
        // The name of one may stand in another index.
        if path.file_name().is_none() || !path.components().all(is_plain) {
            links.is_cut = true;
        } else if kind == LINK {
            links.paths.push(path);
        } else {
            links.folders.push(path);
        }
    }
    links
}

/// The entries of some kinds with their names, where hashes have this length.
fn entries(bytes: &[u8], hash: usize, is_meant: fn(u32) -> bool) -> Option<Vec<(u32, Vec<u8>)>> {
    let number = |at: usize| {
        let four = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_be_bytes(four))
    };
    let (version, count) = (number(4)?, number(8)?);
    if !bytes.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return None;
    }
    let (mut at, mut links, mut name) = (12, Vec::new(), Vec::new());
    for _ in 0..count {
        let kind = number(at + 24)? & KIND;
        if !KINDS.contains(&kind) {
            return None;
        }
        let flags = at + 40 + hash;
        let is_extended = bytes.get(flags)? & 0x40 != 0;
        let mut start = flags + if is_extended { 4 } else { 2 };
        if version == 4 {
            let (cut, used) = varying(bytes.get(start..)?)?;
            start += used;
            name.truncate(name.len().checked_sub(cut)?);
        } else {
            name.clear();
        }
        let length = bytes.get(start..)?.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(&bytes[start..start + length]);
        // The flags tell the length as well, which shows whether the hashes are as long as assumed.
        let told = usize::from(u16::from_be_bytes(bytes.get(flags..flags + 2)?.try_into().ok()?));
        if told & 0xfff != name.len().min(0xfff) {
            return None;
        }
        if is_meant(kind) {
            links.push((kind, name.clone()));
        }
        let end = start + length + 1;
        at = if version == 4 { end } else { at + (end - at).next_multiple_of(8) };
    }
    Some(links)
}

/// A number of as many bytes as it needs, and how many those are.
fn varying(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    for (index, byte) in bytes.iter().enumerate().take(5) {
        let step = usize::from(byte & 0x7f);
        value = if index == 0 { step } else { ((value + 1) << 7) + step };
        if byte & 0x80 == 0 {
            return Some((value, index + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[expect(clippy::disallowed_methods, reason = "git itself makes what is read")]
    fn git(folder: &Path, line: &str) {
        let mut command = Command::new("git");
        command.args([
            "-c",
            "protocol.file.allow=always",
            "-c",
            "user.name=a",
            "-c",
            "user.email=b",
        ]);
        let output = command.args(line.split(' ')).current_dir(folder).output().unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
    }

    fn repository(folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        git(folder, "init -q -b main .");
        fs::write(folder.join("some-file"), "x").unwrap();
        git(folder, "add .");
        git(folder, "commit -qm a");
    }

    #[test]
    fn submodules_and_theirs_are_found_in_every_form_of_the_index() {
        for format in ["sha1", "sha256"] {
            for version in ["2", "3", "4"] {
                let base = tempfile::tempdir().unwrap();
                let root = base.path().join("root");
                repository_of(&root, format);
                repository_of(&root.join("lib/inner"), format);
                repository_of(&root.join("lib/inner/deep"), format);
                git(&root.join("lib/inner"), "add deep");
                git(&root, "add lib/inner some-file");
                git(&root, &format!("update-index --index-version {version}"));
                let found = find(&root);
                let wanted = [root.join("lib/inner"), root.join("lib/inner/deep")];
                assert_eq!(found, wanted, "{format} {version}");
                let keeps = |name: &str| {
                    let wanted = root.join(name);
                    git_keeps(&root.join("lib"), &mut |path| path == wanted).unwrap().is_some()
                };
                assert!(keeps("some-file") && keeps("lib/inner"), "{format} {version}");
                assert!(!keeps("other-file"), "{format} {version}");
                git(&root, "update-index --split-index");
                assert_eq!(find(&root), wanted, "split, {format} {version}");
            }
        }
    }

    #[test]
    fn what_a_sparse_index_leaves_out_cannot_be_told() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().join("root");
        repository(&root);
        for name in ["src/a", "secret/k"] {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), "x").unwrap();
        }
        git(&root, "add .");
        git(&root, "commit -qm b");
        let secret = root.join("secret/k");
        let keeps = || git_keeps(&root, &mut |path| path == secret);
        assert_eq!(keeps(), Ok(Some(secret.clone())));
        git(&root, "sparse-checkout set --cone --sparse-index src");
        assert!(keeps().is_err());
        assert_eq!(find_all(&root), Ok(Vec::new()));
        fs::create_dir(root.join("secret")).unwrap();
        assert!(find_all(&root).is_err());
    }

    #[test]
    fn what_a_repository_without_an_index_keeps_cannot_be_told_unless_it_has_no_commit() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let (root, clone) = (base.join("root"), base.join("clone"));
        let keeps = |folder: &Path| git_keeps(folder, &mut |_| false);
        fs::create_dir(&root).unwrap();
        git(&root, "init -q -b main .");
        assert_eq!(keeps(&root), Ok(None));
        repository(&root);
        assert_eq!(keeps(&root), Ok(None));
        git(&base, "clone -q --no-checkout root clone");
        assert!(!clone.join(".git/index").exists() && keeps(&clone).is_err());
        git(&clone, "pack-refs --all");
        assert!(keeps(&clone).is_err());
        git(&clone, "worktree add -q --no-checkout ../tree");
        assert!(keeps(&base.join("tree")).is_err());
        git(&clone, "checkout -q --detach");
        let _ = fs::remove_file(clone.join(".git/index"));
        assert!(keeps(&clone).is_err());
        git(&clone, "symbolic-ref HEAD refs/heads/new");
        assert_eq!(keeps(&clone), Ok(None));
        // Nobody waits for what may never come.
        for name in ["packed-refs", "index"] {
            let _ = fs::remove_file(clone.join(".git").join(name));
            let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
            let place = clone.join(".git").join(name);
            rustix::fs::mkfifoat(rustix::fs::CWD, place, mode).unwrap();
            assert!(keeps(&clone).is_err());
        }
    }

    #[test]
    fn the_nearest_repository_tells_what_it_keeps() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().join("root");
        repository(&root);
        let keeps = |folder: &Path, name: &str| {
            let wanted = folder.join(name);
            git_keeps(folder, &mut |path| path == wanted)
        };
        assert_eq!(keeps(&root, "some-file"), Ok(Some(root.join("some-file"))));
        std::os::unix::fs::symlink(&root, base.path().join("link")).unwrap();
        let link = base.path().join("link");
        assert_eq!(keeps(&link, "some-file"), Ok(Some(link.join("some-file"))));
        // Git goes past a folder that is no repository.
        fs::create_dir_all(root.join("sub/.git")).unwrap();
        let wanted = root.join("some-file");
        let found = git_keeps(&root.join("sub"), &mut |path| path.ends_with("some-file"));
        assert_eq!(found, Ok(Some(wanted.canonicalize().unwrap())));
        fs::remove_dir(root.join("sub/.git")).unwrap();
        git(&root, "clone -q --bare . sub/bare");
        assert!(keeps(&root.join("sub/bare"), "x").is_err());
        fs::rename(root.join(".git"), root.join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("elsewhere", root.join(".git")).unwrap();
        assert!(keeps(&root, "x").is_err());
    }

    fn repository_of(folder: &Path, format: &str) {
        fs::create_dir_all(folder).unwrap();
        git(folder, &format!("init -q --object-format={format} -b main ."));
        repository(folder);
    }

    /// An index of one entry.
    fn index(kind: u32, flags: &[u8], name: &str) -> Vec<u8> {
        let start = [b"DIRC\0\0\0\x02\0\0\0\x01".as_slice(), &[0; 24]].concat();
        [&start, kind.to_be_bytes().as_slice(), &[0; 32], flags, name.as_bytes(), b"\0"].concat()
    }

    #[test]
    fn links_are_found_by_what_git_looks_at_and_what_is_not_plain_is_told() {
        for kind in [0o160_000, 0o160_755, 0o2_160_000, !0o7_777 & !0o10_000] {
            let links = parse(&index(kind, &[0, 3], "sub"));
            assert_eq!(
                (links.paths, links.is_cut),
                (vec![PathBuf::from("sub")], false),
                "{kind:o}"
            );
        }
        let links = parse(&index(LINK, &[0x40, 3, 0, 0], "sub"));
        assert_eq!(links.paths, [PathBuf::from("sub")]);
        for (name, flags) in [("../sub", [0, 6]), ("/sub", [0, 4]), ("", [0, 0])] {
            let links = parse(&index(LINK, &flags, name));
            assert!(links.paths.is_empty() && links.is_cut, "{name}");
        }
        let other = parse(&index(0o100_644, &[0, 3], "sub"));
        assert!(other.paths.is_empty() && !other.is_cut);
    }

    #[test]
    fn what_is_no_index_has_no_links() {
        for bytes in [b"".as_slice(), b"DIRC", b"DIRC\0\0\0\x02\0\0\0\x09\0\0\xe0\0", b"\0\0\xe0\0"]
        {
            assert!(parse(bytes).paths.is_empty());
            let base = tempfile::tempdir().unwrap();
            fs::create_dir(base.path().join(".git")).unwrap();
            assert_eq!(git_keeps(base.path(), &mut |_| true), Ok(None));
            assert_eq!(find_all(base.path()), Ok(Vec::new()));
            fs::write(base.path().join(".git/index"), bytes).unwrap();
            assert!(git_keeps(base.path(), &mut |_| true).is_err());
            assert!(find_all(base.path()).is_err());
        }
    }
}
