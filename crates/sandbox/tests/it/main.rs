//! What profiles grant and withhold, the lives of processes, and git. Attacks are tried through
//! the shipped program, in the tests of `brynhild`.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod bounds;
mod fixed_files;
mod fixture;
mod git;
mod hosts;
mod processes;
mod protected_names;
mod usability;
mod users;
mod workers;
