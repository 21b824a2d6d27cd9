//! Requests and resources of our servers, forwarded to the clients of `mcp serve`.

use serde_json::{Value, json};
use testkit::Project;
use testkit::project::Running;

use super::add;
use super::serving::{call, initialize, reply, serve};
use crate::project;

const SERVER: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/conformance/server.py"));
const ROLE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/conformance/role.yaml"));

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Begins a conversation with a client that can do these things.
fn client(project: &Project, flags: &[&str], capabilities: &Value) -> Running {
    let mut serving = project.command(&[&["mcp", "serve"], flags].concat()).spawn();
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    serving.send(&format!("{}\n{ready}\n", initialize(capabilities)));
    serving
}

/// Waits for the first message that contains a text.
fn wait_for_message(serving: &Running, words: &str) -> Value {
    serving.wait_for_stdout(words);
    let said = serving.stdout();
    let line = said.lines().find(|line| line.contains(words)).unwrap();
    serde_json::from_str(line).unwrap()
}

/// A project whose role has the tools of the suite's server.
fn with_role() -> Project {
    let project = project();
    project.file("server.py", SERVER).file("role.yaml", ROLE);
    project
}

#[test]
fn server_question_is_forwarded_to_the_client() {
    let project = project();
    add(&project, &[]);
    project.config_more("permissions: {allow: [mcp__test__*]}\n");
    let mut serving = client(&project, &[], &json!({"elicitation": {}}));
    serving.send(&format!("{}\n", call(1, "mcp__test__ask", &json!({}))));
    let question = wait_for_message(&serving, "elicitation/create");
    assert_eq!(question["params"]["message"], "MCP server `test` asks: Who are you?");
    assert!(question["params"]["requestedSchema"]["properties"]["name"].is_object());
    let result = json!({"action": "accept", "content": {"name": "Una"}});
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
    serving.send(&format!("{answer}\n"));
    let result = wait_for_message(&serving, "\"id\":1,");
    assert!(result["result"]["content"][0]["text"].as_str().unwrap().contains("Una"), "{result}");
    serving.close_stdin();
    serving.wait().success();
    let run = serve(&project, &[], &[call(1, "mcp__test__ask", &json!({}))]);
    let declined = reply(&run, 1)["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(declined.contains("decline"), "{declined}");
}

#[test]
fn sampling_is_forwarded_to_the_client() {
    let project = with_role();
    let flags = ["--role", "role.yaml", "--yes"];
    let mut serving = client(&project, &flags, &json!({"sampling": {}}));
    serving.send(&format!("{}\n", call(1, "test_sampling", &json!({"prompt": "Sing."}))));
    let wanted = wait_for_message(&serving, "sampling/createMessage");
    assert_eq!(wanted["params"]["messages"][0]["content"]["text"], "Sing.");
    let result =
        json!({"role": "assistant", "model": "far", "content": {"type": "text", "text": "La."}});
    serving.send(&format!("{}\n", json!({"jsonrpc": "2.0", "id": wanted["id"], "result": result})));
    let result = wait_for_message(&serving, "\"id\":1,");
    assert!(result["result"]["content"][0]["text"].as_str().unwrap().contains("La."), "{result}");
    serving.close_stdin();
    serving.wait().success();
}

#[test]
fn server_resources_are_offered_if_rules_allow() {
    let project = project();
    add(&project, &[]);
    let list = request(1, "resources/list", &json!({}));
    let read = request(2, "resources/read", &json!({"uri": "note:one"}));
    let run = serve(&project, &[], &[list.clone(), read.clone()]);
    assert!(!reply(&run, 1).to_string().contains("note:one"), "{run}");
    assert_eq!(reply(&run, 2)["error"]["code"], -32002, "{run}");
    assert!(run.stderr.contains("resources of MCP server `test` are not offered"), "{run}");
    project.config_more("permissions: {allow: [ListMcpResources, ReadMcpResource]}\n");
    let watch = request(3, "resources/subscribe", &json!({"uri": "note:one"}));
    let none = request(4, "resources/read", &json!({"uri": "note:two"}));
    let run = serve(&project, &[], &[list, read, watch, none]);
    assert!(reply(&run, 1).to_string().contains("\"uri\":\"note:one\""), "{run}");
    assert_eq!(reply(&run, 2)["result"]["contents"][0]["text"], "the note", "{run}");
    assert!(reply(&run, 3)["error"]["message"].as_str().unwrap().contains("did not watch"));
    assert_eq!(reply(&run, 4)["error"]["code"], -32002, "{run}");
}

#[test]
fn rules_for_role_tools_and_resources_are_valid() {
    let project = with_role();
    project.config_more(
        "permissions: {allow: [ListMcpResources, ReadMcpResource, test_error_handling]}\n",
    );
    let mut serving = client(&project, &["--role", "role.yaml"], &json!({}));
    serving.send(&format!("{}\n", request(1, "resources/list", &json!({}))));
    let listed = wait_for_message(&serving, "\"id\":1,");
    assert!(listed.to_string().contains("test://static-text"), "{listed}");
    serving.close_stdin();
    let run = serving.wait();
    assert!(!run.success().stderr.contains("there is no tool"), "{run}");
}

#[test]
fn templates_are_read_and_changes_notified() {
    let project = with_role();
    let mut serving = client(&project, &["--role", "role.yaml", "--yes"], &json!({}));
    let messages = [
        request(1, "resources/templates/list", &json!({})),
        request(2, "resources/read", &json!({"uri": "test://template/7/data"})),
        request(3, "resources/read", &json!({"uri": "test://static-binary"})),
        request(4, "resources/subscribe", &json!({"uri": "test://watched-resource"})),
    ];
    for message in messages {
        serving.send(&format!("{message}\n"));
    }
    let templates = wait_for_message(&serving, "\"id\":1,")["result"]["resourceTemplates"].clone();
    assert_eq!(templates[0]["uriTemplate"], "test://template/{id}/data");
    let read = wait_for_message(&serving, "\"id\":2,")["result"]["contents"][0].clone();
    assert!(read["text"].as_str().unwrap().contains("Data for ID: 7"), "{read}");
    assert!(wait_for_message(&serving, "\"id\":3,")["result"]["contents"][0]["blob"].is_string());
    assert_eq!(wait_for_message(&serving, "\"id\":4,")["result"], json!({}));
    let again = request(5, "resources/subscribe", &json!({"uri": "test://watched-resource"}));
    serving.send(&format!("{again}\n"));
    let told = wait_for_message(&serving, "notifications/resources/updated");
    assert_eq!(told["params"]["uri"], "test://watched-resource");
    serving.close_stdin();
    serving.wait().success();
}

#[test]
fn server_logs_and_progress_reach_the_client() {
    let project = with_role();
    let mut serving = client(&project, &["--role", "role.yaml", "--yes"], &json!({}));
    let mut progress = call(3, "test_tool_with_progress", &json!({}));
    progress["params"]["_meta"] = json!({"progressToken": "far"});
    serving.send(&format!("{}\n", request(1, "logging/setLevel", &json!({"level": "debug"}))));
    wait_for_message(&serving, "\"id\":1,");
    serving.send(&format!("{}\n", call(2, "test_tool_with_logging", &json!({}))));
    wait_for_message(&serving, "\"id\":2,");
    serving.send(&format!("{progress}\n"));
    wait_for_message(&serving, "\"id\":3,");
    let lines = serving.stdout();
    assert_eq!(lines.matches("notifications/message").count(), 3, "{lines}");
    assert_eq!(lines.matches("notifications/progress").count(), 3, "{lines}");
    serving.close_stdin();
    serving.wait().success();
}

#[test]
fn server_prompts_are_forwarded_whole() {
    let project = with_role();
    let name = "test_prompt_with_embedded_resource";
    let asked = json!({"name": name, "arguments": {"resourceUri": "test://x"}});
    let mut serving = client(&project, &["--role", "role.yaml", "--yes"], &json!({}));
    for request in [
        request(1, "prompts/list", &json!({})),
        request(2, "prompts/get", &asked),
        request(3, "prompts/get", &json!({"name": "test_prompt_with_image"})),
        request(4, "prompts/get", &json!({"name": "none"})),
    ] {
        serving.send(&format!("{request}\n"));
    }
    for id in 1..=4 {
        serving.wait_for_stdout(&format!("\"id\":{id},"));
    }
    serving.close_stdin();
    let run = serving.wait();
    let listed = reply(&run, 1)["result"]["prompts"].to_string();
    assert!(listed.contains(name) && listed.contains("resourceUri"), "{run}");
    let content = |id: u64| reply(&run, id)["result"]["messages"][0]["content"].clone();
    assert_eq!(content(2)["resource"]["uri"], "test://x", "{run}");
    assert_eq!(content(3)["type"], "image", "{run}");
    assert_eq!(reply(&run, 4)["error"]["code"], -32602, "{run}");
}
