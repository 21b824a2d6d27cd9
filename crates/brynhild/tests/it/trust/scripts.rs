//! Trust covers what command lines run, wherever it lies in the project: also where it changes after
//! the decision, before a start or while a session goes on.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use testkit::{ModelServer, Project, Reply};

use super::trust;
use crate::{has_bubblewrap, project, project_with};

const SERVER: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/server.py"));

fn executable(project: &Project, path: &str, text: &str) {
    project.file(path, text);
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(project.path().join(path), mode).unwrap();
}

/// Adds hooks of all kinds, each with a script of the project behind it.
fn hooks(project: &Project) {
    executable(project, "h.sh", "#!/bin/sh\n. ./lib.sh\ntouch ran-command\n");
    project
        .file("lib.sh", "true\n")
        .file("h2.py", "import side\nopen('ran-script', 'w').close()\n")
        .file("side.py", "")
        .file(
            ".brynhild/hooks.yaml",
            "hooks:\n  session_start:\n    - {name: a, type: command, command: ./h.sh}\n    \
             - {name: b, type: script, script: ../h2.py}\n",
        );
}

fn ran(project: &Project) -> (bool, bool) {
    let ran = |name: &str| fs::remove_file(project.path().join(name)).is_ok();
    (ran("ran-command"), ran("ran-script"))
}

/// A project with a hook and files, all of them trusted.
fn trusted(command: &str, files: &[(&str, &str)]) -> testkit::Project {
    let project = project();
    let hook = json!({"name": "a", "type": "command", "command": command});
    let hooks = json!({"hooks": {"session_start": [hook]}});
    project.file(".brynhild/hooks.yaml", hooks.to_string());
    for (path, text) in files {
        project.file(path, text);
    }
    trust(&project);
    project.brynhild(&["--require-trust", "hooks", "list"]).success();
    project
}

#[test]
fn a_change_of_a_script_takes_the_trust_in_the_hooks_that_run_it() {
    let project = project();
    hooks(&project);
    trust(&project);
    let question = project.brynhild(&["trust"]);
    for name in ["h.sh", "lib.sh", "h2.py", "side.py"] {
        assert!(question.stderr.contains(name) || question.stdout.contains(name), "{question}");
    }
    project.brynhild(&["hooks", "test", "session_start"]).success();
    assert_eq!(ran(&project), (true, true));
    for name in ["h.sh", "lib.sh", "h2.py", "side.py"] {
        let before = project.read(name);
        project.file(name, format!("{before}\n"));
        let run = project.brynhild(&["hooks", "test", "session_start"]);
        assert_eq!(ran(&project), (false, false), "{name}");
        assert!(run.stderr.contains("it changed since you decided on it"), "{run}");
        project.brynhild(&["--require-trust", "hooks", "list"]).code(3);
        let shown = project.brynhild(&["trust", "--json"]);
        assert!(shown.stdout.contains(&format!("\"{name}\"")), "{shown}");
        project.file(name, before);
    }
    project.file("other.sh", "true");
    project.brynhild(&["hooks", "test", "session_start"]).success();
    assert_eq!(ran(&project), (true, true), "what no command line names is of no account");
}

#[test]
fn a_change_of_a_server_s_script_takes_the_trust_in_it() {
    let project = project();
    project.file("server.py", SERVER);
    let path = project.path().canonicalize().unwrap().join("server.py");
    let servers = json!({"mcpServers": {"m": {"command": "python3", "args": [path]}}});
    project.file(".mcp.json", servers.to_string());
    trust(&project);
    project.brynhild(&["mcp", "test", "m"]).success();
    project.file("server.py", format!("{SERVER}\nopen('ran', 'w')\n"));
    let run = project.brynhild(&["mcp", "test", "m"]);
    assert_ne!(run.status.code(), Some(0), "{run}");
    assert!(run.stderr.contains("it changed since you decided on it"), "{run}");
}

