//! Text that was put somewhere before it is run: into a variable, behind a descriptor, into the shell's history, into a
//! setting for one run. Sees too much rather than too little.

use std::collections::HashSet;
use std::rc::Rc;

use super::words::is_input;
use super::{Part, Survey};
use crate::shell::tolerant::Piece;

/// How often values are put in place of variables, and into how many texts.
const RESOLVED: usize = 4;

impl Survey {
    /// Adds the commands of the text with its own values in place of its variables.
    pub(super) fn with_constants(&mut self, text: &str) {
        let mut texts: Vec<String> = Vec::new();
        let mut known = HashSet::new();
        // How many values there were when all that they make of the text was read.
        let mut values = None;
        for _ in 0..RESOLVED {
            let limit = self.effort;
            let put = texts.iter().flat_map(|text| self.constants.put_into(text, limit));
            let mut put: Vec<String> = put.collect();
            // By what the first reading sets a variable may have another value in the next one.
            let count = self.constants.count();
            if values != Some(count) {
                put.extend(self.constants.put_into(text, limit));
            }
            put.retain(|it| !known.contains(it));
            values = (put.len() <= RESOLVED).then_some(count);
            texts = put.into_iter().take(RESOLVED).collect();
            // Without another text nothing is set to another value.
            if texts.is_empty() {
                return;
            }
            known.extend(texts.iter().cloned());
            for text in &texts {
                self.part = Part::Whole;
                self.script(text, 1);
                if self.loose || self.copies_unknown() {
                    self.words_of_whole(text);
                }
            }
        }
    }

    /// Shell text behind a descriptor, which something else in the text has opened.
    pub(super) fn behind_descriptor(&mut self, args: &[Piece]) {
        let is_descriptor = |word: &Piece| {
            let is_listed = word.text.starts_with("/proc/") && word.text.contains("/fd/");
            word.text.starts_with("/dev/fd/") || is_listed
        };
        let given = args.iter().find(|word| is_descriptor(word) && !is_input(word));
        self.loose |= given.is_some();
        self.sources.substituted |= given.is_some();
        if let Some(given) = given.filter(|_| self.sources.is_open()) {
            self.sources.unclear = Some(given.text.clone());
        }
    }

    /// Programs that launchers are told in a way of their own: behind a colon, or by a setting.
    pub(super) fn launched_by(&mut self, name: &str, args: &[Piece], depth: usize) {
        for word in args {
            match name {
                "socat" => {
                    let (_, text) = word.text.split_once(':').unwrap_or_default();
                    self.script(text, depth + 1);
                }
                "cmake" => {
                    let setting = word.text.strip_prefix("-D").unwrap_or_default();
                    let setting = Piece { text: setting.to_owned(), ..word.clone() };
                    self.assigned(&setting, true, depth);
                }
                _ => {}
            }
        }
    }

    /// Settings for one run, such as that of cargo for the program that starts tests.
    pub(super) fn given_settings(&mut self, args: &[Piece], depth: usize) {
        for (at, word) in args.iter().enumerate() {
            let next = args.get(at + 1).map_or("", |word| word.text.as_str());
            match word.text.strip_prefix("--config") {
                Some("") => self.option_runs(next, depth),
                Some(value) => self.option_runs(value, depth),
                None => {}
            }
        }
    }

    /// Commands that are put into the shell's history, and those that are run out of it.
    pub(super) fn remembered(
        &mut self,
        name: &str,
        words: &Rc<Vec<Piece>>,
        args: usize,
        depth: usize,
    ) {
        let rest = &words[args..];
        let letters = |word: &Piece| word.text.starts_with('-') && word.text.contains(['s', 'e']);
        if name == "history" {
            let text: Vec<&str> = rest.iter().skip(1).map(|word| word.text.as_str()).collect();
            self.script(&text.join(" "), depth + 1);
        } else if rest.is_empty() || rest.iter().any(letters) {
            self.loose = true;
            self.sources.unclear.get_or_insert_with(|| String::from("fc"));
        }
    }
}
