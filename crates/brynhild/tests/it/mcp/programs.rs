//! The files of a server's program: to which of them a user agreed, and in which project.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use testkit::{ModelServer, Project, Reply};

use super::pinning::{assert_asked, with_own_server, write_file};
use super::{SERVER, add};
use crate::{project, project_with};

/// The test server with another text.
fn altered() -> String {
    format!("{SERVER}# Other words.\n")
}

/// Starts the server `m` in a directory, seen from the project.
fn test(project: &Project, directory: &str) -> testkit::Run {
    project.command(&["mcp", "test", "m"]).cwd(directory).run()
}

#[test]
fn moved_project_is_no_changed_program() {
    let project = project();
    let entry = json!({"mcpServers": {"m": {"command": "python3", "args": ["./server.py"]}}});
    for directory in [".", "../clone"] {
        project.file(format!("{directory}/server.py"), SERVER);
        project.file(format!("{directory}/.mcp.json"), entry.to_string());
        project.command(&["trust", "--yes"]).cwd(directory).run().success();
        test(&project, directory).success();
    }
}

#[test]
fn user_server_script_is_pinned_in_every_project() {
    let project = project();
    project.file("server.py", SERVER).file("../clone/server.py", SERVER);
    project.file("../other/server.py", altered());
    project.brynhild(&["mcp", "add", "m", "--", "python3", "server.py"]).success();
    test(&project, ".").success();
    test(&project, "../clone").success();
    assert_asked(&test(&project, "../other"), "other/server.py");
    project.command(&["mcp", "approve", "m"]).cwd("../other").run().success();
    test(&project, "../other").success();
    test(&project, ".").success();
    project.file("server.py", altered());
    assert_asked(&test(&project, "."), "project/server.py");
}

#[test]
fn clone_is_not_run_in_place_of_a_user_server() {
    let project = project();
    project.file("server.py", format!("open('ran', 'w')\n{SERVER}"));
    let entry = "command: python3, args: [-m, server], sandbox: {write: [.]}";
    let given = "command: python3, args: [-c, 'import sys; sys.exit(sys.argv[1])', ./x]";
    let taken = "command: npx, args: [-y, ./x]";
    project.config_more(&format!(
        "mcp: {{servers: {{m: {{{entry}}}, n: {{{entry}, cwd: .}}, p: {{{given}}}, q: {{{taken}}}}}}}\n"
    ));
    let run = test(&project, ".");
    run.code(1);
    assert!(run.stderr.contains("No module named server"), "{run}");
    assert!(!project.path().join("ran").exists());
    // Its arguments are equivalent.
    let run = project.brynhild(&["mcp", "test", "p"]);
    let meant = project.path().canonicalize().unwrap().join("x");
    assert!(run.code(1).stderr.contains(meant.to_str().unwrap()), "{run}");
    let run = project.brynhild(&["mcp", "test", "q"]);
    assert!(run.code(1).stderr.contains("would be what the project brings"), "{run}");
    // The user opts in.
    project.brynhild(&["mcp", "test", "n"]).success();
    assert!(project.path().join("ran").exists());
}

#[test]
fn reverted_description_approves_nothing() {
    let (project, script) = with_own_server();
    let (first, second) = (project.home().join("a"), project.home().join("b"));
    write_file(&second.join("mysrv"), &fs::read_to_string(&script).unwrap());
    fs::create_dir_all(&first).unwrap();
    let directories = [first.display().to_string(), second.display().to_string()];
    let exec = directories.join(", ");
    project.config_more(&format!("mcp: {{servers: {{m: {{sandbox: {{exec: [{exec}]}}}}}}}}\n"));
    let path = format!("{}:/usr/bin:/bin", directories.join(":"));
    let test = || project.command(&["mcp", "test", "m"]).env("PATH", &path).run();
    let describe = |words: &[&str]| {
        let line = [&["mcp", "add", "m", "--force", "--"], words].concat();
        project.brynhild(&line).success();
    };
    for words in [&["mysrv"][..], &["mysrv", "more"]] {
        describe(words);
        test().success();
    }
    describe(&["mysrv"]);
    write_file(&first.join("mysrv"), &format!("#!/usr/bin/env python3\n{}", altered()));
    assert_asked(&test(), "a/mysrv");
}

