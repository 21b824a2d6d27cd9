//! The policy from outside: tables of commands, modes, approvals, properties, and a corpus that
//! must never panic.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod approvals;
mod bash;
mod corpus;
mod files;
mod modes;
mod oracles;
mod properties;
mod rules;
mod setting;
mod table;
