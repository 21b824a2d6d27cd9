//! One line at a time, with the keys of emacs and a history: what is written stays on the screen, and
//! nothing is drawn again that need not be, so that a screen reader can follow.

mod answer;
mod painted;

use std::fmt::Write as _;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::{PollFd, PollFlags, poll};

use crate::composer::{Composer, Outcome, Wanted};
use crate::host::Item;
use crate::input::{Decoder, Input, STALLED};
use crate::key::{Code, Key};
use crate::screen::{raw, stop_here};
use crate::text::one_line;
use painted::{Painted, Size};

pub use answer::{Answer, Question, question};

/// Ways to complete that are listed at once.
const LISTED: usize = 20;

/// Lists what a command takes after its name.
type Arguments = Box<dyn Fn(&str) -> Vec<Item> + Send>;

/// What was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// A line, without its end.
    Line(String),
    /// The user interrupted it; what was written is gone.
    Interrupted,
    /// Nothing more will be written.
    End,
}

/// Reads lines from the terminal that standard input is. Dropping it gives the terminal back.
#[derive(Default)]
pub struct Editor {
    composer: Composer,
    decoder: Decoder,
    /// What has arrived and was not needed yet.
    waiting: Vec<Input>,
    /// Lists the files that can be named; asked when the first one is.
    files: Option<Box<dyn FnOnce() -> Vec<String> + Send>>,
    /// Lists what a command takes.
    arguments: Option<Arguments>,
    /// What is looked for among what was written before.
    search: Option<Search>,
    /// The lines before this one that a backslash joins it to.
    begun: String,
}

/// A search among what was written before, letter by letter.
struct Search {
    /// What is looked for.
    needle: String,
    /// How many that have it were passed over.
    passed: usize,
    /// What was written when it began.
    before: String,
}

impl Editor {
    /// Begins with what was written before, the newest last.
    pub fn new(history: Vec<String>) -> Self {
        let mut editor = Self::default();
        editor.composer.history.load(history);
        editor
    }

    /// Completes these commands after `/`, and the files that `files` lists after `@`.
    pub fn offer(
        &mut self,
        commands: Vec<Item>,
        files: impl FnOnce() -> Vec<String> + Send + 'static,
    ) {
        self.composer.completion.set_commands(commands);
        self.files = Some(Box::new(files));
    }

    /// Completes what `arguments` lists for a command after its name.
    pub fn offer_arguments(&mut self, arguments: impl Fn(&str) -> Vec<Item> + Send + 'static) {
        self.arguments = Some(Box::new(arguments));
    }

    /// Begins the next line with a text.
    pub fn put_back(&mut self, text: &str) {
        self.composer.buffer.set(text);
        self.composer.changed();
    }

    /// Reads a line behind a mark. Blocks.
    pub fn read(&mut self, mark: &str) -> io::Result<Read> {
        raw::enter_line()?;
        // It is one line however long it is: Up and Down always lead through what was written before.
        self.composer.height(u16::MAX);
        let read = self.follow(mark);
        raw::restore();
        io::stderr().write_all(b"\n")?;
        read
    }

