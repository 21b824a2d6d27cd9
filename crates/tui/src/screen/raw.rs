//! The state of the terminal that must be given back, in one place that everything on the way out
//! can reach: the owner, a panic, a signal. Giving back twice does nothing.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios, tcgetattr,
    tcsetattr,
};

/// Alternate screen, extended keys, bracketed paste, focus events; and no arrow keys for the wheel,
/// which would walk through earlier prompts.
const ENTER: &str = "\x1b[?1049h\x1b[2J\x1b[H\x1b[?2004h\x1b[?1004h\x1b[?1007s\x1b[?1007l\x1b[>1u";
/// All of it back, the cursor and the usual colors too, whatever was being drawn.
const LEAVE: &str = "\x1b[?2026l\x1b[<u\x1b[?1007r\x1b[?1004l\x1b[?2004l\x1b[?1006l\x1b[?1002l\x1b[0m\x1b[?25h\x1b[?1049l";
const PASTE_ON: &str = "\x1b[?2004h";
const PASTE_OFF: &str = "\x1b[?2004l";
pub(super) const MOUSE_ON: &str = "\x1b[?1002h\x1b[?1006h";
pub(super) const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1002l";

const WRITE_TIMEOUT: Timespec = Timespec { tv_sec: 0, tv_nsec: 300_000_000 };

static SAVED: Mutex<Option<SavedTerminal>> = Mutex::new(None);
static HOOK: Once = Once::new();
static IS_ECHO_OFF: AtomicBool = AtomicBool::new(false);
static IS_SIMPLE: AtomicBool = AtomicBool::new(false);

struct SavedTerminal {
    termios: Termios,
    tty: File,
    leave: &'static str,
    /// Standard output and error, where they are caught.
    streams: Option<(OwnedFd, OwnedFd)>,
}

fn copy(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(fd, 3)?)
}

/// Saves the state of the terminal, to be given back with the sequences of `leave`.
fn save(
    tty: BorrowedFd<'_>,
    leave: &'static str,
    streams: Option<(OwnedFd, OwnedFd)>,
) -> io::Result<Termios> {
    restore();
    let termios = usual(tcgetattr(io::stdin().as_fd())?);
    let tty = File::from(copy(tty)?);
    let saved = SavedTerminal { termios: termios.clone(), tty, leave, streams };
    *SAVED.lock().unwrap_or_else(PoisonError::into_inner) = Some(saved);
    Ok(termios)
}

/// The state of a terminal as shells have it, where it is as only a program leaves it that was
/// killed: neither lines nor what is typed would be seen.
fn usual(mut termios: Termios) -> Termios {
    if termios.local_modes.intersects(LocalModes::ICANON | LocalModes::ECHO) {
        return termios;
    }
    let lines = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ECHOE | LocalModes::ECHOK;
    termios.local_modes.insert(lines | LocalModes::ISIG | LocalModes::IEXTEN);
    termios.input_modes.insert(InputModes::ICRNL | InputModes::IXON | InputModes::BRKINT);
    termios.output_modes.insert(OutputModes::OPOST | OutputModes::ONLCR);
    termios.special_codes[SpecialCodeIndex::VINTR] = 3;
    termios
}

