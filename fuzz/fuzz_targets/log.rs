//! Bytes in the place of a session.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sessions::oracles::log(bytes));
