//! Attacks on the sandbox, what must keep working inside it, and the lives of its processes.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod broker;
mod escapes;
mod lives;
mod plants;
mod probe;
mod reach;
mod rig;
mod usability;
mod users;
