//! `session list | show | rename | title | delete | export | search`, and `tools stats`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use super::{chat, counting, ids, list};
use crate::{project, project_with};

/// A project with one session of two turns and two calls, one of which failed.
fn worked(server: &ModelServer) -> Project {
    let project = project_with(server);
    project.file("a.txt", "a needle in here\n");
    chat(&project, &["Find it", "--session", "work"]);
    chat(&project, &["Thanks", "--session", "work"]);
    project
}

fn working() -> ModelServer {
    ModelServer::start([
        Reply::text("I look.")
            .thinking("Where?")
            .call_as("call-1", "Read", &json!({"file_path": "a.txt"}))
            .call_as("call-2", "Read", &json!({"file_path": "b.txt"}))
            .usage(10, 5)
            .cost(0.01),
        Reply::text("There \u{1b}[31mit is.").usage(20, 5).cost(0.02),
        Reply::text("You are welcome."),
    ])
}

#[test]
fn the_list_is_newest_first_and_limited() {
    let server = counting();
    let project = project_with(&server);
    assert!(list(&project).is_empty());
    let text = project.brynhild(&["session", "list"]);
    assert!(text.success().stdout.contains("No sessions yet"), "{text}");
    for name in ["one", "two", "three"] {
        chat(&project, &["Hello", "--session", name]);
    }
    chat(&project, &["Again", "--session", "one"]);
    assert_eq!(ids(&project), ["one", "three", "two"]);
    let two = project.brynhild(&["session", "list", "--json", "--limit", "2"]).success().json();
    assert_eq!(two.as_array().unwrap().len(), 2);
    let text = project.brynhild(&["session", "list"]);
    let lines: Vec<&str> = text.success().stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines[1].starts_with("one ") && lines[1].contains("test-model"), "{text}");
    assert!(lines[1].ends_with("Hello"), "what it began with stands for a title: {text}");
}

#[test]
fn title_is_the_first_sentence_of_the_first_prompt() {
    let server = counting();
    let project = project_with(&server);
    chat(&project, &["Fix the parser. It fails on tabs.", "--session", "one"]);
    let listed = || project.brynhild(&["session", "list"]).success().stdout.clone();
    assert!(listed().trim_end().ends_with("  Fix the parser"), "{}", listed());
    project.brynhild(&["session", "title", "one", "Tabs. At last"]).success();
    assert!(listed().trim_end().ends_with("  Tabs. At last"), "{}", listed());
}

#[test]
fn session_is_shown_as_text_and_json() {
    let server = working();
    let project = worked(&server);
    let session = project.brynhild(&["session", "show", "work", "--json"]).success().json();
    for key in ["id", "cwd", "created_at", "updated_at", "model", "provider", "title"] {
        assert!(session.get(key).is_some(), "no {key} in {session}");
    }
    assert_eq!(session["message_count"], 7);
    let roles: Vec<&Value> =
        session["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool", "assistant", "user", "assistant"]);
    let read = &session["messages"][2];
    assert_eq!(read["tool_name"], "Read");
    assert_eq!(read["tool_input"], json!({"file_path": "a.txt"}));
    assert_eq!(read["tool_result"]["success"], true);
    assert!(read["timestamp"].is_string());
    assert_eq!(session["messages"][3]["tool_result"]["error"], "File not found: b.txt");
    let text = project.brynhild(&["session", "show", "work"]);
    for part in ["Find it", "I look.", "a needle in here", "You are welcome."] {
        assert!(text.success().stdout.contains(part), "no {part:?}: {text}");
    }
    assert!(!text.stdout.contains('\u{1b}'), "escape sequences must not reach a terminal");
}

#[test]
fn a_session_is_renamed_and_titled() {
    let server = counting();
    let project = project_with(&server);
    chat(&project, &["Hello", "--session", "old"]);
    chat(&project, &["Hello", "--session", "other"]);
    let renamed = project.brynhild(&["session", "rename", "old", "fresh", "--json"]);
    assert_eq!(
        renamed.success().json(),
        json!({"renamed": true, "old_name": "old", "new_name": "fresh"})
    );
    let titled = project.brynhild(&["session", "title", "fresh", "My work", "--json"]);
    assert_eq!(
        titled.success().json(),
        json!({"titled": true, "session_id": "fresh", "title": "My work"})
    );
    let text = project.brynhild(&["session", "title", "fresh", "My \u{1b}[1mwork"]);
    assert!(text.success().stdout.contains("fresh"), "{text}");
    assert!(!text.stdout.contains('\u{1b}'));
    let newest = &list(&project)[0];
    assert_eq!((&newest["id"], &newest["title"]), (&json!("fresh"), &json!("My \u{1b}[1mwork")));
    assert!(!project.brynhild(&["session", "list"]).stdout.contains('\u{1b}'));
    chat(&project, &["Again", "--resume", "fresh"]);
    assert_eq!(list(&project)[0]["message_count"], 4);
    let cases = [
        (["rename", "fresh", "other"], "Session already exists: other"),
        (["rename", "old", "x"], "Session not found: old"),
        (["rename", "fresh", "a/b"], "Invalid session ID: 'a/b'."),
        (["title", "old", "x"], "Session not found: old"),
    ];
    for (args, message) in cases {
        let run = project.brynhild(&[&["session"], &args[..]].concat());
        assert!(run.code(1).stderr.contains(message), "{run}");
        let json = project.brynhild(&[&["session", "--json"], &args[..]].concat()).code(1).json();
        assert!(json["error"].as_str().unwrap().contains(message), "{json}");
    }
}

