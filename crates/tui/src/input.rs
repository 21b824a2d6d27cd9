//! What arrives from the terminal: a thread that waits for bytes, and a decoder that makes keys,
//! pastes, mouse events and reports of them. The thread can be stopped, so that an editor gets
//! every key; nothing here reads more than has arrived.

mod decode;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::thread::JoinHandle;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::mpsc;

use crate::key::Key;
pub(crate) use decode::Decoder;

/// Something that came from the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A key was pressed.
    Key(Key),
    /// Text was pasted.
    Paste(String),
    /// Something was done with the mouse.
    Mouse(Mouse),
    /// The terminal got or lost the user's attention.
    Focus(bool),
    /// The terminal told a fact about itself.
    Report(String),
    /// A paste has not ended for a while: Esc or Ctrl+C ends it.
    Stalled,
    /// Nothing will come any more: the terminal is gone.
    Closed,
}

/// What a user is told where a paste does not end.
pub(crate) const STALLED: &str = "a paste has not ended yet; Esc ends it";

/// Something done with the mouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mouse {
    /// What.
    pub kind: MouseKind,
    /// The column, from 0.
    pub column: u16,
    /// The row, from 0.
    pub row: u16,
}

/// What was done with the mouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MouseKind {
    /// The left button went down.
    Press,
    /// It moved with the left button down.
    Drag,
    /// A button went up.
    Release,
    /// The wheel was turned away.
    ScrollUp,
    /// The wheel was turned towards the user.
    ScrollDown,
}

/// What arrived, and when.
pub(crate) type Arrival = (Input, Instant);

/// The thread that reads. Dropping it stops and joins it.
pub(crate) struct Reader {
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Reads from standard input until it is dropped; the channel closes when the terminal is gone.
    /// So many bytes were typed `ahead`, while the terminal had lines edited.
    pub(crate) fn start(arrivals: mpsc::Sender<Arrival>, ahead: usize) -> io::Result<Self> {
        let (stopped, stop) = rustix::pipe::pipe()?;
        let thread = std::thread::Builder::new()
            .name("terminal input".to_owned())
            .spawn(move || read(&stopped, &arrivals, ahead))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // The other end sees that this one is closed.
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn read(stopped: &OwnedFd, arrivals: &mpsc::Sender<Arrival>, ahead: usize) {
    if follow(stopped, arrivals, ahead) == Ended::Gone {
        deliver(arrivals, stopped, (Input::Closed, Instant::now()));
    }
}

/// Why nothing more is read.
#[derive(PartialEq, Eq)]
enum Ended {
    /// Nobody wants it.
    Stopped,
    /// The terminal is gone.
    Gone,
}

fn follow(stopped: &OwnedFd, arrivals: &mpsc::Sender<Arrival>, mut ahead: usize) -> Ended {
    let stdin = io::stdin();
    let mut decoder = Decoder::default();
    let mut buffer = [0; 4096];
    loop {
        let timeout = decoder.patience();
        let mut watched = [
            PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(stopped.as_fd(), PollFlags::IN),
        ];
        let ready = match poll(&mut watched, timeout.as_ref()) {
            Ok(ready) => ready,
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return Ended::Gone,
        };
        if !watched[1].revents().is_empty() {
            return Ended::Stopped;
        }
        let inputs = if ready == 0 {
            decoder.settle()
        } else {
            match rustix::io::read(stdin.as_fd(), &mut buffer) {
                Ok(0) => return Ended::Gone,
                Ok(count) => {
                    // A terminal that edits lines has made a line feed of the key Enter.
                    let early = ahead.min(count);
                    ahead -= early;
                    buffer[..early]
                        .iter_mut()
                        .filter(|it| **it == b'\n')
                        .for_each(|it| *it = b'\r');
                    decoder.feed(&buffer[..count])
                }
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => continue,
                Err(_) => return Ended::Gone,
            }
        };
        let now = Instant::now();
        for input in inputs {
            if !deliver(arrivals, stopped, (input, now)) {
                return Ended::Stopped;
            }
        }
    }
}

/// Hands an arrival over; gives up when nobody takes it or the thread is to stop.
fn deliver(arrivals: &mpsc::Sender<Arrival>, stopped: &OwnedFd, mut arrival: Arrival) -> bool {
    const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
    loop {
        match arrivals.try_send(arrival) {
            Ok(()) => return true,
            Err(mpsc::error::TrySendError::Closed(_)) => return false,
            Err(mpsc::error::TrySendError::Full(back)) => arrival = back,
        }
        let mut watched = [PollFd::from_borrowed_fd(stopped.as_fd(), PollFlags::IN)];
        if !matches!(poll(&mut watched, Some(&PAUSE)), Ok(0)) {
            return false;
        }
    }
}