    fn follow(&mut self, mark: &str) -> io::Result<Read> {
        let mut out = io::stderr();
        // What stands on the terminal.
        let mut painted = self.painted(mark);
        out.write_all(Painted::default().becomes(&painted, size()).as_bytes())?;
        loop {
            let mut inputs = std::mem::take(&mut self.waiting).into_iter();
            while let Some(input) = inputs.next() {
                // It stays on the screen, and another one begins below.
                let mut below = None;
                let written = self.behind(mark);
                if input == Input::Key(Key::plain(Code::Tab)) {
                    self.search = None;
                    below = Some(self.complete()).filter(|several| !several.is_empty());
                } else if input == Input::Key(Key::ctrl('z')) {
                    out.write_all(painted.leave(size()).as_bytes())?;
                    raw::restore();
                    stop_here();
                    raw::enter_line()?;
                    painted = Painted::default();
                } else if input == Input::Key(Key::ctrl('c')) && !self.composer.buffer.is_empty() {
                    self.put_aside();
                    below = Some(String::new());
                } else if input == Input::Stalled {
                    below = Some(format!("({STALLED})\r\n"));
                } else if let Some(read) = self.take(input) {
                    let end = Painted { cursor: written.text.len(), ..written };
                    out.write_all(painted.becomes(&end, size()).as_bytes())?;
                    self.waiting = inputs.collect();
                    return Ok(read);
                }
                if let Some(lines) = below {
                    let leave = painted.leave(size());
                    out.write_all(format!("{leave}\r\n{lines}").as_bytes())?;
                    painted = Painted::default();
                }
                let next = self.painted(mark);
                out.write_all(painted.becomes(&next, size()).as_bytes())?;
                painted = next;
            }
            match arrived(&mut self.decoder, None)? {
                Some(inputs) => self.waiting = inputs,
                None => return Ok(Read::End),
            }
        }
    }

    /// The line as it is to stand on the terminal.
    fn painted(&self, mark: &str) -> Painted {
        match &self.search {
            Some(search) => self.behind(&search.mark()),
            None => self.behind(mark),
        }
    }

    fn behind(&self, mark: &str) -> Painted {
        let (line, cursor) = self.composer.buffer.in_one_line();
        Painted { text: format!("{mark}{line}"), cursor: mark.len() + cursor }
    }

    /// Completes what stands before the cursor; gives the lines to show where there are several ways.
    fn complete(&mut self) -> String {
        let Composer { buffer, completion, .. } = &mut self.composer;
        completion.refresh(buffer);
        if completion.wanted() == Some(Wanted::File)
            && let Some(files) = self.files.take()
        {
            completion.set_files(files().iter().map(|file| one_line(file)).collect());
        }
        if let (Some(arguments), Some(command)) = (&self.arguments, completion.written(buffer)) {
            let items = arguments(&command);
            completion.set_arguments(command, items);
        }
        let several = completion.advance(buffer);
        let mut lines = String::new();
        for proposal in several.iter().take(LISTED) {
            let about = one_line(&proposal.about);
            let _ = write!(lines, "  {}  {about}", one_line(&proposal.text));
            lines.truncate(lines.trim_end().len());
            lines.push_str("\r\n");
        }
        if several.len() > LISTED {
            let _ = write!(lines, "  … {} more\r\n", several.len() - LISTED);
        }
        lines
    }

    /// Begins to look among what was written before, for what is written; or looks farther back.
    fn look_back(&mut self) {
        if let Some(search) = &mut self.search {
            search.passed += 1;
        } else {
            let before = self.composer.buffer.text();
            // A paste that is shown as a chip is not spelled out to be looked for.
            let is_spelled = self.composer.buffer.raw() == before;
            let needle = if is_spelled { before.clone() } else { String::new() };
            self.search = Some(Search { needle, passed: 0, before });
        }
        self.find();
    }

    /// Shows what is found; where nothing is, what was found before stays.
    fn find(&mut self) {
        let Some(search) = &mut self.search else { return };
        let is_found = |it: &&String| !search.needle.is_empty() && it.contains(&search.needle);
        let mut found = self.composer.history.newest_first().filter(is_found);
        if let Some(text) = found.nth(search.passed).cloned() {
            self.composer.buffer.recall(&text);
        } else if search.passed > 0 {
            search.passed -= 1;
        }
    }

    /// Takes a key of a search; `false` where it ends the search and means something of its own.
    fn search_key(&mut self, key: Key) -> bool {
        let Some(search) = &mut self.search else { return false };
        if key == Key::ctrl('g') || key.code == Code::Esc {
            let before = std::mem::take(&mut search.before);
            self.composer.buffer.set(&before);
            self.search = None;
            return true;
        }
        if key.code == Code::Backspace {
            search.needle.pop();
        } else if let Some(letter) = key.typed() {
            search.needle.push(letter);
        } else {
            self.search = None;
            return false;
        }
        search.passed = 0;
        self.find();
        true
    }

