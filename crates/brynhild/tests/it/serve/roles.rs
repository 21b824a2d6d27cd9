//! `brynhild run ROLE --serve`: agents as models, their limits, and calls that wait for approval.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply, Running};

use super::Answer;
use crate::project_with;

const COMPLETIONS: &str = "/v1/chat/completions";

pub(super) struct RoleServer {
    pub(super) running: Running,
    pub(super) url: String,
}

impl RoleServer {
    pub(super) fn start(project: &Project, args: &[&str]) -> Self {
        let running = project.command(&[args, &["--port", "0"]].concat()).spawn();
        let url = running.line(0);
        Self { running, url }
    }

    fn port(&self) -> u16 {
        self.url.rsplit(':').next().unwrap().parse().unwrap()
    }

    /// Sends a request with further header lines. Asks by HTTP/1.0, so that streams have no chunks.
    pub(super) fn send(&self, method: &str, path: &str, head: &str, body: &Value) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port())).unwrap();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let head = format!("Host: 127.0.0.1:{}\r\n{head}", self.port());
        let head =
            format!("{head}Content-Type: application/json\r\nContent-Length: {}", body.len());
        // A server that refuses a body closes the connection before it has read it.
        let _ = stream
            .write_all(format!("{method} {path} HTTP/1.0\r\n{head}\r\n\r\n{body}").as_bytes());
        Answer::of(stream)
    }

    fn get(&self, path: &str) -> Value {
        self.send("GET", path, "", &Value::Null).ok()
    }

    fn ask(&self, head: &str, body: &Value) -> Answer {
        self.send("POST", COMPLETIONS, head, body)
    }
}

pub(super) fn prompt(text: &str) -> Value {
    json!({"model": "any", "messages": [{"role": "user", "content": text}]})
}

