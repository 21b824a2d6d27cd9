//! The Python side's own tests, run with the standard library's test runner.

use std::path::Path;

#[test]
#[expect(clippy::disallowed_methods, reason = "the suite is a program of its own")]
fn the_python_suite_passes() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
    let done = std::process::Command::new("/usr/bin/env")
        .args(["python3", "-B", "-m", "unittest", "discover", "-s", "tests"])
        .current_dir(&directory)
        .output()
        .expect("the tests need `python3`");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}
