//! Background commands of a session, as the loop sees them.

use async_trait::async_trait;

use crate::event::EventKind;

/// Background commands of a session. They outlive the turn that starts them and end with the session.
#[async_trait]
pub trait Jobs: Send + Sync {
    /// Waits for the next start or end of a command. Safe to cancel.
    async fn next_event(&self) -> EventKind;

    /// Stops all commands. Returns the starts and ends that nobody has taken.
    async fn end(&self) -> Vec<EventKind>;
}
