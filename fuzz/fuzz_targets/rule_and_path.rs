//! A rule for files and a path.

#![no_main]

#[expect(dead_code, reason = "each target calls one of them")]
#[path = "../../crates/policy/tests/it/oracles.rs"]
mod oracles;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oracles::rule_and_path(bytes));
