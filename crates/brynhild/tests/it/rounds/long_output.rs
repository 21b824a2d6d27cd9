//! Output that is longer than a model should read.

use serde_json::json;
use testkit::{ModelServer, Project, Reply};

use super::last_results;
use crate::project_with;

const NOTE: &str = "... [TRUNCATED: output exceeded 50,000 characters] ...";

fn numbers(last: u32) -> (&'static str, serde_json::Value) {
    ("Bash", json!({"command": format!("seq 1 {last}")}))
}

/// The path that a shortened output names.
fn named_file(result: &str) -> String {
    let note = &result[result.find(NOTE).unwrap() + NOTE.len()..];
    let path = &note[note.find(" /").unwrap() + 1..];
    path[..path.find([';', ')']).unwrap()].to_owned()
}

/// A project with a skill of this text, which comes whole in one result.
fn with_skill(server: &ModelServer, body: &str) -> Project {
    let project = with_own_temp(server);
    let directory = project.config_directory().join("skills/long");
    std::fs::create_dir_all(&directory).unwrap();
    let text = format!("---\nname: long\ndescription: Much to read\n---\n{body}\n");
    std::fs::write(directory.join("SKILL.md"), text).unwrap();
    project
}

fn learn() -> (&'static str, serde_json::Value) {
    ("LearnSkill", json!({"skill": "long"}))
}

fn with_own_temp(server: &ModelServer) -> Project {
    let project = project_with(server);
    let temp = project.home().join("tmp");
    std::fs::create_dir(&temp).unwrap();
    project.env("TMPDIR", temp)
}

#[test]
fn fifty_thousand_characters_are_not_cut() {
    let text = "x".repeat(50_000);
    let server = ModelServer::start([
        Reply::calls([("Bash", json!({"command": "cat text"}))]),
        Reply::text("ok"),
    ]);
    let project = with_own_temp(&server);
    project.file("text", &text);
    project.brynhild(&["chat", "--yes", "go"]).success();
    assert_eq!(last_results(&server.chats()[1]), [text]);
}

#[test]
fn longer_output_is_cut_and_saved_to_a_file() {
    let server = ModelServer::respond_with(|request| {
        let results = last_results(request);
        match results.last() {
            None => Reply::calls([numbers(100_000)]),
            Some(result) if result.contains(NOTE) => Reply::calls([(
                "Read",
                json!({"file_path": named_file(result), "offset": 49_999, "limit": 2}),
            )]),
            Some(_) => Reply::text("ok"),
        }
    });
    let project = with_own_temp(&server);
    project.brynhild(&["chat", "--yes", "go"]).success();
    let chats = server.chats();
    let shortened = &last_results(&chats[1])[0];
    assert!(shortened.starts_with("1\n2\n3\n"), "{}", &shortened[..50]);
    assert!(shortened.trim_end().ends_with("\n99999\n100000"));
    assert!(shortened.contains(NOTE));
    assert!(shortened.chars().count() < 51_000, "{}", shortened.chars().count());
    let read = &last_results(&chats[2])[0];
    assert!(read.starts_with(" 50000|50000\n 50001|50001"), "{read}");
}

#[test]
fn characters_are_counted_and_not_their_bytes() {
    for (count, expected) in [(45_000, 45_000..=45_000), (60_000, 49_000..=50_000)] {
        let server = ModelServer::start([Reply::calls([learn()]), Reply::text("ok")]);
        let project = with_skill(&server, &"漢".repeat(count));
        project.brynhild(&["chat", "go"]).success();
        let result = &last_results(&server.chats()[1])[0];
        let kept = result.matches('漢').count();
        assert!(expected.contains(&kept), "{kept} of {count} characters are left");
        assert_eq!(result.contains(NOTE), count > 50_000);
        if count > 50_000 {
            let whole = std::fs::read_to_string(named_file(result)).unwrap();
            assert_eq!(whole.matches('漢').count(), count);
        }
    }
}

#[test]
fn failed_command_with_long_output_keeps_its_error() {
    let server = ModelServer::start([
        Reply::calls([("Bash", json!({"command": "seq 1 100000; echo the-reason >&2; exit 7"}))]),
        Reply::text("ok"),
    ]);
    let project = with_own_temp(&server);
    project.brynhild(&["chat", "--yes", "go"]).success();
    let shortened = &last_results(&server.chats()[1])[0];
    assert!(shortened.contains(NOTE));
    assert!(shortened.contains("the-reason"), "{}", &shortened[shortened.len() - 300..]);
}

#[test]
fn sessions_do_not_overwrite_saved_output() {
    for (name, args) in [("Bash", json!({"command": "cat long"})), learn()] {
        let reply = Reply::default().call_as("call_1", name, &args);
        let server = ModelServer::start([reply.clone(), Reply::text("a"), reply, Reply::text("b")]);
        let project = with_skill(&server, &"x".repeat(60_000));
        project.file("long", "x".repeat(60_000));
        project.brynhild(&["chat", "--yes", "go"]).success();
        project.brynhild(&["chat", "--yes", "go"]).success();
        let chats = server.chats();
        let files = [1, 3].map(|chat: usize| named_file(&last_results(&chats[chat])[0]));
        assert_ne!(files[0], files[1], "{name}");
    }
}

#[test]
fn saved_output_is_private() {
    use std::os::unix::fs::PermissionsExt;
    for (name, args) in [numbers(100_000), learn()] {
        let server = ModelServer::start([Reply::calls([(name, args)]), Reply::text("ok")]);
        let project = with_skill(&server, &"x".repeat(60_000));
        project.brynhild(&["chat", "--yes", "go"]).success();
        let file = named_file(&last_results(&server.chats()[1])[0]);
        let directory = std::path::Path::new(&file).parent().unwrap();
        for path in [directory, file.as_ref()] {
            let mode = std::fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{name}: {} is open", path.display());
        }
    }
}
