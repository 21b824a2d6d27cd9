//! The files that texts give to shells, or start: what lies in them is what a shell runs, be they called
//! whatever they are.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsString;

use super::super::patterns::is_fit;
use super::super::shell::{Piece, Word};

/// Patterns for the paths of such files.
#[derive(Debug, Default)]
pub(super) struct Ran {
    by_shell: RefCell<BTreeSet<String>>,
    directly: RefCell<BTreeSet<String>>,
}

impl Ran {
    pub(super) fn count(&self) -> usize {
        self.by_shell.borrow().len() + self.directly.borrow().len()
    }

    /// Notes what a shell is given.
    pub(super) fn by_shell(&self, word: &Word) {
        self.by_shell.borrow_mut().insert(pattern(word));
    }

    /// Notes what is started by its path.
    pub(super) fn directly(&self, word: &Word) {
        self.directly.borrow_mut().insert(pattern(word));
    }

    /// Notes that all files below a folder are given to a shell.
    pub(super) fn below(&self, folder: &str) {
        self.by_shell
            .borrow_mut()
            .insert(format!("{}/", folder.trim_start_matches("./").trim_end_matches('/')));
    }

    /// Whether a shell runs the file. One that is started, and does not say by what, is run by a shell too.
    pub(super) fn is_for_shell(&self, path: &str, text: &str) -> bool {
        let is_in = |patterns: &RefCell<BTreeSet<String>>| {
            patterns.borrow().iter().any(|it| it != "*" && is_end(path, it))
        };
        let is_program = text.starts_with("#!") || text.contains('\0');
        is_in(&self.by_shell) || (!is_program && is_in(&self.directly))
    }
}

/// A word as a pattern for paths, without what stands for the folder that it begins with.
fn pattern(word: &Word) -> String {
    let mut path = String::new();
    for piece in &word.pieces {
        match piece {
            Piece::Text { text, .. } => path.push_str(text),
            _ => path.push('*'),
        }
    }
    // A variable of its own is one of scripts that are known by their endings.
    let names: Vec<&str> = path.split('/').filter(|it| !["", ".", ".."].contains(it)).collect();
    let is_open = names.len() > 1 && names[0] == "*";
    names[usize::from(is_open)..].join("/")
}

/// Whether the last parts of a path are those of a pattern, or it lies in such a folder.
fn is_end(path: &str, pattern: &str) -> bool {
    if pattern.ends_with('/') {
        return format!("/{path}").contains(&format!("/{pattern}"));
    }
    let mut names = path.rsplit('/');
    pattern
        .rsplit('/')
        .all(|part| names.next().is_some_and(|name| is_fit(&OsString::from(name), part)))
}
