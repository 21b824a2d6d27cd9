//! Rules as they are written.

use contract::policy::{Decision, Mode};
use policy::rules::{RuleError, Scope, parse};
use policy::{Settings, ToolSettings, policy};
use serde_json::{Value, json};

use crate::setting::{bare, rules, run};

fn read(value: &Value) -> Result<usize, RuleError> {
    parse(value, Scope::User, |place| format!("config.yaml: {place}"))
        .map(|parsed| parsed.rules.len())
}

#[test]
fn every_form_of_a_rule_is_parsed() {
    let rules = json!({
        "allow": [
            "Bash(git status:*)", "Bash(cargo test *)", "Bash(npm test)", "Read(/etc/**)",
            "Write(src/**)", "WebFetch(domain:example.com)", "Host(*.example.com)", "Grep",
            "mcp__server__*", "deploy(to staging)", "Outside(docker:*)", "Edit(**)",
            {"tool": "Bash", "command": "make *", "reason": "harmless here"},
            {"path": "docs/", "match": ["docs/a.md"], "not_match": ["src/a.md"]},
            {"host": "a.example"},
        ],
        "ask": [],
        "deny": [{"command": "git push", "match": ["git -C x push", "bash -c 'git push'"], "not_match": "git log push"}],
    });
    assert_eq!(read(&rules), Ok(16));
}

#[test]
fn invalid_rule_is_reported_with_its_place() {
    for (rule, cause) in [
        (json!("Bash(ls"), "the closing parenthesis is missing"),
        (json!("Bash()"), "names no program"),
        (json!("Bash('ls)"), "a quote is not closed"),
        (json!("Read(../x)"), "not a path"),
        (json!("two words"), "not a tool's name"),
        (json!(3), "expected text or a map"),
        (json!({"comand": "ls"}), "unknown key `comand`"),
        (json!({"command": "ls", "path": "x"}), "one of command, path and host"),
        (json!({}), "names no tool"),
        (json!({"host": "a b"}), "not a host"),
    ] {
        let error = read(&json!({"deny": [rule]})).unwrap_err().to_string();
        assert!(error.starts_with("config.yaml: deny[0]: "), "{error}");
        assert!(error.contains(cause), "{error} lacks {cause}");
    }
    let error = read(&json!({"denied": []})).unwrap_err().to_string();
    assert!(error.contains("expected `allow`, `ask` or `deny`"), "{error}");
}

#[test]
fn failed_example_names_its_rule_and_itself() {
    let error =
        read(&json!({"deny": [{"command": "git push", "match": ["git pull"]}]})).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"config.yaml: deny[0]: rule {"command":"git push"} does not match its example `git pull`"#
    );
    let error =
        read(&json!({"allow": [{"command": "ls *", "not_match": ["ls -la"]}]})).unwrap_err();
    assert!(error.to_string().contains("must not match its example `ls -la`"));
    assert!(
        read(&json!({"allow": [{"command": "ls *", "not_match": ["ls; rm x", "ls $x"]}]})).is_ok()
    );
}

#[test]
fn allow_rules_of_a_project_are_refused_with_a_message() {
    let value = json!({"allow": ["Bash(make:*)"], "deny": ["Bash(curl:*)"], "ask": ["Write"]});
    let parsed =
        parse(&value, Scope::Project, |place| format!(".brynhild/config.yaml: {place}")).unwrap();
    assert_eq!(parsed.rules.len(), 2);
    assert_eq!(
        parsed.refused,
        [
            ".brynhild/config.yaml: allow[0]: a project may only tighten, so allow rule `Bash(make:*)` is \
          ignored; put it into your own configuration to use it"
        ]
    );
}

#[test]
fn wildcards_in_deny_rules_match_as_written() {
    for (rule, command) in [
        ("Bash(git push*)", "git push origin main"),
        ("Bash(rm -rf*)", "rm -rf x"),
        ("Bash(curl*)", "curl x"),
        ("Bash(*curl*)", "bash -c 'curl x'"),
        ("Bash(cu?l:*)", "curl x"),
        ("Bash(curl|wget)", "wget x"),
        ("Bash(docker*)", "docker-compose up"),
        ("Bash(npm publish*)", "npm publish"),
        ("Bash(rm -rf:*)", "rm -R --force x"),
        ("Bash(cp --recursive:*)", "cp -aR a b"),
    ] {
        let rules = rules(&json!({"deny": [rule]}), Scope::User);
        let judge = policy(Settings { rules, ..bare() });
        assert_eq!(run(&judge, command, Mode::Yolo).decision, Decision::Deny, "{rule}: {command}");
        assert_ne!(run(&judge, "ls -la", Mode::Yolo).decision, Decision::Deny, "{rule}");
    }
}

#[test]
fn allowed_commands_may_name_a_program_alone() {
    let mut settings = bare();
    let lists = ToolSettings { allowed_commands: vec!["git".into()], ..ToolSettings::default() };
    settings.tools.insert("Bash".into(), lists);
    let judge = policy(settings);
    for text in ["git commit -m x", "git push", "git fetch"] {
        assert_eq!(run(&judge, text, Mode::Ask).decision, Decision::Allow, "{text}");
    }
    for text in ["git diff --ext-diff", "git reset --hard"] {
        assert_eq!(run(&judge, text, Mode::Ask).decision, Decision::Ask, "{text}");
    }
}
