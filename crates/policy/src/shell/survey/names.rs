//! Words to which a text itself gives a meaning: functions, aliases, remembered programs, arrays, and
//! the arguments that are handed on. Sees too much rather than too little.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::listed::entries;
use super::{Fit, NESTING, Survey, WRAPPED, base_name, program_index, runners, untaken};
use crate::shell::raw;
use crate::shell::tolerant::Piece;
use crate::shell::wrappers::{self, Inner};

/// More arrays of one text are not read.
const ARRAYS: usize = 64;
/// Longer calls are not followed into what they name.
const LONG: usize = 64;
/// So many words of a line are each put in the place of a mark.
const FILLED: usize = 4;
/// Of so many words of a pipeline each may be the first that is handed on.
const HANDED: usize = 32;

/// What the words of a text mean in it.
#[derive(Default)]
pub(super) struct Names {
    pub(super) functions: HashSet<String>,
    aliases: HashMap<String, String>,
    /// Whether programs are looked for elsewhere, so that any file may be one by its name alone.
    pub(super) has_own_path: bool,
    /// Calls that are being followed.
    depth: usize,
}

impl Names {
    /// Finds the functions that a text defines.
    pub(super) fn of(text: &str) -> Self {
        let mut functions = HashSet::new();
        for (at, _) in text.match_indices('(') {
            let is_definition = text[at + 1..].trim_start_matches([' ', '\t']).starts_with(')');
            if is_definition {
                let before = text[..at].trim_end_matches([' ', '\t']);
                functions.insert(last_word(before).to_owned());
            }
        }
        for (at, word) in text.match_indices("function ") {
            let after = text[at + word.len()..].trim_start();
            let end = after.find(|c: char| c.is_whitespace() || "({;".contains(c));
            functions.insert(after[..end.unwrap_or(after.len())].to_owned());
        }
        functions.remove("");
        Self { functions, ..Self::default() }
    }

    /// Notes that a word stands for others.
    pub(super) fn mean(&mut self, name: &str, value: &str) {
        self.aliases.insert(name.to_owned(), value.to_owned());
    }
}

/// Whether a program takes words of its input for those of a command, or for the names of files.
pub(super) fn gathers(words: &[Piece]) -> bool {
    words.iter().any(is_gatherer)
}

pub(super) fn is_gatherer(word: &Piece) -> bool {
    matches!(base_name(&word.text), "xargs" | "parallel" | "cpio")
}

fn last_word(text: &str) -> &str {
    let ends = |c: char| c.is_whitespace() || ";&|(){}`$\"'<>=".contains(c);
    let start = text.rfind(ends).map_or(0, |at| at + 1);
    text.get(start..).unwrap_or_default()
}

/// The word that an element of one of the shell's own tables gives a meaning.
pub(super) fn set_for_shell(name: &str) -> Option<&str> {
    let table = ["BASH_ALIASES[", "BASH_CMDS["];
    let element = table.iter().find_map(|table| name.strip_prefix(table))?;
    Some(element.trim_end_matches(']').trim_matches(['"', '\'']))
}

/// The arrays that a text sets, each with its elements as they are written.
pub(super) fn arrays(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.match_indices("=(").take(ARRAYS).filter_map(|(at, mark)| {
        let name = last_word(&text[..at]);
        let elements = &text[at + mark.len()..];
        let end = elements.bytes().take(1024).position(|byte| byte == b')')?;
        (!name.is_empty()).then(|| (name, &elements[..end]))
    })
}

impl Survey {
    /// Follows a call of something that the text defines.
    pub(super) fn called(&mut self, program: &str, args: &[Piece], depth: usize) {
        if args.len() > LONG || self.names.depth > 0 {
            return;
        }
        if self.names.functions.contains(program) {
            self.handed_on(args);
        }
        if let Some(value) = self.names.aliases.get(program) {
            let words = args.iter().map(|word| word.text.as_str());
            let text = std::iter::once(value.as_str()).chain(words).collect::<Vec<_>>().join(" ");
            self.names.depth += 1;
            self.script(&text, depth + 1);
            self.names.depth -= 1;
        }
    }

    /// Reads the text once more where something goes into its functions that only another program knows: all
    /// of them may read that. Its commands are known already.
    pub(super) fn functions_that_are_given(&mut self, text: &str) {
        let Some(around) = self.sources.enter_function() else { return };
        if text.len() > self.effort {
            self.sources.unclear = Some(String::from("a function"));
            return self.sources.leave(around);
        }
        let (commands, redirections) = (self.commands.len(), self.redirections.len());
        self.script(text, 1);
        self.sources.leave(around);
        self.commands.truncate(commands);
        self.redirections.truncate(redirections);
    }

    /// Notes the arguments that a function or a script gets.
    pub(super) fn handed_on(&mut self, args: &[Piece]) {
        // Of what only the shell knows there may be more to say once variables have values.
        let is_unknown = |word: &Piece| word.dynamic && word.text.is_empty();
        for (word, at) in args.iter().zip(1..10).filter(|(word, _)| !is_unknown(word)) {
            self.constants.set(&at.to_string(), &word.text);
        }
        if args.iter().any(|word| !is_unknown(word)) || args.is_empty() {
            let texts: Vec<&str> = args.iter().map(|word| word.text.as_str()).take(LONG).collect();
            for name in ["@", "*"] {
                self.constants.set(name, &texts.join(" "));
            }
        }
    }

    /// Notes what a variable may hold; `@` is each argument.
    pub(super) fn holds(&mut self, name: &str, value: &str) {
        let arguments = ["@", "*", "1", "2", "3"];
        let names = if name == "@" { arguments.as_slice() } else { std::slice::from_ref(&name) };
        for name in names {
            self.constants.set(name, value);
        }
    }

