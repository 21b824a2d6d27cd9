//! Sessions of `serve` that play a role, and where they go on.

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use super::{Server, TOKEN};
use crate::acp::Editor;
use crate::project_with;

fn role(project: &Project) {
    let role = json!({
        "name": "clerk",
        "prompt": "You answer as a clerk.",
        "tools": [{"type": "think"}],
        "model": {"name": "clerks-model"},
    });
    project.file("roles/clerk.yaml", role.to_string());
}

/// Asserts that the last request was one of the role: its words, and no tool of others.
fn assert_played(model: &ModelServer, count: usize) {
    let chats = model.chats();
    assert_eq!(chats.len(), count);
    let body = &chats[count - 1].body;
    let system = body["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("You answer as a clerk."), "{system}");
    let tools: Vec<&Value> =
        body["tools"].as_array().unwrap().iter().map(|it| &it["function"]["name"]).collect();
    assert_eq!(tools, ["think", "finish_task"], "request {count}");
}

#[test]
fn session_plays_its_role_wherever_it_goes_on() {
    let model = ModelServer::start([Reply::text("Noted.")]).repeat_last();
    let project = project_with(&model);
    role(&project);
    let server = Server::start(&project, &[]);
    let wanted = json!({"cwd": project.path(), "mode": "normal", "role": "roles/clerk.yaml"});
    let opened = server.post("/v1/sessions", &wanted);
    let session = opened["id"].as_str().unwrap().to_owned();
    // It is opened again before it has an event.
    let path = format!("/v1/sessions/{session}");
    let changed = json!({"model": "other-model"});
    server.send(TOKEN, "PATCH", &path, Some(&changed)).ok();
    let mut stream = server.stream(&session, "after=0");
    server.prompt(&session, "one");
    stream.wait_for("turn_finished");
    assert_played(&model, 1);
    assert_eq!(model.chats()[0].body["model"], "other-model");
    let copy = server.post("/v1/sessions", &json!({"fork": {"session": session, "seq": 1}}));
    let copy = copy["id"].as_str().unwrap().to_owned();
    server.kill();

    let server = Server::start(&project, &[]);
    for (count, session) in [(2, &session), (3, &copy)] {
        let seq = &server.get(&format!("/v1/sessions/{session}"))["seq"];
        let mut stream = server.stream(session, &format!("after={seq}"));
        server.prompt(session, "again");
        stream.wait_for("turn_finished");
        assert_played(&model, count);
        assert_eq!(model.chats()[count - 1].body["model"], "other-model");
    }
    server.kill();

    project.brynhild(&["--resume", &session, "-p", "in one line"]).success();
    assert_played(&model, 4);
    let mut editor = Editor::start(&project, &[]);
    let params = json!({"sessionId": session, "cwd": project.path(), "mcpServers": []});
    editor.result("session/load", params);
    let text = json!([{"type": "text", "text": "in the editor"}]);
    editor.result("session/prompt", json!({"sessionId": session, "prompt": text}));
    assert_played(&model, 5);
    editor.result("session/close", json!({"sessionId": session}));
    let terminal = project.terminal(&["--resume", &session], (100, 30));
    terminal.wait_for("in the editor");
    terminal.send("in the terminal\r");
    terminal.wait_until("a request", |_| model.chats().len() == 6);
    assert_played(&model, 6);
    terminal.send("/serve\r");
    terminal.wait_for("a session that plays a role cannot be shared");
}

#[test]
fn next_session_of_a_terminal_has_no_role() {
    let model = ModelServer::start([Reply::text("Noted.")]).repeat_last();
    let project = project_with(&model);
    role(&project);
    let server = Server::start(&project, &[]);
    let wanted = json!({"cwd": project.path(), "mode": "normal", "role": "roles/clerk.yaml"});
    let session = server.post("/v1/sessions", &wanted)["id"].as_str().unwrap().to_owned();
    let mut stream = server.stream(&session, "after=0");
    server.prompt(&session, "one");
    stream.wait_for("turn_finished");
    server.kill();
    let lines = format!("two\n/new\nthree\n/resume {session}\nfour\n/rewind 1\nfive\n");
    project.command(&["--plain", "--resume", &session]).stdin(lines).run().success();
    assert_eq!(model.chats().len(), 5);
    let is_played = |chat: &testkit::Recorded| {
        chat.body["messages"][0]["content"].as_str().unwrap().contains("You answer as a clerk.")
    };
    let played: Vec<bool> = model.chats().iter().map(is_played).collect();
    assert_eq!(played, [true, true, false, true, true]);
    std::fs::remove_file(project.path().join("roles/clerk.yaml")).unwrap();
    let failed = project.brynhild(&["--resume", &session, "-p", "six"]);
    failed.code(2);
    assert!(failed.stderr.contains("this session plays"), "{failed}");
}

#[test]
fn only_roles_of_the_project_or_the_user_are_played() {
    let model = ModelServer::start([Reply::text("Noted.")]);
    let project = project_with(&model);
    role(&project);
    let own = project.config_directory().join("agents/clerk.yaml");
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    std::fs::copy(project.path().join("roles/clerk.yaml"), &own).unwrap();
    project.file("broken.yaml", "name: clerk\n");
    let server = Server::start(&project, &[]);
    let opened = |role: &str| {
        let wanted = json!({"cwd": project.path(), "mode": "normal", "role": role});
        server.send(TOKEN, "POST", "/v1/sessions", Some(&wanted))
    };
    let outside = own.display().to_string();
    for (role, wanted) in [
        (outside.as_str(), "there is no agent"),
        ("absent", "there is no agent absent"),
        ("/dev/zero", "there is no agent /dev/zero"),
        ("broken.yaml", "broken.yaml"),
    ] {
        let answer = opened(role);
        assert_eq!(answer.status, 400, "{answer:?}");
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(wanted), "{message}");
    }
    let session = opened("clerk").ok()["id"].as_str().unwrap().to_owned();
    let copied = json!({"fork": {"session": session, "seq": 1}, "role": "clerk"});
    assert_eq!(server.send(TOKEN, "POST", "/v1/sessions", Some(&copied)).status, 400);
    let mut stream = server.stream(&session, "after=0");
    server.prompt(&session, "one");
    stream.wait_for("turn_finished");
    assert_played(&model, 1);
}
