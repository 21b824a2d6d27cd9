//! Copies of files from before calls change them, for undo.

use tokio_util::sync::CancellationToken;

use crate::action::Action;
use crate::event::EventKind;
use crate::sandbox::Access;

/// The possible effect of a call on files, as known before it runs.
#[derive(Clone, Debug)]
pub struct Effect {
    pub actions: Vec<Action>,
    /// Write access of its processes.
    pub access: Access,
}

/// Stores file content. Blocks; the returned events belong in the log.
pub trait Snapshots: Send + Sync {
    /// Stores the files that such calls could change, before they run. Stops early once `cancel` fires.
    fn before(&self, calls: &[Effect], cancel: &CancellationToken) -> Vec<EventKind>;

    /// Reports the changes. Follows every [`Snapshots::before`], however the calls ended.
    fn after(&self) -> Vec<EventKind>;

    /// Reports the changes of calls that were running when the program ended.
    fn recover(&self) -> Vec<EventKind>;
}
