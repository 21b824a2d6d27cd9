//! Conversations over HTTP: routes, event streams and the page for browsers.
//!
//! The binary implements [`host::Host`], which opens conversations and reads stored sessions. This
//! crate serves them: one room for each session, which several clients share. A client reads events
//! as a stream that begins with the log, so that no client misses an event, and a client that reads
//! slowly is dropped and resumes; the agent never waits for it. Requests come from programs and from
//! browsers, in which other pages try to reach this machine too, so `guard` checks each one.
//!
//! A second kind of server offers roles as models: the binary implements [`role_host::RoleHost`].

mod answers;
pub mod attach;
mod body;
mod completion;
mod credentials;
mod fold;
mod frames;
mod guard;
pub mod host;
mod hub;
mod listen;
mod markdown;
mod openai;
mod page;
mod queue;
mod replay;
mod reply;
pub mod role_host;
mod role_server;
mod room;
mod routes;
mod service;
mod session_routes;
pub mod share;

pub use credentials::Token;
pub use listen::{Address, Options, serve};
pub use role_server::{RoleServerOptions, RoleServerSettings, serve_roles};
