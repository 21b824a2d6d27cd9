//! Agents that the model hands work to, through the shipped program: what they get and give here,
//! their sources in `discovery`, their limits in `bounds`, `hooks`, and their stored
//! conversations in `sessions`.

mod bounds;
mod discovery;
mod hooks;
mod sessions;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Recorded, Reply};

use crate::project_with;

/// A reply that hands work to an agent.
fn task(agent: &str, prompt: &str) -> Reply {
    Reply::calls([("Task", input(agent, prompt))])
}

fn input(agent: &str, prompt: &str) -> Value {
    json!({"description": "some work", "prompt": prompt, "subagent_type": agent})
}

fn bash(command: &str) -> Reply {
    Reply::calls([("Bash", json!({"command": command}))])
}

/// Puts an agent of the user's own into the home.
fn write_user_agent(project: &Project, name: &str, keys: &str, body: &str) {
    let directory = project.config_directory().join("agents");
    std::fs::create_dir_all(&directory).unwrap();
    let text = format!("---\nname: {name}\ndescription: Looks at {name}.\n{keys}---\n{body}\n");
    std::fs::write(directory.join(format!("{name}.md")), text).unwrap();
}

/// A project whose model plays `replies`, with an agent `scout` of the user's own.
fn playing(replies: impl IntoIterator<Item = Reply>) -> (Project, ModelServer) {
    let server = ModelServer::start(replies);
    let project = project_with(&server);
    write_user_agent(&project, "scout", "", "You are a scout.");
    (project, server)
}

/// The roles of a request's messages with their texts.
fn messages(request: &Recorded) -> Vec<(String, String)> {
    let message = |message: &Value| {
        let text = |key: &str| message[key].as_str().unwrap_or_default().to_owned();
        (text("role"), text("content"))
    };
    request.body["messages"].as_array().unwrap().iter().map(message).collect()
}

fn system(request: &Recorded) -> String {
    messages(request).remove(0).1
}

