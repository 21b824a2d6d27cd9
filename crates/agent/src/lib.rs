//! The loop: a prompt goes in, events come out, until the model has said its last word.
//!
//! It works on the traits of `contract` alone and names no tool, provider, store or front end.
//! [`conversation`] is the door; [`turn`] asks the model and runs its tools; [`tool_call`] is the
//! one order in which a call is judged and run; [`journal`] keeps and tells what happened;
//! [`transcript`] folds that into the history a model sees; [`nested`] holds a conversation within
//! a call of another.

mod account;
mod announced_action;
mod answers;
mod batch;
mod compact;
pub mod conversation;
mod hooks;
mod journal;
pub mod keys;
mod loop_detector;
pub mod nested;
#[cfg(any(test, fuzzing))]
pub mod oracles;
mod parent;
pub mod prompt;
mod prompt_fill;
mod recover;
pub mod registry;
mod reply;
pub mod retry;
mod round;
pub mod session;
pub mod settings;
mod snapshots;
mod tool_call;
pub mod transcript;
mod truncate;
mod turn;
mod turn_context;
