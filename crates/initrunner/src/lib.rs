//! Roles as InitRunner writes them: their files, their built-in tools, and the agents of other
//! programs that they delegate to. The program provides processes and HTTP through [`host`].

pub mod audit;
pub mod auto_skill;
pub mod builtin;
pub mod documents;
pub mod embeddings;
pub mod evals;
pub mod final_result;
pub mod host;
mod html;
pub mod memory;
mod python_text;
pub mod remote;
pub mod role;
pub mod skill;
pub mod store;
pub mod variables;
