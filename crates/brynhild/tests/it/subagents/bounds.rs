//! Limits of an agent: rules, modes, questions, the sandbox, budgets, depth, interrupts.

use serde_json::{Value, json};
use testkit::{ModelServer, Reply};

use super::{bash, messages, playing, result, task, tools, write_user_agent};
use crate::{has_bubblewrap, project_with};

/// A child that runs a command and reports.
fn commanded(command: &str) -> [Reply; 4] {
    [task("scout", "work"), bash(command), Reply::text("tried"), Reply::text("done")]
}

#[test]
fn unanswerable_call_of_an_agent_is_reported_to_the_top() {
    let (project, server) = playing(commanded("echo x > made"));
    let run = project.brynhild(&["chat", "--mode", "ask", "go"]);
    run.code(3);
    assert!(run.stderr.contains("Bash of the agent scout needs approval"), "{run}");
    assert!(!project.path().join("made").exists());
    let told = result(&server.chats()[3]);
    assert!(told.starts_with("tried\n\n[Calls of this agent that were not permitted:\n- Bash:"));
}

#[test]
fn question_names_the_agent() {
    let (project, _server) = playing(commanded("echo x > made"));
    let terminal = project.terminal(&["--mode", "ask", "chat", "go"], (100, 40));
    let screen = terminal.wait_for("Answer [");
    assert!(screen.contains("Run this command? (agent scout)"), "{screen}");
    terminal.send("y\r");
    assert_eq!(terminal.wait_for_end(), Some(0));
    assert_eq!(project.read("made"), "x\n");
}

#[test]
fn cancelling_an_agents_question_stops_the_whole_turn() {
    let (project, server) = playing(commanded("echo x > made"));
    let terminal = project.terminal(&["--mode", "ask", "chat", "go"], (100, 40));
    terminal.wait_for("Answer [");
    terminal.send("c\r");
    assert_eq!(terminal.wait_for_end(), Some(130));
    assert_eq!(server.chats().len(), 2);
}

#[test]
fn deny_rules_apply_to_agents() {
    let (project, server) = playing([
        task("scout", "work"),
        bash("touch denied"),
        bash("echo yes > made"),
        Reply::text("tried"),
        Reply::text("done"),
    ]);
    project.config_more("permissions:\n  deny: ['Bash(touch *)']\n");
    project.brynhild(&["chat", "--yes", "go"]).success();
    assert!(!project.path().join("denied").exists());
    assert_eq!(project.read("made"), "yes\n");
    assert!(result(&server.chats()[2]).contains("Permission denied"));
}

#[test]
fn an_agents_file_may_tighten_the_mode_and_never_loosen_it() {
    let (project, _server) = playing(commanded("echo x > made"));
    write_user_agent(&project, "scout", "permissionMode: bypassPermissions\n", "Look.");
    project.brynhild(&["chat", "--mode", "ask", "go"]).code(3);
    assert!(!project.path().join("made").exists());

    for mode in ["plan", "dontAsk"] {
        let (project, server) = playing(commanded("echo x > made"));
        write_user_agent(&project, "scout", &format!("permissionMode: {mode}\n"), "Look.");
        let extra = if mode == "plan" { &["--yes"][..] } else { &["--mode", "ask"] };
        project.brynhild(&[&["chat", "go"], extra].concat());
        assert!(!project.path().join("made").exists(), "{mode}");
        let told = result(&server.chats()[2]);
        assert!(mode == "plan" || told.contains("this agent cannot ask"), "{told}");
    }
}

#[test]
fn agent_command_is_confined() {
    if !has_bubblewrap() {
        return;
    }
    let (project, _server) = playing(commanded("echo x > ../outside"));
    project.brynhild(&["chat", "--yes", "go"]).success();
    assert!(!project.path().join("../outside").exists());
}

#[test]
fn agent_usage_is_added_to_the_session() {
    let (project, _server) = playing([
        task("scout", "work").usage(100, 10).cost(0.25),
        Reply::text("tried").usage(1000, 100).cost(0.5),
        Reply::text("done").usage(200, 20).cost(0.25),
    ]);
    let answer = project.brynhild(&["chat", "--json", "go"]).json();
    assert_eq!(answer["usage"]["input_tokens"], 1300, "{answer:#}");
    assert_eq!(answer["usage"]["output_tokens"], 130);
    assert_eq!(answer["cost_usd"], 1.0);
    assert_eq!(answer["response"], "done");
    assert_eq!(answer["tool_calls"].as_array().unwrap().len(), 1);
    let sessions = project.brynhild(&["session", "list", "--json"]).json();
    assert_eq!(sessions[0]["cost_usd"], 1.0);
    assert_eq!((&sessions[0]["turns"], &sessions[0]["model"]), (&json!(1), &json!("test-model")));
}

#[test]
fn session_budget_stops_an_agent() {
    let (project, server) = playing([
        task("scout", "work").usage(100, 10),
        Reply::calls([("Glob", json!({"pattern": "*"}))]).usage(1000, 100),
        Reply::text("never asked for"),
    ]);
    let run = project.brynhild(&["chat", "--max-tokens", "1000", "go"]);
    run.code(5);
    assert_eq!(server.chats().len(), 2, "{run}");
}

