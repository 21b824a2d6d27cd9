//! Server-sent events.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| providers::oracles::sse(bytes));
