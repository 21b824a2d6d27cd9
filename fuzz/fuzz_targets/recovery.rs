//! Text in which calls are looked for.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| agent::oracles::recovery(bytes));
