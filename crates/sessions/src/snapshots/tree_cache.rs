//! The paths of a workspace as they were last seen: in memory during a session, and on disk as one
//! file to which changed entries are appended in batches.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::state::{Hash, Name, SkipReason, State};

const MAGIC: [u8; 8] = *b"brytree1";
/// Bytes of a checksum.
const CHECK: usize = 32;
/// With more unsaved entries than this, the whole file is written again.
const MAX_UNSAVED: usize = 10_000;

/// A path as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CachedPath {
    /// Different if the file has changed, except shortly after a change: see `is_recent`.
    pub(super) stamp: u64,
    /// The file changed so shortly before it was seen that the stamp alone proves nothing.
    pub(super) is_recent: bool,
    pub(super) state: State,
    /// The scan that last saw it. Not saved.
    pub(super) scan: u64,
}

/// All paths that undo covers, by their absolute paths.
#[derive(Clone, Debug, Default)]
pub(super) struct TreeCache {
    /// Ordered by bytes, so that the paths below a directory are next to each other.
    entries: BTreeMap<OsString, CachedPath>,
    unsaved: BTreeSet<OsString>,
    /// The end of the file cannot be read, so nothing may be appended.
    is_torn: bool,
    scans: u64,
}

/// A state of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    /// Differs from file to file.
    pub(super) generation: u64,
    /// Bytes of the first batch, which has all entries.
    pub(super) first_batch: u64,
    /// Bytes of the file.
    pub(super) length: u64,
}

impl Position {
    /// The present state of a file; none if it is of another kind.
    pub(super) fn of(file: &File) -> Option<Self> {
        let mut start = [0; 24];
        file.read_exact_at(&mut start, 0).ok()?;
        let [magic, generation, first_batch] = start.as_chunks::<8>().0 else { return None };
        let [generation, first_batch] = [generation, first_batch].map(|it| u64::from_le_bytes(*it));
        let length = file.metadata().ok()?.len();
        (*magic == MAGIC).then_some(Self { generation, first_batch, length })
    }
}

impl TreeCache {
    /// Begins a scan and returns its number.
    pub(super) fn next_scan(&mut self) -> u64 {
        self.scans += 1;
        self.scans
    }

    pub(super) fn get(&self, path: &Path) -> Option<&CachedPath> {
        self.entries.get(path.as_os_str())
    }

    /// Returns true if a path is known as a directory.
    pub(super) fn is_directory(&self, path: &Path) -> bool {
        self.get(path).is_some_and(|known| known.state.is_directory())
    }

    /// Marks a path that is unchanged as seen.
    pub(super) fn see(&mut self, path: &Path, scan: u64) {
        if let Some(known) = self.entries.get_mut(path.as_os_str()) {
            known.scan = scan;
        }
    }

    pub(super) fn insert(&mut self, path: &Path, entry: CachedPath) {
        let is_same = self.get(path).is_some_and(|earlier| {
            (earlier.stamp, earlier.is_recent) == (entry.stamp, entry.is_recent)
                && earlier.state == entry.state
        });
        if !is_same {
            self.unsaved.insert(path.as_os_str().to_owned());
        }
        self.entries.insert(path.as_os_str().to_owned(), entry);
    }

    pub(super) fn remove(&mut self, path: &Path) -> Option<CachedPath> {
        let removed = self.entries.remove(path.as_os_str());
        if removed.is_some() {
            self.unsaved.insert(path.as_os_str().to_owned());
        }
        removed
    }

    /// The paths below a directory.
    pub(super) fn below(&self, directory: &Path) -> impl Iterator<Item = (&OsStr, &CachedPath)> {
        let mut prefix = directory.as_os_str().to_owned();
        prefix.push("/");
        let range = (Bound::Included(prefix.clone()), Bound::Unbounded);
        let below = self.entries.range::<OsString, _>(range);
        below
            .take_while(move |(path, _)| path.as_bytes().starts_with(prefix.as_bytes()))
            .map(|(path, known)| (path.as_os_str(), known))
    }