#[test]
fn session_deletion_needs_confirmation() {
    let server = counting();
    let project = project_with(&server);
    for name in ["one", "two", "three"] {
        chat(&project, &["Hello", "--session", name]);
    }
    let asked = project.brynhild(&["session", "delete", "one"]);
    assert!(asked.code(3).stderr.contains("--yes"), "{asked}");
    assert_eq!(ids(&project).len(), 3);
    project.brynhild(&["session", "delete", "one", "--yes"]).success();
    let deleted = project.brynhild(&["session", "delete", "two", "--json"]).success().json();
    assert_eq!(deleted, json!({"deleted": true, "session_id": "two"}));
    assert_eq!(ids(&project), ["three"]);
    let gone = project.brynhild(&["session", "delete", "two", "--json"]).code(1).json();
    assert_eq!(gone, json!({"error": "Session not found: two"}));
    let left: Vec<_> = fs::read_dir(project.config_directory().join("sessions"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("one") || name.contains("two"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_session_is_exported() {
    let server = working();
    let project = worked(&server);
    let markdown = project.brynhild(&["session", "export", "work"]);
    assert!(markdown.success().stdout.starts_with("# work\n"), "{markdown}");
    assert!(markdown.stdout.contains("<details>") && markdown.stdout.contains("Where?"));
    let hidden = project.brynhild(&["session", "export", "work", "--thinking-style", "hidden"]);
    assert!(!hidden.success().stdout.contains("Where?"), "{hidden}");
    let shown = project.brynhild(&["session", "show", "work", "--json"]).success().json();
    for args in [&["--format", "json"][..], &["--json"]] {
        let args = [&["session", "export", "work"], args].concat();
        assert_eq!(project.brynhild(&args).success().json(), shown);
    }
    let to_file = ["session", "export", "wo", "--format", "json", "-o", "out.json"];
    assert_eq!(project.brynhild(&to_file).success().stdout, "");
    assert_eq!(serde_json::from_str::<Value>(&project.read("out.json")).unwrap(), shown);
    let run = project.brynhild(&["session", "export", "work", "-o", "missing/out.md"]);
    assert!(run.code(1).stderr.contains("cannot write missing/out.md"), "{run}");
}

#[test]
fn named_files_are_not_reached_through_project_symlinks() {
    let server = working();
    let project = worked(&server);
    let keys = project.home().join("keys");
    fs::write(&keys, "mine").unwrap();
    let link = |target: &std::path::Path, name: &str| {
        std::os::unix::fs::symlink(target, project.path().join(name)).unwrap();
    };
    link(&keys, "notes.md");
    link(&project.home().join("made"), "new.md");
    link(&project.home(), "out");
    let export = ["session", "export", "work", "-o"];
    for named in ["notes.md", "new.md", "out/keys", "out/made"] {
        let run = project.brynhild(&[&export[..], &[named]].concat());
        assert!(run.code(1).stderr.contains(named), "{run}");
    }
    for words in [["--log-file", "notes.md"], ["--prompt-file", "notes.md"], ["-o", "out/made"]] {
        let run = project.brynhild(&[&["chat", "go"][..], &words].concat());
        assert!(run.code(1).stderr.contains("could have made it"), "{words:?}: {run}");
    }
    assert_eq!(fs::read_to_string(&keys).unwrap(), "mine");
    assert!(!project.home().join("made").exists());
    // Links within the project are the project's own affair.
    link(std::path::Path::new("real.md"), "inside.md");
    project.file("real.md", "");
    project.brynhild(&[&export[..], &["inside.md"]].concat()).success();
    assert!(project.read("real.md").starts_with("# work"));
    project.brynhild(&[&export[..], &["fresh.md"]].concat()).success();
    let mode = fs::metadata(project.path().join("fresh.md")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let shown = project.brynhild(&[&export[..], &["/dev/stdout"]].concat());
    assert!(shown.success().stdout.starts_with("# work"), "{shown}");
}

#[test]
fn session_search_covers_messages_and_tools() {
    let server = working();
    let project = worked(&server);
    let search = |words: &[&str]| {
        let args = [&["session", "search", "--json"], words].concat();
        let hits = project.brynhild(&args).success().json();
        hits.as_array().unwrap().clone()
    };
    for (word, who) in [("Find", "user"), ("welcome", "assistant"), ("needle", "tool_output")] {
        let hits = search(&[word]);
        assert_eq!(hits.len(), 1, "{word}: {hits:?}");
        assert_eq!((&hits[0]["session"], &hits[0]["who"]), (&json!("work"), &json!(who)));
        assert!(hits[0]["snippet"].as_str().unwrap().contains(word), "{hits:?}");
    }
    assert!(search(&["NEEDLE", "here"]).len() == 1);
    assert!(search(&["needle", "haystack"]).is_empty());
    let text = project.brynhild(&["session", "search", "it", "is"]);
    assert!(text.success().stdout.contains("work"), "{text}");
    assert!(!text.stdout.contains('\u{1b}'), "{text}");
    assert!(project.brynhild(&["session", "search", "haystack"]).stdout.contains("Nothing found"));
    project.brynhild(&["session", "search", " "]).code(2);
}

#[test]
fn tools_are_counted() {
    let server = working();
    let project = worked(&server);
    chat_without_tools(&project);
    let stats = |args: &[&str]| {
        project.brynhild(&[&["tools", "stats", "--json"], args].concat()).success().json()
    };
    let counted = stats(&["--session", "work"]);
    let read = &counted["tools"]["Read"];
    assert_eq!(read["call_count"], 2);
    assert_eq!(read["success_count"], 1);
    assert_eq!(read["failure_count"], 1);
    assert_eq!(counted["summary"]["total_calls"], 2);
    assert_eq!(stats(&["--of", "work"]), counted);
    assert_eq!(stats(&[])["summary"]["total_calls"], 0, "the last session used none");
    let gone = project.brynhild(&["tools", "stats", "--json", "--session", "nothing"]);
    assert_eq!(gone.code(1).json(), json!({"error": "Session not found: nothing"}));
    let text = project.brynhild(&["tools", "stats", "--session", "work"]);
    assert!(text.success().stdout.contains("Read"), "{text}");
    project_without_sessions_has_no_statistics();
}

fn chat_without_tools(project: &Project) {
    let server = counting();
    let url = format!("{}/v1", server.url());
    let run = project
        .command(&["chat", "--session", "plain", "Hello"])
        .env("BRYNHILD_PROVIDERS__INSTANCES__TEST__BASE_URL", url)
        .run();
    run.success();
}

fn project_without_sessions_has_no_statistics() {
    project().brynhild(&["tools", "stats", "--json"]).code(1);
}

#[test]
fn session_files_are_private() {
    let server = counting();
    let project = project_with(&server);
    chat(&project, &["Hello", "--session", "work"]);
    list(&project);
    let mode = |path: &str| {
        let path = project.config_directory().join(path);
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    };
    assert_eq!(mode("sessions"), 0o700);
    assert_eq!(mode("sessions/work.jsonl"), 0o600);
    assert_eq!(mode("sessions/index.json"), 0o600);
}

#[test]
fn sessions_follow_the_configuration_directory() {
    let server = counting();
    let project = project_with(&server);
    let elsewhere = project.home().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::copy(project.config_directory().join("config.yaml"), elsewhere.join("config.yaml"))
        .unwrap();
    let moved = project.env("BRYNHILD_CONFIG_DIR", &elsewhere);
    chat(&moved, &["Hello", "--session", "work"]);
    assert!(elsewhere.join("sessions/work.jsonl").is_file());
    assert!(!moved.config_directory().join("sessions").exists());
}

#[test]
fn damaged_result_leaves_a_valid_history() {
    let call = || Reply::calls([("Inspect", json!({"operation": "cwd"}))]);
    let server = ModelServer::start([
        call(),
        Reply::text("one"),
        call(),
        Reply::text("two"),
        Reply::text("three"),
    ]);
    let project = project_with(&server);
    project.brynhild(&["chat", "--session", "s", "first"]).success();
    project.brynhild(&["chat", "--resume", "s", "second"]).success();
    let path = project.config_directory().join("sessions/s.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let damaged = text.replacen("tool_finished", "tool_flnished", 1);
    assert_ne!(damaged, text);
    fs::write(&path, damaged).unwrap();
    project.brynhild(&["chat", "--resume", "s", "third"]).success();
    let chats = server.chats();
    crate::rounds::check_history(chats.last().unwrap());
}
