//! Servers that are slow, or never answer: a conversation goes on without them, says so, and takes
//! their tools when they come.

use std::ffi::OsString;
use std::path::Path;

use serde_json::json;
use testkit::{ModelServer, Project, Reply, Terminal};

use super::{SERVER, remaining_processes, until};
use crate::{project, project_with};

const SIZE: (u16, u16) = (100, 30);

/// A server that answers once a file `go` is there.
const GATED: &str = "until [ -e go ]; do sleep 0.02; done; exec python3 server.py";

fn gated(server: &ModelServer) -> Project {
    let project = project_with(server);
    project.config_more("mcp: {start_wait_sec: 0}\n");
    project.file("server.py", SERVER);
    project.brynhild(&["mcp", "add", "slow", "--", "sh", "-c", GATED]).success();
    project
}

/// Says how long a task waits for servers.
fn waits(project: &Project, seconds: &str) {
    let config = project.config_directory().join("config.yaml");
    let text = std::fs::read_to_string(&config).unwrap();
    let (before, _) = text.split_once("start_wait_sec: ").unwrap();
    std::fs::write(&config, format!("{before}start_wait_sec: {seconds}}}\n")).unwrap();
}

#[test]
fn task_runs_without_a_silent_server() {
    let server = ModelServer::start([Reply::text("fine")]);
    let project = gated(&server);
    let run = project.brynhild(&["chat", "go"]);
    run.success();
    assert!(run.stderr.contains("MCP servers are still starting: slow"), "{run}");
    assert!(!run.stderr.contains("did not list its tools"), "{run}");
    assert!(!server.chats()[0].body.to_string().contains("mcp__slow__"));
    until("everything ends", || remaining_processes(&project).is_empty());
}

#[test]
fn task_waits_briefly_for_an_unknown_server() {
    let server = ModelServer::start([Reply::text("fine")]);
    let project = gated(&server);
    waits(&project, "60");
    project.file("go", "");
    project.brynhild(&["chat", "go"]).success();
    assert!(server.chats()[0].body["tools"].to_string().contains("mcp__slow__echo"));
}

#[test]
fn wait_for_a_server_is_shown_and_interruptible() {
    let server = ModelServer::start([Reply::text("never asked for")]);
    let project = gated(&server);
    waits(&project, "600");
    // A shell that starts something in the background has it ignore interrupts.
    for before in ["", "trap '' INT; "] {
        let terminal = in_shell(&project, &format!("{before}exec \"$0\" chat go"));
        terminal.wait_for("waiting up to 600 s for MCP servers to start: slow");
        terminal.send("\x03");
        assert_eq!(terminal.wait_for_end(), Some(130), "{before}");
        assert!(server.chats().is_empty());
        until("everything ends", || remaining_processes(&project).is_empty());
    }
}

fn in_shell(project: &Project, script: &str) -> Terminal {
    let words = ["-c", script, env!("CARGO_BIN_EXE_brynhild")];
    let env = [
        ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
        ("HOME".into(), project.home().into()),
        ("TERM".into(), "xterm-256color".into()),
    ];
    let words = words.map(OsString::from);
    Terminal::start(Path::new("/bin/sh"), &words, &env, &project.path(), SIZE)
}

#[test]
fn late_server_is_started_beside_the_next_task() {
    let server = ModelServer::start([Reply::text("fine")]).repeat_last();
    let project = gated(&server);
    waits(&project, "2");
    let run = project.brynhild(&["chat", "go"]);
    assert!(run.success().stderr.contains("MCP servers are still starting: slow"), "{run}");
    waits(&project, "600");
    let run = project.brynhild(&["chat", "go"]);
    assert!(run.success().stderr.contains("retried: slow; continuing without"), "{run}");
    assert!(!run.stderr.contains("waiting up to"), "{run}");
    project.file("go", "");
    project.brynhild(&["mcp", "test", "slow"]).success();
    let run = project.brynhild(&["chat", "go"]);
    assert!(!run.success().stderr.contains("MCP servers"), "{run}");
    let last = server.chats().pop().unwrap();
    assert!(last.body["tools"].to_string().contains("mcp__slow__echo"), "{run}");
}

#[test]
fn tools_of_a_late_server_join_the_next_prompt() {
    let server = ModelServer::start([Reply::text("first answer"), Reply::text("second answer")]);
    let project = gated(&server);
    let terminal = project.terminal::<&str>(&[], SIZE);
    terminal.send("one\r");
    terminal.wait_for("MCP servers are still starting: slow");
    terminal.wait_for("first answer");
    terminal.wait_for("1 server starting");
    project.file("go", "");
    terminal.wait_for("MCP server `slow` has started");
    terminal.send("two\r");
    terminal.wait_for("second answer");
    let chats = server.chats();
    assert!(!chats[0].body["tools"].to_string().contains("mcp__slow__"));
    assert!(chats[1].body["tools"].to_string().contains("mcp__slow__echo"));
    terminal.send("\x11");
    assert_eq!(terminal.wait_for_end(), Some(0));
}

