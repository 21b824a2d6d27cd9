//! What must hold whatever fails: kills at every system call, disks that fail or forget, replies
//! that are cut at every byte, machines without room. Tests look at samples; those that are ignored
//! look at everything and print how much that was:
//! `cargo test -p brynhild --test it faults:: -- --ignored --nocapture --test-threads 1`.

mod broken_homes;
pub(crate) mod clients;
mod concurrency;
mod errors;
mod hosts;
mod kills;
mod large;
mod limits;
mod panics;
mod power_cuts;
mod rows;
mod soak;
mod streams;
mod task;

use std::io::Write;

/// Tells how much was looked at, past the harness, which hides what passing tests print.
fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "FAULTS: {text}");
}

/// About `count` of these, spread evenly over all.
fn sample<T: Clone>(all: &[T], count: usize) -> Vec<T> {
    let step = (all.len() / count.max(1)).max(1);
    all.iter().step_by(step).cloned().collect()
}
