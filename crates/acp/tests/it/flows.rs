use serde_json::{Value, json};

use crate::client::with_client;

fn kinds(updates: &[Value]) -> Vec<&str> {
    updates.iter().map(|it| it["sessionUpdate"].as_str().expect("as scripted")).collect()
}

#[tokio::test]
async fn higher_versions_are_answered_with_ours() {
    with_client(async |client| {
        let params = json!({"protocolVersion": 9, "clientCapabilities": 3});
        let answer = client.result("initialize", params).await;
        assert_eq!(answer["protocolVersion"], 1);
        assert_eq!(answer["authMethods"], json!([]));
        let login = client.initialize(json!({"auth": {"terminal": true}})).await;
        assert_eq!(login["authMethods"][0]["type"], "terminal");
        assert_eq!(client.error("authenticate", json!({"methodId": "login"})).await, -32602);
        assert_eq!(client.error("logout", json!({})).await, -32601);
    })
    .await;
}

#[tokio::test]
async fn bad_requests_get_the_right_error() {
    with_client(async |client| {
        assert_eq!(client.error("session/list", json!({})).await, -32600);
        assert_eq!(client.error("initialize", json!({})).await, -32602);
        let session = client.session().await;
        for (method, params, code) in [
            ("session/unknown", json!({}), -32601),
            ("_custom", json!({}), -32601),
            ("session/new", json!({"cwd": "/p"}), -32602),
            ("session/new", json!({"cwd": "p", "mcpServers": []}), -32602),
            ("session/new", json!({"cwd": 3, "mcpServers": []}), -32602),
            ("session/new", json!([1]), -32602),
            (
                "session/new",
                json!({"cwd": "/p", "mcpServers": [], "additionalDirectories": ["/q"]}),
                -32602,
            ),
            ("session/new", json!({"cwd": "/nobody", "mcpServers": []}), -32000),
            ("session/load", json!({"sessionId": "no", "cwd": "/p", "mcpServers": []}), -32002),
            ("session/resume", json!({"sessionId": "../x", "cwd": "/p"}), -32002),
            ("session/close", json!({"sessionId": "no"}), -32002),
            (
                "session/prompt",
                json!({"sessionId": "no", "prompt": [{"type": "text", "text": "x"}]}),
                -32002,
            ),
            ("session/prompt", json!({"sessionId": session, "prompt": "x"}), -32602),
            ("session/prompt", json!({"sessionId": session, "prompt": []}), -32602),
            ("session/set_mode", json!({"sessionId": session, "modeId": "yolo"}), -32602),
            (
                "session/set_config_option",
                json!({"sessionId": session, "configId": "x", "value": "y"}),
                -32602,
            ),
            (
                "session/set_config_option",
                json!({"sessionId": session, "configId": "model", "value": true}),
                -32602,
            ),
            ("session/list", json!({"cursor": "x"}), -32602),
        ] {
            assert_eq!(client.error(method, params.clone()).await, code, "{method} {params}");
        }
        // The session still works.
        assert_eq!(client.prompt(&session, "hi").await, json!({"stopReason": "end_turn"}));
    })
    .await;
}

