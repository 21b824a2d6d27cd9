//! YAML from others.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plugins::oracles::yaml(bytes));
