//! Hooks of chibi plugins around a request and around the history: what they are told, and what
//! their answers do.

use serde_json::{Value, json};
use testkit::Reply;

use super::hooks::{hook_payloads, hooked, playing};

fn offered(body: &Value) -> Vec<String> {
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn plugins_select_the_offered_tools() {
    let (project, server) = playing([Reply::text("ok")]);
    let keeps = json!({"pre_api_tools": {"include": ["Read", "Grep", "Glob"]}});
    let drops = json!({"pre_api_tools": {"include": ["Read", "Grep"], "exclude": ["Grep"]}});
    hooked(&project, "a", &["pre_api_tools"], &keeps);
    hooked(&project, "b", &["pre_api_tools"], &drops);
    project.brynhild(&["chat", "go"]).success();
    assert_eq!(offered(&server.chats()[0].body), ["Read"]);
    let seen = hook_payloads(&project, "a").remove(0).1;
    let tools = seen["tools"].as_array().unwrap();
    assert!(tools.contains(&json!({"name": "Bash", "type": "builtin"})), "{seen}");
    assert!(tools.contains(&json!({"name": "a_tool", "type": "plugin"})), "{seen}");
}

#[test]
fn plugins_change_parameters_but_not_the_conversation() {
    let (project, server) = playing([Reply::text("ok")]);
    let changed = json!({"request_body": {
        "temperature": 0.25, "max_tokens": 77, "top_p": 0.5,
        "model": "another", "messages": [], "stream": false,
    }});
    hooked(&project, "a", &["pre_api_request"], &json!({"pre_api_request": changed}));
    project.brynhild(&["chat", "the words"]).success();
    let body = &server.chats()[0].body;
    assert_eq!((&body["temperature"], &body["max_completion_tokens"]), (&json!(0.25), &json!(77)));
    assert_eq!((&body["top_p"], &body["model"]), (&json!(0.5), &json!("test-model")));
    assert!(body["messages"].to_string().contains("the words"), "{body}");
    assert_eq!(body["stream"], true);
    let seen = &hook_payloads(&project, "a")[0].1["request_body"];
    assert_eq!(seen["model"], "test-model");
    assert_eq!(seen["messages"][0]["role"], "system");
    assert!(seen["messages"][1]["content"].as_str().unwrap().contains("the words"), "{seen}");
    assert_eq!(seen["tools"][0]["type"], "function");
    assert!(seen["tools"][0]["function"]["parameters"].is_object(), "{seen}");
}

#[test]
fn hooks_are_notified_of_batches_and_saved_outputs() {
    let call = ("big", json!({"of": 1}));
    let (project, _server) = playing([Reply::calls([call.clone()]), Reply::text("ok")]);
    let points = ["post_tool_batch", "pre_cache_output", "post_cache_output"];
    hooked(&project, "a", &points, &json!({}));
    super::plugin(&project, "big", &super::schema("big"), "head -c 60000 /dev/zero | tr '\\0' x");
    project.brynhild(&["chat", "--yes", "go"]).success();
    let told = hook_payloads(&project, "a");
    let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["pre_cache_output", "post_cache_output", "post_tool_batch"]);
    assert_eq!((&told[0].1["tool_name"], &told[0].1["arguments"]), (&json!("big"), &call.1));
    let stored = &told[1].1;
    let whole = std::fs::read_to_string(stored["cache_id"].as_str().unwrap()).unwrap();
    assert_eq!(json!(whole.len()), stored["output_size"]);
    assert!(stored["preview_size"].as_u64().unwrap() < 51_000, "{stored}");
    assert_eq!(told[2].1["tool_calls"], json!([{"name": "big", "arguments": call.1}]));
    assert_eq!(told[2].1["current_fallback"], "call_user");
}

#[test]
fn hooks_run_around_compaction_and_clear() {
    let (project, _server) = playing([
        Reply::text("long ".repeat(2_000)),
        Reply::text("more ".repeat(2_000)),
        Reply::text("the gist"),
        Reply::text("ok"),
    ]);
    let points = [
        "pre_compact",
        "post_compact",
        "pre_rolling_compact",
        "post_rolling_compact",
        "pre_clear",
        "post_clear",
    ];
    hooked(&project, "a", &points, &json!({}));
    let lines = "first\nsecond\n/compact\n/clear\nthird\n";
    project.command(&["--plain"]).stdin(lines).run().success();
    let told = hook_payloads(&project, "a");
    let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
    let wanted = [
        "pre_compact",
        "pre_rolling_compact",
        "post_compact",
        "post_rolling_compact",
        "pre_clear",
        "post_clear",
    ];
    assert_eq!(names, wanted);
    assert_eq!(told[0].1["message_count"], 4);
    assert_eq!(told[2].1["summary"], "the gist");
    assert!(told[3].1["messages_archived"].as_u64().unwrap() > 0, "{told:?}");
    assert!(told[4].1["message_count"].as_u64().unwrap() > 0, "{told:?}");
    assert!(told[5].1["context_name"].is_string(), "{told:?}");
}
