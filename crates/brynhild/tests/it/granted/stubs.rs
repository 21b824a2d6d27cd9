//! What stands in for protected names in granted folders while servers run: it goes with the last of them, and those
//! who work there at the same time do not disturb each other.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use testkit::{ModelServer, Project, Reply};

use crate::has_bubblewrap;
use crate::mcp::{SERVER, left_running, until};
use crate::project_with;

/// Adds servers that run what they are told, in a folder of the project and one elsewhere.
fn add_servers(project: &Project, names: &[&str]) -> [PathBuf; 2] {
    let folders = [project.path().join("sub"), project.home().join("notes")];
    for folder in &folders {
        fs::create_dir_all(folder).unwrap();
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
    folders
}

fn has_stubs(folder: &Path) -> bool {
    folder.join(".vscode").exists()
}

/// Everything in a folder, by name.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn shell(server: &str, script: &str) -> Reply {
    Reply::calls([(format!("mcp__{server}__shell").as_str(), json!({"text": script}))])
}

#[test]
fn servers_and_commands_in_the_same_folder_do_not_disturb_each_other() {
    if !has_bubblewrap() {
        return;
    }
    let plant = "cd sub && (echo PWN > .envrc; echo PWN > .vscode/tasks.json; echo x > free)";
    let server = ModelServer::start([
        shell("one", "echo x > sub/one; test -d sub/.vscode && echo held"),
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
    assert!(last.contains("held"), "{last}");
    assert_eq!(names(&sub), ["command", "free", "one", "two"], "{run} {last}");
    assert_eq!(names(&notes), Vec::<String>::new(), "{run}");
    assert_eq!(project.read("top"), "x\n");
    assert!(!project.path().join(".brynhild-quarantine").exists(), "{run}");
}

#[test]
fn a_command_opens_nothing_to_a_server_that_runs() {
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

#[test]
fn what_a_killed_program_held_goes_with_the_next_start_and_not_before_the_last_server() {
    if !has_bubblewrap() {
        return;
    }
    let server = ModelServer::respond_with(|request| {
        let is_first = !request.body.to_string().contains("tool_call_id");
        let wait = "mktemp sub/XXXXXX; sleep 1000";
        if is_first { shell("one", wait) } else { Reply::text("done") }
    });
    let project = project_with(&server);
    let [sub, notes] = add_servers(&project, &["one"]);
    let running = || names(&sub).iter().filter(|name| !name.starts_with('.')).count();
    let words = ["--mode", "yolo", "chat", "go"];
    let [first, second] = [(); 2].map(|()| project.command(&words).stdin("").spawn());
    until("both servers run", || running() == 2);
    first.kill();
    first.wait();
    // Whoever lives has them still, and a start in between does not take them away.
    project.brynhild(&["sandbox", "run", "--", "true"]).success();
    assert!(has_stubs(&sub) && has_stubs(&notes));
    second.kill();
    second.wait();
    until("its processes are gone", || {
        project.brynhild(&["sandbox", "run", "--", "true"]).success();
        !has_stubs(&sub)
    });
    assert_eq!(names(&sub).len(), 2, "{:?}", names(&sub));
    assert_eq!(names(&notes), Vec::<String>::new());
}

#[test]
fn what_a_server_planted_before_a_kill_is_found_in_a_granted_folder_that_was_renamed() {
    if !has_bubblewrap() {
        return;
    }
    let plant = "cd ../home/notes; mkdir deep; echo PWN > deep/.envrc; touch ready; sleep 1000";
    let server = ModelServer::start([shell("one", plant)]);
    let project = project_with(&server);
    let [_, notes] = add_servers(&project, &["one"]);
    let running = project.command(&["--mode", "yolo", "chat", "go"]).stdin("").spawn();
    until("it is planted", || notes.join("ready").exists());
    running.kill();
    running.wait();
    until("its processes are gone", || left_running(&project).is_empty());
    assert!(notes.join("deep/.envrc").exists());
    let moved = notes.with_file_name("moved");
    fs::rename(&notes, &moved).unwrap();
    let script = project.home().join("server/server.py").display().to_string();
    let words =
        ["mcp", "add", "two", "--allow-write", "~/moved", "--", "python3", &script, "shell"];
    project.brynhild(&words).success();
    let words = ["tools", "exec", "mcp__two__shell", "--input", "{\"text\": \"true\"}", "--yes"];
    let run = project.brynhild(&words);
    run.success();
    assert!(run.stderr.contains("moved/deep/.envrc"), "{run}");
    assert_eq!(names(&moved), [".brynhild-quarantine", "deep", "ready"], "{run}");
    assert_eq!(names(&moved.join("deep")), Vec::<String>::new(), "{run}");
}
