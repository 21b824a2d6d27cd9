//! Errors of sessions.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use contract::id::{InvalidSessionId, SessionId, Timestamp};
use serde::{Deserialize, Serialize};

/// Why something could not be done with a session.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No session has this name.
    #[error("Session not found: {0}")]
    NotFound(String),
    /// The name is taken.
    #[error("Session already exists: {0}")]
    Exists(SessionId),
    /// The text cannot name a session.
    #[error(transparent)]
    InvalidId(#[from] InvalidSessionId),
    /// Several sessions begin like this.
    #[error("several sessions begin with `{prefix}`: {candidates}. Type more of the id")]
    Ambiguous {
        /// The text that was typed.
        prefix: String,
        /// Some of the sessions it may mean.
        candidates: String,
    },
    /// Another process, or another part of this one, has it open.
    #[error("session {id} is open in {holder}: close it there, or continue in a fork of it")]
    Open {
        /// The session.
        id: SessionId,
        /// Who has it open.
        holder: Holder,
    },
    /// A later version of the program wrote it, so it can only be read.
    #[error("session {0} was written by a later version of Brynhild")]
    Newer(SessionId),
    /// The system refused.
    #[error(transparent)]
    File(#[from] FileError),
}

/// The process that has a session open, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: Option<u32>,
    pub since: Option<Timestamp>,
    /// The socket of its server and the token for it, if other programs can join the session.
    pub server: Option<(PathBuf, String)>,
    /// The directory of a session that other programs can join.
    pub cwd: Option<Box<Path>>,
}

impl Holder {
    /// This process.
    pub(crate) fn own() -> Self {
        let pid = Some(std::process::id());
        Self { pid, since: Some(Timestamp::now()), ..Self::default() }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, self.since) {
            (Some(pid), Some(since)) => write!(f, "process {pid} since {since}"),
            _ => f.write_str("another process"),
        }
    }
}

/// A file or directory that could not be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct FileError {
    /// The attempt, as a verb.
    pub action: &'static str,
    /// The file or directory.
    pub path: PathBuf,
    /// The system's word.
    #[source]
    pub source: io::Error,
}

/// Says for `map_err` what was tried with which path.
pub(crate) fn cannot<E: Into<io::Error>>(
    action: &'static str,
    path: &Path,
) -> impl FnOnce(E) -> FileError {
    move |source| FileError { action, path: path.to_owned(), source: source.into() }
}
