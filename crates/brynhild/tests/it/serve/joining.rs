//! A session that one server has open, reached through another one and by an editor.

use serde_json::{Value, json};
use testkit::{ModelServer, Reply};

use super::{Server, TOKEN, write_call};
use crate::acp::Editor;
use crate::project_with;

#[test]
fn other_server_passes_requests_on() {
    let model = ModelServer::start([write_call(), Reply::text("Done.")]);
    let project = project_with(&model);
    let (holder, other) = (Server::start(&project, &[]), Server::start(&project, &[]));
    let session = holder.open(&project, "ask");
    let path = format!("/v1/sessions/{session}");
    // It has no event yet.
    let listed = &other.get("/v1/sessions")["sessions"][0];
    assert_eq!((&listed["id"], &listed["state"]), (&json!(session), &json!("elsewhere")));
    assert_eq!(listed["cwd"], json!(project.path().canonicalize().unwrap()));
    assert_eq!(other.get(&path)["mode"], "ask");
    let mut stream = other.stream(&session, "after=0");
    other.prompt(&session, "write");
    let call = stream.wait_for("asked")["call"].clone();
    assert_eq!(holder.get(&path)["pending"][0]["call"], call);
    other.input(&session, &json!({"input": "answer", "call": call, "answer": "once"}));
    assert_eq!(stream.wait_for("answered")["by"], "TOKEN");
    stream.wait_for("turn_finished");
    assert_eq!(other.log(&session), holder.log(&session));
    let again = json!({"input": "answer", "call": call, "answer": "deny"});
    let late = other.send(TOKEN, "POST", &format!("{path}/inputs"), Some(&again));
    assert_eq!(late.status, 409, "{late:?}");
    let wrong = other.send(TOKEN, "POST", &format!("{path}/inputs"), Some(&json!({})));
    assert_eq!(wrong.status, 400, "{wrong:?}");
    let undone = other.post(&format!("{path}/undo"), &json!({}));
    assert_eq!(undone["files"][0]["path"], "made.txt");
    // The session goes on where its holder is gone.
    holder.kill();
    while stream.message().is_some() {}
    other.input(&session, &json!({"input": "mode", "mode": "normal"}));
    assert_eq!(other.get(&path)["mode"], "normal");
    assert_eq!(other.get("/v1/sessions")["sessions"][0]["state"], "idle");
}

#[test]
fn editor_joins_a_session_of_the_server() {
    let replies =
        [Reply::text("First."), write_call(), Reply::text("Second."), Reply::text("End.")];
    let model = ModelServer::start(replies);
    let project = project_with(&model);
    let server = Server::start(&project, &[]);
    let session = server.open(&project, "ask");
    let mut stream = server.stream(&session, "after=0");
    server.prompt(&session, "one");
    stream.wait_for("turn_finished");
    let mut editor = Editor::start(&project, &[]);
    let params = json!({"sessionId": session, "cwd": project.path(), "mcpServers": []});
    editor.result("session/load", params);
    assert_eq!(editor.updates[0]["content"]["text"], "one");
    assert_eq!(editor.said(), "First.");
    // Its question is asked here and there.
    let prompt = editor.begin(&session, "two");
    assert_eq!(stream.wait_for("turn_started")["prompt"], "two");
    let asked = stream.wait_for("asked");
    let request = editor.next();
    assert_eq!(request["method"], "session/request_permission", "{request}");
    assert_eq!(request["params"]["toolCall"]["toolCallId"], asked["call"]);
    editor.answer(&request, json!({"outcome": "selected", "optionId": "once"}));
    assert_eq!(stream.wait_for("answered")["answer"]["answer"], "once");
    let answer = editor.next();
    assert_eq!(
        (&answer["id"], &answer["result"]["stopReason"]),
        (&json!(prompt), &json!("end_turn"))
    );
    assert_eq!(project.read("made.txt"), "hi\n");
    stream.wait_for("turn_finished");
    // A prompt of the page appears in the editor.
    server.prompt(&session, "three");
    editor.wait_for(|update| update["content"]["text"] == "End.");
    stream.wait_for("turn_finished");
    editor.end();
    let log = server.log(&session);
    let begun: Vec<&Value> = log.iter().filter(|it| it["type"] == "turn_started").collect();
    assert_eq!(begun.len(), 3);
    assert_eq!(server.get(&format!("/v1/sessions/{session}"))["state"], "idle");
}

#[test]
fn editor_shows_the_mode_of_the_session_that_it_joins() {
    let model = ModelServer::start([Reply::text("First.")]);
    let project = project_with(&model);
    let server = Server::start(&project, &[]);
    let session = server.open(&project, "read-only");
    let mut editor = Editor::start(&project, &[]);
    for method in ["session/load", "session/resume"] {
        let params = json!({"sessionId": session, "cwd": project.path(), "mcpServers": []});
        let state = editor.result(method, params);
        assert_eq!(state["modes"]["currentModeId"], "read-only", "{method}");
    }
    let mut stream = server.stream(&session, "after=0");
    server.prompt(&session, "one");
    stream.wait_for("turn_finished");
    server.input(&session, &json!({"input": "mode", "mode": "ask"}));
    editor.wait_for(|update| update["currentModeId"] == "ask");
}

#[test]
fn terminal_changes_the_session_that_it_joined() {
    let replies = [write_call(), Reply::text("Done."), Reply::text("Thought.")];
    let model = ModelServer::start(replies);
    let project = project_with(&model);
    let server = Server::start(&project, &[]);
    let session = server.open(&project, "read-only");
    let mut stream = server.stream(&session, "after=0");
    let terminal = project.terminal(&["--resume", &session], (100, 30));
    terminal.wait_for("test-model · read-only");
    server.input(&session, &json!({"input": "mode", "mode": "normal"}));
    server.prompt(&session, "write");
    stream.wait_for("turn_finished");
    terminal.wait_for("test-model · normal");
    terminal.send("/undo\r");
    stream.wait_for("files_restored");
    assert!(!project.path().join("made.txt").exists());
    terminal.send("/redo\r");
    stream.wait_for("files_restored");
    assert_eq!(project.read("made.txt"), "hi\n");
    terminal.send("/rename Greeting\r");
    assert_eq!(stream.wait_for("titled")["title"], "Greeting");
    terminal.send("/effort low\r");
    terminal.wait_for("The reasoning effort is low.");
    terminal.send("\x1b[15~");
    terminal.wait_for("`/effort LEVEL` changes it");
    terminal.send("think\r");
    terminal.wait_for("Thought.");
    assert_eq!(model.chats()[2].body["reasoning_effort"], "low");
    // A refusal of the server is shown.
    terminal.send("/undo 7 8\r");
    terminal.wait_for("does not take");
}

#[test]
fn plain_lines_change_the_session_that_they_joined() {
    let model = ModelServer::start([write_call(), Reply::text("Done.")]);
    let project = project_with(&model);
    let server = Server::start(&project, &[]);
    let session = server.open(&project, "normal");
    let mut stream = server.stream(&session, "after=0");
    server.prompt(&session, "write");
    stream.wait_for("turn_finished");
    assert!(project.path().join("made.txt").exists());
    let run =
        project.command(&["--plain", "--resume", &session]).stdin("/undo\n/rename Lines\n").run();
    assert!(run.success().stdout.contains("made.txt"), "{run}");
    assert!(!project.path().join("made.txt").exists());
    assert_eq!(server.get(&format!("/v1/sessions/{session}"))["title"], "Lines");
}
