//! The files of a workspace as they were last seen: in memory during a session, and on disk as one
//! file with a log of the entries that changed since it was written.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::ops::Bound;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::state::{Hash, Name, State, Why};

const MAGIC: &[u8; 8] = b"brykno01";
/// Bytes of a checksum.
const CHECK: usize = 32;
/// With more unsaved entries than this, the whole file is written again.
const MOST_UNSAVED: usize = 10_000;

/// A path as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// Different when the file has changed, except shortly after a change: see `is_recent`.
    pub(super) mark: u64,
    /// The file changed so shortly before it was seen that the mark alone proves nothing.
    pub(super) is_recent: bool,
    pub(super) state: State,
    /// The scan that last saw it. Not saved.
    pub(super) scan: u64,
}

/// All paths that are covered by undo, by their absolute paths.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownFiles {
    /// Ordered by bytes, so that the paths below a directory are next to each other.
    entries: BTreeMap<OsString, Known>,
    unsaved: BTreeSet<OsString>,
    /// So much is unsaved that the log would not be shorter.
    must_rewrite: bool,
    scans: u64,
}

impl KnownFiles {
    /// Begins a scan and returns its number.
    pub(super) fn next_scan(&mut self) -> u64 {
        self.scans += 1;
        self.scans
    }

    /// The entry of a path.
    pub(super) fn get(&self, path: &Path) -> Option<&Known> {
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

    /// Adds or replaces an entry.
    pub(super) fn insert(&mut self, path: &Path, known: Known) {
        let is_same = self.get(path).is_some_and(|earlier| {
            (earlier.mark, earlier.is_recent) == (known.mark, known.is_recent)
                && earlier.state == known.state
        });
        if !is_same {
            self.touch(path.as_os_str().to_owned());
        }
        self.entries.insert(path.as_os_str().to_owned(), known);
    }

    /// Removes the entry of a path.
    pub(super) fn remove(&mut self, path: &Path) -> Option<Known> {
        let removed = self.entries.remove(path.as_os_str());
        if removed.is_some() {
            self.touch(path.as_os_str().to_owned());
        }
        removed
    }

    fn touch(&mut self, path: OsString) {
        if self.must_rewrite {
            return;
        }
        self.unsaved.insert(path);
        if self.unsaved.len() > MOST_UNSAVED {
            self.must_rewrite = true;
            self.unsaved.clear();
        }
    }

    /// The paths below a directory.
    pub(super) fn below(&self, directory: &Path) -> impl Iterator<Item = (&OsStr, &Known)> {
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
        let size = |known: &Known| match known.state {
            State::File { size, .. } => size,
            _ => 0,
        };
        self.entries.values().map(size).sum()
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if something is not saved.
    pub(super) fn is_unsaved(&self) -> bool {
        self.must_rewrite || !self.unsaved.is_empty()
    }

    /// Returns true if the whole file should be written rather than the log.
    pub(super) fn must_rewrite(&self) -> bool {
        self.must_rewrite
    }

    /// Everything has been saved.
    pub(super) fn saved(&mut self) {
        self.must_rewrite = false;
        self.unsaved.clear();
    }

    /// The bytes of the file.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        for (path, known) in &self.entries {
            put_entry(&mut out, path, Some(known));
        }
        let check = Hash::of(&out);
        out.extend_from_slice(&check.0);
        out
    }

    /// The unsaved entries as a batch for the log.
    pub(super) fn encode_unsaved(&self) -> Vec<u8> {
        let mut entries = Vec::new();
        for path in &self.unsaved {
            put_entry(&mut entries, path, self.entries.get(path));
        }
        let mut out = Vec::new();
        put_number(&mut out, entries.len() as u64);
        out.extend_from_slice(&Hash::of(&entries).0);
        out.append(&mut entries);
        out
    }

    /// Reads the file; none if it is damaged or of another version.
    pub(super) fn decode(data: &[u8]) -> Option<Self> {
        let (data, check) = data.split_at_checked(data.len().checked_sub(CHECK)?)?;
        if Hash::of(data).0 != *check {
            return None;
        }
        let mut known = Self::default();
        known.apply(data.strip_prefix(MAGIC)?, &mut |_| {})?;
        Some(known)
    }

    /// Adds the batches of a log up to the first that is not whole. `each` gets every state in it.
    /// Returns how many bytes were whole.
    pub(super) fn replay(&mut self, log: &[u8], each: &mut dyn FnMut(&State)) -> usize {
        let mut rest = Reader(log);
        loop {
            let whole = log.len() - rest.0.len();
            let batch = rest.number().and_then(|length| {
                let check = rest.array::<CHECK>()?;
                let entries = rest.bytes(usize::try_from(length).ok()?)?;
                (Hash::of(entries).0 == check).then_some(entries)
            });
            if batch.and_then(|entries| self.apply(entries, each)).is_none() {
                return whole;
            }
        }
    }

    fn apply(&mut self, entries: &[u8], each: &mut dyn FnMut(&State)) -> Option<()> {
        let mut reader = Reader(entries);
        while !reader.0.is_empty() {
            let path = reader.name()?;
            if reader.byte()? == 0 {
                self.entries.remove(&path);
                continue;
            }
            let mark = reader.number()?;
            let is_recent = reader.byte()? != 0;
            let state = reader.state()?;
            each(&state);
            self.entries.insert(path, Known { mark, is_recent, state, scan: 0 });
        }
        Some(())
    }

