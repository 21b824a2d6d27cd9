use serde_json::json;

use super::*;

fn parse(text: &str) -> (Vec<Definition>, Vec<String>) {
    let file = read(Path::new("hooks.yaml"), text, Broken::IsLeftOut);
    let problems = file.problems.iter().map(|it| format!("{} [{}]", it.what, it.hint)).collect();
    (file.definitions, problems)
}

fn only_problem(text: &str) -> String {
    let (_, problems) = parse(text);
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems.into_iter().next().unwrap()
}

const WHOLE: &str = r#"
version: 1
hooks:
  pre_tool_use:
    - name: guard
      type: command
      command: "exit 1"
      match: {tool: Bash}
      message: not here
      enabled: false
      on_failure: ask
      timeout: {seconds: 5, on_timeout: continue}
    - name: script
      type: script
      script: ./scripts/check.py
      timeout: 0.5
  pre_message:
    - name: classify
      type: prompt
      prompt: "{{message}}"
      model: small
"#;

#[test]
fn every_key_is_read() {
    let (hooks, problems) = parse(WHOLE);
    assert_eq!(problems, Vec::<String>::new());
    let [guard, script, classify] = hooks.as_slice() else { panic!("{hooks:?}") };
    assert_eq!((guard.event, guard.line), (Event::PreToolUse, 5));
    assert!(!guard.enabled);
    assert_eq!(guard.on_failure, OnFailure::Ask);
    assert_eq!(guard.message.as_deref(), Some("not here"));
    let timeout = Timeout { limit: Duration::from_secs(5), then: OnTimeout::Continue };
    assert_eq!(guard.timeout, timeout);
    assert_eq!(script.timeout.limit, Duration::from_millis(500));
    assert_eq!(script.timeout.then, OnTimeout::Block);
    assert_eq!(script.on_failure, OnFailure::Continue);
    assert!(
        matches!(&classify.action, Action::Prompt { model: Some(model), .. } if model == "small")
    );
}

#[test]
fn invalid_entry_is_one_message_with_its_line() {
    for (entry, words) in [
        ("{type: command, command: x}", "it has no `name`"),
        ("{name: a, command: x}", "it has no `type`"),
        ("{name: a, type: comand, command: x}", "did you mean `command`?"),
        ("{name: a, type: script, command: x}", "it has no `script`"),
        ("{name: a, type: command, command: [x]}", "`command` is a list"),
        ("{name: a, type: command, command: x, timeout: 0}", "between 0 and 86400"),
        ("{name: a, type: command, command: x, timeout: {second: 3}}", "no `second`"),
        ("{name: a, type: command, command: x, timeout: {on_timeout: stop}}", "`block` or"),
        ("{name: a, type: command, command: x, enabled: maybe}", "true or false"),
        ("{name: a, type: command, command: x, on_failure: stop}", "`block`, `ask`"),
        ("{name: a, type: command, command: x, match: Bash}", "`match` is text"),
        ("just text", "it is text"),
    ] {
        let text = format!(
            "hooks:\n  error:\n    - {{name: one, type: command, command: 'true'}}\n    - {entry}\n"
        );
        let (hooks, problems) = parse(&text);
        assert_eq!(hooks.len(), 1, "{entry}");
        assert_eq!(problems.len(), 1, "{entry}: {problems:?}");
        assert!(problems[0].starts_with("line 4: this hook is left out: "), "{problems:?}");
        assert!(problems[0].contains(words), "{problems:?}");
    }
}

#[test]
fn broken_guard_with_on_failure_block_blocks() {
    for (entry, count) in [
        ("{name: g, type: command, on_failure: block}", 1),
        ("{name: g, type: comand, command: x, on_failure: ask}", 1),
        ("{name: g, type: command, on_failure: block, enabled: false}", 0),
        ("{name: g, type: command}", 0),
    ] {
        let (hooks, problems) = parse(&format!("hooks:\n  pre_tool_use:\n    - {entry}\n"));
        assert_eq!((hooks.len(), problems.len()), (count, 1), "{entry}");
        if count == 1 {
            assert!(
                problems[0].contains("until the file is corrected: pre_tool_use"),
                "{problems:?}"
            );
            assert_eq!(hooks[0].on_failure, OnFailure::Block);
        }
    }
}

#[test]
fn unknown_key_is_reported_and_the_guard_stays() {
    let text = "hooks:\n  pre_tool_use:\n    - name: a\n      type: command\n      command: x\n      \
                on_failur: block\n";
    let (hooks, problems) = parse(text);
    assert_eq!(hooks.len(), 1);
    assert_eq!(
        problems,
        ["line 6: hook `a`: `on_failur` has no meaning [did you mean `on_failure`?]"]
    );
}

#[test]
fn an_unknown_event_is_reported_with_a_suggestion() {
    let problem = only_problem("hooks:\n  on_error:\n    - {name: a, type: command, command: x}\n");
    assert!(problem.contains("there is no event `on_error`"), "{problem}");
    assert!(problem.contains("did you mean `error`?"), "{problem}");
}

#[test]
fn impossible_match_is_reported() {
    let entry = |matcher: &str| {
        format!(
            "hooks:\n  pre_tool_use:\n    - {{name: a, type: command, command: x, match: {matcher}}}\n"
        )
    };
    let problem = only_problem(&entry("{tool_name: '*'}"));
    assert!(problem.contains("hook `a` never runs"), "{problem}");
    assert!(problem.contains("did you mean `tool`?"), "{problem}");
    let problem = only_problem(&entry("{tool_input.command: '(ab'}"));
    assert!(problem.contains("it is treated as plain text"), "{problem}");
}