    /// Empties the line; it stays in the history.
    fn put_aside(&mut self) {
        self.search = None;
        let line = self.composer.buffer.take();
        self.composer.history.add(&line);
    }

    fn take(&mut self, input: Input) -> Option<Read> {
        let key = match input {
            Input::Key(key) => key,
            Input::Paste(text) => {
                // It goes into what was found, which the next letter of a search would replace.
                self.search = None;
                self.composer.paste(&text);
                return None;
            }
            Input::Mouse(_)
            | Input::Focus(_)
            | Input::Report(_)
            | Input::Stalled
            | Input::Closed => return None,
        };
        let is_empty = self.composer.buffer.is_empty();
        if key == Key::ctrl('r') {
            self.look_back();
            return None;
        }
        if self.search_key(key) {
            return None;
        }
        match key {
            // It is one line however many there are in it: these always lead to another.
            key if [Key::plain(Code::Up), Key::ctrl('p')].contains(&key) => {
                self.composer.recall_earlier();
                None
            }
            key if [Key::plain(Code::Down), Key::ctrl('n')].contains(&key) => {
                self.composer.recall_later();
                None
            }
            key if key == Key::ctrl('c') => {
                self.composer.buffer.take();
                self.begun.clear();
                Some(Read::Interrupted)
            }
            // Typed ahead, while the terminal edits lines itself, the end of input comes as a zero
            // byte and the end of a line as a line feed.
            key if is_empty && [Key::ctrl('d'), Key::ctrl(' ')].contains(&key) => Some(Read::End),
            key if key.code == Code::Enter || key == Key::ctrl('j') => {
                let line = self.composer.buffer.take();
                if let Some(part) = line.strip_suffix('\\') {
                    self.begun.push_str(part);
                    self.begun.push('\n');
                } else {
                    let whole = std::mem::take(&mut self.begun) + &line;
                    if !whole.trim().is_empty() {
                        self.composer.history.add(&whole);
                    }
                }
                Some(Read::Line(line))
            }
            key => {
                let outcome = self.composer.key(key);
                debug_assert_ne!(outcome, Outcome::Send, "Enter is handled above");
                None
            }
        }
    }
}

/// What has arrived from the terminal; none where nothing will, or nobody wants it any more.
fn arrived(
    decoder: &mut Decoder,
    given_up: Option<BorrowedFd<'_>>,
) -> io::Result<Option<Vec<Input>>> {
    let stdin = io::stdin();
    let timeout = decoder.patience();
    let watched = [Some(stdin.as_fd()), given_up];
    let mut watched: Vec<PollFd<'_>> = watched
        .into_iter()
        .flatten()
        .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN))
        .collect();
    match poll(&mut watched, timeout.as_ref()) {
        Ok(0) => return Ok(Some(decoder.settle())),
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(Some(Vec::new())),
        Err(error) => return Err(error.into()),
    }
    if watched.get(1).is_some_and(|given_up| !given_up.revents().is_empty()) {
        return Ok(None);
    }
    let mut bytes = [0; 1024];
    match rustix::io::read(stdin.as_fd(), &mut bytes) {
        Ok(0) => Ok(None),
        Ok(count) => Ok(Some(decoder.feed(&bytes[..count]))),
        Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(Some(Vec::new())),
        Err(error) => Err(error.into()),
    }
}

impl Search {
    /// What stands before what is found.
    fn mark(&self) -> String {
        format!("(search `{}`) ", contract::text::visible(&self.needle).replace('\n', "↵"))
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        raw::restore();
    }
}

/// While this lives, what is typed is not shown where it happens to fall among what is written.
pub struct Quiet(());

impl Quiet {
    /// Has the terminal keep what is typed to itself.
    pub fn new() -> Self {
        raw::quiet();
        Self(())
    }
}

