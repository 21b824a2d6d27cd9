//! `brynhild a2a serve`: tasks of other agents, by our own delegates and by plain JSON-RPC.

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use super::Answer;
use super::roles::{RoleServer, messages};
use crate::project_with;

const VERSION: &str = "A2A-Version: 1.0\r\n";

fn serving(replies: Vec<Reply>, flags: &[&str]) -> (ModelServer, Project, RoleServer) {
    let model = ModelServer::start(replies);
    let project = project_with(&model);
    project.file("far.yaml", "name: far\ndescription: Knows the sky\nprompt: You know the sky.\n");
    let server = RoleServer::start(&project, &[&["a2a", "serve", "far.yaml"], flags].concat());
    (model, project, server)
}

fn call(server: &RoleServer, head: &str, method: &str, params: &Value) -> Answer {
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    server.send("POST", "/", head, &body)
}

fn result(server: &RoleServer, method: &str, params: &Value) -> Value {
    let answer = call(server, VERSION, method, params).ok();
    assert_eq!(answer["id"], 7);
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].clone()
}

fn error(server: &RoleServer, head: &str, method: &str, params: &Value) -> i64 {
    call(server, head, method, params).ok()["error"]["code"].as_i64().unwrap()
}

fn message(text: &str) -> Value {
    json!({"message": {"role": "ROLE_USER", "messageId": "m", "contextId": "sky",
        "parts": [{"text": text}]}})
}

#[test]
fn own_delegate_hands_tasks_to_a_served_role() {
    let (far, _project, server) =
        serving(vec![Reply::text("It rains."), Reply::text("It snows.")], &["--api-key", "sesame"]);
    let asks =
        ["Rain?", "Snow?"].map(|it| Reply::calls([("delegate_to_far", json!({"prompt": it}))]));
    let model = ModelServer::start(asks.into_iter().chain([Reply::text("Both.")]));
    let project = project_with(&model).env("KEY", "Bearer sesame");
    project.config_more("api: {allow_private: [127.0.0.1]}\n");
    let agent = json!({"name": "far", "url": server.url, "headers_env": {"Authorization": "KEY"}});
    let entry = json!({"type": "delegate", "mode": "a2a", "agents": [agent]});
    project.file("role.yaml", json!({"name": "boss", "prompt": "x", "tools": [entry]}).to_string());
    project.brynhild(&["trust", "--yes"]).success();
    let run = project.brynhild(&["run", "role.yaml", "-p", "x", "--yes"]);
    assert_eq!(run.success().stdout, "Both.\n", "{run}");
    assert!(model.chats()[1].text.contains("It rains."), "{}", model.chats()[1].text);
    assert!(model.chats()[2].text.contains("It snows."), "{}", model.chats()[2].text);
    // The tasks of one delegate have one context.
    assert_eq!(far.chats()[1].body["messages"].as_array().unwrap().len(), 4);
    server.running.signal(Signal::INT);
    server.running.wait().code(130);
}

#[test]
fn card_describes_the_agent_without_a_key() {
    let flags = ["--api-key", "sesame", "--url", "https://far.example/"];
    let (_model, _project, server) = serving(Vec::new(), &flags);
    let card = server.send("GET", "/.well-known/agent-card.json", "", &Value::Null).ok();
    assert_eq!((&card["name"], &card["description"]), (&json!("far"), &json!("Knows the sky")));
    let interface = &card["supportedInterfaces"][0];
    assert_eq!(interface["url"], "https://far.example/");
    assert_eq!(
        (&interface["protocolBinding"], &interface["protocolVersion"]),
        (&json!("JSONRPC"), &json!("1.0"))
    );
    assert_eq!(card["capabilities"]["streaming"], true);
    assert!(card["securitySchemes"]["bearer"].is_object(), "{card}");
    assert_eq!(call(&server, VERSION, "GetTask", &json!({"id": "x"})).status, 401);
}

#[test]
fn message_becomes_a_task_that_can_be_asked_for() {
    let (model, _project, server) = serving(vec![Reply::text("It rains.")], &[]);
    let parts = json!([{"text": "Rain?"}, {"data": {"at": "noon"}},
        {"raw": "c2t5", "mediaType": "text/plain"}]);
    let message = json!({"message": {"role": "ROLE_USER", "messageId": "m", "parts": parts}});
    let task = result(&server, "SendMessage", &message)["task"].clone();
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(task["artifacts"][0]["name"], "result");
    assert_eq!(task["artifacts"][0]["parts"], json!([{"text": "It rains."}]));
    assert_eq!(task["history"][0]["parts"], parts);
    assert!(
        model.chats()[0].text.contains("Rain?\\n{\\\"at\\\":\\\"noon\\\"}\\nsky"),
        "{}",
        model.chats()[0].text
    );
    let id = json!({"id": task["id"]});
    assert_eq!(result(&server, "GetTask", &id), task);
    assert_eq!(error(&server, VERSION, "CancelTask", &id), -32002);
    assert_eq!(error(&server, VERSION, "SubscribeToTask", &id), -32004);
}

