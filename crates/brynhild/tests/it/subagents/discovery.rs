//! The directories of agents, and their trust.

use std::fs;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use super::{messages, offered, playing, result, system, task, tools, write_user_agent};
use crate::{project, project_with};

fn listed(project: &Project) -> Vec<(String, String)> {
    let list = project.brynhild(&["agents", "list", "--json"]).json();
    let text = |agent: &Value, key: &str| agent[key].as_str().unwrap().to_owned();
    let agents = list.as_array().unwrap().iter();
    agents.map(|agent| (text(agent, "name"), text(agent, "source"))).collect()
}

fn agent(description: &str) -> String {
    format!("---\ndescription: {description}\n---\nDo it.\n")
}

/// A project with agents from every place.
fn full() -> Project {
    let project = project();
    project.file(".brynhild/agents/mine.md", agent("the project's"));
    project.file(".claude/agents/other.md", agent("the project's too"));
    project.file(".claude/agents/mine.md", agent("hidden by the one above"));
    write_user_agent(&project, "other", "", "hidden by the project's");
    write_user_agent(&project, "scout", "isolation: worktree\n", "Look.");
    let home = |path: &str, text: &str| {
        let path = project.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    home(".claude/agents/known.md", &agent("from elsewhere"));
    home(".config/brynhild/plugins/kit/.claude-plugin/plugin.json", r#"{"name": "kit"}"#);
    home(".config/brynhild/plugins/kit/agents/helper.md", &agent("a plugin's"));
    home(
        ".config/brynhild/agents/clerk.yaml",
        "name: clerk\ndescription: writes\nprompt: Write.\n",
    );
    home(".config/brynhild/agents/broken.md", "no keys at all");
    project
}

#[test]
fn agents_are_found_and_project_agents_need_trust() {
    let project = full();
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    };
    let rest = [("known", "user"), ("kit:helper", "plugin:kit"), ("clerk", "role")];
    let before =
        [&[("general-purpose", "builtin"), ("other", "user"), ("scout", "user")], &rest[..]];
    assert_eq!(listed(&project), pairs(&before.concat()));
    let told = project.brynhild(&["agents", "list"]);
    assert!(told.stderr.contains("broken.md") && told.stderr.contains("description"), "{told}");
    assert!(told.stdout.contains("(without effect: isolation)"), "{told}");
    project.brynhild(&["trust", "--yes"]).success();
    let first = [("general-purpose", "builtin"), ("mine", "project"), ("other", "project")];
    let after = [&first[..], &[("scout", "user")], &rest[..]].concat();
    assert_eq!(listed(&project), pairs(&after));
    assert_eq!(listed_safely(&project), ["general-purpose"]);
}

fn listed_safely(project: &Project) -> Vec<String> {
    let list = project.brynhild(&["agents", "list", "--json", "--safe"]).json();
    let agents = list.as_array().unwrap().iter();
    agents.map(|agent| agent["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn untrusted_project_agents_are_reported_and_not_offered() {
    let (project, server) = playing([Reply::text("hi"), Reply::text("hi")]);
    project.file(".claude/agents/evil.md", agent("evil"));
    let run = project.brynhild(&["chat", "go"]);
    run.success();
    assert!(run.stderr.contains(".claude/agents/evil.md"), "{run}");
    assert!(!offered(&server.chats()[0]).contains("evil"));
    project.brynhild(&["trust", "--yes"]).success();
    project.brynhild(&["chat", "go"]).success();
    assert!(offered(&server.chats()[1]).contains("- evil: evil"));
}

#[test]
fn plugin_agent_is_prefixed_and_gets_no_grants() {
    let (project, server) = playing([task("kit:helper", "go"), Reply::text("a"), Reply::text("b")]);
    let root = project.config_directory().join("plugins/kit");
    fs::create_dir_all(root.join("agents")).unwrap();
    let text = "---\nname: helper\ndescription: helps\ntools: [Read]\npermissionMode: \
                bypassPermissions\n---\nHelp.";
    fs::write(root.join("agents/helper.md"), text).unwrap();
    project.brynhild(&["chat", "go"]).success();
    let chats = server.chats();
    assert!(system(&chats[1]).starts_with("Help."));
    assert_eq!(tools(&chats[1]), ["Read"]);
}

#[test]
fn role_agent_has_its_prompt_model_tools_and_limits() {
    let server = ModelServer::start([
        task("clerk", "write it"),
        Reply::calls([("missing", json!({}))]),
        Reply::calls([("missing", json!({}))]),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    let directory = project.config_directory().join("agents");
    fs::create_dir_all(&directory).unwrap();
    let role = "name: clerk\ndescription: Writes letters.\nprompt: You write letters.\nmodel: \
                {name: letter-model, temperature: 0.3}\nguardrails: {max_request_limit: 2}\n";
    fs::write(directory.join("clerk.yaml"), role).unwrap();
    project.brynhild(&["chat", "go"]).success();
    let chats = server.chats();
    assert!(offered(&chats[0]).contains("- clerk: Writes letters."));
    assert!(system(&chats[1]).starts_with("You write letters."), "{}", system(&chats[1]));
    assert_eq!(chats[1].body["model"], "letter-model");
    assert_eq!(chats[1].body["temperature"], 0.3);
    assert_eq!(messages(&chats[1])[1].1, "write it");
    assert!(tools(&chats[1]).is_empty());
    assert!(result(&chats[3]).contains("the agent clerk was stopped: a limit was reached"));
    assert_eq!(chats[3].body["model"], "test-model");
}

#[test]
fn changed_agent_applies_to_the_next_turn() {
    let server = ModelServer::start([Reply::text("one"), Reply::text("two")]);
    let project = project_with(&server);
    let mut running = project.command(&["--plain"]).spawn();
    running.send("first\n");
    server.wait_for_requests(1);
    running.wait_for_stdout("one");
    write_user_agent(&project, "late", "", "Late.");
    running.send("second\n");
    running.close_stdin();
    running.wait().success();
    let chats = server.chats();
    assert!(!offered(&chats[0]).contains("- late:"));
    assert!(offered(&chats[1]).contains("- late: Looks at late."), "{}", offered(&chats[1]));
}
