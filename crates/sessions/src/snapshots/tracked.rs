//! The names that git tracks, read from its index: an ignore file does not hide them. Only reads,
//! and takes a file that makes no sense for one without names.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::state::Hash;

/// Bytes of an index that is read.
const LARGEST: u64 = 256 << 20;
/// Bytes of an entry before its object's name, and the length of the usual one.
const FACTS: usize = 40;
const SHA1: usize = 20;
const SHA256: usize = 32;
/// Says that two more bytes of flags follow.
const EXTENDED: u16 = 0x4000;

/// The names that one repository tracks.
#[derive(Debug, Default)]
pub(super) struct Tracked {
    /// Names them: the same names have the same.
    pub(super) id: u64,
    repository: PathBuf,
    /// Sorted.
    names: Vec<Box<[u8]>>,
}

/// The indexes that were read, each again only where it has changed.
#[derive(Debug, Default)]
pub(super) struct Indexes(BTreeMap<PathBuf, (Mark, Arc<Tracked>)>);

/// Tells whether an index is as it was.
type Mark = (u64, u64, i64, i64);

impl Indexes {
    /// What the repository in this folder tracks.
    pub(super) fn of(&mut self, repository: &Path) -> Arc<Tracked> {
        let git = folder_of(repository);
        let index = git.join("index");
        let Some(mark) = mark(&index) else { return Arc::default() };
        match self.0.get(repository) {
            Some((known, tracked)) if *known == mark => Arc::clone(tracked),
            _ => {
                let tracked = Arc::new(Tracked::read(repository, &git));
                self.0.insert(repository.to_owned(), (mark, Arc::clone(&tracked)));
                tracked
            }
        }
    }
}

fn mark(index: &Path) -> Option<Mark> {
    let metadata = fs::symlink_metadata(index).ok()?;
    let is_usable = metadata.is_file() && metadata.len() <= LARGEST;
    is_usable.then(|| (metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec()))
}

/// The folder of a repository's own files, which another worktree names in a file.
fn folder_of(repository: &Path) -> PathBuf {
    let git = repository.join(".git");
    let named = file(&git);
    match String::from_utf8_lossy(&named).trim_end().strip_prefix("gitdir: ") {
        Some(folder) => repository.join(folder),
        None => git,
    }
}

/// The bytes of a file, none where there is no such file. A pipe would never end.
fn file(path: &Path) -> Vec<u8> {
    let is_file = fs::metadata(path).is_ok_and(|found| found.is_file());
    is_file.then(|| fs::read(path).ok()).flatten().unwrap_or_default()
}

impl Tracked {
    fn read(repository: &Path, git: &Path) -> Self {
        let bytes = file(&git.join("index"));
        // Another worktree shares the settings of the first.
        let shared = file(&git.join("commondir"));
        let shared = String::from_utf8_lossy(&shared);
        let config = file(&git.join(shared.trim_end()).join("config"));
        let config = String::from_utf8_lossy(&config).to_lowercase().replace([' ', '\t'], "");
        let is_long = config.contains("objectformat=sha256");
        let mut names = names(&bytes, if is_long { SHA256 } else { SHA1 }).unwrap_or_default();
        names.sort_unstable();
        let hash = Hash::of(&names.join(&0)).0;
        let id = hash.first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
        Self { id, repository: repository.to_owned(), names }
    }

    /// Whether a path is tracked, or a folder has something in it that is.
    pub(super) fn holds(&self, path: &Path, is_folder: bool) -> bool {
        let Ok(path) = path.strip_prefix(&self.repository) else { return false };
        let mut name = path.as_os_str().as_bytes().to_vec();
        if !is_folder {
            return self.names.binary_search_by(|known| known.as_ref().cmp(&name)).is_ok();
        }
        name.push(b'/');
        let at = self.names.partition_point(|known| known.as_ref() < name.as_slice());
        self.names.get(at).is_some_and(|known| known.starts_with(&name))
    }
}

