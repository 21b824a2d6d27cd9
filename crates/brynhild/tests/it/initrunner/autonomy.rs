//! `run -a`: roles that work on by themselves.

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use crate::project_with;

pub(super) fn with_role(model: &ModelServer, more: &str) -> Project {
    let project = project_with(model);
    project.file("role.yaml", format!("name: worker\nprompt: You work.\n{more}"));
    project
}

fn add(text: &str) -> Reply {
    Reply::calls([("add_todo", json!({"description": text}))])
}

fn finish(summary: &str, status: &str) -> Reply {
    Reply::calls([("finish_task", json!({"summary": summary, "status": status}))])
}

#[test]
fn role_works_until_finish_task() {
    let model = ModelServer::start([
        add("look").usage(100, 10),
        Reply::text("Planned.").usage(100, 10),
        finish("Looked.", "completed").usage(100, 10),
        Reply::text("All is well.").usage(100, 10),
    ]);
    let project = with_role(&model, "tools: [todo]\nautonomy: {}\nmemory: {}\n");
    project.brynhild(&["validate", "role.yaml"]).success();
    let run = project.brynhild(&["run", "role.yaml", "-a", "-p", "look around"]);
    assert_eq!(run.success().stdout, "All is well.\n", "{run}");
    let wanted = "Status: completed | Iterations: 2/10 | Tokens: 440\nSummary: Looked.\n";
    assert!(run.stderr.starts_with(wanted), "{run}");
    let third = model.chats()[2].body["messages"].clone();
    let prompt = third[5]["content"].as_str().unwrap();
    assert!(prompt.contains("CURRENT STATUS:\nTodo List:\n  [ ] "), "{prompt}");
    assert!(prompt.ends_with("BUDGET:\n- Iteration: 2/10 (20%)"), "{prompt}");
    assert_eq!(third[4]["content"], "Planned.", "the history goes on");
    let list = project.brynhild(&["memory", "list", "role.yaml", "--json"]).success().json();
    assert_eq!(
        (&list[0]["content"], &list[0]["category"]),
        (&json!("Looked."), &json!("autonomous_run"))
    );
    assert!(project.brynhild(&["session", "list"]).success().stdout.contains("look around"));
}

#[test]
fn summary_is_consolidated_after_the_run() {
    let model = ModelServer::start([
        finish("The server is in Oslo.", "completed"),
        Reply::text("Done."),
        Reply::text("servers: the server is in Oslo"),
    ]);
    let memory = "memory: {consolidation: {interval: after_autonomous}}\n";
    let project = with_role(&model, memory);
    project.brynhild(&["run", "role.yaml", "-a", "-p", "find it"]).success();
    let list = project.brynhild(&["memory", "list", "role.yaml", "--type", "semantic", "--json"]);
    assert_eq!(list.success().json()[0]["content"], "the server is in Oslo");
}

#[test]
fn status_decides_the_exit_code() {
    let text = || Reply::text("Hm.");
    for (more, args, replies, status, code) in [
        ("", vec![], vec![text(), text()], "blocked", 1),
        ("", vec![], vec![finish("No.", "failed"), text()], "failed", 1),
        ("", vec!["--max-iterations", "1"], vec![text()], "max_iterations", 0),
        ("guardrails: {autonomous_token_budget: 5}\n", vec![], vec![text()], "budget_exceeded", 5),
        ("guardrails: {max_tool_calls: 0}\n", vec![], vec![finish("x", "")], "error", 5),
    ] {
        let model = ModelServer::start(replies);
        let project = with_role(&model, more);
        let args = [&["run", "role.yaml", "-a", "-f", "json", "-p", "go"][..], &args].concat();
        let run = project.brynhild(&args);
        let object: Value = run.code(code).json();
        assert_eq!(object["status"], status, "{run}");
        assert_eq!(object["success"], status == "max_iterations", "{run}");
    }
}

#[test]
fn dry_run_ends_blocked_and_asks_no_model() {
    let model = ModelServer::start([]);
    let project = with_role(&model, "");
    let run = project.brynhild(&["run", "role.yaml", "-a", "--dry-run", "-p", "go"]);
    assert_eq!(run.code(1).stdout, "[dry-run] Simulated response.\n", "{run}");
    let wanted = "Status: blocked | Iterations: 2/10 | Tokens: 0\n\
                  Summary: Stopped: no tool calls for 2 consecutive iterations.\n";
    assert_eq!(run.stderr, wanted);
}

#[test]
fn autonomous_flags_are_checked() {
    let project = crate::project();
    project.file("role.yaml", "name: worker\nprompt: You work.\n");
    for args in [
        &["run", "role.yaml", "-a", "-i", "-p", "go"][..],
        &["run", "role.yaml", "--max-iterations", "3", "-p", "go"],
        &["run", "role.yaml", "-a", "--max-iterations", "0", "-p", "go"],
    ] {
        project.brynhild(args).code(2);
    }
    for (more, wanted) in [
        ("autonomy: []", "error: PROJECT/role.yaml: autonomy: it is not a mapping"),
        (
            "autonomy: {max_no_tool_call_iterations: 0}",
            "autonomy.max_no_tool_call_iterations: it is",
        ),
        (
            "guardrails: {max_iterations: none}",
            "guardrails.max_iterations: it is not a whole number",
        ),
    ] {
        project.file("role.yaml", format!("name: worker\nprompt: You work.\n{more}\n"));
        let run = project.brynhild(&["validate", "role.yaml"]);
        let wanted = wanted.trim_start_matches("error: PROJECT/role.yaml: ");
        assert!(run.code(1).stderr.contains(wanted), "{run}");
    }
}

