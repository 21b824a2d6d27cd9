//! Calls that fit no tool. They are answered before anything else happens.

use serde_json::{Value, json};
use testkit::{ModelServer, Reply};

use super::{check_history, last_results};
use crate::project_with;

/// The result of a call with these arguments.
fn result_of_call(name: &str, arguments: &str) -> String {
    let server =
        ModelServer::start([Reply::default().call_text(name, arguments), Reply::text("ok")]);
    let project = project_with(&server);
    let run = project.brynhild(&["chat", "--json", "go"]);
    let answer = run.success().json();
    assert_eq!(answer["tool_results"][0]["success"], false, "{run}");
    assert_eq!(answer["tool_results"][0]["outcome"], "invalid", "{run}");
    let request = &server.chats()[1];
    check_history(request);
    last_results(request).remove(0)
}

#[test]
fn an_unknown_tool_is_named() {
    assert_eq!(result_of_call("Nope", "{}"), "Unknown tool: Nope");
    assert_eq!(
        result_of_call("bash", r#"{"command":"ls"}"#),
        "Unknown tool: bash. Did you mean Bash?"
    );
}

#[test]
fn missing_parameters_are_named_in_the_order_of_the_schema() {
    assert_eq!(result_of_call("Read", "{}"), "Missing required parameters: file_path");
    assert_eq!(
        result_of_call("Edit", r#"{"old_string":"a"}"#),
        "Missing required parameters: file_path, new_string"
    );
    assert_eq!(result_of_call("Bash", ""), "Missing required parameters: command");
}

#[test]
fn unknown_parameter_is_reported() {
    let call = ("Read", json!({"file_path": "a.txt", "colour": "red"}));
    let server = ModelServer::start([Reply::calls([call]), Reply::text("ok")]);
    let project = project_with(&server);
    project.file("a.txt", "x");
    let run = project.brynhild(&["chat", "go"]);
    assert!(run.success().stderr.contains("Unknown parameters (will be ignored): colour"), "{run}");
}

#[test]
fn invalid_json_arguments_are_reported_and_not_guessed() {
    for arguments in [r#"{"command": "touch made"#, "{command: touch}", "touch made", "{} {}"] {
        let told = result_of_call("Bash", arguments);
        assert!(told.starts_with("The arguments are not valid JSON"), "{arguments}: {told}");
    }
}

#[test]
fn repeated_invalid_json_ends_the_turn() {
    let mut number = 0;
    let server = ModelServer::respond_with(move |_| {
        number += 1;
        Reply::default().call_text("Read", &format!("{{\"file_path\": \"{number}"))
    });
    let answer = project_with(&server).brynhild(&["chat", "--json", "go"]).code(5).json();
    assert_eq!(answer["stop_reason"], "stuck", "{answer:#}");
    let error = answer["error"].as_str().unwrap();
    assert!(error.contains("arguments of Read could not be read 4 times"), "{error}");
    let chats = server.chats();
    assert_eq!(chats.len(), 4);
    assert!(chats[3].text.contains("You are repeating yourself"), "{}", chats[3].text);
}

#[test]
fn non_object_arguments_are_reported() {
    for arguments in ["[]", "5", "null", "\"ls\""] {
        let told = result_of_call("Bash", arguments);
        let is_clear = told.contains("object") || told.contains("Missing required parameters");
        assert!(is_clear, "{arguments}: {told}");
    }
}

#[test]
fn parameter_of_the_wrong_type_is_reported() {
    let told_read = result_of_call("Read", r#"{"file_path":"a","offset":"ten"}"#);
    assert!(told_read.contains("offset"), "{told_read}");
    assert!(told_read.contains("integer"), "{told_read}");
    let told_finish = result_of_call("Finish", r#"{"status":"great","summary":"x"}"#);
    assert!(told_finish.contains("status"), "{told_finish}");
    assert!(told_finish.contains("success"), "what would be right: {told_finish}");
    let told_command = result_of_call("Bash", r#"{"command":["ls"]}"#);
    assert!(told_command.contains("command"), "{told_command}");
}

#[test]
fn deep_and_large_arguments_are_tolerated() {
    let deep = format!("{{\"command\":{}{}}}", "[".repeat(5000), "]".repeat(5000));
    let told_deep = result_of_call("Bash", &deep);
    assert!(told_deep.len() < 2000, "the model is not sent {} bytes back", told_deep.len());
    let long = json!({"command": 5, "junk": "x".repeat(300_000)}).to_string();
    let told_long = result_of_call("Bash", &long);
    assert!(told_long.len() < 2000, "the model is not sent {} bytes back", told_long.len());
}

#[test]
fn invalid_call_is_neither_judged_nor_asked_about() {
    let call = Reply::default().call_text("Bash", r#"{"cmd":"touch made"}"#);
    let server = ModelServer::start([call, Reply::text("ok")]);
    let project = project_with(&server);
    let run = project.brynhild(&["chat", "--output-format", "stream-json", "go"]);
    let types: Vec<Value> =
        run.success().json_lines().iter().map(|event| event["type"].clone()).collect();
    assert!(types.contains(&json!("tool_finished")), "{types:?}");
    for unwanted in ["tool_judged", "asked"] {
        assert!(!types.contains(&json!(unwanted)), "{unwanted}: {types:?}");
    }
}
