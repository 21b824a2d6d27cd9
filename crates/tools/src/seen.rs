//! What each session last saw of each file, so that a change behind its back is noticed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use contract::id::SessionId;

use crate::files::{Identity, Snapshot};

/// What a file was like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fingerprint {
    /// The hash of all it held.
    Content(blake3::Hash),
    /// For a file too large to hash: which file it was, how long, and when it last changed.
    Identity(Identity),
}

impl Fingerprint {
    /// The fingerprint of a file that holds `content`.
    pub(crate) fn of(content: &[u8]) -> Self {
        Self::Content(blake3::hash(content))
    }
}

/// The files each session has read or written.
#[derive(Default)]
pub(crate) struct Seen(Mutex<HashMap<(SessionId, PathBuf), Fingerprint>>);

impl Seen {
    /// Records what `session` has just seen at `path`.
    pub(crate) fn note(&self, session: &SessionId, path: &Path, fingerprint: Fingerprint) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.insert((session.clone(), path.to_owned()), fingerprint);
    }

    /// Whether `session` has seen anything at `path`.
    pub(crate) fn knows(&self, session: &SessionId, path: &Path) -> bool {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.contains_key(&(session.clone(), path.to_owned()))
    }

    /// Whether the file differs from what `session` last saw of it. A file the session never saw
    /// has not changed.
    pub(crate) fn changed(&self, session: &SessionId, path: &Path, file: &Snapshot) -> bool {
        let key = (session.clone(), path.to_owned());
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match files.get(&key) {
            None => false,
            Some(Fingerprint::Identity(identity)) => *identity != file.identity,
            Some(content) => {
                file.content.as_deref().is_none_or(|bytes| Fingerprint::of(bytes) != *content)
            }
        }
    }
}
