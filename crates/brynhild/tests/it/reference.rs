//! Reference pages that are generated from the program. `UPDATE=1` rewrites them.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::project;

fn check(name: &str, current: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    #[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
    let update = std::env::var_os("UPDATE").is_some();
    if update {
        std::fs::write(&path, current).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == current,
        "docs/{name} is stale; run `UPDATE=1 cargo test -p brynhild reference`"
    );
}

#[test]
fn the_schema_of_events_is_published() {
    let run = project().brynhild(&["schema"]);
    run.success();
    check("reference/events.schema.json", &run.stdout);
}

#[test]
fn command_reference_equals_the_help() {
    let project = project();
    let mut page = String::from(
        "# Commands\n\nThe output of `--help`, for every command. All commands accept the options of the \
         first one, except those of `chat`, before and after the command's name.\n",
    );
    // Each command, then its own.
    let mut commands = vec![String::new()];
    while let Some(command) = commands.pop() {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let run = project.brynhild(&words);
        run.success();
        let help = run.stdout.trim_end();
        let title = format!("brynhild {command}");
        writeln!(page, "\n## {}\n\n```text\n{help}\n```", title.trim()).unwrap();
        let own: Vec<String> =
            subcommands(&run.stdout).map(|it| format!("{command} {it}")).collect();
        commands.extend(own.into_iter().rev());
    }
    check("reference/cli.md", &page);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the page is written by Python's own parser")]
fn python_reference_equals_the_docstrings() {
    let shims = Path::new(env!("CARGO_MANIFEST_DIR")).join("../python-host/python/shim");
    let script = include_str!("reference/python_api.py");
    let run = Command::new("python3").args(["-I", "-c", script]).arg(shims).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    check("reference/python-api.md", &String::from_utf8(run.stdout).unwrap());
}

/// The names in the list of commands of a help text.
fn subcommands(help: &str) -> impl Iterator<Item = &str> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = list.take_while(|line| !line.is_empty());
    let names = names.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help")
}

#[test]
fn completions_and_the_manual_are_generated() {
    let project = project();
    for shell in ["bash", "zsh", "fish"] {
        let run = project.brynhild(&["completions", shell]);
        run.success();
        assert!(run.stdout.contains("brynhild"), "{shell}");
    }
    let manual = project.brynhild(&["man"]);
    manual.success();
    assert!(manual.stdout.contains(".TH"), "{}", manual.stdout);
}