#[test]
fn plan_is_made_before_it_is_executed() {
    let items = json!({"items": [{"description": "look"}]});
    let model = ModelServer::start([
        Reply::calls([("batch_add_todos", items), ("finalize_plan", json!({}))]),
        Reply::text("Planned."),
        finish("Looked.", "completed"),
        Reply::text("All is well."),
    ]);
    let project = with_role(&model, "tools: [todo]\nreasoning: {pattern: plan_execute}\n");
    assert_eq!(project.brynhild(&["validate", "role.yaml"]).success().stderr, "");
    let run = project.brynhild(&["run", "role.yaml", "-a", "-p", "look around"]);
    assert_eq!(run.success().stdout, "All is well.\n", "{run}");
    let chats = model.chats();
    let prompt = chats[0].body["messages"][1]["content"].as_str().unwrap();
    assert!(prompt.starts_with("PHASE 1 - PLANNING\n"), "{prompt}");
    assert!(chats[1].body.to_string().contains("Plan finalized. Switching to execution phase."));
    assert!(chats[2].body.to_string().contains("PHASE 2 - EXECUTION"), "{}", chats[2].body);
}

#[test]
fn judge_checks_the_summary_before_a_reflection() {
    let model = ModelServer::start([
        finish("Long.", ""),
        Reply::text("It is long."),
        Reply::text(
            r#"{"results": [{"criterion": "short", "passed": false, "reason": "5 letters"}]}"#,
        ),
        finish("It.", ""),
        Reply::text("It."),
    ]);
    let reasoning = "reasoning: {reflection_rounds: 1, success_criteria: [short]}\n";
    let project = with_role(&model, reasoning);
    let run = project.brynhild(&["run", "role.yaml", "-a", "-p", "say it"]);
    assert_eq!(run.success().stdout, "It.\n", "{run}");
    assert!(run.stderr.contains("Iterations: 2/10"), "{run}");
    assert!(run.stderr.contains("Summary: It.\n"), "{run}");
    let chats = model.chats();
    assert!(
        chats[2].body.to_string().contains("Judge an answer by each criterion"),
        "{}",
        chats[2].body
    );
    let prompt = chats[3].body.to_string();
    assert!(prompt.contains("REFLECTION (1/1) -- correctness:"), "{prompt}");
    assert!(prompt.contains("- short: 5 letters"), "{prompt}");
}

#[test]
fn history_is_summarized_between_iterations() {
    let model = ModelServer::start([
        add("look"),
        Reply::text("Planned."),
        Reply::text("The user wants a look around."),
        finish("Looked.", "completed"),
        Reply::text("All is well."),
    ]);
    let autonomy = "autonomy: {compaction: {enabled: true, threshold: 4}}\n";
    let project = with_role(&model, &format!("tools: [todo]\n{autonomy}"));
    assert_eq!(project.brynhild(&["validate", "role.yaml"]).success().stderr, "");
    project.brynhild(&["run", "role.yaml", "-a", "-p", "look around"]).success();
    let history = model.chats()[3].body["messages"].to_string();
    assert!(history.contains("The user wants a look around."), "{history}");
    assert!(!history.contains("add_todo"), "{history}");
}

#[test]
fn role_chooses_how_its_history_is_summarized() {
    let model = ModelServer::start([
        add("look"),
        Reply::text("Planned."),
        add("look again"),
        Reply::text("Planned again."),
        Reply::text("Two plans."),
        finish("Looked.", "completed"),
        Reply::text("All is well."),
    ]);
    let compaction = "{enabled: true, threshold: 8, tail_messages: 1, model_override: small, \
                      summary_prefix: 'SO FAR: '}";
    let role = format!("tools: [todo]\nautonomy: {{compaction: {compaction}}}\n");
    let project = with_role(&model, &role);
    assert_eq!(project.brynhild(&["validate", "role.yaml"]).success().stderr, "");
    project.brynhild(&["run", "role.yaml", "-a", "-p", "look around"]).success();
    let chats = model.chats();
    let asked = chats.iter().map(|chat| chat.body["model"] == "small");
    assert_eq!(asked.collect::<Vec<_>>(), [false, false, false, false, true, false, false]);
    let history = chats[5].body["messages"].to_string();
    assert!(history.contains("Summary:\\nSO FAR: Two plans."), "{history}");
    assert!(history.contains("Planned again."), "{history}");
    assert!(!history.contains("Planned.\""), "{history}");
}

#[test]
fn autonomous_run_pauses_at_a_call_that_needs_approval() {
    let write = || Reply::calls([("write_file", json!({"path": "a", "content": "kept"}))]);
    let model = ModelServer::start([
        write(),
        write(),
        Reply::text("Written."),
        finish("It is written.", "completed"),
        Reply::text("Done."),
    ]);
    let tools = "tools: [{type: filesystem, read_only: false, approval: required}]\n";
    let project = with_role(&model, tools);
    let run = project.brynhild(&["run", "role.yaml", "-a", "-p", "write a"]);
    assert!(run.code(2).stderr.contains("Status: paused | Iterations: 1/10"), "{run}");
    assert!(run.stderr.contains("paused — 1 tool call(s) awaiting approval."), "{run}");
    let listed = project.brynhild(&["pending", "--json"]).success().json();
    let id = listed[0]["run_id"].as_str().unwrap();
    let resumed = project.brynhild(&["approve", id, "--all"]);
    assert_eq!(resumed.success().stdout, "Done.\n", "{resumed}");
    assert!(resumed.stderr.contains("Status: completed | Iterations: 2/10"), "{resumed}");
    assert_eq!(project.read("a"), "kept");
}
