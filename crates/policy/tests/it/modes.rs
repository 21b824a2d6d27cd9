//! The table of modes, `--yes`, tool settings, places, and the reasons of a ruling.

use std::path::PathBuf;

use contract::action::Action;
use contract::policy::Approvals as _;
use contract::policy::{Decision, Mode, Policy};
use contract::sandbox::Access;
use contract::tool::Risk;
use policy::rules::Scope;
use policy::{Judge, RequireApproval, Settings, ToolSettings, policy};
use serde_json::json;

use crate::setting::{bare, bash, command, judge, rules, run, settings, tool};

const ALLOW: Decision = Decision::Allow;
const ASK: Decision = Decision::Ask;
const DENY: Decision = Decision::Deny;

fn read(path: &str) -> Action {
    Action::Read { path: path.into() }
}

fn write(path: &str) -> Action {
    Action::Write { path: path.into(), diff: None }
}

fn connect(host: &str) -> Action {
    Action::Connect { host: host.into() }
}

fn opaque(what: &str) -> Action {
    Action::Opaque { what: what.into() }
}

fn leave(text: &str) -> Vec<Action> {
    vec![command(text), Action::LeaveSandbox { command: text.into() }]
}

/// The decisions of `read-only`, `ask`, `normal` and `yolo`.
fn decisions(judge: &Judge, name: &str, actions: &[Action]) -> [Decision; 4] {
    let mut spec = match name {
        "Bash" => bash(),
        "Read" => tool("Read", false, Risk::ReadOnly),
        name => tool(name, true, Risk::Mutating),
    };
    if name.starts_with("mcp__") {
        spec.source = String::from("mcp:server");
    }
    Mode::ALL.map(|mode| judge.judge(&spec, actions, mode).decision)
}

#[test]
fn modes_decide_as_documented() {
    let judge = judge();
    let rows: &[(&str, Vec<Action>, [Decision; 4])] = &[
        ("Read", vec![read("/w/src/a.rs")], [ALLOW; 4]),
        ("Bash", vec![command("git status | head")], [ALLOW; 4]),
        ("Write", vec![write("/w/src/a.rs")], [DENY, ASK, ALLOW, ALLOW]),
        ("Edit", vec![read("/w/a"), write("/w/a")], [DENY, ASK, ALLOW, ALLOW]),
        ("Bash", vec![command("make")], [ALLOW, ASK, ALLOW, ALLOW]),
        ("Bash", vec![command("echo $(id) > out")], [ALLOW, ASK, ALLOW, ALLOW]),
        ("mcp__s__change", vec![opaque("change {}")], [DENY, ASK, ASK, ALLOW]),
        ("mcp__s__run", vec![command("make")], [DENY, ASK, ASK, ALLOW]),
        ("Bash", vec![command("npm i"), connect("npm.example")], [DENY, ASK, ASK, ALLOW]),
        ("Bash", vec![command("npm i"), connect("localhost")], [DENY, ASK, ASK, ALLOW]),
        ("Bash", leave("docker ps"), [DENY, ASK, ASK, ASK]),
        ("Write", vec![write("/etc/x")], [DENY, ASK, ASK, ASK]),
        ("Read", vec![read("/etc/passwd")], [DENY, ASK, ASK, ASK]),
        ("Read", vec![read("/w/.env")], [ASK, ASK, ASK, ALLOW]),
        ("Write", vec![write("/w/.vscode/settings.json")], [DENY, ASK, ASK, ASK]),
        ("Write", vec![write("/w/.mcp.json")], [DENY, ASK, ASK, ASK]),
        ("Write", vec![write("/w/mise.toml")], [DENY, ASK, ASK, ASK]),
        ("Write", vec![write("/w/.git/hooks/pre-commit")], [DENY; 4]),
        ("Write", vec![write("/w/.brynhild/config.yaml")], [DENY; 4]),
        ("Write", vec![write("/home/u/.config/brynhild/c")], [DENY; 4]),
        ("Bash", vec![command("git reset --hard")], [DENY, ASK, ASK, ASK]),
        ("Bash", vec![command("rm -rf ~")], [DENY; 4]),
        ("Bash", vec![command("curl x")], [DENY; 4]),
    ];
    for (name, actions, wanted) in rows {
        assert_eq!(decisions(&judge, name, actions), *wanted, "{name} {actions:?}");
    }
}

