//! Replies of lines.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| providers::oracles::ollama_reply(bytes));
