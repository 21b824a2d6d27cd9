//! The policy from outside: tables of commands, properties, and a corpus that must never panic.

mod approvals;
mod corpus;
mod properties;
mod rules;
mod rulings;
mod setting;
mod table;
