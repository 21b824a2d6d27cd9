//! Images in requests, from files, prompts, results and the command line.

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use super::{TYPES, project_of};
use crate::project_with;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";
const DATA: &str = "iVBORw0KGgpyZXN0";

/// The content of all messages of the user in the first request, or in the one with this number.
fn sent(server: &ModelServer, number: usize) -> String {
    let body = &server.chats()[number].body;
    let of_user = |message: &&Value| message["role"] == "user";
    let messages = body["messages"].as_array().unwrap();
    messages.iter().filter(of_user).map(Value::to_string).collect()
}

fn answering(kind: &str) -> (ModelServer, Project) {
    let server = ModelServer::start([Reply::text("A square.")]).repeat_last();
    let project = project_of(kind, &server);
    project.file("shot.png", PNG);
    (server, project)
}

#[test]
fn image_of_the_command_line_is_sent_in_every_format() {
    for kind in TYPES {
        let (server, project) = answering(kind);
        let run = project.brynhild(&["chat", "--image", "shot.png", "what is it?"]);
        assert_eq!(run.success().stdout, "A square.\n", "{run}");
        let sent = sent(&server, 0);
        let expected = match kind {
            "anthropic" => json!({"type": "base64", "media_type": "image/png", "data": DATA}),
            "ollama" => json!([DATA]),
            _ => json!({"url": format!("data:image/png;base64,{DATA}")}),
        };
        assert!(sent.contains(&expected.to_string()), "{kind}: {sent}");
        assert!(sent.contains("[image shot.png]") && sent.contains("what is it?"), "{sent}");
    }
}

#[test]
fn mentioned_image_is_sent_and_kept_by_the_session() {
    let (server, project) = answering("openai");
    project.brynhild(&["chat", "look at @shot.png please"]).success();
    assert!(sent(&server, 0).contains(DATA));
    project.brynhild(&["--continue", "chat", "and now?"]).success();
    assert!(sent(&server, 1).contains(DATA), "{}", sent(&server, 1));
}

#[test]
fn read_image_follows_the_results_of_all_calls() {
    let path = json!({"file_path": "shot.png"});
    let server = ModelServer::start([
        Reply::calls([("Read", path), ("Read", json!({"file_path": "notes.txt"}))]),
        Reply::text("A square."),
    ]);
    let project = project_with(&server);
    project.file("shot.png", PNG).file("notes.txt", "notes");
    project.brynhild(&["chat", "look"]).success();
    let body = &server.chats()[1].body;
    let roles: Vec<&Value> =
        body["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles[roles.len() - 4..], ["assistant", "tool", "tool", "user"]);
    assert!(sent(&server, 1).contains(DATA));
}

#[test]
fn model_without_sight_gets_a_line_of_text() {
    let (server, project) = answering("openai");
    let args = ["--model", "gpt-3.5-turbo", "chat", "--image", "shot.png", "what is it?"];
    project.brynhild(&args).success();
    let sent = sent(&server, 0);
    let expected = "[image shot.png not sent: gpt-3.5-turbo does not accept images]";
    assert!(sent.contains(expected) && !sent.contains(DATA), "{sent}");
}

#[test]
fn unusable_images_are_refused_before_the_request() {
    let (server, project) = answering("openai");
    project.file("text.png", "just text");
    for (file, why) in [
        ("text.png", "is not a PNG, JPEG, GIF or WebP image; convert it"),
        ("missing.png", "missing.png"),
    ] {
        let run = project.brynhild(&["chat", "--image", file, "what is it?"]);
        run.code(2);
        assert!(run.stderr.contains(why), "{run}");
    }
    assert!(server.chats().is_empty());
    project.brynhild(&["chat", "look at @text.png"]).success();
    let expected = "[image text.png not sent: it is not a PNG, JPEG, GIF or WebP image]";
    assert!(sent(&server, 0).contains(expected), "{}", sent(&server, 0));
}

#[test]
fn deny_rule_keeps_an_image_from_the_model() {
    let (server, project) = answering("openai");
    project.config_more("permissions: {deny: ['Read(shot.png)']}\n");
    project.brynhild(&["chat", "look at @shot.png"]);
    assert!(!server.chats().iter().any(|chat| chat.text.contains(DATA)));
}