#[tokio::test]
async fn unknown_notifications_and_answers_are_ignored() {
    with_client(async |client| {
        let session = client.session().await;
        client.notify("_x/y", json!(3)).await;
        client.notify("session/cancel", json!({"sessionId": 7})).await;
        client.notify("session/cancel", json!({"sessionId": "no"})).await;
        client.notify("$/cancel_request", json!({"requestId": 99})).await;
        client.raw(br#"{"jsonrpc":"2.0","id":77,"result":{}}"#).await;
        client.raw(b"").await;
        assert_eq!(client.prompt(&session, "hi").await["stopReason"], "end_turn");
        assert_eq!(client.host.warnings.borrow().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn commands_come_after_the_answer() {
    with_client(async |client| {
        client.initialize(json!({})).await;
        client.send("session/new", json!({"cwd": "/p", "mcpServers": []})).await;
        let first = client.any().await;
        assert_eq!(first["result"]["sessionId"], "s0", "{first}");
        assert_eq!(first["result"]["modes"]["currentModeId"], "normal");
        let second = client.update().await;
        assert_eq!(second["availableCommands"][0]["name"], "model");
    })
    .await;
}

#[tokio::test]
async fn prompt_streams_its_reply_and_calls() {
    with_client(async |client| {
        let session = client.session().await;
        assert_eq!(client.prompt(&session, "hello").await, json!({"stopReason": "end_turn"}));
        let kinds = kinds(&client.updates);
        assert_eq!(kinds[..2], ["tool_call", "tool_call_update"]);
        assert_eq!(kinds.last(), Some(&"usage_update"));
        assert!(!kinds.contains(&"user_message_chunk"));
        let call = &client.updates[1];
        assert_eq!((&call["kind"], &call["title"]), (&json!("execute"), &json!("`ls`")));
        let usage = client.updates.last().expect("as scripted");
        assert_eq!((&usage["used"], &usage["size"]), (&json!(42), &json!(1000)));
    })
    .await;
}

#[tokio::test]
async fn permissions_offer_only_what_can_be_remembered() {
    with_client(async |client| {
        let session = client.session().await;
        let ids = |request: &Value| -> Vec<String> {
            let options = request["params"]["options"].as_array().expect("as scripted");
            options
                .iter()
                .map(|it| it["optionId"].as_str().expect("as scripted").to_owned())
                .collect()
        };
        client.begin(&session, "ask").await;
        let request = client.next().await;
        assert_eq!(request["method"], "session/request_permission");
        assert_eq!(ids(&request), ["once", "session", "project", "always", "deny"]);
        let call = &request["params"]["toolCall"];
        assert_eq!(call["title"], "Edit x");
        assert_eq!(call["content"][0]["type"], "diff");
        let why = call["content"][1]["content"]["text"].as_str().expect("as scripted");
        assert!(why.contains("the mode asks") && why.contains("undo"), "{why}");
        client.answer(&request, json!({"outcome": "selected", "optionId": "once"})).await;
        assert_eq!(client.next().await["result"]["stopReason"], "end_turn");
        assert_eq!(client.updates.iter().filter(|it| it["status"] == "completed").count(), 1);

        client.begin(&session, "ask-once").await;
        let request = client.next().await;
        assert_eq!(ids(&request), ["once", "deny"]);
        client.answer(&request, json!({"outcome": "selected", "optionId": "deny"})).await;
        assert_eq!(client.next().await["result"]["stopReason"], "end_turn");
        assert_eq!(client.updates.iter().filter(|it| it["status"] == "failed").count(), 1);

        client.begin(&session, "ask-once").await;
        let request = client.next().await;
        client.answer(&request, json!({"outcome": "cancelled"})).await;
        assert_eq!(client.next().await["result"]["stopReason"], "cancelled");
    })
    .await;
}

#[tokio::test]
async fn cancelled_turn_withdraws_its_question() {
    with_client(async |client| {
        let session = client.session().await;
        let id = client.begin(&session, "ask").await;
        let request = client.next().await;
        client.notify("session/cancel", json!({"sessionId": session})).await;
        let (mut answer, mut withdrawn) = (Value::Null, Value::Null);
        while answer.is_null() || withdrawn.is_null() {
            let line = client.next().await;
            let place = if line["id"] == id { &mut answer } else { &mut withdrawn };
            *place = line;
        }
        assert_eq!(answer["result"]["stopReason"], "cancelled");
        assert_eq!(withdrawn["method"], "$/cancel_request");
        assert_eq!(withdrawn["params"]["requestId"], request["id"]);
        // A late answer does no harm.
        client.answer(&request, json!({"outcome": "cancelled"})).await;
        assert_eq!(client.prompt(&session, "hi").await["stopReason"], "end_turn");
    })
    .await;
}

#[tokio::test]
async fn cancel_is_answered_as_cancelled_after_all_updates() {
    with_client(async |client| {
        let session = client.session().await;
        for (text, by_request) in
            [("hang", false), ("abort", false), ("hang", true), ("/wait", false), ("/wait", true)]
        {
            let id = client.begin(&session, text).await;
            if text == "hang" {
                let chunk = client.update().await;
                assert_eq!(chunk["sessionUpdate"], "agent_message_chunk");
            }
            if by_request {
                client.notify("$/cancel_request", json!({"requestId": id})).await;
            } else {
                client.notify("session/cancel", json!({"sessionId": session})).await;
            }
            let answer = client.next().await;
            assert_eq!(
                (&answer["id"], &answer["result"]),
                (&json!(id), &json!({"stopReason": "cancelled"}))
            );
        }
        assert!(!kinds(&client.updates).contains(&"usage_update"), "{:?}", client.updates);
        assert_eq!(client.prompt(&session, "hi").await["stopReason"], "end_turn");
    })
    .await;
}

#[tokio::test]
async fn second_prompt_is_refused_while_one_is_running() {
    with_client(async |client| {
        let session = client.session().await;
        let first = client.begin(&session, "hang").await;
        let prompt = json!([{"type": "text", "text": "hi"}]);
        let params = json!({"sessionId": session, "prompt": prompt});
        assert_eq!(client.error("session/prompt", params).await, -32600);
        client.notify("session/cancel", json!({"sessionId": session})).await;
        assert_eq!(client.next().await["id"], first);
    })
    .await;
}

#[tokio::test]
async fn opening_can_be_cancelled() {
    with_client(async |client| {
        client.initialize(json!({})).await;
        let id = client.send("session/new", json!({"cwd": "/slow", "mcpServers": []})).await;
        client.notify("$/cancel_request", json!({"requestId": id})).await;
        let answer = client.next().await;
        assert_eq!(answer["error"]["code"], -32800);
    })
    .await;
}

#[tokio::test]
async fn outcomes_have_their_stop_reasons() {
    with_client(async |client| {
        let session = client.session().await;
        let limited = client.prompt(&session, "limit").await;
        assert_eq!(limited["stopReason"], "max_turn_requests");
        assert_eq!(limited["_meta"]["brynhild"]["outcome"]["limit"], "max_turns");
        let words = client.updates[0]["content"]["text"].as_str().expect("as scripted");
        assert!(words.contains("max_tool_rounds"), "{words}");
        let prompt = json!([{"type": "text", "text": "fail"}]);
        let failed =
            client.call("session/prompt", json!({"sessionId": session, "prompt": prompt})).await;
        assert_eq!(failed["error"]["code"], -32603);
        assert_eq!(failed["error"]["data"]["hint"], "try again");
    })
    .await;
}

#[tokio::test]
async fn todos_become_a_plan() {
    with_client(async |client| {
        let session = client.session().await;
        client.prompt(&session, "plan").await;
        let plan =
            client.updates.iter().find(|it| it["sessionUpdate"] == "plan").expect("as scripted");
        assert_eq!(plan["entries"][1]["content"], "Two");
        assert_eq!(plan["entries"][1]["status"], "in_progress");
    })
    .await;
}

#[tokio::test]
async fn work_of_an_agent_is_text_of_its_call() {
    with_client(async |client| {
        let session = client.session().await;
        client.prompt(&session, "agent").await;
        let calls: Vec<_> =
            client.updates.iter().filter_map(|it| it["toolCallId"].as_str()).collect();
        assert!(calls.iter().all(|id| *id == "task-1"), "{calls:?}");
        let has_line = client.updates.iter().any(|it| it.to_string().contains("scout: Grep: fn"));
        assert!(has_line);
    })
    .await;
}

#[tokio::test]
async fn notices_are_sent_only_to_clients_that_show_them() {
    for (capabilities, count) in [(json!({}), 0), (json!({"session": {"notices": {}}}), 1)] {
        with_client(async |client| {
            client.initialize(capabilities).await;
            let opened = client.result("session/new", json!({"cwd": "/p", "mcpServers": []})).await;
            let session = opened["sessionId"].as_str().expect("as scripted").to_owned();
            client.prompt(&session, "notice").await;
            let notices = kinds(&client.updates).iter().filter(|it| **it == "notice").count();
            assert_eq!(notices, count);
            assert!(kinds(&client.updates).contains(&"session_info_update"));
            assert_eq!(client.host.warnings.borrow()[..], ["careful"]);
        })
        .await;
    }
}

#[tokio::test]
async fn modes_and_options_stay_in_step() {
    with_client(async |client| {
        let session = client.session().await;
        let params = json!({"sessionId": session, "modeId": "ask"});
        assert_eq!(client.result("session/set_mode", params).await, json!({}));
        let told = client.update().await;
        assert_eq!(told["configOptions"][0]["currentValue"], "ask");
        let params = json!({"sessionId": session, "configId": "mode", "value": "read-only"});
        let all = client.result("session/set_config_option", params).await;
        assert_eq!(all["configOptions"][0]["currentValue"], "read-only");
        assert_eq!(client.update().await["currentModeId"], "read-only");
        let params = json!({"sessionId": session, "configId": "model", "value": "large"});
        let all = client.result("session/set_config_option", params).await;
        assert_eq!(all["configOptions"][1]["currentValue"], "large");
        // The session that is open again has the mode and the name.
        let wanted = client.host.opened.borrow().last().expect("as scripted").clone();
        assert_eq!(wanted.mode, Some(contract::policy::Mode::ReadOnly));
        assert_eq!(wanted.session.expect("as scripted").as_str(), session);
        let params = json!({"sessionId": session, "configId": "model", "value": "broken"});
        assert_eq!(client.error("session/set_config_option", params).await, -32603);
        assert_eq!(client.prompt(&session, "hi").await["stopReason"], "end_turn");
    })
    .await;
}

#[tokio::test]
async fn slash_commands_show_text_or_change_the_session() {
    with_client(async |client| {
        let session = client.session().await;
        for (text, words) in [
            ("/help", "help!"),
            ("/nothing", "Unknown command /nothing"),
            ("/mode ask", "The mode is ask."),
            ("/model broken", "the model is broken"),
        ] {
            assert_eq!(client.prompt(&session, text).await["stopReason"], "end_turn");
            let said = client.updates.last().expect("as scripted");
            assert_eq!(said["content"]["text"], words);
        }
        assert!(kinds(&client.updates).contains(&"current_mode_update"));
    })
    .await;
}

#[tokio::test]
async fn sessions_are_listed_loaded_resumed_closed_and_deleted() {
    with_client(async |client| {
        let session = client.session().await;
        client.prompt(&session, "hello").await;
        let listed = client.result("session/list", json!({})).await;
        assert_eq!(listed["sessions"][0]["sessionId"], session);
        let other = client.result("session/list", json!({"cwd": "/q"})).await;
        assert_eq!(other["sessions"], json!([]));
        assert_eq!(client.result("session/close", json!({"sessionId": session})).await, json!({}));

        client.updates.clear();
        let params = json!({"sessionId": session, "cwd": "/p"});
        let resumed = client.result("session/resume", params.clone()).await;
        assert_eq!(resumed["modes"]["currentModeId"], "normal");
        assert_eq!(client.updates, Vec::<Value>::new());
        assert_eq!(client.update().await["sessionUpdate"], "available_commands_update");

        // An open session can be loaded: the client lost its own state.
        let mut params = params;
        params["mcpServers"] = json!([]);
        client.result("session/load", params).await;
        assert_eq!(kinds(&client.updates)[0], "user_message_chunk");
        client.update().await;
        client.prompt(&session, "again").await;

        assert_eq!(client.result("session/delete", json!({"sessionId": session})).await, json!({}));
        assert_eq!(client.result("session/delete", json!({"sessionId": session})).await, json!({}));
        assert_eq!(client.result("session/delete", json!({"sessionId": "../x"})).await, json!({}));
        assert_eq!(client.result("session/list", json!({})).await["sessions"], json!([]));
    })
    .await;
}

#[tokio::test]
async fn closing_cancels_the_turn_first() {
    with_client(async |client| {
        let session = client.session().await;
        let prompt = client.begin(&session, "hang").await;
        client.update().await;
        let close = client.send("session/close", json!({"sessionId": session})).await;
        let answer = client.next().await;
        assert_eq!(
            (&answer["id"], &answer["result"]["stopReason"]),
            (&json!(prompt), &json!("cancelled"))
        );
        assert_eq!(client.next().await["id"], close);
    })
    .await;
}

#[tokio::test]
async fn servers_of_the_client_reach_the_host() {
    with_client(async |client| {
        client.initialize(json!({})).await;
        let servers = json!([
            {"name": "a", "command": "/bin/a", "args": ["x"], "env": [{"name": "K", "value": "v"}]},
            {"type": "http", "name": "b", "url": "http://h/", "headers": [{"name": "A", "value": "w"}]},
            {"type": "sse", "name": "c", "url": "http://h/", "headers": []},
        ]);
        client.result("session/new", json!({"cwd": "/p", "mcpServers": servers})).await;
        let wanted = client.host.opened.borrow()[0].clone();
        let names: Vec<_> = wanted.servers.iter().map(acp::wire::McpServer::name).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(client.host.warnings.borrow()[0].contains("`c`"));
        let shown = format!("{:?}", wanted.servers);
        assert!(!shown.contains("\"v\"") && !shown.contains("\"w\""), "{shown}");
    })
    .await;
}

#[tokio::test]
async fn five_sessions_work_at_once() {
    with_client(async |client| {
        client.initialize(json!({})).await;
        let mut sessions = Vec::new();
        for _ in 0..5 {
            let opened = client.result("session/new", json!({"cwd": "/p", "mcpServers": []})).await;
            sessions.push(opened["sessionId"].as_str().expect("as scripted").to_owned());
        }
        let mut ids = Vec::new();
        for session in &sessions {
            ids.push(client.begin(session, "hang").await);
        }
        for session in sessions.iter().rev() {
            client.notify("session/cancel", json!({"sessionId": session})).await;
        }
        let mut answered = Vec::new();
        for _ in 0..5 {
            let answer = client.next().await;
            assert_eq!(answer["result"]["stopReason"], "cancelled");
            answered.push(answer["id"].as_u64().expect("as scripted"));
        }
        answered.sort_unstable();
        assert_eq!(answered, ids);
    })
    .await;
}
