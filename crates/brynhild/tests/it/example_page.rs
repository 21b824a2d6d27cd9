//! `examples/README.md` names every example, and its commands print what it shows. `UPDATE=1` writes
//! what they print.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use testkit::Project;

use crate::project;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").canonicalize().unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The page with the output of each command behind it.
fn played(page: &str, project: &Project) -> String {
    let mut played = String::new();
    let mut is_output = false;
    for line in page.lines() {
        if let Some(command) = line.strip_prefix("$ brynhild ") {
            let args = shlex::split(command).unwrap_or_else(|| panic!("{command}"));
            let run = project.brynhild(&args);
            let shown =
                run.success().stdout.replace(&project.path().display().to_string(), "PROJECT");
            writeln!(played, "{line}\n{}", shown.trim_end()).unwrap();
            is_output = true;
            continue;
        }
        is_output &= line != "```";
        if !is_output {
            writeln!(played, "{line}").unwrap();
        }
    }
    played
}

#[test]
fn example_page_shows_what_commands_print() {
    let project = project();
    copy(&examples(), &project.path().join("examples"));
    fs::create_dir_all(project.path().join(".git")).unwrap();
    project.file("notes.txt", "one\ntwo\n");
    let file = examples().join("README.md");
    let page = fs::read_to_string(&file).unwrap();
    let played = played(&page, &project);
    #[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
    let update = std::env::var_os("UPDATE").is_some();
    if update {
        fs::write(file, played).unwrap();
    } else {
        assert_eq!(page, played, "run `UPDATE=1 cargo test -p brynhild example_page`");
    }
}

#[test]
fn example_page_names_every_example() {
    let page = fs::read_to_string(examples().join("README.md")).unwrap();
    for kind in ["agents", "config", "plugins", "roles", "scenarios", "sdk", "skills"] {
        for entry in fs::read_dir(examples().join(kind)).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            assert!(page.contains(&name), "{kind}/{name}");
        }
    }
}
