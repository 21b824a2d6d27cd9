//! The terminal, taken and given back. While it is taken, keys come raw, the picture stands on the
//! other screen, and what anybody writes to standard output or error is caught and shown. It is given
//! back on every way out: at the end, on an error, in a panic, before a stop.

mod backend;
pub(crate) mod raw;

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Arc, Mutex};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use contract::event::Level;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::terminal::{Frame, Terminal, TerminalOptions, Viewport};
use rustix::fs::OFlags;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::host::Stop;
use crate::input::{Arrival, Reader};
use crate::link::Links;
use backend::Ansi;

const MAX_PENDING: usize = 1024;
pub(crate) const MAX_COPY_BYTES: usize = 512 * 1024;
const MAX_COLUMNS: u16 = 1000;
const MAX_ROWS: u16 = 500;

/// The terminal.
pub struct Screen {
    terminal: Terminal<Ansi>,
    reader: Option<Reader>,
    arrivals_in: mpsc::Sender<Arrival>,
    pub(crate) arrivals: mpsc::Receiver<Arrival>,
    reports_in: mpsc::Sender<(Level, String)>,
    pub(crate) reports: mpsc::Receiver<(Level, String)>,
    pub(crate) signals: Signals,
    options: ScreenOptions,
    links: Arc<Mutex<Links>>,
}

/// Options of the screen.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct ScreenOptions {
    pub mouse: bool,
    /// Asks the terminal for its background.
    pub background: bool,
    /// Asks the terminal for its attributes.
    pub abilities: bool,
    /// Passes links to the terminal.
    pub links: bool,
}

/// The meaning of a signal for a program that has taken the terminal.
#[derive(Clone, Copy)]
pub(crate) enum TerminalSignal {
    Resized,
    /// The program should end.
    Stop(Stop),
    /// The program should stop for a while.
    Suspend,
    /// It was stopped and goes on.
    Continued,
}

impl Screen {
    /// Takes the terminal.
    pub fn take(options: ScreenOptions) -> io::Result<Self> {
        let signals = Signals::new()?;
        let (arrivals_in, arrivals) = mpsc::channel(MAX_PENDING);
        let (reports_in, reports) = mpsc::channel(MAX_PENDING);
        let tty = outlet()?;
        let size = size(&tty)?;
        let links = Arc::<Mutex<Links>>::default();
        let backend = Ansi::new(tty, size, Arc::clone(&links));
        let viewport = TerminalOptions { viewport: Viewport::Fixed(size) };
        let terminal = Terminal::with_options(backend, viewport)?;
        let mut screen = Self {
            terminal,
            reader: None,
            arrivals_in,
            arrivals,
            reports_in,
            reports,
            signals,
            options,
            links,
        };
        raw::restore_in_panic();
        screen.resume()?;
        Ok(screen)
    }

    /// Gives the terminal back for a while.
    pub fn pause(&mut self) {
        self.reader = None;
        if raw::is_entered() {
            // Half a frame is not a harm where the terminal takes no more.
            let _ = self.catch_up();
        }
        raw::restore();
    }

    /// Goes back to the shell until the program is continued.
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        self.pause();
        stop_here();
        self.resume()
    }

    /// Shows messages of the program, while the terminal is taken. Returns false if it takes no more.
    pub fn reporter(&self) -> impl Fn(Level, &str) -> bool + Send + Sync + use<> {
        let reports = self.reports_in.clone();
        move |level, text| raw::is_entered() && reports.try_send((level, text.to_owned())).is_ok()
    }

    /// Returns true if the terminal has not taken all that was drawn.
    pub fn is_behind(&self) -> bool {
        self.terminal.backend().is_behind()
    }

    /// Writes as much of what waits as the terminal takes.
    pub(crate) fn catch_up(&mut self) -> io::Result<()> {
        self.terminal.backend_mut().send()
    }

    /// Takes the terminal again.
    pub fn resume(&mut self) -> io::Result<()> {
        // Bytes that were not written before belong to an outdated frame.
        self.terminal.backend_mut().discard();
        let taken = raw::enter(self.terminal.backend_mut().tty(), self.options.mouse)?;
        catch(taken.caught, self.reports_in.clone())?;
        if std::mem::take(&mut self.options.background) {
            self.write("\x1b]11;?\x07")?;
        }
        if std::mem::take(&mut self.options.abilities) {
            self.write("\x1b[c")?;
        }
        self.reader = Some(Reader::start(self.arrivals_in.clone(), taken.ahead)?);
        self.refit()?;
        self.redraw()
    }

    /// Learns the terminal's size.
    pub(crate) fn refit(&mut self) -> io::Result<(u16, u16)> {
        let area = size(self.terminal.backend_mut().tty())?;
        self.terminal.backend_mut().set_size(area);
        self.terminal.resize(area)?;
        Ok((area.width, area.height))
    }

    pub(crate) fn redraw(&mut self) -> io::Result<()> {
        self.terminal.clear()
    }

    /// Draws a frame.
    pub fn draw(&mut self, paint: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        if !raw::is_entered() {
            return Err(io::Error::other("the terminal was given back"));
        }
        self.terminal.draw(paint)?;
        Ok(())
    }

    /// The links of the next frame by their numbers; none where the terminal takes none.
    pub(crate) fn links(&self) -> Option<Arc<Mutex<Links>>> {
        self.options.links.then(|| Arc::clone(&self.links))
    }

    /// Pixels of a cell, across and down, as far as the terminal tells.
    pub(crate) fn cell(&mut self) -> (u16, u16) {
        // The default of terminals that report nothing.
        const USUAL: (u16, u16) = (10, 20);
        let Ok(size) = rustix::termios::tcgetwinsize(self.terminal.backend_mut().tty()) else {
            return USUAL;
        };
        let of = |pixels: u16, count: u16| pixels.checked_div(count).filter(|it| *it > 1);
        of(size.ws_xpixel, size.ws_col).zip(of(size.ws_ypixel, size.ws_row)).unwrap_or(USUAL)
    }

    pub(crate) fn set_mouse(&mut self, is_caught: bool) -> io::Result<()> {
        self.options.mouse = is_caught;
        self.write(if is_caught { raw::MOUSE_ON } else { raw::MOUSE_OFF })
    }

    /// Calls the user: the bell, and a message where the terminal shows such.
    pub(crate) fn notify(&mut self, text: &str) -> io::Result<()> {
        let safe: String = text.chars().filter(|c| !c.is_control() && *c != ';').collect();
        self.write(&format!("\x07\x1b]9;{safe}\x07\x1b]777;notify;Brynhild;{safe}\x07"))
    }

    pub(crate) fn copy(&mut self, text: &str) -> io::Result<()> {
        let text = contract::text::head(text, MAX_COPY_BYTES);
        self.write(&format!("\x1b]52;c;{}\x07", BASE64_STANDARD.encode(text)))
    }

    /// Writes pictures at their places; the cursor stays where it is.
    pub(crate) fn show(&mut self, pictures: &[(Position, String)]) -> io::Result<()> {
        for (Position { x, y }, sequences) in pictures {
            let (row, column) = (u32::from(*y) + 1, u32::from(*x) + 1);
            self.write(&format!("\x1b7\x1b[{row};{column}H{sequences}\x1b8"))?;
        }
        Ok(())
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.terminal.backend_mut().write(text)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.pause();
    }
}

