//! Lines of JSON-RPC.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| python_host::oracles::rpc_lines(bytes));