    /// Adds what a command could become that takes words of its pipeline as arguments.
    pub(super) fn appended(
        &mut self,
        words: &[Piece],
        before: &[Piece],
        (fed, depth): (Option<&String>, usize),
    ) {
        let at = words.iter().position(is_gatherer).filter(|_| !self.is_cut_short());
        let Some(at) = at else { return };
        let args = &words[at + 1..];
        let texts: Vec<&str> = args.iter().map(|word| word.text.as_str()).take(LONG).collect();
        let inner = match wrappers::find("xargs").map(|wrapper| wrapper.inner(&texts)) {
            Some(Inner::At(at)) => at,
            Some(Inner::Unclear | Inner::Nothing) | None => 0,
        };
        let place = runners::place(args, inner).unwrap_or("{}");
        let is_filled = |word: &&Piece| !place.is_empty() && word.text.contains(place);
        let command = args.iter().skip(inner).take(LONG).filter(|word| !is_filled(word));
        let command: Vec<Piece> = command.cloned().collect();
        let fed = contract::text::head(fed.map_or("", String::as_str), 1024);
        let mut given = before.to_vec();
        given.extend(raw::runs(fed).into_iter().flatten());
        let is_placed = args.iter().skip(inner).any(|word| is_filled(&word));
        if depth < NESTING && is_placed {
            self.filled_in((&args[inner..], place), before, &given, depth);
        }
        let is_shell = command.first().is_some_and(|it| wrappers::is_shell(base_name(&it.text)));
        if depth < NESTING && is_shell && !is_placed && self.affords(command.len() + given.len()) {
            let text = given.iter().skip(usize::from(!before.is_empty()));
            let words = command.iter().chain(text).cloned().collect();
            self.command(&Rc::new(words), 0, depth + 1);
        }
        let own = self.words_of_git(before);
        let unfound = self.unfound(before);
        for first in (0..given.len().min(HANDED)).filter(|first| Some(*first) != own) {
            // They are copied, and judged on their own.
            if !self.affords(2 * (command.len() + given.len() - first)) {
                return;
            }
            let behind = given.iter().enumerate().skip(first);
            let behind = behind.filter(|(at, _)| first == 0 || !unfound.contains(at));
            let behind = behind.map(|(_, word)| word);
            self.handed(&Rc::new(command.iter().chain(behind).cloned().collect()));
        }
    }

    /// Where the subcommand of git stands that begins a pipeline: git does not print it, and it may have the name
    /// of a program.
    fn words_of_git(&self, before: &[Piece]) -> Option<usize> {
        let at = program_index(before);
        let is_git = before.get(at)?.text == "git";
        let is_other =
            self.names.functions.contains("git") || self.names.aliases.contains_key("git");
        (is_git && !is_other).then_some(at + 1)
    }

    /// Where words stand that say what the `find` which begins a pipeline, and is all of it so far, does not find.
    fn unfound(&self, before: &[Piece]) -> Vec<usize> {
        let is_find = before.first().is_some_and(|it| it.text == "find");
        let is_run =
            before.iter().any(|it| it.text.starts_with("-exec") || it.text.starts_with("-ok"));
        let is_other =
            self.names.functions.contains("find") || self.names.aliases.contains_key("find");
        if !is_find || is_run || is_other {
            return Vec::new();
        }
        untaken(&before[1..]).into_iter().map(|at| at + 1).collect()
    }

    /// Adds what `xargs` runs with what it is given in the place of a mark: a line, or any name in a folder.
    fn filled_in(
        &mut self,
        (command, place): (&[Piece], &str),
        before: &[Piece],
        given: &[Piece],
        depth: usize,
    ) {
        let mut values = entries(before);
        if values.is_empty() {
            let said = given.iter().skip(usize::from(!before.is_empty()));
            let said: Vec<&str> = said.map(|word| word.text.as_str()).collect();
            values.push(said.join(" "));
            values.extend(said.iter().take(FILLED).map(|word| (*word).to_owned()));
        }
        for value in values {
            let filled = |word: &Piece| Piece {
                text: word.text.replace(place, &value),
                glob: word.glob || value.contains('*'),
                ..word.clone()
            };
            let words: Vec<Piece> = command.iter().take(LONG).map(filled).collect();
            if !self.affords(2 * words.len()) {
                return;
            }
            self.command(&Rc::new(words), 0, depth + 1);
        }
    }

    /// Adds a command whose last words come from elsewhere, and what it runs if it is a wrapper.
    pub(super) fn handed(&mut self, words: &Rc<Vec<Piece>>) {
        let mut start = 0;
        for _ in 0..WRAPPED {
            let Some(program) = words.get(start) else { return };
            self.add(words, start, words.len(), Fit::Handed);
            let Some(wrapper) = wrappers::find(base_name(&program.text)) else { return };
            let args = start + 1;
            let texts = words[args..].iter().map(|word| word.text.as_str()).take(LONG);
            match wrapper.inner(&texts.collect::<Vec<_>>()) {
                Inner::At(at) => start = args + at,
                Inner::Unclear => return self.add(words, args, words.len(), Fit::Loose),
                Inner::Nothing => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_arrays_and_tables_are_found() {
        let names = Names::of("f(){ x; }; function g { y; }; a=$(b); h () (z)");
        let mut found: Vec<&String> = names.functions.iter().collect();
        found.sort();
        assert_eq!(found, ["f", "g", "h"]);
        assert_eq!(arrays("a=(1 2); b+=(3)").collect::<Vec<_>>(), [("a", "1 2"), ("b+", "3")]);
        assert_eq!(set_for_shell("BASH_CMDS[x]"), Some("x"));
    }
}