/// The names in an index; none where it is none.
fn names(index: &[u8], object: usize) -> Option<Vec<Box<[u8]>>> {
    let rest = index.strip_prefix(b"DIRC")?;
    let (version, rest) = number(rest)?;
    let (count, mut rest) = number(rest)?;
    let mut names = Vec::new();
    let mut name = Vec::new();
    for _ in 0..count {
        let start = rest.len();
        rest = rest.get(FACTS + object..)?;
        let (flags, after) = rest.split_first_chunk::<2>()?;
        rest = after;
        if version >= 3 && u16::from_be_bytes(*flags) & EXTENDED != 0 {
            rest = rest.get(2..)?;
        }
        if version >= 4 {
            let (cut, after) = offset(rest)?;
            name.truncate(name.len().checked_sub(cut)?);
            rest = after;
        } else {
            name.clear();
        }
        let end = memchr::memchr(0, rest)?;
        name.extend_from_slice(&rest[..end]);
        rest = rest.get(end + 1..)?;
        if version < 4 {
            let taken = start - rest.len();
            rest = rest.get(taken.next_multiple_of(8) - taken..)?;
        }
        names.push(name.as_slice().into());
    }
    Some(names)
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (first, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*first), rest))
}

/// A number of any length, seven bits a byte.
fn offset(mut bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_usize;
    loop {
        let (byte, rest) = bytes.split_first()?;
        value = value.checked_mul(128)?.checked_add(usize::from(byte & 127))?;
        bytes = rest;
        if byte & 128 == 0 {
            return Some((value, bytes));
        }
        value = value.checked_add(1)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(version: u32, entries: &[(&[u8], &str)]) -> Vec<u8> {
        let mut index = b"DIRC".to_vec();
        index.extend(version.to_be_bytes());
        index.extend(u32::try_from(entries.len()).unwrap().to_be_bytes());
        for (before, name) in entries {
            let start = index.len();
            index.extend([7; FACTS + SHA1]);
            let flags = if version == 3 { EXTENDED } else { 0 };
            index.extend(flags.to_be_bytes());
            index.extend(if version == 3 { vec![0; 2] } else { Vec::new() });
            index.extend(*before);
            index.extend(name.as_bytes());
            index.push(0);
            while version < 4 && !(index.len() - start).is_multiple_of(8) {
                index.push(0);
            }
        }
        index
    }

    fn read(index: &[u8]) -> Option<Vec<String>> {
        let text = |name: Box<[u8]>| String::from_utf8(name.into_vec()).unwrap();
        Some(names(index, SHA1)?.into_iter().map(text).collect())
    }

    #[test]
    fn all_versions_of_an_index_are_read_and_nonsense_is_none() {
        let wanted = Some(vec!["a/keep.log".to_owned(), "a/kept/x".to_owned(), "b".to_owned()]);
        for version in [2, 3] {
            let index = index(version, &[(b"", "a/keep.log"), (b"", "a/kept/x"), (b"", "b")]);
            assert_eq!(read(&index), wanted);
            for end in 0..index.len() {
                let cut = read(&index[..end]);
                assert!(cut.is_none() || end > index.len() - 8, "{end}");
            }
        }
        let packed = index(4, &[(&[0], "a/keep.log"), (&[6], "pt/x"), (&[8], "b")]);
        assert_eq!(read(&packed), wanted);
        assert_eq!(read(&index(4, &[(&[9], "a")])), None);
        assert_eq!(read(b"nonsense"), None);
    }

    #[test]
    fn a_folder_is_tracked_where_something_in_it_is() {
        let names = [&b"a-b"[..], b"a/x", b"c"].map(Box::from).to_vec();
        let tracked = Tracked { id: 0, repository: "/r".into(), names };
        for (path, is_folder, is_held) in [
            ("/r/a/x", false, true),
            ("/r/a", true, true),
            ("/r/a", false, false),
            ("/r/c", false, true),
            ("/r/c", true, false),
            ("/r/b", true, false),
            ("/other/c", false, false),
        ] {
            assert_eq!(tracked.holds(Path::new(path), is_folder), is_held, "{path}");
        }
    }
}
