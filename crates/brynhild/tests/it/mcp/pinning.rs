//! Pins: versions of packages, the files of a program, and the tool list of a server.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;
use testkit::{Project, Run};

use super::{SERVER, exec};
use crate::project;

#[test]
fn unpinned_server_is_refused_without_a_flag() {
    let project = project();
    for line in ["npx -y some-server", "uvx x", "pipx run x", "docker run -i --rm img"] {
        let mut args = vec!["mcp", "add", "a", "--"];
        args.extend(line.split(' '));
        let run = project.brynhild(&args);
        run.code(2);
        assert!(run.stderr.contains("; pin one, such as `"), "{run}");
        assert!(run.stderr.contains("--unpinned"), "{run}");
    }
    assert_eq!(project.brynhild(&["mcp", "list", "--json"]).json()["servers"], json!([]));
    project.brynhild(&["mcp", "add", "b", "--", "npx", "-y", "some-server@1.2.3"]).success();
    project.brynhild(&["mcp", "add", "a", "--unpinned", "--", "npx", "some-server"]).success();
    let list = project.brynhild(&["mcp", "list", "--json"]).json();
    assert_eq!(list["servers"].as_array().unwrap().len(), 2);
    assert_eq!(list["problems"], json!([]), "they said that they want it");
}

#[test]
fn unpinned_servers_are_imported_with_a_flag() {
    let project = project();
    let theirs = r#"{"mcpServers": {"a": {"command": "npx", "args": ["-y", "${X}", "x"]},
        "b": {"command": "npx", "args": ["-y", "some"], "unpinned": true}, "c": {"command": "uvx", "args": ["d"]}}}"#;
    project.file("theirs.json", theirs);
    let run = project.brynhild(&["mcp", "import", "theirs.json"]);
    run.code(2);
    assert!(run.stderr.contains("`some@1.2.3`") && run.stderr.contains("`d==1.2.3`"), "{run}");
    assert_eq!(project.brynhild(&["mcp", "list", "--json"]).json()["servers"], json!([]));
    project.brynhild(&["mcp", "import", "theirs.json", "--unpinned"]).success();
}

