//! The line editor of the plain front end: the keys, history and completions of the composer. A line
//! stays on the screen, and nothing is drawn again that need not be, so that a screen reader can
//! follow.

use std::fmt::Write as _;
use std::io::{self, PipeReader, Write};
use std::os::fd::AsFd;

use super::drawn_line::DrawnLine;
use super::{Line, size};
use crate::composer::{CompletionKind, Composer};
use crate::host::Item;
use crate::input::{self, Arrived, Decoder, Input, STALLED};
use crate::key::{Code, Key};
use crate::screen::{raw, stop_here};
use crate::text::one_line;

const MAX_LISTED: usize = 20;

/// Lists the arguments that a command takes.
type Arguments = Box<dyn Fn(&str) -> Vec<Item> + Send>;

/// Reads lines from the terminal that standard input is. Dropping it gives the terminal back.
#[derive(Default)]
pub struct Editor {
    composer: Composer,
    decoder: Decoder,
    /// Inputs that have arrived and were not needed yet.
    waiting: Vec<Input>,
    /// Lists the files that can be named; asked when the first one is.
    files: Option<Box<dyn FnOnce() -> Vec<String> + Send>>,
    arguments: Option<Arguments>,
    /// A search in the history that goes on.
    search: Option<Search>,
    /// Set for the answer to a question; its other end is closed when nobody waits for it any more.
    given_up: Option<PipeReader>,
}

/// A search in the history, letter by letter.
struct Search {
    /// The text that is searched for.
    needle: String,
    /// Matches that were passed over.
    passed: usize,
    /// The text when the search began.
    before: String,
}

impl Editor {
    /// Begins with what was written before, the newest last.
    pub fn new(history: Vec<String>) -> Self {
        let mut editor = Self::default();
        editor.composer.history.load(history);
        editor
    }

    /// Reads the answer to a question, until the other end of `given_up` is closed.
    pub(super) fn for_answer(given_up: PipeReader) -> Self {
        let mut editor = Self::default();
        editor.given_up = Some(given_up);
        editor
    }

    /// Completes these commands after `/`, what `arguments` lists for one after its name, and the files
    /// that `files` lists after `@`.
    pub fn offer(
        &mut self,
        commands: Vec<Item>,
        arguments: impl Fn(&str) -> Vec<Item> + Send + 'static,
        files: impl FnOnce() -> Vec<String> + Send + 'static,
    ) {
        self.composer.completion.commands = commands;
        self.arguments = Some(Box::new(arguments));
        self.files = Some(Box::new(files));
    }

    pub(super) fn set_text(&mut self, text: &str) {
        self.composer.buffer.set(text);
        self.composer.changed();
    }