#[test]
fn a_script_that_the_model_changes_does_not_run_in_the_same_session() {
    let write = json!({"command": "printf '\\ntouch evil\\n' >> h.sh"});
    let server = ModelServer::start([
        Reply::calls([("Bash", write)]),
        Reply::calls([("Bash", json!({"command": "true"}))]),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    executable(&project, "h.sh", "#!/bin/sh\ntouch ran\n");
    let hook = "hooks:\n  post_tool_use:\n    - {name: a, type: command, command: ./h.sh}\n";
    project.file(".brynhild/hooks.yaml", hook);
    trust(&project);
    let run = project.brynhild(&["chat", "--yes", "--mode", "yolo", "go"]);
    assert!(!project.path().join("evil").exists(), "{run}");
    assert!(run.stderr.contains("`h.sh` changed since you trusted it"), "{run}");
}

#[test]
fn a_module_that_the_model_puts_beside_a_script_is_not_loaded_in_the_same_session() {
    let write = json!({"command": "echo \"open('evil', 'w')\" > t/signal.py"});
    let server = ModelServer::start([
        Reply::calls([("Bash", write)]),
        Reply::calls([("Bash", json!({"command": "true"}))]),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    project.file("t/x.py", "import subprocess\nopen('ran', 'w')\n");
    let hook = "hooks:\n  pre_tool_use:\n    - {name: a, type: command, command: python3 t/x.py}\n";
    project.file(".brynhild/hooks.yaml", hook);
    trust(&project);
    let run = project.brynhild(&["chat", "--yes", "--mode", "yolo", "go"]);
    assert!(!project.path().join("evil").exists(), "{run}");
    assert!(run.stderr.contains("`t/signal.py` came to scripts that you trust"), "{run}");
}

/// Exchanges two files all the time, until it is told to stop.
fn exchanging(one: std::path::PathBuf, other: std::path::PathBuf) -> impl FnOnce() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let told = std::sync::Arc::clone(&stop);
    let thread = std::thread::spawn(move || {
        while !told.load(std::sync::atomic::Ordering::Relaxed) {
            renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            std::thread::yield_now();
        }
    });
    move || {
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        thread.join().unwrap();
    }
}

#[test]
fn a_script_that_is_exchanged_all_the_time_never_runs_as_another() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    executable(&project, "h.sh", "#!/bin/sh\ntouch good\n");
    executable(&project, "evil.sh", "#!/bin/sh\n: > evil\n");
    let hook = "hooks:\n  session_start:\n    - {name: a, type: command, command: ./h.sh}\n";
    project.file(".brynhild/hooks.yaml", hook);
    trust(&project);
    project.brynhild(&["hooks", "test", "session_start"]).success();
    assert!(project.path().join("good").exists(), "what is trusted runs");
    let stop = exchanging(project.path().join("h.sh"), project.path().join("evil.sh"));
    for _ in 0..20 {
        let run = project.brynhild(&["hooks", "test", "session_start"]);
        assert!(!project.path().join("evil").exists(), "{run}");
    }
    stop();
}

#[test]
fn what_a_command_line_leads_to_by_folders_options_and_variables_is_covered_and_the_rest_is_told() {
    type Files<'a> = &'a [(&'a str, &'a str)];
    let shapes: &[(&str, Files<'_>, &str)] = &[
        ("run-parts hooks.d", &[("hooks.d/a", "#!/bin/sh\n")], "hooks.d/a"),
        ("node .", &[("package.json", "{\"main\": \"m.js\"}"), ("m.js", "")], "m.js"),
        ("perl -Ilib -MY -e1", &[("lib/Y.pm", "1;")], "lib/Y.pm"),
        ("git -c alias.z='!./x.sh' z", &[("x.sh", "")], "x.sh"),
        (
            "bash x.sh",
            &[("x.sh", "for m in a b; do . lib/$m.sh; done"), ("lib/b.sh", "")],
            "lib/b.sh",
        ),
        (
            "node x.js",
            &[
                ("x.js", "readdirSync(\"lib\").forEach(f => require(\"./lib/\" + f))"),
                ("lib/y.js", ""),
            ],
            "lib/y.js",
        ),
    ];
    for (command, files, changed) in shapes {
        let project = trusted(command, files);
        let before = project.read(changed);
        project.file(changed, format!("{before}\n"));
        project.brynhild(&["--require-trust", "hooks", "list"]).code(3);
    }
    let project = project();
    project.file(
        ".brynhild/hooks.yaml",
        "hooks:\n  session_start:\n    - {name: a, type: command, command: cargo run}\n",
    );
    let shown = project.brynhild(&["trust", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["unfollowed"][0]["command"], "cargo run", "{shown}");
}

#[test]
fn a_change_of_what_a_script_loads_asks_again_whatever_it_looks_like() {
    type Files<'a> = &'a [(&'a str, &'a str)];
    let shapes: &[(&str, Files<'_>, &str)] = &[
        ("sh h.sh", &[("h.sh", ". ./sub/lib"), ("sub/lib", "true")], "sub/lib"),
        ("sh t/h.sh", &[("t/h.sh", ". \"$here/lib\""), ("t/lib", "true")], "t/lib"),
        ("sh h.sh", &[("h.sh", "bash -e steps < notes.txt"), ("steps", "true")], "steps"),
        ("sh h.sh", &[("h.sh", "xargs -a cmds sh -c"), ("cmds", "true")], "cmds"),
        ("sh h.sh", &[("h.sh", "xargs -I{} sh -c {} < cmds"), ("cmds", "true")], "cmds"),
        ("sh h.sh", &[("h.sh", "find c -type f -exec sh {} +"), ("c/d/a", "true")], "c/d/a"),
        ("find c -type f -exec sh '{}' +", &[("c/a", "true")], "c/a"),
        ("make -s", &[("Makefile", "-include guard.conf\n"), ("guard.conf", "a:\n")], "guard.conf"),
        ("perl x.pl", &[("x.pl", "do \"./cfg\";"), ("cfg", "1;")], "cfg"),
        ("sh h.sh", &[("h.sh", "NODE_OPTIONS=\"-r ./pre\" node x"), ("pre", "1")], "pre"),
        ("PYTHONPATH=$PWD/v.zip python3 h.py", &[("h.py", "import a"), ("v.zip", "PK")], "v.zip"),
        ("python3 h.py", &[("h.py", "sys.path.insert(0, 'v.zip')"), ("v.zip", "PK")], "v.zip"),
        ("sh h.sh", &[("h.sh", "java -jar t/c.jar"), ("t/c.jar", "PK")], "t/c.jar"),
        (
            "node x.js",
            &[("x.js", "runInThisContext(read('code.txt'))"), ("code.txt", "1")],
            "code.txt",
        ),
        (
            "perl -Ilib x.pl",
            &[("x.pl", "use Foo::Bar;"), ("lib/Foo/Bar.pm", "1;")],
            "lib/Foo/Bar.pm",
        ),
        (
            "node test/a.js",
            &[
                ("test/a.js", "require('..')"),
                ("package.json", r#"{"main": "deep/y.js"}"#),
                ("deep/y.js", "1"),
            ],
            "deep/y.js",
        ),
        ("node a.js", &[("a.js", "require('./')"), ("index.js", "1")], "index.js"),
    ];
    for (command, files, changed) in shapes {
        let project = trusted(command, files);
        project.file("notes.txt", "x");
        project.brynhild(&["--require-trust", "hooks", "list"]).success();
        project.file(changed, "exit 0");
        let run = project.brynhild(&["--require-trust", "hooks", "list"]);
        assert_eq!(run.status.code(), Some(3), "{command}: {changed}");
    }
}

#[test]
fn what_a_project_s_own_commands_run_is_shown_and_covered() {
    for (path, text) in [
        (".claude/commands/a.md", "Look:\n\n```!\nsh tools/see.sh\n```\n"),
        (".claude/commands/a.md", "Look: !`sh tools/see.sh`\n"),
        (".brynhild/commands/a.md", "---\nname: aa\ndescription: d\nrun: sh tools/see.sh\n---\n"),
    ] {
        let project = project();
        project.file(path, text).file("tools/see.sh", "echo good\n");
        let shown = project.brynhild(&["trust", "--json"]);
        let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
        assert!(shown["commands"].to_string().contains("sh tools/see.sh"), "{path}: {shown}");
        assert!(shown["files"].to_string().contains("\"tools/see.sh\""), "{path}: {shown}");
    }
}

#[test]
fn what_comes_to_a_trusted_script_and_could_run_in_it_asks_again() {
    type Files<'a> = &'a [(&'a str, &'a str)];
    let shapes: &[(&str, Files<'_>, &str)] = &[
        ("python3 t/x.py", &[("t/x.py", "import json")], "t/json.pyc"),
        ("python3 -c 'import subprocess'", &[], "signal.py"),
        ("python3 -m t.x", &[("t/x.py", "import argparse")], "gettext.py"),
        ("python3 t/x.py", &[("t/x.py", "import subprocess")], "t/signal.py"),
        ("python3 t/x.py", &[("t/x.py", "import argparse")], "t/gettext/__init__.py"),
        ("python3 t/x.py", &[("t/x.py", "import pickle")], "t/org/python/core.py"),
        (
            "PYTHONPATH=vend python3 t/x.py",
            &[("t/x.py", ""), ("vend/other.py", "")],
            "vend/sitecustomize.py",
        ),
        (
            "node t/x.js",
            &[("t/x.js", "try { require('leftpad') } catch (e) {}")],
            "t/node_modules/leftpad/index.js",
        ),
        ("npm run -s chk", &[("package.json", r#"{"scripts": {"chk": "true"}}"#)], ".npmrc"),
        (
            "npm run -s chk",
            &[("package.json", r#"{"scripts": {"chk": "lint"}}"#), ("node_modules/a/b", "")],
            "node_modules/.bin/lint",
        ),
    ];
    for (command, files, planted) in shapes {
        let project = trusted(command, files);
        project.file("notes.txt", "x");
        project.brynhild(&["--require-trust", "hooks", "list"]).success();
        project.file(planted, "");
        let run = project.brynhild(&["--require-trust", "hooks", "list"]);
        assert_eq!(run.status.code(), Some(3), "{command}: {planted}");
    }
}
