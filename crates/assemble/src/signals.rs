//! The signals that stop a run.

use std::io;

use async_trait::async_trait;
use futures::FutureExt;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::Exit;

/// The signals that stop a run.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    quit: Signal,
    /// Others that would end the program where it stands, with a terminal that nobody gave back.
    others: [Signal; 6],
    /// Caught and never read: a file that may not grow is then an error of that write, which can
    /// be told, and not the end of the program.
    _file_size: Signal,
}

impl Signals {
    /// Catches them from here on.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            quit: signal(SignalKind::quit())?,
            others: ::tui::fatal_signals()?,
            _file_size: signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?,
        })
    }

    /// Forgets interrupts that somebody else has heeded.
    pub fn forget_interrupts(&mut self) {
        while self.interrupt.recv().now_or_never().flatten().is_some() {}
    }

    /// The next of them, as the exit it leads to.
    pub async fn next(&mut self) -> Exit {
        let others = self.others.iter_mut().map(|other| Box::pin(other.recv()));
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.terminate.recv() => Exit::Terminated,
            _ = self.hangup.recv() => Exit::HungUp,
            _ = self.quit.recv() => Exit::Quit,
            _ = futures::future::select_all(others) => Exit::Terminated,
        }
    }
}

#[async_trait]
impl line_ui::turn::Signals for Signals {
    async fn next(&mut self) -> Exit {
        Self::next(self).await
    }
}
