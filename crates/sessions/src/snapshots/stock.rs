//! What is known of a workspace: its folders with the files in them, as they were when somebody last
//! looked. Kept in a file of our own form, because it is read at the first effect of every run.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::state::{Hash, Name, State, Why};

const MAGIC: &[u8; 8] = b"brystk03";

/// A file, a link or something else that is no folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) name: OsString,
    /// Tells whether it is as it was.
    pub(super) mark: u64,
    /// It changed so shortly before it was looked at that the mark alone proves nothing.
    pub(super) is_recent: bool,
    pub(super) state: State,
}

/// A folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Folder {
    pub(super) mode: u32,
    /// Tells whether the same names are in it.
    pub(super) mark: u64,
    /// See [`Known::is_recent`].
    pub(super) is_recent: bool,
    /// The ignore rules in force when its names were read.
    pub(super) rules: u64,
    /// Whether only what git tracks in it is looked at.
    pub(super) is_narrow: bool,
    /// The ignore files in it.
    pub(super) rule_files: Vec<OsString>,
    /// Sorted by name.
    pub(super) files: Vec<Known>,
    /// Sorted by name.
    pub(super) folders: Vec<(OsString, Folder)>,
    /// Names that are there and not looked at. Sorted.
    pub(super) ignored: Vec<OsString>,
}

/// All roots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stock {
    pub(super) roots: Vec<(PathBuf, Folder)>,
}

impl Folder {
    /// Calls `each` with every state below, with its path.
    pub(super) fn visit(&self, at: &Path, each: &mut dyn FnMut(&Path, &State)) {
        for known in &self.files {
            each(&at.join(&known.name), &known.state);
        }
        for (name, folder) in &self.folders {
            let path = at.join(name);
            each(&path, &State::Folder { mode: folder.mode });
            folder.visit(&path, each);
        }
    }
}

impl Stock {
    /// What is known of a root.
    pub(super) fn take(&mut self, root: &Path) -> Option<Folder> {
        let found = self.roots.iter().position(|(path, _)| path == root)?;
        Some(self.roots.swap_remove(found).1)
    }

    /// Adds the hash of every file.
    pub(super) fn hashes(&self, found: &mut BTreeSet<Hash>) {
        for (path, folder) in &self.roots {
            folder.visit(path, &mut |_, state| found.extend(state.hash()));
        }
    }

    /// Has everything looked at again that was not kept.
    pub(super) fn doubt_what_is_unkept(&mut self) {
        for (_, folder) in &mut self.roots {
            folder.doubt_what_is_unkept();
        }
    }

    /// The bytes of the file.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        number(&mut out, self.roots.len() as u64);
        for (path, folder) in &self.roots {
            bytes(&mut out, path.as_os_str().as_bytes());
            folder.encode(&mut out);
        }
        let check = Hash::of(&out);
        out.extend_from_slice(&check.0);
        out
    }

    /// Reads the file; none where it is damaged or of another version.
    pub(super) fn decode(data: &[u8]) -> Option<Self> {
        let (data, check) = data.split_at_checked(data.len().checked_sub(32)?)?;
        if Hash::of(data).0 != *check {
            return None;
        }
        let mut reader = Reader(data.strip_prefix(MAGIC)?);
        let mut stock = Self::default();
        for _ in 0..reader.number()? {
            let path = PathBuf::from(reader.name()?);
            stock.roots.push((path, Folder::decode(&mut reader)?));
        }
        Some(stock)
    }
}

impl Folder {
    fn doubt_what_is_unkept(&mut self) {
        for known in &mut self.files {
            known.is_recent |= known.state.unkept().is_some();
        }
        for (_, folder) in &mut self.folders {
            folder.doubt_what_is_unkept();
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        number(out, self.mode.into());
        number(out, self.mark);
        out.push(self.is_recent.into());
        number(out, self.rules);
        out.push(self.is_narrow.into());
        for names in [&self.rule_files, &self.ignored] {
            number(out, names.len() as u64);
            for name in names {
                bytes(out, name.as_bytes());
            }
        }
        number(out, self.files.len() as u64);
        for known in &self.files {
            bytes(out, known.name.as_bytes());
            number(out, known.mark);
            out.push(known.is_recent.into());
            put_state(out, &known.state);
        }
        number(out, self.folders.len() as u64);
        for (name, folder) in &self.folders {
            bytes(out, name.as_bytes());
            folder.encode(out);
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Option<Self> {
        let mut folder = Self {
            mode: u32::try_from(reader.number()?).ok()?,
            mark: reader.number()?,
            is_recent: reader.byte()? != 0,
            rules: reader.number()?,
            is_narrow: reader.byte()? != 0,
            ..Self::default()
        };
        for names in [&mut folder.rule_files, &mut folder.ignored] {
            for _ in 0..reader.number()? {
                names.push(reader.name()?);
            }
        }
        for _ in 0..reader.number()? {
            folder.files.push(Known {
                name: reader.name()?,
                mark: reader.number()?,
                is_recent: reader.byte()? != 0,
                state: reader.state()?,
            });
        }
        for _ in 0..reader.number()? {
            let name = reader.name()?;
            folder.folders.push((name, Self::decode(reader)?));
        }
        Some(folder)
    }
}

fn put_state(out: &mut Vec<u8>, state: &State) {
    match state {
        State::File { hash, size, mode } => {
            out.push(1);
            out.extend_from_slice(&hash.0);
            number(out, *size);
            number(out, (*mode).into());
        }
        State::Link { target } => {
            out.push(2);
            bytes(out, target.path().as_os_str().as_bytes());
        }
        State::Unkept { why, size, mark } => {
            out.push(3);
            out.push(why.code());
            number(out, *size);
            number(out, *mark);
        }
        State::Folder { mode } => {
            out.push(4);
            number(out, (*mode).into());
        }
        State::Absent => out.push(5),
    }
}

fn number(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn number(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn name(&mut self) -> Option<OsString> {
        let length = usize::try_from(self.number()?).ok()?;
        let (name, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(OsString::from_vec(name.to_owned()))
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
            4 => State::Folder { mode: u32::try_from(self.number()?).ok()? },
            5 => State::Absent,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stock() -> Stock {
        let known = |name: &[u8], state| Known {
            name: OsString::from_vec(name.to_vec()),
            mark: 7,
            is_recent: true,
            state,
        };
        let inner = Folder {
            mode: 0o755,
            rules: 9,
            is_narrow: true,
            rule_files: vec![".gitignore".into()],
            files: vec![
                known(b"a", State::File { hash: Hash::of(b"x"), size: 1, mode: 0o644 }),
                known(b"\xff", State::Link { target: Name::Bytes(vec![0xfe]) }),
                known(b"big", State::Unkept { why: Why::NoRoom, size: 1 << 40, mark: 3 }),
            ],
            ignored: vec!["target".into()],
            ..Folder::default()
        };
        let root = Folder { folders: vec![("in".into(), inner)], ..Folder::default() };
        Stock { roots: vec![("/p".into(), root)] }
    }

    #[test]
    fn a_stock_is_read_as_it_was_written() {
        let stock = stock();
        assert_eq!(Stock::decode(&stock.encode()), Some(stock));
    }

    #[test]
    fn a_damaged_stock_is_no_stock() {
        let bytes = stock().encode();
        for cut in 0..bytes.len() {
            assert_eq!(Stock::decode(&bytes[..cut]), None, "{cut}");
        }
        for position in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[position] ^= 1;
            assert_eq!(Stock::decode(&changed), None, "{position}");
        }
    }
}