#[test]
fn file_of_another_shape_is_one_message() {
    assert!(only_problem("- a\n").contains("this is a list"));
    assert!(only_problem("hooks: [a]\n").contains("`hooks` is a list"));
    assert!(only_problem("hooks:\n  error: x\n").contains("`error` is text"));
    assert!(only_problem("hooks: {a: [\n").contains("none of its hooks runs"));
    assert!(only_problem("version: 2\nhooks: {}\n").contains("only version 1"));
    assert!(only_problem("pre_tool_use: []\n").contains("beneath `hooks:`"));
    for empty in ["", "# nothing\n", "hooks:\n", "hooks:\n  error:\n", "version: 1\n"] {
        assert_eq!(parse(empty).1, Vec::<String>::new(), "{empty:?}");
    }
}

#[test]
fn repeated_event_keeps_all_hooks() {
    let one = "  error:\n    - {name: a, type: command, command: x}\n";
    let (hooks, problems) = parse(&format!("hooks:\n{one}{one}"));
    assert_eq!(hooks.len(), 2);
    assert!(problems.iter().any(|it| it.contains("`error` appears twice")), "{problems:?}");
    assert!(problems.iter().any(|it| it.contains("called `a`; both run")), "{problems:?}");
}

#[test]
fn hooks_are_read_from_a_value() {
    let value = json!({
        "version": 1,
        "hooks": {"error": [
            {"name": "a", "type": "command", "command": "x", "event": null, "match": {},
             "script": null, "prompt": null, "model": null, "message": null,
             "timeout": {"seconds": 30, "on_timeout": "block"}, "enabled": true},
            {"name": "b"},
        ]},
    });
    let file = from_value(Path::new("entry point x"), &value);
    assert_eq!(file.definitions.len(), 1);
    assert_eq!(file.problems.len(), 1);
    assert!(file.problems[0].what.starts_with("this hook is left out"), "{:?}", file.problems);
}

fn blocks(text: &str) -> Vec<(Event, String)> {
    let file = read(Path::new("/c/hooks.yaml"), text, Broken::Blocks);
    let refusals = file.definitions.into_iter().filter_map(|hook| match hook.action {
        Action::Refuse(why) => Some((hook.event, why)),
        Action::Command(_) | Action::Script(_) | Action::Prompt { .. } => None,
    });
    refusals.collect()
}

#[test]
fn invalid_guard_blocks_with_its_place_and_reason() {
    for (entry, words) in [
        ("{name: g, type: command, on_failure: block}", "it has no `command`"),
        ("{name: g, type: comand, command: x}", "did you mean `command`?"),
        ("{name: g, type: command, command: x, match: {tol: Bash}}", "did you mean `tool`?"),
        ("{name: g, type: command, command: x, match: {tool: 'Ba(sh'}}", "correct the expression"),
        ("just text", "it is text"),
    ] {
        let found = blocks(&format!("hooks:\n  pre_tool_use:\n    - {entry}\n"));
        let [(Event::PreToolUse, why)] = found.as_slice() else { panic!("{entry}: {found:?}") };
        assert!(why.starts_with("/c/hooks.yaml: line 3: "), "{why}");
        assert!(
            why.contains(words) && why.contains("until the file is corrected: pre_tool_use"),
            "{why}"
        );
    }
    let entry = "    - {name: a, type: comand, command: x}\n";
    let events = |text: &str| -> Vec<Event> { blocks(text).into_iter().map(|it| it.0).collect() };
    assert_eq!(events(&format!("hooks:\n  pre_tool_us:\n{entry}")), [Event::PreToolUse]);
    assert_eq!(events(&format!("PreToolUse:\n{entry}")), [Event::PreToolUse]);
    for whole in ["hooks: {a: [\n", "- a\n", "hooks: [a]\n", "hook: {}\n"] {
        assert_eq!(events(whole), EVERY_GUARD, "{whole}");
    }
}

#[test]
fn invalid_observer_blocks_nothing() {
    for text in [
        "hooks:\n  error:\n    - {name: g, type: comand}\n",
        "hooks:\n  on_error:\n    - {name: g, type: command, command: x}\n",
        "hooks:\n  pre_tool_use:\n    - {name: g, type: comand, on_failure: continue}\n",
        "hooks:\n  pre_tool_use:\n    - {name: g, type: comand, enabled: false}\n",
        "hooks:\n  pre_tool_us:\n    - {name: g, type: command, on_failure: continue}\n",
        "hooks:\n  pre_tool_us:\n",
        "hooks:\n  wibble:\n    - {name: g}\n",
    ] {
        assert_eq!(blocks(text), Vec::new(), "{text}");
    }
}

#[test]
fn broken_guard_blocks_only_its_matches() {
    let text = "hooks:\n  pre_tool_use:\n    - {name: g, type: comand, match: {tool: Bash}}\n";
    let file = read(Path::new("hooks.yaml"), text, Broken::Blocks);
    let fits = |tool: &str| {
        let fields = json!({"tool": tool}).as_object().cloned().unwrap_or_default();
        file.definitions[0].matcher.fits(&fields)
    };
    assert!(fits("Bash") && !fits("Read"));
    assert_eq!(file.definitions[0].name, "g");
}
