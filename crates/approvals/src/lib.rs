//! Permissions around the rules of a session: approvals that outlive it, tool names in rules,
//! policies that store approvals or change during a conversation, and a role's rules for the
//! arguments of its tools. The judge itself is passed in.

pub mod listing;
pub mod names;
pub mod remembered;
mod renewable;
pub mod role_guard;
mod rule_store;

pub use renewable::Renewable;
pub use rule_store::RuleStore;