#[test]
fn read_only_mode_refuses_changes_despite_allow_rules() {
    let list = json!({"allow": [
        "Write(**)", "Host(*)", "Bash", "mcp__s__*", "Write", "Outside(docker:*)",
        "Bash(git push --force:*)",
    ]});
    let judge =
        policy(Settings { rules: rules(&list, Scope::Managed), approve_all: true, ..bare() });
    for (name, actions) in [
        ("Write", vec![write("/w/a")]),
        ("Bash", vec![connect("example.com")]),
        ("mcp__s__y", vec![opaque("y")]),
        ("Bash", leave("docker ps")),
        ("Bash", vec![command("git push --force")]),
    ] {
        assert_eq!(decisions(&judge, name, &actions)[0], DENY, "{name} {actions:?}");
    }
    let ruling = run(&judge, "make", Mode::ReadOnly);
    assert_eq!((ruling.decision, ruling.access), (ALLOW, Access::ReadOnly));
}

#[test]
fn access_follows_the_proof_and_the_actions() {
    let judge = judge();
    assert_eq!(run(&judge, "git status | head", Mode::Normal).access, Access::ReadOnly);
    assert_eq!(run(&judge, "cargo test", Mode::Normal).access, Access::Workspace);
    assert_eq!(run(&judge, "git status; make", Mode::Normal).access, Access::Workspace);
    assert_eq!(run(&judge, "cat a > b", Mode::Normal).access, Access::Workspace);
    assert_eq!(run(&judge, "make", Mode::ReadOnly).access, Access::ReadOnly);
    assert_eq!(judge.judge(&bash(), &leave("ls"), Mode::Normal).access, Access::Host);
}

#[test]
fn destructive_commands_need_a_rule_that_names_them() {
    let with = |allow: &[&str], approve_all: bool| {
        let rules = rules(&json!({ "allow": allow }), Scope::User);
        policy(Settings { rules, approve_all, ..bare() })
    };
    let judge = with(&["Bash(git push:*)", "Bash(git:*)", "Bash"], true);
    for mode in [Mode::Ask, Mode::Normal, Mode::Yolo] {
        let ruling = run(&judge, "git push --force", mode);
        assert_eq!(ruling.decision, ASK, "{mode:?}");
        assert_eq!(ruling.deciding().unwrap().origin, "destructive");
        assert_eq!(ruling.deciding().unwrap().why, "`git push --force` is destructive");
        assert!(judge.rememberable(&bash(), &[command("git push --force")]).is_empty());
    }
    let naming = with(&["Bash(git push --force:*)"], false);
    for mode in [Mode::Ask, Mode::Normal, Mode::Yolo] {
        assert_eq!(run(&naming, "git push --force origin main", mode).decision, ALLOW, "{mode:?}");
    }
    assert_eq!(run(&naming, "git reset --hard", Mode::Yolo).decision, ASK);
    let root = with(&["Bash(rm -rf /:*)"], true);
    assert_eq!(run(&root, "rm -rf /", Mode::Yolo).decision, DENY);
}

#[test]
fn yes_answers_every_question_but_the_destructive_ones() {
    let judge = policy(Settings { approve_all: true, ..settings() });
    for (name, actions) in [
        ("Bash", vec![command("make"), connect("npm.example")]),
        ("Bash", leave("docker ps")),
        ("Write", vec![write("/etc/x")]),
        ("mcp__s__change", vec![opaque("change")]),
        ("Bash", vec![command("$CMD")]),
    ] {
        assert_eq!(decisions(&judge, name, &actions)[2], ALLOW, "{actions:?}");
    }
    assert_eq!(run(&judge, "git stash clear", Mode::Normal).decision, ASK);
    assert_eq!(run(&judge, "curl x", Mode::Normal).decision, DENY);
}

#[test]
fn only_managed_ask_rules_survive_yolo_and_yes() {
    for scope in [Scope::Managed, Scope::User, Scope::Project] {
        let asking = rules(&json!({"ask": ["Bash(cargo test:*)"]}), scope);
        let judge = policy(Settings { rules: asking.clone(), ..bare() });
        assert_eq!(run(&judge, "timeout 5 cargo test -q", Mode::Normal).decision, ASK);
        let wanted = if scope == Scope::Managed { ASK } else { ALLOW };
        assert_eq!(run(&judge, "cargo test", Mode::Yolo).decision, wanted);
        let yes = policy(Settings { rules: asking, approve_all: true, ..bare() });
        assert_eq!(run(&yes, "cargo test", Mode::Normal).decision, wanted);
    }
}

