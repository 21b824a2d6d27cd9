//! Roles with others behind them: MCP servers, and agents that they hand work to.

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply, Run};

use super::Server;
use crate::{project, project_with};

const SERVER: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/server.py"));

fn role(name: &str, tools: &Value) -> String {
    format!("name: {name}\ndescription: The {name}\nprompt: You are the {name}.\ntools: {tools}\n")
}

fn exec(project: &Project, tool: &str, input: &Value) -> Run {
    let input = input.to_string();
    let words =
        ["tools", "exec", tool, "--role", "role.yaml", "--input", &input, "--json", "--yes"];
    project.brynhild(&words)
}

fn names(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect()
}

#[test]
fn role_server_tools_keep_their_names() {
    let project = project();
    let entry = json!({
        "type": "mcp", "transport": "stdio", "command": "python3", "args": ["server.py"],
        "tool_filter": ["echo"], "timeout": 20,
    });
    project.file("server.py", SERVER).file("role.yaml", role("host", &json!([entry])));
    let run = exec(&project, "echo", &json!({"text": "hi"}));
    assert!(run.success().stdout.contains("hi"), "{run}");
    let list = project.brynhild(&["tools", "list", "--role", "role.yaml", "--json"]).json();
    let tools: Vec<&Value> = list.as_array().unwrap().iter().map(|row| &row["name"]).collect();
    assert_eq!(tools, ["echo"]);
    let mut prefixed = entry;
    prefixed["tool_prefix"] = "demo".into();
    project.file("role.yaml", role("other", &json!([prefixed])));
    exec(&project, "demo_echo", &json!({"text": "hi"})).success();
}

#[test]
fn role_server_is_judged_and_filtered() {
    let project = project();
    let entry = json!({"type": "mcp", "command": "python3", "args": ["server.py"]});
    project.file("server.py", SERVER).file("role.yaml", role("host", &json!([entry])));
    let words = ["tools", "exec", "echo", "--role", "role.yaml", "--input", "{\"text\": \"x\"}"];
    project.brynhild(&words).code(3);
    for (more, wanted) in [
        (json!({"transport": "sse"}), "`transport: sse` is not supported"),
        (json!({"transport": "streamable-http"}), "`url` is missing"),
        (json!({"tool_filter": ["a"], "tool_exclude": ["b"]}), "exclude each other"),
        (json!({"odd": 1}), "Unknown keys for tool 'mcp': ['odd']"),
        (json!({"env": {"A": "${NOT_SET}"}}), "variable `NOT_SET` is not set"),
    ] {
        let mut entry = entry.clone();
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        project.file("role.yaml", role("host", &json!([entry])));
        let run = project.brynhild(&["validate", "role.yaml"]);
        assert!(run.code(1).stderr.contains(wanted), "{more}: {run}");
    }
}

#[test]
fn read_only_mode_reaches_no_remote_server() {
    let server = Server::start(|_| (404, Vec::new(), String::new()));
    let model = ModelServer::start(vec![Reply::text("a"), Reply::text("b")]);
    let project = project_with(&model);
    let url = format!("{}/mcp", server.url());
    project.config_more(&format!("mcp: {{servers: {{far: {{url: '{url}'}}}}}}\n"));
    let run = project.brynhild(&["chat", "x", "--mode", "read-only"]);
    let told = "MCP server `far` is not reached: there is no network in read-only mode";
    assert_eq!(run.success().stderr.matches(told).count(), 1, "{run}");
    assert!(server.seen().is_empty());
    project.brynhild(&["chat", "x"]).success();
    assert!(!server.seen().is_empty());
}

#[test]
fn role_delegates_to_another_role() {
    let model = ModelServer::start([
        Reply::calls([("delegate_to_time_keeper", json!({"prompt": "What time is it?"}))]),
        Reply::calls([("current_time", json!({}))]),
        Reply::text("It is late."),
        Reply::text("The keeper says that it is late."),
    ]);
    let project = project_with(&model);
    let agents = json!([{"name": "time-keeper", "role_file": "roles/keeper.yaml"}]);
    project
        .file("role.yaml", role("boss", &json!([{"type": "delegate", "agents": agents}])))
        .file("roles/keeper.yaml", role("keeper", &json!(["datetime"])));
    let run = project.brynhild(&["run", "role.yaml", "-p", "time?"]);
    assert_eq!(run.success().stdout.trim(), "The keeper says that it is late.");
    let chats = model.chats();
    assert_eq!(names(&chats[0].body), ["delegate_to_time_keeper"]);
    let tool = &chats[0].body["tools"][0]["function"];
    assert!(tool["description"].as_str().unwrap().contains("The keeper"), "{tool}");
    assert_eq!(chats[1].body["messages"][0]["content"], "You are the keeper.");
    assert_eq!(names(&chats[1].body), ["current_time", "parse_date"]);
    assert!(chats[3].text.contains("It is late."), "{}", chats[3].text);
}

