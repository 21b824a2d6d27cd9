//! Words that lead elsewhere than they say, by links on the disk. That is found out once for all rules.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use foldhash::HashMap;

use super::super::meanings::{is_cluster, is_single, meanings};
use crate::ground::{Ends, Standing, is_wild};
use crate::shell::Piece;

/// Of so few words each is looked up by itself.
const FEW: usize = 8;

/// What is known of words.
#[derive(Default)]
pub(in super::super) struct Led<'a> {
    /// By word and folders.
    known: RefCell<HashMap<(&'a Piece, *const PathBuf), bool>>,
    /// What is known of folders.
    standing: RefCell<HashMap<*const PathBuf, Rc<[Standing]>>>,
}

impl<'a> Led<'a> {
    /// Whether a word may lead elsewhere from one of these folders than it says; one with wildcards does where
    /// it may stand for anything at all.
    pub(super) fn leads(&self, ends: &Ends<'_>, word: &'a Piece, folders: &'a [PathBuf]) -> bool {
        let key = (word, folders.as_ptr());
        if let Some(leads) = self.known.borrow().get(&key) {
            return *leads;
        }
        let is_long = self.known.borrow().len() >= FEW;
        let standing = is_long.then(|| self.standing(ends, folders));
        let is_absent = |at: usize, text: &str| {
            standing.as_ref().is_some_and(|standing| standing[at].holds_nothing(text))
        };
        let leads_from = |(at, folder): (usize, &PathBuf), text: &str| {
            text != "-" && !is_absent(at, text) && (is_wild(text) || leads_on(ends, folder, text))
        };
        let leads_by = |text: &str| folders.iter().enumerate().any(|it| leads_from(it, text));
        let leads = if is_single(&word.text) {
            leads_by(&word.text)
        } else {
            let is_cluster = is_cluster(&word.text);
            let is_path = |text: &&str| text.len() == word.text.len() || !is_cluster;
            meanings(&word.text).filter(is_path).any(leads_by)
        };
        self.known.borrow_mut().insert(key, leads);
        leads
    }

    /// Whether nothing is where a word says for certain, by the names in these folders: quick to tell of many words.
    pub(super) fn is_absent(&self, ends: &Ends<'_>, word: &Piece, folders: &[PathBuf]) -> bool {
        self.known.borrow().len() >= FEW
            && !word.home
            && self.standing(ends, folders).iter().all(|it| it.holds_nothing(&word.text))
    }

    fn standing(&self, ends: &Ends<'_>, folders: &[PathBuf]) -> Rc<[Standing]> {
        let mut known = self.standing.borrow_mut();
        let standing = known.entry(folders.as_ptr());
        let standing = standing
            .or_insert_with(|| folders.iter().map(|folder| ends.standing(folder)).collect());
        Rc::clone(standing)
    }
}

/// Whether a path from a folder leads elsewhere than it says.
fn leads_on(ends: &Ends<'_>, folder: &Path, text: &str) -> bool {
    let path = crate::paths::normalize(&folder.join(text));
    if ends.of(&path) != path {
        return true;
    }
    // A link is followed before the `..` behind it is.
    let goes_back = |text: &str| text.split('/').any(|part| part == "..");
    (goes_back(text) || goes_back(&folder.to_string_lossy()))
        && ends.walked(folder, text).is_some_and(|end| end != path)
}
