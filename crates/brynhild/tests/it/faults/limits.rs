//! A machine without room: few open files, little memory, no directory for temporary files. It is told
//! which, or done without; the session is safe.

use serde_json::json;
use testkit::{ModelServer, Project, Reply, Run};

use crate::crashes::{BINARY, SESSION, project_around};

fn answering() -> ModelServer {
    ModelServer::respond_with(|request| {
        crate::crashes::check_pairs(request);
        let messages = request.body["messages"].as_array().unwrap();
        if messages.last().unwrap()["role"] == "tool" {
            Reply::text("Yes.")
        } else {
            Reply::calls([("Bash", json!({"command": "echo hi"}))])
        }
    })
}

/// Runs a line of `bash` in which `"$@"` is the program with these arguments.
fn in_shell(project: &Project, script: &str, args: &[&str]) -> Run {
    let words = [&["-c", script, "bash", BINARY], args].concat();
    project.command(&words).stdin("").run()
}

#[test]
fn low_file_and_memory_limits_keep_the_session() {
    let server = answering();
    let words = ["chat", "Go", "--session", SESSION, "--yes", "--dangerously-skip-sandbox"];
    let limits = (3..=24).step_by(3).map(|files| format!("ulimit -n {files}"));
    let memory = [400_000, 600_000].map(|kilobytes| format!("ulimit -v {kilobytes}"));
    for limit in limits.chain(memory) {
        let project = project_around("/bin/bash", &server);
        let run = in_shell(&project, &format!("{limit}; exec \"$@\""), &words);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(run.status.success() || !said.is_empty(), "{limit}: {run}");
        assert!(!said.contains("panicked"), "{limit}: {run}");
        let again = in_shell(&project, "exec \"$@\"", &words);
        assert_eq!(again.success().stdout, "Yes.\n", "{limit}");
        let shown = in_shell(&project, "exec \"$@\"", &["session", "show", SESSION]);
        assert_eq!(shown.success().stderr, "", "{limit}");
    }
}

#[test]
fn process_limit_is_reported_and_the_turn_continues() {
    let server = answering();
    let project = project_around("/bin/bash", &server);
    let words = ["chat", "Go", "--session", SESSION, "--yes", "--dangerously-skip-sandbox"];
    // Does not bind the superuser, for whom the command runs.
    let run = in_shell(&project, "ulimit -u 1; exec \"$@\"", &words);
    assert_eq!(run.success().stdout, "Yes.\n");
}

#[test]
fn conversation_works_without_a_temporary_directory() {
    let server = answering();
    let project = project_around(BINARY, &server).env("TMPDIR", "/nonexistent/temporary");
    let words = ["chat", "Go", "--session", SESSION, "--yes", "--dangerously-skip-sandbox"];
    assert_eq!(project.brynhild(&words).success().stdout, "Yes.\n");
}