#[test]
fn failed_delegation_is_reported() {
    let agents = json!([{"name": "self", "role_file": "role.yaml"}]);
    let entry = json!({"type": "delegate", "agents": agents, "max_depth": 1});
    let call = || Reply::calls([("delegate_to_self", json!({"prompt": "again"}))]);
    let model = ModelServer::start([call(), call(), Reply::text("enough"), Reply::text("done")]);
    let project = project_with(&model);
    project.file("role.yaml", role("loop", &json!([entry])));
    project.brynhild(&["run", "role.yaml", "-p", "x"]).success();
    let third = &model.chats()[2].text;
    let wanted = "[DELEGATION ERROR] Delegation depth 2 exceeds max_depth 1 (chain: loop -> self)";
    assert!(third.contains(wanted), "{third}");
    let lone = exec(&project, "delegate_to_self", &json!({"prompt": "x"}));
    lone.code(1);
    for (mode, wanted) in [
        ("mcp", "agent `self` has no `url`"),
        ("a2a", "agent `self` has no `url`"),
        ("odd", "`mode: odd` is not known"),
    ] {
        let mut remote = entry.clone();
        remote["mode"] = mode.into();
        project.file("role.yaml", role("far", &json!([remote])));
        let run = project.brynhild(&["validate", "role.yaml"]);
        assert!(run.code(1).stderr.contains(wanted), "{run}");
    }
}

#[test]
fn late_agent_is_ended_and_its_conversation_closed() {
    let model = ModelServer::start([
        Reply::calls([("delegate_to_slow", json!({"prompt": "wait"}))]),
        Reply::calls([("run_shell", json!({"command": "sleep 30"}))]),
        Reply::text("It did not."),
    ]);
    let project = project_with(&model);
    let agents = json!([{"name": "slow", "role_file": "slow.yaml"}]);
    let entry = json!({"type": "delegate", "agents": agents, "timeout_seconds": 1});
    project
        .file("role.yaml", role("boss", &json!([entry])))
        .file("slow.yaml", role("slow", &json!(["shell"])));
    let run = project.brynhild(&["run", "role.yaml", "-p", "x", "--yes"]);
    assert_eq!(run.success().stdout.trim(), "It did not.");
    let last = &model.chats()[2].text;
    assert!(
        last.contains("[DELEGATION ERROR] Agent 'slow' failed: the agent slow was stopped"),
        "{last}"
    );
    assert!(last.contains("timeout_seconds (1 s)"), "{last}");
}

#[test]
fn delegates_share_a_memory() {
    let model = ModelServer::start([
        Reply::calls([("delegate_to_writer", json!({"prompt": "Remember tea."}))]),
        Reply::calls([("remember", json!({"content": "Ada drinks tea"}))]),
        Reply::text("Noted."),
        Reply::calls([("delegate_to_reader", json!({"prompt": "What does Ada drink?"}))]),
        Reply::calls([("recall", json!({"query": "Ada"}))]),
        Reply::text("Tea."),
        Reply::text("She drinks tea."),
    ]);
    let project = project_with(&model);
    let agents = json!([
        {"name": "writer", "role_file": "writer.yaml"},
        {"name": "reader", "role_file": "reader.yaml"},
    ]);
    let shared = json!({"store_path": "notes/shared.db", "max_memories": 5});
    let entry = json!({"type": "delegate", "agents": agents, "shared_memory": shared});
    project
        .file("role.yaml", role("boss", &json!([entry])))
        .file("writer.yaml", role("writer", &json!([])))
        .file("reader.yaml", role("reader", &json!([])));
    assert_eq!(project.brynhild(&["validate", "role.yaml"]).success().stderr, "");
    let run = project.brynhild(&["run", "role.yaml", "-p", "x"]);
    assert_eq!(run.success().stdout.trim(), "She drinks tea.");
    assert!(model.chats()[5].text.contains("Ada drinks tea"), "{}", model.chats()[5].text);
    assert!(project.path().join("notes/shared.db").is_file());
    let entry = json!({"type": "delegate", "agents": agents, "shared_memory": {}});
    project.file("role.yaml", role("boss", &json!([entry])));
    let run = project.brynhild(&["validate", "role.yaml"]);
    assert!(run.code(1).stderr.contains("`shared_memory.store_path`: it is missing"), "{run}");
}

