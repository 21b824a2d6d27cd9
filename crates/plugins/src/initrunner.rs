//! Tools and roles as InitRunner writes them. Runs nothing of a role.

pub mod builtin;
pub mod custom;
pub mod final_result;
pub mod guard;
pub mod registry;
pub mod remote;
pub mod role;
pub mod skill;
pub mod variables;
