//! `kill -9`: after each line of output, and at system calls where `strace` can do it.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use testkit::{ModelServer, Project, Reply};

use super::{
    BINARY, SESSION, check_after_crash, project_around, records, session_file, skip, task, worker,
};

/// Runs the task, kills it as soon as it has shown so many lines, and returns all that it showed.
#[expect(clippy::disallowed_methods, reason = "the test holds the pipe, so that it sets the pace")]
fn killed_after(lines: usize, project: &Project, extra: &[&str]) -> String {
    let mut child = Command::new(BINARY)
        .args(task())
        .args(extra)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", project.home())
        .current_dir(project.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut shown = String::new();
    for _ in 0..lines {
        output.read_line(&mut shown).unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    output.read_to_string(&mut shown).unwrap();
    shown
}

fn lines_of_whole_run(extra: &[&str]) -> usize {
    let server = worker();
    let project = project_around(BINARY, &server);
    let run = project.brynhild(&[&task(), extra].concat());
    assert!(run.success().stdout.contains("All done."), "{run}");
    run.stdout.lines().count()
}

fn kill_after(lines: usize, extra: &[&str]) {
    let server = worker();
    let project = project_around(BINARY, &server);
    let shown = killed_after(lines, &project, extra);
    check_after_crash(&project, &shown, |args| {
        let extra = if args[0] == "chat" { extra } else { &[] };
        project.brynhild(&[args, extra].concat())
    });
}

/// Does each of these once, two at a time.
pub(crate) fn each<T: Sync>(items: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(item);
                }
            });
        }
    });
}

#[test]
fn kill_after_any_line_loses_no_shown_text() {
    let unconfined = ["--dangerously-skip-sandbox"];
    let count = lines_of_whole_run(&unconfined);
    assert!(count > 20, "{count}");
    let points: Vec<usize> = (0..=count).collect();
    each(&points, |lines| kill_after(*lines, &unconfined));
}

#[test]
fn kill_during_confined_commands_loses_no_shown_text() {
    let count = lines_of_whole_run(&[]);
    let points: Vec<usize> = (count / 3..count).step_by(4).collect();
    each(&points, |lines| kill_after(*lines, &[]));
}

#[test]
fn killed_session_is_unlocked_and_continues() {
    let server = ModelServer::start([Reply::text("Never.").withhold(), Reply::text("Here.")]);
    let project = project_around(BINARY, &server);
    let running = project.command(&task()).stdin("").spawn();
    server.wait_for_requests(1);
    running.kill();
    running.wait();
    let run = project.brynhild(&["chat", "Again", "--json", "--resume", SESSION]);
    let answer = run.success().json();
    assert_eq!(answer["response"], "Here.");
    assert_eq!(answer["stop_reason"], "end_turn");
    assert!(answer.get("tool_calls").is_none(), "{answer}");
    assert_eq!(run.stderr, "");
}

#[test]
fn command_ends_with_the_program() {
    let command = "echo rea''dy; sleep 3; echo late > late";
    let server = ModelServer::start([
        Reply::calls([("Bash", serde_json::json!({"command": command}))]),
        Reply::text("Over."),
    ]);
    let project = project_around(BINARY, &server);
    let running = project.command(&task()).stdin("").spawn();
    running.wait_for_stdout("ready");
    running.kill();
    // It returns when nothing holds the output any more.
    running.wait();
    assert!(!project.path().join("late").exists());
    project.brynhild(&task()).success();
    let finished = records(&project).into_values().find(|event| event["type"] == "tool_finished");
    assert_eq!(finished.unwrap()["outcome"], "interrupted");
}

/// Returns true if `strace` is installed and may trace.
pub(crate) fn can_trace(project: &Project) -> bool {
    let Some(code) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        project.brynhild(&["-f", "-qq", "-o", "/dev/null", "true"]).status.code()
    }))
    .ok()
    .flatten() else {
        return false;
    };
    code == 0
}

#[test]
fn kill_at_a_system_call_loses_no_shown_text() {
    let strace = "/usr/bin/strace";
    if !std::path::Path::new(strace).exists() || !can_trace(&Project::with_binary(strace)) {
        skip("strace is not here or may not trace; kills at system calls not tested");
        return;
    }
    let mut points: Vec<(&str, usize)> = Vec::new();
    points.extend((1..=9).map(|number| ("fdatasync", number)));
    points.extend((3..=30).step_by(3).map(|number| ("write", number)));
    points.extend([("fsync", 1), ("openat", 40), ("openat", 90), ("unlink", 1)]);
    let killed = AtomicUsize::new(0);
    each(&points, |(call, number)| {
        let server = worker();
        let traced = project_around(strace, &server);
        let inject = format!("inject={call}:signal=KILL:when={number}");
        let trace = format!("trace={call}");
        let mut words = vec!["-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject, BINARY];
        words.extend(task());
        words.push("--dangerously-skip-sandbox");
        let run = traced.command(&words).stdin("").run();
        killed.fetch_add(usize::from(run.status.code().is_none()), Ordering::Relaxed);
        if !session_file(&traced).exists() {
            assert_eq!(run.stdout, "", "{call} {number}");
        }
        check_after_crash(&traced, &run.stdout, |args| {
            let extra: &[&str] =
                if args[0] == "chat" { &["--dangerously-skip-sandbox"] } else { &[] };
            let plain = ["-qq", "-o", "/dev/null", "-e", "trace=none", BINARY];
            traced.brynhild(&[&plain, args, extra].concat())
        });
    });
    let killed = killed.into_inner();
    assert!(killed * 2 > points.len(), "only {killed} of {} were killed", points.len());
}
