//! Files with front matter.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plugins::oracles::frontmatter(bytes));
