//! Flows and teams: shared stores, loops, ensembles, limits and the envelope.

use serde_json::json;
use testkit::{ModelServer, Recorded, Reply};

use crate::project_with;

fn system(request: &Recorded) -> &str {
    request.body["messages"][0]["content"].as_str().unwrap()
}

#[test]
fn team_members_share_memory_and_documents() {
    let model = ModelServer::start([
        Reply::calls([("remember", json!({"content": "The tide turns at six"}))]),
        Reply::text("Noted."),
        Reply::calls([
            ("recall", json!({"query": "tide"})),
            ("search_documents", json!({"query": "harbor"})),
        ]),
        Reply::text("Done."),
    ]);
    let project = project_with(&model);
    project
        .file("docs/a.md", "The harbor opens at nine.")
        .file("roles/reader.yaml", "name: reader\nprompt: Reader.\n")
        .file(
            "team.yaml",
            "name: desk\nrun: sequential\nshared_memory: {enabled: true}\nshared_documents: \
             {enabled: true, sources: ['docs/*.md']}\nagents:\n  writer: Writer.\n  reader: {use: \
             roles/reader.yaml}\n",
        );
    assert_eq!(project.brynhild(&["validate", "team.yaml"]).success().stderr, "");
    let run = project.brynhild(&["run", "team.yaml", "-p", "x"]);
    assert_eq!(run.success().stdout.trim(), "Done.");
    let last = &model.chats()[3].text;
    assert!(last.contains("The tide turns at six"), "{last}");
    assert!(last.contains("[Source: docs/a.md | Score: 1.000]"), "{last}");
    assert!(project.home().join(".initrunner/memory/desk-shared.db").is_file());
    assert!(project.home().join(".initrunner/stores/desk-shared.db").is_file());
}

#[test]
fn flow_loops_back_until_the_output_fits() {
    let mut critiques = vec!["It is fine", "It is bad"];
    let model = ModelServer::respond_with(move |request| match system(request) {
        "Critic." => Reply::text(critiques.pop().unwrap_or("too often")),
        _ => Reply::text("A draft"),
    });
    let project = project_with(&model);
    project.file(
        "flow.yaml",
        "name: loop\nagents:\n  writer:\n    prompt: Writer.\n    then:\n      to: critic\n      \
         loop_back: {target: writer, max_iterations: 5, until: {output: 'contains:FINE'}}\n  \
         critic: Critic.\n",
    );
    let run = project.brynhild(&["run", "flow.yaml", "-p", "x"]);
    assert_eq!(run.success().stdout.trim(), "It is fine");
    let chats = model.chats();
    let order: Vec<&str> = chats.iter().map(system).collect();
    assert_eq!(order, ["Writer.", "Critic.", "Writer.", "Critic."]);
}

#[test]
fn flow_ensemble_hands_on_the_winner() {
    let model = ModelServer::respond_with(|request| match system(request) {
        "One." | "Three." => Reply::text("yes"),
        "Two." => Reply::text("no"),
        _ => Reply::text("a question"),
    });
    let project = project_with(&model);
    project.file(
        "flow.yaml",
        "name: vote\nagents:\n  start:\n    prompt: Start.\n    then: {to: [one, two, three], \
         strategy: ensemble, ensemble: {mode: majority}}\n  one: One.\n  two: Two.\n  three: \
         Three.\n",
    );
    let run = project.brynhild(&["run", "flow.yaml", "-p", "x"]);
    assert_eq!(run.success().stdout.trim(), "yes");
    assert_eq!(model.chats().len(), 4);
}

#[test]
fn team_timeout_ends_the_team() {
    let model = ModelServer::respond_with(|_| Reply::text("late").stall_at(0));
    let project = project_with(&model);
    project.file(
        "team.yaml",
        "name: slow\nrun: sequential\nguardrails: {team_timeout_seconds: 1}\nagents: {a: A., b: \
         B.}\n",
    );
    let run = project.brynhild(&["run", "team.yaml", "-p", "x"]);
    assert!(run.code(1).stderr.contains("Team timeout exceeded"), "{run}");
    assert_eq!(model.chats().len(), 1);
}

#[test]
fn enveloped_flow_runs_its_agents() {
    let model = ModelServer::respond_with(|request| match system(request) {
        "First." => Reply::text("half"),
        _ => Reply::text("whole"),
    });
    let project = project_with(&model);
    project
        .file("a.yaml", "name: aa\nprompt: First.\n")
        .file("b.yaml", "name: bb\nprompt: Second.\n")
        .file(
            "flow.yaml",
            "apiVersion: initrunner/v1\nkind: Flow\nmetadata: {name: both}\nspec:\n  agents:\n    \
             a: {role: a.yaml, sink: {type: delegate, target: b}}\n    b: {role: b.yaml}\n",
        );
    assert_eq!(project.brynhild(&["validate", "flow.yaml"]).success().stderr, "");
    let run = project.brynhild(&["run", "flow.yaml", "-p", "x"]);
    assert_eq!(run.success().stdout.trim(), "whole");
    assert!(model.chats()[1].text.contains("half"));
}
