//! Built-in commands on the whole screen and in the line front end.

use super::*;

#[test]
fn reports_show_the_state_of_the_conversation() {
    let server = ModelServer::start([Reply::text("hello").usage(90_000, 5)]);
    let project = project_with(&server);
    let terminal = start(&project);
    terminal.send("hi there\r");
    terminal.wait_for("hello");
    for (command, wanted) in [
        ("/status", "sandboxed: no network, writes only here"),
        ("/config", "brynhild config show --provenance"),
        ("/context", "90005 tokens after the last reply"),
        ("/agents", "builtin"),
        ("/mcp", "There are no MCP servers"),
        ("/rename The first talk", "The title is now The first talk"),
        ("/copy", "Copied"),
    ] {
        terminal.send(&format!("{command}\r"));
        terminal.wait_for(wanted);
    }
    terminal.send("\x04");
    assert_eq!(terminal.wait_for_end(), Some(0));
    let sessions = project.brynhild(&["session", "list", "--json"]).success().json();
    assert_eq!(sessions[0]["title"], "The first talk");
}

#[test]
fn new_commands_are_completed() {
    let project = project_with(&ModelServer::start([]));
    let terminal = start(&project);
    terminal.send("/rena");
    terminal.wait_for("Give this session a title");
    terminal.send("\x15/init");
    terminal.wait_for("Have the model write AGENTS.md");
}

#[test]
fn init_and_review_send_prompts() {
    let server = ModelServer::start([Reply::text("written"), Reply::text("reviewed")]);
    let project = project_with(&server);
    project.brynhild(&["chat", "/init"]).success();
    project.brynhild(&["chat", "/review the last two commits"]).success();
    let sent = |at: usize| server.chats()[at].body["messages"].to_string();
    assert!(sent(0).contains("AGENTS.md in the root of this project"), "{}", sent(0));
    assert!(sent(1).contains("Changes to review: the last two commits"), "{}", sent(1));
}

#[test]
fn line_front_end_has_the_new_commands() {
    let server = ModelServer::start([Reply::text("hello")]);
    let project = project_with(&server);
    let terminal = project.terminal(&["--plain"], SIZE);
    terminal.wait_for("lists commands");
    terminal.send("hi\r");
    terminal.wait_for("hello");
    for (command, wanted) in [
        ("/status", "Sandbox"),
        ("/rename A talk", "The title is now A talk"),
        ("/rename", "no title was given"),
        ("/copy", "`/copy` is for the whole screen"),
        ("/login", "`brynhild login` in a shell stores a key and chooses a model"),
    ] {
        terminal.send(&format!("{command}\r"));
        terminal.wait_for(wanted);
    }
    terminal.send("/quit\r");
    assert_eq!(terminal.wait_for_end(), Some(0));
    let sessions = project.brynhild(&["session", "list", "--json"]).success().json();
    assert_eq!(sessions[0]["title"], "A talk");
}
