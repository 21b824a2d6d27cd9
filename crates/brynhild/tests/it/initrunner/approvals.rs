//! The record of runs, and calls that wait for approval after a run has ended.

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use crate::project_with;

const ROLE: &str = "\
name: keeper
prompt: You keep {{what}}.
tools:
  - {type: filesystem, read_only: false, approval: required}
deps_schema:
  properties: {what: {type: string}}
  required: [what]
";

fn call(path: &str) -> Reply {
    Reply::calls([("write_file", json!({"path": path, "content": "kept"}))])
}

fn paused(server: &ModelServer) -> (Project, String) {
    let project = project_with(server);
    project.file("role.yaml", ROLE);
    let run = project.brynhild(&["run", "role.yaml", "--var", "what=notes", "-p", "write a"]);
    run.code(2);
    assert!(run.stderr.contains("paused — 1 tool call(s) awaiting approval."), "{run}");
    let listed = project.brynhild(&["pending", "--json"]);
    let calls: Value = serde_json::from_str(&listed.success().stdout).unwrap();
    assert_eq!(calls[0]["tool_name"], "write_file", "{calls}");
    let id = calls[0]["run_id"].as_str().unwrap().to_owned();
    assert!(run.stderr.contains(&format!("brynhild approve {id} --all")), "{run}");
    (project, id)
}

#[test]
fn approved_call_runs_when_the_run_is_resumed() {
    let server = ModelServer::start([call("a"), call("a"), Reply::text("written")]);
    let (project, id) = paused(&server);
    assert!(!project.path().join("a").exists());
    let resumed = project.brynhild(&["approve", &id, "--all", "--resolved-by", "me"]);
    assert_eq!(resumed.success().stdout, "written\n", "{resumed}");
    assert!(resumed.stderr.contains("Resumed."), "{resumed}");
    assert_eq!(project.read("a"), "kept");
    assert!(server.chats()[1].body["messages"].to_string().contains("Approved: write_file"));
    let again = project.brynhild(&["approve", &id, "--all"]);
    assert!(again.code(1).stderr.contains("are waiting for approval"), "{again}");
    assert_eq!(
        project.brynhild(&["pending"]).success().stdout,
        "No calls are waiting for approval.\n"
    );
}

#[test]
fn other_calls_of_a_resumed_run_pause_it_again() {
    let server = ModelServer::start([call("a"), call("b"), Reply::text("no")]);
    let (project, id) = paused(&server);
    project.brynhild(&["approve", &id, "--all"]).code(2);
    assert!(!project.path().join("b").exists());
    let denied = project.brynhild(&["approve", &id, "--all", "--deny"]);
    assert_eq!(denied.success().stdout, "no\n", "{denied}");
    assert!(!project.path().join("b").exists());
}

#[test]
fn paused_run_in_json_names_its_calls() {
    let server = ModelServer::start([call("a")]);
    let project = project_with(&server);
    project.file("role.yaml", ROLE);
    let run = ["run", "role.yaml", "--var", "what=x", "-p", "write", "-f", "json"];
    let run = project.brynhild(&run);
    let object: Value = serde_json::from_str(&run.code(2).stdout).unwrap();
    assert_eq!(object["status"], "paused", "{object}");
    assert_eq!(object["pending_approvals"][0]["arguments"]["path"], "a", "{object}");
}

#[test]
fn unaudited_run_cannot_wait() {
    let server = ModelServer::start([call("a")]);
    let project = project_with(&server);
    project.file("role.yaml", ROLE);
    let run = project.brynhild(&["run", "role.yaml", "--no-audit", "--var", "what=x", "-p", "w"]);
    assert!(run.code(1).stderr.contains("without `--no-audit`"), "{run}");
    assert_eq!(project.brynhild(&["audit", "export"]).success().stdout, "[]\n");
}

#[test]
fn runs_are_recorded_without_secrets_and_chained() {
    let server = ModelServer::start([Reply::text("it is sk-secret-secret")]).repeat_last();
    let project = project_with(&server);
    project.file("role.yaml", "name: clerk\nprompt: You write.\n");
    let first = project.command(&["run", "role.yaml", "-p", "use sk-secret-secret"]);
    first.env("MY_API_KEY", "sk-secret-secret").run().success();
    project.brynhild(&["run", "role.yaml", "-p", "second"]).success();
    let exported = project.brynhild(&["audit", "export", "--agent", "clerk"]);
    let runs: Value = serde_json::from_str(&exported.success().stdout).unwrap();
    assert_eq!(runs[0]["user_prompt"], "second", "{runs}");
    assert_eq!(runs[1]["user_prompt"], "use [REDACTED]", "{runs}");
    assert_eq!((&runs[1]["output"], &runs[1]["success"]), (&"it is [REDACTED]".into(), &1.into()));
    assert_eq!(runs[0]["prev_hash"], runs[1]["record_hash"], "{runs}");
    let verified = project.brynhild(&["audit", "verify"]);
    assert!(verified.success().stdout.contains("2 runs, none changed"), "{verified}");
    let table = project.brynhild(&["audit", "export", "-f", "csv", "-o", "runs.csv"]);
    assert_eq!(table.success().stdout, "Exported 2 runs to runs.csv.\n");
    assert!(project.read("runs.csv").starts_with("run_id,agent_name,timestamp,user_prompt,"));
    let pruned = project.brynhild(&["audit", "prune", "--days", "0"]);
    assert_eq!(pruned.success().stdout, "Removed 2 runs.\n", "{pruned}");
}
