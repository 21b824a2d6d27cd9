//! One line at a time, with the keys of emacs and a history: what is written stays on the screen, and
//! nothing is drawn again that need not be, so that a screen reader can follow.

mod answer;

use std::fmt::Write as _;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::{PollFd, PollFlags, poll};

use crate::composer::{Composer, Outcome, Wanted};
use crate::host::Item;
use crate::input::{Decoder, Input};
use crate::key::{Code, Key};
use crate::screen::{raw, stop_here};
use crate::text::{columns, one_line, skip_columns};

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
    /// The person interrupted it; what was written is gone.
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
        out.write_all(mark.as_bytes())?;
        loop {
            let mut inputs = std::mem::take(&mut self.waiting).into_iter();
            while let Some(input) = inputs.next() {
                let before = self.composer.buffer.raw().to_owned();
                let was_searching = self.search.is_some();
                if input == Input::Key(Key::plain(Code::Tab)) {
                    self.search = None;
                    let several = self.complete();
                    if !several.is_empty() {
                        out.write_all(format!("\r\n{several}{mark}").as_bytes())?;
                        out.write_all(self.change("", mark, width()).as_bytes())?;
                        continue;
                    }
                } else if input == Input::Key(Key::ctrl('z')) {
                    raw::restore();
                    stop_here();
                    raw::enter_line()?;
                    out.write_all(mark.as_bytes())?;
                    out.write_all(self.change("", mark, width()).as_bytes())?;
                    continue;
                } else if input == Input::Key(Key::ctrl('c')) && !before.is_empty() {
                    self.put_aside();
                    let aside = whole(&before, mark, width());
                    out.write_all(format!("{aside}\r\n{mark}").as_bytes())?;
                    continue;
                } else if let Some(read) = self.take(input) {
                    // What was written stays on the screen, all of it.
                    if let Read::Line(line) = &read {
                        out.write_all(whole(line, mark, width()).as_bytes())?;
                    }
                    self.waiting = inputs.collect();
                    return Ok(read);
                }
                let drawn = match &self.search {
                    Some(search) => self.drawn(&search.mark(), width()),
                    None if was_searching => self.drawn(mark, width()),
                    None => self.change(&before, mark, width()),
                };
                out.write_all(drawn.as_bytes())?;
            }
            match arrived(&mut self.decoder, None)? {
                Some(inputs) => self.waiting = inputs,
                None => return Ok(Read::End),
            }
        }
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
            let before = self.composer.buffer.raw().to_owned();
            self.search = Some(Search { needle: before.clone(), passed: 0, before });
        }
        self.find();
    }

    /// Shows what is found; where nothing is, what was found before stays.
    fn find(&mut self) {
        let Some(search) = &mut self.search else { return };
        let is_found = |it: &&String| !search.needle.is_empty() && it.contains(&search.needle);
        let mut found = self.composer.history.newest_first().filter(is_found);
        if let Some(text) = found.nth(search.passed).cloned() {
            self.composer.buffer.set(&text);
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
                self.composer.buffer.insert(&text);
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

    /// What to write so that the line on the screen is the one in the buffer.
    fn change(&self, before: &str, mark: &str, width: usize) -> String {
        let buffer = &self.composer.buffer;
        let now = buffer.raw();
        let room = width.saturating_sub(columns(mark) + 1).max(1);
        let is_at_end = buffer.cursor() == now.len();
        if now == before && is_at_end && before.is_empty() {
            return String::new();
        }
        if is_at_end
            && columns(&shown(now)) <= room
            && let Some(added) = now.strip_prefix(before)
            && !added.is_empty()
        {
            return shown(added);
        }
        self.drawn(mark, width)
    }

    /// What to write so that the line is drawn again.
    fn drawn(&self, mark: &str, width: usize) -> String {
        let buffer = &self.composer.buffer;
        let (mark_width, room) = (columns(mark), width.saturating_sub(columns(mark) + 1).max(1));
        let now = buffer.raw();
        let ahead = shown(&now[..buffer.cursor()]);
        let hidden = columns(&ahead).saturating_sub(room);
        let whole = shown(now);
        let seen: String = crate::text::clipped(skip_columns(&whole, hidden), room);
        let column = mark_width + columns(&ahead) - hidden;
        format!("\r{mark}{seen}\x1b[K\r\x1b[{column}C")
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
        format!("(search `{}`) ", shown(&self.needle))
    }
}

/// A text in one line.
fn shown(text: &str) -> String {
    contract::text::visible(text).replace('\n', "↵")
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

/// Gives the terminal back while a line is being waited for elsewhere.
pub fn give_back() {
    raw::restore();
}

/// What to write so that a line is seen whole of which only a part was.
fn whole(line: &str, mark: &str, width: usize) -> String {
    let shown = contract::text::visible(line);
    let is_whole = !line.contains('\n') && columns(mark) + columns(&shown) < width;
    if is_whole { String::new() } else { format!("\r\x1b[K{mark}{shown}") }
}

fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stderr());
    size.map_or(80, |size| usize::from(size.ws_col).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(keys: &str) -> (Editor, String, Option<Read>) {
        let mut editor = Editor::new(vec!["earlier".to_owned()]);
        let mut written = String::new();
        let mut read = None;
        for word in keys.split(' ') {
            let before = editor.composer.buffer.raw().to_owned();
            read = editor.take(Input::Key(Key::parse(word).expect("a key")));
            written.push_str(&editor.change(&before, "> ", 20));
        }
        (editor, written, read)
    }

    #[test]
    fn what_is_typed_at_the_end_is_written_once() {
        assert_eq!(after("h i").1, "hi");
    }

    #[test]
    fn other_changes_draw_the_line_again() {
        let (editor, written, _) = after("a b ctrl+a x");
        assert_eq!(editor.composer.buffer.raw(), "xab");
        assert!(written.ends_with("\r> xab\x1b[K\r\x1b[3C"), "{written:?}");
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
        let mark = editor.search.as_ref().expect("a search").mark();
        assert_eq!(editor.drawn(&mark, 40), "\r(search `t`) slow two\x1b[K\r\x1b[21C");
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
    fn a_line_that_was_seen_in_part_is_whole_once_it_is_sent() {
        assert_eq!(whole("short", "> ", 20), "");
        let long = "words that go on and on";
        assert_eq!(whole(long, "> ", 20), format!("\r\x1b[K> {long}"));
        assert_eq!(whole("two\nlines", "> ", 20), "\r\x1b[K> two\nlines");
    }

    #[test]
    fn a_line_that_is_too_long_shows_where_the_cursor_is() {
        let letters: Vec<String> = ('a'..='z').map(String::from).collect();
        let (_, written, _) = after(&letters.join(" "));
        assert!(written.ends_with("\r> jklmnopqrstuvwxyz\x1b[K\r\x1b[19C"), "{written:?}");
    }
}
