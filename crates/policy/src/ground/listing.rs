//! The names in one folder, by which it is known of many paths at once that nothing is there.

use std::ffi::OsString;
use std::rc::Rc;

use foldhash::{HashMap, HashSet};

use super::{Entry, is_wild};
use crate::glob::{Reading, could_stand_for, outline, stands_for, without_double_stars};

/// More names of a folder are not held against each pattern of a text.
const MOST: usize = 256;

/// The names in a folder.
#[derive(Clone)]
pub(crate) struct Listing {
    names: Rc<[String]>,
    /// The same in lower case: some file systems disregard case, and some shells are told to.
    lower: Rc<[String]>,
    /// Names that are no text, with their outlines in lower case.
    odd: Rc<[(OsString, String)]>,
    known: Rc<HashSet<String>>,
    entries: Rc<HashMap<String, Entry>>,
    /// Whether none of them could be written in another way.
    is_plain: bool,
}

impl Listing {
    /// A folder with these names.
    pub(super) fn of(entries: Vec<(OsString, Entry)>) -> Self {
        let odd = entries.iter().filter_map(|(name, _)| {
            outline(name).map(|outline| (name.clone(), outline.to_lowercase()))
        });
        let odd: Rc<[(OsString, String)]> = odd.collect();
        let entries = entries.into_iter();
        let entries = entries.filter_map(|(name, entry)| Some((name.into_string().ok()?, entry)));
        let entries: Vec<(String, Entry)> = entries.collect();
        let names: Rc<[String]> = entries.iter().map(|(name, _)| name.clone()).collect();
        let lower: Rc<[String]> = names.iter().map(|name| name.to_lowercase()).collect();
        let known = Rc::new(lower.iter().cloned().collect());
        let is_plain = odd.is_empty() && names.iter().all(|name| name.is_ascii());
        let entries = Rc::new(entries.into_iter().collect());
        Self { names, lower, odd, known, entries, is_plain }
    }

    /// How many names there are.
    pub(super) fn count(&self) -> usize {
        self.names.len() + self.odd.len()
    }

    /// The names that a pattern in lower case may stand for.
    pub(super) fn fitting(&self, pattern: (&str, Reading)) -> Vec<OsString> {
        let both = self.names.iter().zip(&*self.lower);
        let fitting = both.filter(|(_, lower)| stands_for(pattern, lower));
        let odd = self.odd.iter().filter(|(_, outline)| could_stand_for(pattern, outline));
        fitting.map(|(name, _)| name.into()).chain(odd.map(|(name, _)| name.clone())).collect()
    }

    /// What is there by this very name.
    pub(super) fn entry(&self, name: &str) -> Option<Entry> {
        self.entries.get(name).copied()
    }

    /// Whether nothing is there by this name for certain: some file systems know more names of a file than they
    /// list, or hidden ones of folders.
    pub(super) fn lacks(&self, name: &str) -> bool {
        let is_usual = |byte: u8| byte.is_ascii_graphic() && byte != b'~';
        self.is_plain
            && !name.is_empty()
            && !name.starts_with('.')
            && !name.ends_with('.')
            && name.bytes().all(is_usual)
            && !self.has(name)
    }

    /// The same of all names that a pattern may stand for.
    fn lacks_all(&self, pattern: &str) -> bool {
        let is_read_alike = |byte: u8| byte.is_ascii_graphic() && !b"~()|\\".contains(&byte);
        if !self.is_plain || self.names.len() > MOST || !pattern.bytes().all(is_read_alike) {
            return false;
        }
        let is_name = self.has(pattern);
        let pattern = without_double_stars(&pattern.to_ascii_lowercase());
        !is_name && !self.lower.iter().any(|name| stands_for((&pattern, Reading::Shell), name))
    }

    /// Whether something is there by this name, disregarding case.
    pub(super) fn has(&self, name: &str) -> bool {
        if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            self.known.contains(&name.to_ascii_lowercase())
        } else {
            self.known.contains(name)
        }
    }
}

/// What is known of all that is in a folder.
pub(crate) enum Standing {
    /// The folder is not there.
    Absent,
    /// It is where it says, and has these names.
    Listed(Listing),
    /// It leads elsewhere, or cannot be told.
    Unsure,
}

impl Standing {
    /// Whether nothing is at this path in the folder for certain, so that it leads nowhere else.
    pub(crate) fn holds_nothing(&self, path: &str) -> bool {
        let path = path.trim_start_matches("./");
        if path.starts_with('/') || path.contains("..") {
            return false;
        }
        let first = path.split('/').next().unwrap_or_default();
        match self {
            Self::Absent => true,
            Self::Listed(listing) if is_wild(first) => listing.lacks_all(first),
            Self::Listed(listing) => listing.lacks(first),
            Self::Unsure => false,
        }
    }
}
