//! The rules that approvals leave behind.

use contract::action::Action;
use contract::policy::Approvals as _;
use contract::policy::{Decision, Mode, Policy};
use contract::tool::{Risk, ToolSpec};
use policy::rules::Scope;
use policy::{Judge, Settings, policy};
use serde_json::json;

use crate::setting::{bare, bash, command, rules, run, tool};

/// Judges a call in a mode and remembers it.
fn remember(judge: &Judge, tool: &ToolSpec, actions: &[Action], mode: Mode) -> Vec<String> {
    let _ = judge.judge(tool, actions, mode);
    let offered = judge.rememberable(tool, actions);
    assert_eq!(judge.remember(tool, actions), offered);
    offered
}

fn remembered(text: &str) -> Vec<String> {
    remember(&policy(bare()), &bash(), &[command(text)], Mode::Ask)
}

fn write(path: &str) -> [Action; 1] {
    [Action::Write { path: path.into(), diff: None }]
}

#[test]
fn commands_are_remembered_by_program_and_subcommand() {
    for (text, rules) in [
        ("cargo test -q", &["Bash(cargo test:*)"][..]),
        ("python3 -m pytest -q tests", &["Bash(python3:*)"]),
        ("node x.js", &["Bash(node:*)"]),
        ("make test", &["Bash(make:*)"]),
        ("git commit -m 'x y'", &["Bash(git commit:*)"]),
        ("npm run build", &["Bash(npm run:*)"]),
        ("timeout 60 make", &["Bash(make:*)"]),
        ("bash run.sh", &["Bash(bash:*)"]),
        ("./run.sh", &["Bash(./run.sh:*)"]),
        ("git status && make && cargo test", &["Bash(make:*)", "Bash(cargo test:*)"]),
        ("sort -o out in", &["Bash(sort -o out in)"]),
        ("echo hi > out.txt", &["Edit(**)"]),
        ("for i in 1; do make; done", &[]),
        ("FOO=1 make", &[]),
        ("git push --force", &[]),
    ] {
        assert_eq!(remembered(text), rules, "{text}");
    }
}

#[test]
fn a_remembered_command_is_not_asked_about_again() {
    let judge = policy(bare());
    let words = remember(&judge, &bash(), &[command("cargo test -q && python3 x.py")], Mode::Ask);
    assert_eq!(judge.session(), words);
    for (text, wanted) in [
        ("cargo test --all", Decision::Allow),
        ("cd src && timeout 60 cargo test", Decision::Allow),
        ("python3 y.py", Decision::Allow),
        ("cargo run", Decision::Ask),
        ("cargo test; make", Decision::Ask),
    ] {
        assert_eq!(run(&judge, text, Mode::Ask).decision, wanted, "{text}");
    }
    assert!(judge.forget("Bash(python3:*)"));
    assert!(!judge.forget("Bash(python3:*)"));
    assert_eq!(run(&judge, "python3 y.py", Mode::Ask).decision, Decision::Ask);
}

#[test]
fn edits_are_remembered_for_both_tools_and_all_directories() {
    let judge = policy(bare());
    let edit = tool("Edit", true, Risk::Mutating);
    assert_eq!(remember(&judge, &edit, &write("/w/src/a.rs"), Mode::Ask), ["Edit(**)"]);
    for name in ["Write", "Edit"] {
        let tool = tool(name, true, Risk::Mutating);
        let decide = |path: &str| judge.judge(&tool, &write(path), Mode::Ask).decision;
        assert_eq!(decide("/w/README.md"), Decision::Allow, "{name}");
        assert_eq!(decide("/w/deep/er/x"), Decision::Allow, "{name}");
        assert_eq!(decide("/w/.vscode/settings.json"), Decision::Ask, "{name}");
        assert_eq!(decide("/etc/x"), Decision::Ask, "{name}");
    }
}

#[test]
fn paths_outside_and_protected_files_are_remembered_exactly() {
    let judge = policy(bare());
    let writer = tool("Write", true, Risk::Mutating);
    for path in ["/etc/x", "/w/.vscode/settings.json"] {
        let rules = remember(&judge, &writer, &write(path), Mode::Normal);
        assert_eq!(rules, [format!("Edit({path})")]);
        assert_eq!(judge.judge(&writer, &write(path), Mode::Normal).decision, Decision::Allow);
    }
    assert_eq!(judge.judge(&writer, &write("/etc/y"), Mode::Normal).decision, Decision::Ask);
}