fn tools(request: &Recorded) -> Vec<String> {
    let tools = request.body["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

/// The result of the last call that the model received.
fn result(request: &Recorded) -> String {
    let results = messages(request).into_iter().rev().find(|(role, _)| role == "tool");
    results.unwrap_or_else(|| panic!("no result in {}", request.text)).1
}

/// The description of the delegation tool.
fn offered(request: &Recorded) -> String {
    let tools = request.body["tools"].as_array().unwrap();
    let task = tools.iter().find(|tool| tool["function"]["name"] == "Task").unwrap();
    task["function"]["description"].as_str().unwrap().to_owned()
}

#[test]
fn agent_has_its_own_conversation_and_returns_its_last_text() {
    let (project, server) = playing([
        task("scout", "find the answer"),
        Reply::text("Looking.").call("Read", &json!({"file_path": "notes.txt"})),
        Reply::text("The answer is 42."),
        Reply::text("It is 42."),
    ]);
    project.file("notes.txt", "answer: 42\n");
    let run = project.brynhild(&["chat", "what is the answer?"]);
    run.success();
    assert_eq!(run.stdout, "It is 42.\n");
    let chats = server.chats();
    assert!(offered(&chats[0]).contains("- scout: Looks at scout."), "{}", offered(&chats[0]));
    let child = messages(&chats[1]);
    assert!(child[0].1.starts_with("You are a scout."), "{child:?}");
    assert_eq!(child[1..], [("user".to_owned(), "find the answer".to_owned())]);
    assert!(result(&chats[2]).contains("answer: 42"));
    let parent = messages(&chats[3]);
    let roles: Vec<&str> = parent.iter().map(|(role, _)| role.as_str()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool"]);
    assert_eq!(parent[3].1, "The answer is 42.");
}

#[test]
fn plain_prompt_agent_gets_the_tools_except_agents() {
    let (project, server) = playing([
        Reply::calls([("Task", json!({"description": "count", "prompt": "count to 3"}))]),
        Reply::text("1 2 3"),
        Reply::text("done"),
    ]);
    project.file("AGENTS.md", "Count from one.\n");
    project.brynhild(&["chat", "go"]).success();
    let chats = server.chats();
    let (mut outer, inner) = (tools(&chats[0]), tools(&chats[1]));
    outer.retain(|name| name != "Task");
    assert_eq!(inner, outer);
    let words = system(&chats[1]);
    assert!(words.contains("Count from one.") && words.contains("Your last message"), "{words}");
    assert_eq!(result(&chats[2]), "1 2 3");
}

#[test]
fn agent_gets_the_tools_and_skills_of_its_file() {
    let (project, server) =
        playing([task("reader", "read"), Reply::text("read"), Reply::text("done")]);
    let keys = "tools: Read, Grep, Bash(git *), WebCrawl, Task\ndisallowedTools: bash\n\
                skills: [tidy, missing]\ncolor: red\n";
    write_user_agent(&project, "reader", keys, "Read with care.");
    project.file(".brynhild/skills/tidy/SKILL.md", "---\nname: tidy\ndescription: d\n---\nSweep.");
    let run = project.brynhild(&["chat", "--verbose", "go"]);
    run.success();
    let chats = server.chats();
    assert_eq!(tools(&chats[1]), ["Grep", "Read"]);
    let words = system(&chats[1]);
    assert!(words.contains("Read with care.\n\n# Skill: tidy\n\nSweep."), "{words}");
    for told in ["tools that are not here: WebCrawl", "skills that are not here: missing"] {
        assert!(run.stderr.contains(&format!("note: reader: its file names {told}")), "{run}");
    }
}

#[test]
fn unknown_tool_name_in_an_agent_gets_a_suggestion() {
    let (project, server) = playing([
        task("reader", "read"),
        Reply::text("read"),
        task("reader", "again"),
        Reply::text("again"),
        Reply::text("done"),
    ]);
    let keys = "disallowedTools: [Bsah, write, Agent, mcp__db__drop, Shellac, 'Edit(x)']\n";
    write_user_agent(&project, "reader", keys, "Read with care.");
    let run = project.brynhild(&["chat", "go"]);
    run.success();
    assert!(tools(&server.chats()[1]).contains(&"Bash".to_owned()), "{run}");
    let none = |name: &str| format!("there is no tool `{name}` to exclude with `disallowedTools`");
    for told in [none("Bsah") + " (did you mean `Bash`?)\n", none("Shellac") + "\n"] {
        let told = format!("warning: reader: {told}");
        assert_eq!(run.stderr.matches(&told).count(), 1, "{told} {run}");
    }
    assert_eq!(run.stderr.matches("there is no tool").count(), 2, "{run}");
}

#[test]
fn agent_model_is_resolved() {
    let (project, server) = playing([
        Reply::calls([("Task", input("fast", "a")), ("Task", input("vendor", "b"))]),
        Reply::text("from an agent"),
        Reply::text("from an agent"),
        Reply::text("done"),
    ]);
    project.config_more("models:\n  aliases: {haiku: small-model}\n");
    write_user_agent(&project, "fast", "model: haiku\n", "Be fast.");
    write_user_agent(&project, "vendor", "model: opus\n", "Be thorough.");
    project.brynhild(&["chat", "go"]).success();
    let chats = server.chats();
    let model = |words: &str| {
        let chat = chats.iter().find(|chat| system(chat).contains(words)).unwrap();
        chat.body["model"].as_str().unwrap().to_owned()
    };
    assert_eq!(model("Be fast."), "small-model");
    assert_eq!(model("Be thorough."), "test-model");
    assert_eq!(chats[3].body["model"], "test-model");
}

#[test]
fn unknown_agent_lists_the_known_ones() {
    let (project, server) = playing([task("spy", "look"), Reply::text("ok")]);
    project.brynhild(&["chat", "go"]).success();
    let told = result(&server.chats()[1]);
    assert_eq!(told, "there is no agent spy; available: general-purpose, scout");
}

#[test]
fn parallel_agents_are_reported_in_order() {
    let server = ModelServer::respond_with(|request| {
        let said = messages(request);
        match said.last().unwrap() {
            (role, _) if role == "tool" => Reply::text("both done"),
            (_, prompt) if prompt == "one" || prompt == "two" => {
                Reply::text(format!("did {prompt}")).stall_at(0)
            }
            _ => Reply::calls([
                ("Task", input("general-purpose", "one")),
                ("Task", input("general-purpose", "two")),
            ]),
        }
    });
    let project = project_with(&server);
    let args = ["chat", "go", "--output-format", "stream-json"];
    let running = project.command(&args).stdin("").spawn();
    server.wait_for_stalls(2);
    server.release();
    let run = running.wait();
    run.success();
    let last = server.chats().pop().unwrap();
    let results: Vec<String> =
        messages(&last).into_iter().filter(|(role, _)| role == "tool").map(|it| it.1).collect();
    assert_eq!(results, ["did one", "did two"]);
    let seqs: Vec<u64> =
        run.json_lines().iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(seqs.is_sorted(), "{seqs:?}");
}

#[test]
fn stream_names_the_call_of_nested_events() {
    let call = |id: &str, name: &str, input: &Value| Reply::default().call_as(id, name, input);
    let (project, _server) = playing([
        call("same", "Task", &input("scout", "look")),
        call("same", "Glob", &json!({"pattern": "*"})),
        Reply::text("nothing"),
        Reply::text("done"),
    ]);
    let run = project.brynhild(&["chat", "go", "--output-format", "stream-json"]);
    run.success();
    let events = run.json_lines();
    let (inner, outer): (Vec<&Value>, Vec<&Value>) =
        events.iter().partition(|event| !event["within"].is_null());
    for event in &inner {
        assert_eq!(event["within"], json!({"call": "same", "agent": "scout"}), "{event}");
    }
    let kinds = |events: &[&Value]| -> Vec<String> {
        let kept = events.iter().map(|event| event["type"].as_str().unwrap().to_owned());
        let passing = ["request_sent", "reply_delta", "notice"];
        kept.filter(|kind| !passing.contains(&kind.as_str())).collect()
    };
    let call = ["tool_called", "tool_judged", "tool_finished"];
    let wanted = |first: &[&str], last: &[&str]| -> Vec<String> {
        let all = [first, &["turn_started", "reply_finished"], &call, &["reply_finished"], last];
        all.concat().into_iter().map(str::to_owned).collect()
    };
    assert_eq!(kinds(&inner), wanted(&["configured"], &["turn_finished"]));
    let outer_kinds = wanted(&["session_started", "configured"], &["turn_finished"]);
    assert_eq!(kinds(&outer), outer_kinds);
    let called = inner.iter().find(|event| event["type"] == "tool_called").unwrap();
    assert_ne!(called["call"]["id"], "same", "ids are unique in a session");
}

#[test]
fn agent_actions_are_shown_indented() {
    let (project, _server) = playing([
        task("scout", "look"),
        Reply::text("Hm.").call("Glob", &json!({"pattern": "*.txt"})),
        Reply::text("nothing"),
        Reply::text("done"),
    ]);
    let run = project.brynhild(&["chat", "--verbose", "go"]);
    run.success();
    assert_eq!(run.stdout, "done\n");
    let lines: Vec<&str> = run.stderr.lines().collect();
    let at = |text: &str| {
        lines.iter().position(|line| *line == text).unwrap_or_else(|| panic!("{text}: {run}"))
    };
    assert!(at("  ● Glob(pattern: *.txt)") < at("  ✓ Glob"), "{run}");
    assert!(lines.iter().any(|line| line.starts_with("✓ Task")), "{run}");
}
