//! A system that refuses: no space, no home, a home that cannot be written.

use std::fs;
use std::path::Path;

use serde_json::json;
use testkit::{ModelServer, Project, Reply, Run};

use super::{BINARY, SESSION, project_around, records, session_file, skip, task, worker};

fn answering() -> ModelServer {
    ModelServer::start([Reply::text("Yes.")]).repeat_last()
}

/// Runs a line of `bash` in which `"$@"` is the program with these arguments.
fn in_shell(project: &Project, script: &str, args: &[&str]) -> Run {
    let words = [&["-c", script, "bash", BINARY], args].concat();
    project.command(&words).stdin("").run()
}

#[test]
fn full_log_is_reported_once_and_continues_later() {
    let server = ModelServer::respond_with(|request| {
        super::check_pairs(request);
        let is_last = request.text.contains("Now");
        let long = "long answer ".repeat(2_000);
        if is_last { Reply::text("Done.") } else { Reply::text(long).delta_size(1_000) }
    });
    let project = project_around("/bin/bash", &server);
    // In blocks of 1024 bytes: enough to begin, and not for the reply.
    let script = r#"ulimit -f 16; exec "$@""#;
    let run = in_shell(&project, script, &["chat", "Go", "--session", SESSION]);
    let path = session_file(&project);
    assert!(run.code(1).stderr.contains(&path.display().to_string()), "{run}");
    assert_eq!(run.stderr.matches("error: ").count(), 1, "{run}");
    assert!(run.stderr.contains("hint: "), "{run}");
    assert_eq!(run.stdout, "", "nothing is answered that is not kept");
    let shown = in_shell(&project, r#"exec "$@""#, &["session", "show", SESSION]);
    assert_eq!(shown.success().stderr, "", "no torn record");
    let json = ["chat", "Go", "--session", SESSION, "--json"];
    let run = in_shell(&project, script, &json);
    let error = run.code(1).json()["error"].as_str().unwrap().to_owned();
    assert!(error.contains(&path.display().to_string()), "{run}");
    let run = in_shell(&project, r#"exec "$@""#, &["chat", "Now", "--resume", SESSION]);
    assert_eq!(run.success().stdout, "Done.\n");
}

#[test]
fn failed_sync_is_reported_before_any_output() {
    let strace = "/usr/bin/strace";
    if !Path::new(strace).exists() {
        skip("strace is not here; failing disks not tested");
        return;
    }
    for (fault, number) in [("fdatasync:error=EIO", 1), ("fdatasync:error=ENOSPC", 3)] {
        let server = worker();
        let project = project_around(strace, &server);
        let inject = format!("inject={fault}:when={number}+");
        let mut words =
            vec!["-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", &inject];
        words.push(BINARY);
        words.extend(task());
        words.push("--dangerously-skip-sandbox");
        let run = project.command(&words).stdin("").run();
        if run.stderr.contains("PTRACE") {
            skip("strace may not trace; failing disks not tested");
            return;
        }
        let events = run.code(1).json_lines();
        let last = events.last().unwrap();
        assert_eq!(last["outcome"]["outcome"], "failed", "{fault}");
        assert!(last["outcome"]["error"].as_str().unwrap().contains("work.jsonl"), "{last}");
        assert_eq!(events.iter().filter(|event| event["type"] == "tool_finished").count(), 0);
        let plain = ["-qq", "-o", "/dev/null", "-e", "trace=none", BINARY];
        let args = [&plain[..], &task(), &["--dangerously-skip-sandbox"]].concat();
        let resumed = project.brynhild(&args);
        assert!(resumed.success().stdout.contains("All done."), "{fault}: {resumed}");
        assert!(records(&project).keys().copied().eq(1..=records(&project).len() as u64));
    }
}

#[test]
fn conversation_works_without_a_home() {
    let project = Project::with_binary("/usr/bin/env");
    project.file(
        "play.yaml",
        "turns:\n  - tool_calls: [{name: Bash, input: {command: echo hi > made}}]\n  - text: Done.\n",
    );
    let run = |args: &[&str]| {
        let words = ["-u", "HOME", BINARY, "--provider", "script", "--model", "play.yaml"];
        project.brynhild(&[&words, args].concat())
    };
    for flags in [&["chat", "Go", "--yes"][..], &["chat", "Go", "--yes", "--session", "mine"]] {
        let told = run(flags);
        assert!(told.success().stderr.contains("no home directory"), "{told}");
        assert!(told.stderr.contains("HOME") && told.stderr.contains("not saved"), "{told}");
    }
    let refused = run(&["chat", "Go", "--continue"]);
    assert!(refused.code(2).stderr.contains("no home directory"), "{refused}");
    let answer = run(&["chat", "Go", "--no-save", "--yes", "--json"]).success().json();
    assert_eq!(answer["response"], "Done.");
    assert_eq!(answer["tool_results"][0]["success"], true, "{answer}");
    assert_eq!(project.read("made"), "hi\n");
    run(&["tools", "list"]).success();
    run(&["config", "path"]).success();
    run(&["session", "list"]).code(2);
}

#[test]
fn unwritable_session_directory_is_reported_once() {
    let server = answering();
    let project = project_around(BINARY, &server);
    fs::write(super::sessions_of(&project), "a file in the place of the directory").unwrap();
    let run = project.brynhild(&["chat", "Go"]);
    assert_eq!(run.success().stdout, "Yes.\n");
    assert!(run.stderr.contains("not saved") && run.stderr.contains("sessions"), "{run}");
    assert_eq!(run.stderr.matches("os error").count(), 1, "a cause is told once: {run}");
    let answer = project.brynhild(&["chat", "Go", "--json"]);
    assert_eq!(answer.success().json()["response"], "Yes.", "{answer}");
    assert!(answer.stderr.contains("not saved"), "{answer}");
    assert_eq!(project.brynhild(&["chat", "Go", "--no-save"]).success().stderr, "");
    assert_eq!(
        fs::read_to_string(super::sessions_of(&project)).unwrap(),
        "a file in the place of the directory"
    );
}

#[test]
fn session_is_not_saved_without_file_locks() {
    let strace = "/usr/bin/strace";
    if !Path::new(strace).exists() {
        skip("strace is not here; disks without locks not tested");
        return;
    }
    for error in ["EOPNOTSUPP", "ENOLCK"] {
        let server = answering();
        let project = project_around(strace, &server);
        let inject = format!("inject=flock:error={error}");
        let traced = ["-f", "-qq", "-o", "/dev/null", "-e", "trace=flock", "-e", &inject, BINARY];
        let run = project.brynhild(&[&traced[..], &["chat", "Go", "--session", SESSION]].concat());
        if run.stderr.contains("PTRACE") {
            skip("strace may not trace; disks without locks not tested");
            return;
        }
        assert!(run.success().stderr.contains("the session is not saved: cannot lock"), "{run}");
        assert!(!session_file(&project).exists(), "{run}");
    }
}

#[test]
fn read_only_home_is_read() {
    let bubblewrap = "/usr/bin/bwrap";
    let server = answering();
    let project = project_around(bubblewrap, &server);
    let home = project.home().display().to_string();
    let directory = project.path().display().to_string();
    let run = |args: &[&str]| {
        let words =
            ["--dev-bind", "/", "/", "--ro-bind", &home, &home, "--chdir", &directory, BINARY];
        project.command(&[&words, args].concat()).stdin("").run()
    };
    if !Path::new(bubblewrap).exists() || run(&["--version"]).status.code() != Some(0) {
        skip("bubblewrap does not work here; read-only homes not tested");
        return;
    }
    let told = run(&["chat", "Go"]);
    assert_eq!(told.success().stdout, "Yes.\n");
    assert!(told.stderr.contains("not saved: "), "{told}");
    assert!(told.stderr.contains("Read-only file system"), "{told}");
    assert_eq!(run(&["chat", "Go", "--no-save"]).success().stdout, "Yes.\n");
    run(&["session", "list"]).success();
    run(&["config", "show"]).success();
}

#[test]
fn a_session_on_a_read_only_disk_can_be_read() {
    let bubblewrap = "/usr/bin/bwrap";
    let server = answering();
    let project = project_around(bubblewrap, &server);
    let home = project.home().display().to_string();
    let directory = project.path().display().to_string();
    let run = |bind: &str, args: &[&str]| {
        let words = ["--dev-bind", "/", "/", bind, &home, &home, "--chdir", &directory, BINARY];
        project.command(&[&words, args].concat()).stdin("").run()
    };
    if !Path::new(bubblewrap).exists() || run("--bind", &["--version"]).status.code() != Some(0) {
        skip("bubblewrap does not work here; read-only sessions not tested");
        return;
    }
    run("--bind", &["chat", "Go", "--session", SESSION]).success();
    let before = fs::read(session_file(&project)).unwrap();
    let listed = run("--ro-bind", &["session", "list", "--json"]).success().json();
    assert_eq!(listed[0]["id"], SESSION);
    let shown = run("--ro-bind", &["session", "show", SESSION, "--json"]).success().json();
    assert_eq!(shown["message_count"], json!(2));
    let refused = run("--ro-bind", &["chat", "More", "--resume", SESSION]);
    assert!(refused.code(2).stderr.contains("Read-only file system"), "{refused}");
    let refused = run("--ro-bind", &["session", "delete", SESSION, "--yes"]);
    assert!(refused.code(1).stderr.contains("Read-only file system"), "{refused}");
    assert_eq!(fs::read(session_file(&project)).unwrap(), before);
}
