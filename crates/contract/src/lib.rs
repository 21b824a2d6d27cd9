//! The types and traits that all crates share: events, messages, tools, providers, policy, sandbox, log.
//!
//! This crate does no I/O and names no vendor.

pub mod action;
pub mod event;
pub mod hook;
pub mod id;
pub mod jobs;
pub mod log;
pub mod message;
pub mod policy;
pub mod prompt_lines;
pub mod provider;
pub mod python;
pub mod sandbox;
pub mod secret;
pub mod skill;
pub mod snapshots;
pub mod text;
pub mod tool;
pub mod trust_check;
