//! Completion at the cursor: a command after `/`, its arguments, a file after `@`.

use std::borrow::Cow;
use std::ops::Range;

use super::Buffer;
use crate::fuzzy;
use crate::host::Item;
use crate::text::one_line;

pub(crate) const MAX_PROPOSALS: usize = 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompletionKind {
    Command,
    /// An argument of a command, if they can be listed.
    Argument,
    File,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Proposal {
    pub(crate) text: String,
    pub(crate) about: String,
    pub(crate) places: Vec<usize>,
}

/// Proposals for what stands before the cursor.
#[derive(Default)]
pub(crate) struct Completion {
    /// Commands without their slash.
    pub(crate) commands: Vec<Item>,
    /// The arguments of the command that was asked about last.
    pub(crate) arguments: Option<(String, Vec<Item>)>,
    files: Vec<String>,
    is_cut: bool,
    wanted: Option<(CompletionKind, Range<usize>)>,
    pub(crate) proposals: Vec<Proposal>,
    pub(crate) selected: usize,
    /// True if the user moved to a proposal.
    is_gone_to: bool,
    /// The word for which the user closed the proposals.
    closed: Option<(usize, String)>,
    /// The command in the text, with its usage.
    pub(crate) help: Option<String>,
}

impl Completion {
    /// Learns the files; `is_cut` if there are more.
    pub(crate) fn set_files(&mut self, files: &[String], is_cut: bool) {
        self.files = files.iter().map(|file| one_line(file)).collect();
        self.is_cut = is_cut;
    }

    pub(crate) fn wanted(&self) -> Option<CompletionKind> {
        self.wanted.as_ref().map(|(wanted, _)| *wanted)
    }

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
            self.is_gone_to = true;
        }
    }

    /// Looks again at what stands before the cursor.
    pub(crate) fn refresh(&mut self, buffer: &Buffer) {
        self.wanted = wanted(buffer).or_else(|| self.argument(buffer));
        self.help = self.help_for(buffer);
        (self.selected, self.is_gone_to) = (0, false);
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
        self.proposals = match wanted {
            CompletionKind::Argument => self.arguments_for(word, buffer),
            CompletionKind::Command => {
                let names = self.commands.iter().map(|item| item.value.as_str());
                proposals(&word[1..], "/", names, |at| {
                    let Item { value, label, detail, .. } = &self.commands[at];
                    (value, format!("{detail} {label}").trim().to_owned())
                })
            }
            CompletionKind::File => {
                let files = self.files.iter().map(String::as_str);
                proposals(&word[1..], "@", files, |at| (&self.files[at], String::new()))
            }
        };
        if self.proposals.len() == 1 && self.proposals[0].text == word {
            self.proposals.clear();
        }
    }

    pub(crate) fn accept(&mut self, buffer: &mut Buffer) {
        let proposal = self.proposals.get(self.selected);
        if let (Some(Proposal { text, .. }), Some((_, range))) = (proposal, self.wanted.clone()) {
            let after = if text.ends_with('/') { "" } else { " " };
            buffer.replace(range, &format!("{text}{after}"));
            self.refresh(buffer);
        }
    }

    /// Completes as far as there is one way; where there are several, says what they are.
    pub(crate) fn advance(&mut self, buffer: &mut Buffer) -> Vec<Proposal> {
        self.closed = None;
        self.refresh(buffer);
        let Some((_, range)) = self.wanted.clone() else { return Vec::new() };
        let word = buffer.raw()[range.clone()].to_owned();
        let begins = |proposal: &&Proposal| proposal.text.starts_with(&word);
        let mut found: Vec<Proposal> = self.proposals.iter().filter(begins).cloned().collect();
        if found.is_empty() {
            found.clone_from(&self.proposals);
        }
        self.proposals.clear();
        match found.as_slice() {
            [] => {}
            [only] => {
                self.proposals = vec![only.clone()];
                self.selected = 0;
                self.accept(buffer);
                self.proposals.clear();
                return Vec::new();
            }
            [first, others @ ..] => {
                let same = |a: &str, b: &str| {
                    let pairs = a.chars().zip(b.chars()).take_while(|(a, b)| a == b);
                    pairs.map(|(c, _)| c.len_utf8()).sum::<usize>()
                };
                let common = others.iter().map(|it| same(&first.text, &it.text)).min();
                let common = &first.text[..common.unwrap_or(0)];
                if common.len() > word.len() && common.starts_with(&word) {
                    buffer.replace(range, common);
                    return Vec::new();
                }
            }
        }
        found
    }

    /// Returns true if the word is a proposal already, letter by letter.
    pub(crate) fn is_exact(&self, buffer: &Buffer) -> bool {
        let Some((_, range)) = &self.wanted else { return false };
        let word = &buffer.raw()[range.clone()];
        self.proposals.get(self.selected).is_some_and(|proposal| proposal.text == word)
    }

    fn arguments_for(&self, query: &str, buffer: &Buffer) -> Vec<Proposal> {
        let choices = self.choices(buffer);
        let known: Vec<String> =
            choices.iter().map(|item| format!("{} {}", item.value, item.label)).collect();
        proposals(query, "", known.iter().map(String::as_str), |at| {
            let Item { value, label, detail, note, .. } = &choices[at];
            let about = [label, detail, note].map(|text| text.trim());
            let about = about.into_iter().filter(|text| !text.is_empty() && text != value);
            (value, about.collect::<Vec<_>>().join("  "))
        })
    }

    /// Arguments of the command in the text: those that the host lists, or the words of its usage.
    fn choices(&self, buffer: &Buffer) -> Cow<'_, [Item]> {
        let Some(item) = self.command(buffer) else { return Cow::default() };
        if let Some((command, items)) = &self.arguments
            && *command == item.value
            && !items.is_empty()
        {
            return Cow::Borrowed(items);
        }
        let usage = item.detail.trim_matches(['[', ']', ' ']);
        let words: Vec<&str> = usage.split('|').map(str::trim).collect();
        let is_word = |word: &&str| !word.is_empty() && !word.contains([' ', '[', '<']);
        // A usage in capitals names something, it is not the thing itself.
        let is_literal = |word: &&str| is_word(word) && word.chars().any(char::is_lowercase);
        let choice = |word: &str| Item { value: word.to_owned(), ..Item::default() };
        let is_list = words.len() > 1 && words.iter().all(is_literal);
        if is_list { words.into_iter().map(choice).collect() } else { Cow::default() }
    }

    pub(crate) fn command(&self, buffer: &Buffer) -> Option<&Item> {
        let (name, _) = buffer.raw().strip_prefix('/')?.split_once(' ')?;
        self.commands.iter().find(|item| item.value == name)
    }

    /// The command whose arguments are about to be written.
    pub(crate) fn asked_for(&self, buffer: &Buffer) -> Option<&str> {
        let item = self.command(buffer)?;
        let is_at_first = buffer.cursor() == item.value.len() + 2;
        (is_at_first && !item.detail.is_empty()).then_some(item.value.as_str())
    }

    /// Returns true if Enter sends the text and takes no proposal: no argument was begun or
    /// selected, and the command needs none.
    pub(crate) fn is_optional(&self, buffer: &Buffer) -> bool {
        let Some((CompletionKind::Argument, range)) = &self.wanted else { return false };
        let is_begun = !range.is_empty() || self.is_gone_to;
        !is_begun && self.command(buffer).is_none_or(|item| item.detail.starts_with('['))
    }

    fn argument(&self, buffer: &Buffer) -> Option<(CompletionKind, Range<usize>)> {
        let before = &buffer.raw()[..buffer.cursor()];
        let start = before.find(' ')? + 1;
        let is_one = before.starts_with('/') && !before[start..].contains(char::is_whitespace);
        let has_choices = is_one && !self.choices(buffer).is_empty();
        has_choices.then_some((CompletionKind::Argument, start..buffer.cursor()))
    }

    fn help_for(&self, buffer: &Buffer) -> Option<String> {
        if self.is_cut && self.wanted() == Some(CompletionKind::File) {
            return Some(format!("Only the first {} files are listed", self.files.len()));
        }
        let name = buffer.raw().strip_prefix('/')?.split(' ').next()?;
        let item = self.commands.iter().find(|item| item.value == name)?;
        Some(format!("/{} {}  {}", item.value, item.detail, item.label))
    }
}

