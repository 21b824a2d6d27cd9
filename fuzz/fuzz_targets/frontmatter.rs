//! Files with front matter.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| formats::oracles::frontmatter(bytes));
