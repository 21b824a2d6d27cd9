//! The policy from outside: tables of commands, properties, and a corpus that must never panic.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod absent;
mod approvals;
mod bash;
mod brought;
#[cfg(unix)]
mod bytes;
mod corpus;
mod documents;
mod entered;
mod everyday;
mod files;
mod followed;
mod given_names;
mod hosts;
mod launching;
mod left_out;
mod links;
mod long;
mod looking;
mod maps;
mod oracles;
mod pathspecs;
mod patterns;
mod processes;
mod properties;
mod reached;
mod repositories;
mod rules;
mod rulings;
mod saying;
mod setting;
mod spellings;
mod stated;
mod sweeps;
mod table;
mod whereabouts;