impl Default for Quiet {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        raw::unquiet();
    }
}

/// While this lives, what is typed is shown all the same: somebody asks.
pub struct Aloud {
    was_quiet: bool,
}

impl Aloud {
    /// Has the terminal show what is typed.
    pub fn new() -> Self {
        Self { was_quiet: raw::unquiet() }
    }
}

impl Default for Aloud {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Aloud {
    fn drop(&mut self) {
        if self.was_quiet {
            raw::quiet();
        }
    }
}

/// Takes note that the terminal knows no sequences, so that questions write none.
pub fn set_simple() {
    raw::set_simple();
}

/// Gives the terminal back while a line is being waited for elsewhere.
pub fn give_back() {
    raw::restore();
}

fn size() -> Size {
    let size = rustix::termios::tcgetwinsize(io::stderr());
    let (columns, rows) = size.map_or((0, 0), |size| (size.ws_col, size.ws_row));
    let known = |length: u16, usual: usize| if length == 0 { usual } else { usize::from(length) };
    Size { columns: known(columns, 80), rows: known(rows, 24) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(keys: &str) -> (Editor, String, Option<Read>) {
        let mut editor = Editor::new(vec!["earlier".to_owned()]);
        let mut written = String::new();
        let mut read = None;
        let size = Size { columns: 20, rows: 10 };
        for word in keys.split(' ') {
            let before = editor.painted("> ");
            read = editor.take(Input::Key(Key::parse(word).expect("a key")));
            written.push_str(&before.becomes(&editor.painted("> "), size));
        }
        (editor, written, read)
    }

    #[test]
    fn what_is_typed_at_the_end_is_written_once() {
        assert_eq!(after("h i").1, "hi");
    }

    #[test]
    fn other_changes_are_written_from_where_they_are() {
        let (editor, written, _) = after("a b ctrl+a x");
        assert_eq!(editor.composer.buffer.raw(), "xab");
        assert_eq!(written, "ab\x1b[2D\x1b[Jxab\x1b[2D");
    }

    #[test]
    fn keys_end_the_line_or_the_input() {
        assert_eq!(after("h i enter").2, Some(Read::Line("hi".to_owned())));
        assert_eq!(after("h i ctrl+j").2, Some(Read::Line("hi".to_owned())));
        assert_eq!(after("up enter").2, Some(Read::Line("earlier".to_owned())));
        assert_eq!(after("h ctrl+c").2, Some(Read::Interrupted));
        assert_eq!(after("ctrl+d").2, Some(Read::End));
        assert_eq!(after("h ctrl+d").2, None);
    }

    #[test]
    fn tab_completes_commands_and_files_and_lists_what_could_be_meant() {
        let mut editor = Editor::default();
        let command = |name: &str| Item { value: name.into(), ..Item::default() };
        editor.offer(vec![command("mode"), command("model"), command("help")], || {
            vec!["src/main.rs".to_owned()]
        });
        let complete = |editor: &mut Editor, text: &str| {
            editor.composer.buffer.set(text);
            let listed = editor.complete();
            (editor.composer.buffer.raw().to_owned(), listed)
        };
        assert_eq!(complete(&mut editor, "/h"), ("/help ".to_owned(), String::new()));
        assert_eq!(complete(&mut editor, "/m").0, "/mode");
        let (text, listed) = complete(&mut editor, "/mode");
        assert_eq!((text.as_str(), listed.as_str()), ("/mode", "  /mode\r\n  /model\r\n"));
        assert_eq!(complete(&mut editor, "see @mai").0, "see @src/main.rs ");
        assert_eq!(complete(&mut editor, "none"), ("none".to_owned(), String::new()));
    }

    #[test]
    fn what_was_written_before_is_found_by_a_part_of_it() {
        let mut editor = Editor::new(vec!["cargo test".into(), "ls".into(), "cargo run".into()]);
        editor.composer.buffer.set("cargo");
        let mut seen = Vec::new();
        for _ in 0..3 {
            editor.take(Input::Key(Key::ctrl('r')));
            seen.push(editor.composer.buffer.raw().to_owned());
        }
        assert_eq!(seen, ["cargo run", "cargo test", "cargo test"]);
    }

    #[test]
    fn what_was_written_before_is_looked_for_letter_by_letter() {
        let entries = || vec!["slow one".into(), "ls\n-l".into(), "slow two".into(), "x".into()];
        let typed = |words: &str| {
            let mut editor = Editor::new(entries());
            let mut read = None;
            for word in words.split(' ') {
                read = editor.take(Input::Key(Key::parse(word).expect("a key")));
            }
            (editor.composer.buffer.raw().to_owned(), read, editor.search.is_some())
        };
        assert_eq!(typed("ctrl+r s l o"), ("slow two".into(), None, true));
        assert_eq!(typed("ctrl+r s l o ctrl+r"), ("slow one".into(), None, true));
        assert_eq!(typed("ctrl+r s l o ctrl+r ctrl+r").0, "slow one");
        assert_eq!(typed("ctrl+r l s").0, "ls\n-l");
        assert_eq!(typed("ctrl+r s l z").0, "slow two");
        assert_eq!(typed("d ctrl+r s ctrl+g"), ("d".into(), None, false));
        assert_eq!(typed("ctrl+r s l o enter").1, Some(Read::Line("slow two".into())));
        assert_eq!(typed("ctrl+r s l ctrl+a y").0, "yslow two");
        let mut editor = Editor::new(entries());
        editor.take(Input::Key(Key::ctrl('r')));
        editor.take(Input::Key(Key::parse("t").expect("a key")));
        assert_eq!(editor.painted("> ").text, "(search `t`) slow two");
    }

    #[test]
    fn up_passes_over_the_lines_of_a_text() {
        let mut editor = Editor::new(vec!["before".into(), "one\ntwo\nthree".into()]);
        for key in ["up", "up"] {
            editor.take(Input::Key(Key::parse(key).expect("a key")));
        }
        assert_eq!(editor.composer.buffer.raw(), "before");
    }

    #[test]
    fn up_leads_through_what_was_written_before() {
        let mut editor = Editor::new(vec!["first words".to_owned(), "second words".to_owned()]);
        editor.composer.height(u16::MAX);
        for _ in 0..2 {
            editor.take(Input::Key(Key::plain(Code::Up)));
        }
        assert_eq!(editor.composer.buffer.raw(), "first words");
    }

    #[test]
    fn a_line_that_is_longer_than_the_screen_is_written_once() {
        let letters: Vec<String> = ('a'..='z').map(String::from).collect();
        let (_, written, _) = after(&letters.join(" "));
        // A full row is left for the next one.
        assert_eq!(written.replace(" \r", ""), letters.concat());
    }

    #[test]
    fn what_is_pasted_is_said_once_and_as_a_chip_where_it_is_long() {
        let mut editor = Editor::new(vec!["earlier".to_owned()]);
        editor.take(Input::Paste("a\nb".to_owned()));
        assert_eq!(editor.painted("> ").text, "> a↵b");
        let long = "line\n".repeat(500);
        editor.take(Input::Paste(long.clone()));
        assert_eq!(editor.painted("> ").text, "> a↵b[pasted text 1: 500 lines]");
        editor.take(Input::Key(Key::ctrl('r')));
        let searching = editor.painted("> ").text;
        assert!(!searching.contains("line↵"), "{searching}");
        editor.take(Input::Key(Key::ctrl('g')));
        assert_eq!(editor.painted("> ").text, "> a↵b[pasted text 1: 500 lines]");
        let read = editor.take(Input::Key(Key::plain(Code::Enter)));
        assert_eq!(read, Some(Read::Line(format!("a\nb{long}"))));
        editor.take(Input::Paste("x".repeat(5000)));
        assert_eq!(editor.painted("> ").text, "> [pasted text 2: 5000 letters]");
    }
}
