//! The packages of `dist/build`: each is installed into an empty directory and runs the demo.

#![expect(clippy::disallowed_methods, reason = "installers run as a user would run them")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::Project;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn every_package_installs_a_program_that_runs_the_demo() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let packages = directory.path().join("packages");
    let mut build = Command::new(format!("{ROOT}/dist/build"));
    build.args(["--level", "1", "--binary"]).arg(stripped(directory.path()));
    run(build.arg("--output").arg(&packages));
    for (suffix, install) in INSTALLERS {
        let package = package_ending_in(&packages, suffix);
        let empty = directory.path().join(suffix);
        std::fs::create_dir(&empty).unwrap();
        let Some(program) = install(&package, &empty) else {
            let words =
                format!("SKIPPED: {}, which this machine cannot install\n", package.display());
            std::io::stderr().write_all(words.as_bytes()).unwrap();
            continue;
        };
        let run = Project::with_binary(program).brynhild(&["demo"]);
        assert!(run.success().stdout.starts_with("The tests pass."), "{suffix}: {run}");
        std::fs::remove_dir_all(&empty).unwrap();
    }
}

/// A copy of the program without debug information, which is most of it and slow to compress; the
/// program itself if this machine cannot remove it.
fn stripped(directory: &Path) -> PathBuf {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_brynhild"));
    if !is_installed("strip") {
        return program;
    }
    let copy = directory.join("brynhild");
    run(Command::new("strip").arg("-o").arg(&copy).arg(program));
    copy
}

/// Installs a package into an empty directory and returns the path of the program; none if this
/// machine lacks the installer.
type Install = fn(&Path, &Path) -> Option<PathBuf>;

const INSTALLERS: [(&str, Install); 4] =
    [(".tar.gz", unpack), (".deb", unpack_deb), (".whl", install_wheel), (".tgz", install_npm)];

fn unpack(package: &Path, directory: &Path) -> Option<PathBuf> {
    if !is_installed("tar") {
        return None;
    }
    let mut tar = Command::new("tar");
    run(tar.arg("-xzf").arg(package).arg("-C").arg(directory).args(["--strip-components", "1"]));
    for path in ["man/man1/brynhild.1", "bash-completion/completions/brynhild"] {
        assert!(directory.join("share").join(path).exists(), "{path}");
    }
    Some(directory.join("bin/brynhild"))
}

fn unpack_deb(package: &Path, directory: &Path) -> Option<PathBuf> {
    is_installed("dpkg-deb").then(|| {
        run(Command::new("dpkg-deb").arg("-x").arg(package).arg(directory));
        let fields = output(Command::new("dpkg-deb").arg("-f").arg(package));
        assert!(fields.contains("Recommends: bubblewrap, python3"), "{fields}");
        directory.join("usr/bin/brynhild")
    })
}

fn install_wheel(package: &Path, directory: &Path) -> Option<PathBuf> {
    let made = Command::new("python3").args(["-m", "venv"]).arg(directory).output().unwrap();
    made.status.success().then(|| {
        let mut pip = Command::new(directory.join("bin/pip"));
        run(pip.args(["install", "--no-index", "--quiet"]).arg(package));
        directory.join("bin/brynhild")
    })
}

fn install_npm(package: &Path, directory: &Path) -> Option<PathBuf> {
    is_installed("npm").then(|| {
        let mut npm = Command::new("npm");
        npm.args([
            "install",
            "--global",
            "--offline",
            "--no-audit",
            "--no-update-notifier",
            "--prefix",
        ]);
        run(npm.arg(directory).arg(package).env("HOME", directory));
        directory.join("bin/brynhild")
    })
}

fn package_ending_in(packages: &Path, suffix: &str) -> PathBuf {
    let entries = std::fs::read_dir(packages).unwrap().map(|entry| entry.unwrap().path());
    let mut found = entries.filter(|path| path.to_str().unwrap().ends_with(suffix));
    found.next().unwrap_or_else(|| panic!("no package ends in {suffix}"))
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

fn run(command: &mut Command) {
    output(command);
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}