    pub(super) fn remember(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.composer.history.add(text);
        }
    }

    /// Reads a line behind a mark. Blocks.
    pub(super) fn read(&mut self, mark: &str) -> io::Result<Line> {
        // For an answer the terminal is taken already.
        if self.given_up.is_none() {
            raw::enter_line()?;
        }
        // It is one line however long it is: Up and Down always lead through what was written before.
        self.composer.height(u16::MAX);
        let read = self.follow(mark);
        // Whoever gave an answer up has the terminal by now.
        if !matches!(read, Ok(Line::Interrupted)) || self.given_up.is_none() {
            raw::restore();
            io::stderr().write_all(b"\n")?;
        }
        read
    }

    fn enter(&self) -> io::Result<()> {
        if self.given_up.is_some() { raw::enter_answer() } else { raw::enter_line() }
    }

    fn follow(&mut self, mark: &str) -> io::Result<Line> {
        let mut out = io::stderr();
        // The present content of the terminal.
        let mut drawn = self.drawn(mark);
        out.write_all(DrawnLine::default().becomes(&drawn, size()).as_bytes())?;
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
                    out.write_all(drawn.leave(size()).as_bytes())?;
                    raw::restore();
                    stop_here();
                    self.enter()?;
                    drawn = DrawnLine::default();
                } else if input == Input::Key(Key::ctrl('c'))
                    && !self.composer.buffer.is_empty()
                    && self.given_up.is_none()
                {
                    self.put_aside();
                    below = Some(String::new());
                } else if input == Input::Stalled {
                    below = Some(format!("({STALLED})\r\n"));
                } else if let Some(read) = self.take(input) {
                    let end = DrawnLine { cursor: written.text.len(), ..written };
                    out.write_all(drawn.becomes(&end, size()).as_bytes())?;
                    self.waiting = inputs.collect();
                    return Ok(read);
                }
                if let Some(lines) = below {
                    let leave = drawn.leave(size());
                    out.write_all(format!("{leave}\r\n{lines}").as_bytes())?;
                    drawn = DrawnLine::default();
                }
                let next = self.drawn(mark);
                out.write_all(drawn.becomes(&next, size()).as_bytes())?;
                drawn = next;
            }
            match input::wait(&mut self.decoder, self.given_up.as_ref().map(AsFd::as_fd))? {
                Arrived::Inputs(inputs) => self.waiting = inputs,
                Arrived::Stopped => return Ok(Line::Interrupted),
                Arrived::Closed => return Ok(Line::End),
            }
        }
    }

    /// The line as it is to stand on the terminal.
    fn drawn(&self, mark: &str) -> DrawnLine {
        match &self.search {
            Some(search) => self.behind(&search.mark()),
            None => self.behind(mark),
        }
    }

    fn behind(&self, mark: &str) -> DrawnLine {
        let (line, cursor) = self.composer.buffer.in_one_line();
        DrawnLine { text: format!("{mark}{line}"), cursor: mark.len() + cursor }
    }

    /// Completes what stands before the cursor; gives the lines to show where there are several ways.
    fn complete(&mut self) -> String {
        let Composer { buffer, completion, .. } = &mut self.composer;
        completion.refresh(buffer);
        if completion.wanted() == Some(CompletionKind::File)
            && let Some(files) = self.files.take()
        {
            completion.set_files(&files(), false);
        }
        if let (Some(arguments), Some(item)) = (&self.arguments, completion.command(buffer)) {
            completion.arguments = Some((item.value.clone(), arguments(&item.value)));
        }
        let several = completion.advance(buffer);
        let mut lines = String::new();
        for proposal in several.iter().take(MAX_LISTED) {
            let about = one_line(&proposal.about);
            let _ = write!(lines, "  {}  {about}", one_line(&proposal.text));
            lines.truncate(lines.trim_end().len());
            lines.push_str("\r\n");
        }
        if several.len() > MAX_LISTED {
            let _ = write!(lines, "  … {} more\r\n", several.len() - MAX_LISTED);
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

    fn take(&mut self, input: Input) -> Option<Line> {
        let key = match input {
            Input::Key(key) => key,
            Input::Paste(text) => {
                // It goes into what was found, which the next letter of a search would replace.
                self.search = None;
                match self.given_up {
                    Some(_) => self.composer.buffer.insert_in_line(&text),
                    None => self.composer.paste(&text),
                }
                return None;
            }
            Input::Mouse(_)
            | Input::Focus(_)
            | Input::Report(_)
            | Input::Stalled
            | Input::Closed => return None,
        };
        let is_empty = self.composer.buffer.is_empty();
        if self.given_up.is_some() {
            if key.code == Code::Esc || key == Key::ctrl('c') {
                return Some(Line::End);
            }
        } else if key == Key::ctrl('r') {
            self.look_back();
            return None;
        }
        if self.search_key(key) {
            return None;
        }
        // The text is one line however many there are in it: these keys always reach the history.
        let is_up = [Key::plain(Code::Up), Key::ctrl('p')].contains(&key);
        if is_up || [Key::plain(Code::Down), Key::ctrl('n')].contains(&key) {
            self.composer.recall(is_up);
        } else if key == Key::ctrl('c') {
            self.composer.buffer.take();
            return Some(Line::Interrupted);
        } else if is_empty && [Key::ctrl('d'), Key::ctrl(' ')].contains(&key) {
            // Typed ahead, while the terminal edits lines itself, the end of input comes as a zero
            // byte and the end of a line as a line feed.
            return Some(Line::End);
        } else if key.code == Code::Enter || key == Key::ctrl('j') {
            return Some(Line::Text(self.composer.buffer.take()));
        } else {
            self.composer.key(key);
            if raw::is_simple() {
                // Nothing moves the cursor there.
                self.composer.buffer.move_to(usize::MAX);
            }
        }
        None
    }
}

impl Search {
    /// The mark before the match.
    fn mark(&self) -> String {
        format!("(search `{}`) ", contract::text::visible(&self.needle).replace('\n', "↵"))
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if self.given_up.is_none() {
            raw::restore();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::drawn_line::Size;
    use super::*;

    fn after(keys: &str) -> (Editor, String, Option<Line>) {
        let mut editor = Editor::new(vec!["earlier".to_owned()]);
        let mut written = String::new();
        let mut read = None;
        let size = Size { columns: 20, rows: 10 };
        for word in keys.split(' ') {
            let before = editor.drawn("> ");
            read = editor.take(Input::Key(Key::parse(word).expect("a key")));
            written.push_str(&before.becomes(&editor.drawn("> "), size));
        }
        (editor, written, read)
    }

    #[test]
    fn editor_writes_typed_letters_once() {
        assert_eq!(after("h i").1, "hi");
    }

    #[test]
    fn editor_rewrites_from_a_change() {
        let (editor, written, _) = after("a b ctrl+a x");
        assert_eq!(editor.composer.buffer.raw(), "xab");
        assert_eq!(written, "ab\x1b[2D\x1b[Jxab\x1b[2D");
    }

    #[test]
    fn keys_end_the_line_or_the_input() {
        assert_eq!(after("h i enter").2, Some(Line::Text("hi".to_owned())));
        assert_eq!(after("h i ctrl+j").2, Some(Line::Text("hi".to_owned())));
        assert_eq!(after("up enter").2, Some(Line::Text("earlier".to_owned())));
        assert_eq!(after("h ctrl+c").2, Some(Line::Interrupted));
        assert_eq!(after("ctrl+d").2, Some(Line::End));
        assert_eq!(after("h ctrl+d").2, None);
    }

    #[test]
    fn editor_completes_on_tab_and_lists_choices() {
        let mut editor = Editor::default();
        let command = |name: &str| Item { value: name.into(), ..Item::default() };
        let commands = vec![command("mode"), command("model"), command("help")];
        editor.offer(commands, |_| Vec::new(), || vec!["src/main.rs".to_owned()]);
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
    fn editor_search_finds_history_by_the_text() {
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
    fn editor_search_narrows_letter_by_letter() {
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
        assert_eq!(typed("ctrl+r s l o enter").1, Some(Line::Text("slow two".into())));
        assert_eq!(typed("ctrl+r s l ctrl+a y").0, "yslow two");
        let mut editor = Editor::new(entries());
        editor.take(Input::Key(Key::ctrl('r')));
        editor.take(Input::Key(Key::parse("t").expect("a key")));
        assert_eq!(editor.drawn("> ").text, "(search `t`) slow two");
    }

    #[test]
    fn editor_up_passes_over_lines_of_a_text() {
        let mut editor = Editor::new(vec!["before".into(), "one\ntwo\nthree".into()]);
        for key in ["up", "up"] {
            editor.take(Input::Key(Key::parse(key).expect("a key")));
        }
        assert_eq!(editor.composer.buffer.raw(), "before");
    }

    #[test]
    fn editor_up_recalls_the_history() {
        let mut editor = Editor::new(vec!["first words".to_owned(), "second words".to_owned()]);
        editor.composer.height(u16::MAX);
        for _ in 0..2 {
            editor.take(Input::Key(Key::plain(Code::Up)));
        }
        assert_eq!(editor.composer.buffer.raw(), "first words");
    }

    #[test]
    fn editor_writes_a_long_line_once() {
        let letters: Vec<String> = ('a'..='z').map(String::from).collect();
        let (_, written, _) = after(&letters.join(" "));
        // A full row is left for the next one.
        assert_eq!(written.replace(" \r", ""), letters.concat());
    }

    #[test]
    fn editor_shows_a_long_paste_as_a_chip() {
        let mut editor = Editor::new(vec!["earlier".to_owned()]);
        editor.take(Input::Paste("a\nb".to_owned()));
        assert_eq!(editor.drawn("> ").text, "> a↵b");
        let long = "line\n".repeat(500);
        editor.take(Input::Paste(long.clone()));
        assert_eq!(editor.drawn("> ").text, "> a↵b[pasted text 1: 500 lines]");
        editor.take(Input::Key(Key::ctrl('r')));
        let searching = editor.drawn("> ").text;
        assert!(!searching.contains("line↵"), "{searching}");
        editor.take(Input::Key(Key::ctrl('g')));
        assert_eq!(editor.drawn("> ").text, "> a↵b[pasted text 1: 500 lines]");
        let read = editor.take(Input::Key(Key::plain(Code::Enter)));
        assert_eq!(read, Some(Line::Text(format!("a\nb{long}"))));
        editor.take(Input::Paste("x".repeat(5000)));
        assert_eq!(editor.drawn("> ").text, "> [pasted text 2: 5000 letters]");
    }

    fn answer() -> Editor {
        Editor::for_answer(io::pipe().expect("a pipe").0)
    }

    #[test]
    fn answer_is_erased_by_single_cells() {
        let (mut editor, mut written) = (answer(), String::new());
        let size = Size { columns: 20, rows: 10 };
        for word in ["n", "本", "backspace", "backspace"] {
            let before = editor.drawn("Sure? ");
            editor.take(Input::Key(Key::parse(word).expect("a key")));
            written.push_str(&before.becomes(&editor.drawn("Sure? "), size));
        }
        assert_eq!(written, "n本\x08 \x08\x08 \x08\x08 \x08");
    }

    #[test]
    fn answer_is_left_open_by_escape_and_the_end_of_input() {
        for keys in ["esc", "y esc", "ctrl+d", "y ctrl+c"] {
            let mut editor = answer();
            let take = |word| editor.take(Input::Key(Key::parse(word).expect("a key")));
            assert_eq!(keys.split(' ').map(take).last(), Some(Some(Line::End)), "{keys}");
        }
    }

    #[test]
    fn answer_is_not_given_by_a_paste() {
        let mut editor = answer();
        assert_eq!(editor.take(Input::Paste("y\ry\x1b[2K".to_owned())), None);
        assert_eq!(editor.composer.buffer.raw(), "y y [2K");
    }
}
