//! A program on a terminal of the test's own: keys go in, a screen comes out.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pty_process::blocking::{Command, Pty};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::picture;

const DEADLINE: Duration = Duration::from_mins(1);
/// The sequences that begin and end a synchronized frame.
const FRAME: [&[u8; 8]; 2] = [b"\x1b[?2026h", b"\x1b[?2026l"];

/// A program that runs on a terminal. Dropping it kills the program and its group.
pub struct Terminal {
    pty: Arc<Pty>,
    group: Pid,
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    parser: vt100::Parser,
    output: Vec<u8>,
    /// True if a frame has begun and not ended: an incomplete frame is not shown.
    is_drawing: bool,
    status: Option<ExitStatus>,
}

impl State {
    fn take(&mut self, bytes: &[u8]) {
        self.parser.process(bytes);
        let from = self.output.len().saturating_sub(FRAME[0].len() - 1);
        self.output.extend_from_slice(bytes);
        let mut marks = self.output[from..].windows(FRAME[0].len()).rev();
        if let Some(last) = marks.find(|bytes| FRAME.iter().any(|mark| mark.as_slice() == *bytes)) {
            self.is_drawing = last == FRAME[0];
        }
    }

    fn is_whole(&self) -> bool {
        !self.is_drawing || self.status.is_some()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }
}

