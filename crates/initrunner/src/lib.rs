//! Roles as InitRunner writes them: their files, their built-in tools, and the agents of other
//! programs that they delegate to. The program provides processes and HTTP through [`host`].

pub mod auto_skill;
pub mod autonomy;
pub mod builtin;
pub mod compose;
mod composed_run;
pub mod content_filter;
pub mod documents;
pub mod embeddings;
mod endpoint;
pub mod evals;
pub mod final_result;
mod flow;
pub mod host;
pub mod html;
pub mod member_run;
pub mod memory;
pub mod remote;
pub mod role;
mod routing;
pub mod session_hooks;
pub mod skill;
pub mod store;
pub mod task;
mod team;
pub mod variables;
mod vote;
