//! Modes, questions, denials, rules, dry runs, and the sandbox behind them.

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply, Run};

use crate::{has_bubblewrap, project, project_with};

fn bash(command: &str) -> String {
    json!({ "command": command }).to_string()
}

fn exec(project: &Project, tool: &str, input: &str, flags: &[&str]) -> Run {
    let mut words = vec!["tools", "exec", tool, "--input", input];
    words.extend(flags);
    project.brynhild(&words)
}

/// The result of the last call that the model received.
fn last_result(server: &ModelServer) -> Value {
    let requests = server.chats();
    requests.last().unwrap().body["messages"].as_array().unwrap().last().unwrap().clone()
}

#[test]
fn harmless_commands_run_without_a_question() {
    let project = project();
    project.file("a.txt", "hello\n");
    let run = exec(&project, "Bash", &bash("cat a.txt | head -1"), &[]);
    run.success();
    assert_eq!(run.stdout, "hello\n");
}

#[test]
fn unanswerable_question_exits_with_3() {
    let project = project();
    let run = exec(&project, "Bash", &bash("touch made"), &["--mode", "ask", "--json"]);
    run.code(3);
    assert_eq!(run.json()["outcome"], "unanswered");
    assert!(!project.path().join("made").exists());
    let write = json!({"file_path": "made", "content": "x"}).to_string();
    exec(&project, "Write", &write, &["--mode", "ask"]).code(3);
    assert!(!project.path().join("made").exists());
}

#[test]
fn denied_call_is_reported_to_the_model() {
    let server = ModelServer::start([
        Reply::calls([("Bash", json!({"command": "touch made"}))]),
        Reply::text("I could not."),
    ]);
    let project = project_with(&server);
    let run = project.brynhild(&["--mode", "ask", "chat", "make it"]);
    run.code(3);
    assert_eq!(run.stdout, "I could not.\n");
    assert!(run.stderr.contains("`--yes`"), "{run}");
    let result = last_result(&server);
    assert!(
        result["content"]
            .as_str()
            .unwrap()
            .starts_with("Permission denied: this call needs approval")
    );
    assert!(!project.path().join("made").exists());
}

#[test]
fn hint_of_a_destructive_command_does_not_name_yes() {
    let server = ModelServer::start([
        Reply::calls([("Bash", json!({"command": "rm -rf ./*"}))]),
        Reply::text("I could not."),
    ]);
    let run = project_with(&server).brynhild(&["--yes", "chat", "go"]);
    assert!(run.stderr.contains("no terminal to ask"), "{run}");
    assert!(run.stderr.contains("or name the command in an allow rule"), "{run}");
    assert!(!run.stderr.contains("`--yes`"), "{run}");
}

#[test]
fn rule_with_a_miscased_tool_denies_but_never_allows() {
    let project = project();
    project.config(
        "tools:\n  bash: {blocked_commands: [curl], allowed_commands: [touch]}\n  \
         Bash: {blocked_commands: [wget]}\n  disabled: {grep: true}\n",
    );
    for command in ["curl x", "wget x"] {
        let run = project.brynhild(&["--mode", "yolo", "policy", "check", "--", command]);
        run.code(1);
        assert!(run.stderr.contains("`tools.bash` counts for `Bash` where it forbids"), "{run}");
    }
    let run = project.brynhild(&["--mode", "ask", "policy", "check", "--", "touch made"]);
    assert_ne!(run.status.code(), Some(0), "{run}");
    let run = project.brynhild(&["tools", "list"]);
    assert!(!run.success().stdout.contains("Grep"), "{run}");
}

#[test]
fn yes_approves_and_yolo_does_not_ask() {
    let project = project();
    exec(&project, "Bash", &bash("touch one"), &["--yes"]).success();
    exec(&project, "Bash", &bash("touch two"), &["--mode", "yolo"]).success();
    assert!(project.path().join("one").exists() && project.path().join("two").exists());
}

#[test]
fn read_only_mode_writes_nothing_despite_approval() {
    let project = project();
    project.file("a.txt", "old\n");
    let write = json!({"file_path": "a.txt", "content": "new"}).to_string();
    exec(&project, "Write", &write, &["--mode", "read-only", "--yes"]).code(1);
    exec(&project, "Bash", &bash("echo new > a.txt"), &["--mode", "read-only", "--yes"]).code(1);
    let sneaky = "python3 -c \"open('a.txt','w').write('new')\"";
    exec(&project, "Bash", &bash(sneaky), &["--mode", "read-only", "--yes"]).code(1);
    assert_eq!(project.read("a.txt"), "old\n");
    let read = json!({"file_path": "a.txt"}).to_string();
    exec(&project, "Read", &read, &["--mode", "read-only"]).success();
}

