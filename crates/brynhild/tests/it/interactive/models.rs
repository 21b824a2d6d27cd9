//! Models of several providers in one conversation.

use std::net::TcpListener;

use testkit::{ModelServer, Project, Reply};

use super::start;
use crate::project;

/// A project with two providers, `one` by default, and no others; `more` adds to the providers.
fn two_providers(one: &ModelServer, two: &ModelServer, more: &str) -> Project {
    let project = project();
    let off = |name: &str| format!("    {name}: {{type: {name}, enabled: false}}\n");
    let off: String = ["ollama", "lmstudio", "vllm", "llamacpp"].map(off).concat();
    project.config(&format!(
        "providers:\n  default: one\n  instances:\n    one: {{type: openai, base_url: {}/v1, \
         default_model: alpha}}\n    two: {{type: anthropic, base_url: {}}}\n{more}{off}",
        one.url(),
        two.url()
    ));
    project
}

#[test]
fn model_of_another_provider_is_picked_and_resumed() {
    let one = ModelServer::start([Reply::text("I am one.")]).models(["alpha"]);
    let two = ModelServer::start([Reply::text("I am two."), Reply::text("Two again.")])
        .models(["beta", "gamma"]);
    let project = two_providers(&one, &two, "");
    let terminal = start(&project);
    terminal.send("first\r");
    terminal.wait_for("I am one.");
    terminal.wait_for("Ask anything");
    terminal.send("/model\r");
    let screen = terminal.wait_for("gamma");
    assert!(screen.contains("one, in use"), "{screen}");
    terminal.send("gam\r");
    terminal.wait_until("the other model in the last line", |screen| {
        screen.contents().lines().last().is_some_and(|line| line.contains("gamma"))
    });
    terminal.wait_for("Ask anything");
    terminal.send("second\r");
    terminal.wait_for("I am two.");
    let chat = &two.chats()[0].body;
    assert_eq!(chat["model"], "gamma");
    let sent = chat["messages"].to_string();
    assert!(sent.contains("first") && sent.contains("I am one."), "{sent}");
    terminal.send("\x11");
    assert_eq!(terminal.wait_for_end(), Some(0));
    let run = project.brynhild(&["chat", "-c", "third"]);
    assert_eq!(run.success().stdout.trim(), "Two again.");
    assert_eq!(two.chats()[1].body["model"], "gamma");
    assert_eq!(one.chats().len(), 1);
}

#[test]
fn typed_provider_and_model_are_used_and_wrong_ones_refused() {
    let one = ModelServer::start([Reply::text("I am one.")]).models(["alpha"]);
    let two = ModelServer::start([Reply::text("I am two.")]).models(["beta"]);
    let project = two_providers(&one, &two, "");
    project.brynhild(&["models", "list", "--all"]).success();
    let terminal = start(&project);
    terminal.send("/model two/betta\r");
    terminal.wait_for("two has no model `betta`");
    terminal.wait_for("did you mean `beta`?");
    terminal.wait_for("Ask anything");
    terminal.send("first\r");
    terminal.wait_for("I am one.");
    terminal.wait_for("Ask anything");
    terminal.send("/model two/beta\r");
    terminal.wait_until("the other model in the last line", |screen| {
        screen.contents().lines().last().is_some_and(|line| line.contains("beta"))
    });
    terminal.wait_for("Ask anything");
    terminal.send("second\r");
    terminal.wait_for("I am two.");
    assert_eq!(two.chats()[0].body["model"], "beta");
}

#[test]
fn picker_shows_models_before_the_slowest_list_arrives() {
    let (one, two) = (ModelServer::start([]), ModelServer::start([]));
    let (one, two) = (one.models(["alpha"]), two.models(["beta"]));
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let project = two_providers(
        &one,
        &two,
        &format!(
            "    slow: {{type: openai, base_url: 'http://{address}/v1'}}\n    gone: {{type: openai, \
             base_url: 'http://127.0.0.1:1/v1'}}\n"
        ),
    );
    let terminal = start(&project);
    terminal.send("\x1bOS");
    terminal.wait_for("beta");
    let screen = terminal.wait_for("no list of models");
    assert!(screen.contains("Models (") && screen.contains(" …)"), "{screen}");
    terminal.send("no list");
    terminal.wait_for("127.0.0.1:1");
    terminal.send("\r\x1b");
    terminal.wait_until("the list closed", |screen| !screen.contents().contains("Models ("));
    terminal.send("\x11");
    assert_eq!(terminal.wait_for_end(), Some(0));
}