impl Terminal {
    /// Starts a program with these arguments and variables, and no others, in a directory, on a
    /// terminal of so many columns and rows.
    pub fn start(
        program: &Path,
        args: &[OsString],
        env: &[(OsString, OsString)],
        cwd: &Path,
        (columns, rows): (u16, u16),
    ) -> Self {
        let (pty, pts) = pty_process::blocking::open().expect("a terminal");
        pty.resize(pty_process::Size::new(rows, columns)).expect("a terminal of this size");
        let mut child = Command::new(program)
            .args(args)
            .env_clear()
            .envs(env.iter().map(|(name, value)| (name, value)))
            .current_dir(cwd)
            .spawn(pts)
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", program.display()));
        let group = pid_of(&child);
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                parser: vt100::Parser::new(at_least_one(rows), at_least_one(columns), 10_000),
                output: Vec::new(),
                is_drawing: false,
                status: None,
            }),
            changed: Condvar::new(),
        });
        let pty = Arc::new(pty);
        let (source, following) = (Arc::clone(&pty), Arc::clone(&shared));
        std::thread::spawn(move || {
            follow(&source, &following);
            // All output is on the screen before the end is reported.
            let status = child.wait().expect("a child that nobody else waits for");
            following.update(|state| state.status = Some(status));
        });
        Self { pty, group, shared }
    }

    /// Presses keys: text, or what the keys send, such as `"\r"`, `"\x03"` or `"\x1b[A"`.
    pub fn send(&self, keys: &str) {
        let mut pty = &*self.pty;
        pty.write_all(keys.as_bytes()).expect("an open terminal");
    }

    /// The text of the screen, without trailing spaces.
    pub fn screen(&self) -> String {
        shown(&self.shared.lock())
    }

    /// The screen as an SVG picture, with other words in place of those that change from run to run.
    pub fn picture(&self, replaced: &[(&str, &str)]) -> String {
        picture::svg(self.shared.lock().parser.screen(), replaced)
    }

    /// The screen and all lines that have left it at the top, without the spaces at the ends
    /// of lines.
    pub fn history(&self) -> String {
        let mut state = self.shared.lock();
        let (_, columns) = state.parser.screen().size();
        let screen = state.parser.screen_mut();
        screen.set_scrollback(usize::MAX);
        let mut lines = Vec::new();
        for above in (1..=screen.scrollback()).rev() {
            screen.set_scrollback(above);
            lines.extend(screen.rows(0, columns.get()).next());
        }
        screen.set_scrollback(0);
        lines.extend(screen.rows(0, columns.get()));
        let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
        lines.join("\n").trim_end().to_owned()
    }

    /// All that was written to the terminal, with its escape sequences.
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&self.shared.lock().output).into_owned()
    }

    /// Waits until the program has written a text, be it one that no screen shows.
    #[track_caller]
    pub fn wait_for_output(&self, text: &str) {
        drop(self.wait(&format!("{text:?} in the output"), |state| {
            String::from_utf8_lossy(&state.output).contains(text)
        }));
    }

    /// Presses keys, and tells how long it takes until the program has written a text.
    #[track_caller]
    pub fn time_until_written(&self, keys: &str, text: &str) -> Duration {
        let from = self.shared.lock().output.len();
        let pressed = Instant::now();
        self.send(keys);
        drop(self.wait(&format!("{text:?} in the output"), |state| {
            state.output[from..].windows(text.len()).any(|bytes| bytes == text.as_bytes())
        }));
        pressed.elapsed()
    }

    /// Waits until the screen shows a text, and returns the screen.
    #[track_caller]
    pub fn wait_for(&self, text: &str) -> String {
        self.wait_until(&format!("{text:?} on the screen"), |screen| {
            screen.contents().contains(text)
        })
    }

    /// Waits until the screen is as wanted between two frames, and returns what it shows.
    #[track_caller]
    pub fn wait_until(&self, what: &str, is_reached: impl Fn(&vt100::Screen) -> bool) -> String {
        let state = self.wait(what, |state| state.is_whole() && is_reached(state.parser.screen()));
        shown(&state)
    }

    /// Waits until the program has ended, and returns its exit code; none for a signal.
    #[track_caller]
    pub fn wait_for_end(&self) -> Option<i32> {
        let state = self.wait("the end of the program", |state| state.status.is_some());
        state.status.and_then(|status| status.code())
    }

    /// Gives the terminal another size.
    pub fn resize(&self, (columns, rows): (u16, u16)) {
        self.shared.update(|state| {
            let screen = state.parser.screen_mut();
            screen.set_size(at_least_one(rows), at_least_one(columns));
        });
        let size = pty_process::Size::new(rows, columns);
        self.pty.resize(size).expect("a terminal of this size");
    }

    /// Sends a signal to the program and its group.
    pub fn signal(&self, signal: Signal) {
        // It fails where the program has ended.
        let _ = kill_process_group(self.group, signal);
    }

    #[track_caller]
    fn wait(&self, what: &str, is_reached: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let deadline = Instant::now() + DEADLINE;
        let mut state = self.shared.lock();
        while !is_reached(&state) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || state.status.is_some() {
                let screen = shown(&state);
                let status = state.status;
                drop(state);
                panic!("waited in vain for {what}; status {status:?}, screen:\n{screen}");
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

fn follow(mut pty: &Pty, shared: &Shared) {
    let mut buffer = [0; 8192];
    // Reading fails when the last program on the terminal has closed it.
    while let Ok(count @ 1..) = pty.read(&mut buffer) {
        shared.update(|state| state.take(&buffer[..count]));
    }
}

fn shown(state: &State) -> String {
    let screen = state.parser.screen();
    let (_, columns) = screen.size();
    let rows: Vec<String> =
        screen.rows(0, columns.get()).map(|row| row.trim_end().to_owned()).collect();
    rows.join("\n").trim_end().to_owned()
}

fn at_least_one(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap_or(NonZeroU16::MIN)
}

pub(crate) fn pid_of(child: &Child) -> Pid {
    let id = i32::try_from(child.id()).expect("a process id in its range");
    Pid::from_raw(id).expect("a process id that is not 0")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Terminal {
        let args = [OsString::from("-c"), OsString::from(script)];
        let env = [(OsString::from("PATH"), OsString::from("/usr/bin:/bin"))];
        Terminal::start(Path::new("/bin/sh"), &args, &env, Path::new("/"), (40, 5))
    }

    #[test]
    fn program_gets_a_terminal_of_the_given_size_and_keys() {
        let terminal = shell("test -t 0 && test -t 1 && stty size; read line; echo \"<$line>\"");
        terminal.wait_for("5 40");
        terminal.send("hello\r");
        terminal.wait_for("<hello>");
        assert_eq!(terminal.wait_for_end(), Some(0));
        assert_eq!(terminal.screen(), "5 40\nhello\n<hello>");
    }

    #[test]
    fn the_screen_follows_escape_sequences() {
        let terminal = shell("printf 'gone\\033[2J\\033[2;3H\\033[31mred\\033[0m'; read x");
        let screen = terminal.wait_for("red");
        assert_eq!(screen, "\n  red");
        assert!(terminal.output().contains("\x1b[31mred"));
    }

    #[test]
    fn incomplete_frame_is_not_shown() {
        let terminal = shell(
            "printf '\\033[?20'; printf '26hhalf'; read x; printf ' and half\\033[?2026l'; read x",
        );
        terminal.wait_for_output("half");
        terminal.send("\r");
        let screen = terminal.wait_for("half");
        assert!(screen.contains(" and half"), "{screen}");
    }

    #[test]
    fn scrolled_out_text_is_available() {
        let terminal = shell("seq 12");
        assert_eq!(terminal.wait_for_end(), Some(0));
        let numbers: Vec<String> = (1..=12).map(|number| number.to_string()).collect();
        assert_eq!(terminal.history(), numbers.join("\n"));
        assert_eq!(terminal.screen(), "9\n10\n11\n12");
    }

    #[test]
    fn control_key_interrupts_and_resize_is_reported() {
        let terminal = shell("trap 'stty size; exit 7' INT; echo ready; while :; do read x; done");
        terminal.wait_for("ready");
        terminal.resize((60, 9));
        terminal.send("\x03");
        terminal.wait_for("9 60");
        assert_eq!(terminal.wait_for_end(), Some(7));
    }

    #[test]
    #[should_panic(expected = "waited in vain for \"never\" on the screen")]
    fn wait_for_missing_text_fails_with_the_screen() {
        shell("echo something else").wait_for("never");
    }
}