#[test]
fn deny_rules_apply_in_yolo_and_with_yes() {
    let project = project();
    project.config("permissions:\n  deny: ['Bash(touch:*)']\n");
    for flags in [&["--yes"][..], &["--mode", "yolo"][..]] {
        let run = exec(&project, "Bash", &bash("true && t\\ouch made"), flags);
        run.code(1);
        assert!(run.stderr.contains("Permission denied"), "{run}");
    }
    assert!(!project.path().join("made").exists());
}

#[test]
fn allow_rules_of_the_project_are_ignored() {
    let own = project();
    own.config("permissions:\n  allow: ['Bash(touch:*)']\n");
    exec(&own, "Bash", &bash("touch made"), &["--mode", "ask"]).success();
    let hostile = project();
    hostile.file(".brynhild/config.yaml", "permissions:\n  allow: ['Bash(touch:*)']\n");
    let run = exec(&hostile, "Bash", &bash("touch made"), &["--mode", "ask"]);
    run.code(3);
    assert!(run.stderr.contains("permissions.allow"), "{run}");
}

#[test]
fn rule_that_fails_its_example_stops_the_program() {
    let project = project();
    project.config(
        "permissions:\n  allow:\n    - tool: Bash\n      command: git status\n      match: [git \
         push]\n",
    );
    let run = exec(&project, "Bash", &bash("git status"), &[]);
    run.code(2);
    assert!(run.stderr.contains("git push") && run.stderr.contains("config.yaml"), "{run}");
}

#[test]
fn tool_settings_take_effect() {
    let project = project();
    project.config(
        "tools:\n  Bash:\n    blocked_commands: [ls]\n    allowed_commands: ['touch']\n  Read:\n    \
         require_approval: always\n  Write:\n    require_approval: never\n",
    );
    exec(&project, "Bash", &bash("ls"), &["--yes"]).code(1);
    let in_ask = ["--mode", "ask"];
    exec(&project, "Bash", &bash("touch made"), &in_ask).success();
    let read = json!({"file_path": "made"}).to_string();
    exec(&project, "Read", &read, &[]).code(3);
    let write = json!({"file_path": "written", "content": "x"}).to_string();
    exec(&project, "Write", &write, &in_ask).success();
}

#[test]
fn every_ruling_is_in_the_event_stream_with_its_reasons() {
    let server = ModelServer::start([
        Reply::calls([("Bash", json!({"command": "rm -rf /"}))]),
        Reply::text("no"),
    ]);
    let project = project_with(&server);
    let run = project.brynhild(&["chat", "--yes", "--output-format", "stream-json", "clean up"]);
    let judged = run.json_lines().into_iter().find(|event| event["type"] == "tool_judged").unwrap();
    assert_eq!(judged["ruling"]["decision"], "deny");
    assert!(!judged["ruling"]["reasons"].as_array().unwrap().is_empty());
}

#[test]
fn command_sees_no_home_keys_or_network() {
    let project = project().env("OPENROUTER_API_KEY", "sk-secret-value");
    std::fs::write(project.home().join("private.txt"), "secret").unwrap();
    let command = "cat ~/private.txt; env; ls -a ~; cat < /dev/tcp/127.0.0.1/9";
    let run = exec(&project, "Bash", &bash(command), &["--mode", "yolo"]);
    let shown = format!("{}{}", run.stdout, run.stderr);
    assert!(!shown.contains("secret"), "{run}");
}

#[test]
fn a_key_is_not_passed_on_under_another_name() {
    let project = project()
        .env("OPENROUTER_API_KEY", "sk-secret-value")
        .env("EDITOR", "vi --key=sk-secret-value")
        .env("LC_ALL", "sk-secret-value")
        .env("LANG", "C.UTF-8");
    let run = exec(&project, "Bash", &bash("env"), &["--yes"]);
    run.success();
    assert!(run.stdout.contains("LANG=C.UTF-8") && !run.stdout.contains("secret"), "{run}");
}

#[test]
fn protected_directories_of_the_project_cannot_be_written() {
    let project = project();
    project.file(".git/config", "[core]\n").file(".brynhild/rules.md", "be good\n");
    let command = "echo evil >> .git/config; echo evil >> .brynhild/rules.md; mkdir .claude";
    exec(&project, "Bash", &bash(command), &["--mode", "yolo"]);
    assert_eq!(project.read(".git/config"), "[core]\n");
    assert_eq!(project.read(".brynhild/rules.md"), "be good\n");
    let write = json!({"file_path": ".git/config", "content": "evil"}).to_string();
    let run = exec(&project, "Write", &write, &["--yes"]);
    run.code(1);
    assert!(run.stderr.contains("protected location"), "{run}");
}

