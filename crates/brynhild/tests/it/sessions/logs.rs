//! Conversation logs: the files, and `logs list | view | export`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use super::counting;
use crate::project_with;

/// A project, and the directory of its logs.
fn with_logs(server: &ModelServer) -> (Project, PathBuf) {
    let project = project_with(server);
    let logs = project.config_directory().join("logs");
    (project, logs)
}

#[test]
fn logs_are_not_in_the_temporary_directory() {
    let server = ModelServer::start([Reply::text("Hello.")]);
    let (project, directory) = with_logs(&server);
    let temporary = project.home().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let run = project.command(&["chat", "Hi"]).env("TMPDIR", &temporary).run();
    run.success();
    assert_eq!(files(&directory).len(), 1);
    let shared = files(&temporary);
    assert!(!shared.iter().any(|name| name.contains("logs")), "{shared:?}");
}

#[test]
fn only_the_newest_hundred_logs_stay() {
    let server = ModelServer::start([Reply::text("Hello."), Reply::text("Hello.")]);
    let (project, directory) = with_logs(&server);
    fs::create_dir_all(&directory).unwrap();
    for number in 0..105 {
        let file = fs::File::create(directory.join(format!("brynhild_old_{number}.jsonl")));
        let at = UNIX_EPOCH + Duration::from_secs(1_000_000 + number);
        file.unwrap().set_modified(at).unwrap();
    }
    fs::write(directory.join("notes.txt"), "").unwrap();
    project.brynhild(&["chat", "Hi"]).success();
    let names = files(&directory);
    let is_there = |name: &str| names.iter().any(|it| it == name);
    assert_eq!(names.len(), 101, "{names:?}");
    assert!(is_there("notes.txt") && is_there("brynhild_old_104.jsonl"), "{names:?}");
    assert!(is_there("brynhild_old_6.jsonl") && !is_there("brynhild_old_5.jsonl"), "{names:?}");
    // Nothing is deleted in a directory that the user named.
    fs::write(directory.join("brynhild_old_0.jsonl"), "").unwrap();
    project.config_more(&format!("logging: {{dir: {:?}}}\n", directory.display().to_string()));
    project.brynhild(&["chat", "Hi"]).success();
    assert_eq!(files(&directory).len(), 103);
}

fn files(directory: &PathBuf) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn lines(path: PathBuf) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn kinds(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["event_type"].as_str().unwrap()).collect()
}

#[test]
fn conversation_is_logged_line_by_line() {
    let server = ModelServer::start([
        Reply::text("I look.")
            .thinking("Where?")
            .call_as("call-1", "Read", &json!({"file_path": "missing.txt"}))
            .usage(10, 5)
            .cost(0.5),
        Reply::text("It is gone."),
        Reply::text("Bye."),
    ]);
    let (project, directory) = with_logs(&server);
    project.brynhild(&["chat", "Look", "--session", "work"]).success();
    let names = files(&directory);
    assert_eq!(names.len(), 1);
    let stem = names[0].strip_prefix("brynhild_").and_then(|name| name.strip_suffix(".jsonl"));
    assert_eq!(stem.map(str::len), Some("20260102_030405".len()), "{names:?}");
    let log = lines(directory.join(&names[0]));
    assert_eq!(
        kinds(&log),
        [
            "session_start",
            "context_init",
            "context_ready",
            "system_prompt",
            "user_message",
            "assistant_message",
            "usage",
            "tool_call",
            "tool_result",
            "assistant_message",
            "usage",
            "session_end",
        ]
    );
    for (number, line) in (1_u64..).zip(&log) {
        assert_eq!(line["event_number"], number);
        assert!(line["timestamp"].as_str().unwrap().starts_with('2'));
    }
    assert_eq!(log[0]["session_id"], "work");
    assert_eq!((&log[0]["provider"], &log[0]["model"]), (&json!("test"), &json!("test-model")));
    assert_eq!(log[4]["content"], "Look");
    assert_eq!((&log[5]["content"], &log[5]["thinking"]), (&json!("I look."), &json!("Where?")));
    assert_eq!((&log[6]["total_tokens"], &log[6]["cost_usd"]), (&json!(15), &json!(0.5)));
    assert_eq!((&log[7]["tool_name"], &log[7]["call_type"]), (&json!("Read"), &json!("native")));
    assert_eq!(log[7]["tool_input"], json!({"file_path": "missing.txt"}));
    assert_eq!((&log[8]["tool_id"], &log[8]["success"]), (&json!("call-1"), &json!(false)));
    assert_eq!(log[8]["error"], "File not found: missing.txt");
    assert_eq!(log[11]["total_events"], 12);
    // A continued session has a log of its own, which names the model too.
    project.brynhild(&["chat", "More", "--session", "work"]).success();
    let again = files(&directory).into_iter().find(|name| *name != names[0]).unwrap();
    let log = lines(directory.join(again));
    assert_eq!((&log[0]["session_id"], &log[0]["model"]), (&json!("work"), &json!("test-model")));
}

