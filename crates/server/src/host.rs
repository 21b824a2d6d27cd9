//! The program behind the server, which the binary implements.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use async_trait::async_trait;
use contract::event::{Direction, Event, EventKind, Input};
use contract::id::{Seq, SessionId, Timestamp};
use contract::policy::Mode;
use http::StatusCode;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// A problem, for the client.
#[derive(Clone, Debug)]
pub struct Failure {
    pub status: StatusCode,
    pub message: String,
    pub hint: Option<String>,
    /// The name of the problem for clients of OpenAI's API, if its status does not say enough.
    pub code: Option<&'static str>,
}

impl Failure {
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), hint: None, code: None }
    }

    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// A problem of the program, with its hint; `is_misuse` if the client can put it right.
    pub fn of(message: String, hint: Option<String>, is_misuse: bool) -> Self {
        let status =
            if is_misuse { StatusCode::BAD_REQUEST } else { StatusCode::INTERNAL_SERVER_ERROR };
        Self { hint, ..Self::new(status, message) }
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, message)
    }

    pub(crate) fn no_session(id: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("there is no session {id:?}"))
            .hint("`GET /v1/sessions` lists the sessions")
    }
}

/// Takes the events of a log one by one; false ends the reading.
pub type Take<'a> = &'a mut dyn FnMut(Event) -> bool;

/// The logs of stored sessions. Reading blocks.
pub trait Logs: Send + Sync {
    /// Passes on the events of a session after a position.
    fn each(&self, session: &SessionId, after: Seq, take: Take<'_>) -> Result<(), Failure>;
}

/// The program.
#[async_trait(?Send)]
pub trait Host {
    /// Opens a conversation, and stores that clients find it at `reachable`.
    async fn open(&self, wanted: Wanted, reachable: &Reachable) -> Result<Opened, Failure>;

    fn logs(&self) -> Arc<dyn Logs>;

    /// The stored sessions, the last used first.
    fn list(&self) -> Result<Vec<Listed>, Failure>;

    fn exists(&self, session: &SessionId) -> bool;

    /// The program that has a session open, if it is another one.
    fn holder(&self, session: &SessionId) -> Option<Holder>;

    /// Deletes a stored session.
    fn delete(&self, session: &SessionId) -> Result<(), Failure>;

    /// The changed files of the last turns, as JSON.
    fn changes(
        &self,
        session: &SessionId,
        cwd: &Path,
        turns: Option<u32>,
        has_diffs: bool,
    ) -> Result<Value, Failure>;

    /// A session as Markdown.
    fn export(&self, session: &SessionId) -> Result<String, Failure>;

    /// The slash commands in a directory.
    fn commands(&self, cwd: &Path) -> Result<Vec<Command>, Failure>;

    /// The models that can be chosen in a directory, the usual one first, each with its provider.
    async fn models(&self, cwd: &Path) -> Result<Vec<(String, String)>, Failure>;

    /// The files of a project, relative to it.
    fn files(&self, cwd: &Path) -> Result<Vec<String>, Failure>;

    /// Reports a refused request.
    fn refused(&self, text: &str);

    /// Tells the user a new link by which a browser logs in.
    fn offer_link(&self, url: &str);

    /// Opens a file in a browser.
    fn open_page(&self, page: &Path);
}

/// The place where other programs reach a session of this server.
#[derive(Clone, Debug, Default)]
pub struct Reachable {
    pub socket: PathBuf,
    pub token: String,
}

/// The program that has a session open.
#[derive(Clone, Debug)]
pub struct Holder {
    /// Its server, if it has one.
    pub reachable: Option<Reachable>,
}

/// A message of an earlier exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Earlier {
    Prompt(String),
    Answer(String),
    /// An image or a recording of the prompt.
    File {
        media_type: String,
        /// Its bytes in base64.
        data: String,
    },
}

impl Earlier {
    /// Its size in bytes.
    pub(crate) fn length(&self) -> usize {
        let (Self::Prompt(text) | Self::Answer(text) | Self::File { data: text, .. }) = self;
        text.len()
    }
}

/// The session that is wanted.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Its ID, if it continues or has a chosen name; none for a new one.
    pub session: Option<SessionId>,
    pub cwd: PathBuf,
    pub model: Option<String>,
    pub mode: Option<Mode>,
    /// The file or the name of a role for a new session.
    pub role: Option<String>,
    /// Replaces the session by a copy of it, up to an event.
    pub fork: Option<Seq>,
    /// Text for the end of the system prompt.
    pub system: Option<String>,
    /// The messages so far of a session that is not stored.
    pub unsaved: Option<Vec<Earlier>>,
}

/// A session of this program that the server is to open, and the place for the result.
pub type Opening = (Wanted, oneshot::Sender<Result<(), Failure>>);

/// An open session.
pub struct Opened {
    pub id: SessionId,
    pub conversation: Box<dyn Conversation>,
    pub commands: Rc<dyn Commands>,
    pub mode: Mode,
    /// The modes that may be chosen.
    pub modes: Vec<Mode>,
    pub model: String,
    pub provider: String,
    /// The models that may be chosen.
    pub models: Vec<String>,
    /// The size of the model's context, in tokens, if it is known.
    pub context_size: Option<u64>,
}

/// A running conversation.
#[async_trait(?Send)]
pub trait Conversation {
    fn inputs(&self) -> &mpsc::Sender<Input>;

    async fn next_event(&mut self) -> Option<Arc<Event>>;

    /// Ends it in order, waits until all is written, and returns what still happened.
    async fn finish(self: Box<Self>) -> Vec<Arc<Event>>;
}

/// What clients ask of an open session beside inputs.
#[async_trait(?Send)]
pub trait Commands {
    /// Says what typed text means.
    async fn expand(&self, text: &str, mode: Mode) -> Result<Expansion, Failure>;

    /// Limits everything that runs beside the conversation to a mode.
    fn set_mode(&self, mode: Mode);

    /// Undoes or redoes changes of files. Returns a report, and events to keep.
    async fn restore(
        &self,
        direction: Direction,
        turns: usize,
    ) -> Result<(Value, Vec<EventKind>), Failure>;
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

/// A slash command.
#[derive(Clone, Debug, Serialize)]
pub struct Command {
    pub name: String,
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A stored session.
#[derive(Clone, Debug)]
pub struct Listed {
    pub id: SessionId,
    pub cwd: String,
    pub title: String,
    pub updated_at: Timestamp,
}
