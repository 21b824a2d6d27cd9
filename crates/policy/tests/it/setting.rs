//! The rules, places and tools of the tests.

use std::path::PathBuf;

use contract::action::Action;
use contract::policy::{Mode, Policy, Ruling};
use contract::tool::{Recovery, Risk, ToolSpec, Traits};
use policy::rules::{Rule, Scope, parse};
use policy::{Judge, Settings};
use serde_json::{Value, json};

/// The rules of one scope, written as in a configuration file.
pub(crate) fn rules(value: &Value, scope: Scope) -> Vec<Rule> {
    parse(value, scope, |place| format!("config.yaml: {place}"))
        .expect("the rules are well-formed")
        .rules
}

/// The workspace `/w` of a user with a few rules.
pub(crate) fn settings() -> Settings {
    let rules = rules(
        &json!({
            "allow": [
                "Bash(git status:*)", "Bash(git diff:*)", "Bash(git log:*)", "Bash(git show:*)",
                "Bash(ls:*)", "Bash(cat:*)", "Bash(rg:*)", "Bash(grep:*)", "Bash(echo:*)",
                "Bash(printf:*)", "Bash(head:*)", "Bash(tail:*)", "Bash(wc:*)", "Bash(pwd:*)",
                "Bash(true:*)", "Bash(test:*)", "Bash(stat:*)", "Bash(sort:*)", "Bash(uniq:*)",
                "Bash(find:*)", "Bash(sed:*)", "Bash(cargo test:*)", "Bash(cargo build:*)",
                "Bash(npm test:*)", "Bash(pytest:*)",
            ],
            "deny": ["Bash(curl:*)", "Bash(git push:*)", "Bash(sudo:*)"],
        }),
        Scope::User,
    );
    Settings { rules, ..bare() }
}

/// Settings with these paths and no rules.
pub(crate) fn bare() -> Settings {
    Settings {
        workspace: PathBuf::from("/w"),
        home: Some(PathBuf::from("/home/u")),
        protected_paths: vec![PathBuf::from("/home/u/.config/brynhild")],
        file_rules_enforced: true,
        ..Settings::default()
    }
}

/// The judge of [`settings`].
pub(crate) fn judge() -> Judge {
    policy::policy(settings())
}

/// A tool.
pub(crate) fn tool(name: &str, requires_permission: bool, risk_level: Risk) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        input_schema: json!({"type": "object"}).into(),
        version: String::from("1.0.0"),
        categories: Vec::new(),
        requires_permission,
        risk_level,
        recovery_policy: Recovery::Allow,
        parallel: false,
        source: String::from("builtin"),
        traits: Traits::default(),
    }
}

/// The tool that runs commands.
pub(crate) fn bash() -> ToolSpec {
    tool("Bash", true, Risk::HighImpact)
}

/// A command, run in the workspace.
pub(crate) fn command(text: &str) -> Action {
    Action::Run { command: text.to_owned(), cwd: PathBuf::from("/w") }
}

/// Judges a command.
pub(crate) fn run(judge: &Judge, text: &str, mode: Mode) -> Ruling {
    judge.judge(&bash(), &[command(text)], mode)
}
