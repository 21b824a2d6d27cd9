//! What `find` and `fd` run for the files that they find. Sees too much rather than too little.

use std::rc::Rc;

use super::{Fit, NESTING, Survey, base_name};
use crate::programs::fd::{Said, said};
use crate::shell::tolerant::Piece;
use crate::shell::wrappers;

/// What they run a program by.
const ACTIONS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];
/// Tests by which they find a file of some name.
const TESTS: &[&str] = &["-name", "-iname", "-path", "-ipath", "-wholename"];
/// More names are not put in the place of what is found.
const NAMES: usize = 4;

/// What a word makes a program run, as far as it is attached; none where it does not.
fn run_by(program: &str, word: &Piece) -> Option<Vec<Piece>> {
    if ACTIONS.contains(&word.text.as_str()) {
        return Some(Vec::new());
    }
    match said(&word.text) {
        Said::Runs("") if program != "find" => Some(Vec::new()),
        Said::Runs(first) if program != "find" => {
            Some(vec![Piece { text: first.to_owned(), ..word.clone() }])
        }
        Said::Runs(_) | Said::Operand | Said::Option | Said::Valued | Said::Unknown => None,
    }
}

impl Survey {
    /// `find ... -exec program ... ;`
    pub(super) fn actions(&mut self, words: &Rc<Vec<Piece>>, args: usize, depth: usize) {
        let program = args.checked_sub(1).map_or("", |at| base_name(&words[at].text));
        let mut at = args;
        while at < words.len() {
            if let Some(first) = run_by(program, &words[at]) {
                let end = words[at + 1..]
                    .iter()
                    .position(|word| matches!(word.text.as_str(), ";" | "+"))
                    .map_or(words.len(), |length| at + 1 + length);
                let inner = first.into_iter().chain(words[at + 1..end].iter().cloned());
                let inner: Rc<Vec<Piece>> = Rc::new(inner.collect());
                if depth < NESTING {
                    self.command(&inner, 0, depth + 1);
                    self.run_found(&inner, &words[args..at], depth);
                } else {
                    self.add(words, at + 1, end, Fit::Loose);
                }
                at = end;
            }
            at += 1;
        }
    }

    /// Adds the scripts that a shell or an interpreter is given by their names.
    fn run_found(&mut self, inner: &[Piece], tests: &[Piece], depth: usize) {
        let program = inner.first().map_or("", |word| base_name(&word.text));
        if !wrappers::is_shell(program) && !wrappers::is_interpreter(program) {
            return;
        }
        let named = tests.iter().zip(tests.iter().skip(1));
        let named = named.filter(|(test, _)| TESTS.contains(&test.text.as_str()));
        for (_, name) in named.take(NAMES) {
            let name = name.text.rsplit('/').next().unwrap_or_default();
            let filled = |word: &Piece| Piece {
                text: word.text.replace("{}", name),
                glob: word.glob || name.contains(['*', '?', '[']),
                ..word.clone()
            };
            let words: Vec<Piece> = inner.iter().map(filled).collect();
            if !self.affords(2 * words.len()) {
                return;
            }
            self.command(&Rc::new(words), 0, depth + 1);
        }
    }
}