#[test]
fn limits_failures_and_loops_of_an_agent_are_reported() {
    let look = || Reply::calls([("Glob", json!({"pattern": "*"}))]);
    let (project, server) = playing([task("brief", "work"), look(), look(), Reply::text("done")]);
    write_user_agent(&project, "brief", "maxTurns: 2\n", "Be brief.");
    project.brynhild(&["chat", "go"]).success();
    let told = result(&server.chats()[3]);
    let wanted = "the agent brief was stopped: a limit was reached: maxTurns (2)";
    assert!(told.ends_with(wanted), "{told}");

    let (project, server) = playing([
        task("scout", "work"),
        Reply::failure(401).body(r#"{"error": {"message": "no such key"}}"#),
        Reply::text("done"),
    ]);
    project.brynhild(&["chat", "go"]).success();
    let told = result(&server.chats()[2]);
    assert!(told.contains("the agent scout failed: "), "{told}");

    let again = || bash("exit 7");
    let server = ModelServer::respond_with(move |request| {
        let said = messages(request);
        let is_inner = said[0].1.contains("You are a scout.");
        match said.last().unwrap().0.as_str() {
            _ if is_inner => again(),
            "tool" => Reply::text("done"),
            _ => task("scout", "work"),
        }
    });
    let project = project_with(&server);
    write_user_agent(&project, "scout", "", "You are a scout.");
    project.brynhild(&["chat", "--yes", "go"]).success();
    let told = result(server.chats().last().unwrap());
    assert!(told.contains("the agent scout was stopped: it repeated itself"), "{told}");
}

#[test]
fn agent_depth_is_limited_by_the_configuration() {
    let handed = || [task("scout", "a"), Reply::text("b"), Reply::text("c")];
    let (project, server) = playing(handed());
    project.config_more("agents: {max_depth: 2}\n");
    project.brynhild(&["chat", "go"]).success();
    assert!(tools(&server.chats()[1]).contains(&"Task".to_owned()));

    let (project, server) = playing([
        task("scout", "outer"),
        task("general-purpose", "inner"),
        Reply::text("deep words"),
        Reply::text("outer words"),
        Reply::text("done"),
    ]);
    project.config_more("agents: {max_depth: 2}\n");
    let run = project.brynhild(&["chat", "go", "--output-format", "stream-json"]);
    run.success();
    let chats = server.chats();
    assert!(!tools(&chats[2]).contains(&"Task".to_owned()));
    assert_eq!((result(&chats[3]), result(&chats[4])), ("deep words".into(), "outer words".into()));
    let events = run.json_lines();
    let agents: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "turn_finished")
        .map(|event| &event["within"]["agent"])
        .collect();
    assert_eq!(agents, [&json!("general-purpose"), &json!("scout"), &Value::Null]);

    let (project, server) = playing([Reply::text("alone")]);
    project.config_more("agents: {max_depth: 0}\n");
    project.brynhild(&["chat", "go"]).success();
    assert!(!tools(&server.chats()[0]).contains(&"Task".to_owned()));
}

#[test]
fn interrupt_stops_the_agent_and_closes_its_calls() {
    let (project, server) = playing([task("scout", "work"), bash("echo begun; sleep 600")]);
    let args = ["chat", "--yes", "--session", "work", "--output-format", "stream-json", "go"];
    let running = project.command(&args).stdin("").spawn();
    running.wait_for_stdout("begun");
    running.interrupt();
    let run = running.wait();
    run.code(130);
    assert_eq!(server.chats().len(), 2);
    let events = run.json_lines();
    let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
    assert_eq!((of("tool_called"), of("tool_finished"), of("turn_finished")), (2, 2, 2), "{run}");
    let last = events.iter().rev().find(|event| event["type"] == "tool_finished").unwrap();
    assert_eq!((&last["name"], &last["outcome"]), (&json!("Task"), &json!("interrupted")));
}

#[test]
fn tool_pattern_in_an_agent_file_limits_the_tool() {
    for (command, is_left) in [
        ("git --version", true),
        ("touch made", false),
        ("git --version && touch made", false),
        ("git --version; $(touch made)", false),
        ("gitk", false),
    ] {
        let (project, server) = playing(commanded(command));
        write_user_agent(&project, "scout", "tools: Read(docs/**), Bash(git *)\n", "Look.");
        project.brynhild(&["chat", "--yes", "go"]);
        let told = result(&server.chats()[2]);
        let wanted = "Permission denied: this agent may use only Bash(git *)";
        assert_eq!(!told.contains(wanted), is_left, "{command}: {told}");
        assert!(!project.path().join("made").exists(), "{command}");
    }
    for (path, is_left) in [("docs/a.md", true), ("b.md", false)] {
        let read = Reply::calls([("Read", json!({"file_path": path}))]);
        let (project, server) =
            playing([task("scout", "look"), read, Reply::text("seen"), Reply::text("done")]);
        project.file("docs/a.md", "words").file("b.md", "words");
        write_user_agent(&project, "scout", "tools: Read(docs/**), Bash(git *)\n", "Look.");
        project.brynhild(&["chat", "go"]).success();
        let told = result(&server.chats()[2]);
        assert_eq!(told.contains("words"), is_left, "{path}: {told}");
    }
}

#[test]
fn example_agent_loads() {
    let (project, server) = playing([
        task("reviewer", "look"),
        bash("git push"),
        Reply::text("x"),
        Reply::text("done"),
    ]);
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/agents/reviewer.md");
    let directory = project.config_directory().join("agents");
    std::fs::copy(example, directory.join("reviewer.md")).unwrap();
    let run = project.brynhild(&["chat", "--yes", "go"]);
    assert!(!run.success().stderr.contains("not here"), "{run}");
    assert_eq!(tools(&server.chats()[1]), ["Bash", "Glob", "Grep", "Read"]);
    assert!(result(&server.chats()[2]).contains("may use only Bash(git diff *)"), "{run}");
}