/// The pin file of a program.
fn pin_file(directory: &Path, script: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths = entries.map(|entry| entry.path());
    paths.find_map(|path| {
        if path.is_dir() {
            return pin_file(&path, script);
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        let holds = text.contains(&script.display().to_string()) && text.contains("\"files\"");
        holds.then_some(path)
    })
}

#[test]
fn unreadable_pinned_program_asks() {
    let (project, script) = with_own_server();
    let named = script.display().to_string();
    project.brynhild(&["mcp", "add", "m", "--", "python3", &named]).success();
    test(&project, ".").success();
    let real = script.canonicalize().unwrap();
    let pins = pin_file(&project.config_directory(), &real).expect("what was agreed to is kept");
    assert!(!pins.starts_with(project.config_directory().join("cache")), "{}", pins.display());
    for broken in ["", "{", "{\"files\": 1}"] {
        fs::write(&pins, broken).unwrap();
        let run = test(&project, ".");
        assert!(run.code(1).stderr.contains("the approved version of the server"), "{run}");
        assert!(run.stderr.contains("mcp approve m"), "{run}");
    }
    project.brynhild(&["mcp", "approve", "m"]).success();
    test(&project, ".").success();
    write_file(&script, &altered());
    assert_asked(&test(&project, "."), "mine.py");
}

#[test]
fn fifo_argument_does_not_block() {
    let project = project();
    project.file("server.py", SERVER);
    let pipe = project.path().join("data");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    project.brynhild(&["mcp", "add", "m", "--", "python3", "server.py", "data"]).success();
    test(&project, ".").success();
}

#[test]
fn script_is_relative_to_the_directory_of_its_program() {
    let project = project();
    project.file("tools/server.py", SERVER);
    project.config("mcp: {servers: {m: {command: python3, args: [server.py], cwd: tools}}}\n");
    test(&project, ".").success();
    project.file("tools/server.py", altered());
    assert_asked(&test(&project, "."), "tools/server.py");
}

#[test]
fn changed_script_in_a_shell_line_asks() {
    for line in [
        "exec python3 tools/server.py",
        "env -i python3 ./tools/server.py",
        "if true; then tools/server.py; fi",
    ] {
        let project = project();
        let program = project.path().join("tools/server.py");
        write_file(&program, &format!("#!/usr/bin/env python3\n{SERVER}"));
        project.brynhild(&["mcp", "add", "m", "--", "sh", "-c", line]).success();
        test(&project, ".").success();
        write_file(&program, &format!("#!/usr/bin/env python3\n{}", altered()));
        assert_asked(&test(&project, "."), "tools/server.py");
    }
}

#[test]
fn typed_prompt_does_not_approve_a_changed_program() {
    let server = ModelServer::start([Reply::text("hello")]);
    let project = project_with(&server);
    add(&project, &[]);
    project.brynhild(&["mcp", "test", "test"]).success();
    project.file("server.py", altered());
    assert_asked(&project.brynhild(&["chat", "/mcp__test__greet", "Ada"]), "mcp approve test");
    assert_asked(&project.brynhild(&["mcp", "test", "test"]), "server.py");
    project.brynhild(&["mcp", "approve", "test"]).success();
    project.brynhild(&["chat", "/mcp__test__greet", "Ada"]).success();
}

#[test]
fn hidden_working_directory_names_the_missing_grant() {
    let project = project();
    project.file("server.py", SERVER);
    let elsewhere = project.home().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let script = project.path().join("server.py");
    let server = |more: &str| {
        let (script, cwd) = (script.display(), elsewhere.display());
        let entry = format!("command: python3, args: ['{script}'], cwd: '{cwd}'{more}");
        project.config(&format!("mcp: {{servers: {{far: {{{entry}}}}}}}\n"));
        project.brynhild(&["mcp", "test", "far"])
    };
    let run = server("");
    let remedy = format!("`brynhild mcp grant far --read {}`", elsewhere.display());
    assert!(run.code(1).stderr.contains(&remedy), "{run}");
    server(&format!(", sandbox: {{read: ['{}']}}", elsewhere.display())).success();
}

#[test]
fn import_reports_skipped_parts() {
    let project = project();
    let goose = "extensions:\n  dev: {type: builtin, name: developer, enabled: true}\n  \
                 goo: {type: stdio, cmd: cat}\n";
    project.file("goose.yaml", goose);
    let run = project.brynhild(&["mcp", "import", "goose.yaml"]);
    assert!(run.success().stdout.contains("goo"), "{run}");
    assert!(run.stderr.contains("`dev` is left out: `type: builtin` is unknown"), "{run}");
    let other = r#"{"mcpServers": {"bad": 5, "fine": {"command": "cat"}, "empty": {}}}"#;
    project.file("other.json", other);
    let run = project.brynhild(&["mcp", "import", "other.json"]);
    assert!(run.success().stdout.contains("fine"), "{run}");
    assert!(run.stderr.contains("`bad` is left out: it is not an object"), "{run}");
    assert!(run.stderr.contains("`empty` is left out: it has neither"), "{run}");
}
