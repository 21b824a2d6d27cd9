//! What a text says again and again, said once: all that is judged later would be judged as often.

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};

use super::{Fit, Found, Kind, REPEATED, Redirection, Survey};
use crate::shell::tolerant::Piece;

/// What makes commands equal: their words, the part of them that they are, how certain that is, and how they
/// were read.
type Said = (Rc<Vec<Piece>>, [usize; 2], Fit, Kind);

/// Fewer are quicker to judge than to compare.
const FEW: usize = 32;

impl Survey {
    /// Its commands without those that are the end of the words of the one before: what a wrapper runs is a
    /// part of words that are looked at already.
    pub(crate) fn whole_commands(&self) -> impl Iterator<Item = &Found> {
        let mut last: Option<&Found> = None;
        self.commands.iter().filter(move |found| {
            let is_part = last.is_some_and(|last| last.ends_like(found));
            if !is_part {
                last = Some(found);
            }
            !is_part
        })
    }

    /// Leaves one of equal commands, and of equal redirections. Folders only ever become more, so that
    /// the last of them runs in all that the others do.
    pub(super) fn merge(&mut self) {
        if self.commands.len() > FEW {
            let mut known: HashMap<Said, usize> = HashMap::with_capacity(self.commands.len());
            let mut kept: Vec<Found> = Vec::new();
            for found in self.commands.drain(..) {
                // Long runs are seldom repeated, and slow to compare.
                if found.words.len() > REPEATED {
                    kept.push(found);
                    continue;
                }
                let part = [found.start, found.end];
                let key = (Rc::clone(&found.words), part, found.fit, found.kind);
                let at = *known.entry(key).or_insert(kept.len());
                if let Some(first) = kept.get_mut(at) {
                    (first.folders, first.adrift) = (found.folders, found.adrift);
                } else {
                    kept.push(found);
                }
            }
            self.commands = kept;
        }
        if self.redirections.len() > FEW {
            let mut known: HashMap<(Piece, bool), usize> = HashMap::new();
            let mut kept: Vec<Redirection> = Vec::new();
            for redirection in self.redirections.drain(..) {
                let key = (redirection.target.word.clone(), redirection.target.writes);
                let at = *known.entry(key).or_insert(kept.len());
                if let Some(first) = kept.get_mut(at) {
                    first.folders = redirection.folders;
                } else {
                    kept.push(redirection);
                }
            }
            self.redirections = kept;
        }
    }
}
