//! Lines that a user types on a terminal while the model works, sent at the model's next step. Reads
//! only what is there, so that a question gets its own answer.

use std::collections::VecDeque;
use std::future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use contract::event::{Event, EventKind, PERSON, UNSENT};
use rustix::io::{ioctl_fionread, read};

use crate::frontends::slash;

/// How often it is looked whether a line was typed.
const LOOK: Duration = Duration::from_millis(50);

/// A line that was typed.
pub(super) enum Typed {
    /// Words for the model.
    Words(String),
    /// A command, which has to wait.
    Command(String),
}

/// The lines of one turn, and of those that follow because of them.
#[derive(Default)]
pub(crate) struct Steering {
    typed: Vec<u8>,
    /// Lines that wait for the next step.
    waiting: Vec<String>,
    /// Lines that waited when the turn was stopped, for the user to decide about anew.
    pub(crate) unsent: Vec<String>,
    /// Lines that were sent and of which nothing was heard so far.
    owed: usize,
    /// Commands, which have to wait for the end of the turn.
    pub(crate) later: VecDeque<String>,
    /// Events of the turn that follows which came with those of the one before.
    rest: VecDeque<Arc<Event>>,
}

impl Steering {
    /// Returns true if a line came too late for the turn that has ended, so that another one follows.
    pub(crate) fn follows(&mut self) -> bool {
        let follows = self.owed > 0;
        self.owed = self.owed.saturating_sub(1);
        follows
    }

    /// Keeps events for the turn that follows.
    pub(super) fn keep(&mut self, events: VecDeque<Arc<Event>>) {
        self.rest = events;
    }

    /// The events that were kept.
    pub(super) fn rest(&mut self) -> VecDeque<Arc<Event>> {
        std::mem::take(&mut self.rest)
    }

    /// The lines that wait, which are sent now.
    pub(super) fn hand_over(&mut self) -> Vec<String> {
        self.owed += self.waiting.len();
        std::mem::take(&mut self.waiting)
    }

    /// Sends nothing of what waits: it would begin the next turn, and whoever stops one has not asked
    /// for that.
    pub(super) fn put_back(&mut self) {
        self.unsent.append(&mut self.waiting);
    }

    /// Takes note of what came of a line.
    pub(super) fn take(&mut self, event: &Event) {
        let is_heard = match &event.kind {
            EventKind::Injected { origin, .. } => origin == PERSON,
            EventKind::Notice { text, .. } => text.starts_with(UNSENT),
            _ => false,
        };
        self.owed = self.owed.saturating_sub(usize::from(is_heard));
    }

    /// The next line that says something.
    async fn words(&mut self) -> io::Result<Typed> {
        loop {
            let line = self.line().await?;
            let words = line.trim();
            if words.is_empty() {
                continue;
            }
            if slash::parse(words).is_some() {
                self.later.push_back(words.to_owned());
                return Ok(Typed::Command(words.to_owned()));
            }
            self.waiting.push(words.to_owned());
            return Ok(Typed::Words(words.to_owned()));
        }
    }

    async fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.typed.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.typed.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line).into_owned());
            }
            // A terminal counts whole lines, so that nothing is taken of one that is being typed.
            if ioctl_fionread(io::stdin())? == 0 {
                tokio::time::sleep(LOOK).await;
                continue;
            }
            let mut bytes = [0; 4096];
            let count = read(io::stdin(), &mut bytes)?;
            self.typed.extend_from_slice(&bytes[..count]);
        }
    }
}

/// The next line; never any where nobody is listened to.
pub(super) async fn next(steering: Option<&mut Steering>) -> io::Result<Typed> {
    match steering {
        Some(steering) => steering.words().await,
        None => future::pending().await,
    }
}
