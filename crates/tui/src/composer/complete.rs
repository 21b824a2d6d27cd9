//! What can be completed where the cursor is: a command after `/`, a file after `@`.

use std::borrow::Cow;
use std::ops::Range;

use super::Buffer;
use crate::fuzzy;
use crate::host::Item;

/// Proposals that are held.
pub(crate) const MOST: usize = 50;

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A command.
    Command,
    /// What a command takes, where that can be listed.
    Argument,
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
    /// What the command takes that was asked about last.
    arguments: Option<(String, Vec<Item>)>,
    files: Vec<String>,
    /// Whether there are more files than are known.
    is_cut: bool,
    wanted: Option<(Wanted, Range<usize>)>,
    pub(crate) proposals: Vec<Proposal>,
    pub(crate) selected: usize,
    /// Whether a proposal was gone to by hand.
    is_gone_to: bool,
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

    /// Learns what a command takes.
    pub(crate) fn set_arguments(&mut self, command: String, items: Vec<Item>) {
        self.arguments = Some((command, items));
    }

    /// Learns the files.
    pub(crate) fn set_files(&mut self, files: Vec<String>) {
        self.files = files;
    }

    /// Learns whether there are more files than it knows.
    pub(crate) fn set_cut(&mut self, is_cut: bool) {
        self.is_cut = is_cut;
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
        let query = match wanted {
            Wanted::Argument => word,
            Wanted::Command | Wanted::File => &word[1..],
        };
        self.proposals = match wanted {
            Wanted::Argument => self.arguments_for(query, buffer),
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
        let is_directory = proposal.text.ends_with('/');
        let after = if is_directory { "" } else { " " };
        let text = format!("{}{after}", proposal.text);
        buffer.replace(range, &text);
        self.refresh(buffer);
        true
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

    /// Whether the word is a proposal already, letter by letter.
    pub(crate) fn is_exact(&self, buffer: &Buffer) -> bool {
        let Some((_, range)) = &self.wanted else { return false };
        let word = &buffer.raw()[range.clone()];
        self.proposals.get(self.selected).is_some_and(|proposal| proposal.text == word)
    }

    /// What is proposed for what a command takes: found by what is put in, and by what it is called.
    fn arguments_for(&self, query: &str, buffer: &Buffer) -> Vec<Proposal> {
        let choices = self.choices(buffer);
        let known: Vec<String> =
            choices.iter().map(|item| format!("{} {}", item.value, item.label)).collect();
        let proposal = |(at, found): (usize, fuzzy::Match)| {
            let Item { value, label, detail, note } = &choices[at];
            let about = [label, detail, note].map(|words| words.trim());
            let about: Vec<&str> =
                about.into_iter().filter(|words| !words.is_empty() && words != value).collect();
            let letters = value.chars().count();
            Proposal {
                text: value.clone(),
                about: about.join("  "),
                places: found.places.into_iter().filter(|at| *at < letters).collect(),
            }
        };
        let known = known.iter().map(String::as_str);
        fuzzy::best(query, known, MOST).into_iter().map(proposal).collect()
    }

    /// What the command which has been written takes: what the host lists, or the words that its
    /// usage does.
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

    /// The command that has been written, if a blank follows it.
    fn command(&self, buffer: &Buffer) -> Option<&Item> {
        let (name, _) = buffer.raw().strip_prefix('/')?.split_once(' ')?;
        self.commands.iter().find(|item| item.value == name)
    }

    /// The name of the command that has been written, before what it takes.
    pub(crate) fn written(&self, buffer: &Buffer) -> Option<String> {
        self.command(buffer).map(|item| item.value.clone())
    }

    /// The command whose arguments are about to be written.
    pub(crate) fn asked_for(&self, buffer: &Buffer) -> Option<&str> {
        let item = self.command(buffer)?;
        let is_at_first = buffer.cursor() == item.value.len() + 2;
        (is_at_first && !item.detail.is_empty()).then_some(item.value.as_str())
    }

    /// Whether Enter sends what is written, and takes no proposal: nothing was begun or gone to, and
    /// the command needs nothing.
    pub(crate) fn is_optional(&self, buffer: &Buffer) -> bool {
        let Some((Wanted::Argument, range)) = &self.wanted else { return false };
        let is_begun = !range.is_empty() || self.is_gone_to;
        !is_begun && self.command(buffer).is_none_or(|item| item.detail.starts_with('['))
    }

    fn argument(&self, buffer: &Buffer) -> Option<(Wanted, Range<usize>)> {
        let before = &buffer.raw()[..buffer.cursor()];
        let start = before.find(' ')? + 1;
        let is_one = before.starts_with('/') && !before[start..].contains(char::is_whitespace);
        let has_choices = is_one && !self.choices(buffer).is_empty();
        has_choices.then_some((Wanted::Argument, start..buffer.cursor()))
    }

    /// What a command takes that has been written.
    fn help_for(&self, buffer: &Buffer) -> Option<String> {
        if self.is_cut && self.wanted() == Some(Wanted::File) {
            return Some(format!("only {} files are known; there are more", self.files.len()));
        }
        let name = buffer.raw().strip_prefix('/')?.split(' ').next()?;
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
    fn what_a_command_takes_is_proposed_where_its_usage_lists_it() {
        let mut it = completion();
        let usage = |name: &str, detail: &str| Item {
            value: name.into(),
            detail: detail.into(),
            ..Item::default()
        };
        it.set_commands(vec![
            usage("mode", "[read-only | normal | yolo]"),
            usage("model", "[name]"),
            usage("skill", "NAME [request]"),
        ]);
        let mut buffer = written("/mode yo");
        it.refresh(&buffer);
        assert!(it.accept(&mut buffer));
        assert_eq!(buffer.raw(), "/mode yolo ");
        for other in ["/model ", "/skill x", "/mode yolo ", "/other "] {
            it.refresh(&written(other));
            assert!(!it.is_open(), "{other}");
        }
        it.refresh(&written("/mode "));
        assert_eq!(it.proposals.len(), 3);
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
