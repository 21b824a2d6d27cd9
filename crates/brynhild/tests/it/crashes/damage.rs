//! Files that are not as they were written: torn, cut, filled with garbage, gone.

use std::fs;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use super::{BINARY, SESSION, check_pairs, project_around, session_file, sessions_of};

fn answering() -> ModelServer {
    let mut count = 0;
    ModelServer::respond_with(move |_| {
        count += 1;
        Reply::text(format!("Answer {count}."))
    })
}

/// A project with one session of two turns.
fn with_session(server: &ModelServer) -> Project {
    let project = project_around(BINARY, server);
    for prompt in ["first", "second"] {
        project.brynhild(&["chat", prompt, "--session", SESSION]).success();
    }
    project
}

fn messages(project: &Project) -> Vec<String> {
    let shown = project.brynhild(&["session", "show", SESSION, "--json"]).success().json();
    let messages = shown["messages"].as_array().unwrap();
    messages.iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn session_truncated_at_any_byte_is_repaired() {
    let server = answering();
    let project = with_session(&server);
    let path = session_file(&project);
    let whole = fs::read(&path).unwrap();
    let start = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let cuts: Vec<usize> = (start..whole.len()).step_by(23).chain([whole.len() - 1]).collect();
    for cut in cuts {
        fs::write(&path, &whole[..cut]).unwrap();
        let run = project.brynhild(&["chat", "third", "--json", "--resume", SESSION]);
        assert!(run.success().json()["response"].is_string(), "{cut}: {run}");
        let sealed = fs::read(&path).unwrap();
        assert!(sealed.starts_with(&whole[..cut]), "{cut}: what was there stays");
        let messages = messages(&project);
        assert_eq!(messages.len(), 6, "{cut}: {messages:?}");
        assert_eq!(messages[4], "third");
    }
}

#[test]
fn damage_is_reported_and_the_rest_retained() {
    let server = answering();
    let project = with_session(&server);
    let path = session_file(&project);
    let whole = fs::read(&path).unwrap();
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let answer = lines.iter().position(|line| line.windows(9).any(|w| w == b"Answer 1.")).unwrap();
    let mut flipped = lines[answer].to_vec();
    flipped[60] ^= 1;
    let kinds: [(&str, &[u8]); 5] = [
        ("not a record", b"garbage\n"),
        ("not a record", b"\xff\xfe\0\0\0\n"),
        ("checksum", b"00000000 {}\n"),
        ("not a record", b"\n"),
        ("checksum", &flipped),
    ];
    for (message, bytes) in kinds {
        let damaged = [&lines[..answer].concat(), bytes, &lines[answer + 1..].concat()].concat();
        fs::write(&path, &damaged).unwrap();
        let shown = project.brynhild(&["session", "show", SESSION]);
        assert!(shown.success().stderr.contains(&format!("line {}", answer + 1)), "{shown}");
        assert!(shown.stderr.contains(message), "{shown}");
        assert!(shown.stdout.contains("Answer 2."), "{shown}");
        let resumed = project.brynhild(&["chat", "third", "--resume", SESSION]);
        assert!(resumed.success().stderr.contains("damaged"), "{resumed}");
        assert!(fs::read(&path).unwrap().starts_with(&damaged), "nothing is rewritten");
    }
}

#[test]
fn garbage_session_is_tolerated() {
    let server = answering();
    let project = with_session(&server);
    let garbage: Vec<u8> = (0..50_000_u32).map(|n| (n * n % 251) as u8).collect();
    for content in [b"".to_vec(), garbage, b"\0".repeat(5_000), b"x".repeat(1 << 20)] {
        fs::write(session_file(&project), &content).unwrap();
        project.brynhild(&["session", "list"]).success();
        let shown = project.brynhild(&["session", "show", SESSION]);
        assert!(shown.success().stderr.lines().count() <= 4, "{shown}");
        project.brynhild(&["session", "search", "anything"]).success();
        let run = project.brynhild(&["chat", "again", "--resume", SESSION]);
        assert!(run.success().stdout.starts_with("Answer"), "{run}");
        assert!(fs::read(session_file(&project)).unwrap().starts_with(&content));
    }
}

#[test]
fn session_of_a_later_version_is_read_only() {
    let server = answering();
    let project = with_session(&server);
    let path = session_file(&project);
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let (_, json) = lines[0].split_once(' ').unwrap();
    let json = json.replace("\"format\":1", "\"format\":2");
    lines[0] = format!("{:08x} {json}", super::crc32(json.as_bytes()));
    let later = lines.join("\n") + "\n";
    fs::write(&path, &later).unwrap();
    assert_eq!(messages(&project).len(), 4);
    let run = project.brynhild(&["chat", "third", "--resume", SESSION]);
    assert!(run.code(2).stderr.contains("later version"), "{run}");
    assert_eq!(fs::read_to_string(&path).unwrap(), later);
    project.brynhild(&["chat", "third", "--resume", SESSION, "--fork"]).success();
}

#[test]
fn index_can_be_missing_or_wrong() {
    let server = answering();
    let project = with_session(&server);
    let index = sessions_of(&project).join("index.json");
    let list = || project.brynhild(&["session", "list", "--json"]).success().json();
    let good: Value = list();
    assert!(index.is_file());
    fs::remove_file(&index).unwrap();
    assert_eq!(list(), good);
    for wrong in ["", "garbage", "{}", "[]", "{\"version\":1,\"sessions\":{\"gone\":{}}}"] {
        fs::write(&index, wrong).unwrap();
        assert_eq!(list(), good, "{wrong}");
    }
    fs::remove_file(&index).unwrap();
    fs::create_dir(&index).unwrap();
    assert_eq!(list(), good);
}

#[test]
fn foreign_files_in_the_session_directory_are_ignored() {
    let server = answering();
    let project = with_session(&server);
    let directory = sessions_of(&project);
    fs::create_dir(directory.join("directory.jsonl")).unwrap();
    fs::write(directory.join("a b.jsonl"), "x").unwrap();
    fs::write(directory.join("notes.txt"), "x").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", directory.join("link.jsonl")).unwrap();
    let listed = project.brynhild(&["session", "list", "--json"]).success().json();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    project.brynhild(&["chat", "x", "--resume", "link"]).code(2);
    project.brynhild(&["session", "delete", "link", "--yes"]).code(1);
    assert!(directory.join("link.jsonl").is_symlink());
}

#[test]
fn lost_tool_result_is_replaced() {
    let server = ModelServer::respond_with(|request| {
        check_pairs(request);
        let messages = request.body["messages"].as_array().unwrap();
        match messages.last().unwrap()["role"].as_str() {
            Some("tool") => Reply::text("Done."),
            _ => Reply::calls([("Inspect", json!({"operation": "cwd"}))]),
        }
    });
    let project = project_around(BINARY, &server);
    for prompt in ["first", "second", "third"] {
        project.brynhild(&["chat", prompt, "--session", SESSION]).success();
    }
    let path = session_file(&project);
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(15).position(|words| words == b"\"tool_finished\"").unwrap();
    bytes[at + 1] ^= 1;
    fs::write(&path, &bytes).unwrap();
    project.brynhild(&["chat", "fourth", "--resume", SESSION]).success();
    let last = server.chats().pop().unwrap().text;
    assert!(last.contains("the program ended while this call was running"), "{last}");
}
