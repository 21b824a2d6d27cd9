//! The helper program that the tests of this crate re-execute in place of the real binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().skip(2).collect();
    sandbox::helper_main(&args)
}
