//! Notations that several crates read or write: text in, values out. Nothing here reads a file,
//! starts a process or knows another crate of the workspace.

pub mod address;
pub mod frontmatter;
#[cfg(any(test, fuzzing))]
pub mod oracles;
pub mod pattern;
pub mod percent;
pub mod python;
pub mod schema;
pub mod shell;
pub mod template;
pub mod yaml;