#[test]
fn logs_are_private_and_never_overwritten() {
    let server = counting();
    let (project, directory) = with_logs(&server);
    let running: Vec<_> =
        (0..4).map(|_| project.command(&["chat", "x"]).stdin("").spawn()).collect();
    for run in running {
        run.wait().success();
    }
    let names = files(&directory);
    assert_eq!(names.len(), 4, "{names:?}");
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(directory.clone()), 0o700);
    for name in names {
        assert_eq!(mode(directory.join(name)), 0o600);
    }
}

#[test]
fn log_directory_of_another_user_is_not_used() {
    let server = counting();
    let (project, directory) = with_logs(&server);
    let target = project.home().join("target");
    fs::create_dir(&target).unwrap();
    std::os::unix::fs::symlink(&target, &directory).unwrap();
    let run = project.brynhild(&["chat", "x"]);
    assert_eq!(run.success().stdout, "Answer 1.\n");
    assert!(run.stderr.contains("no conversation log"), "{run}");
    assert!(run.stderr.contains("symbolic link"), "{run}");
    assert!(files(&target).is_empty());
}

#[test]
fn log_directory_is_configurable() {
    let server = counting();
    let (project, directory) = with_logs(&server);
    project.brynhild(&["chat", "x", "--no-log"]).success();
    let off = project.command(&["chat", "x"]).env("BRYNHILD_LOGGING__ENABLED", "false").run();
    off.success();
    assert!(files(&directory).is_empty());
    let other = project.home().join("other/logs");
    let moved = project.command(&["chat", "x"]).env("BRYNHILD_LOGGING__DIR", &other).run();
    moved.success();
    assert_eq!(files(&other).len(), 1);
    project.brynhild(&["chat", "one", "--log-file", "my.jsonl"]).success();
    project.brynhild(&["chat", "two", "--log-file", "my.jsonl"]).success();
    let named = lines(project.path().join("my.jsonl"));
    assert_eq!(kinds(&named).iter().filter(|kind| **kind == "session_start").count(), 2);
    assert!(files(&directory).is_empty());
    let run = project.brynhild(&["chat", "x", "--log-file", "missing/my.jsonl"]);
    assert!(run.code(2).stderr.contains("missing/my.jsonl"), "{run}");
    project.brynhild(&["chat", "x", "--no-log", "--log-file", "my.jsonl"]).code(2);
    // A failed start leaves no session.
    let sessions = project.brynhild(&["session", "list", "--json"]).success().json();
    assert_eq!(sessions.as_array().unwrap().len(), 5);
}

#[test]
fn logs_are_listed_newest_first() {
    let server = counting();
    let (project, directory) = with_logs(&server);
    let empty = project.brynhild(&["logs", "list", "--json"]).success().json();
    assert_eq!(empty, json!({"logs": [], "log_dir": directory.display().to_string()}));
    assert!(project.brynhild(&["logs", "list"]).success().stdout.contains("No logs in"));
    project.brynhild(&["chat", "x"]).success();
    project.brynhild(&["chat", "y"]).success();
    fs::write(directory.join("brynhild_raw_20260101_000000.jsonl"), "{}\n").unwrap();
    fs::write(directory.join("other.txt"), "").unwrap();
    let listed = project.brynhild(&["logs", "list", "--json"]).success().json();
    let logs = listed["logs"].as_array().unwrap();
    assert_eq!(logs.len(), 2);
    let path = PathBuf::from(logs[0]["path"].as_str().unwrap());
    assert_eq!(path.file_name().unwrap().to_str(), logs[0]["name"].as_str());
    assert_eq!(logs[0]["size"], fs::metadata(&path).unwrap().len());
    assert!(logs[0]["modified"].as_str() >= logs[1]["modified"].as_str());
    assert_eq!(lines(path)[4]["content"], "y");
    let one = project.brynhild(&["logs", "list", "--json", "-n", "1"]).success().json();
    assert_eq!(one["logs"].as_array().unwrap().len(), 1);
}

