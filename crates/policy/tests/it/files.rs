//! Rules for files in commands: literal operands and redirections, and weaker sandboxes.

use contract::action::Hidden;
use contract::policy::{Decision, Mode, Policy};
use contract::tool::Risk;
use policy::rules::Scope;
use policy::{Settings, policy};
use serde_json::json;

use crate::setting::{bare, rules, run, tool};

fn with(file_rules_enforced: bool) -> policy::Judge {
    let list = json!({
        "allow": ["Read(/etc/**)", "Write(out/**)"],
        "deny": ["Read(secrets)", "Write(Cargo.lock)", "Read(/etc/shadow)"],
        "ask": ["Read(private/**)", "Edit(tests/**)"],
    });
    policy(Settings { rules: rules(&list, Scope::User), file_rules_enforced, ..bare() })
}

#[test]
fn literal_operands_and_redirections_match_file_rules() {
    let judge = with(true);
    for (text, wanted) in [
        ("cat /etc/shadow", Decision::Deny),
        ("bash -c 'cat /etc/shadow'", Decision::Deny),
        ("cat < /etc/shadow", Decision::Deny),
        ("cat a/secrets/x", Decision::Deny),
        ("cd a && cat secrets", Decision::Deny),
        ("python3 x.py secrets/k", Decision::Deny),
        ("git show HEAD:secrets/k", Decision::Deny),
        ("cp secrets/k out/k", Decision::Deny),
        ("cat private/x", Decision::Ask),
        ("rm tests/a.rs", Decision::Ask),
        ("sed -i s/a/b/ tests/a.rs", Decision::Ask),
        ("echo x >> tests/a.rs", Decision::Ask),
        ("echo a > Cargo.lock", Decision::Deny),
        ("cp x Cargo.lock", Decision::Deny),
        ("cat Cargo.lock", Decision::Allow),
        ("python3 -m pytest tests/", Decision::Allow),
        ("ls | grep secrets", Decision::Allow),
        ("git log -- secrets", Decision::Allow),
        ("echo secrets", Decision::Allow),
        ("grep -rn x .", Decision::Allow),
    ] {
        let ruling = run(&judge, text, Mode::Normal);
        assert_eq!(ruling.decision, wanted, "{text}: {:?}", ruling.reasons);
    }
}

#[test]
fn a_sandbox_without_file_rules_asks_about_unproven_commands() {
    let judge = with(false);
    for text in ["make", "python3 x.py", "cat *.md", "grep -rn x .", "rg x", "git show HEAD"] {
        for mode in [Mode::Ask, Mode::Normal, Mode::Yolo] {
            assert_eq!(run(&judge, text, mode).decision, Decision::Ask, "{mode:?} {text}");
        }
    }
    for text in ["cat src/main.rs", "grep x src/main.rs", "ls -la"] {
        assert_eq!(run(&judge, text, Mode::Normal).decision, Decision::Allow, "{text}");
    }
    let free = policy(Settings { file_rules_enforced: false, ..bare() });
    assert_eq!(run(&free, "make", Mode::Normal).decision, Decision::Allow);
}

#[test]
fn views_hide_denied_and_secret_files() {
    let view = with(true).view(&tool("Grep", false, Risk::ReadOnly));
    let hidden = |path: &str| view.hidden(std::path::Path::new(path));
    assert_eq!(hidden("/w/secrets/k"), Some(Hidden::Ruled));
    assert_eq!(hidden("/w/private/k"), Some(Hidden::Ruled));
    assert_eq!(hidden("/w/.env"), Some(Hidden::Secret));
    assert_eq!(hidden("/w/src/main.rs"), None);
}
