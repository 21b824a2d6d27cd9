//! The rules of roles on prompts and answers, and the record of refusals.

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use crate::project_with;

fn guarded(model: &ModelServer, security: &Value) -> Project {
    let project = project_with(model);
    let role = json!({"name": "guarded", "prompt": "You answer.", "security": security});
    project.file("role.yaml", role.to_string());
    assert_eq!(project.brynhild(&["validate", "role.yaml"]).success().stderr, "");
    project
}

#[test]
fn refused_prompt_reaches_no_model_and_is_recorded() {
    let model = ModelServer::start([]);
    let content = json!({"blocked_input_patterns": ["secret \\d+"]});
    let project = guarded(&model, &json!({"content": content}));
    let run = project.brynhild(&["run", "role.yaml", "-p", "Tell SECRET 12"]);
    let wanted = "Input matches blocked pattern: secret \\d+";
    assert!(run.code(1).stderr.contains(wanted), "{run}");
    assert!(model.chats().is_empty());
    let events = project.brynhild(&["audit", "security-events", "--json"]).json();
    assert_eq!(events[0]["event_type"], "input_blocked");
    assert_eq!(events[0]["agent_name"], "guarded");
    assert_eq!(events[0]["details"], wanted);
}

#[test]
fn answers_are_stripped_or_withheld() {
    let model = ModelServer::start([Reply::text("It is KEY-12.")]).repeat_last();
    let mut content = json!({"blocked_output_patterns": ["key-\\d+"]});
    let project = guarded(&model, &json!({"content": content}));
    let run = project.brynhild(&["run", "role.yaml", "-p", "x"]);
    assert_eq!(run.success().stdout.trim(), "It is [FILTERED].");
    content["output_action"] = "block".into();
    let project = guarded(&model, &json!({"content": content}));
    let run = project.brynhild(&["run", "role.yaml", "-p", "x"]);
    assert!(run.code(1).stderr.contains("Output matches blocked pattern: key-\\d+"), "{run}");
    assert!(!run.stdout.contains("KEY-12"), "{run}");
    let run = project.brynhild(&["audit", "security-events"]);
    assert!(run.success().stdout.contains("output_blocked"), "{run}");
}

#[test]
fn classifier_refuses_other_topics() {
    let refusal = json!({"is_safe": false, "reason": "not about ships"});
    let model = ModelServer::start([Reply::text(refusal.to_string())]);
    let content = json!({"llm_classifier_enabled": true, "allowed_topics_prompt": "Only ships."});
    let project = guarded(&model, &json!({"content": content}));
    let run = project.brynhild(&["run", "role.yaml", "-p", "Cars?"]);
    assert!(run.code(1).stderr.contains("Input refused: not about ships"), "{run}");
    assert!(model.chats()[0].text.contains("Only ships."));
}

#[test]
fn public_preset_redacts_personal_data_in_the_record() {
    let model = ModelServer::start([Reply::text("Hello.")]);
    let project = guarded(&model, &json!({"preset": "public"}));
    project.brynhild(&["run", "role.yaml", "-p", "I am ada@example.com"]).success();
    assert!(model.chats()[0].text.contains("ada@example.com"));
    let run = project.brynhild(&["audit", "export"]);
    assert!(run.success().stdout.contains("I am [REDACTED]"), "{run}");
    assert!(!run.stdout.contains("ada@example.com"), "{run}");
}

#[test]
fn security_errors_name_the_key() {
    let model = ModelServer::start([]);
    let project = project_with(&model);
    for (security, wanted) in [
        (json!({"preset": "odd"}), "security.preset: it is none of"),
        (json!({"odd": 1}), "security.odd: it is not known"),
        (json!({"content": {"odd": 1}}), "security.content.odd: it is not known"),
        (json!({"content": {"redact_patterns": ["("]}}), "Invalid regex pattern '(': "),
        (json!({"content": {"output_action": "x"}}), "it is neither `strip` nor `block`"),
    ] {
        let role = json!({"name": "guarded", "prompt": "x", "security": security});
        project.file("role.yaml", role.to_string());
        let run = project.brynhild(&["validate", "role.yaml"]);
        assert!(run.code(1).stderr.contains(wanted), "{wanted}: {run}");
    }
}
