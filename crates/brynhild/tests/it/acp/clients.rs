//! Clients of others. They run where a directory with them is named by `BRYNHILD_ACP_CLIENTS`
//! (`.ci/run` installs them), and are skipped loudly elsewhere.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{ModelServer, Reply};

use crate::faults::clients::serving_http;
use crate::mcp::SERVER;
use crate::{project, project_with};

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/acp_clients");

/// The program of a client; none where it is not there.
#[expect(clippy::disallowed_methods, reason = "whoever runs the tests names the directory")]
fn installed(program: &str) -> Option<(PathBuf, PathBuf)> {
    let directory = std::env::var_os("BRYNHILD_ACP_CLIENTS").map(PathBuf::from);
    let found = directory.and_then(|directory| {
        let program = directory.join(program);
        program.exists().then_some((program, directory))
    });
    if found.is_none() {
        let words = format!("SKIPPED: {program}, which BRYNHILD_ACP_CLIENTS does not lead to\n");
        std::io::stderr().write_all(words.as_bytes()).unwrap();
    }
    found
}

/// What the model does, by the words of the last prompt.
fn reply(messages: &Value) -> Reply {
    let messages = messages.as_array().unwrap();
    if messages.last().unwrap()["role"] == "tool" {
        return Reply::text("Done.");
    }
    let prompt = messages.last().unwrap()["content"].to_string();
    let (tool, args) = if prompt.contains("write") {
        ("Write", json!({"file_path": "made.txt", "content": "hi\n"}))
    } else if prompt.contains("sleep") {
        ("Bash", json!({"command": "echo begun; sleep 600"}))
    } else if prompt.contains("stdio server") {
        ("mcp__theirs__echo", json!({"text": "ping"}))
    } else if prompt.contains("web server") {
        ("mcp__web__Read", json!({"file_path": "a.txt"}))
    } else {
        return Reply::text("Hello.");
    };
    Reply::calls([(tool, args)])
}

fn drive(program: &str, script: &str, steps: usize) {
    let Some((mut program, clients)) = installed(program) else { return };
    if Path::new(script).extension().is_some_and(|it| it == "sh") {
        program = PathBuf::from("/bin/bash");
    }
    let server = ModelServer::respond_with(|request| reply(&request.body["messages"]));
    let project = project_with(&server);
    project.file("server.py", SERVER);
    // More sessions than a page of the list has.
    project.brynhild(&["-p", "hello", "--session", "first"]).success();
    let sessions = project.config_directory().join("sessions");
    for number in 0..52 {
        let copy = sessions.join(format!("copy-{number}.jsonl"));
        std::fs::copy(sessions.join("first.jsonl"), copy).unwrap();
    }
    let web = project_other();
    let (_serving, host) = serving_http(&web);
    let args = [
        PathBuf::from(SCRIPTS).join(script),
        env!("CARGO_BIN_EXE_brynhild").into(),
        project.path().canonicalize().unwrap(),
        project.path().canonicalize().unwrap().join("server.py"),
        format!("http://{host}/mcp").into(),
    ];
    let run = project.program(program, &args).env("ACP_CLIENTS", clients);
    let run = run.patience(Duration::from_mins(5)).run();
    run.success();
    let done = run.stdout.lines().filter(|line| line.starts_with("ok ")).count();
    assert!(run.stdout.ends_with("finished\n") && done == steps, "{done} steps: {run}");
}

fn project_other() -> testkit::Project {
    let project = project();
    project.file("a.txt", "from the web\n");
    project
}

#[test]
fn python_sdk_drives_every_method() {
    drive("venv/bin/python", "python_sdk.py", 16);
}

#[test]
fn npm_sdk_drives_every_method() {
    drive("node_modules/.bin/node", "npm_sdk.mjs", 16);
}

#[test]
fn acpx_drives_conversations() {
    drive("node_modules/.bin/acpx", "acpx.sh", 16);
}
