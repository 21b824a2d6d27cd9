//! All words of a text that could be files which it reads, each once: every rule is held against these.

use std::path::PathBuf;

use foldhash::{HashSet, HashSetExt};

use super::super::meanings::in_scripts;
use super::reading::read_by;
use crate::shell::{Found, Kind, Piece, Survey};

/// Something that a rule is held against.
pub(in super::super) enum Given<'a> {
    /// A command, before its words.
    Command(&'a Found),
    /// A word of a command, in these folders.
    Word(&'a Piece, Kind, &'a [PathBuf]),
    /// A name in a script that stands among the words.
    Scripted(&'a str, &'a [PathBuf]),
}

/// What is given to the commands of a text, in order.
pub(super) fn given(survey: &Survey) -> Vec<Given<'_>> {
    let mut all = Vec::new();
    let mut known: HashSet<(&Piece, *const PathBuf)> = HashSet::new();
    // What a wrapper runs is a part of words that are looked at already.
    for found in survey.whole_commands() {
        all.push(Given::Command(found));
        // What is set for a program is handed to it too.
        for word in found.before().iter().chain(read_by(found)) {
            if !survey.is_pattern(found, word) && known.insert((word, found.folders.as_ptr())) {
                all.push(Given::Word(word, found.kind, &found.folders));
            }
        }
        let scripted = in_scripts(found.argv());
        all.extend(scripted.map(|name| Given::Scripted(name, &found.folders)));
    }
    all
}
