//! Edits of a good session.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sessions::oracles::edited_log(bytes));
