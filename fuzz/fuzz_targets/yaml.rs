//! YAML from others.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| formats::oracles::yaml(bytes));