#[test]
fn only_the_user_disables_the_sandbox() {
    let hostile = project();
    hostile.file(
        ".brynhild/config.yaml",
        "dangerously_skip_sandbox: true\ndangerously_skip_permissions: true\nsandbox:\n  enabled: \
         false\n",
    );
    let outside = hostile.home().join("outside.txt");
    let command = format!("echo x > {}", outside.display());
    let run = exec(&hostile, "Bash", &bash(&command), &["--yes"]);
    assert!(!outside.exists(), "{run}");
    let run = hostile
        .command(&["tools", "exec", "Bash", "--input", &bash(&command), "--yes"])
        .env("BRYNHILD_DANGEROUSLY_SKIP_SANDBOX", "true")
        .env("BRYNHILD_SANDBOX__ENABLED", "false")
        .run();
    assert!(!outside.exists(), "{run}");
    let run = exec(&hostile, "Bash", &bash(&command), &["--yes", "--dangerously-skip-sandbox"]);
    run.success();
    assert!(run.stderr.contains("without a sandbox"), "{run}");
    assert!(outside.exists());
}

#[test]
fn tool_refusal_is_a_denial_and_bad_input_misuse() {
    let project = project();
    let input = r#"{"file_path": ".git/config", "content": "x"}"#;
    let words = ["policy", "explain", "--tool", "Write", "--input", input];
    let run = project.brynhild(&[&words[..], &["--json"]].concat());
    run.code(1);
    let told: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(told["ruling"]["decision"], "deny", "{told}");
    assert_eq!(told["ruling"]["reasons"][0]["origin"], "tool Write", "{told}");
    let run = project.brynhild(&words);
    run.code(1);
    assert!(run.stdout.starts_with("deny\n"), "{run}");
    project.brynhild(&["policy", "explain", "--tool", "Write", "--input", "{}"]).code(2);
    project.brynhild(&["policy", "explain", "--tool", "Nothing", "--input", "{}"]).code(2);
}

#[test]
fn rule_for_an_unknown_tool_is_reported() {
    let project = project();
    project.config("permissions: {deny: ['bash(curl:*)', 'Reed(x)', 'Shell(wget)']}\n");
    let run = project.brynhild(&["--mode", "yolo", "policy", "check", "curl x"]);
    run.code(1);
    for told in [
        "rule `bash(curl:*)`: there is no tool `bash`; the rule applies to `Bash`",
        "rule `Reed(x)`: there is no tool `Reed` (did you mean `Read`?)",
        "rule `Shell(wget)`: there is no tool `Shell`, and no plugin or server provides one",
    ] {
        assert_eq!(run.stderr.matches(told).count(), 1, "{told}: {run}");
    }
    project.config("permissions: {deny: [{tool: BASH, command: 'curl:*'}], allow: [bash]}\n");
    let run = project.brynhild(&["--mode", "yolo", "policy", "check", "curl x"]);
    run.code(1);
    let run = project.brynhild(&["--mode", "ask", "policy", "check", "touch x"]);
    run.code(3);
    assert!(run.stderr.contains("has no effect; use `Bash`"), "{run}");
    project.config(
        "permissions: {deny: ['Bash(curl:*)', 'mcp__x__y', 'my*', 'Host(a.example)'], \
                 allow: [ListMcpResources, ReadMcpResource, ToolSearch]}\n",
    );
    let run = project.brynhild(&["policy", "check", "ls"]);
    run.success();
    assert!(!run.stderr.contains("there is no tool"), "{run}");
}

#[test]
fn deceptive_rule_is_reported_once() {
    let project = project();
    project.config(
        "permissions: {deny: [\"Bash(\\u200bcurl:*)\", \"Bash(\\u0441url:*)\", \"Read(\\u0434\\u043e\\u043c/**)\", \
         'mcp__x__read(secret/**)', {tool: mcp__y__read, path: secret/**}, 'mcp__z__*', 'Reed(x)']}\n",
    );
    let explain = ["policy", "explain", "--tool", "Read", "--input", "{\"file_path\": \"a\"}"];
    let run = project.brynhild(&explain);
    for told in [
        "rule `Bash(\\u{200b}curl:*)`: the characters shown as",
        "rule `Bash(\\u{441}url:*)`: the characters shown as",
        "so that this means nothing; write `mcp__x__read`",
        "so that this means nothing; write `mcp__y__read`",
        "did you mean `Read`",
    ] {
        assert_eq!(run.stderr.matches(told).count(), 1, "{told}: {run}");
    }
    assert_eq!(run.stderr.matches("warning").count(), 5, "{run}");
}

