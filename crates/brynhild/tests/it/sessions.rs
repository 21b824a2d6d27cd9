//! Sessions are saved, found, continued, forked and managed.

mod logs;
mod manage;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use crate::project_with;

/// A model that answers `Answer 1.`, `Answer 2.` and so on.
fn counting() -> ModelServer {
    let mut count = 0;
    ModelServer::respond_with(move |_| {
        count += 1;
        Reply::text(format!("Answer {count}."))
    })
}

fn chat(project: &Project, args: &[&str]) -> Value {
    project.brynhild(&[&["chat", "--json"], args].concat()).success().json()
}

fn list(project: &Project) -> Vec<Value> {
    let list = project.brynhild(&["session", "list", "--json"]).success().json();
    list.as_array().unwrap().clone()
}

fn ids(project: &Project) -> Vec<String> {
    list(project).iter().map(|session| session["id"].as_str().unwrap().to_owned()).collect()
}

/// The prompts of a session, in order.
fn prompts(project: &Project, id: &str) -> Vec<String> {
    let session = project.brynhild(&["session", "show", id, "--json"]).success().json();
    let messages = session["messages"].as_array().unwrap();
    let users = messages.iter().filter(|message| message["role"] == "user");
    users.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn chat_saves_its_session() {
    let server = counting();
    let project = project_with(&server);
    chat(&project, &["Hello", "there"]);
    let sessions = list(&project);
    assert_eq!(sessions.len(), 1);
    let session = &sessions[0];
    let id = session["id"].as_str().unwrap();
    assert!(id.starts_with("session-2"), "{id}");
    assert_eq!(id.len(), "session-20260102-030405".len());
    assert_eq!(session["cwd"], project.path().canonicalize().unwrap().display().to_string());
    assert_eq!(session["provider"], "test");
    assert_eq!(session["model"], "test-model");
    assert_eq!(session["title"], Value::Null);
    assert_eq!(session["message_count"], 2);
    assert!(session["created_at"].as_str() <= session["updated_at"].as_str());
}

#[test]
fn a_resumed_session_sends_all_of_its_history() {
    let server = ModelServer::start([
        Reply::text("I look.")
            .thinking("Hm.")
            .call_as("call-a", "Read", &json!({"file_path": "a.txt"}))
            .call_as("call-b", "Read", &json!({"file_path": "missing.txt"})),
        Reply::text("Seen."),
        Reply::text("Still here."),
    ]);
    let project = project_with(&server);
    project.file("a.txt", "alpha\n");
    chat(&project, &["Look"]);
    let id = ids(&project).remove(0);
    chat(&project, &["And now?", "--resume", &id]);
    let requests = server.chats();
    let messages = |index: usize| requests[index].body["messages"].as_array().unwrap().clone();
    let (before, after) = (messages(1), messages(2));
    assert_eq!(after[..before.len()], before[..]);
    let roles: Vec<&str> = after.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool", "assistant", "user"]);
    assert_eq!(after[2]["tool_calls"][1]["id"], "call-b");
    assert_eq!(after[3]["tool_call_id"], "call-a");
    assert!(after[3]["content"].as_str().unwrap().contains("alpha"));
    assert!(after[4]["content"].as_str().unwrap().contains("File not found"));
    assert_eq!(after[6]["content"], "And now?");
}

#[test]
fn session_is_named_in_full_by_prefix_or_as_last() {
    let server = counting();
    let project = project_with(&server);
    chat(&project, &["one", "--session", "alpha-1"]);
    chat(&project, &["two", "--session", "alpha-2"]);
    chat(&project, &["three", "--session", "beta"]);
    chat(&project, &["four", "--resume", "alpha-1"]);
    chat(&project, &["five", "--resume", "be"]);
    chat(&project, &["six", "--resume", "last"]);
    chat(&project, &["seven", "-c"]);
    assert_eq!(prompts(&project, "alpha-1"), ["one", "four"]);
    assert_eq!(prompts(&project, "beta"), ["three", "five", "six", "seven"]);
    assert_eq!(prompts(&project, "last"), prompts(&project, "beta"));
    let run = project.brynhild(&["chat", "x", "--resume", "alpha"]);
    assert!(run.code(2).stderr.contains("alpha-1, alpha-2"), "{run}");
}

#[test]
fn continue_resumes_the_last_session_of_the_directory() {
    let server = counting();
    let project = project_with(&server);
    project.file("one/.git/HEAD", "").file("two/.git/HEAD", "").file("three/.git/HEAD", "");
    let run = |directory: &str, args: &[&str]| {
        project.command(&[&["chat"], args].concat()).cwd(directory).run()
    };
    run("one", &["first", "--session", "here"]).success();
    run("two", &["second", "--session", "there"]).success();
    run("one", &["third", "--continue"]).success();
    run("one", &["fourth", "--resume", "last"]).success();
    assert_eq!(prompts(&project, "here"), ["first", "third", "fourth"]);
    assert_eq!(prompts(&project, "there"), ["second"]);
    let refused = run("three", &["fifth", "--continue"]);
    assert!(refused.code(2).stderr.contains("no session in this directory"), "{refused}");
    assert!(refused.stderr.contains("session list"), "{refused}");
}

#[test]
fn named_session_is_created_then_continued() {
    let server = counting();
    let project = project_with(&server);
    chat(&project, &["one", "--session", "work"]);
    chat(&project, &["two", "--session", "work"]);
    assert_eq!(ids(&project), ["work"]);
    assert_eq!(prompts(&project, "work"), ["one", "two"]);
}

#[test]
fn fork_leaves_its_source_unchanged() {
    let server = counting();
    let project = project_with(&server);
    chat(&project, &["one", "--session", "work"]);
    chat(&project, &["left", "--resume", "work", "--fork"]);
    chat(&project, &["right", "--session", "work", "--fork"]);
    assert_eq!(prompts(&project, "work"), ["one"]);
    assert_eq!(prompts(&project, "work-fork-1"), ["one", "left"]);
    assert_eq!(prompts(&project, "work-fork-2"), ["one", "right"]);
    let fork = project.brynhild(&["session", "show", "work-fork-1", "--json"]).success().json();
    assert_eq!(fork["forked_from"]["session"], "work");
    let messages = server.chats()[1].body["messages"].as_array().unwrap().len();
    assert_eq!(messages, 4, "system, user, assistant, user");
    let long = "x".repeat(100);
    chat(&project, &["one", "--session", &long]);
    chat(&project, &["two", "--resume", &long, "--fork"]);
    assert_eq!(prompts(&project, &format!("{}-fork-1", &long[..80])), ["one", "two"]);
    let run = project.brynhild(&["chat", "x", "--fork"]);
    assert!(run.code(2).stderr.contains("--resume"), "{run}");
}

#[test]
fn unsaved_session_leaves_no_file() {
    let server = counting();
    let project = project_with(&server);
    assert_eq!(chat(&project, &["one", "--no-save"])["response"], "Answer 1.");
    assert!(ids(&project).is_empty());
    assert!(!project.config_directory().join("sessions").exists());
    let off = project.command(&["chat", "two"]).env("BRYNHILD_SESSION__AUTO_SAVE", "false").run();
    off.success();
    assert!(ids(&project).is_empty());
    chat(&project, &["three", "--session", "work"]);
    let run = project.brynhild(&["chat", "x", "--no-save", "--resume", "work"]);
    assert!(run.code(2).stderr.contains("--no-save"), "{run}");
    assert_eq!(prompts(&project, "work"), ["three"]);
}

#[test]
fn missing_or_invalid_session_is_misuse() {
    let server = counting();
    let project = project_with(&server);
    chat(&project, &["one", "--session", "work"]);
    let cases = [
        (["--resume", "nothing"], "Session not found: nothing"),
        (["--resume", "../work"], "Invalid session ID: '../work'."),
        (["--session", "a b"], "Invalid session ID: 'a b'."),
        (["--session", ""], "Invalid session ID: ''."),
    ];
    for (flags, message) in cases {
        let run = project.brynhild(&[&["chat", "x"], &flags[..]].concat());
        assert!(run.code(2).stderr.contains(message), "{run}");
        let answer = project.brynhild(&[&["chat", "x", "--json"], &flags[..]].concat());
        assert!(answer.code(2).json()["error"].as_str().unwrap().contains(message), "{answer}");
    }
    for both in [["--resume=work", "--continue"], ["--session=work", "--continue"]] {
        project.brynhild(&[&["chat", "x"], &both[..]].concat()).code(2);
    }
    assert_eq!(server.chats().len(), 1);
}

#[test]
fn a_session_is_open_in_one_process_at_a_time() {
    let server = ModelServer::start([
        Reply::text("First.").withhold(),
        Reply::text("Fork."),
        Reply::text("Third."),
    ]);
    let project = project_with(&server);
    let mut first = project.command(&["chat", "one", "--session", "work"]).spawn();
    first.close_stdin();
    server.wait_for_requests(1);
    let second = project.brynhild(&["chat", "two", "--resume", "work"]);
    let holder = format!("session work is open in process {} since 2", first.id());
    assert!(second.code(2).stderr.contains(&holder), "{second}");
    assert!(second.stderr.contains("--fork"), "{second}");
    let answer = project.brynhild(&["chat", "two", "--session", "work", "--json"]).code(2).json();
    assert!(answer["error"].as_str().unwrap().contains(&holder), "{answer}");
    for refused in [
        &["session", "delete", "work", "--yes"][..],
        &["session", "rename", "work", "other"],
        &["session", "title", "work", "T"],
    ] {
        assert!(project.brynhild(refused).code(1).stderr.contains(&holder), "{refused:?}");
    }
    // Reading and forking what is there is possible all the while.
    assert_eq!(prompts(&project, "work"), ["one"]);
    assert_eq!(chat(&project, &["two", "--resume", "work", "--fork"])["response"], "Fork.");
    server.release();
    assert_eq!(first.wait().success().stdout, "First.\n");
    assert_eq!(chat(&project, &["three", "--resume", "work"])["response"], "Third.");
    assert_eq!(prompts(&project, "work"), ["one", "three"]);
}

#[test]
fn concurrent_uses_of_one_session_never_mix() {
    let server = counting();
    let project = project_with(&server);
    chat(&project, &["zero", "--session", "work"]);
    let running: Vec<_> = (0..6)
        .map(|number| {
            let prompt = format!("number {number}");
            project.command(&["chat", &prompt, "--resume", "work"]).stdin("").spawn()
        })
        .collect();
    let runs: Vec<_> = running.into_iter().map(testkit::project::Running::wait).collect();
    let done = runs.iter().filter(|run| run.status.success()).count();
    for run in runs.iter().filter(|run| !run.status.success()) {
        assert!(run.code(2).stderr.contains("session work is open in"), "{run}");
    }
    assert!(done >= 1);
    assert_eq!(prompts(&project, "work").len(), 1 + done);
    let shown = project.brynhild(&["session", "show", "work"]);
    assert_eq!(shown.success().stderr, "", "nothing in it is damaged");
}

#[test]
fn sessions_of_one_second_get_distinct_names() {
    let server = counting();
    let project = project_with(&server);
    let running: Vec<_> =
        (0..5).map(|_| project.command(&["chat", "x"]).stdin("").spawn()).collect();
    for run in running {
        run.wait().success();
    }
    assert_eq!(ids(&project).len(), 5);
}
