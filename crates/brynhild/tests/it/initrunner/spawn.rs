//! Agents in the background of a role.

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Recorded, Reply};

use crate::project_with;

const BOSS: &str = "name: boss\nprompt: You are the boss.\ntools:\n  - type: spawn\n    agents:\n      \
                    - {name: worker, role_file: worker.yaml, description: Works}\n";

fn spawning(model: &ModelServer) -> Project {
    let project = project_with(model);
    project
        .file("role.yaml", BOSS)
        .file("worker.yaml", "name: worker\nprompt: You are the worker.\n");
    project
}

fn is_worker(request: &Recorded) -> bool {
    request.body["messages"][0]["content"] == "You are the worker."
}

/// The results of tools in a request.
fn results(request: &Recorded) -> Vec<String> {
    let messages = request.body["messages"].as_array().unwrap();
    let results = messages.iter().filter(|message| message["role"] == "tool");
    results.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

fn spawn_call() -> Reply {
    Reply::calls([("spawn_agent", json!({"agent_name": "worker", "prompt": "Count."}))])
}

#[test]
fn spawned_agent_gives_its_whole_result() {
    let long = format!("The answer is {}.", "4".repeat(300));
    let answer = long.clone();
    let model = ModelServer::respond_with(move |request| {
        if is_worker(request) {
            return Reply::text(&answer);
        }
        let results = results(request);
        let id = results.first().and_then(|it| it.strip_suffix(": Works")?.rsplit(' ').next());
        match (results.len(), id) {
            (0, _) => spawn_call(),
            (1, Some(id)) => Reply::calls([("await_tasks", json!({"task_ids": [id]}))]),
            (2, _) => Reply::calls([("poll_tasks", json!({}))]),
            _ => Reply::text("Done."),
        }
    });
    let project = spawning(&model);
    assert_eq!(project.brynhild(&["validate", "role.yaml"]).success().stderr, "");
    let run = project.brynhild(&["run", "role.yaml", "-p", "Go."]);
    assert_eq!(run.success().stdout.trim(), "Done.");
    let chats = model.chats();
    let results = results(chats.last().unwrap());
    assert!(results[0].starts_with("Spawned worker as "), "{results:?}");
    assert!(results[1].starts_with("Spawned Tasks:\n  "), "{results:?}");
    assert!(results[1].contains("[worker] completed (") && results[1].ends_with(&long));
    assert!(results[2].ends_with(&format!("-> {}", &long[..200])), "{results:?}");
}

#[test]
fn spawned_agents_end_with_the_session() {
    let model = ModelServer::respond_with(|request| match results(request).len() {
        _ if is_worker(request) => Reply::text("late").stall_at(0),
        0 => spawn_call(),
        _ => Reply::text("I do not wait."),
    });
    let project = spawning(&model);
    let run = project.brynhild(&["run", "role.yaml", "-p", "Go."]);
    assert_eq!(run.success().stdout.trim(), "I do not wait.");
}

#[test]
fn spawn_entry_errors_are_explained() {
    let model = ModelServer::start([]);
    let project = spawning(&model);
    let agents = |agent: &Value| json!([agent]);
    let worker = json!({"name": "worker", "role_file": "worker.yaml"});
    for (entry, wanted) in [
        (
            json!({"type": "spawn", "agents": agents(&json!({"name": "x"}))}),
            "Spawn agent 'x' requires 'role_file' or 'url'",
        ),
        (
            json!({"type": "spawn", "agents": agents(&worker), "max_concurrent": 17}),
            "`max_concurrent` is not a whole number from 1 to 16",
        ),
        (
            json!({"type": "spawn", "agents": agents(&worker), "mode": "inline"}),
            "Unknown keys for tool 'spawn': ['mode']",
        ),
    ] {
        let role = json!({"name": "boss", "prompt": "x", "tools": [entry]});
        project.file("role.yaml", role.to_string());
        let run = project.brynhild(&["validate", "role.yaml"]);
        assert!(run.code(1).stderr.contains(wanted), "{run}");
    }
}