/// The best of some texts for a query, each proposed as the value and the description that
/// `describe` gives for its position, behind a mark.
fn proposals<'a, 'b>(
    query: &str,
    mark: &str,
    texts: impl Iterator<Item = &'a str>,
    describe: impl Fn(usize) -> (&'b String, String),
) -> Vec<Proposal> {
    let proposal = |(at, found): (usize, fuzzy::Match)| {
        let (value, about) = describe(at);
        let letters = value.chars().count();
        let places = found.places.into_iter().filter(|at| *at < letters);
        let places = places.map(|at| at + mark.len()).collect();
        Proposal { text: format!("{mark}{value}"), about, places }
    };
    fuzzy::best(query, texts, MAX_PROPOSALS).into_iter().map(proposal).collect()
}

/// The thing that the word before the cursor can be completed to, and where that word stands.
fn wanted(buffer: &Buffer) -> Option<(CompletionKind, Range<usize>)> {
    let before = &buffer.raw()[..buffer.cursor()];
    let start = before
        .rfind(char::is_whitespace)
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let word = &before[start..];
    let range = start..buffer.cursor();
    match word.chars().next()? {
        '/' if start == 0 && !word[1..].contains('/') => Some((CompletionKind::Command, range)),
        '@' => Some((CompletionKind::File, range)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completion() -> Completion {
        let command =
            |name: &str| Item { value: name.into(), label: "About".into(), ..Item::default() };
        let commands = vec![command("help"), command("model"), command("mode")];
        let mut completion = Completion { commands, ..Completion::default() };
        completion.set_files(&["src/main.rs".into(), "docs/help.md".into()], false);
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
    fn arguments_are_proposed_from_the_usage() {
        let mut it = completion();
        let usage = |name: &str, detail: &str| Item {
            value: name.into(),
            detail: detail.into(),
            ..Item::default()
        };
        it.commands = vec![
            usage("mode", "[read-only | normal | yolo]"),
            usage("model", "[name]"),
            usage("skill", "NAME [request]"),
        ];
        let mut buffer = written("/mode yo");
        it.refresh(&buffer);
        it.accept(&mut buffer);
        assert_eq!(buffer.raw(), "/mode yolo ");
        for other in ["/model ", "/skill x", "/mode yolo ", "/other "] {
            it.refresh(&written(other));
            assert!(!it.is_open(), "{other}");
        }
        it.refresh(&written("/mode "));
        assert_eq!(it.proposals.len(), 3);
    }

    #[test]
    fn file_completion_replaces_its_word() {
        let mut it = completion();
        let mut buffer = written("look at @mrs");
        it.refresh(&buffer);
        it.accept(&mut buffer);
        assert_eq!(buffer.raw(), "look at @src/main.rs ");
        assert!(!it.is_open());
    }

    #[test]
    fn closed_completion_reopens_with_the_next_letter() {
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
