//! Builds the helper that raises the sandbox's walls, so that the program can carry it: a small
//! program is loaded in a fraction of the time that this one takes, and each command waits for it.

#![expect(clippy::disallowed_methods, reason = "cargo speaks to a build script by variables")]

use std::path::{Path, PathBuf};
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
    let is_linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    match is_linux.then(|| build(&Path::new(&out).join("helper"))).flatten() {
        Some(built) => fs::copy(built, helper).map(drop),
        // Without one the program itself is its helper.
        None => fs::write(helper, ""),
    }
    .expect("the helper can be written");
}

/// Builds it below `directory`, a target directory of its own: that of the build that runs this is locked.
fn build(directory: &Path) -> Option<PathBuf> {
    let target = env::var("TARGET").expect("cargo says for what it builds");
    // It takes its time to make it small, which only the program that is handed out needs.
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let profile = if is_release { "helper" } else { "quick-helper" };
    let build = |lock: &str| {
        Command::new(env::var_os("CARGO").expect("cargo says where it is"))
            .args(["build", lock, "--quiet", "--package", "sandbox", "--bin", "confine-helper"])
            .args(["--profile", profile, "--target", &target, "--target-dir"])
            .arg(directory)
            // `cargo clippy` puts itself in the place of the compiler; there is nothing to lint here.
            .env_remove("RUSTC_WORKSPACE_WRAPPER")
            .status()
            .is_ok_and(|status| status.success())
    };
    // As a rule all that it needs was fetched for this build. `cargo install` without `--locked` takes
    // other versions than the lock file names, and those are fetched here.
    if build("--frozen") || build("--locked") {
        return Some(directory.join(&target).join(profile).join("confine-helper"));
    }
    println!(
        "cargo::warning=the sandbox's helper could not be built, so that each confined command starts \
         about 2 ms later; build with `--locked`"
    );
    None
}
