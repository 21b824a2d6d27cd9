//! The files as each session last saw them, and as they were when a change was checked, so that
//! changes made by others are noticed.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use contract::action::Action;
use contract::id::SessionId;

use crate::files::{Fingerprint, Snapshot};
use crate::outcome::Stop;

/// Stated changes that are remembered: those that were denied are never looked up.
const STATED: usize = 1024;

#[derive(Default)]
pub(crate) struct Seen {
    files: Mutex<HashMap<(SessionId, PathBuf), Fingerprint>>,
    /// The last stated changes, with the file that each was computed from.
    stated: Mutex<VecDeque<(blake3::Hash, Option<Fingerprint>)>>,
}

impl Seen {
    pub(crate) fn note(&self, session: &SessionId, path: &Path, fingerprint: Fingerprint) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.insert((session.clone(), path.to_owned()), fingerprint);
    }

    /// Returns the action of changing a file as it is now.
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

    /// Refuses a change if the file is not as the session last saw it, or not as it was when the call
    /// was approved. `given` is the path in the caller's words.
    pub(crate) fn check(
        &self,
        session: &SessionId,
        (path, given): (&Path, &str),
        before: Option<&Snapshot>,
        actions: &[Action],
    ) -> Result<(), Stop> {
        if before.is_some_and(|file| self.changed(session, path, file)) {
            let why = "changed since it was last read in this session";
            return Err(format!("{given} {why}; read it again").into());
        }
        if actions.iter().any(|action| self.is_outdated(action, before)) {
            let why = "changed after this call was decided and before it ran";
            return Err(format!("{given} {why}; read it again").into());
        }
        Ok(())
    }

    /// Returns false for a file that the session never saw.
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

    fn is_outdated(&self, action: &Action, before: Option<&Snapshot>) -> bool {
        let Action::Write { path, diff } = action else { return false };
        let stated = self.stated.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key(path, diff.as_deref());
        let last = stated.iter().rev().find(|(known, _)| *known == key);
        last.is_none_or(|(_, known)| *known != before.map(Snapshot::fingerprint))
    }
}

fn key(path: &Path, diff: Option<&str>) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(path.as_os_str().as_encoded_bytes());
    // No path contains this byte.
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
