//! What must hold for any bytes, one function for each target: a fuzzer calls them with what it
//! invents (`fuzz/`), property tests with what they generate, and the corpus is replayed by all.

use std::path::{Component, Path, PathBuf};

use contract::action::Action;
use contract::policy::{Decision, Mode, Policy, Ruling};
use contract::text::{is_hidden, visible};
use contract::tool::{Recovery, Risk, ToolSpec, Traits};
use policy::rules::{Scope, parse};
use policy::{Judge, Settings};
use serde_json::{Value, json};

fn judge(rules: &Value) -> Judge {
    let rules = parse(rules, Scope::User, str::to_owned).expect("the rules are well-formed").rules;
    policy::policy(Settings {
        workspace: PathBuf::from("/w"),
        home: Some(PathBuf::from("/home/u")),
        rules,
        file_rules_enforced: true,
        ..Settings::default()
    })
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        input_schema: json!({"type": "object"}).into(),
        version: String::from("1.0.0"),
        categories: Vec::new(),
        requires_permission: name == "Bash",
        risk_level: Risk::HighImpact,
        recovery_policy: Recovery::Allow,
        parallel: false,
        source: String::from("builtin"),
        traits: Traits::default(),
    }
}

/// Text as commands: judged in every mode without panic, with a deciding reason; a deny holds in
/// every mode; what is allowed stays no more than asked about with something asked about added, and
/// denied with something denied added.
pub(crate) fn shell_text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let judge = judge(&json!({
        "allow": ["Bash(cargo test:*)", "Write(out/**)"],
        "ask": ["Host(*.example)"],
        "deny": ["Bash(curl:*)", "Bash(git push:*)", "Read(secrets/**)", "Host(evil.test)"],
    }));
    let run = |text: &str, mode: Mode| -> Ruling {
        let command = Action::Run { command: text.to_owned(), cwd: PathBuf::from("/w") };
        judge.judge(&tool("Bash"), &[command], mode)
    };
    let strict = run(&text, Mode::Ask);
    for mode in Mode::ALL {
        let ruling = run(&text, mode);
        assert!(ruling.deciding().is_some(), "no reason decides on {text:?}");
        if strict.decision == Decision::Deny {
            assert_eq!(ruling.decision, Decision::Deny, "{mode:?} lifts the deny on {text:?}");
        }
    }
    if strict.decision == Decision::Allow {
        for (added, wanted) in [("make", Decision::Ask), ("curl x", Decision::Deny)] {
            let longer = format!("{text}\n{added}");
            let decision = run(&longer, Mode::Ask).decision;
            assert!(decision >= wanted, "{longer:?} is decided as {decision:?}");
        }
    }
}

/// A rule for files and a path, two texts with a line feed between them: decided as a plain reading
/// of both says.
pub(crate) fn rule_and_path(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Some((rule, path)) = text.split_once('\n') else {
        return;
    };
    if path.contains(['\0', '\n']) {
        return;
    }
    let path = Path::new("/o").join(path);
    let read = Action::Read { path: path.clone() };
    for (list, decision) in [("deny", Decision::Deny), ("allow", Decision::Allow)] {
        let value = json!({list: [{"tool": "Read", "path": rule}]});
        let Ok(parsed) = parse(&value, Scope::User, str::to_owned) else {
            return;
        };
        let settings = Settings {
            workspace: PathBuf::from("/w"),
            home: Some(PathBuf::from("/home/u")),
            rules: parsed.rules,
            ..Settings::default()
        };
        let ruling = policy::policy(settings).judge(
            &tool("Read"),
            std::slice::from_ref(&read),
            Mode::Normal,
        );
        let fits = plainly_fits(rule, &path, decision);
        if decision == Decision::Deny {
            assert_eq!(ruling.decision == Decision::Deny, fits, "{rule:?} on {}", path.display());
        } else if !path_parts(&path).starts_with(&[String::from("w")]) {
            assert_eq!(ruling.decision == Decision::Allow, fits, "{rule:?} on {}", path.display());
        }
    }
}

/// The components of an absolute path, `.` and `..` followed.
fn path_parts(path: &Path) -> Vec<String> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                parts.pop();
            }
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    parts
}

