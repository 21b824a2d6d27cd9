//! Everyday commands and typical tasks in normal mode: inside the sandbox they run and succeed
//! without a question, and leaving it asks once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::{Value, json};
use testkit::{Project, Run};

use crate::{has_bubblewrap, project};

const COMMANDS: &str = include_str!("friction/commands.txt");
const TASKS: &str = include_str!("friction/tasks.json");

/// How a command of the table is decided.
#[derive(Debug, PartialEq, Eq)]
enum Decision<'a> {
    Runs,
    AsksHost(&'a str),
    AsksOutside,
}

fn table() -> Vec<(Decision<'static>, String)> {
    let rows = COMMANDS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|line| {
        let (decision, command) = line.split_once('\t').expect("a tab");
        let decision = match decision {
            "runs" => Decision::Runs,
            "asks outside" => Decision::AsksOutside,
            other => Decision::AsksHost(other.strip_prefix("asks ").expect("a decision")),
        };
        (decision, command.replace('⏎', "\n"))
    })
    .collect()
}

/// A small project in several languages, with a git history of two branches.
#[expect(clippy::disallowed_methods, reason = "the commands need the installed Rust tools")]
fn workspace() -> Project {
    let mut project = project();
    for (name, directory) in [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")] {
        let known = std::env::var_os(name).map(PathBuf::from);
        let usual = || std::env::home_dir().map(|home| home.join(directory));
        project = project.env(name, known.or_else(usual).expect("a home directory"));
    }
    project
        .file("README.md", "# Calculator\n\nAdds and subtracts.\n")
        .file(
            "src/calc.py",
            "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n",
        )
        .file(
            "tests/test_calc.py",
            "def test_add():\n    assert 1 + 1 == 2\n\n\ndef test_sub():\n    assert 2 - 1 == 1\n",
        )
        .file("script.py", "print('hello')\n")
        .file("x.js", "function twice(n) { return 2 * n; }\nconsole.log(twice(2));\n")
        .file("run.sh", "#!/bin/sh\necho run\n")
        .file("data.txt", "b\na\nb\n")
        .file("log.txt", "one line\n")
        .file("a.txt", "alpha\n")
        .file("b.txt", "alpha\n")
        .file("x", "a file\n")
        .file("Makefile", "all:\n\techo built\ntest:\n\techo tested\n")
        .file(".gitignore", "target\nnode_modules\n.env\n")
        .file(".env", "TOKEN=secret\n")
        .file("src/main.rs", "fn main() {\n    println!(\"hello\");\n    return;\n}\n")
        .file("Cargo.toml", "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
        .file(
            "package.json",
            "{\"name\": \"calc\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"node x.js\", \
             \"build\": \"node x.js\", \"lint\": \"node x.js\"}}\n",
        );
    shell(
        &project,
        "chmod +x run.sh && git init -q -b main && git config user.name Ann && \
         git config user.email ann@work.example && git add -A && git commit -qm one && \
         git switch -qc feature && echo more >> README.md && git commit -qam two && \
         git switch -q main && echo three > c.txt && git add c.txt && git commit -qm three && \
         git remote add origin https://git.example/calc.git",
    );
    project
}

/// Runs a command of the test itself, outside of the program.
#[expect(clippy::disallowed_methods, reason = "a test prepares its project with a plain shell")]
fn shell(project: &Project, command: &str) {
    let status = Command::new("sh")
        .args(["-c", command])
        .current_dir(project.path())
        .env("HOME", project.home())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdout(Stdio::null())
        .status()
        .expect("a shell");
    assert!(status.success(), "{command}");
}

/// The changes to the workspace that a command needs to succeed.
fn preparation(command: &str) -> &'static str {
    match command {
        "git commit -m \"x\"" => "echo y > new.py && git add new.py",
        "git add -A && git commit -m \"x\"" => "echo y > new.py",
        "git stash" | "git checkout src/calc.py" => "echo y >> src/calc.py",
        "rm new.txt" => "touch new.txt",
        "rm -rf build" | "rm -rf node_modules" => "mkdir -p build node_modules/a",
        "unzip x.zip" => {
            "python3 -c 'import zipfile; zipfile.ZipFile(\"x.zip\", \"w\").writestr(\"z.txt\", \"z\")'"
        }
        "sqlite3 db.sqlite \"select 1\"" => "touch db.sqlite",
        "git checkout -b feature" => "git branch -qD feature",
        "git rebase main" => "git switch -q feature",
        _ => "true",
    }
}

