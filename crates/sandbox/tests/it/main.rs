//! What profiles grant and withhold, the lives of processes, and git. Attacks are tried through
//! the shipped program, in the tests of `brynhild`.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod bounds;
mod fixed;
mod git;
mod hosts;
mod lives;
mod plants;
mod rig;
mod usability;
mod users;
mod workers;