#[test]
fn pattern_inside_a_word_of_an_allow_rule_is_reported() {
    let project = project();
    for (rule, code, told) in [
        ("Bash(cargo t*)", 3, "takes `t*` literally; write the words in full"),
        ("Bash(cargo test:*)", 0, ""),
        ("Bash(cargo test *)", 0, ""),
    ] {
        project.config(&format!("permissions: {{allow: ['{rule}']}}\n"));
        let run = project.brynhild(&["--mode", "ask", "policy", "check", "cargo test --all"]);
        run.code(code);
        assert!(run.stderr.contains(told) && run.stderr.is_empty() == told.is_empty(), "{run}");
    }
}

#[test]
fn map_rule_equals_the_short_form() {
    let project = project();
    project.file("secret/k", "CANARY\n").file("tests/t.rs", "as it was\n");
    project.config(
        "permissions: {deny: [{tool: Read, path: 'secret/**', match: [secret/k]}, \
         {tool: Edit, path: 'tests/**'}]}\n",
    );
    for command in ["cat secret/k", "grep -r x secret", "touch tests/a"] {
        project.brynhild(&["policy", "check", command]).code(1);
    }
    let run = project.brynhild(&["tools", "exec", "Grep", "--input", "{\"pattern\": \"C\"}"]);
    assert!(!run.stdout.contains("CANARY"), "{run}");
    let input = "{\"file_path\": \"tests/t.rs\", \"content\": \"x\"}";
    let run = project
        .brynhild(&["--mode", "yolo", "policy", "explain", "--tool", "Write", "--input", input]);
    run.code(1);
    if has_bubblewrap() {
        let run = project.brynhild(&["sandbox", "run", "--", "cat", "secret/k"]);
        assert!(!run.stdout.contains("CANARY"), "{run}");
    }
}

#[test]
fn deny_rule_is_effective_or_stops_the_program() {
    let project = project();
    for (rule, command) in [
        ("Bash(git push*)", "git push"),
        ("Bash(curl|wget)", "wget x"),
        ("Edit(/src/**)", "echo x > src/a"),
        ("Read(secret/**)", "grep -fsecret/k f"),
    ] {
        project.config(&format!("permissions: {{deny: ['{rule}']}}\n"));
        project.brynhild(&["--mode", "yolo", "policy", "check", command]).code(1);
    }
    project.config("permissions: {deny: ['Host(evil.test)']}\n");
    let input = json!({"command": "wget -i list", "network": ["evil.test"]}).to_string();
    let words = ["--mode", "yolo", "policy", "explain", "--tool", "Bash", "--input", &input];
    project.brynhild(&words).code(1);
    for rule in ["Bash:curl", "Bash(curl | wget)", "Read([)"] {
        project.config(&format!("permissions: {{deny: ['{rule}']}}\n"));
        let run = project.brynhild(&["policy", "check", "ls"]);
        assert!(run.code(2).stderr.contains("cannot read rule"), "{run}");
    }
}

#[test]
fn deny_rule_covers_equivalent_tools() {
    let project = project();
    let tools = json!([{"type": "shell"}, {"type": "filesystem", "read_only": false}]);
    project.file("r.yaml", json!({"name": "r", "prompt": "p", "tools": tools}).to_string());
    let call = |tool: &str, input: &str| {
        let words = ["tools", "exec", tool, "--role", "r.yaml", "--input", input, "--yes"];
        project.brynhild(&words)
    };
    let shell = || call("run_shell", r#"{"command": "mkdir made"}"#);
    let write = || call("write_file", r#"{"path": "w.txt", "content": "x"}"#);
    for rules in
        ["permissions: {deny: [Bash, Write]}", "tools: {Bash: {blocked_commands: [mkdir]}}"]
    {
        project.config(&format!("{rules}\n"));
        assert!(shell().code(1).stderr.contains("denied"), "{rules}");
        assert!(!project.path().join("made").exists(), "{rules}");
    }
    project.config("permissions: {deny: [Bash, Write]}\n");
    assert!(write().code(1).stderr.contains("denied"));
    project.config("");
    shell().success();
    write().success();
    assert!(project.path().join("made").exists() && project.path().join("w.txt").exists());
}

#[test]
#[cfg(target_os = "linux")]
fn deny_rule_covers_symlinks_with_non_utf8_names() {
    use std::os::unix::ffi::OsStrExt as _;
    let project = project();
    project.file("secrets/api.key", "hidden\n");
    let name = std::ffi::OsStr::from_bytes(b"yy\xff");
    std::os::unix::fs::symlink("secrets/api.key", project.path().join(name)).unwrap();
    project.config("permissions:\n  deny: ['Read(secrets/**)']\n");
    let run = exec(&project, "Bash", &bash("cat ./yy*"), &["--mode", "yolo"]);
    assert!(!run.stdout.contains("hidden"), "{run}");
    assert_ne!(run.status.code(), Some(0), "{run}");
}
