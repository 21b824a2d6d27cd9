//! Text that is read by its words alone, whatever they are there. Sees too much rather than too little.

use std::rc::Rc;

use super::{Fit, Kind, Survey};
use crate::shell::raw;

impl Survey {
    /// Adds every word of a text as a possible command.
    pub(super) fn words_of(&mut self, text: &str) {
        for run in raw::runs(text) {
            let end = run.len();
            self.add(&Rc::new(run), 0, end, Fit::Loose);
            self.commands.last_mut().expect("one was just added").kind = Kind::Raw;
        }
        for file in raw::written(text) {
            self.add(&Rc::new(vec![file]), 0, 1, Fit::Loose);
            self.commands.last_mut().expect("one was just added").kind = Kind::Target;
        }
    }

    /// The same of the whole text: not of one within it, whose patterns are its own.
    pub(super) fn words_of_whole(&mut self, text: &str) {
        let before = self.commands.len();
        self.words_of(text);
        let added = self.commands[before..].iter_mut();
        for found in added.filter(|found| found.kind == Kind::Raw) {
            found.kind = Kind::Whole;
        }
    }

    /// Reads the whole text by its words, and every command found as if any word could run.
    pub(super) fn loosen(&mut self, text: &str) {
        self.loose = true;
        for found in self.commands.iter_mut().filter(|found| found.fit == Fit::Exact) {
            found.fit = Fit::Loose;
        }
        self.words_of_whole(text);
        // Quotes end words in one reading and vanish in another.
        if text.contains(['\'', '"', '\\']) {
            self.words_of_whole(&text.replace(['\'', '"', '\\'], ""));
        }
        // What prints a text may read escapes in it.
        if text.contains('\\') {
            self.words_of_whole(&raw::unescaped(text));
        }
    }
}