#[test]
fn streamed_task_ends_with_its_last_chunk() {
    let (_model, _project, server) = serving(vec![Reply::text("It rains all day.")], &[]);
    let stream = call(&server, VERSION, "SendStreamingMessage", &message("Rain?"));
    let messages = messages(&stream);
    let results: Vec<&Value> = messages.iter().map(|it| &it["result"]).collect();
    assert!(results[0]["task"]["id"].is_string(), "{results:?}");
    let states: Vec<&Value> = results
        .iter()
        .map(|it| &it["statusUpdate"]["status"]["state"])
        .filter(|state| !state.is_null())
        .collect();
    assert_eq!(states, ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
    let chunks: Vec<&Value> =
        results.iter().map(|it| &it["artifactUpdate"]).filter(|it| !it.is_null()).collect();
    let text: String =
        chunks.iter().filter_map(|it| it["artifact"]["parts"][0]["text"].as_str()).collect();
    assert_eq!(text, "It rains all day.");
    assert_eq!(
        (&chunks[0]["append"], &chunks[chunks.len() - 1]["lastChunk"]),
        (&json!(false), &json!(true))
    );
}

#[test]
fn running_task_is_followed_and_canceled() {
    let (model, _project, server) = serving(vec![Reply::text("x").withhold()], &[]);
    let mut params = message("Wait");
    params["configuration"] = json!({"returnImmediately": true});
    let task = result(&server, "SendMessage", &params)["task"].clone();
    assert!(task["artifacts"].is_null(), "{task}");
    let id = json!({"id": task["id"]});
    model.wait_for_requests(1);
    let states = std::thread::scope(|scope| {
        let following = scope.spawn(|| call(&server, VERSION, "SubscribeToTask", &id));
        let canceled = result(&server, "CancelTask", &id);
        assert_eq!(canceled["status"]["state"], "TASK_STATE_CANCELED");
        following.join().unwrap()
    });
    // The task may have ended before the subscription.
    let is_late = states.body.contains("-32004");
    assert!(is_late || states.body.contains("TASK_STATE_CANCELED"), "{states:?}");
}

#[test]
fn failures_have_states_and_codes() {
    let (_model, _project, server) = serving(vec![Reply::failure(400)], &[]);
    let failed = result(&server, "SendMessage", &message("Rain?"))["task"].clone();
    assert_eq!(failed["status"]["state"], "TASK_STATE_FAILED");
    assert!(failed["status"]["message"]["parts"][0]["text"].is_string(), "{failed}");
    let empty = json!({"message": {"role": "ROLE_USER", "parts": []}});
    let picture = json!({"message": {"role": "ROLE_USER",
        "parts": [{"raw": "eA==", "mediaType": "image/png"}]}});
    for (head, method, params, code) in [
        ("", "SendMessage", &message("x"), -32009),
        ("A2A-Version: 0.3\r\n", "SendMessage", &message("x"), -32009),
        (VERSION, "message/send", &message("x"), -32601),
        (VERSION, "SendMessage", &empty, -32602),
        (VERSION, "SendMessage", &picture, -32005),
        (VERSION, "GetTask", &json!({"id": "none"}), -32001),
    ] {
        assert_eq!(error(&server, head, method, params), code, "{method} {params}");
    }
}

#[test]
fn answer_by_a_schema_is_data_and_approvals_need_input() {
    let schema = json!({"type": "object", "properties": {"rain": {"type": "boolean"}}});
    let tools = json!([{"type": "filesystem", "read_only": false, "approval": "required"}]);
    let role = json!({"name": "far", "prompt": "x", "tools": tools,
        "output": {"type": "json_schema", "schema": schema}});
    let write = Reply::calls([("write_file", json!({"path": "a", "content": "b"}))]);
    let model = ModelServer::start([Reply::text("{\"rain\": true}"), write]);
    let project = project_with(&model);
    project.file("far.yaml", role.to_string());
    let server = RoleServer::start(&project, &["a2a", "serve", "far.yaml"]);
    let task = result(&server, "SendMessage", &message("Rain?"))["task"].clone();
    assert_eq!(task["artifacts"][0]["parts"][0]["data"], json!({"rain": true}));
    let task = result(&server, "SendMessage", &message("Write"))["task"].clone();
    assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{task}");
    assert!(!project.path().join("a").exists());
}

#[test]
fn agent_of_a_group_must_be_named() {
    let model = ModelServer::start([]);
    let project = project_with(&model);
    project.file("one.yaml", "name: one\nprompt: x\n").file("two.yaml", "name: two\nprompt: y\n");
    project.file("group.yaml", "name: all\nagents: {a: {use: one.yaml}, b: {use: two.yaml}}\n");
    let unnamed = project.brynhild(&["a2a", "serve", "group.yaml"]);
    assert!(unnamed.code(2).stderr.contains("name one by `--agent`"), "{unnamed}");
    let server = RoleServer::start(&project, &["a2a", "serve", "group.yaml", "--agent", "b"]);
    let card = server.send("GET", "/.well-known/agent-card.json", "", &Value::Null).ok();
    assert_eq!(card["name"], "two");
}
