//! Programs whose output a shell runs. Of those that print what stands in the text the words are
//! known; what any other prints, only it knows. Names them, decides nothing.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::runners::REMOTE;
use super::{Found, base_name, program_index};
use crate::shell::tolerant::{Piece, Segment};
use crate::shell::wrappers;

/// Programs that print what they are given, or nothing that could be a command.
const CLEAR: &str =
    "echo printf cat cd pwd true : nproc whoami hostname uname id mktemp set which command dirname";
/// More substitutions are not looked at one by one.
const MOST: usize = 64;
/// Longer texts are not looked through for names that substitutions put together.
const NAMED: usize = 64 << 10;
/// What a command can follow.
const BEFORE: [&str; 9] = ["!", "{", "then", "do", "else", "exec", "time", "command", "env"];
/// Of a substitution no more is looked at.
const LONG: usize = 256;

/// Where text comes from that a shell runs.
#[derive(Default)]
pub(crate) struct Sources {
    /// Whether a shell runs what a substitution prints.
    pub(super) substituted: bool,
    /// A program whose output a shell runs, where only that program knows what it prints.
    pub(crate) unclear: Option<String>,
    /// Names of files that such a program has filled, each with the program.
    written: Vec<(String, String)>,
}

impl Sources {
    /// Looks for such a program in the substitutions of the text, where a shell runs any.
    pub(super) fn look_into(&mut self, text: &str) {
        let is_run = self.substituted || text.len() <= NAMED && names_a_program(text);
        if is_run && self.unclear.is_none() {
            self.unclear = substituted(text);
        }
    }

    /// Notes the files that a segment writes, whose input comes from `fed` if that is not known.
    pub(super) fn wrote(&mut self, segment: &Segment, fed: Option<&String>) {
        let is_file = |word: &Piece| !word.text.is_empty() && word.text != "/dev/null";
        let words = &segment.words[program_index(&segment.words)..];
        let is_tee = words.first().is_some_and(|name| base_name(&name.text) == "tee");
        let copied = words.iter().skip(1).filter(|word| is_tee && !word.text.starts_with('-'));
        let targets = segment.redirects.iter().filter(|it| it.writes).map(|it| &it.word);
        let mut files = targets.chain(copied).filter(|word| is_file(word)).peekable();
        if files.peek().is_none() || self.written.len() >= MOST {
            return;
        }
        let own = unclear(&segment.words).filter(|_| !is_tee);
        if let Some(source) = own.or_else(|| fed.cloned()) {
            let named = |word: &Piece| (base_name(&word.text).to_owned(), source.clone());
            self.written.extend(files.map(named).take(MOST));
        }
    }

    /// Looks for such a file among what `commands` run.
    pub(super) fn run_by(&mut self, commands: &[Found]) {
        if self.written.is_empty() || self.unclear.is_some() {
            return;
        }
        let source = |word: &Piece| {
            let name = base_name(&word.text);
            self.written.iter().find(|(file, _)| file == name).map(|(_, source)| source.clone())
        };
        self.unclear = commands.iter().find_map(|found| {
            let (program, args) = found.argv().split_first()?;
            let name = base_name(&program.text);
            let runs = wrappers::is_shell(name) || wrappers::is_interpreter(name);
            let runs = runs || matches!(name, "source" | ".");
            let file = if runs { args.iter().take(MOST).find_map(source) } else { None };
            file.or_else(|| source(program).filter(|_| program.text.contains('/')))
        });
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

/// Whether a substitution stands where the name of a program is, or in a variable that does.
fn names_a_program(text: &str) -> bool {
    let every = |mark| text.match_indices(mark).take(MOST);
    let is_command = |at: usize| {
        let before = text[..at].trim_end_matches([' ', '\t', '"']);
        let word = before.rsplit([' ', '\t', '\n', ';', '|', '&']).next().unwrap_or_default();
        before.is_empty() || before.ends_with(['\n', ';', '|', '&']) || BEFORE.contains(&word)
    };
    let is_substituted = every("$(").chain(every("`").step_by(2)).any(|(at, _)| {
        let is_number = text[at..].starts_with("$((");
        !is_number && is_command(at)
    });
    let is_held = ["=$(", "=\"$(", "=`", "=\"`"].iter().any(|held| text.contains(held));
    let is_variable = |at: usize| {
        let next = text[at + 1..].chars().next();
        next.is_some_and(|next| next.is_alphabetic() || "_{".contains(next)) && is_command(at)
    };
    is_substituted || (is_held && every("$").any(|(at, _)| is_variable(at)))
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
    static NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| CLEAR.split(' ').collect());
    NAMES.contains(name)
}