/// Returns true if all programs that a command needs are installed.
#[expect(clippy::disallowed_methods, reason = "a plain shell finds programs")]
fn is_installed(command: &str) -> bool {
    let has = |program: &str| {
        let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
        found.is_ok_and(|output| output.status.success())
    };
    let mut programs: Vec<&str> = command
        .split(['|', ';', '&', '\n'])
        .filter_map(|part| part.split_whitespace().find(|word| !word.contains('=')))
        .filter(|word| word.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)))
        .filter(|word| {
            !["for", "do", "done", "if", "then", "fi", "cd", "X", "hello"].contains(word)
        })
        .collect();
    if command.contains("python3 -m pytest") {
        programs.push("pytest");
    }
    if command.contains("xargs wc") {
        programs.push("wc");
    }
    if command.starts_with("cargo fmt") {
        programs.push("rustfmt");
    }
    if command.starts_with("cargo clippy") {
        programs.push("cargo-clippy");
    }
    programs.into_iter().all(|program| program.starts_with("1>") || has(program))
}

fn bash(project: &Project, input: &Value) -> Run {
    project.brynhild(&["tools", "exec", "Bash", "--input", &input.to_string()])
}

/// Commands that fail by themselves in this workspace.
fn fails_alone(command: &str) -> bool {
    // It ends when the test's timeout ends it.
    command == "tail -f log.txt"
}

#[test]
fn everyday_commands_run_in_the_sandbox() {
    if !has_bubblewrap() {
        return;
    }
    let mut wrong = String::new();
    let mut skipped = Vec::new();
    for (decision, command) in table() {
        if decision != Decision::Runs || fails_alone(&command) {
            continue;
        }
        if !is_installed(&command) {
            skipped.push(command);
            continue;
        }
        let project = workspace();
        shell(&project, preparation(&command));
        let run = bash(&project, &json!({"command": command}));
        if run.status.code() != Some(0) {
            writeln!(wrong, "`{command}`: {run}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}\nnot installed: {}", skipped.join(", "));
}

#[test]
fn commands_that_leave_the_sandbox_ask() {
    let project = workspace();
    for (decision, command) in table() {
        let input = match decision {
            Decision::Runs => continue,
            Decision::AsksHost(host) => json!({"command": command, "network": [host]}),
            Decision::AsksOutside => json!({"command": command, "outside": true}),
        };
        let run = bash(&project, &input);
        assert_eq!(run.status.code(), Some(3), "`{command}`: {run}");
    }
}

#[test]
fn a_blocked_host_is_named_with_the_call_that_requests_it() {
    if !has_bubblewrap() {
        return;
    }
    for (command, host) in [
        ("curl -sS --max-time 5 https://example.com", "example.com"),
        ("git -c http.lowSpeedTime=5 fetch", "git.example"),
    ] {
        if !is_installed(command) {
            continue;
        }
        let project = workspace();
        let run = bash(&project, &json!({"command": command}));
        assert_ne!(run.status.code(), Some(3), "`{command}`: {run}");
        let text = format!("{}{}", run.stdout, run.stderr);
        assert!(text.contains(&format!("\"network\":[\"{host}\"]")), "`{command}`: {text}");
    }
}

#[derive(Deserialize)]
struct Call {
    name: String,
    input: Value,
}

/// Plays the calls of a task, one in each reply, and returns the calls that were asked about.
fn calls_asked_about(calls: &[Call]) -> Vec<Value> {
    let project = workspace();
    let mut turns: Vec<Value> = calls
        .iter()
        .map(|call| json!({"tool_calls": [{"name": call.name, "input": call.input}]}))
        .collect();
    turns.push(json!({"text": "done"}));
    project.file("task.yaml", json!({"name": "task", "turns": turns}).to_string());
    let run = project.brynhild(&[
        "--provider",
        "script",
        "--model",
        "task.yaml",
        "chat",
        "--output-format",
        "stream-json",
        "do the task",
    ]);
    let events = run.json_lines();
    let called = events.iter().filter(|event| event["type"] == "tool_called").count();
    assert_eq!(called, calls.len(), "{run}");
    events.into_iter().filter(|event| event["type"] == "asked").collect()
}

#[test]
fn three_typical_tasks_ask_five_times_in_total() {
    if !has_bubblewrap() {
        return;
    }
    let tasks: BTreeMap<String, Vec<Call>> =
        serde_json::from_str(TASKS).expect("tasks that can be read");
    assert_eq!(tasks.values().map(Vec::len).sum::<usize>(), 59);
    let asked: Vec<Value> = tasks.values().flat_map(|calls| calls_asked_about(calls)).collect();
    assert!(asked.len() <= 5, "{} questions: {asked:#?}", asked.len());
    let is_leaving = |event: &Value| event["args"].get("network").is_some();
    assert!(asked.iter().all(is_leaving), "{asked:#?}");
}
