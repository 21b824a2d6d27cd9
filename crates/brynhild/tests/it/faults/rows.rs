//! Faults that need a set-up of their own: files in a home that are broken, a directory that goes away, clocks that jump,
//! proxies that refuse, signals in the middle of work.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use crate::crashes::{BINARY, SESSION, crc32, project_around, records, session_file};

fn answering() -> ModelServer {
    ModelServer::start([Reply::text("Yes.")]).repeat_last()
}

/// A fault of a home: its name, and the function that creates it.
type Break = (&'static str, fn(&Project));

fn write_file(project: &Project, path: &str, bytes: &[u8]) {
    let path = project.config_directory().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn directory(project: &Project, path: &str) {
    fs::create_dir_all(project.config_directory().join(path)).unwrap();
}

/// Faults that do not prevent an answer.
const BEARABLE: [Break; 18] = [
    ("no sessions yet", |_| {}),
    ("an empty index", |it| write_file(it, "sessions/index.json", b"")),
    ("an index of garbage", |it| write_file(it, "sessions/index.json", b"\xff\0{")),
    ("an index of a later version", |it| {
        write_file(it, "sessions/index.json", b"{\"version\":99}");
    }),
    ("a directory for an index", |it| directory(it, "sessions/index.json")),
    ("a lock that was left behind", |it| write_file(it, "sessions/work.lock", b"{\"pid\":1}")),
    ("a lock of garbage", |it| write_file(it, "sessions/work.lock", b"\xff\xff")),
    ("an empty session", |it| write_file(it, "sessions/other.jsonl", b"")),
    ("a session of garbage", |it| write_file(it, "sessions/other.jsonl", b"\0\0\0\0garbage\n")),
    ("a session of one long line", |it| {
        write_file(it, "sessions/other.jsonl", &b"x".repeat(1 << 20));
    }),
    ("words of garbage", |it| write_file(it, "sessions/other.words", b"words-01garbage")),
    ("a copy that broke off", |it| write_file(it, "sessions/x.jsonl.tmp", b"half")),
    ("an empty env file", |it| write_file(it, ".env", b"")),
    ("a directory of skills that is a file", |it| write_file(it, "skills", b"x")),
    ("a directory of plugins that is a file", |it| write_file(it, "plugins", b"x")),
    ("a directory of commands that is a file", |it| write_file(it, "commands", b"x")),
    ("a file that nobody may read", |it| {
        write_file(it, "notes", b"x");
        let path = it.config_directory().join("notes");
        fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
    }),
    ("a link that leads nowhere", |it| {
        directory(it, "sessions");
        let link = it.config_directory().join("sessions/gone.jsonl");
        std::os::unix::fs::symlink("/nonexistent", link).unwrap();
    }),
];

#[test]
fn broken_home_files_are_tolerated_and_unchanged() {
    let server = answering();
    for (name, break_it) in BEARABLE {
        let project = project_around(BINARY, &server);
        break_it(&project);
        let other = project.config_directory().join("sessions/other.jsonl");
        let before = fs::read(&other).ok();
        let run = project.brynhild(&["chat", "Go", "--session", SESSION]);
        assert_eq!(run.success().stdout, "Yes.\n", "{name}: {run}");
        project.brynhild(&["session", "list"]).success();
        project.brynhild(&["session", "search", "Yes"]).success();
        assert_eq!(fs::read(&other).ok(), before, "{name}");
    }
}

#[test]
fn deleted_project_fails_calls_and_not_the_session() {
    let place: Arc<OnceLock<PathBuf>> = Arc::default();
    let known = Arc::clone(&place);
    let mut asked = 0;
    let server = ModelServer::respond_with(move |_| {
        asked += 1;
        match asked {
            1 => Reply::calls([("Bash", json!({"command": "echo here"}))]),
            2 => {
                fs::remove_dir_all(known.get().unwrap()).unwrap();
                Reply::calls([("Bash", json!({"command": "echo again"}))])
            }
            3 => Reply::calls([
                ("Read", json!({"file_path": "a"})),
                ("Glob", json!({"pattern": "*"})),
                ("Write", json!({"file_path": "b", "content": "c"})),
            ]),
            _ => Reply::text("Here."),
        }
    });
    let project = project_around(BINARY, &server);
    place.set(project.path()).unwrap();
    let words = ["chat", "Go", "--session", SESSION, "--yes", "--dangerously-skip-sandbox"];
    let run = project.brynhild(&words);
    assert_eq!(run.success().stdout, "Here.\n", "{run}");
    assert!(!run.stderr.contains("panicked"), "{run}");
    let finished = records(&project).into_values().filter(|it| it["type"] == "tool_finished");
    let succeeded: Vec<bool> = finished.map(|it| it["output"]["success"] == true).collect();
    assert_eq!(succeeded[..3], [true, false, false], "{succeeded:?}");
    assert_eq!(succeeded.len(), 5);
    assert!(!succeeded[4] && !project.path().exists(), "the directory was made again");
}

#[test]
fn clock_jumps_keep_order_and_data() {
    let server = answering();
    let project = project_around(BINARY, &server);
    for _ in 0..2 {
        project.brynhild(&["chat", "Go", "--session", SESSION]).success();
    }
    let path = session_file(&project);
    let text = fs::read_to_string(&path).unwrap();
    let times = ["1970-01-01T00:00:00Z", "2262-04-11T23:47:16Z", "1969-12-31T23:59:59Z"];
    let mut jumping = String::new();
    for (line, time) in text.lines().zip(times.iter().cycle()) {
        let mut event: Value = serde_json::from_str(&line[9..]).unwrap();
        event["at"] = json!(time);
        let json = event.to_string();
        writeln!(jumping, "{:08x} {json}", crc32(json.as_bytes())).unwrap();
    }
    fs::write(&path, &jumping).unwrap();
    let prompts = |project: &Project| {
        let shown = project.brynhild(&["session", "show", SESSION, "--json"]).success().json();
        shown["messages"].as_array().unwrap().len()
    };
    assert_eq!(prompts(&project), 4);
    let run = project.brynhild(&["chat", "Go", "--resume", "last"]);
    assert_eq!(run.success().stderr, "", "{run}");
    assert_eq!(prompts(&project), 6);
    let seqs: Vec<u64> = records(&project).into_keys().collect();
    assert!(seqs.iter().copied().eq(1..=seqs.len() as u64));
    assert!(fs::read_to_string(&path).unwrap().starts_with(&jumping));
}

#[test]
fn refusing_proxy_is_reported_with_its_status() {
    let proxy = ModelServer::respond_with(|_| Reply::failure(407));
    let project = crate::project().env("HTTP_PROXY", proxy.url()).env("http_proxy", proxy.url());
    project.config(
        "providers:\n  default: test\n  instances:\n    test:\n      type: openai\n      \
         base_url: http://models.example/v1\n      default_model: m\n",
    );
    let run = project.brynhild(&["chat", "Go", "--no-save"]);
    assert!(run.code(1).stderr.contains("407"), "{run}");
}

#[test]
fn unwritable_output_ends_a_line_conversation() {
    let server = ModelServer::respond_with(|request| {
        let messages = request.body["messages"].as_array().unwrap();
        if messages.last().unwrap()["role"] == "tool" {
            Reply::text("Yes.")
        } else {
            Reply::calls([("Bash", json!({"command": "echo hi"}))])
        }
    });
    let project = project_around("/bin/bash", &server);
    let script = "\"$@\" > /dev/full";
    let flags = ["--yes", "--dangerously-skip-sandbox", "--output-format", "stream-json"];
    let words =
        [&["-c", script, "bash", BINARY, "--plain", "--session", SESSION], &flags[..]].concat();
    let run = project.command(&words).stdin("a\nb\nc\n").run();
    assert!(run.code(1).stderr.contains("No space left on device"), "{run}");
    let last = records(&project).into_values().next_back().unwrap();
    assert_eq!(last["type"], "session_ended", "the log is closed in order");
}

/// A turn that has come to a certain point when a signal arrives.
fn signalled(reply: Reply, signal: Signal, code: i32) {
    let server = ModelServer::start([reply, Reply::text("Later.")]);
    let project = project_around(BINARY, &server);
    let words =
        ["chat", "Go", "--session", SESSION, "--yes", "--dangerously-skip-sandbox", "--json"];
    let running = project.command(&words).stdin("").spawn();
    server.wait_for_requests(1);
    running.signal(signal);
    let run = running.wait();
    assert_eq!(run.status.code(), Some(code), "{signal:?}: {run}");
    let events = records(&project);
    let last = events.values().next_back().unwrap();
    assert_eq!(last["type"], "session_ended", "{signal:?}: the log is closed in order");
    let again = project.brynhild(&["chat", "On", "--resume", SESSION]);
    assert_eq!(again.success().stdout, "Later.\n", "{signal:?}");
}

#[test]
fn ending_signals_close_the_session_with_their_codes() {
    for (signal, code) in
        [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129), (Signal::QUIT, 131)]
    {
        signalled(Reply::text("Never.").withhold(), signal, code);
        signalled(Reply::text("A long answer").stall_at(60), signal, code);
    }
}
