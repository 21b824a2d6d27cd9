//! How files are kept before calls change them, so that a user can take the changes back.

use tokio_util::sync::CancellationToken;

use crate::action::Action;
use crate::event::EventKind;
use crate::sandbox::Access;

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
