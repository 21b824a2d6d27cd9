//! Builds the helper that raises the sandbox's walls, so that the program can carry it: a small
//! program is loaded in a fraction of the time that this one takes, and each command waits for it.

#![expect(clippy::disallowed_methods, reason = "cargo speaks to a build script by variables")]

use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() {
    for watched in ["sandbox", "contract"] {
        println!("cargo::rerun-if-changed=../{watched}/src");
        println!("cargo::rerun-if-changed=../{watched}/Cargo.toml");
    }
    println!("cargo::rerun-if-changed=../../Cargo.toml");
    println!("cargo::rerun-if-changed=../../Cargo.lock");
    println!("cargo::rerun-if-changed=build.rs");
    let out = env::var("OUT_DIR").expect("cargo says where to write");
    let helper = Path::new(&out).join("confine-helper");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        fs::copy(build(&Path::new(&out).join("helper")), helper)
    } else {
        fs::write(helper, "").map(|()| 0)
    }
    .expect("the helper can be written");
}

/// Builds it below `folder`, a target folder of its own: that of the build that runs this is locked.
fn build(folder: &Path) -> std::path::PathBuf {
    let target = env::var("TARGET").expect("cargo says for what it builds");
    let status = Command::new(env::var_os("CARGO").expect("cargo says where it is"))
        .args(["build", "--frozen", "--quiet", "--package", "sandbox", "--bin", "confine-helper"])
        .args(["--profile", "helper", "--target", &target, "--target-dir"])
        .arg(folder)
        // `cargo clippy` puts itself in the place of the compiler; there is nothing to lint here.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .status()
        .expect("cargo starts");
    assert!(status.success(), "the sandbox's helper could not be built");
    folder.join(target).join("helper").join("confine-helper")
}
