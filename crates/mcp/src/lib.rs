//! The Model Context Protocol, both ways: servers of others become tools, prompts and resources
//! here, and our tools are offered to other agents.
//!
//! Servers are started by the sandbox under a profile of their own, at first use; what they offer
//! is kept and pinned, so that a start costs a few small files and a changed description is seen.
//! This crate decides nothing about permissions and reads neither environment nor working
//! directory; all of `rmcp` stays behind it.

mod catalog;
mod client_registry;
pub mod config;
mod connection;
mod failure;
pub mod frontend;
mod handler;
mod launch;
mod link;
pub mod name;
pub mod oauth;
mod pins;
mod private_file;
mod prompts;
mod question;
mod remote;
pub mod resources;
mod result;
mod schema;
pub mod serve;
mod servers;
mod settings;
mod tool;
mod user_prompt;

pub use client_registry::ClientRegistry;
pub use failure::Failure;
pub use launch::Surroundings;
pub use prompts::PromptCommand;
pub use remote::Resolver;
pub use servers::{ApprovedChanges, ServerStatus, Servers, State};
pub use settings::Settings;
pub use tool::approval_hint;
pub use user_prompt::UserPrompt;
