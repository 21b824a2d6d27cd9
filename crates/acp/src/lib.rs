//! The Agent Client Protocol, version 1, over lines: editors hold conversations with this program.
//!
//! The binary implements [`host::Host`]; this crate speaks the protocol. Live events and the replay
//! of a stored session go through the same mapping, [`updates::Mapper`]. Nothing is delegated to
//! the client: neither terminals nor writes, which would go around the sandbox and the policy.

mod content;
pub mod host;
mod lines;
mod listing;
mod outcome;
mod peer;
mod permission;
mod server;
mod session;
mod tool_calls;
pub mod updates;
pub mod wire;

pub use server::serve;