    /// Bytes of all files that are stored.
    pub(super) fn total(&self) -> u64 {
        let size = |known: &CachedPath| match known.state {
            State::File { size, .. } => size,
            _ => 0,
        };
        self.entries.values().map(size).sum()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if something is not saved.
    pub(super) fn is_unsaved(&self) -> bool {
        !self.unsaved.is_empty()
    }

    /// Returns true if the whole file should be written rather than a batch.
    pub(super) fn must_rewrite(&self) -> bool {
        self.is_torn || self.unsaved.len() > MAX_UNSAVED
    }

    pub(super) fn saved(&mut self) {
        self.is_torn = false;
        self.unsaved.clear();
    }

    pub(super) fn encode(&self, generation: u64) -> Vec<u8> {
        let entries = self.entries.iter().map(|(path, entry)| (path, Some(entry)));
        let mut file = MAGIC.to_vec();
        file.extend_from_slice(&generation.to_le_bytes());
        file.extend(batch(entries));
        file
    }

    /// The unsaved entries, to be appended to the file.
    pub(super) fn encode_unsaved(&self) -> Vec<u8> {
        batch(self.unsaved.iter().map(|path| (path, self.entries.get(path))))
    }

    /// Reads a file up to the first batch that is not whole; none if it is damaged or of another
    /// version. `each` gets every state in it, also those that later ones replace.
    pub(super) fn decode(file: &[u8], each: &mut dyn FnMut(&State)) -> Option<Self> {
        let mut batches = file.strip_prefix(&MAGIC)?.get(8..)?;
        let mut cache = Self::default();
        while let Some((entries, rest)) = next_batch(batches) {
            for (path, fields) in entries {
                if fields.is_empty() {
                    cache.entries.remove(path);
                } else {
                    let entry = parse(fields)?;
                    each(&entry.state);
                    cache.entries.insert(path.to_owned(), entry);
                }
            }
            batches = rest;
        }
        cache.is_torn = !batches.is_empty();
        Some(cache)
    }

    /// Calls `each` with every state.
    pub(super) fn states(&self, each: &mut dyn FnMut(&State)) {
        self.entries.values().for_each(|entry| each(&entry.state));
    }

    /// The paths below a directory that a scan has not seen, without those below `left_out`.
    pub(super) fn unseen(&self, top: &Path, scan: u64, left_out: &[PathBuf]) -> Vec<PathBuf> {
        let is_left_out =
            |path: &Path| left_out.iter().any(|directory| path.starts_with(directory));
        self.below(top)
            .filter(|(_, entry)| entry.scan != scan)
            .map(|(path, _)| PathBuf::from(path))
            .filter(|path| !is_left_out(path))
            .collect()
    }
}

/// Entries behind their length and checksum. A path and its fields, of which a removed path has none,
/// end with a zero byte, which neither contains.
fn batch<'a>(entries: impl Iterator<Item = (&'a OsString, Option<&'a CachedPath>)>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (path, entry) in entries {
        bytes.extend_from_slice(path.as_bytes());
        bytes.push(0);
        if let Some(entry) = entry {
            put_fields(&mut bytes, entry);
        }
        bytes.push(0);
    }
    let mut batch = (bytes.len() as u64).to_le_bytes().to_vec();
    batch.extend_from_slice(&Hash::of(&bytes).0);
    batch.append(&mut bytes);
    batch
}

type Entries<'a> = Vec<(&'a OsStr, &'a [u8])>;

/// The entries of the first batch, and the bytes behind it; none if it is not whole.
fn next_batch(bytes: &[u8]) -> Option<(Entries<'_>, &[u8])> {
    let (length, bytes) = bytes.split_first_chunk::<8>()?;
    let (check, bytes) = bytes.split_first_chunk::<CHECK>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (entries, rest) = bytes.split_at_checked(length)?;
    if Hash::of(entries).0 != *check {
        return None;
    }
    let mut parts = entries.split(|byte| *byte == 0);
    let pair = || Some((OsStr::from_bytes(parts.next()?), parts.next()?));
    Some((std::iter::from_fn(pair).collect(), rest))
}

fn put_fields(out: &mut Vec<u8>, entry: &CachedPath) {
    let CachedPath { stamp, is_recent, state, .. } = entry;
    let is_recent = u8::from(*is_recent);
    // Nothing fails that writes to memory.
    let _ = write!(out, "{stamp} {is_recent} ");
    let _ = match state {
        State::File { hash, size, mode } => write!(out, "file {hash:?} {size} {mode}"),
        State::Link { target } => {
            write!(out, "link ").and_then(|()| out.write_all(target.path().as_os_str().as_bytes()))
        }
        State::Unsaved { why, size, mark } => write!(out, "unsaved {} {size} {mark}", *why as u8),
        State::Directory { mode } => write!(out, "directory {mode}"),
        State::Absent => write!(out, "absent"),
    };
}

