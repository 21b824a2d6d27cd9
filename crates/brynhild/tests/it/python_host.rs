//! Tools and providers of plugins in Python, in whole conversations.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{ModelServer, Project, Reply};

use crate::{has_bubblewrap, project, project_with};

/// A plugin `demo` of the user's own with one tool whose `execute` has this body.
fn plugin(project: &Project, body: &str) {
    let root = project.config_directory().join("plugins/demo");
    fs::create_dir_all(root.join("tools")).unwrap();
    fs::write(root.join("plugin.yaml"), "name: demo\nversion: '1.0'\ntools: [probe]\n").unwrap();
    let tool = format!(
        "import asyncio, os, socket, subprocess, sys\n\
         print('loaded by', sys.version_info[0])\n\
         from brynhild.tools.base import Tool as Base, ToolResult\n\
         class Tool(Base):\n\
         \x20   name = 'probe'\n\
         \x20   description = 'Looks around'\n\
         \x20   input_schema = {{'type': 'object', 'properties': {{'x': {{'type': 'string'}}}}}}\n\
         \x20   requires_permission = False\n\
         \x20   async def execute(self, input):\n\
         \x20       {body}\n"
    );
    fs::write(root.join("tools/probe.py"), tool).unwrap();
}

fn called_once() -> ModelServer {
    ModelServer::start([Reply::calls([("probe", json!({"x": "hi"}))]), Reply::text("Done.")])
}

/// The result of the last tool call that the model received.
fn result(server: &ModelServer) -> String {
    let chats = server.chats();
    let messages = chats.last().unwrap().body["messages"].as_array().unwrap().clone();
    messages.last().unwrap()["content"].as_str().unwrap().to_owned()
}

#[test]
fn tool_output_is_separate_from_the_answer() {
    if !has_bubblewrap() {
        return;
    }
    let server = called_once();
    let project = project_with(&server);
    plugin(&project, "print('while it runs'); return ToolResult(True, 'said ' + input['x'])");
    let run = project.brynhild(&["chat", "--yes", "Probe"]);
    assert_eq!(run.success().stdout.trim(), "Done.", "{run}");
    assert_eq!(result(&server), "said hi");
    assert!(run.stderr.contains("while it runs"), "{run}");
}

#[test]
fn a_later_start_runs_no_python() {
    if !has_bubblewrap() {
        return;
    }
    let server = ModelServer::start([Reply::text("Hello.")]).repeat_last();
    let project = project_with(&server);
    plugin(&project, "return ToolResult(True, '')");
    let first = project.brynhild(&["chat", "Hello"]);
    assert!(first.success().stderr.contains("loaded by 3"), "{first}");
    let later = project.brynhild(&["chat", "Hello"]);
    assert!(!later.success().stderr.contains("loaded by"), "{later}");
    let offered = server.chats().last().unwrap().body["tools"].to_string();
    assert!(offered.contains("\"probe\""), "{offered}");
}

#[test]
fn tool_without_grants_has_no_write_or_network_access() {
    if !has_bubblewrap() {
        return;
    }
    let server = called_once();
    let project = project_with(&server);
    let body = "said = []\n        \
                for act in (lambda: open('made', 'w'), lambda: open(__file__, 'a'), \
                lambda: socket.create_connection(('127.0.0.1', PORT), 2), \
                lambda: open('HOME/secret')):\n            \
                try: act(); said.append('done')\n            \
                except OSError: said.append('refused')\n        \
                open('/tmp/scratch', 'w').close()\n        \
                return ToolResult(True, ' '.join(said))";
    let body = body
        .replace("PORT", &server.address().port().to_string())
        .replace("HOME", project.home().to_str().unwrap());
    fs::write(project.home().join("secret"), "s").unwrap();
    plugin(&project, &body);
    let run = project.brynhild(&["chat", "--yes", "Probe"]);
    run.success();
    assert_eq!(result(&server), "refused refused refused refused", "{run}");
    assert!(!project.path().join("made").exists());
}

#[test]
fn crashing_tool_fails_only_its_call() {
    if !has_bubblewrap() {
        return;
    }
    let server = called_once();
    let project = project_with(&server);
    plugin(&project, "sys.stderr.write('my last words\\n'); sys.stderr.flush(); os._exit(7)");
    let run = project.brynhild(&["chat", "--yes", "Probe"]);
    assert_eq!(run.success().stdout.trim(), "Done.", "{run}");
    let told = result(&server);
    assert!(told.contains("exit code 7") && told.contains("my last words"), "{told}");
}

#[test]
fn worker_ends_with_a_killed_program() {
    if !has_bubblewrap() {
        return;
    }
    let server = called_once();
    let project = project_with(&server);
    let mark = format!("{}.5", 100_000 + std::process::id());
    let body = format!(
        "subprocess.Popen(['sleep', '{mark}'], start_new_session=True); \
         print('started', flush=True); await asyncio.sleep(600)"
    );
    plugin(&project, &body);
    let mut running = project.command(&["chat", "--yes", "Probe"]).spawn();
    running.close_stdin();
    running.wait_for_stderr("started");
    eventually("the child of the worker starts", || runs(&mark));
    running.kill();
    running.wait();
    eventually("the child of the worker ends", || !runs(&mark));
}

fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} within a minute");
        std::thread::yield_now();
    }
}

/// Returns true if a process with this argument is alive.
fn runs(word: &str) -> bool {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.map(|entry| entry.path().join("cmdline")).any(|file| {
        let words = fs::read(file).unwrap_or_default();
        words.split(|&byte| byte == 0).any(|found| found == word.as_bytes())
    })
}

#[test]
fn a_provider_of_a_plugin_answers() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    let parrot = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugins/parrot");
    let directory = parrot.canonicalize().unwrap();
    let args = ["--plugin-dir", directory.to_str().unwrap(), "--provider", "parrot"];
    let run = project.brynhild(&[&args[..], &["chat", "--json", "Pieces of eight"]].concat());
    let answer = run.success().json();
    assert!(answer["response"].as_str().unwrap().contains("Pieces of eight"), "{run}");
    assert_eq!(answer["model"], "grey", "the default of its class");
}