#[test]
fn failed_server_is_reported_at_every_start() {
    let server = ModelServer::start([Reply::text("fine")]).repeat_last();
    let project = project_with(&server);
    let line = "echo the very last words of this server are long and end with MARMALADE >&2";
    project.brynhild(&["mcp", "add", "dies", "--", "sh", "-c", line]).success();
    let run = project.brynhild(&["chat", "go"]);
    assert!(run.success().stderr.contains("MARMALADE"), "{run}");
    let again = project.brynhild(&["chat", "go"]);
    assert!(again.success().stderr.contains("MARMALADE"), "{again}");
    assert!(again.stderr.contains("a start some minutes later tries it again"), "{again}");
    let terminal = project.terminal::<&str>(&[], SIZE);
    terminal.wait_for("1 failed");
    terminal.send("/plugins\r");
    terminal.wait_until("the panel says why", |screen| {
        let text = screen.contents();
        let panel = text.split("Plugins (").nth(1).unwrap_or_default().to_owned();
        panel.contains("MARMALADE")
    });
    terminal.send("\x1b");
    terminal.wait_until("the panel closes", |screen| !screen.contents().contains("Plugins ("));
    terminal.send("\x11");
    assert_eq!(terminal.wait_for_end(), Some(0));
}

#[test]
fn plugin_warning_is_no_failure() {
    let server = ModelServer::start([Reply::text("fine")]);
    let project = project_with(&server);
    let directory = project.config_directory().join("plugins/doubtful");
    std::fs::create_dir_all(&directory).unwrap();
    let manifest = "name: doubtful\nversion: 1.0.0\ndescription: \"a \\e[31mred\"\n";
    std::fs::write(directory.join("plugin.yaml"), manifest).unwrap();
    let list = project.brynhild(&["plugin", "list", "--json"]).json();
    assert!(!list["problems"].as_array().unwrap().is_empty(), "{list}");
    let terminal = project.terminal::<&str>(&[], SIZE);
    terminal.send("hi\r");
    terminal.wait_for("fine");
    let screen = terminal.wait_for("1 plugin");
    assert!(!screen.contains("failed"), "{screen}");
    terminal.send("\x11");
    assert_eq!(terminal.wait_for_end(), Some(0));
}

#[test]
fn a_named_tool_waits_for_its_server() {
    let project = project();
    project.config("mcp: {start_wait_sec: 0}\n");
    project.file("server.py", SERVER);
    project.brynhild(&["mcp", "add", "test", "--", "python3", "server.py"]).success();
    let run = super::exec(&project, "mcp__test__echo", &serde_json::json!({"text": "x"}));
    assert_eq!(run.json()["output"], "said: x");
}

#[test]
fn server_added_during_a_wait_is_started() {
    let server = ModelServer::start([Reply::text("first answer"), Reply::text("second answer")]);
    let project = gated(&server);
    waits(&project, "60");
    let mut running = project.command(&["--plain"]).spawn();
    running.send("one\n");
    running.wait_for_stderr("waiting up to 60 s");
    project.brynhild(&["mcp", "add", "late", "--", "python3", "server.py"]).success();
    project.file("go", "");
    running.wait_for_stdout("first answer");
    running.send("two\n");
    running.wait_for_stdout("second answer");
    running.close_stdin();
    let run = running.wait();
    let offered = server.chats()[1].body["tools"].to_string();
    assert!(offered.contains("mcp__slow__") && offered.contains("mcp__late__"), "{run}");
}

#[test]
fn hanging_server_is_reported_with_its_output() {
    let project = project();
    let line = "echo 'curl: (6) Could not resolve host: x.example' >&2; exec sleep 100";
    let entry = json!({"command": "sh", "args": ["-c", line], "startup_timeout_sec": 4});
    project.config(&format!("mcp: {{servers: {{slow: {entry}}}}}\n"));
    let run = project.brynhild(&["mcp", "test", "slow"]);
    assert!(run.code(1).stderr.contains("did not list its tools within 4s"), "{run}");
    assert!(run.stderr.contains("Could not resolve host: x.example"), "{run}");
    assert!(run.stderr.contains("`brynhild mcp grant slow --network`"), "{run}");
}

#[test]
fn call_waits_only_for_its_own_server() {
    let project = project();
    project.file("server.py", SERVER);
    project.brynhild(&["mcp", "add", "test", "--", "python3", "server.py"]).success();
    // It never answers.
    project.config("mcp: {servers: {deaf: {command: cat, startup_timeout_sec: 1}}}\n");
    for (tool, input) in [("Glob", r#"{"pattern": "*"}"#), ("mcp__test__environment", "{}")] {
        let run = project.brynhild(&["--yes", "tools", "exec", tool, "--input", input]);
        assert!(!run.success().stderr.contains("deaf"), "{run}");
    }
    let run = project.brynhild(&["--yes", "tools", "exec", "mcp__deaf__x", "--input", "{}"]);
    assert!(run.code(1).stderr.contains("`deaf` did not list its tools"), "{run}");
}