/// Writes to a terminal as much as it takes, waiting at most so long while it takes nothing. Says
/// how many bytes those were.
pub(super) fn offer(mut tty: &File, bytes: &[u8], timeout: Timespec) -> io::Result<usize> {
    let mut at = 0;
    while at < bytes.len() {
        match tty.write(&bytes[at..]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => at += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let mut watched = [PollFd::from_borrowed_fd(tty.as_fd(), PollFlags::OUT)];
                match poll(&mut watched, Some(&timeout)) {
                    Ok(0) => break,
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(at)
}

pub(super) struct TakenTerminal {
    /// The read end of standard output and error.
    pub(super) caught: OwnedFd,
    /// Bytes that were typed before, while the terminal had lines edited.
    pub(super) ahead: usize,
}

pub(super) fn enter(tty: &File, has_mouse: bool) -> io::Result<TakenTerminal> {
    let streams = (copy(io::stdout().as_fd())?, copy(io::stderr().as_fd())?);
    let mut raw = save(tty.as_fd(), LEAVE, Some(streams))?;
    let stdin = io::stdin();
    let entered = (|| {
        let (caught, catches) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        raw.make_raw();
        tcsetattr(stdin.as_fd(), OptionalActions::Now, &raw)?;
        let ahead = usize::try_from(rustix::io::ioctl_fionread(stdin.as_fd())?).unwrap_or(0);
        rustix::stdio::dup2_stdout(&catches)?;
        // Whoever sends it elsewhere wants it there.
        if rustix::termios::isatty(io::stderr()) {
            rustix::stdio::dup2_stderr(&catches)?;
        }
        offer(tty, ENTER.as_bytes(), WRITE_TIMEOUT)?;
        if has_mouse {
            offer(tty, MOUSE_ON.as_bytes(), WRITE_TIMEOUT)?;
        }
        Ok(TakenTerminal { caught, ahead })
    })();
    if entered.is_err() {
        restore();
    }
    entered
}

/// Takes single keys from the terminal for one line; what is written stays where it is. The keys
/// that interrupt and suspend are keys here.
pub(crate) fn enter_line() -> io::Result<()> {
    enter_marked(&[SpecialCodeIndex::VINTR, SpecialCodeIndex::VSUSP])
}

/// Takes single keys from the terminal for an answer; an interrupt stays a signal.
pub(crate) fn enter_answer() -> io::Result<()> {
    enter_marked(&[SpecialCodeIndex::VSUSP])
}

/// Takes note that the terminal knows no sequences: it would show them.
pub(crate) fn set_simple() {
    IS_SIMPLE.store(true, Ordering::Relaxed);
}

pub(crate) fn is_simple() -> bool {
    IS_SIMPLE.load(Ordering::Relaxed)
}

/// Takes single keys, these among them. Has pastes marked, so that no key is taken from them.
fn enter_marked(keys: &[SpecialCodeIndex]) -> io::Result<()> {
    let (paste_on, paste_off) = if is_simple() { ("", "") } else { (PASTE_ON, PASTE_OFF) };
    let mut raw = save(io::stderr().as_fd(), paste_off, None)?;
    raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN);
    raw.input_modes.remove(InputModes::ICRNL | InputModes::INLCR | InputModes::IXON);
    for code in keys {
        raw.special_codes[*code] = 0;
    }
    let entered = tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &raw);
    let entered =
        entered.map_err(io::Error::from).and_then(|()| io::stderr().write_all(paste_on.as_bytes()));
    if entered.is_err() {
        restore();
    }
    entered
}

/// Switches the echo of the terminal off; lines are edited as before. Fails silently where there is
/// no terminal.
pub(crate) fn echo_off() {
    let stdin = io::stdin();
    let Ok(mut termios) = tcgetattr(stdin.as_fd()) else { return };
    if !termios.local_modes.contains(LocalModes::ECHO | LocalModes::ICANON) {
        return;
    }
    termios.local_modes.remove(LocalModes::ECHO);
    if tcsetattr(stdin.as_fd(), OptionalActions::Now, &termios).is_ok() {
        IS_ECHO_OFF.store(true, Ordering::SeqCst);
    }
}

/// Switches the echo on again. Returns true if it was off.
pub(crate) fn echo_on() -> bool {
    let was_off = IS_ECHO_OFF.swap(false, Ordering::SeqCst);
    if was_off && let Ok(mut termios) = tcgetattr(io::stdin().as_fd()) {
        termios.local_modes.insert(LocalModes::ECHO);
        // A terminal that is gone shows nothing anyway.
        let _ = tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &termios);
    }
    was_off
}

pub(super) fn is_entered() -> bool {
    SAVED.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

pub(crate) fn restore() {
    echo_on();
    let saved = SAVED.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(saved) = saved else { return };
    // Every step is tried: where the terminal is gone or stuck, none of them matters.
    let _ = offer(&saved.tty, saved.leave.as_bytes(), WRITE_TIMEOUT);
    let _ = tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &saved.termios);
    if let Some((stdout, stderr)) = &saved.streams {
        let _ = rustix::stdio::dup2_stdout(stdout);
        let _ = rustix::stdio::dup2_stderr(stderr);
    }
}

/// Installs a panic hook that restores the terminal before the panic is reported and ends the
/// program.
pub(super) fn restore_in_panic() {
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // Not while the state is being changed: the panic would never be reported.
            let is_free = SAVED.try_lock().is_ok();
            if is_free {
                restore();
            }
            usual(panic);
        }));
    });
}