#[test]
fn a_host_is_remembered_for_every_command() {
    let judge = policy(bare());
    let call = |text: &str, host: &str| [command(text), Action::Connect { host: host.to_owned() }];
    let rules = remember(&judge, &bash(), &call("npm install x", "npm.example"), Mode::Normal);
    assert_eq!(rules, ["Host(npm.example)"]);
    let rules = remember(&judge, &bash(), &call("curl localhost", "localhost"), Mode::Normal);
    assert_eq!(rules, ["Host(localhost)"]);
    let decide =
        |text: &str, host: &str| judge.judge(&bash(), &call(text, host), Mode::Normal).decision;
    assert_eq!(decide("npm install y", "npm.example"), Decision::Allow);
    assert_eq!(decide("curl localhost/x", "localhost"), Decision::Allow);
    assert_eq!(decide("npm install y", "other.example"), Decision::Ask);
}

#[test]
fn a_program_is_remembered_outside_the_sandbox() {
    let judge = policy(bare());
    let call = |text: &str| [command(text), Action::LeaveSandbox { command: text.to_owned() }];
    let rules = remember(&judge, &bash(), &call("docker ps"), Mode::Normal);
    assert_eq!(rules, ["Outside(docker:*)"]);
    let decide = |text: &str| judge.judge(&bash(), &call(text), Mode::Normal).decision;
    assert_eq!(decide("docker compose up -d"), Decision::Allow);
    assert_eq!(decide("docker ps | grep x"), Decision::Allow);
    assert_eq!(decide("docker ps; kill 1"), Decision::Ask);
    assert_eq!(decide("docker $x"), Decision::Ask);
    assert_eq!(decide("kill 1"), Decision::Ask);
    // In the sandbox the rule allows nothing more than before.
    assert_eq!(run(&judge, "docker ps", Mode::Normal).decision, Decision::Allow);
    for text in ["python3 x.py", "sudo ls", "sh -c ls", "docker $x"] {
        let _ = judge.judge(&bash(), &call(text), Mode::Normal);
        assert!(judge.rememberable(&bash(), &call(text)).is_empty(), "{text}");
    }
}

#[test]
fn a_plugin_tool_is_remembered_as_a_whole() {
    let judge = policy(bare());
    let mut plugin = tool("mcp__x__do", true, Risk::HighImpact);
    plugin.source = String::from("mcp:x");
    let call = |what: &str| [Action::Opaque { what: what.to_owned() }];
    let rules = remember(&judge, &plugin, &call("do {\"a\": 1}"), Mode::Normal);
    assert_eq!(rules, ["mcp__x__do(*)"]);
    let ruling = judge.judge(&plugin, &call("do {\"a\": 2}"), Mode::Normal);
    assert_eq!(ruling.decision, Decision::Allow);
    let mut other = plugin.clone();
    other.source = String::from("mcp:y");
    assert_eq!(judge.judge(&other, &call("do"), Mode::Normal).decision, Decision::Ask);
}

#[test]
fn remembered_rules_read_back_from_a_file() {
    let judge = policy(bare());
    let calls: Vec<(ToolSpec, Vec<Action>, Mode)> = vec![
        (bash(), vec![command("cargo test")], Mode::Ask),
        (bash(), vec![Action::Connect { host: "a.example".into() }], Mode::Normal),
        (bash(), vec![Action::LeaveSandbox { command: "docker ps".into() }], Mode::Normal),
        (tool("Edit", true, Risk::Mutating), write("/w/a").to_vec(), Mode::Ask),
        (tool("x", true, Risk::Mutating), vec![Action::Opaque { what: "x".into() }], Mode::Ask),
    ];
    for (tool, actions, mode) in calls {
        let _ = judge.judge(&tool, &actions, mode);
        let memories = judge.memories(&tool, &actions);
        assert_eq!(memories.len(), 1, "{actions:?}");
        let rule = memories[0].recall(Scope::User, String::from("file")).unwrap();
        let later = policy(Settings { rules: vec![rule], ..bare() });
        assert_eq!(later.judge(&tool, &actions, mode).decision, Decision::Allow, "{actions:?}");
    }
}

#[test]
fn questions_by_rules_are_not_remembered() {
    let asking = rules(&json!({"ask": ["Bash(make:*)", "Host(a.example)"]}), Scope::User);
    let judge = policy(Settings { rules: asking, ..bare() });
    assert!(remember(&judge, &bash(), &[command("make")], Mode::Ask).is_empty());
    let connect = [command("npm i"), Action::Connect { host: "a.example".into() }];
    assert!(remember(&judge, &bash(), &connect, Mode::Normal).is_empty());
}

#[test]
fn boundless_rules_are_not_granted() {
    let judge = policy(bare());
    let texts: Vec<String> =
        ["Bash(git status:*)", "Bash(npm test)", "Bash(*)", "Bash", "Bash(sh:*)", "(x"]
            .iter()
            .map(|text| (*text).to_owned())
            .collect();
    let granted = judge.grant(&texts, "a skill");
    assert_eq!(granted.rules, ["Bash(git status:*)", "Bash(npm test)"]);
    assert_eq!(granted.refused, ["Bash(*)", "Bash", "Bash(sh:*)", "(x"]);
    assert_eq!(run(&judge, "npm test", Mode::Ask).decision, Decision::Allow);
}
