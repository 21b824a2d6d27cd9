//! Attacks by names: files named like commands, options, escapes and other lines.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use serde_json::json;
use testkit::{ModelServer, Project, Reply};

use super::exec;
use crate::{project, project_with};

/// Files whose names would do something if anything but a file system saw them.
fn strange(project: &Project) {
    let names: [&[u8]; 10] = [
        b"$(touch fooled).rs",
        b"`touch fooled`.rs",
        b"-x",
        b"--output=fooled",
        b"a;touch fooled",
        b"a\ntouch fooled",
        b"\xff.rs",
        b"a|touch fooled",
        b"'; touch fooled; '",
        b"\x1b]0;owned\x07\x1b[2J.rs",
    ];
    for name in names {
        fs::write(project.path().join(OsStr::from_bytes(name)), "needle\n").unwrap();
    }
}

#[test]
fn names_are_never_run_or_parsed_as_options() {
    let project = project();
    strange(&project);
    for (tool, input) in [
        ("Glob", json!({"pattern": "*"})),
        ("Glob", json!({"pattern": "--files-from=/etc/passwd"})),
        ("Grep", json!({"pattern": "needle"})),
        ("Grep", json!({"pattern": "--pre=sh"})),
        ("Grep", json!({"pattern": "needle", "path": "-x"})),
        ("Grep", json!({"pattern": "needle", "glob": "--pre=touch fooled"})),
        ("Read", json!({"file_path": "$(touch fooled).rs"})),
        ("Read", json!({"file_path": "-x"})),
        ("Inspect", json!({"operation": "ls", "path": "."})),
        ("Write", json!({"file_path": "$(touch fooled2).rs", "content": "x"})),
    ] {
        let run = exec(&project, tool, &input);
        assert!(!run.stdout.contains('\x1b') && !run.stderr.contains('\x1b'), "{tool}: {run}");
    }
    for name in ["fooled", "fooled.rs", "fooled2"] {
        assert!(!project.path().join(name).exists(), "{name}");
    }
}

#[test]
fn names_and_texts_cannot_control_the_terminal() {
    let evil = "\x1b]0;owned\x07\x1b[2J\x1b]52;c;aGk=\x07\x1b[6n\u{9b}31m\u{202e}";
    let server = ModelServer::start([
        Reply::calls([("Glob", json!({"pattern": "*"}))]),
        Reply::text(format!("text {evil} end")),
    ]);
    let project = project_with(&server);
    strange(&project);
    let run = project.brynhild(&["chat", &format!("look {evil}")]);
    run.success();
    let printed = format!("{}{}", run.stdout, run.stderr);
    let listed = project.brynhild(&["session", "list"]);
    let all = format!("{printed}{}{}", listed.stdout, listed.stderr);
    for bad in ['\x1b', '\x07', '\u{9b}', '\u{202e}'] {
        assert!(!all.contains(bad), "{bad:?} is printed: {all:?}");
    }
}

#[test]
fn addresses_in_texts_are_not_fetched() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let text = format!(
        "![x](http://{address}/?k=1) <img src=\"http://{address}/2\"> [docs](http://{address}/3)\n\
         {{\"$schema\": \"http://{address}/4\"}}"
    );
    let server = ModelServer::start([Reply::text(text)]);
    let project = project_with(&server);
    let terminal = project.terminal(&["chat", "show"], (100, 30));
    assert_eq!(terminal.wait_for_end(), Some(0));
    let connection = listener.accept();
    assert!(connection.is_err(), "somebody connected: {connection:?}");
    assert!(!terminal.output().contains("\x1b]8;"), "{:?}", terminal.output());
}

#[test]
fn repository_names_cannot_control_the_terminal() {
    let evil = "s\x1b]52;c;UFdO\x07\x1b[31m\u{202e}";
    let project = project();
    let inner = project.path().join(evil);
    let skill = inner.join(".brynhild/skills").join(evil);
    std::fs::create_dir_all(&skill).unwrap();
    std::fs::create_dir(inner.join(".git")).unwrap();
    std::fs::write(skill.join("SKILL.md"), "---\nname: s1\ndescription: d\n---\nbody\n").unwrap();
    let aliases = "models: {aliases: {\"q\\e]52;c;UFdO\\a\": \"z\\e[31m\\u202e\"}}\n";
    std::fs::write(inner.join(".brynhild/config.yaml"), aliases).unwrap();
    for args in [
        &["skill", "show", "s1"][..],
        &["models", "aliases"],
        &["plugin", "new", "one", "--kind", "skill"],
        &["mcp", "add", "--scope", "project", "m", "--", "/bin/true"],
        &["mcp", "remove", "m"],
    ] {
        let run = project.command(args).cwd(&inner).run();
        run.success();
        let is_alive = |c: char| c != '\n' && contract::text::is_hidden(c);
        assert!(!run.stdout.contains(is_alive) && !run.stderr.contains(is_alive), "{run}");
        assert!(run.stdout.contains("\\u{1b}]52;c;UFdO"), "{args:?}: {run}");
    }
}
