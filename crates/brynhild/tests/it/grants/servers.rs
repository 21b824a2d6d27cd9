//! Servers and commands that write in the same granted directories at the same time.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use testkit::{ModelServer, Project, Reply};

use crate::has_bubblewrap;
use crate::mcp::SERVER;
use crate::project_with;

/// Adds servers that run given commands, in a directory of the project and one outside.
fn add_servers(project: &Project, names: &[&str]) -> [PathBuf; 2] {
    let directories = [project.path().join("sub"), project.home().join("notes")];
    for directory in &directories {
        fs::create_dir_all(directory).unwrap();
    }
    let server = project.home().join("server/server.py");
    fs::create_dir_all(server.parent().unwrap()).unwrap();
    fs::write(&server, SERVER).unwrap();
    let server = server.display().to_string();
    for name in names {
        let grants = ["--allow-write", "sub", "--allow-write", "~/notes"];
        let words =
            [&["mcp", "add", name], grants.as_slice(), &["--", "python3", &server, "shell"]];
        project.brynhild(&words.concat()).success();
    }
    directories
}

/// The names in a directory, without the quarantine.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name != ".brynhild-quarantine");
    names.sort();
    names
}

fn shell(server: &str, script: &str) -> Reply {
    Reply::calls([(format!("mcp__{server}__shell").as_str(), json!({"text": script}))])
}

#[test]
fn servers_and_commands_share_a_directory() {
    if !has_bubblewrap() {
        return;
    }
    let plant = "cd sub && (echo PWN > .envrc; echo PWN > .vscode/tasks.json; echo x > free)";
    let server = ModelServer::start([
        shell("one", "echo x > sub/one"),
        shell("two", plant),
        Reply::calls([("Bash", json!({"command": "echo x > sub/command; echo x > top"}))]),
        shell("one", plant),
        shell("two", "echo x > sub/two; cat sub/command"),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    let [sub, notes] = add_servers(&project, &["one", "two"]);
    let run = project.brynhild(&["--mode", "yolo", "chat", "go"]);
    run.success();
    let last = server.chats().pop().unwrap().body.to_string();
    assert_eq!(names(&sub), ["command", "free", "one", "two"], "{run} {last}");
    assert_eq!(names(&notes), Vec::<String>::new(), "{run}");
    assert_eq!(project.read("top"), "x\n");
    assert!(!project.path().join(".brynhild-quarantine").exists(), "{run}");
}

#[test]
fn command_exposes_nothing_to_a_running_server() {
    if !has_bubblewrap() {
        return;
    }
    let plant = "mkdir -p sub/.vscode; echo PWN > sub/.vscode/tasks.json; echo PWN > sub/.envrc";
    let server = ModelServer::start([
        shell("one", "echo x > sub/one"),
        Reply::calls([("Bash", json!({"command": "sh plant.sh"}))]),
        shell("one", plant),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    project.file(
        "plant.sh",
        format!("{plant}; rmdir sub/.vscode; rm -r sub/.vscode; mv sub/.idea sub/x"),
    );
    let [sub, _] = add_servers(&project, &["one"]);
    let run = project.brynhild(&["--mode", "yolo", "chat", "go"]);
    run.success();
    for name in [".vscode/tasks.json", ".envrc"] {
        let text = fs::read_to_string(sub.join(name)).unwrap_or_default();
        assert_eq!(text, "", "{name} {run}");
    }
}
