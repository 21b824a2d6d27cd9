//! Input from the terminal: a thread that waits for bytes, and a decoder that makes keys,
//! pastes, mouse events and reports of them. The thread can be stopped, so that an editor gets
//! every key; nothing here reads more than has arrived.

mod decode;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread::JoinHandle;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio::sync::mpsc;

use crate::key::Key;
pub(crate) use decode::Decoder;

/// Something that came from the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Key(Key),
    Paste(String),
    Mouse(Mouse),
    /// The terminal got or lost the user's attention.
    Focus(bool),
    /// A report of the terminal about itself.
    Report(String),
    /// A paste has not ended for a while: Esc or Ctrl+C ends it.
    Stalled,
    /// Nothing will come any more: the terminal is gone.
    Closed,
}

pub(crate) const STALLED: &str = "Unfinished paste · Esc ends it";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mouse {
    pub kind: MouseKind,
    /// The column, from 0.
    pub column: u16,
    /// The row, from 0.
    pub row: u16,
}

/// An action of the mouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MouseKind {
    /// The left button went down.
    Press,
    /// It moved with the left button down.
    Drag,
    Release,
    ScrollUp,
    ScrollDown,
}

/// An input with the time of its arrival.
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
        let decoder = Decoder::with_typed_ahead(ahead);
        let thread = std::thread::Builder::new()
            .name("terminal input".to_owned())
            .spawn(move || read(&stopped, &arrivals, decoder))?;
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

/// The result of a wait for input.
pub(crate) enum Arrived {
    /// These inputs, perhaps none.
    Inputs(Vec<Input>),
    Stopped,
    Closed,
}

/// Waits until bytes arrive on standard input, the rest of a sequence is overdue, or the other end
/// of `stop` is closed.
pub(crate) fn wait(decoder: &mut Decoder, stop: Option<BorrowedFd<'_>>) -> io::Result<Arrived> {
    let stdin = io::stdin();
    let timeout = decoder.timeout();
    let watched = [Some(stdin.as_fd()), stop].into_iter().flatten();
    let mut watched: Vec<PollFd<'_>> =
        watched.map(|it| PollFd::from_borrowed_fd(it, PollFlags::IN)).collect();
    match poll(&mut watched, timeout.as_ref()) {
        Ok(0) => return Ok(Arrived::Inputs(decoder.settle())),
        Ok(_) => {}
        Err(Errno::INTR) => return Ok(Arrived::Inputs(Vec::new())),
        Err(error) => return Err(error.into()),
    }
    if watched.get(1).is_some_and(|stop| !stop.revents().is_empty()) {
        return Ok(Arrived::Stopped);
    }
    let mut bytes = [0; 4096];
    match rustix::io::read(stdin.as_fd(), &mut bytes) {
        Ok(0) => Ok(Arrived::Closed),
        Ok(count) => Ok(Arrived::Inputs(decoder.feed(&bytes[..count]))),
        Err(Errno::INTR | Errno::AGAIN) => Ok(Arrived::Inputs(Vec::new())),
        Err(error) => Err(error.into()),
    }
}

fn read(stopped: &OwnedFd, arrivals: &mpsc::Sender<Arrival>, mut decoder: Decoder) {
    loop {
        let (inputs, is_closed) = match wait(&mut decoder, Some(stopped.as_fd())) {
            Ok(Arrived::Inputs(inputs)) => (inputs, false),
            Ok(Arrived::Stopped) => return,
            Ok(Arrived::Closed) | Err(_) => (vec![Input::Closed], true),
        };
        let now = Instant::now();
        let is_delivered = inputs.into_iter().all(|input| deliver(arrivals, stopped, (input, now)));
        if is_closed || !is_delivered {
            return;
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