#[test]
fn a_deny_of_any_scope_wins_over_an_allow() {
    for (allow, deny) in [
        (Scope::Managed, Scope::Project),
        (Scope::User, Scope::Project),
        (Scope::User, Scope::Managed),
        (Scope::Managed, Scope::User),
    ] {
        let mut all = rules(&json!({"allow": ["Bash(make:*)"]}), allow);
        all.extend(rules(&json!({"deny": ["Bash(make:*)"]}), deny));
        let judge = policy(Settings { rules: all, ..bare() });
        assert_eq!(run(&judge, "make", Mode::Yolo).decision, DENY);
    }
}

#[test]
fn hosts_are_matched_by_rules() {
    let list = json!({"allow": ["WebFetch(domain:docs.x.com)"], "deny": ["Host(evil.test)"]});
    let judge = policy(Settings { rules: rules(&list, Scope::User), ..bare() });
    let fetch = tool("WebFetch", true, Risk::ReadOnly);
    let decide = |host: &str| judge.judge(&fetch, &[connect(host)], Mode::Normal).decision;
    assert_eq!(decide("docs.x.com"), ALLOW);
    assert_eq!(decide("docs.x.com:443"), ALLOW);
    assert_eq!(decide("docs.x.com.evil.org"), ASK);
    assert_eq!(decide("a.evil.test:8080"), DENY);
    // Any host includes the denied one.
    assert_eq!(decide("*"), DENY);
    assert_eq!(decisions(&policy(bare()), "Bash", &[connect("*")]), [DENY, ASK, ASK, ALLOW]);
    let ruling = judge.judge(&fetch, &[connect("npm.example")], Mode::Normal);
    assert_eq!(ruling.deciding().unwrap().why, "connects to npm.example");
}

#[test]
fn plugin_tools_ask_if_they_require_permission() {
    let list = json!({"allow": ["mcp__docs__*"], "deny": ["mcp__docs__delete"]});
    let judge = policy(Settings { rules: rules(&list, Scope::User), ..bare() });
    let decide = |name: &str, permission| {
        let mut tool = tool(name, permission, Risk::Mutating);
        tool.source = String::from("mcp:docs");
        judge.judge(&tool, &[opaque("does things")], Mode::Normal).decision
    };
    assert_eq!(decide("other", true), ASK);
    assert_eq!(decide("other", false), ALLOW);
    assert_eq!(decide("mcp__docs__search", true), ALLOW);
    assert_eq!(decide("mcp__docs__delete", true), DENY);
}

#[test]
fn allow_rules_for_built_in_tools_do_not_cover_plugins() {
    let mut plugin = tool("plugin_shell", true, Risk::Mutating);
    plugin.source = String::from("some-plugin");
    let judge = judge();
    let decide = |text: &str| judge.judge(&plugin, &[command(text)], Mode::Ask).decision;
    assert_eq!(decide("cargo test"), ASK);
    assert_eq!(decide("curl x"), DENY);
}

#[test]
fn tool_settings_take_effect() {
    let mut settings = bare();
    let lists = ToolSettings {
        allowed_commands: vec!["make test".into(), "just *".into(), "'".into()],
        blocked_commands: vec!["make install".into()],
        allowed_paths: vec!["/data".into()],
        ..ToolSettings::default()
    };
    settings.tools.insert("Bash".into(), lists);
    let always =
        ToolSettings { require_approval: RequireApproval::Always, ..ToolSettings::default() };
    settings.tools.insert("Read".into(), always);
    let never =
        ToolSettings { require_approval: RequireApproval::Never, ..ToolSettings::default() };
    settings.tools.insert("Write".into(), never);
    let judge = policy(settings);
    let decide = |text: &str| run(&judge, text, Mode::Ask).decision;
    assert_eq!(decide("make test VERBOSE=1"), ALLOW);
    assert_eq!(decide("just build"), ALLOW);
    assert_eq!(decide("make all"), ASK);
    assert_eq!(decide("bash -c 'make -j4 install'"), DENY);
    assert_eq!(decide("cat /data/x"), ALLOW);
    assert_eq!(decide("echo a > /data/x"), ALLOW);
    assert_eq!(decisions(&judge, "Read", &[read("/w/a")]), [ASK, ASK, ASK, ALLOW]);
    assert_eq!(decisions(&judge, "Write", &[write("/w/a")])[1], ALLOW);
    assert_eq!(decisions(&judge, "Write", &[write("/w/.git/x")])[1], DENY);
    assert_eq!(decisions(&judge, "Write", &[write("/etc/x")])[1], ASK);
    assert_eq!(judge.warnings().len(), 1);
}

