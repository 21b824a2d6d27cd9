//! Documents of several agents: teams, flows and groups.

use serde_json::json;
use testkit::{ModelServer, Recorded, Reply, Run};

use crate::{project, project_with};

/// Answers with the system prompt and a sign of earlier outputs in the prompt.
fn named(request: &Recorded) -> Reply {
    let text = |place: usize| request.body["messages"][place]["content"].as_str().unwrap_or("");
    let own = text(0).trim_end_matches('.');
    let seen = if text(1).contains("<prior-agent-output>") { " after reading" } else { "" };
    Reply::text(format!("{own} answers{seen}"))
}

fn statuses(run: &Run) -> Vec<String> {
    let is_status = |line: &&str| line.starts_with("OK ") || line.starts_with("FAIL ");
    let lines = run.stderr.lines().filter(is_status);
    lines.map(|line| line.split("  ").next().unwrap().to_owned()).collect()
}

const TEAM: &str = "\
name: desk
description: A news desk
tools: [datetime]
agents:
  writer: Writer.
  editor: {use: roles/editor.yaml, tools: [calculator]}
run: sequential
";
const EDITOR: &str = "name: ed\ndescription: Edits\nprompt: Editor.\n";

#[test]
fn validate_reports_members_and_findings() {
    let project = project();
    project.file("team.yaml", TEAM).file("roles/editor.yaml", EDITOR);
    let valid = project.brynhild(&["validate", "team.yaml"]);
    let shown = valid.success().stdout.replace(&project.path().display().to_string(), "PROJECT");
    insta::assert_snapshot!(shown, @r"
    Valid        PROJECT/team.yaml
    name         desk
    description  A news desk
    kind         Team (sequential)
    agents       writer: datetime
                 editor: datetime, calculator
    ");
    let data = project.brynhild(&["validate", "team.yaml", "--json"]).json();
    assert_eq!(
        (&data["kind"], &data["agents"][1]["role"]),
        (&json!("Team (sequential)"), &json!("ed"))
    );
    project.file("team.yaml", TEAM.replace("calculator", "{type: calculator, odd: 1}"));
    let wrong = project.brynhild(&["validate", "team.yaml"]);
    let said = "agents.editor.tools[1]: Unknown keys for tool 'calculator': ['odd']";
    assert!(wrong.code(1).stderr.contains(said), "{wrong}");
    project.file("team.yaml", TEAM.replace("use: roles/editor.yaml, ", ""));
    let wrong = project.brynhild(&["run", "team.yaml", "-p", "x"]);
    assert!(wrong.code(2).stderr.contains("child needs 'prompt' or 'use'"), "{wrong}");
}

#[test]
fn sequential_team_hands_outputs_on() {
    let model = ModelServer::respond_with(named);
    let project = project_with(&model);
    project.file("team.yaml", TEAM).file("roles/editor.yaml", EDITOR);
    let run = project.brynhild(&["run", "team.yaml", "-p", "News?"]);
    assert_eq!(run.success().stdout, "Editor answers after reading\n");
    assert_eq!(statuses(&run), ["OK writer", "OK editor"]);
    let runs = project.brynhild(&["audit", "export", "--trigger-type", "team"]).json();
    let agents = [&runs[1]["agent_name"], &runs[0]["agent_name"]];
    assert_eq!(agents, ["writer", "ed"], "{runs}");
    let chats = model.chats();
    let tools = chats[1].body["tools"].to_string();
    assert!(tools.contains("current_time") && tools.contains("calculate"), "{tools}");
    let data = project.brynhild(&["run", "team.yaml", "-p", "News?", "-f", "json"]).json();
    assert_eq!(data["output"], "Editor answers after reading");
    assert_eq!((&data["success"], &data["members"][0]["name"]), (&json!(true), &json!("writer")));
}

#[test]
fn debate_and_judged_ensemble_end_with_one_answer() {
    let model = ModelServer::respond_with(|request| {
        if request.text.contains("Combine the positions") {
            return Reply::text("both agree");
        }
        if request.text.contains("Judge an answer") {
            let passed = request.text.contains("Editor answers");
            return Reply::text(json!({"results": [{"passed": passed}]}).to_string());
        }
        named(request)
    });
    let project = project_with(&model);
    project.file("roles/editor.yaml", EDITOR);
    project.file("team.yaml", TEAM.replace("sequential", "debate\ndebate: {max_rounds: 2}"));
    let run = project.brynhild(&["run", "team.yaml", "-p", "News?"]);
    assert_eq!(run.success().stdout, "both agree\n");
    assert_eq!(statuses(&run).len(), 5, "{run}");
    project.file("team.yaml", TEAM.replace("sequential", "ensemble\nensemble: {mode: judge}"));
    let run = project.brynhild(&["run", "team.yaml", "-p", "News?"]);
    assert_eq!(run.success().stdout, "Editor answers\n");
}

#[test]
fn failed_team_has_exit_code_1() {
    let model = ModelServer::respond_with(|request| {
        if request.text.contains("Editor.") {
            Reply::text("no").status(400)
        } else {
            named(request)
        }
    });
    let project = project_with(&model);
    project.file("team.yaml", TEAM).file("roles/editor.yaml", EDITOR);
    let run = project.brynhild(&["run", "team.yaml", "-p", "News?"]);
    assert_eq!(run.code(1).stdout, "");
    assert_eq!(statuses(&run), ["OK writer", "FAIL editor"]);
    assert!(run.stderr.contains("error: Persona 'editor' failed: "), "{run}");
    project.file("team.yaml", format!("{TEAM}guardrails: {{team_token_budget: 1}}\n"));
    let run = project.brynhild(&["run", "team.yaml", "-p", "News?"]);
    assert!(run.code(1).stderr.contains("Team token budget exceeded: "), "{run}");
    for (flag, text) in [("-i", "--interactive"), ("--var=a=b", "--var")] {
        let run = project.brynhild(&["run", "team.yaml", "-p", "x", flag]);
        let said = format!("error: {text} not supported for Team targets.");
        assert!(run.code(1).stderr.contains(&said), "{run}");
    }
    let run = project.brynhild(&["run", "team.yaml"]);
    assert!(run.code(2).stderr.contains("Team mode requires --prompt (-p)."), "{run}");
}

#[test]
fn interrupt_stops_all_members() {
    let model = ModelServer::respond_with(|_| Reply::text("late").withhold());
    let project = project_with(&model);
    project.file("roles/editor.yaml", EDITOR);
    for (strategy, begun) in [("parallel", 2), ("sequential", 3)] {
        project.file("team.yaml", TEAM.replace("sequential", strategy));
        let running = project.command(&["run", "team.yaml", "-p", "News?"]).stdin("").spawn();
        model.wait_for_stalls(begun);
        running.interrupt();
        running.wait().code(130);
        assert_eq!(model.chats().len(), begun, "{strategy}");
    }
}

#[test]
fn environment_belongs_to_its_member_alone() {
    let model = ModelServer::respond_with(named);
    let project = project_with(&model);
    let role = "name: mood\nprompt: I am {{mood}}.\n\
                deps_schema: {properties: {mood: {type: string, default: calm}}}\n";
    let glad = "{use: mood.yaml, environment: {INITRUNNER_VAR_MOOD: glad}}";
    let team =
        format!("name: moods\nrun: sequential\nagents:\n  a: {glad}\n  b: {{use: mood.yaml}}\n");
    project.file("mood.yaml", role).file("team.yaml", team);
    let data = project.brynhild(&["run", "team.yaml", "-p", "x", "--json"]).json();
    assert_eq!(data["members"][0]["output"], "I am glad answers", "{data}");
    assert_eq!(data["members"][1]["output"], "I am calm answers after reading", "{data}");
}

const FLOW: &str = "\
name: desk
agents:
  triage: {prompt: Triage., then: {to: [billing, support], strategy: keyword}}
  billing: {use: roles/billing.yaml, then: reply}
  support: {prompt: Support., then: reply}
  reply: Reply.
";
const BILLING: &str =
    "name: money\ndescription: Sends invoices\ntags: [refund]\nprompt: Billing.\n";

#[test]
fn flow_runs_the_chosen_way() {
    let model = ModelServer::respond_with(|request| {
        let text = |place: usize| request.body["messages"][place]["content"].clone();
        let (own, prompt) = (text(0).to_string(), text(1).as_str().unwrap().to_owned());
        Reply::text(if own.contains("Triage") { String::from("a refund") } else { prompt + "!" })
    });
    let project = project_with(&model);
    project.file("flow.yaml", FLOW).file("roles/billing.yaml", BILLING);
    let run = project.brynhild(&["run", "flow.yaml", "-p", "Hello"]);
    assert_eq!(run.success().stdout, "a refund!!\n");
    assert_eq!(statuses(&run), ["OK triage", "OK billing", "OK reply"]);
    let text = FLOW.replace("reply: Reply.", "reply: {prompt: R., then: triage}");
    project.file("flow.yaml", text);
    let run = project.brynhild(&["run", "flow.yaml", "-p", "Hello"]);
    assert!(run.code(2).stderr.contains("wait for each other"), "{run}");
}

#[test]
fn group_runs_the_agent_that_is_chosen() {
    let model = ModelServer::respond_with(|request| {
        if request.text.contains("Choose the agent") {
            Reply::text("editor")
        } else {
            named(request)
        }
    });
    let project = project_with(&model);
    project
        .file("roles/editor.yaml", EDITOR)
        .file("roles/billing.yaml", BILLING)
        .file("group.yaml", "name: all\nagents:\n  editor: {use: roles/editor.yaml}\n  money: {use: roles/billing.yaml}\n");
    let run = project.brynhild(&["run", "group.yaml", "-p", "x"]);
    assert_eq!(run.code(1).stdout, "Agent   Description\neditor  Edits\nmoney   Sends invoices\n");
    assert!(run.stderr.contains("hint: `--agent NAME` runs one"), "{run}");
    let run = project.brynhild(&["run", "group.yaml", "--agent", "money", "-p", "x"]);
    assert_eq!(run.success().stdout, "Billing answers\n");
    let run = project.brynhild(&["run", "group.yaml", "--agent", "none", "-p", "x"]);
    assert!(run.code(2).stderr.contains("hint: there are editor, money"), "{run}");
    let run = project.brynhild(&["run", "roles", "--sense", "-p", "What about my refund?"]);
    assert_eq!(run.success().stdout, "Billing answers\n");
    let run = project.brynhild(&["run", "group.yaml", "--sense", "-p", "Hello"]);
    assert_eq!(run.success().stdout, "Editor answers\n");
    assert_eq!(project.brynhild(&["validate", "roles", "--json"]).json()["kind"], "Group");
}

#[test]
fn used_role_of_another_project_stays_restricted() {
    let project = project();
    project
        .file("mine/team.yaml", TEAM.replace("roles/", "../theirs/"))
        .file("theirs/editor.yaml", EDITOR)
        .file("theirs/.env", "SECRET=1\n")
        .file("theirs/.git/HEAD", "");
    let run = project.brynhild(&["run", "mine/team.yaml", "-p", "x", "--dry-run"]);
    assert!(
        run.success()
            .stderr
            .contains("theirs/.env is not read: it belongs to an untrusted project"),
        "{run}"
    );
}
