//! The SDKs: their own tests, against the program that was just built.

#![expect(clippy::disallowed_methods, reason = "the tests run as a user would run them")]

use std::io::Write as _;
use std::process::Command;

const SDK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sdk");

/// Runs a test command in the directory of an SDK. Says so if the machine lacks the program.
fn run_tests(directory: &str, program: &str, arguments: &[&str]) {
    let tests = Command::new(program)
        .args(arguments)
        .current_dir(format!("{SDK}/{directory}"))
        .env("BRYNHILD_BIN", env!("CARGO_BIN_EXE_brynhild"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output();
    let Ok(done) = tests else {
        let words = format!("SKIPPED: the tests of sdk/{directory} need {program}\n");
        std::io::stderr().write_all(words.as_bytes()).unwrap();
        return;
    };
    let said = [done.stdout, done.stderr].concat();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn python_sdk_passes_its_tests() {
    run_tests("python", "python3", &["-m", "unittest"]);
}

#[test]
fn javascript_sdk_passes_its_tests() {
    run_tests("typescript", "node", &["--test", "test/"]);
}
