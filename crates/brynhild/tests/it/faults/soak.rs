//! Many calls of a plugin: whatever it is asked, the program keeps no descriptor and no memory of it.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{ModelServer, Reply, Running};

use super::tell;
use crate::project_with;
use crate::python_plugins::{plugin, tool};

/// Calls of one reply.
const CALLS: u32 = 250;
/// Kilobytes that a program may take more at the end than once it has warmed up.
const GROWTH: u64 = 10 * 1024;

/// Descriptors, and kilobytes of memory.
fn taken(running: &Running) -> (usize, u64) {
    let directory = format!("/proc/{}", running.id());
    let descriptors = fs::read_dir(format!("{directory}/fd")).unwrap().count();
    let status = fs::read_to_string(format!("{directory}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    (descriptors, line.split_whitespace().nth(1).unwrap().parse().unwrap())
}

/// Has a plugin called in this many turns, after some to warm up.
fn soak(turns: u32) {
    const WARM: u32 = 4;
    let mut ended = 0;
    let server = ModelServer::respond_with(move |request| {
        let messages = request.body["messages"].as_array().unwrap();
        if messages.last().unwrap()["role"] == "tool" {
            let failed = |it: &&Value| it["role"] == "tool" && it["content"] != "tock";
            assert_eq!(messages.iter().find(failed), None);
            ended += 1;
            Reply::text(format!("Turn {ended} is over."))
        } else {
            Reply::calls((0..CALLS).map(|number| ("tick", json!({"number": number}))))
        }
    });
    let server = server.forget_requests();
    let project = project_with(&server);
    let file = tool("tick", "return ToolResult(True, 'tock')");
    plugin(&project, "clock", &[("tools/tick.py", &file)]);
    let command = project.command(&["--plain", "--mode", "yolo"]);
    let mut running = command.patience(Duration::from_hours(1)).spawn();
    let mut before = (0, 0);
    for turn in 1..=WARM + turns {
        running.send("go\n/clear\n");
        running.wait_for_stdout(&format!("Turn {turn} is over."));
        if turn == WARM {
            before = taken(&running);
        }
    }
    let after = taken(&running);
    running.close_stdin();
    running.wait().success();
    tell(&format!("{} calls of a plugin: {before:?}, then {after:?}", turns * CALLS));
    assert_eq!(after.0, before.0, "descriptors");
    assert!(after.1 < before.1 + GROWTH, "kilobytes: {before:?}, then {after:?}");
}

#[test]
fn plugin_calls_leak_nothing() {
    soak(4);
}

#[test]
#[ignore = "takes minutes"]
fn hundred_thousand_plugin_calls_leak_nothing() {
    soak(400);
}
