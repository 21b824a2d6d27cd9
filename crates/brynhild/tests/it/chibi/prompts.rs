//! Plugins that ask the user as chibi's documentation shows: a prompt without a newline on standard
//! error, the answer from `/dev/tty`.

use serde_json::json;
use testkit::{ModelServer, Project, Reply};

use super::{directory, schema, script};
use crate::project_with;

const SIZE: (u16, u16) = (100, 30);

/// A plugin that asks, and a model that calls it once.
fn asking() -> (ModelServer, Project) {
    let server = ModelServer::start([Reply::calls([("asks", json!({}))]), Reply::text("done")]);
    let project = project_with(&server);
    let text = format!(
        "#!/usr/bin/env python3\nimport sys\nif '--schema' in sys.argv:\n    print('{}')\n    \
         sys.exit()\nsys.stderr.write('Delete it? [y/N] ')\nsys.stderr.flush()\n\
         word = open('/dev/tty').readline().strip()\nprint('answer <' + word + '>')\n",
        schema("asks")
    );
    script(&directory(&project).join("asks"), &text);
    (server, project)
}

/// The result of the call, as the model reads it.
fn result(server: &ModelServer) -> String {
    let messages = server.chats()[1].body["messages"].as_array().unwrap().clone();
    messages.last().unwrap()["content"].as_str().unwrap().to_owned()
}

#[test]
fn prompt_on_standard_error_is_answered_in_chat() {
    let (server, project) = asking();
    let terminal = project.terminal(&["chat", "--yes", "go"], SIZE);
    terminal.wait_for("Delete it? [y/N]");
    terminal.send("yes\r");
    assert_eq!(terminal.wait_for_end(), Some(0));
    assert_eq!(result(&server).trim_end(), "answer <yes>");
    assert!(terminal.screen().contains("Delete it? [y/N] yes"), "{}", terminal.screen());
}

#[test]
fn prompt_on_standard_error_is_answered_in_plain_mode() {
    let (server, project) = asking();
    let terminal = project.terminal(&["--plain", "--yes"], SIZE);
    terminal.wait_for("> ");
    terminal.send("go\r");
    terminal.wait_for("Delete it? [y/N]");
    terminal.send("yes\r");
    terminal.wait_for("done");
    assert_eq!(result(&server).trim_end(), "answer <yes>");
    assert!(terminal.screen().contains("Delete it? [y/N] yes"), "{}", terminal.screen());
}

#[test]
fn prompt_on_standard_error_is_answered_on_the_screen() {
    let (server, project) = asking();
    let terminal = project.terminal(&["--yes"], SIZE);
    terminal.wait_for("Ask anything");
    terminal.send("go\r");
    let screen = terminal.wait_for("to dismiss");
    assert!(screen.contains("plugin asks asks"), "{screen}");
    assert!(screen.contains("Delete it? [y/N]"), "{screen}");
    terminal.send("yes\r");
    terminal.wait_for("done");
    assert_eq!(result(&server).trim_end(), "answer <yes>");
}

#[test]
fn dismissed_prompt_is_the_end_of_the_input() {
    let (server, project) = asking();
    let terminal = project.terminal(&["--yes"], SIZE);
    terminal.wait_for("Ask anything");
    terminal.send("go\r");
    terminal.wait_for("to dismiss");
    terminal.send("\x1b");
    terminal.wait_for("done");
    assert_eq!(result(&server).trim_end(), "answer <>");
}
