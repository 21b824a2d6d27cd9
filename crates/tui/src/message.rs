//! Messages into the interface, and effects out of it.

use std::sync::Arc;
use std::time::Instant;

use contract::event::{Event, Input, Level};

use crate::host::{Answer, Inquiry, Leave, Request, Stop};
use crate::input;

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Message {
    /// On the terminal, with when it arrived.
    Terminal(input::Input, Instant),
    /// The terminal has another size.
    Resized { width: u16, height: u16 },
    /// In the conversation.
    Event(Arc<Event>),
    /// The conversation is over.
    Closed,
    /// The host answered.
    Answer(Answer),
    /// A part of the program wants to know something.
    Inquired(Inquiry),
    /// A message of the program, or a line that something wrote to standard error.
    Reported(Level, String),
    /// The editor was closed.
    Edited(Result<String, String>),
    /// The program should end.
    Stop(Stop),
    /// Time has passed.
    Tick(Instant),
}

/// Something to do.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Send this into the conversation.
    Send(Box<Input>),
    Ask(Request),
    /// Let the user edit this text elsewhere.
    Edit(String),
    Copy(String),
    /// Call the user.
    Notify(String),
    /// Catch the mouse, or leave it to the terminal.
    Mouse(bool),
    Redraw,
    /// Stop until the shell continues us.
    Suspend,
    /// End this run.
    Leave(Leave),
}

impl Effect {
    /// Sends something into the conversation.
    pub fn send(input: Input) -> Self {
        Self::Send(Box::new(input))
    }
}
