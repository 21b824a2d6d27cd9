//! How files are kept before calls change them, so that a user can take the changes back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::event::EventKind;
use crate::policy::{Access, Action};

/// What a call could do to files, as far as it is known before it runs.
#[derive(Clone, Debug)]
pub struct Effect {
    /// What it states.
    pub actions: Vec<Action>,
    /// What its processes may write.
    pub access: Access,
}

/// Keeps what files held. Blocks; what it returns is to be kept in the log.
pub trait Snapshots: Send + Sync {
    /// Keeps what such calls could change, before they run. Stops early once `cancel` fires.
    fn before(&self, calls: &[Effect], cancel: &CancellationToken) -> Vec<EventKind>;

    /// Says what has changed. Follows every [`Snapshots::before`], however the calls ended.
    fn after(&self) -> Vec<EventKind>;

    /// Says what changed in calls that were running when the program ended.
    fn recover(&self) -> Vec<EventKind>;
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedFile {
    /// Relative to the session's directory where it is below it.
    pub path: String,
    /// What happened to it.
    pub change: Change,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It was not there before.
    Created,
    /// It is different.
    Modified,
    /// It is gone.
    Deleted,
}

/// Which way changes went that a user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Back to what was before a turn.
    Undo,
    /// Forth again.
    Redo,
}
