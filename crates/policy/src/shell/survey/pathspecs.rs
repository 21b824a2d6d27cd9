//! Paths that have words of git's own before them, such as `:/x` and `:(top)x`: git is given them as paths like any
//! other. What else such words may mean is left to those who look at all that git keeps.

use std::rc::Rc;

use super::{Fit, Survey};
use crate::shell::tolerant::Piece;

/// A repository has its top at most so many folders further up.
const LEVELS: usize = 16;

/// A path, and whether it begins at the top of the repository.
struct Pathspec<'a> {
    path: &'a str,
    is_top: bool,
}

impl Survey {
    /// Adds git with the paths that its own words mean.
    pub(super) fn pathspecs(&mut self, words: &Rc<Vec<Piece>>, args: usize) {
        if !words[args..].iter().any(|word| pathspec(&word.text).is_some()) {
            return;
        }
        // The top may be any folder on the way up.
        let depth = self.folders.iter().map(|folder| folder.components().count()).max();
        let levels = depth.unwrap_or(1).min(LEVELS);
        if !self.affords(levels * (words.len() - args)) {
            return;
        }
        let mut plain = words[args - 1..args].to_vec();
        for word in &words[args..] {
            let Some(meant) = pathspec(&word.text) else {
                plain.push(word.clone());
                continue;
            };
            for level in 0..if meant.is_top { levels } else { 1 } {
                let text = format!("{}{}", "../".repeat(level), meant.path);
                plain.push(Piece { text, gaps: Vec::new(), ..word.clone() });
            }
        }
        let end = plain.len();
        self.add(&Rc::new(plain), 0, end, Fit::Exact);
    }
}

/// The path in a word, where that is one and has no wildcards.
fn pathspec(word: &str) -> Option<Pathspec<'_>> {
    let rest = word.strip_prefix(':')?;
    let (path, is_top, is_literal) = if let Some(long) = rest.strip_prefix('(') {
        let (words, path) = long.split_once(')')?;
        let has = |wanted: &str| words.split(',').any(|it| it == wanted);
        let is_known = |it: &str| matches!(it, "top" | "icase" | "glob" | "literal" | "");
        words.split(',').all(is_known).then_some((path, has("top"), has("literal")))?
    } else {
        let path = rest.strip_prefix('/')?;
        (path.strip_prefix(':').unwrap_or(path), true, false)
    };
    let is_path = !path.is_empty()
        && !path.starts_with(['!', '^', '/'])
        && (is_literal || !path.contains(['*', '?', '[', '\\']));
    is_path.then_some(Pathspec { path, is_top })
}
