//! Replies of chat completions.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| providers::oracles::openai_reply(bytes));
