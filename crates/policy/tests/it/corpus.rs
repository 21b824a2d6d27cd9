//! Replays the corpus of every target. A finding of the fuzzer is a file more.

use std::path::Path;

use crate::oracles;

/// Calls a target with every file of its directory.
fn replay(name: &str, target: fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let mut seen = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        target(&std::fs::read(entry.unwrap().path()).unwrap());
        seen += 1;
    }
    assert!(seen >= 10, "the corpus of {name} has {seen} files");
}

#[test]
fn shell_text_oracle_accepts_its_corpus() {
    replay("shell_text", oracles::shell_text);
}

#[test]
fn rule_and_path_oracle_accepts_its_corpus() {
    replay("rule_and_path", oracles::rule_and_path);
}

#[test]
fn host_oracle_accepts_its_corpus() {
    replay("host", oracles::host);
}

#[test]
fn terminal_text_oracle_accepts_its_corpus() {
    replay("terminal_text", oracles::terminal_text);
}
