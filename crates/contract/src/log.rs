//! The event log. `sessions` implements it; another store can.

use crate::event::Event;

/// The version of the log's format that this program writes.
pub const FORMAT: u32 = 1;

/// Why an event could not be kept.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the session log {path}: {source}")]
pub struct LogError {
    pub path: String,
    #[source]
    pub source: std::io::Error,
}

/// Keeps events.
pub trait Log: Send + Sync {
    /// Appends events in order. They survive the end of this program when this returns.
    fn append(&self, events: &[Event]) -> Result<(), LogError>;

    /// Waits until all that was appended is on disk. It survives the end of the power then.
    fn sync(&self) -> Result<(), LogError>;
}
