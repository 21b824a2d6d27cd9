//! A prompt or an answer of a role that was refused.

use rusqlite::Row;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SecurityEvent {
    pub agent_name: String,
    /// The reason.
    pub details: String,
    pub event_type: String,
    pub timestamp: String,
}

impl SecurityEvent {
    /// Reads the columns time, type, agent and reason.
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let (timestamp, event_type) = (row.get(0)?, row.get(1)?);
        Ok(Self { agent_name: row.get(2)?, details: row.get(3)?, event_type, timestamp })
    }

    /// The time to the second, the type, the agent and the reason.
    pub fn row(&self) -> [String; 4] {
        let at = self.timestamp.chars().take(19).collect();
        [at, self.event_type.clone(), self.agent_name.clone(), self.details.clone()]
    }
}
