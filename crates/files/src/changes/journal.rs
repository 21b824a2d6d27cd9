//! The paths that changed, by the order of their last change. Holds a bounded number of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

/// Paths that are remembered. A reader that missed more has to scan.
const LIMIT: usize = 1 << 16;

#[derive(Debug, Default)]
pub(super) struct Journal {
    next: u64,
    /// Changes before this one are forgotten.
    first: u64,
    paths: BTreeMap<u64, PathBuf>,
    numbers: HashMap<PathBuf, u64>,
}

impl Journal {
    /// The number of the next change.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Adds a change of `path`.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing reports changes"))]
    pub(super) fn add(&mut self, path: PathBuf) {
        let number = self.next;
        self.next += 1;
        if let Some(earlier) = self.numbers.insert(path.clone(), number) {
            self.paths.remove(&earlier);
        }
        self.paths.insert(number, path);
        if self.paths.len() > LIMIT
            && let Some((number, path)) = self.paths.pop_first()
        {
            self.numbers.remove(&path);
            self.first = number + 1;
        }
    }

    /// Forgets everything: no earlier cursor gets an answer.
    pub(super) fn forget(&mut self) {
        self.next += 1;
        self.first = self.next;
        self.paths.clear();
        self.numbers.clear();
    }

    /// The paths that changed since `cursor`, if all of them are remembered.
    pub(super) fn since(&self, cursor: u64) -> Option<BTreeSet<PathBuf>> {
        (cursor >= self.first)
            .then(|| self.paths.range(cursor..).map(|(_, path)| path.clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn journal_returns_each_path_once_since_a_cursor() {
        let mut journal = Journal::default();
        journal.add("/a".into());
        let cursor = journal.next();
        journal.add("/b".into());
        journal.add("/b".into());
        journal.add("/a".into());
        assert_eq!(journal.since(0).unwrap().len(), 2);
        assert_eq!(journal.since(cursor).unwrap().len(), 2);
        assert_eq!(journal.since(journal.next()).unwrap().len(), 0);
    }

    #[test]
    fn journal_is_bounded_and_old_cursors_get_no_answer() {
        let mut journal = Journal::default();
        let old = journal.next();
        for number in 0..=LIMIT {
            journal.add(format!("/{number}").into());
        }
        assert_eq!(journal.paths.len(), LIMIT);
        assert_eq!(journal.since(old), None);
        assert_eq!(journal.since(old + 1).unwrap().len(), LIMIT);
        journal.forget();
        assert_eq!(journal.since(old + 1), None);
        assert!(journal.since(journal.next()).unwrap().is_empty());
    }
}
