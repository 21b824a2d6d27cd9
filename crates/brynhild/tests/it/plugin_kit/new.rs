//! `plugin new`: the plugin works, and nothing is overwritten.

use super::{KINDS, new};
use crate::project;

#[test]
fn every_kind_passes_its_own_test() {
    let project = project();
    for kind in KINDS {
        let name = format!("my-{kind}");
        new(&project, &name, kind);
        let run = project.brynhild(&["plugin", "test", &name]);
        // On a busy machine, a server that starts slowly is announced.
        let mut lines = run.success().stderr.lines();
        assert!(lines.all(|line| line.starts_with("hint: waiting up to ")), "{kind}: {run}");
        assert!(run.stdout.contains(&format!("ok      tests/{name}\n")), "{kind}: {run}");
        let run = project.brynhild(&["plugin", "validate", &name]);
        assert!(run.success().stderr.is_empty(), "{kind}: {run}");
    }
    let home = std::fs::read_dir(project.home()).unwrap().count();
    assert!(home <= 1, "tests leave the home alone");
}

#[test]
fn plugin_new_prints_commands_that_work() {
    let project = project();
    for (kind, answer) in [
        ("tool", "Hello, Ann!"),
        ("hook", "pushing is left to the user"),
        ("command", "Explain src"),
        ("provider", "You said:"),
        ("agent", "my-agent:my-agent"),
        ("chibi", "HELLO"),
        ("mcp", "greet"),
    ] {
        let name = format!("my-{kind}");
        let run = new(&project, &name, kind);
        let commands: Vec<&str> =
            run.stdout.lines().filter_map(|it| it.strip_prefix("    ")).collect();
        assert_eq!(commands.len(), 3, "{run}");
        assert_eq!(commands[0], format!("brynhild plugin test {name}"));
        let words = shell_words(commands[1]);
        let run = project.brynhild(&words[1..]);
        assert!(run.stdout.contains(answer), "{kind}: {run}");
    }
}

/// The words of a command with single quotes.
fn shell_words(command: &str) -> Vec<String> {
    let parts = command.split('\'').enumerate();
    let words = parts.flat_map(|(index, part)| match index % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}

#[test]
fn plugin_new_overwrites_nothing_and_checks_names() {
    let project = project();
    project.file("taken/notes.txt", "mine");
    let run = project.brynhild(&["plugin", "new", "taken"]);
    assert!(run.code(2).stderr.contains("already exists and was not changed"), "{run}");
    assert_eq!(std::fs::read_dir(project.path().join("taken")).unwrap().count(), 1);
    for name in ["Bad Name", "../x", "1st", "a--b", "a/b", "a_b"] {
        let run = project.brynhild(&["plugin", "new", name]);
        assert!(run.code(2).stderr.contains("cannot be the name of a plugin"), "{run}");
    }
    let run = project.brynhild(&["plugin", "new", "fine", "--kind", "house"]);
    assert!(run.code(2).stderr.contains("tool, hook, command"), "{run}");
    let run = project.brynhild(&["plugin", "new", "fine", "--output", "sub", "--json"]);
    let files = run.success().json()["files"].as_array().unwrap().len();
    assert_eq!(files, 3);
    assert!(project.path().join("sub/fine/plugin.yaml").exists());
}

#[test]
fn every_kind_of_plugin_has_a_template() {
    let templates = plugin_kit::template::TEMPLATES.iter().map(|it| it.kind);
    assert!(templates.eq(args::PLUGIN_KINDS.iter().map(|(kind, _)| *kind)));
}
