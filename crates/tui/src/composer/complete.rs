//! What can be completed where the cursor is: a command after `/`, a file after `@`.

use std::ops::Range;

use super::Buffer;
use crate::fuzzy;
use crate::host::Item;

/// Proposals that are held.
const MOST: usize = 50;

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A command.
    Command,
    /// A file.
    File,
}

/// A proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Proposal {
    /// What is put in.
    pub(crate) text: String,
    /// What is shown beside it.
    pub(crate) about: String,
    /// The characters that matched.
    pub(crate) places: Vec<usize>,
}

/// Proposals for what stands before the cursor.
#[derive(Default)]
pub(crate) struct Completion {
    /// What can be typed after `/`.
    commands: Vec<Item>,
    files: Vec<String>,
    wanted: Option<(Wanted, Range<usize>)>,
    pub(crate) proposals: Vec<Proposal>,
    pub(crate) selected: usize,
    /// Closed by hand until the word is another.
    closed: Option<(usize, String)>,
    /// The command that stands in the text already, with what it takes.
    pub(crate) help: Option<String>,
}

impl Completion {
    /// Learns what can be typed after `/`.
    pub(crate) fn set_commands(&mut self, commands: Vec<Item>) {
        self.commands = commands;
    }

    /// Learns the files.
    pub(crate) fn set_files(&mut self, files: Vec<String>) {
        self.files = files;
    }

    /// What is being looked for.
    pub(crate) fn wanted(&self) -> Option<Wanted> {
        self.wanted.as_ref().map(|(wanted, _)| *wanted)
    }

    /// Whether proposals are open.
    pub(crate) fn is_open(&self) -> bool {
        !self.proposals.is_empty()
    }

    /// Closes them until another word is written.
    pub(crate) fn close(&mut self, buffer: &Buffer) {
        if let Some((_, range)) = &self.wanted {
            self.closed = Some((range.start, buffer.raw()[range.clone()].to_owned()));
        }
        self.proposals.clear();
    }

    /// Goes to the next one, or the one before.
    pub(crate) fn step(&mut self, is_down: bool) {
        let count = self.proposals.len();
        if count > 0 {
            let by = if is_down { 1 } else { count - 1 };
            self.selected = (self.selected + by) % count;
        }
    }

    /// Looks again at what stands before the cursor.
    pub(crate) fn refresh(&mut self, buffer: &Buffer) {
        self.wanted = wanted(buffer);
        self.help = self.help_for(buffer);
        self.selected = 0;
        self.proposals.clear();
        let Some((wanted, range)) = &self.wanted else {
            self.closed = None;
            return;
        };
        let word = &buffer.raw()[range.clone()];
        if self.closed.as_ref().is_some_and(|(at, closed)| *at == range.start && closed == word) {
            return;
        }
        self.closed = None;
        let query = &word[1..];
        self.proposals = match wanted {
            Wanted::Command => {
                let names = self.commands.iter().map(|item| item.value.as_str());
                let proposal = |(at, found): (usize, fuzzy::Match)| {
                    let item = &self.commands[at];
                    let about = format!("{} {}", item.detail, item.label);
                    Proposal {
                        text: format!("/{}", item.value),
                        about: about.trim().to_owned(),
                        places: found.places.iter().map(|at| at + 1).collect(),
                    }
                };
                fuzzy::best(query, names, MOST).into_iter().map(proposal).collect()
            }
            Wanted::File => {
                let files = self.files.iter().map(String::as_str);
                let proposal = |(at, found): (usize, fuzzy::Match)| Proposal {
                    text: format!("@{}", self.files[at]),
                    about: String::new(),
                    places: found.places.iter().map(|at| at + 1).collect(),
                };
                fuzzy::best(query, files, MOST).into_iter().map(proposal).collect()
            }
        };
        if self.proposals.len() == 1 && self.proposals[0].text == word {
            self.proposals.clear();
        }
    }

    /// Puts the selected proposal in.
    pub(crate) fn accept(&mut self, buffer: &mut Buffer) -> bool {
        let (Some(proposal), Some((_, range))) =
            (self.proposals.get(self.selected), self.wanted.clone())
        else {
            return false;
        };
        let is_folder = proposal.text.ends_with('/');
        let after = if is_folder { "" } else { " " };
        let text = format!("{}{after}", proposal.text);
        buffer.replace(range, &text);
        self.refresh(buffer);
        true
    }

    /// Whether the word is a proposal already, letter by letter.
    pub(crate) fn is_exact(&self, buffer: &Buffer) -> bool {
        let Some((_, range)) = &self.wanted else { return false };
        let word = &buffer.raw()[range.clone()];
        self.proposals.get(self.selected).is_some_and(|proposal| proposal.text == word)
    }

    /// What a command takes that has been written.
    fn help_for(&self, buffer: &Buffer) -> Option<String> {
        let (name, _) = buffer.raw().strip_prefix('/')?.split_once(' ')?;
        let item = self.commands.iter().find(|item| item.value == name)?;
        Some(format!("/{} {}  {}", item.value, item.detail, item.label))
    }
}

/// What the word before the cursor asks for.
fn wanted(buffer: &Buffer) -> Option<(Wanted, Range<usize>)> {
    let before = &buffer.raw()[..buffer.cursor()];
    let start = before
        .rfind(char::is_whitespace)
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let word = &before[start..];
    let range = start..buffer.cursor();
    match word.chars().next()? {
        '/' if start == 0 && !word[1..].contains('/') => Some((Wanted::Command, range)),
        '@' => Some((Wanted::File, range)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completion() -> Completion {
        let command =
            |name: &str| Item { value: name.into(), label: "About".into(), ..Item::default() };
        let mut completion = Completion::default();
        completion.set_commands(vec![command("help"), command("model"), command("mode")]);
        completion.set_files(vec!["src/main.rs".into(), "docs/help.md".into()]);
        completion
    }

    fn written(text: &str) -> Buffer {
        let mut buffer = Buffer::default();
        buffer.set(text);
        buffer
    }

    #[test]
    fn commands_are_proposed_at_the_beginning_only() {
        let mut it = completion();
        it.refresh(&written("/mo"));
        let texts: Vec<&str> = it.proposals.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(texts, ["/mode", "/model"]);
        for other in ["see /mo", "/usr/bin", "mo", "/model x"] {
            it.refresh(&written(other));
            assert!(!it.is_open(), "{other}");
        }
        assert_eq!(it.help.as_deref(), Some("/model   About"));
    }

    #[test]
    fn a_file_is_put_in_where_it_was_asked_for() {
        let mut it = completion();
        let mut buffer = written("look at @mrs");
        it.refresh(&buffer);
        assert!(it.accept(&mut buffer));
        assert_eq!(buffer.raw(), "look at @src/main.rs ");
        assert!(!it.is_open());
    }

    #[test]
    fn what_was_closed_stays_closed_until_another_letter() {
        let mut it = completion();
        let mut buffer = written("@h");
        it.refresh(&buffer);
        it.close(&buffer);
        it.refresh(&buffer);
        assert!(!it.is_open());
        buffer.insert("e");
        it.refresh(&buffer);
        assert!(it.is_open());
    }
}
