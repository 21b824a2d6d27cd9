//! A host that a tool would talk to.

#![no_main]

#[expect(dead_code, reason = "each target calls one of them")]
#[path = "../../crates/policy/tests/it/oracles.rs"]
mod oracles;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oracles::host(bytes));
