//! Replies of messages.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| providers::oracles::anthropic_reply(bytes));
