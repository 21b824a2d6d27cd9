//! The program behind the protocol, which the binary implements.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use async_trait::async_trait;
use contract::event::{Event, Input};
use contract::id::{SessionId, Timestamp};
use contract::policy::Mode;
use tokio::sync::mpsc;

use crate::wire::{Choice, Code, Command, McpServer};

/// A problem, for the client.
#[derive(Clone, Debug)]
pub struct Failure {
    pub code: Code,
    pub message: String,
    pub hint: Option<String>,
}

impl Failure {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    pub(crate) fn params(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidParams, message)
    }

    pub(crate) fn unknown_session(id: &str) -> Self {
        let hint = Some("`session/list` names the sessions, `session/load` opens one".to_owned());
        Self { hint, ..Self::new(Code::NotFound, format!("there is no open session {id:?}")) }
    }
}

/// The program.
#[async_trait(?Send)]
pub trait Host {
    /// Opens a conversation in a directory.
    async fn open(&self, wanted: Wanted) -> Result<Opened, Failure>;

    /// The stored sessions, in any order.
    fn list(&self) -> Result<Vec<SessionEntry>, Failure>;

    /// Returns true if a session is stored.
    fn exists(&self, session: &SessionId) -> bool;

    /// Deletes a stored session.
    fn delete(&self, session: &SessionId) -> Result<(), Failure>;

    /// Reports something that the client cannot be told.
    fn warn(&self, text: &str);
}

/// The session that is wanted.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Its name, if it continues; none for a new one.
    pub session: Option<SessionId>,
    pub cwd: PathBuf,
    pub servers: Vec<McpServer>,
    /// The chosen model; none for the usual one.
    pub model: Option<String>,
    /// The chosen mode; none for the usual one.
    pub mode: Option<Mode>,
}

/// An open session.
pub struct Opened {
    pub id: SessionId,
    /// Its earlier events.
    pub history: Vec<Event>,
    pub conversation: Box<dyn Conversation>,
    pub commands: Rc<dyn Commands>,
    pub mode: Mode,
    /// The modes that may be chosen.
    pub modes: Vec<Mode>,
    pub model: String,
    /// The models that may be chosen.
    pub models: Vec<Choice>,
    /// The size of the model's context, in tokens, if it is known.
    pub context_size: Option<u64>,
}

/// A running conversation.
#[async_trait(?Send)]
pub trait Conversation {
    fn inputs(&self) -> &mpsc::Sender<Input>;

    async fn next_event(&mut self) -> Option<Arc<Event>>;

    /// Limits everything that runs beside the conversation to a mode.
    fn set_mode(&self, mode: Mode);

    /// Ends it in order, and waits until all is written.
    async fn finish(self: Box<Self>);
}

/// The slash commands of a session.
#[async_trait(?Send)]
pub trait Commands {
    fn list(&self) -> Vec<Command>;

    /// Says what typed text means.
    async fn expand(&self, text: &str, mode: Mode) -> Result<Expansion, Failure>;
}

/// The meaning of typed text.
#[derive(Clone, Debug)]
pub enum Expansion {
    /// Work of the conversation.
    Work(Box<Input>),
    /// Text for the user, and what the conversation is to note.
    Show {
        text: String,
        inputs: Vec<Input>,
    },
    Mode(Mode),
    Model(String),
}

/// A stored session.
#[derive(Clone, Debug)]
pub struct SessionEntry {
    pub id: SessionId,
    pub cwd: String,
    pub title: Option<String>,
    pub updated_at: Timestamp,
}
