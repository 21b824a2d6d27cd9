//! The state of the terminal that must be given back, in one place that everything on the way out
//! can reach: the owner, a panic, a signal. Giving back twice does nothing.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, Once, PoisonError};
use std::thread::ThreadId;

use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios, tcgetattr,
    tcsetattr,
};

/// Other screen, keys that say more, pastes as pastes, a word when the attention changes.
const ENTER: &str = "\x1b[?1049h\x1b[2J\x1b[H\x1b[?2004h\x1b[?1004h\x1b[>1u";
/// All of it back, the cursor and the usual colors too.
const LEAVE: &str =
    "\x1b[<u\x1b[?1004l\x1b[?2004l\x1b[?1006l\x1b[?1002l\x1b[0m\x1b[?25h\x1b[?1049l";
const PASTE_ON: &str = "\x1b[?2004h";
const PASTE_OFF: &str = "\x1b[?2004l";
pub(super) const MOUSE_ON: &str = "\x1b[?1002h\x1b[?1006h";
pub(super) const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1002l";

static SAVED: Mutex<Option<Saved>> = Mutex::new(None);
static HOOK: Once = Once::new();

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

/// Takes the terminal. What is written to standard output and error comes out of what it returns.
pub(super) fn enter(tty: &File, has_mouse: bool) -> io::Result<OwnedFd> {
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
        rustix::stdio::dup2_stdout(&catches)?;
        // Whoever sends it elsewhere wants it there.
        if rustix::termios::isatty(io::stderr()) {
            rustix::stdio::dup2_stderr(&catches)?;
        }
        let mut out = tty;
        out.write_all(ENTER.as_bytes())?;
        if has_mouse {
            out.write_all(MOUSE_ON.as_bytes())?;
        }
        Ok(caught)
    })();
    if entered.is_err() {
        restore();
    }
    entered
}

/// Takes single keys from the terminal for one line; what is written stays where it is.
pub(crate) fn enter_line() -> io::Result<()> {
    restore();
    let stdin = io::stdin();
    let termios = usual(tcgetattr(stdin.as_fd())?);
    save(Saved {
        termios: termios.clone(),
        tty: File::from(copy(io::stderr().as_fd())?),
        leave: PASTE_OFF,
        streams: None,
        owner: std::thread::current().id(),
    });
    let mut raw = termios;
    raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN);
    raw.input_modes.remove(InputModes::ICRNL | InputModes::INLCR | InputModes::IXON);
    // The key that interrupts is a key here; the one that suspends stays the system's.
    raw.special_codes[SpecialCodeIndex::VINTR] = 0;
    let entered = tcsetattr(stdin.as_fd(), OptionalActions::Now, &raw)
        .map_err(io::Error::from)
        .and_then(|()| io::stderr().write_all(PASTE_ON.as_bytes()));
    if entered.is_err() {
        restore();
    }
    entered
}

/// Whether the terminal is taken.
pub(super) fn is_entered() -> bool {
    SAVED.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// Gives the terminal back.
pub(crate) fn restore() {
    let saved = SAVED.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(saved) = saved else { return };
    let mut tty = &saved.tty;
    // Every step is tried: where the terminal is gone, none of them matters.
    let _ = tty.write_all(saved.leave.as_bytes());
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