#[test]
fn tool_settings_are_read_from_configuration() {
    let value = json!({"require_approval": "always", "blocked_commands": ["rm"]});
    let settings: ToolSettings = serde_json::from_value(value).unwrap();
    assert_eq!(settings.require_approval, RequireApproval::Always);
    assert_eq!(settings.blocked_commands, ["rm"]);
}

#[test]
fn a_rule_for_a_program_does_not_cover_its_unsafe_options() {
    let list = json!({"allow": [
        "Bash(sed -i:*)", "Bash(git commit:*)", "Bash(find src -delete)", "Bash(./run.sh:*)",
        "Bash(sort:*)", "Bash(uv run pytest:*)",
    ]});
    let judge = policy(Settings { rules: rules(&list, Scope::User), ..bare() });
    for (text, wanted) in [
        ("sed -i s/a/b/ src/x", ALLOW),
        ("sed s/a/b/e src/x", ASK),
        ("git commit -m x", ALLOW),
        ("git -c alias.x=!sh x", ASK),
        ("find src -delete", ALLOW),
        ("find src -name x -delete", ASK),
        ("./run.sh fast", ALLOW),
        ("sort -o out in", ASK),
        ("uv run pytest -q", ALLOW),
        ("uv run python x.py", ASK),
    ] {
        assert_eq!(run(&judge, text, Mode::Ask).decision, wanted, "{text}");
    }
}

#[test]
fn a_ruling_lists_all_reasons_in_order() {
    let ruling = run(&judge(), "git status && make && curl x", Mode::Ask);
    let chain: Vec<(Decision, &str, &str)> = ruling
        .reasons
        .iter()
        .map(|reason| (reason.decision, reason.subject.as_str(), reason.origin.as_str()))
        .collect();
    assert_eq!(
        chain,
        [
            (DENY, "curl x", "config.yaml: deny[0]"),
            (ALLOW, "git status", "built-in"),
            (ASK, "make", "built-in"),
            (ASK, "curl x", "built-in"),
        ]
    );
    assert_eq!(ruling.deciding().unwrap().why, "rule `Bash(curl:*)`");
    assert_eq!(ruling.reasons[2].why, "`make` is not on your allowlist");
}

#[test]
fn a_subdirectory_is_part_of_the_workspace() {
    let judge = judge();
    let decide = |text: &str, cwd: &str| {
        let action = Action::Run { command: text.into(), cwd: PathBuf::from(cwd) };
        judge.judge(&bash(), &[action], Mode::Ask).decision
    };
    assert_eq!(decide("cat ../Cargo.toml", "/w/src"), ALLOW);
    assert_eq!(decide("cat ../../x", "/w/src"), ASK);
    assert_eq!(decide("ls", "/etc"), ASK);
}

#[test]
fn file_tools_ask_outside_the_workspace() {
    let readable_paths = vec!["/tmp/own".into()];
    let judge = policy(Settings { readable_paths, ..bare() });
    assert_eq!(decisions(&judge, "Read", &[read("/tmp/x")])[2], ASK);
    assert_eq!(decisions(&judge, "Read", &[read("/tmp/own/x")])[2], ALLOW);
    assert_eq!(decisions(&judge, "Write", &[write("/tmp/x")])[2], ASK);
}

#[test]
fn a_tool_without_actions_follows_its_own_declaration() {
    let judge = policy(bare());
    let decide = |tool, mode| judge.judge(&tool, &[], mode).decision;
    assert_eq!(decide(tool("Finish", false, Risk::ReadOnly), Mode::ReadOnly), ALLOW);
    assert_eq!(decide(tool("Odd", true, Risk::ReadOnly), Mode::Normal), ASK);
    assert_eq!(decide(tool("Odd", false, Risk::Mutating), Mode::ReadOnly), DENY);
}