/// The data of a stream's messages.
pub(super) fn messages(stream: &Answer) -> Vec<Value> {
    let data = stream.body.split("\n\n").filter_map(|message| message.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn text_of(answer: &Value) -> &str {
    answer["choices"][0]["message"]["content"].as_str().unwrap_or_default()
}

fn error(answer: &Answer) -> (u16, Value, Value) {
    let error = answer.json()["error"].take();
    (answer.status, error["type"].clone(), error["code"].clone())
}

fn project_with_role(model: &ModelServer, security: &Value) -> Project {
    let project = project_with(model);
    let role = json!({"name": "clerk", "prompt": "You answer.", "security": security});
    project.file("role.yaml", role.to_string());
    assert_eq!(project.brynhild(&["validate", "role.yaml"]).success().stderr, "");
    project
}

fn serving(replies: Vec<Reply>, security: &Value) -> (ModelServer, Project, RoleServer) {
    let model = ModelServer::start(replies);
    let project = project_with_role(&model, security);
    let server = RoleServer::start(&project, &["run", "role.yaml", "--serve"]);
    (model, project, server)
}

#[test]
fn role_answers_completions_and_ends_by_interrupt() {
    let (model, _project, server) =
        serving(vec![Reply::text("It opens at nine.").usage(30, 5)], &Value::Null);
    assert_eq!(server.get("/health")["status"], "ok");
    assert_eq!(server.get("/v1/models")["data"][0]["id"], "clerk");
    let messages = json!([
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello to you"},
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "When does it open?"}]},
    ]);
    let answer = server.ask("", &json!({"messages": messages, "temperature": 1})).ok();
    assert_eq!(text_of(&answer), "It opens at nine.");
    assert_eq!((&answer["model"], &answer["object"]), (&json!("clerk"), &json!("chat.completion")));
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    let usage = json!({"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35});
    assert_eq!(answer["usage"], usage);
    let sent = &model.chats()[0].body["messages"];
    let sent: Vec<&Value> = sent.as_array().unwrap().iter().map(|it| &it["content"]).collect();
    assert_eq!(sent[1..], ["Hello", "Hello to you", "Be brief.\n\nWhen does it open?"]);
    server.running.signal(Signal::INT);
    server.running.wait().code(130);
}

#[test]
fn streamed_completion_ends_with_reason_and_usage() {
    let reply = Reply::text("one two three").usage(3, 4).delta_size(4);
    let (_model, _project, server) = serving(vec![reply], &Value::Null);
    let mut body = prompt("Count");
    body["stream"] = true.into();
    let stream = server.ask("", &body);
    assert!(stream.head.contains("text/event-stream"), "{stream:?}");
    assert!(stream.body.ends_with("data: [DONE]\n\n"), "{stream:?}");
    let messages = messages(&stream);
    assert_eq!(messages[0]["choices"][0]["delta"]["role"], "assistant");
    let text: String =
        messages.iter().filter_map(|it| it["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(text, "one two three");
    let last = messages.last().unwrap();
    assert_eq!(last["choices"][0]["finish_reason"], "stop");
    assert_eq!(last["usage"]["total_tokens"], 7);
}

#[test]
fn images_and_recordings_reach_the_model() {
    let replies = ["A cat.", "It purrs."].map(Reply::text).to_vec();
    let (model, _project, server) = serving(replies, &Value::Null);
    let image =
        json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0="}});
    let sound = |kind: &str| json!({"type": "input_audio", "input_audio": {"data": "SUQz", "format": kind}});
    let said = |text: &str, file: &Value| {
        let parts = json!([{"type": "text", "text": text}, file]);
        json!({"model": "any", "messages": [{"role": "user", "content": parts}]})
    };
    let head = "X-Conversation-Id: one\r\n";
    server.ask(head, &said("What is it?", &image)).ok();
    server.ask(head, &said("And this?", &sound("mp3"))).ok();
    let files = |chat: usize| -> Vec<Value> {
        let messages = model.chats()[chat].body["messages"].as_array().unwrap().clone();
        let parts = messages.iter().filter_map(|it| it["content"].as_array()).flatten();
        parts.filter(|part| part["type"] != "text").cloned().collect()
    };
    assert_eq!(files(0), std::slice::from_ref(&image));
    assert_eq!(files(1), [image, sound("mp3")]);
    let remote = json!({"type": "image_url", "image_url": {"url": "http://127.0.0.1/x.png"}});
    let bitmap = json!({"type": "image_url", "image_url": {"url": "data:image/bmp;base64,Qk0="}});
    for wrong in [remote, bitmap, sound("flac"), json!({"type": "file"})] {
        let refused = server.ask("", &said("And that?", &wrong));
        assert_eq!(refused.status, 400, "{wrong}");
        assert!(refused.body.contains("send images"), "{refused:?}");
    }
    assert_eq!(model.chats().len(), 2);
}

#[test]
fn waiting_stream_has_heartbeats() {
    let model = ModelServer::start([Reply::text("At last.").withhold()]);
    let project = project_with_role(&model, &Value::Null);
    let server = RoleServer::start(&project, &["run", "role.yaml", "--serve"]);
    let mut body = prompt("Take your time");
    body["stream"] = true.into();
    let body = body.to_string();
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let head = format!("Host: 127.0.0.1:{}\r\nContent-Type: application/json", server.port());
    let length = body.len();
    let request =
        format!("POST {COMPLETIONS} HTTP/1.0\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    assert!(lines.any(|line| line == ": heartbeat"));
    model.release();
    assert!(lines.any(|line| line.contains("At last.")));
    assert_eq!(lines.filter(|line| !line.is_empty()).last().unwrap(), "data: [DONE]");
}

#[test]
fn named_conversation_keeps_its_history() {
    let replies = ["Ada", "You are Ada", "Who?"].map(Reply::text).to_vec();
    let (model, _project, server) = serving(replies, &Value::Null);
    let head = "X-Conversation-Id: one\r\n";
    let first = server.ask(head, &prompt("I am Ada"));
    assert!(first.head.contains("x-conversation-id: one"), "{first:?}");
    server.ask(head, &prompt("Who am I?")).ok();
    server.ask("X-Conversation-Id: two\r\n", &prompt("Who am I?")).ok();
    let lengths: Vec<usize> =
        model.chats().iter().map(|it| it.body["messages"].as_array().unwrap().len()).collect();
    assert_eq!(lengths, [2, 4, 2]);
}

#[test]
fn key_guards_the_api_and_not_the_health() {
    let model = ModelServer::start([Reply::text("yes")]);
    let project = project_with_role(&model, &Value::Null);
    let args = ["run", "role.yaml", "--serve", "--api-key", "sesame"];
    let server = RoleServer::start(&project, &args);
    server.get("/health");
    let kind = json!("authentication_error");
    assert_eq!(error(&server.ask("", &prompt("x"))), (401, kind.clone(), kind));
    assert_eq!(server.ask("Authorization: Bearer sesam\r\n", &prompt("x")).status, 401);
    server.ask("Authorization: Bearer sesame\r\n", &prompt("x")).ok();
    assert_eq!(model.chats().len(), 1);
}

#[test]
fn key_is_taken_from_the_variable() {
    let model = ModelServer::start([Reply::text("yes")]);
    let project = project_with_role(&model, &Value::Null);
    let command = project.command(&["run", "role.yaml", "--serve", "--port", "0"]);
    let running = command.env("INITRUNNER_API_KEY", "sesame").spawn();
    let url = running.line(0);
    let server = RoleServer { running, url };
    assert_eq!(server.send("GET", "/v1/models", "", &Value::Null).status, 401);
    server.send("GET", "/v1/models", "Authorization: Bearer sesame\r\n", &Value::Null).ok();
}

#[test]
fn address_for_all_machines_gets_a_key() {
    let model = ModelServer::start([Reply::text("yes")]);
    let project = project_with_role(&model, &Value::Null);
    let args = ["run", "role.yaml", "--serve", "--host", "0.0.0.0"];
    let server = RoleServer::start(&project, &args);
    assert_eq!(server.send("GET", "/v1/models", "", &Value::Null).status, 401);
    let line = server.running.line(1);
    let key = line.strip_prefix("API key: ").unwrap();
    let head = format!("Authorization: Bearer {key}\r\n");
    server.send("GET", "/v1/models", &head, &Value::Null).ok();
}

#[test]
fn failures_have_type_and_code() {
    let content = json!({"blocked_input_patterns": ["secret"],
        "blocked_output_patterns": ["key-1"], "output_action": "block"});
    let replies = vec![Reply::text("It is key-1"), Reply::failure(400)];
    let (_model, _project, server) = serving(replies, &json!({"content": content}));
    let kind = json!("invalid_request_error");
    assert_eq!(error(&server.ask("", &json!({"messages": []}))), (400, kind.clone(), kind.clone()));
    let blocked = server.ask("", &prompt("tell the secret"));
    assert_eq!(error(&blocked), (400, kind.clone(), kind.clone()));
    assert!(blocked.body.contains("Input matches blocked pattern: secret"), "{blocked:?}");
    let withheld = server.ask("", &prompt("tell"));
    assert_eq!(error(&withheld), (400, kind.clone(), "content_filter".into()));
    let failed = server.ask("", &prompt("again"));
    assert_eq!(error(&failed), (500, "server_error".into(), "server_error".into()));
    let lost = server.send("GET", "/v1/odd", "", &Value::Null);
    assert_eq!(error(&lost), (404, kind.clone(), kind));
}

#[test]
fn reached_limit_of_the_role_is_named() {
    let model = ModelServer::start([Reply::calls([("current_time", json!({}))])]).repeat_last();
    let project = project_with(&model);
    let role = "name: clerk\nprompt: x\ntools: [datetime]\nguardrails: {max_request_limit: 1}\n";
    project.file("role.yaml", role);
    let server = RoleServer::start(&project, &["run", "role.yaml", "--serve"]);
    let mut body = prompt("x");
    let limited = server.ask("", &body);
    assert_eq!(limited.status, 400, "{limited:?}");
    assert_eq!(limited.json()["error"]["code"], "context_length_exceeded", "{limited:?}");
    body["stream"] = true.into();
    let streamed = messages(&server.ask("", &body));
    assert_eq!(streamed.last().unwrap()["error"]["code"], "context_length_exceeded");
}

#[test]
fn security_keys_limit_requests() {
    let security = json!({
        "server": {"max_request_body_bytes": 200, "require_https": true,
            "cors_origins": ["https://page.example"]},
        "rate_limit": {"requests_per_minute": 1, "burst_size": 2},
    });
    let (_model, _project, server) = serving(vec![Reply::text("yes")], &security);
    let plain = server.ask("", &prompt("x"));
    assert_eq!(error(&plain), (403, "https_required".into(), "https_required".into()));
    let head = "X-Forwarded-Proto: https\r\n";
    let large = server.ask(head, &prompt(&"x".repeat(300)));
    assert_eq!(error(&large), (413, "request_too_large".into(), "request_too_large".into()));
    let from_page = format!("{head}Origin: https://page.example\r\n");
    let allowed = server.ask(&from_page, &prompt("x"));
    assert_eq!(text_of(&allowed.ok()), "yes");
    assert!(allowed.head.contains("access-control-allow-origin: https://page.example"));
    let limited = server.ask(head, &prompt("x"));
    assert_eq!(error(&limited), (429, "rate_limit_exceeded".into(), "rate_limit_exceeded".into()));
    assert!(limited.head.contains("retry-after: 60"), "{limited:?}");
    let other = server.ask(&format!("{head}Origin: https://other.example\r\n"), &prompt("x"));
    assert_eq!(other.status, 403, "{other:?}");
    let asked = "Origin: https://page.example\r\nAccess-Control-Request-Method: POST\r\n";
    let preflight = server.send("OPTIONS", COMPLETIONS, asked, &Value::Null);
    assert_eq!(preflight.status, 204);
    assert!(preflight.head.contains("access-control-allow-headers: "));
}

#[test]
fn wrong_server_keys_are_errors_of_the_role() {
    let model = ModelServer::start([]);
    let project = project_with(&model);
    for (security, wanted) in [
        (json!({"server": {"odd": 1}}), "security.server: unknown field `odd`"),
        (json!({"rate_limit": {"burst_size": 0}}), "security.rate_limit: invalid value"),
    ] {
        let role = json!({"name": "clerk", "prompt": "x", "security": security});
        project.file("role.yaml", role.to_string());
        let run = project.brynhild(&["validate", "role.yaml"]);
        assert!(run.code(1).stderr.contains(wanted), "{run}");
    }
}

fn write_note() -> Reply {
    let input = json!({"path": "notes.txt", "content": "tea"});
    Reply::calls([("write_file", input)])
}

fn serving_keeper(replies: Vec<Reply>) -> (ModelServer, Project, RoleServer) {
    let model = ModelServer::start(replies);
    let project = project_with(&model);
    let role = "name: keeper\nprompt: You keep notes.\n\
                tools: [{type: filesystem, read_only: false, approval: required}]\n";
    project.file("role.yaml", role);
    let server = RoleServer::start(&project, &["run", "role.yaml", "--serve"]);
    (model, project, server)
}

#[test]
fn waiting_calls_are_approved_over_http() {
    let replies = vec![write_note(), write_note(), Reply::text("Written.")];
    let (model, project, server) = serving_keeper(replies);
    let messages = json!([
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello to you"},
        {"role": "user", "content": "Write: tea"},
    ]);
    let paused = server.ask("", &json!({"messages": messages})).ok();
    assert_eq!(paused["choices"][0]["finish_reason"], "tool_calls_pending_approval");
    let call = &paused["pending_approvals"][0];
    assert_eq!(
        (&call["tool_name"], &call["arguments"]["path"]),
        (&json!("write_file"), &json!("notes.txt"))
    );
    let path = format!("/v1/approvals/{}", paused["run_id"].as_str().unwrap());
    let id = call["tool_call_id"].as_str().unwrap();
    let undecided = server.send("POST", &path, "", &json!({}));
    assert_eq!(undecided.status, 400, "{undecided:?}");
    assert!(!project.path().join("notes.txt").exists());
    let approved = server.send("POST", &path, "X-Resolved-By: ada\r\n", &json!({id: true})).ok();
    assert_eq!(text_of(&approved), "Written.");
    assert_eq!(project.read("notes.txt"), "tea");
    assert!(model.chats()[2].text.contains("Hello to you"), "{}", model.chats()[2].text);
    assert_eq!(server.send("POST", &path, "", &json!({id: true})).status, 404);
}

#[test]
fn stream_names_the_calls_that_wait() {
    let (_model, project, server) = serving_keeper(vec![write_note(), Reply::text("Not then.")]);
    let mut body = prompt("Write: tea");
    body["stream"] = true.into();
    let messages = messages(&server.ask("", &body));
    let event = messages.iter().find(|it| it["event"] == "approval_required").unwrap();
    let last = messages.last().unwrap();
    assert_eq!(last["choices"][0]["finish_reason"], "tool_calls_pending_approval");
    let id = event["pending_approvals"][0]["tool_call_id"].as_str().unwrap();
    let path = format!("/v1/approvals/{}", event["run_id"].as_str().unwrap());
    let denied = server.send("POST", &path, "", &json!({id: false})).ok();
    assert_eq!(text_of(&denied), "Not then.");
    assert!(!project.path().join("notes.txt").exists());
}

#[test]
fn approvals_need_the_record_of_runs() {
    let model = ModelServer::start([]);
    let project = project_with_role(&model, &Value::Null);
    let server = RoleServer::start(&project, &["run", "role.yaml", "--serve", "--no-audit"]);
    assert_eq!(server.send("POST", "/v1/approvals/x", "", &json!({})).status, 501);
}

#[test]
fn members_of_a_group_are_models() {
    let model = ModelServer::start([Reply::text("Ahoy")]).repeat_last();
    let project = project_with(&model);
    for name in ["cook", "pilot"] {
        project
            .file(format!("{name}.yaml"), format!("name: the-{name}\nprompt: You are {name}.\n"));
    }
    let group = "name: crew\nagents: {cook: {use: cook.yaml}, pilot: {use: pilot.yaml}}\n\
                 security: {server: {max_request_body_bytes: 300}}\n";
    project.file("group.yaml", group);
    let server = RoleServer::start(&project, &["run", "group.yaml", "--serve"]);
    let listed = server.get("/v1/models");
    assert_eq!(
        (&listed["data"][0]["id"], &listed["data"][1]["id"]),
        (&json!("cook"), &json!("pilot"))
    );
    let mut body = prompt("Who?");
    assert_eq!(error(&server.ask("", &body)).2, "model_not_found");
    body["model"] = "pilot".into();
    server.ask("", &body).ok();
    assert!(model.chats()[0].text.contains("You are pilot."), "{}", model.chats()[0].text);
    body["messages"][0]["content"] = "x".repeat(300).into();
    assert_eq!(server.ask("", &body).status, 413);
    let team = "name: team\nagents: {a: x, b: y}\nrun: sequential\n";
    project.file("team.yaml", team);
    let refused = project.brynhild(&["run", "team.yaml", "--serve"]);
    assert!(
        refused.code(1).stderr.contains("--serve not supported for Team targets."),
        "{refused}"
    );
}
