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

const DURABLE: &str = "name: press\ndurability: {enabled: true, backend: journal}\nagents:\n  \
                       writer: {prompt: Writer., then: printer}\n  printer: Printer.\n";

/// The command that a failed run prints to resume it.
fn resume_command(stderr: &str) -> Vec<&str> {
    let start = stderr.find("`brynhild flow resume ").expect("a hint") + "`brynhild ".len();
    stderr[start..].split('`').next().unwrap().split(' ').collect()
}

#[test]
fn durable_flow_resumes_after_its_finished_agents() {
    let mut is_broken = true;
    let model = ModelServer::respond_with(move |request| match system(request) {
        "Printer." if std::mem::take(&mut is_broken) => Reply::failure(401),
        "Printer." => Reply::text("Printed"),
        _ => Reply::text("A draft"),
    });
    let project = project_with(&model);
    project.file("flow.yaml", DURABLE);
    assert_eq!(project.brynhild(&["flow", "validate", "flow.yaml"]).success().stderr, "");
    let run = project.brynhild(&["run", "flow.yaml", "-p", "Write"]);
    let command = resume_command(&run.code(1).stderr);
    let resumed = project.brynhild(&command);
    assert_eq!(resumed.success().stdout.trim(), "Printed");
    assert!(!resumed.stderr.contains("OK writer"), "{resumed}");
    let order: Vec<String> = model.chats().iter().map(|it| system(it).to_owned()).collect();
    assert_eq!(order, ["Writer.", "Printer.", "Printer."]);
    assert!(model.chats()[2].text.contains("A draft"));
    let again = project.brynhild(&command);
    assert!(again.code(1).stderr.contains("there is no flow run "), "{again}");
    let rows = project.brynhild(&["audit", "export", "--trigger-type", "flow_run"]).json();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert_eq!((&rows[0]["success"], &rows[1]["success"]), (&json!(1), &json!(0)));
    assert_eq!((&rows[0]["user_prompt"], &rows[0]["output"]), (&json!("Write"), &json!("Printed")));
    project.brynhild(&["audit", "verify"]).success();
}

#[test]
fn resumed_flow_with_another_prompt_begins_anew() {
    let mut failures = 1;
    let model = ModelServer::respond_with(move |request| match system(request) {
        "Printer." if failures > 0 => {
            failures -= 1;
            Reply::failure(401)
        }
        who => Reply::text(format!("from {who}")),
    });
    let project = project_with(&model);
    project.file("flow.yaml", DURABLE).file("role.yaml", "name: a\nprompt: A.\n");
    let run = project.brynhild(&["run", "flow.yaml", "-p", "Write"]);
    let mut command = resume_command(&run.code(1).stderr);
    command.extend(["-p", "Draw"]);
    project.brynhild(&command).success();
    let writer = model.chats().into_iter().filter(|it| system(it) == "Writer.").collect::<Vec<_>>();
    assert_eq!(writer.len(), 2);
    assert!(writer[1].text.contains("Draw"));
    let run = project.brynhild(&["run", "flow.yaml", "--no-audit", "-p", "Write"]);
    assert!(run.code(2).stderr.contains("press is durable, which needs the record"), "{run}");
    let run = project.brynhild(&["flow", "resume", "role.yaml", "abc"]);
    assert!(run.code(2).stderr.contains("role.yaml is not a flow"), "{run}");
}

#[test]
fn verdicts_of_a_judge_are_recorded() {
    let verdict = json!({"results": [{"criterion": "short", "passed": true, "reason": "yes"}]});
    let model = ModelServer::respond_with(move |request| match system(request) {
        "One." => Reply::text("1"),
        "Two." => Reply::text("2"),
        _ => Reply::text(verdict.to_string()),
    });
    let project = project_with(&model);
    project.file(
        "team.yaml",
        "name: jury\nrun: ensemble\nensemble: {mode: judge, judge_criteria: [short]}\nagents: \
         {one: One., two: Two.}\n",
    );
    project.brynhild(&["run", "team.yaml", "-p", "Count"]).success();
    let rows = project.brynhild(&["audit", "export", "--trigger-type", "ensemble_vote"]).json();
    let verdicts = rows[0]["judge_verdicts"].as_str().unwrap();
    assert_eq!(verdicts.matches(r#""reason":"yes""#).count(), 2, "{rows}");
    assert_eq!(rows[0]["output"], "1");
    let total = project.brynhild(&["audit", "export", "--trigger-type", "team_run"]).json();
    assert_eq!((&total[0]["output"], &total[0]["run_id"]), (&json!("1"), &rows[0]["run_id"]));
}
