//! What each session last saw of each file, and what each change was judged by, so that a change
//! behind the session's or the user's back is noticed.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use contract::action::Action;
use contract::id::SessionId;

use crate::files::{Fingerprint, Snapshot};
use crate::outcome::Stop;

/// So many stated changes are kept: those that were denied are never asked for.
const STATED: usize = 1024;

/// The files each session has read or written.
#[derive(Default)]
pub(crate) struct Seen {
    files: Mutex<HashMap<(SessionId, PathBuf), Fingerprint>>,
    /// What the file was like, if it was there, that a stated change was worked out from; the last ones.
    stated: Mutex<VecDeque<(blake3::Hash, Option<Fingerprint>)>>,
}

impl Seen {
    /// Records what `session` has just seen at `path`.
    pub(crate) fn note(&self, session: &SessionId, path: &Path, fingerprint: Fingerprint) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.insert((session.clone(), path.to_owned()), fingerprint);
    }

    /// The statement that a file as it is now would be changed, which may be shown to a user.
    pub(crate) fn state(
        &self,
        path: PathBuf,
        before: Option<&Snapshot>,
        diff: Option<String>,
    ) -> Action {
        let key = key(&path, diff.as_deref());
        let mut stated = self.stated.lock().unwrap_or_else(PoisonError::into_inner);
        stated.push_back((key, before.map(Snapshot::fingerprint)));
        if stated.len() > STATED {
            stated.pop_front();
        }
        Action::Write { path, diff }
    }

    /// Lets a change go on where the file is what the session last saw of it, and what the call was
    /// judged by: nobody has agreed to anything else. `given` is the path in the caller's words.
    pub(crate) fn check(
        &self,
        session: &SessionId,
        (path, given): (&Path, &str),
        before: Option<&Snapshot>,
        actions: &[Action],
    ) -> Result<(), Stop> {
        if before.is_some_and(|file| self.changed(session, path, file)) {
            return Err(Stop::Failed(format!(
                "{given} changed since it was last read in this session; read it again"
            )));
        }
        if actions.iter().any(|action| self.is_outdated(action, before)) {
            return Err(Stop::Failed(format!(
                "{given} changed meanwhile, after this call was judged and before it ran; read it \
                 again"
            )));
        }
        Ok(())
    }

    /// Whether the file differs from what `session` last saw of it. A file the session never saw
    /// has not changed.
    fn changed(&self, session: &SessionId, path: &Path, file: &Snapshot) -> bool {
        let key = (session.clone(), path.to_owned());
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        match files.get(&key) {
            None => false,
            Some(Fingerprint::Identity(identity)) => *identity != file.identity,
            Some(content) => {
                file.content.as_deref().is_none_or(|bytes| Fingerprint::of(bytes) != *content)
            }
        }
    }

    /// Whether a change was stated of a file that was not like this one.
    fn is_outdated(&self, action: &Action, before: Option<&Snapshot>) -> bool {
        let Action::Write { path, diff } = action else {
            return false;
        };
        let stated = self.stated.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key(path, diff.as_deref());
        let last = stated.iter().rev().find(|(known, _)| *known == key);
        last.is_none_or(|(_, known)| *known != before.map(Snapshot::fingerprint))
    }
}

/// What a stated change is found by.
fn key(path: &Path, diff: Option<&str>) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(path.as_os_str().as_encoded_bytes());
    // No path holds this byte.
    hasher.update(&[0]);
    hasher.update(diff.unwrap_or_default().as_bytes());
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_stated_changes_is_bounded() {
        let seen = Seen::default();
        let state = |number: usize| seen.state(PathBuf::from(format!("/{number}")), None, None);
        let actions: Vec<Action> = (0..=STATED).map(state).collect();
        assert_eq!(seen.stated.lock().unwrap().len(), STATED);
        assert!(seen.is_outdated(&actions[0], None));
        assert!(!seen.is_outdated(&actions[1], None) && !seen.is_outdated(&actions[STATED], None));
    }
}
