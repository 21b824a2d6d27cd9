//! `kill -9` at the system calls of a conversation with a plugin's host and an MCP server: they end
//! with the program, and the session goes on.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{ModelServer, Project, Reply, Run};

use super::task::STRACE;
use super::{sample, tell};
use crate::crashes::kills::{can_trace, each};
use crate::crashes::{BINARY, SESSION, calls, check_pairs, project_around, records, skip};
use crate::mcp::SERVER;
use crate::python_plugins::{plugin, tool};

const QUIET: [&str; 5] = ["-qq", "-o", "/dev/null", "-e", "trace=none"];
const CALLS: &str =
    "write,read,openat,close,statx,epoll_wait,sendto,recvfrom,futex,clone3,vfork,rename,unlink";

/// A model that calls both, then says that it is done.
fn model() -> ModelServer {
    ModelServer::respond_with(|request| {
        check_pairs(request);
        let messages = request.body["messages"].as_array().unwrap();
        match messages.iter().filter(|message| message["role"] == "assistant").count() {
            0 => Reply::text("One.").call_as("call-1", "mark", &json!({})),
            1 => Reply::text("Two.").call_as("call-2", "mcp__test__echo", &json!({"text": "hi"})),
            _ => Reply::text("Done."),
        }
    })
}

fn project(server: &ModelServer) -> Project {
    let project = project_around(STRACE, server);
    plugin(&project, "marker", &[("tools/mark.py", &tool("mark", "return ToolResult(True, 'x')"))]);
    project.file("server.py", SERVER);
    for words in
        [&["mcp", "add", "test", "--", "python3", "server.py"][..], &["mcp", "test", "test"]]
    {
        project.command(&[&QUIET[..], &[BINARY], words].concat()).run().success();
    }
    project
}

fn chat(project: &Project, options: &[&str], session: [&str; 2]) -> Run {
    let words = ["chat", "Go", "--mode", "yolo", "--dangerously-skip-sandbox"];
    let words = [options, &[BINARY], &words, &session].concat();
    project.command(&words).stdin("").run()
}

/// Each system call of the first thread of an undisturbed run.
fn points() -> Vec<(String, usize)> {
    let server = model();
    let project = project(&server);
    let trace = project.path().join("../trace").display().to_string();
    let filter = format!("trace={CALLS}");
    let run = chat(&project, &["-qq", "-o", &trace, "-e", &filter], ["--session", SESSION]);
    assert_eq!(run.success().stdout.lines().last(), Some("Done."), "{run}");
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for line in fs::read_to_string(&trace).unwrap().lines() {
        if let Some((name, _)) = line.split_once('(') {
            *counts.entry(name.to_owned()).or_default() += 1;
        }
    }
    let each_of = |(call, count): (String, usize)| (1..=count).map(move |n| (call.clone(), n));
    counts.into_iter().flat_map(each_of).collect()
}

/// Processes that run in the project or were started from its home.
fn remaining_processes(project: &Project) -> Vec<String> {
    let root = project.path().parent().unwrap().to_owned();
    let mut left = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        let works_here =
            fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&root));
        if !words.is_empty() && (works_here || words.contains(root.to_str().unwrap())) {
            left.push(words);
        }
    }
    left
}

fn killed_at((call, number): &(String, usize)) {
    let what = format!("{call} {number}");
    let server = model();
    let project = project(&server);
    let inject = format!("inject={call}:signal=KILL:when={number}");
    let filter = format!("trace={call}");
    let options = ["-qq", "-o", "/dev/null", "-e", &filter, "-e", &inject];
    chat(&project, &options, ["--session", SESSION]);
    let deadline = Instant::now() + Duration::from_mins(1);
    while !remaining_processes(&project).is_empty() {
        assert!(Instant::now() < deadline, "{what}: {:?} still run", remaining_processes(&project));
        std::thread::yield_now();
    }
    let broken = records(&project);
    let resumed = chat(&project, &QUIET, ["--session", SESSION]);
    assert_eq!(resumed.success().stdout.lines().last(), Some("Done."), "{what}: {resumed}");
    let finished = records(&project);
    for (seq, event) in &broken {
        assert_eq!(finished.get(seq), Some(event), "{what}: history was rewritten");
    }
    let unended: Vec<_> = calls(&finished).into_iter().filter(|(_, end)| end.is_none()).collect();
    assert!(unended.is_empty(), "{what}: {unended:?}");
}

fn can_run() -> bool {
    let can = Path::new(STRACE).exists() && can_trace(&Project::with_binary(STRACE));
    if !can {
        skip("strace is not here or may not trace; kills beside hosts not tested");
    }
    can
}

#[test]
fn kill_at_some_system_calls_leaves_no_process() {
    if can_run() {
        each(&sample(&points(), 6), killed_at);
    }
}

#[test]
#[ignore = "takes many minutes: a run with a plugin and a server for each system call"]
fn kill_at_any_system_call_leaves_no_process() {
    if can_run() {
        let points = points();
        each(&points, killed_at);
        tell(&format!("{} kill points of a run with a plugin's host and a server", points.len()));
    }
}
