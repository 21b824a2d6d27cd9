//! One line at a time, with the keys of emacs and a history: what is written stays on the screen, and
//! nothing is drawn again that need not be, so that a screen reader can follow.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::composer::{Composer, Outcome, Wanted};
use crate::host::Item;
use crate::input::{Decoder, Input};
use crate::key::{Code, Key};
use crate::screen::{raw, stop_here};
use crate::text::{columns, one_line, skip_columns};

/// Ways to complete that are listed at once.
const LISTED: usize = 20;
/// A lone escape is a key of its own when nothing follows for so long.
const ESCAPE: Timespec = Timespec { tv_sec: 0, tv_nsec: 25_000_000 };

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
    /// What is looked for among what was written before, and how many that have it were seen.
    search: Option<(String, usize)>,
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
                if input == Input::Key(Key::plain(Code::Tab)) {
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
                    out.write_all(format!("\r\n{mark}").as_bytes())?;
                    continue;
                } else if let Some(read) = self.take(input) {
                    // What was written stays on the screen, all of it.
                    if let Read::Line(line) = &read {
                        out.write_all(whole(line, mark, width()).as_bytes())?;
                    }
                    self.waiting = inputs.collect();
                    return Ok(read);
                }
                out.write_all(self.change(&before, mark, width()).as_bytes())?;
            }
            match self.arrived()? {
                Some(inputs) => self.waiting = inputs,
                None => return Ok(Read::End),
            }
        }
    }

    /// What has arrived; none where nothing will.
    fn arrived(&mut self) -> io::Result<Option<Vec<Input>>> {
        let stdin = io::stdin();
        let timeout = self.decoder.is_waiting().then_some(ESCAPE);
        let mut watched = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
        match poll(&mut watched, timeout.as_ref()) {
            Ok(0) => return Ok(Some(self.decoder.settle())),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Some(Vec::new())),
            Err(error) => return Err(error.into()),
        }
        let mut bytes = [0; 1024];
        match rustix::io::read(stdin.as_fd(), &mut bytes) {
            Ok(0) => Ok(None),
            Ok(count) => Ok(Some(self.decoder.feed(&bytes[..count]))),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(Some(Vec::new())),
            Err(error) => Err(error.into()),
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

    /// Goes to the next thing that was written before and has in it what is written.
    fn look_back(&mut self) {
        let raw = self.composer.buffer.raw().to_owned();
        let (needle, seen) = self.search.take().unwrap_or((raw, 0));
        let mut found = self.composer.history.newest_first().filter(|it| it.contains(&needle));
        if let Some(text) = found.nth(seen).cloned() {
            self.composer.buffer.set(&text);
            self.search = Some((needle, seen + 1));
        } else {
            self.search = Some((needle, 0));
        }
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
        self.search = None;
        match key {
            key if key == Key::ctrl('c') => {
                self.composer.buffer.take();
                Some(Read::Interrupted)
            }
            // Typed ahead, while the terminal edits lines itself, the end of input comes as a zero
            // byte and the end of a line as a line feed.
            key if is_empty && [Key::ctrl('d'), Key::ctrl(' ')].contains(&key) => Some(Read::End),
            key if key.code == Code::Enter || key == Key::ctrl('j') => {
                let line = self.composer.buffer.take();
                if !line.trim().is_empty() {
                    self.composer.history.add(&line);
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
        let shown = |text: &str| contract::text::visible(text).replace('\n', "↵");
        let now = buffer.raw();
        let (mark_width, room) = (columns(mark), width.saturating_sub(columns(mark) + 1).max(1));
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
        let ahead = shown(&now[..buffer.cursor()]);
        let hidden = columns(&ahead).saturating_sub(room);
        let whole = shown(now);
        let seen: String = crate::text::clipped(skip_columns(&whole, hidden), room);
        let column = mark_width + columns(&ahead) - hidden;
        format!("\r{mark}{seen}\x1b[K\r\x1b[{column}C")
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        raw::restore();
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
