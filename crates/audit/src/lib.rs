//! Records for later inspection: decisions about access, and the runs of roles with the calls that wait
//! for approval. Both are chained by hashes, so that a change is found.

pub mod decisions;
pub mod pending_calls;
pub mod runs;
pub mod security_event;
pub mod tasks;