#[test]
fn unpinned_server_of_the_user_is_a_warning() {
    let project = project();
    let file = project.config_directory().join("mcp.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, r#"{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"]}}}"#).unwrap();
    let list = project.brynhild(&["mcp", "list"]);
    assert_eq!(list.success().stderr.matches("`x@1.2.3`").count(), 1, "{list}");
    project.config("mcp: {servers: {a: {unpinned: true}}}\n");
    let list = project.brynhild(&["mcp", "list"]);
    assert!(!list.success().stderr.contains("newest"), "{list}");
    assert!(list.stdout.contains("npx -y x"), "{list}");
}

#[test]
fn trust_question_names_an_unpinned_version() {
    let project = project();
    let entry =
        r#"{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"], "unpinned": true}}}"#;
    project.file(".mcp.json", entry);
    let shown = project.brynhild(&["trust"]);
    assert!(shown.code(3).stderr.contains("uses the newest version of `x`"), "{shown}");
    project.brynhild(&["trust", "--yes"]).success();
    let list = project.brynhild(&["mcp", "list", "--json"]).json();
    assert_eq!(list["servers"][0]["name"], "a");
    let problems = list["problems"].to_string();
    assert!(problems.contains("cannot say `unpinned` itself"), "{problems}");
}

pub(super) fn write_file(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A program of the user's, outside of the project.
pub(super) fn with_own_server() -> (Project, std::path::PathBuf) {
    let project = project();
    let script = project.home().join("servers/mine.py");
    write_file(&script, &format!("#!/usr/bin/env python3\n{SERVER}"));
    project.config("permissions: {allow: [\"mcp__*\"]}\n");
    (project, script)
}

pub(super) fn assert_asked(run: &Run, what: &str) {
    assert!(!run.status.success(), "{run}");
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(said.contains("differs from the approved version") && said.contains(what), "{run}");
}

#[test]
fn changed_user_program_asks_again() {
    let (project, script) = with_own_server();
    let named = script.display().to_string();
    project.brynhild(&["mcp", "add", "m", "--", "python3", &named]).success();
    exec(&project, "mcp__m__echo", &json!({"text": "x"})).success();
    write_file(&script, &format!("#!/usr/bin/env python3\n# Other words.\n{SERVER}"));
    assert_asked(&project.brynhild(&["tools", "exec", "mcp__m__echo", "--input", "{}"]), "mine.py");
    // To describe it otherwise is not to agree to what was changed.
    let more = ["mcp", "add", "m", "--force", "--", "python3", &named, "more"];
    project.brynhild(&more).success();
    assert_asked(&project.brynhild(&["mcp", "test", "m"]), "mcp approve m");
    let call = ["--yes", "tools", "exec", "mcp__m__echo", "--input", "{\"text\": \"x\"}"];
    let run = project.brynhild(&call);
    assert_asked(&run, "hint: `brynhild mcp approve m`");
    assert!(!run.stderr.contains("pass `--yes`"), "{run}");
    let approved = project.brynhild(&["mcp", "approve", "m"]);
    assert!(approved.success().stdout.contains("servers/mine.py"), "{approved}");
    exec(&project, "mcp__m__echo", &json!({"text": "x"})).success();
    let approved = project.brynhild(&["mcp", "approve", "m"]);
    assert!(approved.success().stdout.contains("m equals the approved version"), "{approved}");
}

/// Removes or breaks the cached catalog of a server.
fn lose_catalog(project: &Project, broken: Option<&str>) {
    let cache = project.config_directory().join("cache");
    let Some(broken) = broken else { return fs::remove_dir_all(cache).unwrap() };
    let mut files = fs::read_dir(cache.join("mcp")).unwrap().flatten().map(|entry| entry.path());
    let list = files.find(|path| path.extension().is_some_and(|it| it == "json"));
    fs::write(list.unwrap(), broken).unwrap();
}

#[test]
fn lost_catalog_approves_nothing_and_asks_nothing() {
    for broken in [None, Some(""), Some("{"), Some("{\"format\": 99}")] {
        let (project, script) = with_own_server();
        let named = script.display().to_string();
        project.brynhild(&["mcp", "add", "m", "--", "python3", &named]).success();
        exec(&project, "mcp__m__echo", &json!({"text": "x"})).success();
        lose_catalog(&project, broken);
        let run = exec(&project, "mcp__m__echo", &json!({"text": "x"}));
        assert!(!run.success().stderr.contains("has changed"), "{run}");
        lose_catalog(&project, broken);
        project.file("pull.txt", "EVIL words.");
        let call = ["--yes", "tools", "exec", "mcp__m__echo", "--input", "{\"text\": \"x\"}"];
        let run = project.brynhild(&call);
        assert!(run.code(3).stderr.contains("its description of echo has changed"), "{run}");
        assert!(run.stderr.contains("hint: `brynhild mcp approve m`"), "{run}");
        let other = exec(&project, "mcp__m__environment", &json!({}));
        assert!(other.success().stdout.contains("PATH="), "the other tools go on: {other}");
        project.brynhild(&call).code(3);
        let approved = project.brynhild(&["mcp", "approve", "m"]);
        assert!(approved.success().stdout.contains("echo: "), "{approved}");
        assert!(approved.stdout.contains("EVIL words."), "{approved}");
        assert!(!approved.stdout.contains("fail: "), "{approved}");
        let run = exec(&project, "mcp__m__echo", &json!({"text": "x"}));
        assert!(!run.success().stderr.contains("has changed"), "{run}");
    }
}

#[test]
fn too_large_program_is_pinned_by_size() {
    let (project, script) = with_own_server();
    let large = project.home().join("servers/large.bin");
    write_file(&large, "");
    let grow = |size: u64| {
        let file = fs::OpenOptions::new().write(true).open(&large).unwrap();
        // To read this would take hours.
        file.set_len(size).unwrap();
    };
    grow(1 << 42);
    let (named, with) = (script.display().to_string(), large.display().to_string());
    project.brynhild(&["mcp", "add", "m", "--", "python3", &named, &with]).success();
    for _ in 0..2 {
        exec(&project, "mcp__m__echo", &json!({"text": "x"})).success();
    }
    grow((1 << 42) + 1);
    assert_asked(&project.brynhild(&["mcp", "test", "m"]), "large.bin");
}

#[test]
fn other_program_of_an_equal_name_is_not_started() {
    let (project, script) = with_own_server();
    let (first, second) = (project.home().join("a"), project.home().join("b"));
    write_file(&second.join("mysrv"), &fs::read_to_string(&script).unwrap());
    fs::create_dir_all(&first).unwrap();
    let directories = [first.display().to_string(), second.display().to_string()];
    project.brynhild(&["mcp", "add", "m", "--", "mysrv"]).success();
    let read = directories.join(", ");
    project.config_more(&format!("mcp: {{servers: {{m: {{sandbox: {{exec: [{read}]}}}}}}}}\n"));
    let path = format!("{}:/usr/bin:/bin", directories.join(":"));
    let call = || {
        let args = ["tools", "exec", "mcp__m__echo", "--input", "{\"text\": \"x\"}"];
        project.command(&args).env("PATH", &path).run()
    };
    call().success();
    write_file(&first.join("mysrv"), &format!("#!/usr/bin/env python3\n# Not theirs.\n{SERVER}"));
    assert_asked(&call(), "a/mysrv");
}

#[test]
fn repeated_tool_name_is_one_tool() {
    let project = project();
    let twins = "found[:0] = [tool('echo', 'One.'), tool('echo', 'Two.')]\n    return found";
    project.file("server.py", SERVER.replacen("return found", twins, 1));
    project.brynhild(&["mcp", "add", "m", "--", "python3", "server.py"]).success();
    let tested = project.brynhild(&["mcp", "test", "m"]);
    assert!(tested.success().stderr.contains("two tools `echo`; the first one"), "{tested}");
    assert_eq!(tested.stdout.matches("mcp__m__echo").count(), 1, "{tested}");
    for _ in 0..2 {
        exec(&project, "mcp__m__echo", &json!({"text": "x"})).success();
    }
    let other = SERVER.replacen("annotations={\"readOnlyHint\": True}", "annotations={}", 1);
    project.file("server.py", other);
    let approved = project.brynhild(&["mcp", "approve", "m"]);
    assert!(!approved.success().stdout.contains("Some("), "{approved}");
}

#[test]
fn offered_tools_do_not_depend_on_the_client() {
    let project = project();
    // Servers of the usual kind offer a tool that asks only to clients which can be asked.
    let gate =
        "if CAPABLE:\n        found.append(tool('sample', 'Asks the model.'))\n    return found";
    let text = SERVER.replacen("return found", gate, 1);
    let text = text.replacen("STATE =", "CAPABLE = {}\nSTATE =", 1);
    let noted = "if method == \"initialize\":\n        CAPABLE.update(request[\"params\"][\"capabilities\"].get(\"sampling\") is not None and {1: 1} or {})";
    project.file("server.py", text.replacen("if method == \"initialize\":", noted, 1));
    project.brynhild(&["mcp", "add", "m", "--", "python3", "server.py"]).success();
    let tested = project.brynhild(&["mcp", "test", "m"]);
    assert!(tested.success().stdout.contains("mcp__m__sample"), "{tested}");
    for args in [vec![], vec!["--yes"]] {
        let mut args = args;
        args.extend(["tools", "exec", "mcp__m__echo", "--input", "{}"]);
        let run = project.brynhild(&args);
        assert!(!run.stderr.contains("has changed"), "{run}");
    }
}

#[test]
fn validate_warns_of_an_unpinned_server() {
    let project = project();
    let role =
        "name: r\nprompt: x\ntools:\n  - type: mcp\n    command: npx\n    args: [-y, some]\n";
    project.file("role.yaml", role);
    let run = project.brynhild(&["validate", "role.yaml"]);
    assert!(run.success().stderr.contains("uses the newest version of `some`"), "{run}");
}
