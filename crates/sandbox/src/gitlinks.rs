//! The folders that git on the host looks into whenever it looks at a repository: its submodules, and
//! theirs. They stand in the index, whatever `.gitmodules` says, as do the files that it keeps. Only reads,
//! and follows no link.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Submodules of one workspace that are looked at.
const MOST: usize = 512;
const MOST_BYTES: u64 = 256 << 20;

/// The kind of an entry that is the commit of another repository, and all kinds that there are.
const LINK: u32 = 0o160_000;
const KINDS: [u32; 5] = [0o100_644, 0o100_755, 0o120_000, 0o040_000, LINK];

/// An index as it was when it was read.
type Stamp = (u64, u64, i64, i64);

/// The folders beneath `root` that its repository, and those in them, take for repositories. They
/// need not exist.
pub(crate) fn find(root: &Path) -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    let mut left = vec![root.to_owned()];
    while let Some(folder) = left.pop() {
        for link in git_directory(&folder).map(|git| links(&git)).unwrap_or_default() {
            let path = folder.join(link);
            if found.len() < MOST && found.insert(path.clone()) {
                left.push(path);
            }
        }
    }
    found.into_iter().collect()
}

/// The first file that is `wanted` among those that the repository around `folder` keeps, by its index.
/// Fails where the index cannot be understood.
pub fn git_keeps(
    folder: &Path,
    wanted: &mut dyn FnMut(&Path) -> bool,
) -> Result<Option<PathBuf>, String> {
    let top = folder.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
    let Some((top, git)) = top.and_then(|top| Some((top, git_directory(top)?))) else {
        return Ok(None);
    };
    for file in indexes(&git) {
        let bytes = match fs::symlink_metadata(&file) {
            Ok(found) if found.is_file() && found.len() <= MOST_BYTES => fs::read(&file),
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Ok(_) | Err(_) => return Err(format!("{} is no index", file.display())),
        };
        let bytes = bytes.map_err(|error| format!("{}: {error}", file.display()))?;
        let names = [20, 32].into_iter().find_map(|hash| entries(&bytes, hash, |_| true));
        let Some(names) = names else {
            return Err(format!("{} cannot be understood", file.display()));
        };
        let mut paths = names.iter().map(|name| top.join(OsStr::from_bytes(name)));
        if let Some(path) = paths.find(|path| wanted(path)) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// The index of a git directory, and what it shares with others.
fn indexes(git: &Path) -> Vec<PathBuf> {
    let is_shared = |name: &OsStr| name.as_bytes().starts_with(b"sharedindex.");
    let shared = fs::read_dir(git).into_iter().flatten().flatten();
    let shared = shared.filter(|entry| is_shared(&entry.file_name())).map(|entry| entry.path());
    shared.chain([git.join("index")]).collect()
}

/// The git directory of a working tree.
pub(crate) fn git_directory(folder: &Path) -> Option<PathBuf> {
    let path = folder.join(".git");
    let found = fs::symlink_metadata(&path).ok()?;
    if found.is_dir() {
        return Some(path);
    }
    if !found.is_file() || found.len() > 4096 {
        return None;
    }
    let text = fs::read(&path).ok()?;
    let target = text.strip_prefix(b"gitdir:")?.trim_ascii();
    fs::canonicalize(folder.join(OsStr::from_bytes(target))).ok()
}

/// What the index of a git directory links to, from the top of its working tree.
fn links(git: &Path) -> Vec<PathBuf> {
    static KNOWN: Mutex<BTreeMap<PathBuf, (Stamp, Vec<PathBuf>)>> = Mutex::new(BTreeMap::new());
    let mut all = Vec::new();
    for file in indexes(git) {
        let Ok(found) = fs::symlink_metadata(&file) else { continue };
        if !found.is_file() || found.len() > MOST_BYTES {
            continue;
        }
        let stamp = (found.ino(), found.size(), found.ctime(), found.ctime_nsec());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if known.get(&file).is_none_or(|(seen, _)| *seen != stamp) {
            let read = fs::read(&file).map(|bytes| parse(&bytes)).unwrap_or_default();
            known.insert(file.clone(), (stamp, read));
        }
        all.extend(known.get(&file).into_iter().flat_map(|(_, links)| links.clone()));
    }
    all
}

/// The links in an index, for either length of hashes.
fn parse(bytes: &[u8]) -> Vec<PathBuf> {
    // Most repositories have none, which a search tells sooner.
    if !bytes.windows(4).any(|four| four == LINK.to_be_bytes()) {
        return Vec::new();
    }
    let is_link = |kind| kind == LINK;
    let links = [20, 32].into_iter().find_map(|hash| entries(bytes, hash, is_link));
    let links = links.unwrap_or_default();
    let is_plain = |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
    let paths = links.into_iter().map(|link| PathBuf::from(OsStr::from_bytes(&link)));
    paths.filter(|path| path.components().all(is_plain)).collect()
}

/// The names of the entries of some kinds, where hashes have this length.
fn entries(bytes: &[u8], hash: usize, is_meant: fn(u32) -> bool) -> Option<Vec<Vec<u8>>> {
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
        let kind = number(at + 24)?;
        if !KINDS.contains(&kind) {
            return None;
        }
        let flags = at + 40 + hash;
        let is_extended = version >= 3 && bytes.get(flags)? & 0x40 != 0;
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
            links.push(name.clone());
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

    fn repository_of(folder: &Path, format: &str) {
        fs::create_dir_all(folder).unwrap();
        git(folder, &format!("init -q --object-format={format} -b main ."));
        repository(folder);
    }

    #[test]
    fn what_is_no_index_has_no_links() {
        for bytes in [b"".as_slice(), b"DIRC", b"DIRC\0\0\0\x02\0\0\0\x09\0\0\xe0\0", b"\0\0\xe0\0"]
        {
            assert!(parse(bytes).is_empty());
            let base = tempfile::tempdir().unwrap();
            fs::create_dir(base.path().join(".git")).unwrap();
            assert_eq!(git_keeps(base.path(), &mut |_| true), Ok(None));
            fs::write(base.path().join(".git/index"), bytes).unwrap();
            assert!(git_keeps(base.path(), &mut |_| true).is_err());
        }
    }
}
