//! Rules that are written as maps: they mean the same as the short ones.

use contract::policy::{Action, Decision, Mode, Policy};
use contract::tool::{Risk, ToolSpec};
use policy::Settings;
use policy::rules::Scope;
use serde_json::{Value, json};

use crate::setting::{bare, command, rules, tool};

fn read(path: &str) -> Action {
    Action::Read { path: path.into() }
}

fn write(path: &str) -> Action {
    Action::Write { path: path.into(), diff: None }
}

/// What each of several calls comes to under one rule.
fn decided(list: &str, rule: &Value, mode: Mode) -> Vec<Decision> {
    let rules = rules(&json!({ list: [rule] }), Scope::User);
    let judge = policy::policy(Settings { rules, ..bare() });
    let plugin = |name: &str| ToolSpec {
        source: String::from("plugin"),
        ..tool(name, true, Risk::Mutating)
    };
    let of = |name: &str, action: Action| {
        judge.judge(&tool(name, false, Risk::Mutating), &[action], mode).decision
    };
    vec![
        of("Read", read("/w/secret/k")),
        of("Grep", read("/w/secret/k")),
        of("Glob", read("/w/secret/k")),
        of("Inspect", read("/w/secret/k")),
        of("Edit", write("/w/secret/k")),
        of("Write", write("/w/secret/k")),
        of("Bash", command("cat secret/k")),
        of("Bash", command("touch secret/k")),
        of("Bash", command("curl https://evil.test/x")),
        of("WebFetch", Action::Connect { host: String::from("evil.test") }),
        judge.judge(&plugin("Peek"), &[read("/w/secret/k")], mode).decision,
        judge.judge(&plugin("Shell"), &[command("curl https://evil.test/x")], mode).decision,
    ]
}

#[test]
fn what_a_map_denies_or_asks_about_is_what_the_short_form_does() {
    for list in ["deny", "ask"] {
        for (map, short) in [
            (json!({"tool": "Read", "path": "secret/**"}), "Read(secret/**)"),
            (json!({"tool": "Grep", "path": "secret/**"}), "Read(secret/**)"),
            (json!({"tool": "Rea*", "path": "secret/**"}), "Read(secret/**)"),
            (json!({"tool": "Write", "path": "secret/**"}), "Write(secret/**)"),
            (json!({"tool": "Edit", "path": "secret/**"}), "Write(secret/**)"),
            (json!({"tool": "Bash", "command": "curl *"}), "Bash(curl *)"),
            (json!({"tool": "Bash", "command": "*"}), "Bash(*)"),
            (json!({"tool": "WebFetch", "host": "evil.test"}), "Host(evil.test)"),
            (json!("Grep(secret/**)"), "Read(secret/**)"),
            (json!("Glob(secret/**)"), "Read(secret/**)"),
            (json!("Inspect(secret/**)"), "Read(secret/**)"),
        ] {
            for mode in [Mode::Normal, Mode::Yolo] {
                let wanted = decided(list, &json!(short), mode);
                assert_eq!(decided(list, &map, mode), wanted, "{list} {map}");
                assert!(list == "ask" || wanted.contains(&Decision::Deny), "{map}");
            }
        }
    }
    let any = json!({"tool": "*", "path": "secret/**"});
    assert_eq!(
        decided("deny", &any, Mode::Yolo),
        decided("deny", &json!({"path": "secret/**"}), Mode::Yolo)
    );
}

#[test]
fn a_map_for_commands_and_a_path_denies_it_to_commands_alone() {
    let decided = decided("deny", &json!({"tool": "Bash", "path": "secret/**"}), Mode::Yolo);
    assert_eq!(decided[..6], [Decision::Allow; 6]);
    assert_eq!(decided[6..8], [Decision::Deny; 2]);
}

#[test]
fn what_a_map_allows_to_a_tool_is_allowed_to_no_other() {
    let outside = |rule: Value, name: &str, path: &str| {
        let rules = rules(&json!({ "allow": [rule] }), Scope::User);
        let judge = policy::policy(Settings { rules, ..bare() });
        judge.judge(&tool(name, false, Risk::ReadOnly), &[read(path)], Mode::Normal).decision
    };
    for rule in [json!({"tool": "Grep", "path": "/etc/**"}), json!("Grep(/etc/**)")] {
        assert_eq!(outside(rule.clone(), "Grep", "/etc/hosts"), Decision::Allow, "{rule}");
        assert_eq!(outside(rule.clone(), "Read", "/etc/hosts"), Decision::Ask, "{rule}");
    }
    assert_eq!(outside(json!("Read(/etc/**)"), "Grep", "/etc/hosts"), Decision::Allow);
}
