//! Calls in the text of a model: the budget of recovered calls, and mentions that are no calls.

use serde_json::Value;
use testkit::{ModelServer, Project, Reply};

use super::check_history;
use crate::project_with;

fn recovering(server: &ModelServer) -> Project {
    let project = project_with(server);
    let profiles = "../home/.config/brynhild/profiles";
    project
        .file(format!("{profiles}/rec.yaml"), "name: rec\nenable_tool_recovery: true\n")
        .file(format!("{profiles}/words.yaml"), "name: words\ntool_format: text\n");
    project
}

/// A model that writes down a call, another one each time, and ends each turn after `calls` of them.
fn writing(calls: usize) -> ModelServer {
    let mut asked = 0;
    ModelServer::respond_with(move |_| {
        asked += 1;
        if asked % (calls + 1) == 0 {
            Reply::text("Done.")
        } else {
            Reply::text(format!("[tool_call: Glob(pattern=\"*{asked}\")]"))
        }
    })
}

#[test]
fn recovery_budget_is_per_session() {
    let server = writing(15);
    let project = recovering(&server);
    let words = ["chat", "go", "--profile", "rec", "--session", "s", "--json"];
    let calls = |answer: &Value| answer["tool_calls"].as_array().unwrap().len();
    let first = project.brynhild(&words).success().json();
    assert_eq!(calls(&first), 15, "{first:#}");
    let second = project.brynhild(&words);
    assert_eq!(calls(&second.success().json()), 5, "{second}");
    assert!(second.stderr.contains("20 calls were recovered"), "{second}");
}

#[test]
fn text_calls_have_no_recovery_budget() {
    let server = writing(25);
    let project = recovering(&server);
    let words = ["chat", "go", "--profile", "words", "--max-turns", "50", "--json"];
    let answer = project.brynhild(&words).success().json();
    assert_eq!(answer["tool_calls"].as_array().unwrap().len(), 25, "{answer:#}");
    assert_eq!(answer["response"], "Done.");
    for chat in server.chats() {
        check_history(&chat);
    }
}

#[test]
fn call_mentioned_in_a_sentence_is_not_recovered() {
    let call = "[tool_call: Inspect(operation=\"cwd\")]";
    for text in [
        format!("To look around you would write `{call}` in your answer."),
        format!("Here's an example of the form: {call}"),
    ] {
        let server = ModelServer::start([Reply::text(text.clone())]);
        let run = recovering(&server).brynhild(&["chat", "how?", "--profile", "rec", "--json"]);
        assert_eq!(run.success().json()["tool_calls"], Value::Null, "{run}");
        assert_eq!(server.chats().len(), 1);
    }
    for text in [call.to_owned(), format!("`{call}`"), format!("I look.\n```\n{call}\n```")] {
        let server = ModelServer::start([Reply::text(text.clone()), Reply::text("done")]);
        let run = recovering(&server).brynhild(&["chat", "look", "--profile", "rec", "--json"]);
        assert_eq!(
            run.success().json()["tool_calls"].as_array().unwrap().len(),
            1,
            "{text}: {run}"
        );
    }
}
