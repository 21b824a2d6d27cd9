//! Trust in the files of a workspace that could run or redirect something. The user trusts the
//! bytes of these files, for one real path; the decision is stored outside the workspace. Nothing
//! in a workspace decides on it, and no file is interpreted before it is decided.

mod changed_guard;
mod changes;
mod command_lines;
pub mod process_check;
pub mod program;
pub mod project;
pub mod project_root;
pub mod review;
mod snapshot;
pub mod store;
mod surfaces;

/// The project's hook file, from its root.
pub const HOOKS: &str = ".brynhild/hooks.yaml";

/// The project's file of MCP servers, from its root.
pub const SERVERS: &str = ".mcp.json";
