//! Expansions that stand for the folder that a text is in, or for one above it: these are known, or nearly so, though
//! only the running shell fills them in.

use super::piece::Beginning;
use super::{Piece, Scanner, Segment, is_option};
use crate::shell::wrappers;

/// Of a longer substitution no more segments are looked at.
const LAST: usize = 8;

/// What a substitution prints.
enum Printed {
    /// The folder in which it runs.
    Here,
    /// One above that, or the one before.
    Above,
}

impl Scanner<'_> {
    /// Notes which folder the substitution is that has just ended, whose segments begin at `from`.
    pub(super) fn printed_folder(&mut self, from: usize) {
        let segments = &self.scan.segments[from..];
        // What comes last is printed last, and one substitution may hold very many others.
        let last = &segments[segments.len().saturating_sub(LAST)..];
        let printed = printed(last);
        let says = |it: &Segment| matches!(name_of(it), "echo" | "printf");
        let is_said = segments.len() <= LAST && last.iter().all(says);
        let word = self.word();
        match printed {
            Some(Printed::Here) if word.gaps == [word.text.len()] && may_begin(&word.text) => {
                word.gaps.clear();
                word.dynamic = false;
                word.text.push('.');
            }
            Some(Printed::Here | Printed::Above) => begin_above(word),
            None => begin_printed(word, is_said),
        }
    }

    /// The same of a variable, of which `rest` is taken.
    pub(super) fn held_folder(&mut self, name: &str, rest: &str) {
        let is_path = !rest.starts_with('#') && matches!(name, "PWD" | "OLDPWD");
        if is_path || (rest.is_empty() && self.scan.above.contains(name)) {
            begin_above(self.word());
        }
    }
}

/// The variable that a word sets to such a folder.
pub(super) fn name_of_above(word: &Piece) -> Option<String> {
    word.text.strip_suffix('=').filter(|_| word.is_above()).map(str::to_owned)
}

/// Whether a path may begin behind what a word says so far.
pub(super) fn may_begin(text: &str) -> bool {
    text.is_empty() || is_option(text) || is_set(text)
}

/// Whether a word only names the variable that it sets.
fn is_set(text: &str) -> bool {
    text.ends_with('=') && wrappers::is_assignment(text)
}

/// Notes that what was left out last is such a folder, where the word begins with it.
fn begin_above(word: &mut Piece) {
    let is_first = word.gaps == [word.text.len()];
    if is_first && (word.text.is_empty() || is_set(&word.text)) {
        word.beginning = Beginning::Above;
    }
}

/// Notes that a word begins with what a program prints, unless that only says what stands in the text.
fn begin_printed(word: &mut Piece, is_said: bool) {
    if word.gaps == [0] && word.text.is_empty() && !is_said {
        word.beginning = Beginning::Printed;
    }
}

/// The program of a segment.
fn name_of(segment: &Segment) -> &str {
    segment.words.first().map_or("", |word| word.text.as_str())
}

fn printed(segments: &[Segment]) -> Option<Printed> {
    let words = |segment: &Segment| -> Vec<String> {
        segment.words.iter().map(|word| word.text.clone()).collect()
    };
    if let [segment] = segments
        && matches!(segment.words.as_slice(), [first, ..] if first.text == "pwd")
        && words(segment)[1..].iter().all(|word| matches!(word.as_str(), "-L" | "-P"))
    {
        return Some(Printed::Here);
    }
    segments.iter().any(is_path_printer).then_some(Printed::Above)
}

/// Whether a command prints the path of a folder that is around it.
fn is_path_printer(segment: &Segment) -> bool {
    let Some((program, args)) = segment.words.split_first() else { return false };
    let has = |text: &str| args.iter().any(|word| word.text == text);
    // Of what it is given it prints a part, or where that leads.
    let is_near = |word: &Piece| word.is_above() || word.text == "." || word.text.starts_with("..");
    match program.text.as_str() {
        "pwd" => true,
        "git" => has("rev-parse") && (has("--show-toplevel") || has("--show-cdup")),
        "dirname" | "realpath" | "readlink" => args.iter().any(is_near),
        _ => false,
    }
}
