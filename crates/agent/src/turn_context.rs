//! The context of a turn: the parts and settings of its conversation, and the tokens that stop it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contract::policy::Mode;
use tokio_util::sync::CancellationToken;

use crate::answers::{Answers, Waiting};
use crate::hooks::Hooks;
use crate::journal::{Journal, Logged};
use crate::recover::Recoveries;
use crate::settings::{Parts, Settings};

/// The context that every call of a turn shares.
#[derive(Clone, Copy)]
pub(crate) struct TurnContext<'a> {
    pub(crate) parts: &'a Arc<Parts>,
    pub(crate) settings: &'a Arc<Settings>,
    pub(crate) hooks: &'a Hooks,
    pub(crate) answers: &'a Arc<Answers>,
    pub(crate) recoveries: &'a Mutex<Recoveries>,
    pub(crate) waiting: &'a Waiting,
    pub(crate) cancel: &'a CancellationToken,
    /// Stops the turn of the session, which this one may be within.
    pub(crate) stop: &'a CancellationToken,
}

impl TurnContext<'_> {
    /// The mode in force: the configured one or a stricter one; `ask` in place of `normal` if the sandbox
    /// or undo does not work.
    pub(crate) fn mode(&self) -> Mode {
        match self.chosen_mode() {
            Mode::Normal if self.fallback().is_some() => Mode::Ask,
            mode => mode,
        }
    }

    fn chosen_mode(&self) -> Mode {
        self.settings.mode.min(self.answers.ceiling())
    }

    fn fallback(&self) -> Option<String> {
        self.parts.fallback.as_ref().and_then(|fallback| fallback())
    }

    /// Tells once in a session that `normal` works like `ask`.
    pub(crate) async fn tell_fallback(&self, journal: &mut Journal) -> Logged {
        if self.chosen_mode() != Mode::Normal
            || self.answers.has_told_fallback.load(Ordering::Relaxed)
        {
            return Ok(());
        }
        let Some(reason) = self.fallback() else { return Ok(()) };
        self.answers.has_told_fallback.store(true, Ordering::Relaxed);
        journal.warn(format!("edits and commands ask first, as in mode `ask`: {reason}")).await
    }

    /// Returns true if doubts of hooks and of the loop itself are answered with yes (`--yes` or
    /// yolo mode). A ruling of the policy is not a doubt: if it asks, the user is asked.
    pub(crate) fn auto_approves(&self) -> bool {
        self.settings.approves_all || self.mode() == Mode::Yolo
    }

    pub(crate) fn recoveries(&self) -> MutexGuard<'_, Recoveries> {
        self.recoveries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs `work` where it may block. Returns none if the runtime is shutting down.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Some(done),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => None,
    }
}
