//! Programs whose output a shell runs. Of those that print what stands in the text the words are
//! known; what any other prints, only it knows. Names them, decides nothing.

use super::runners::REMOTE;
use super::{base_name, program_index};
use crate::shell::tolerant::Piece;
use crate::shell::wrappers;

/// Programs that print what they are given, or nothing that could be a command.
const CLEAR: &str = "echo printf cat cd pwd true : nproc whoami hostname uname id mktemp set";
/// More substitutions are not looked at one by one.
const MOST: usize = 64;
/// Of a substitution no more is looked at.
const LONG: usize = 256;

/// Where text comes from that a shell runs.
#[derive(Default)]
pub(crate) struct Sources {
    /// Whether a shell runs what a substitution prints.
    pub(super) substituted: bool,
    /// A program whose output a shell runs, where only that program knows what it prints.
    pub(crate) unclear: Option<String>,
}

impl Sources {
    /// Looks for such a program in the substitutions of the text, where a shell runs any.
    pub(super) fn look_into(&mut self, text: &str) {
        if self.substituted && self.unclear.is_none() {
            self.unclear = substituted(text);
        }
    }
}

/// The program of these words, where what it prints is not known.
pub(super) fn unclear(words: &[Piece]) -> Option<String> {
    let program = words.get(program_index(words))?;
    let name = base_name(&program.text);
    (program.dynamic || !(name.is_empty() || is_clear(name))).then(|| name.to_owned())
}

/// Whether a shell of this machine is among these words.
pub(super) fn has_shell(words: &[Piece]) -> bool {
    let is_shell = |name: &str| {
        matches!(name, "source" | ".") || (wrappers::is_shell(name) && !REMOTE.contains(&name))
    };
    words.iter().any(|word| is_shell(base_name(&word.text)))
}

/// A program in a substitution of the text, where what it prints is not known.
fn substituted(text: &str) -> Option<String> {
    let every = |mark, step| text.match_indices(mark).step_by(step).take(MOST);
    let openings = every("$(", 1).chain(every("<(", 1)).chain(every("`", 2));
    let is_number = |(at, mark): &(usize, &str)| text[at + mark.len()..].starts_with('(');
    let bodies = openings.filter(|opening| !is_number(opening)).map(|(at, mark)| {
        let rest = contract::text::head(&text[at + mark.len()..], LONG);
        let end = rest.find(if mark == "`" { '`' } else { ')' }).unwrap_or(rest.len());
        &rest[..end]
    });
    let parts = bodies.flat_map(|body| body.split(['|', ';', '&', '\n']));
    let mut names = parts.filter_map(|part| {
        let is_set = |word: &&str| wrappers::is_assignment(word) || matches!(*word, "{" | "(");
        let word = part.split_whitespace().find(|word| !is_set(word))?;
        let word = word.trim_matches(['"', '\'', '\\']);
        let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic() || "/.~:".contains(c));
        is_name.then(|| base_name(word))
    });
    names.find(|name| !is_clear(name)).map(str::to_owned)
}

fn is_clear(name: &str) -> bool {
    CLEAR.split(' ').any(|clear| clear == name)
}