    /// Calls `each` with every state.
    pub(super) fn states(&self, each: &mut dyn FnMut(&State)) {
        self.entries.values().for_each(|known| each(&known.state));
    }

    /// The paths below a directory that a scan has not seen, without those below `left_out`.
    pub(super) fn unseen(&self, top: &Path, scan: u64, left_out: &[PathBuf]) -> Vec<PathBuf> {
        let is_left_out =
            |path: &Path| left_out.iter().any(|directory| path.starts_with(directory));
        self.below(top)
            .filter(|(_, known)| known.scan != scan)
            .map(|(path, _)| PathBuf::from(path))
            .filter(|path| !is_left_out(path))
            .collect()
    }
}

fn put_entry(out: &mut Vec<u8>, path: &OsStr, known: Option<&Known>) {
    put_bytes(out, path.as_bytes());
    out.push(known.is_some().into());
    if let Some(known) = known {
        put_number(out, known.mark);
        out.push(known.is_recent.into());
        put_state(out, &known.state);
    }
}

fn put_state(out: &mut Vec<u8>, state: &State) {
    match state {
        State::File { hash, size, mode } => {
            out.push(1);
            out.extend_from_slice(&hash.0);
            put_number(out, *size);
            put_number(out, (*mode).into());
        }
        State::Link { target } => {
            out.push(2);
            put_bytes(out, target.path().as_os_str().as_bytes());
        }
        State::Unkept { why, size, mark } => {
            out.push(3);
            out.push(why.code());
            put_number(out, *size);
            put_number(out, *mark);
        }
        State::Directory { mode } => {
            out.push(4);
            put_number(out, (*mode).into());
        }
        State::Absent => out.push(5),
    }
}

fn put_number(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(first)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn number(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn name(&mut self) -> Option<OsString> {
        let length = usize::try_from(self.number()?).ok()?;
        Some(OsString::from_vec(self.bytes(length)?.to_owned()))
    }

    fn state(&mut self) -> Option<State> {
        Some(match self.byte()? {
            1 => State::File {
                hash: Hash(self.array()?),
                size: self.number()?,
                mode: u32::try_from(self.number()?).ok()?,
            },
            2 => State::Link { target: Name::of(&self.name()?) },
            3 => State::Unkept {
                why: Why::of_code(self.byte()?)?,
                size: self.number()?,
                mark: self.number()?,
            },
            4 => State::Directory { mode: u32::try_from(self.number()?).ok()? },
            5 => State::Absent,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(state: State) -> Known {
        Known { mark: 7, is_recent: true, state, scan: 0 }
    }

    fn sample() -> KnownFiles {
        let mut files = KnownFiles::default();
        let odd = OsString::from_vec(b"/p/\xff".to_vec());
        files.insert(Path::new("/p"), known(State::Directory { mode: 0o755 }));
        files.insert(
            Path::new("/p/a"),
            known(State::File { hash: Hash::of(b"x"), size: 1, mode: 0o644 }),
        );
        files.insert(Path::new(&odd), known(State::Link { target: Name::Bytes(vec![0xfe]) }));
        files.insert(
            Path::new("/p/big"),
            known(State::Unkept { why: Why::NoRoom, size: 1 << 40, mark: 3 }),
        );
        files
    }

    #[test]
    fn known_files_survive_encoding() {
        let files = sample();
        assert_eq!(KnownFiles::decode(&files.encode()).unwrap().entries, files.entries);
    }

    #[test]
    fn damaged_known_files_are_rejected() {
        let bytes = sample().encode();
        for cut in 0..bytes.len() {
            assert!(KnownFiles::decode(&bytes[..cut]).is_none(), "{cut}");
            let mut changed = bytes.clone();
            changed[cut] ^= 1;
            assert!(KnownFiles::decode(&changed).is_none(), "{cut}");
        }
    }

    #[test]
    fn a_log_is_replayed_up_to_its_first_torn_batch() {
        let mut files = sample();
        files.saved();
        let start = KnownFiles::decode(&files.encode()).unwrap();
        files.remove(Path::new("/p/a"));
        let mut log = files.encode_unsaved();
        files.saved();
        let first = log.len();
        files.insert(Path::new("/p/new"), known(State::Absent));
        log.extend(files.encode_unsaved());
        let mut whole = start.clone();
        assert_eq!(whole.replay(&log, &mut |_| {}), log.len());
        assert_eq!(whole.entries, files.entries);
        let mut torn = start;
        assert_eq!(torn.replay(&log[..log.len() - 1], &mut |_| {}), first);
        assert!(torn.get(Path::new("/p/a")).is_none() && torn.get(Path::new("/p/new")).is_none());
    }

    #[test]
    fn below_returns_the_paths_of_a_directory_only() {
        let mut files = KnownFiles::default();
        for path in ["/a", "/a!", "/a/b", "/a/b/c", "/a0", "/ab"] {
            files.insert(Path::new(path), known(State::Absent));
        }
        let below: Vec<_> = files.below(Path::new("/a")).map(|(path, _)| path).collect();
        assert_eq!(below, ["/a/b", "/a/b/c"]);
    }
}
