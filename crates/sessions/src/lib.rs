//! The event log and what is derived from it.
//!
//! A session is one append-only file of checksummed records, one event a line; that file is the
//! only truth. Summaries, the index, search hits, exports and statistics are folds over it and can
//! be thrown away at any time. A writer holds the session's lock for as long as the log is open,
//! and an event counts as kept only when it is on disk. Nothing here rewrites what was kept:
//! damage is skipped and reported, a torn tail is closed off, and both stay in the file.
//!
//! `conversation_log` is a second, separate record for people and their scripts; nothing is ever
//! restored from it.

pub mod conversation_log;
mod disk;
pub mod earlier;
pub mod error;
pub mod export;
mod index;
pub mod log;
mod markdown;
pub mod messages;
#[cfg(any(test, fuzzing))]
pub mod oracles;
pub mod reader;
mod record;
pub mod search;
pub mod snapshots;
pub mod store;
pub mod summary;
pub mod tool_statistics;
pub mod unsaved;

#[cfg(test)]
#[path = "tests/samples.rs"]
mod samples;