fn parse(fields: &[u8]) -> Option<CachedPath> {
    let mut fields = fields.splitn(4, |byte| *byte == b' ');
    let stamp = number(fields.next()?)?;
    let is_recent = fields.next()? == b"1";
    let kind = fields.next()?;
    let rest = fields.next().unwrap_or_default();
    let mut fields = rest.split(|byte| *byte == b' ');
    let state = match kind {
        b"file" => State::File {
            hash: Hash::from_hex(fields.next()?)?,
            size: number(fields.next()?)?,
            mode: number(fields.next()?)?,
        },
        b"link" => State::Link { target: Name::of(OsStr::from_bytes(rest)) },
        b"unsaved" => State::Unsaved {
            why: *SkipReason::ALL.get(number::<usize>(fields.next()?)?)?,
            size: number(fields.next()?)?,
            mark: number(fields.next()?)?,
        },
        b"directory" => State::Directory { mode: number(fields.next()?)? },
        b"absent" => State::Absent,
        _ => return None,
    };
    Some(CachedPath { stamp, is_recent, state, scan: 0 })
}

fn number<N: std::str::FromStr>(digits: &[u8]) -> Option<N> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn cached(state: State) -> CachedPath {
        CachedPath { stamp: 7, is_recent: true, state, scan: 0 }
    }

    fn decode(file: &[u8]) -> Option<TreeCache> {
        TreeCache::decode(file, &mut |_| {})
    }

    fn sample() -> TreeCache {
        let mut cache = TreeCache::default();
        let odd = OsString::from_vec(b"/p/\xff \n".to_vec());
        cache.insert(Path::new("/p"), cached(State::Directory { mode: 0o755 }));
        let file = State::File { hash: Hash::of(b"x"), size: 1, mode: 0o644 };
        cache.insert(Path::new("/p/a"), cached(file));
        let target = Name::Bytes(vec![0xfe, b' ', b'1']);
        cache.insert(Path::new(&odd), cached(State::Link { target }));
        for (number, why) in SkipReason::ALL.into_iter().enumerate() {
            let state = State::Unsaved { why, size: 1 << 40, mark: u64::MAX };
            cache.insert(&Path::new("/p").join(number.to_string()), cached(state));
        }
        cache
    }

    #[test]
    fn a_tree_cache_survives_encoding() {
        let cache = sample();
        assert_eq!(decode(&cache.encode(5)).unwrap().entries, cache.entries);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&cache.encode(5)).unwrap();
        let Position { generation, first_batch, length } = Position::of(&file).unwrap();
        assert_eq!((generation, length - first_batch), (5, 24 + CHECK as u64));
    }

    #[test]
    fn a_damaged_tree_cache_is_rejected() {
        let bytes = sample().encode(5);
        for cut in 16..bytes.len() {
            let is_empty = |cache: Option<TreeCache>| cache.is_none_or(|it| it.entries.is_empty());
            assert!(is_empty(decode(&bytes[..cut])), "{cut}");
            let mut changed = bytes.clone();
            changed[cut] ^= 1;
            assert!(is_empty(decode(&changed)), "{cut}");
        }
    }

    #[test]
    fn a_tree_cache_is_read_up_to_its_first_torn_batch() {
        let mut cache = sample();
        cache.saved();
        let mut file = cache.encode(5);
        cache.remove(Path::new("/p/a"));
        file.extend(cache.encode_unsaved());
        cache.saved();
        cache.insert(Path::new("/p/new"), cached(State::Absent));
        file.extend(cache.encode_unsaved());
        let whole = decode(&file).unwrap();
        assert_eq!(whole.entries, cache.entries);
        assert!(!whole.must_rewrite());
        let torn = decode(&file[..file.len() - 1]).unwrap();
        assert!(torn.get(Path::new("/p/a")).is_none() && torn.get(Path::new("/p/new")).is_none());
        assert!(torn.must_rewrite());
    }

    #[test]
    fn below_returns_the_paths_of_a_directory_only() {
        let mut cache = TreeCache::default();
        for path in ["/a", "/a!", "/a/b", "/a/b/c", "/a0", "/ab"] {
            cache.insert(Path::new(path), cached(State::Absent));
        }
        let below: Vec<_> = cache.below(Path::new("/a")).map(|(path, _)| path).collect();
        assert_eq!(below, ["/a/b", "/a/b/c"]);
    }
}
