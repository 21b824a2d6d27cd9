//! Runs the Python of plugins: one confined worker for each plugin, started when it is first needed,
//! beside descriptions that are kept so that a start of the program runs no Python.
//!
//! A dialect says what a plugin is, what it may do and which of its files count, through
//! `contract::python`. Knowledge of foreign Python APIs lies in `python/`. Nothing here decides
//! whether a call may run.

mod adapter;
mod batch;
mod cache;
mod conversation;
mod describe;
mod description;
mod hash;
mod health;
mod host;
mod interpreter;
mod job;
mod lines;
#[cfg(any(test, fuzzing))]
pub mod oracles;
mod output;
mod payload;
mod provider;
mod reply;
mod session;
mod settings;
pub mod sites;
mod state;
#[cfg(test)]
mod tests;
mod tool;
mod traceback;
mod venv;
mod wire;
mod worker;
mod workers;

pub use description::{Described, ProviderDescription};
pub use host::Host;
pub use output::Listener;
pub use payload::write_stubs;
pub use provider::ProviderSettings;
pub use settings::{Missing, Settings, Tracebacks};