#[test]
fn a_log_is_viewed_and_exported() {
    let server = ModelServer::start([
        Reply::text("Bright \u{1b}[31mred.").thinking("Colors.").usage(10, 5).cost(0.25),
        Reply::text("Last."),
    ]);
    let (project, directory) = with_logs(&server);
    project.brynhild(&["chat", "first"]).success();
    let name = files(&directory).remove(0);
    project.brynhild(&["chat", "second"]).success();
    assert!(project.brynhild(&["logs", "view"]).success().stdout.contains("Last."));
    let view = |args: &[&str]| project.brynhild(&[&["logs", "view", &name], args].concat());
    let text = view(&[]);
    assert!(text.success().stdout.contains("Bright"), "{text}");
    assert!(!text.stdout.contains('\u{1b}'), "{text}");
    let objects = serde_json::Deserializer::from_str(&view(&["--json"]).success().stdout)
        .into_iter::<Value>()
        .collect::<Result<Vec<_>, _>>();
    assert_eq!(objects.unwrap(), lines(directory.join(&name)));
    assert_eq!(view(&["--raw"]).success().json_lines(), lines(directory.join(&name)));
    assert!(view(&["--summary"]).success().stdout.contains("Input tokens: 10"));
    let summary = view(&["--summary", "--json"]).success().json();
    assert_eq!(summary["input_tokens"], 10);
    assert_eq!(summary["user_messages"], 1);
    assert_eq!(summary["cost"], 0.25);
    let export = |args: &[&str]| project.brynhild(&[&["logs", "export", &name], args].concat());
    let markdown = export(&["--title", "Colors of it"]);
    assert!(markdown.success().stdout.starts_with("# Colors of it\n"), "{markdown}");
    for flags in [&["--thinking-style", "hidden"][..], &["--no-thinking"]] {
        assert!(!export(flags).success().stdout.contains("Colors."), "{flags:?}");
    }
    assert!(export(&["--no-thinking", "--thinking"]).success().stdout.contains("Colors."));
    assert_eq!(export(&["-o", "out.md"]).success().stdout, "");
    assert!(project.read("out.md").contains("Bright"));
    let gone = project.brynhild(&["logs", "view", "nothing.jsonl", "--json"]).code(1).json();
    assert!(gone["error"].as_str().unwrap().contains("nothing.jsonl"), "{gone}");
}

#[test]
fn damaged_log_is_read_partially() {
    let server = counting();
    let (project, directory) = with_logs(&server);
    project.brynhild(&["chat", "x"]).success();
    let path = directory.join(files(&directory).remove(0));
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend_from_slice(b"\xff\xfe garbage\n{\"half\": ");
    fs::write(&path, bytes).unwrap();
    let run = project.brynhild(&["logs", "view"]);
    assert!(run.success().stdout.contains("Answer 1."), "{run}");
    assert!(run.stderr.contains("2 lines"), "{run}");
}

#[test]
fn tools_are_counted_from_a_log() {
    let call = json!({"operation": "cwd"});
    let server = ModelServer::start([Reply::calls([("Inspect", call)]), Reply::text("Done.")]);
    let (project, directory) = with_logs(&server);
    project.brynhild(&["chat", "x"]).success();
    let name = files(&directory).remove(0);
    let stats = project.brynhild(&["tools", "stats", "--json", "--log", &name]).success().json();
    assert_eq!(stats["tools"]["Inspect"]["call_count"], 1);
    assert_eq!(stats["summary"]["total_success"], 1);
}

#[test]
fn raw_log_is_listed_summarized_and_filtered() {
    let call = json!({"operation": "cwd"});
    let server = ModelServer::start([Reply::calls([("Inspect", call)]), Reply::text("Done.")]);
    let (project, directory) = with_logs(&server);
    let empty = project.brynhild(&["logs", "raw", "--list", "--json"]).success().json();
    assert_eq!(empty, json!({"logs": [], "log_dir": directory.display().to_string()}));
    project.brynhild(&["chat", "--raw-log", "x"]).success();
    let raw = |args: &[&str]| project.brynhild(&[&["logs", "raw"], args].concat());
    let listed = raw(&["--list", "--json"]).success().json();
    let name = listed["logs"][0]["name"].as_str().unwrap();
    assert!(name.starts_with("brynhild_raw_"), "{listed}");
    assert!(raw(&["--list"]).success().stdout.contains(name));
    let all = raw(&["--json"]).success().json();
    let directions: Vec<&str> =
        all.as_array().unwrap().iter().map(|it| it["direction"].as_str().unwrap()).collect();
    assert_eq!(directions, ["request", "stream_complete", "request", "stream_complete"]);
    for (args, wanted) in [
        (&["-i", "0,2-3"][..], vec![0, 2, 3]),
        (&["--index", "3"], vec![3]),
        (&["-d", "request"], vec![0, 2]),
        (&["-i", "1-2", "-d", "request"], vec![2]),
        (&["-n", "1"], vec![0]),
        (&["-i", "9"], vec![]),
    ] {
        let picked = raw(&[args, &["--json"]].concat()).success().json();
        let expected: Vec<&Value> = wanted.iter().map(|number: &usize| &all[*number]).collect();
        assert_eq!(picked, json!(expected), "{args:?}");
    }
    let summary = raw(&["--summary", "--json"]).success().json();
    assert_eq!(summary["directions"], json!({"request": 2, "stream_complete": 2}));
    assert_eq!(summary["exchanges"][3]["index"], 3);
    assert_eq!(summary["exchanges"][0].get("payload"), None);
    let text = raw(&["--summary", name]);
    assert!(text.success().stdout.contains("2 request, 2 stream_complete"), "{text}");
    assert!(raw(&["-i", "1"]).success().stdout.starts_with("== [1] "));
    assert!(raw(&["-i", "4-2"]).code(2).stderr.contains("ends before it begins"));
    assert!(raw(&["-d", "sideways"]).code(2).stderr.contains("stream_complete"));
    raw(&["--list", name]).code(2);
}
