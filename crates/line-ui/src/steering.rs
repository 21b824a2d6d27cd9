//! Lines that the user types while the model works, sent at its next step. Reads only available
//! bytes, so that a question gets its own answer.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use std::{future, io};

use contract::event::{Event, EventKind, MessageOrigin, NoticeTopic};
use rustix::io::{ioctl_fionread, read};

use crate::status_line;

const LOOK: Duration = Duration::from_millis(50);

pub(crate) enum Typed {
    Words(String),
    Command(String),
}

/// The lines typed in a turn, and in those that follow because of them.
pub struct Steering {
    is_command: fn(&str) -> bool,
    typed: Vec<u8>,
    waiting: Vec<String>,
    /// Lines that waited when the turn was stopped, for the user to send or not.
    pub unsent: Vec<String>,
    /// The number of lines sent without a response so far.
    owed: usize,
    /// Commands, which wait for the end of the turn.
    pub later: VecDeque<String>,
    /// Events of the following turn that arrived with the last one's.
    pub(crate) rest: VecDeque<Arc<Event>>,
}

impl Steering {
    /// `is_command` tells commands from words for the model.
    pub fn new(is_command: fn(&str) -> bool) -> Self {
        Self {
            is_command,
            typed: Vec::new(),
            waiting: Vec::new(),
            unsent: Vec::new(),
            owed: 0,
            later: VecDeque::new(),
            rest: VecDeque::new(),
        }
    }

    /// Returns true if a line came too late for the turn, so that another turn follows.
    pub fn follows(&mut self) -> bool {
        let follows = self.owed > 0;
        self.owed = self.owed.saturating_sub(1);
        follows
    }

    pub(crate) fn hand_over(&mut self) -> Vec<String> {
        self.owed += self.waiting.len();
        std::mem::take(&mut self.waiting)
    }

    /// Keeps waiting lines unsent: they would begin another turn after the user stopped this one.
    pub(crate) fn put_back(&mut self) {
        self.unsent.append(&mut self.waiting);
    }

    pub(crate) fn take(&mut self, event: &Event) {
        let is_heard = match &event.kind {
            EventKind::Injected { origin, .. } => *origin == MessageOrigin::User,
            EventKind::Notice { topic, .. } => *topic == Some(NoticeTopic::MessageUnsent),
            _ => false,
        };
        self.owed = self.owed.saturating_sub(usize::from(is_heard));
    }

    async fn words(&mut self) -> io::Result<Typed> {
        loop {
            let line = self.line().await?;
            let words = line.trim();
            if words.is_empty() {
                continue;
            }
            if (self.is_command)(words) {
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
            // A terminal reports whole lines only, so no partial line is read. A plugin that asks
            // reads for itself.
            if status_line::is_wanted() || ioctl_fionread(io::stdin())? == 0 {
                tokio::time::sleep(LOOK).await;
                continue;
            }
            let mut bytes = [0; 4096];
            let count = read(io::stdin(), &mut bytes)?;
            self.typed.extend_from_slice(&bytes[..count]);
        }
    }
}

/// The next line; pending forever without a terminal.
pub(crate) async fn next(steering: Option<&mut Steering>) -> io::Result<Typed> {
    match steering {
        Some(steering) => steering.words().await,
        None => future::pending().await,
    }
}
