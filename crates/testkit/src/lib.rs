//! Tools for tests: a scripted model server, a temporary project and home
//! that run the shipped executable, a terminal, unconfined processes, and snapshot filters.
//!
//! For tests only. A helper that finds something wrong panics with all it knows. Nothing here
//! depends on another part of the workspace but `contract`, so that every part may use it.

mod filters;
pub mod model_server;
pub mod picture;
mod plain;
pub mod project;
mod reply;
pub mod terminal;
mod wheel;
pub mod wire;

pub use filters::filters;
pub use model_server::{ModelServer, Recorded};
pub use plain::Plain;
pub use project::{Project, Run, Running};
pub use reply::Reply;
pub use terminal::Terminal;
pub use wheel::wheel;