/// The role that delegates to a server by A2A, and a model that does so once for each prompt.
fn delegating(far: &Server, prompts: &[&str], more: &Value) -> (Project, ModelServer) {
    let calls = prompts.iter().map(|it| Reply::calls([("delegate_to_far", json!({"prompt": it}))]));
    let model = ModelServer::start(calls.chain([Reply::text("It does.")]));
    let project = project_with(&model);
    project.config_more("api: {allow_private: [127.0.0.1]}\n");
    let agents = json!([{"name": "far", "url": format!("{}/a2a", far.url())}]);
    let mut entry = json!({"type": "delegate", "mode": "a2a", "agents": agents});
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    project.file("role.yaml", role("boss", &json!([entry])));
    project.brynhild(&["run", "role.yaml", "-p", "x", "--yes"]).success();
    (project, model)
}

fn rpc(result: &Value) -> (u16, Vec<(&'static str, String)>, String) {
    (200, Vec::new(), json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string())
}

#[test]
fn role_delegates_by_a2a_version_one() {
    let task = |state: &str| {
        json!({"id": "t1", "status": {"state": state},
            "artifacts": [{"name": "result", "parts": [{"text": "It rains."}]}]})
    };
    let far = Server::start(move |seen| match seen.line.as_str() {
        "GET /a2a/.well-known/agent-card.json" => {
            let interface = json!({
                "url": "/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0",
            });
            (200, Vec::new(), json!({"supportedInterfaces": [interface]}).to_string())
        }
        "POST /rpc" if seen.body.contains("\"GetTask\"") => rpc(&task("TASK_STATE_COMPLETED")),
        "POST /rpc" => rpc(&json!({"task": task("TASK_STATE_WORKING")})),
        other => panic!("{other}"),
    });
    let (_project, model) = delegating(&far, &["Rain?", "Snow?"], &json!({}));
    assert!(model.chats()[1].text.contains("It rains."), "{}", model.chats()[1].text);
    let seen = far.seen();
    assert_eq!(seen[1].header("a2a-version"), Some("1.0"));
    let bodies: Vec<Value> =
        [1, 2, 4].map(|it| serde_json::from_str(seen[it].body()).unwrap()).into();
    let message = &bodies[0]["params"]["message"];
    assert_eq!(bodies[0]["method"], "SendMessage");
    assert_eq!(
        (&message["role"], &message["parts"]),
        (&json!("ROLE_USER"), &json!([{"text": "Rain?"}]))
    );
    assert_eq!(bodies[1]["params"], json!({"id": "t1"}));
    let context = &message["contextId"];
    assert!(context.is_string() && *context == bodies[2]["params"]["message"]["contextId"]);
}

#[test]
fn role_delegates_by_the_older_a2a_version() {
    let task = |state: &str| {
        json!({"kind": "task", "id": "t1", "status": {"state": state},
            "artifacts": [{"parts": [{"kind": "text", "text": "It rains."}]}]})
    };
    let far = Server::start(move |seen| {
        if seen.line.starts_with("GET") {
            return (404, Vec::new(), String::new());
        }
        match seen.body() {
            body if body.contains("message/send") => rpc(&task("working")),
            body if body.contains("tasks/get") => rpc(&task("completed")),
            _ => {
                let error = json!({"code": -32601, "message": "Method not found"});
                (200, Vec::new(), json!({"jsonrpc": "2.0", "id": 1, "error": error}).to_string())
            }
        }
    });
    let (_project, model) = delegating(&far, &["Rain?"], &json!({}));
    assert!(model.chats()[1].text.contains("It rains."), "{}", model.chats()[1].text);
    let seen = far.seen();
    let methods: Vec<Value> = seen[1..]
        .iter()
        .map(|seen| serde_json::from_str::<Value>(seen.body()).unwrap()["method"].take())
        .collect();
    assert_eq!(methods, ["SendMessage", "message/send", "tasks/get"]);
    assert_eq!(seen[2].header("a2a-version"), None);
}

#[test]
fn failed_a2a_task_has_the_documented_text() {
    let far = Server::start(|seen| {
        if seen.line.starts_with("GET") {
            return (404, Vec::new(), String::new());
        }
        let state = |state: &str, text: &str| {
            let parts = if text.is_empty() { json!([]) } else { json!([{"text": text}]) };
            let status = json!({"state": state, "message": {"parts": parts}});
            rpc(&json!({"task": {"id": "t9", "status": status}}))
        };
        match seen.body() {
            body if body.contains("one") => state("TASK_STATE_FAILED", "no sky"),
            body if body.contains("two") => state("TASK_STATE_INPUT_REQUIRED", ""),
            body if body.contains("three") => state("TASK_STATE_COMPLETED", ""),
            body if body.contains("four") => (500, Vec::new(), String::from("broken")),
            _ => state("TASK_STATE_WORKING", ""),
        }
    });
    let more = json!({"timeout_seconds": 1});
    let (_project, model) = delegating(&far, &["one", "two", "three", "four", "five"], &more);
    for (index, wanted) in [
        "A2A task failed for agent 'far': no sky",
        "A2A task input-required for agent 'far'",
        "No output from A2A agent 'far'",
        "HTTP 500 from agent 'far': broken",
        "A2A task timed out for agent 'far' (task_id=t9)",
    ]
    .into_iter()
    .enumerate()
    {
        let text = &model.chats()[index + 1].text;
        assert!(text.contains(&format!("[DELEGATION ERROR] {wanted}")), "{text}");
    }
}

#[test]
fn role_delegates_to_an_agent_served_as_a_model() {
    let far = Server::start(|seen| {
        let choice = json!({"message": {"role": "assistant", "content": "It rains."}});
        let status = if seen.body().contains("Snow") { 503 } else { 200 };
        (status, Vec::new(), json!({"choices": [choice]}).to_string())
    });
    let model = ModelServer::start([
        Reply::calls([("delegate_to_weather", json!({"prompt": "Rain?"}))]),
        Reply::calls([("delegate_to_weather", json!({"prompt": "Snow?"}))]),
        Reply::text("It rains."),
    ]);
    let project = project_with(&model);
    project.config_more("api: {allow_private: [127.0.0.1]}\n");
    let agents = json!([{"name": "weather", "url": format!("{}/", far.url())}]);
    let entry = json!({"type": "delegate", "mode": "mcp", "agents": agents});
    project.file("role.yaml", role("boss", &json!([entry])));
    project.brynhild(&["run", "role.yaml", "-p", "x", "--yes"]).success();
    assert!(model.chats()[1].text.contains("It rains."), "{}", model.chats()[1].text);
    assert!(model.chats()[2].text.contains("[DELEGATION ERROR] HTTP 503"));
    let seen = far.seen();
    assert_eq!(seen[0].line, "POST /v1/chat/completions");
    let body: Value = serde_json::from_str(seen[0].body()).unwrap();
    let messages = json!([{"role": "user", "content": "Rain?"}]);
    assert_eq!(body, json!({"model": "weather", "messages": messages}));
}

#[test]
fn agent_file_can_be_run() {
    let model = ModelServer::start([Reply::text("ok"), Reply::text("ok")]);
    let project = project_with(&model);
    let file = "---\nname: scout\ndescription: Looks\ntools: Read, Grep, Nowhere\nmodel: sonnet\n---\nYou only look.\n";
    let own = project.config_directory().join("agents/scout.md");
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    std::fs::write(own, file).unwrap();
    project.file("here.md", file.replace("only look", "look here"));
    for (name, words) in [("scout", "You only look."), ("here.md", "You look here.")] {
        let run = project.brynhild(&["chat", "x", "--agent", name]);
        assert!(run.success().stderr.contains("tools that are not here: Nowhere"), "{run}");
        assert!(run.stderr.contains("there is no model sonnet here"), "{run}");
        let chat = model.chats().pop().unwrap().body;
        assert_eq!(names(&chat), ["Grep", "Read"]);
        let system = chat["messages"][0]["content"].as_str().unwrap().to_owned();
        assert!(system.contains(words), "{system}");
    }
    project.file("bad.md", "---\nname: [\n---\n");
    project.brynhild(&["chat", "x", "--agent", "bad.md"]).code(2);
}
