//! What can go wrong with a session.

use std::io;
use std::path::{Path, PathBuf};

use contract::id::{InvalidSessionId, SessionId};

pub use crate::lock::Holder;

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
        /// What was typed.
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
    /// The system refused.
    #[error(transparent)]
    File(#[from] FileError),
}

/// A file or directory that could not be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct FileError {
    /// What was tried, as a verb.
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
