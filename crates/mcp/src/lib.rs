//! The Model Context Protocol, both ways: servers of others become tools, prompts and resources
//! here, and our tools are offered to other agents.
//!
//! Servers are started by the sandbox under a profile of their own, at first use; what they offer
//! is kept and pinned, so that a start costs a few small files and a changed description is seen.
//! This crate decides nothing about permissions and reads neither environment nor working
//! directory; all of `rmcp` stays behind it.

mod catalog;
mod client_handler;
mod client_registry;
pub mod config;
mod connection;
mod failure;
pub mod frontend;
mod http_client;
mod launch;
mod mutex;
pub mod oauth;
mod pins;
mod prompts;
mod question;
pub mod resource_tools;
mod sanitize;
pub mod serve;
mod server_state;
mod server_tool;
mod servers;
mod settings;
pub mod tool_name;
mod tool_result;
mod user_prompt;

pub use client_registry::ClientRegistry;
pub use failure::Failure;
pub use http_client::Resolver;
pub use launch::LaunchSettings;
pub use prompts::PromptCommand;
pub use server_tool::approval_hint;
pub use servers::{ApprovedChanges, CatalogState, ServerStatus, Servers};
pub use settings::Settings;
pub use user_prompt::UserPrompt;