/// Stops this program until somebody continues it.
pub(crate) fn stop_here() {
    // To this thread: another would stop a moment later, and this one would go on until then. It
    // fails only where there is no such signal.
    let _ = nix::sys::signal::raise(nix::sys::signal::Signal::SIGSTOP);
}

/// The terminal by a way of its own, on which a write does not wait; where there is none, the one
/// that everybody has.
fn outlet() -> io::Result<File> {
    let stdout = io::stdout();
    let path = format!("/proc/self/fd/{}", stdout.as_raw_fd());
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    match OpenOptions::new().read(true).write(true).custom_flags(flags).open(path) {
        Ok(own) => Ok(own),
        Err(_) => Ok(File::from(rustix::io::fcntl_dupfd_cloexec(stdout.as_fd(), 3)?)),
    }
}

/// The part of the terminal that is drawn on: no more of one that is larger than any screen.
fn size(tty: &File) -> io::Result<Rect> {
    let size = rustix::termios::tcgetwinsize(tty)?;
    let or = |length: u16, usual: u16| if length == 0 { usual } else { length };
    let (width, height) = (or(size.ws_col, 80), or(size.ws_row, 24));
    Ok(Rect::new(0, 0, width.min(MAX_COLUMNS), height.min(MAX_ROWS)))
}

/// Tells of every line that somebody writes, on a thread of its own until nobody can write more.
fn catch(caught: OwnedFd, reports: mpsc::Sender<(Level, String)>) -> io::Result<()> {
    let mut reader = BufReader::new(File::from(caught));
    let tell = move || {
        let mut line = Vec::new();
        while matches!(reader.read_until(b'\n', &mut line), Ok(1..)) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            line.clear();
            // Where too much is written, some of it is lost; nobody waits for it.
            let sent = reports.try_send((Level::Info, text));
            if matches!(sent, Err(mpsc::error::TrySendError::Closed(_))) {
                return;
            }
        }
    };
    std::thread::Builder::new().name("caught output".to_owned()).spawn(tell)?;
    Ok(())
}

/// Signals that would end the program where it stands, with a terminal that nobody gave back.
pub fn fatal_signals() -> io::Result<[Signal; 6]> {
    let number = |signal: rustix::process::Signal| SignalKind::from_raw(signal.as_raw());
    Ok([
        signal(SignalKind::user_defined1())?,
        signal(SignalKind::user_defined2())?,
        signal(SignalKind::alarm())?,
        signal(number(rustix::process::Signal::ABORT))?,
        signal(number(rustix::process::Signal::VTALARM))?,
        signal(number(rustix::process::Signal::XCPU))?,
    ])
}

pub(crate) struct Signals(Vec<(Signal, TerminalSignal)>);

impl Signals {
    fn new() -> io::Result<Self> {
        let number = |signal: rustix::process::Signal| SignalKind::from_raw(signal.as_raw());
        let known = [
            (SignalKind::window_change(), TerminalSignal::Resized),
            (SignalKind::interrupt(), TerminalSignal::Stop(Stop::Interrupted)),
            (SignalKind::terminate(), TerminalSignal::Stop(Stop::Terminated)),
            (SignalKind::quit(), TerminalSignal::Stop(Stop::Quit)),
            (SignalKind::hangup(), TerminalSignal::Stop(Stop::HungUp)),
            (number(rustix::process::Signal::TSTP), TerminalSignal::Suspend),
            (number(rustix::process::Signal::CONT), TerminalSignal::Continued),
        ];
        let mut signals = Vec::new();
        for (kind, meaning) in known {
            signals.push((signal(kind)?, meaning));
        }
        let ends = TerminalSignal::Stop(Stop::Terminated);
        signals.extend(fatal_signals()?.map(|signal| (signal, ends)));
        Ok(Self(signals))
    }

    pub(crate) async fn next(&mut self) -> TerminalSignal {
        let all = self.0.iter_mut().map(|(signal, meaning)| {
            Box::pin(async {
                signal.recv().await;
                *meaning
            })
        });
        futures::future::select_all(all).await.0
    }
}