fn plainly_fits(rule: &str, path: &Path, decision: Decision) -> bool {
    let rule = rule.trim();
    let rule = rule.strip_prefix("./").unwrap_or(rule);
    let whole_directory = rule.ends_with('/');
    let (root, rest) = match (rule.strip_prefix("~/"), rule.strip_prefix('/')) {
        (Some(rest), _) => (vec!["home", "u"], rest),
        (None, Some(rest)) => (Vec::new(), rest),
        (None, None) => (vec!["w"], rule),
    };
    let mut pattern: Vec<String> = root.into_iter().map(String::from).collect();
    pattern.extend(rest.split('/').filter(|part| !part.is_empty()).map(String::from));
    if whole_directory {
        pattern.push(String::from("**"));
    }
    let mut parts = path_parts(path);
    if decision == Decision::Allow {
        return fits(&pattern, &parts);
    }
    let lower = |texts: &[String]| texts.iter().map(|text| text.to_lowercase()).collect::<Vec<_>>();
    (pattern, parts) = (lower(&pattern), lower(&parts));
    let beneath = |pattern: &[String]| (0..=parts.len()).any(|end| fits(pattern, &parts[..end]));
    let anywhere = || {
        let name = [lower(&[rule.to_owned()]).remove(0)];
        (0..parts.len()).any(|at| fits(&name, &parts[at..=at])) || (rule == "**")
    };
    beneath(&pattern) || (!rule.contains('/') && anywhere())
}

fn fits(pattern: &[String], parts: &[String]) -> bool {
    match pattern.split_first() {
        None => parts.is_empty(),
        Some((first, rest)) if first == "**" => {
            (0..=parts.len()).any(|skipped| fits(rest, &parts[skipped..]))
        }
        Some((first, rest)) => parts.split_first().is_some_and(|(name, others)| {
            let (first, name): (Vec<char>, Vec<char>) =
                (first.chars().collect(), name.chars().collect());
            name_fits(&first, &name) && fits(rest, others)
        }),
    }
}

fn name_fits(pattern: &[char], name: &[char]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some(('*', rest)) => (0..=name.len()).any(|skipped| name_fits(rest, &name[skipped..])),
        Some((first, rest)) => name
            .split_first()
            .is_some_and(|(c, others)| (*first == '?' || first == c) && name_fits(rest, others)),
    }
}

/// A host as a tool would dial it: what a rule allows is that host in one spelling, and a denied
/// host is denied with anything around it.
pub(crate) fn host(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let allowing = judge(&json!({"allow": [{"tool": "Fetch", "host": "docs.ok.example"}]}));
    let denying = judge(&json!({"deny": ["Host(evil.test)", "Host(127.0.0.1)"]}));
    let fetch = tool("Fetch");
    let decide = |judge: &Judge, host: &str| {
        judge.judge(&fetch, &[Action::Connect { host: host.to_owned() }], Mode::Normal).decision
    };
    if decide(&allowing, &text) == Decision::Allow {
        let lower = text.to_ascii_lowercase();
        let dialled = lower.strip_suffix(":443").or_else(|| lower.strip_suffix(":80"));
        assert_eq!(dialled.unwrap_or(&lower), "docs.ok.example", "{text:?} is allowed");
    }
    for denied in ["evil.test", "127.0.0.1", "127.1", "0x7f000001"] {
        for around in [
            format!("{text}@{denied}"),
            format!("{text}/@{denied}:80"),
            format!("https://{text}@{denied}/"),
        ] {
            assert_eq!(decide(&denying, &around), Decision::Deny, "{around:?}");
        }
        assert_eq!(
            decide(&denying, &format!("a.{denied}")) == Decision::Deny,
            denied == "evil.test"
        );
    }
}

/// Text from outside on its way to a terminal: nothing that steers it or hides is left, nothing
/// else is changed, and doing it twice changes nothing.
pub(crate) fn terminal_text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let shown = visible(&text);
    for c in shown.chars() {
        let steers = c.is_control() && c != '\n' && c != '\t';
        assert!(!steers && !is_hidden(c), "{c:?} of {text:?} is left");
    }
    assert_eq!(visible(&shown), shown, "{text:?} is escaped twice");
    if !text.chars().any(is_hidden) {
        assert_eq!(shown, text);
    }
    let lines = |text: &str| text.matches('\n').count();
    assert_eq!(lines(&shown), lines(&text), "{text:?} has other lines");
}
