//! The state of the terminal that must be given back, in one place that everything on the way out
//! can reach: the owner, a panic, a signal. Giving back twice does nothing.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread::ThreadId;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios, tcgetattr,
    tcsetattr,
};

/// Other screen, keys that say more, pastes as pastes, a word when the attention changes.
const ENTER: &str = "\x1b[?1049h\x1b[2J\x1b[H\x1b[?2004h\x1b[?1004h\x1b[>1u";
/// All of it back, the cursor and the usual colors too, whatever was being drawn.
const LEAVE: &str =
    "\x1b[?2026l\x1b[<u\x1b[?1004l\x1b[?2004l\x1b[?1006l\x1b[?1002l\x1b[0m\x1b[?25h\x1b[?1049l";
const PASTE_ON: &str = "\x1b[?2004h";
const PASTE_OFF: &str = "\x1b[?2004l";
pub(super) const MOUSE_ON: &str = "\x1b[?1002h\x1b[?1006h";
pub(super) const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1002l";

/// How long a terminal that takes nothing is waited for.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 300_000_000 };

static SAVED: Mutex<Option<Saved>> = Mutex::new(None);
static HOOK: Once = Once::new();
static IS_QUIET: AtomicBool = AtomicBool::new(false);
static IS_SIMPLE: AtomicBool = AtomicBool::new(false);

struct Saved {
    termios: Termios,
    tty: File,
    leave: &'static str,
    /// Standard output and error, where they are caught.
    streams: Option<(OwnedFd, OwnedFd)>,
    owner: ThreadId,
}

fn copy(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(fd, 3)?)
}

fn save(saved: Saved) {
    *SAVED.lock().unwrap_or_else(PoisonError::into_inner) = Some(saved);
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
pub(super) fn offer(mut tty: &File, bytes: &[u8], patience: Timespec) -> io::Result<usize> {
    let mut at = 0;
    while at < bytes.len() {
        match tty.write(&bytes[at..]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => at += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let mut watched = [PollFd::from_borrowed_fd(tty.as_fd(), PollFlags::OUT)];
                match poll(&mut watched, Some(&patience)) {
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

/// A terminal that was taken.
pub(super) struct Taken {
    /// What is written to standard output and error comes out of this.
    pub(super) caught: OwnedFd,
    /// Bytes that were typed before, while the terminal had lines edited.
    pub(super) ahead: usize,
}

/// Takes the terminal.
pub(super) fn enter(tty: &File, has_mouse: bool) -> io::Result<Taken> {
    restore();
    let stdin = io::stdin();
    let termios = usual(tcgetattr(stdin.as_fd())?);
    save(Saved {
        termios: termios.clone(),
        tty: File::from(copy(tty.as_fd())?),
        leave: LEAVE,
        streams: Some((copy(io::stdout().as_fd())?, copy(io::stderr().as_fd())?)),
        owner: std::thread::current().id(),
    });
    let entered = (|| {
        let (caught, catches) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let mut raw = termios;
        raw.make_raw();
        tcsetattr(stdin.as_fd(), OptionalActions::Now, &raw)?;
        let ahead = usize::try_from(rustix::io::ioctl_fionread(stdin.as_fd())?).unwrap_or(0);
        rustix::stdio::dup2_stdout(&catches)?;
        // Whoever sends it elsewhere wants it there.
        if rustix::termios::isatty(io::stderr()) {
            rustix::stdio::dup2_stderr(&catches)?;
        }
        offer(tty, ENTER.as_bytes(), PATIENCE)?;
        if has_mouse {
            offer(tty, MOUSE_ON.as_bytes(), PATIENCE)?;
        }
        Ok(Taken { caught, ahead })
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

/// The same for an answer to a question, while which an interrupt is one.
pub(crate) fn enter_answer() -> io::Result<()> {
    enter_marked(&[SpecialCodeIndex::VSUSP])
}

/// Takes note that the terminal knows no sequences: it would show them.
pub(crate) fn set_simple() {
    IS_SIMPLE.store(true, Ordering::Relaxed);
}

/// Whether the terminal knows no sequences.
pub(crate) fn is_simple() -> bool {
    IS_SIMPLE.load(Ordering::Relaxed)
}

/// What is pasted is marked as that, so that no key is taken from it.
fn enter_marked(keys: &[SpecialCodeIndex]) -> io::Result<()> {
    if is_simple() {
        return take_keys(keys, "");
    }
    take_keys(keys, PASTE_OFF)?;
    let entered = io::stderr().write_all(PASTE_ON.as_bytes());
    if entered.is_err() {
        restore();
    }
    entered
}

fn take_keys(also: &[SpecialCodeIndex], leave: &'static str) -> io::Result<()> {
    restore();
    let stdin = io::stdin();
    let termios = usual(tcgetattr(stdin.as_fd())?);
    save(Saved {
        termios: termios.clone(),
        tty: File::from(copy(io::stderr().as_fd())?),
        leave,
        streams: None,
        owner: std::thread::current().id(),
    });
    let mut raw = termios;
    raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN);
    raw.input_modes.remove(InputModes::ICRNL | InputModes::INLCR | InputModes::IXON);
    for code in also {
        raw.special_codes[*code] = 0;
    }
    let entered = tcsetattr(stdin.as_fd(), OptionalActions::Now, &raw);
    if entered.is_err() {
        restore();
    }
    Ok(entered?)
}

/// Has the terminal keep to itself what is typed; lines are edited as before. Fails silently where
/// there is none.
pub(crate) fn quiet() {
    let stdin = io::stdin();
    let Ok(mut termios) = tcgetattr(stdin.as_fd()) else { return };
    if !termios.local_modes.contains(LocalModes::ECHO | LocalModes::ICANON) {
        return;
    }
    termios.local_modes.remove(LocalModes::ECHO);
    if tcsetattr(stdin.as_fd(), OptionalActions::Now, &termios).is_ok() {
        IS_QUIET.store(true, Ordering::SeqCst);
    }
}

/// Takes that back; says whether it was so.
pub(crate) fn unquiet() -> bool {
    let was_quiet = IS_QUIET.swap(false, Ordering::SeqCst);
    if was_quiet && let Ok(mut termios) = tcgetattr(io::stdin().as_fd()) {
        termios.local_modes.insert(LocalModes::ECHO);
        // A terminal that is gone shows nothing anyway.
        let _ = tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &termios);
    }
    was_quiet
}

/// Whether the terminal is taken.
pub(super) fn is_entered() -> bool {
    SAVED.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// Gives the terminal back.
pub(crate) fn restore() {
    unquiet();
    let saved = SAVED.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(saved) = saved else { return };
    // Every step is tried: where the terminal is gone or stuck, none of them matters.
    let _ = offer(&saved.tty, saved.leave.as_bytes(), PATIENCE);
    let _ = tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &saved.termios);
    if let Some((stdout, stderr)) = &saved.streams {
        let _ = rustix::stdio::dup2_stdout(stdout);
        let _ = rustix::stdio::dup2_stderr(stderr);
    }
}

/// Has a panic of the thread that took the terminal give it back before it is told. A panic
/// elsewhere is caught like anything that is written.
pub(super) fn restore_in_panic() {
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let here = std::thread::current().id();
            // Not while the state is being changed: the panic would never be told.
            let is_owner = match SAVED.try_lock() {
                Ok(saved) => saved.as_ref().is_some_and(|saved| saved.owner == here),
                Err(_) => false,
            };
            if is_owner {
                restore();
            }
            usual(panic);
        }));
    });
}
