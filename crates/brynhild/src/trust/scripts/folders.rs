//! The names in the folders that a search looks into. Each is listed once in it, and most words are told
//! to name nothing there without asking the file system for them.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use contract::text::is_hidden;

/// Letters that some file systems take for one or two of ASCII, besides those that they do not see.
const FOLDED: [char; 11] = [
    'ß', 'ẞ', 'ſ', '\u{212a}', '\u{fb00}', '\u{fb01}', '\u{fb02}', '\u{fb03}', '\u{fb04}',
    '\u{fb05}', '\u{fb06}',
];

/// The first name of a path, with the case of its letters taken away; none where the path is not simply
/// one of plain letters that leads downwards.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Start(Option<Vec<u8>>);

impl Start {
    /// How `path` begins.
    pub(super) fn of(path: &str) -> Self {
        let first = path.split('/').next().filter(|first| !["", "."].contains(first));
        let is_plain = path.is_ascii() && path.split('/').all(|name| name != "..");
        let first = first.filter(|_| is_plain);
        Self(first.map(|first| first.to_ascii_lowercase().into_bytes()))
    }
}

/// The names in one folder.
#[derive(Debug, Default)]
pub(super) struct Names {
    exact: BTreeSet<OsString>,
    /// The same with the case of their letters taken away: some file systems do not tell them apart.
    folded: BTreeSet<Vec<u8>>,
    /// Whether one of them could be taken for another in yet another way.
    is_odd: bool,
}

impl Names {
    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = &OsString> {
        self.exact.iter()
    }

    pub(super) fn contains(&self, name: impl AsRef<OsStr>) -> bool {
        self.exact.contains(name.as_ref())
    }

    /// Whether one begins like this one.
    pub(super) fn begin(&self, name: &OsStr) -> bool {
        let from = (Bound::Included(name), Bound::Unbounded);
        let next = self.exact.range::<OsStr, _>(from).next();
        next.is_some_and(|next| next.as_encoded_bytes().starts_with(name.as_encoded_bytes()))
    }

    /// Whether a path that begins so could lead to something from here, or to a name that has more behind
    /// its own. Where none of the names begins like its first one there is nothing.
    pub(super) fn could_lead(&self, start: &Start) -> bool {
        let Some(first) = start.0.as_ref().filter(|_| !self.is_odd) else { return true };
        let from = (Bound::Included(first.as_slice()), Bound::Unbounded);
        let next = self.folded.range::<[u8], _>(from).next();
        next.is_some_and(|next| next.starts_with(first))
    }
}

/// Folders with the names in them.
#[derive(Debug, Default)]
pub(super) struct Folders(HashMap<PathBuf, Rc<Names>>);

impl Folders {
    /// The names in a folder; none where there is no such folder.
    pub(super) fn names(&mut self, folder: &Path) -> io::Result<Rc<Names>> {
        if let Some(known) = self.0.get(folder) {
            return Ok(Rc::clone(known));
        }
        let (exact, problem) = match listed(folder) {
            Ok(exact) => (exact, None),
            Err(problem) => (BTreeSet::new(), Some(problem)),
        };
        let lower = exact.iter().map(|name| name.as_encoded_bytes().to_ascii_lowercase());
        let names = Names { folded: lower.collect(), is_odd: exact.iter().any(is_odd), exact };
        let names = Rc::new(names);
        self.0.insert(folder.to_owned(), Rc::clone(&names));
        problem.map_or(Ok(names), Err)
    }

    /// Those that were looked into, be they there or not.
    pub(super) fn into_paths(self) -> impl Iterator<Item = PathBuf> {
        self.0.into_keys()
    }
}

fn is_odd(name: &OsString) -> bool {
    let is_odd = |c: char| is_hidden(c) || FOLDED.contains(&c);
    name.to_str().is_none_or(|name| name.contains(is_odd))
}

/// The names in a folder; none where there is no such folder. One whose names cannot be read may
/// still let those pass who know one.
fn listed(folder: &Path) -> io::Result<BTreeSet<OsString>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.file_name())).collect(),
        Err(error) => {
            let can_enter = rustix::fs::access(folder, rustix::fs::Access::EXEC_OK).is_ok();
            let may_hide = folder.is_dir() && can_enter;
            if may_hide { Err(error) } else { Ok(BTreeSet::new()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_cannot_be_there_is_told_to_lead_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["lib", "Tool.sh", ".env"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let names = Folders::default().names(folder.path()).unwrap();
        let could_lead = |path: &str| names.could_lead(&Start::of(path));
        for path in ["lib", "lib/x", "LIB//x", "li", "tool", "Tool/x", ".env", ".e", "t"] {
            assert!(could_lead(path), "{path}");
        }
        // What is no plain way downwards is looked up.
        for path in ["", ".", "..", "./x", "/x", "../x", "x/../lib", "x/..", "//lib", "ſh"] {
            assert!(could_lead(path), "{path}");
        }
        for path in ["libs", "x/lib", "env", "lib.x/y", "x/./lib", "x/..lib"] {
            assert!(!could_lead(path), "{path}");
        }
        fs::write(folder.path().join("too\u{212a}"), "").unwrap();
        let names = Folders::default().names(folder.path()).unwrap();
        assert!(
            names.could_lead(&Start::of("took")),
            "a sign that some file systems take for a `k`"
        );
    }
}
