//! Permissions that outlive a session: what is kept of an approval, where, for how long, and how it
//! is taken back.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply, Terminal};

use crate::{project, project_with};

const SIZE: (u16, u16) = (100, 45);

fn bash(command: &str) -> Reply {
    Reply::calls([("Bash", json!({ "command": command }))])
}

/// A project whose model wants to run these commands, one in each run.
fn wanting(commands: &[&str]) -> (ModelServer, Project) {
    let replies = commands.iter().flat_map(|command| [bash(command), Reply::text("done")]);
    let server = ModelServer::start(replies.collect::<Vec<_>>());
    let project = project_with(&server);
    (server, project)
}

/// Starts a chat and waits for its question.
fn start_chat_and_wait_for_question(project: &Project) -> (Terminal, String) {
    let terminal = project.terminal(&["--mode", "ask", "chat", "do it"], SIZE);
    let screen = terminal.wait_for("Answer [");
    (terminal, screen)
}

fn answer(project: &Project, keys: &str) {
    let (terminal, _) = start_chat_and_wait_for_question(project);
    terminal.send(keys);
    assert_eq!(terminal.wait_for_end(), Some(0), "{}", terminal.screen());
}

/// The ruling on a command: 0 allow, 3 ask, 1 deny.
fn ruling(project: &Project, command: &str) -> i32 {
    project.brynhild(&["--mode", "ask", "policy", "check", command]).status.code().unwrap()
}

fn list(project: &Project) -> Vec<Value> {
    let run = project.brynhild(&["permissions", "--json"]);
    run.success();
    run.json().as_array().unwrap().clone()
}

fn file(project: &Project) -> std::path::PathBuf {
    project.config_directory().join("permissions.jsonl")
}

fn record(rule: &str, project: Option<&str>) -> String {
    let record = json!({"rule": rule, "project": project, "directory": "", "tool": "Bash",
        "source": "builtin", "at": "2026-01-02T03:04:05Z"});
    format!("{record}\n")
}

#[test]
fn project_approval_applies_to_later_sessions_only_there() {
    let (server, project) = wanting(&["touch made", "touch made"]);
    let (terminal, screen) = start_chat_and_wait_for_question(&project);
    assert!(screen.contains("always allow `touch` in this project"), "{screen}");
    terminal.send("2\r");
    assert_eq!(terminal.wait_for_end(), Some(0));
    let run = project.brynhild(&["--mode", "ask", "chat", "again"]);
    run.success();
    assert_eq!(server.chats().len(), 4);
    let rows = list(&project);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(rows[0]["rule"], "Bash(touch:*)");
    let real = project.path().canonicalize().unwrap();
    assert_eq!(rows[0]["project"], real.display().to_string());
    let check = ["--mode", "ask", "policy", "check", "touch made"];
    let explained = project.brynhild(&check);
    assert!(explained.stdout.contains("permissions.jsonl"), "{explained}");
    let other = project.home().join("other");
    fs::create_dir_all(other.join(".git")).unwrap();
    project.command(&check).cwd(&other).run().code(3);
    assert_eq!(ruling(&project, "touch other"), 0);
    assert_eq!(ruling(&project, "touch other; mkdir made"), 3);
}

#[test]
fn once_and_session_approvals_are_not_stored() {
    for keys in ["1\r", "3\r"] {
        let (_server, project) = wanting(&["touch made"]);
        answer(&project, keys);
        assert!(project.path().join("made").exists());
        assert!(list(&project).is_empty(), "{keys:?}");
        assert_eq!(ruling(&project, "touch made"), 3);
        let input = r#"{"command": "touch made"}"#;
        let words = ["--mode", "ask", "tools", "exec", "Bash", "--continue", "--input", input];
        let session = project.brynhild(&words);
        assert_ne!(session.status.code(), Some(0), "{session}");
    }
}

#[test]
fn session_approval_covers_the_next_call() {
    let server = ModelServer::start([bash("touch made"), bash("touch made"), Reply::text("done")]);
    let project = project_with(&server);
    let (terminal, _) = start_chat_and_wait_for_question(&project);
    terminal.send("3\r");
    assert_eq!(terminal.wait_for_end(), Some(0), "{}", terminal.screen());
    assert_eq!(server.chats().len(), 3);
}

#[test]
fn compound_command_is_approved_by_its_parts() {
    let (_server, project) = wanting(&["git status && touch one && cargo build"]);
    answer(&project, "2\r");
    let rules: Vec<Value> = list(&project).iter().map(|row| row["rule"].clone()).collect();
    assert_eq!(rules, ["Bash(touch:*)", "Bash(cargo build:*)"]);
    assert_eq!(ruling(&project, "touch two"), 0);
    assert_eq!(ruling(&project, "touch two && cargo test"), 3);
}

#[test]
fn approvals_of_interpreters_are_limited_to_the_sandbox() {
    let commands = [
        ("bash x.sh", "`bash`"),
        ("python3 -c pass", "`python3`"),
        ("git commit -m x", "`git commit`"),
        ("make all", "`make`"),
    ];
    let (_server, project) = wanting(&commands.map(|(command, _)| command));
    for (command, target) in commands {
        let (terminal, screen) = start_chat_and_wait_for_question(&project);
        assert!(screen.contains(&format!("always allow {target} in this project")), "{screen}");
        terminal.send("2\r");
        assert_eq!(terminal.wait_for_end(), Some(0), "{}", terminal.screen());
        assert_eq!(ruling(&project, command), 0);
    }
}

#[test]
fn destructive_command_is_never_approved_permanently() {
    let (_server, project) = wanting(&["git reset --hard"]);
    let (terminal, screen) = start_chat_and_wait_for_question(&project);
    assert!(!screen.contains("always allow"), "{screen}");
    terminal.send("1\r");
    assert_eq!(terminal.wait_for_end(), Some(0));
    assert!(list(&project).is_empty());
}

#[test]
fn deny_rule_overrides_a_stored_approval() {
    let (_server, project) = wanting(&["touch made"]);
    answer(&project, "2\r");
    assert_eq!(ruling(&project, "touch made"), 0);
    project.config("permissions:\n  deny: ['Bash(touch:*)']\n");
    assert_eq!(ruling(&project, "touch made"), 1);
    project.file(".brynhild/config.yaml", "permissions:\n  ask: ['Bash(touch:*)']\n");
    project.config("");
    assert_eq!(ruling(&project, "touch made"), 3);
}

#[test]
fn log_records_offered_and_stored_approvals() {
    let (_server, project) = wanting(&["touch made"]);
    let (terminal, _) = start_chat_and_wait_for_question(&project);
    terminal.send("2\r");
    assert_eq!(terminal.wait_for_end(), Some(0));
    let sessions = fs::read_dir(project.config_directory().join("sessions")).unwrap();
    let is_log = |path: &std::path::PathBuf| path.extension().is_some_and(|it| it == "jsonl");
    let log = sessions.map(|entry| entry.unwrap().path()).find(is_log).unwrap();
    let text = fs::read_to_string(log).unwrap();
    assert!(text.contains(r#""remember":["Bash(touch:*)"]"#), "{text}");
    assert!(text.contains(r#""answer":{"answer":"project"},"rules":["Bash(touch:*)"]"#), "{text}");
}

#[test]
fn approvals_file_is_private_and_outside_the_workspace() {
    let (_server, project) = wanting(&["touch made"]);
    answer(&project, "2\r");
    let mode = fs::metadata(file(&project)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let names: Vec<_> = fs::read_dir(project.path()).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    let write = json!({"file_path": file(&project), "content": ""}).to_string();
    let run = project.brynhild(&["tools", "exec", "Write", "--input", &write, "--mode", "yolo"]);
    assert_ne!(run.status.code(), Some(0), "{run}");
    assert_eq!(list(&project).len(), 1);
}

#[test]
fn approvals_are_listed_and_revoked() {
    let project = project();
    fs::create_dir_all(project.config_directory()).unwrap();
    let lines = [
        record("Bash(touch a)", None),
        record("Bash(touch b)", Some("/somewhere")),
        record("Bash(touch b)", None),
    ];
    fs::write(file(&project), lines.concat()).unwrap();
    let shown = project.brynhild(&["permissions", "list"]);
    shown.success();
    assert!(shown.stdout.contains("1  Bash(touch a)  every project  2026-01-02"), "{shown}");
    assert!(shown.stdout.contains("2  Bash(touch b)  /somewhere "), "{shown}");
    assert_eq!(ruling(&project, "touch a"), 0);
    let revoked = project.brynhild(&["permissions", "revoke", "1"]);
    revoked.success();
    assert_eq!(revoked.stdout, "Revoked: Bash(touch a) (every project)\n");
    assert_eq!(ruling(&project, "touch a"), 3);
    project.brynhild(&["permissions", "revoke", "Bash(touch b)"]).success();
    assert!(list(&project).is_empty());
    let unknown = project.brynhild(&["permissions", "revoke", "7"]);
    unknown.code(2);
    assert!(unknown.stderr.contains("no remembered permission is `7`"), "{unknown}");
}

#[test]
fn clearing_approvals_needs_confirmation() {
    let project = project();
    fs::create_dir_all(project.config_directory()).unwrap();
    fs::write(file(&project), record("Bash(touch a)", None)).unwrap();
    project.brynhild(&["permissions", "clear"]).code(3);
    assert_eq!(list(&project).len(), 1);
    let terminal = project.terminal(&["permissions", "clear"], SIZE);
    terminal.wait_for("Forget 1 permissions?");
    terminal.send("\r");
    assert_eq!(terminal.wait_for_end(), Some(1));
    assert_eq!(list(&project).len(), 1);
    project.brynhild(&["permissions", "clear", "--yes"]).success();
    assert!(list(&project).is_empty());
    project.brynhild(&["permissions", "clear"]).success();
}

#[test]
fn broken_approvals_file_is_never_overwritten() {
    let (_server, project) = wanting(&["touch made"]);
    fs::create_dir_all(project.config_directory()).unwrap();
    let text = format!("{}not json\n", record("Bash(touch a)", None));
    fs::write(file(&project), &text).unwrap();
    let check = project.brynhild(&["--mode", "ask", "policy", "check", "touch a"]);
    check.code(3);
    assert_eq!(check.stderr.matches("permissions.jsonl").count(), 1, "{check}");
    assert!(check.stderr.contains("permissions.jsonl:2"), "{check}");
    answer(&project, "2\r");
    assert!(project.path().join("made").exists());
    assert_eq!(fs::read_to_string(file(&project)).unwrap(), text);
    let clear = project.brynhild(&["permissions", "clear", "--yes"]);
    clear.code(2);
    assert_eq!(fs::read_to_string(file(&project)).unwrap(), text);
}

#[test]
fn impossible_stored_rule_is_ignored_with_a_warning() {
    let project = project();
    fs::create_dir_all(project.config_directory()).unwrap();
    for rule in ["Bash", "Bash(*)", "Bash(touch"] {
        fs::write(file(&project), record(rule, None)).unwrap();
        let check = project.brynhild(&["--mode", "ask", "policy", "check", "touch a"]);
        check.code(3);
        assert!(check.stderr.contains("is ignored"), "{rule}: {check}");
    }
}

#[test]
fn concurrent_approvals_are_all_stored() {
    let project = project();
    fs::create_dir_all(project.config_directory()).unwrap();
    let lines: Vec<String> =
        (0..20).map(|number| record(&format!("Bash(touch n{number})"), None)).collect();
    fs::write(file(&project), lines.concat()).unwrap();
    let running: Vec<_> = (0..10)
        .map(|number| {
            let rule = format!("Bash(touch n{number})");
            project.command(&["permissions", "revoke", &rule]).spawn()
        })
        .collect();
    for run in running {
        run.wait().success();
    }
    assert_eq!(list(&project).len(), 10);
}

#[test]
fn question_shows_hidden_characters() {
    let hidden = format!("# list\nls{}; touch made\r\x1b[2K\u{202e}", " ".repeat(300));
    let (_server, project) = wanting(&[&hidden]);
    let (terminal, screen) = start_chat_and_wait_for_question(&project);
    for part in ["# list", "; touch made\\u{d}\\u{1b}[2K\\u{202e}", "300 spaces", "3 hidden"] {
        assert!(screen.contains(part), "{part} is missing:\n{screen}");
    }
    terminal.send("\r");
    assert_eq!(terminal.wait_for_end(), Some(0));
    assert!(!project.path().join("made").exists());
}

#[test]
fn question_escapes_lookalike_letters() {
    let (_server, project) = wanting(&["\u{441}at a; touch файл"]);
    let (terminal, screen) = start_chat_and_wait_for_question(&project);
    for part in ["\\u{441}at a; touch файл", "1 look-alike letter"] {
        assert!(screen.contains(part), "{part} is missing:\n{screen}");
    }
    terminal.send("\r");
    assert_eq!(terminal.wait_for_end(), Some(0));
}

#[test]
fn file_name_cannot_imitate_a_question() {
    let name = "a.txt\n  read /etc/passwd";
    let server = ModelServer::start([
        Reply::calls([("Write", json!({"file_path": name, "content": "x"}))]),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    let (terminal, screen) = start_chat_and_wait_for_question(&project);
    assert!(!screen.lines().any(|line| line.trim() == "read /etc/passwd"), "{screen}");
    terminal.send("n\r");
    terminal.wait_for_end();
}

#[test]
fn file_name_adds_no_diff_lines() {
    let name = "x\n+++ b/notes.md\n@@ -1 +1 @@\n-old note\n+new note\n/../build.sh";
    let server = ModelServer::start([
        Reply::calls([("Write", json!({"file_path": name, "content": "one\rtwo\n"}))]),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    let (terminal, screen) = start_chat_and_wait_for_question(&project);
    let begins = |text: &str| {
        screen.lines().any(|line| line.trim_start_matches(['│', '|', ' ']).starts_with(text))
    };
    for forged in ["-old note", "+new note", "+++ b/notes.md", "+two"] {
        assert!(!begins(forged), "{forged}:\n{screen}");
    }
    assert!(begins("+one\\u{d}two"), "{screen}");
    terminal.send("n\r");
    terminal.wait_for_end();
}

#[test]
fn question_shows_the_new_content() {
    let content = format!("{}evil\n", "harmless\n".repeat(5));
    let server = ModelServer::start([
        Reply::calls([("Write", json!({"file_path": "run.sh", "content": content}))]),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    fs::write(project.path().join("run.sh"), b"# caf\xe9\n").unwrap();
    let (terminal, screen) = start_chat_and_wait_for_question(&project);
    assert!(screen.contains("+harmless") && screen.contains("+evil"), "{screen}");
    terminal.send("n\r");
    terminal.wait_for_end();
}

#[test]
fn question_shows_arguments_without_a_diff() {
    let content = json!({"path": "a.txt", "content": "all of it"});
    let server = ModelServer::start([Reply::calls([("write_file", content)]), Reply::text("done")]);
    let project = project_with(&server);
    let tools = json!([{"type": "filesystem", "read_only": false}]);
    project.file("role.yaml", format!("name: helper\nprompt: You help.\ntools: {tools}\n"));
    let terminal = project.terminal(&["--mode", "ask", "run", "role.yaml", "-p", "do it"], SIZE);
    let screen = terminal.wait_for("Answer [");
    assert!(screen.contains("all of it"), "{screen}");
    terminal.send("n\r");
    terminal.wait_for_end();
}

#[test]
fn two_calls_can_be_answered_one_by_one() {
    let server = ModelServer::start([
        Reply::calls([
            ("Bash", json!({"command": "touch one"})),
            ("Bash", json!({"command": "touch two"})),
        ]),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    let (terminal, screen) = start_chat_and_wait_for_question(&project);
    assert!(screen.contains("Run these 2 commands?"), "{screen}");
    let waits = |count: usize| {
        terminal.wait_until("a question", |screen| {
            screen.contents().matches("Answer [").count() == count
        });
    };
    terminal.send("o\r");
    waits(2);
    terminal.send("y\r");
    waits(3);
    terminal.send("n\r");
    assert_eq!(terminal.wait_for_end(), Some(0));
    assert!(project.path().join("one").exists() && !project.path().join("two").exists());
}

#[test]
fn session_approvals_are_listed_and_revoked() {
    let (_server, project) = wanting(&["touch made", "touch made", "touch made"]);
    let terminal = project.terminal(&["--mode", "ask"], SIZE);
    terminal.wait_for("Ask anything");
    let allow = || {
        terminal.wait_for("Yes, for this session");
        terminal.send("3");
    };
    terminal.send("one\r");
    allow();
    terminal.wait_for("done");
    terminal.send("/permissions\r");
    terminal.wait_for("Permissions (1)");
    terminal.send("\r");
    terminal.wait_for("Taken back for this session: Bash(touch:*)");
    terminal.send("\x1b");
    terminal
        .wait_until("the panel is closed", |screen| !screen.contents().contains("Permissions ("));
    terminal.send("two\r");
    allow();
    terminal.wait_until("the second turn", |screen| screen.contents().matches("done").count() == 2);
    terminal.send("/permissions revoke Bash(other)\r");
    terminal.wait_for("nothing that was allowed is `Bash(other)`");
    terminal.send("\x14q");
    assert_eq!(terminal.wait_for_end(), Some(0));
}

#[test]
fn approval_of_a_project_server_or_role_is_per_project() {
    let project = project();
    let tools = json!([{"type": "filesystem", "read_only": false}]);
    project.file("role.yaml", format!("name: helper\nprompt: You help.\ntools: {tools}\n"));
    project.file("server.py", crate::mcp::SERVER);
    let servers = json!({"mcpServers": {"test": {"command": "python3", "args": ["server.py"]}}});
    project.file(".mcp.json", servers.to_string());
    project.brynhild(&["trust", "--yes"]).success();
    let root = project.path().canonicalize().unwrap();
    let echo = ["tools", "exec", "mcp__test__echo", "--input", r#"{"text": "x"}"#];
    let write = r#"{"path": "a", "content": "x"}"#;
    let write = ["tools", "exec", "write_file", "--role", "role.yaml", "--input", write];
    for (holds_in, code) in [(Some(&root), 0), (None, 3)] {
        let entry = |rule: String, tool: &str, source: &str| {
            let entry = json!({"rule": rule, "project": holds_in, "tool": tool, "source": source,
                "at": "2026-01-02T03:04:05Z"});
            format!("{entry}\n")
        };
        let said = "mcp__test__echo(echo of MCP server test)".to_owned();
        let path = format!("Write({})", root.join("a").display());
        let text = entry(said, "mcp__test__echo", "mcp:project:test")
            + &entry(path, "write_file", "role:helper");
        fs::write(file(&project), text).unwrap();
        project.brynhild(&echo).code(code);
        project.brynhild(&write).code(code);
    }
}

#[test]
fn approval_of_a_plugin_tool_is_per_plugin() {
    let call = |text: &str| Reply::calls([("chw", json!({ "text": text }))]);
    let replies = [call("a"), Reply::text("done"), call("b"), Reply::text("done")];
    let server = ModelServer::start(replies);
    let project = project_with(&server);
    let script = "#!/bin/sh\ncase \"$1\" in --schema) echo '{\"name\": \"chw\", \"description\": \"d\", \
                  \"parameters\": {\"type\": \"object\", \"properties\": {\"text\": {\"type\": \"string\"}}}}';; \
                  *) cat >> out.txt;; esac\n";
    let plugin = project.file(".brynhild/plugins/chw", script).path().join(".brynhild/plugins/chw");
    fs::set_permissions(&plugin, fs::Permissions::from_mode(0o755)).unwrap();
    project.brynhild(&["trust", "--yes"]).success();
    let (terminal, screen) = start_chat_and_wait_for_question(&project);
    assert!(screen.contains("always allow the tool chw"), "{screen}");
    terminal.send("a\r");
    assert_eq!(terminal.wait_for_end(), Some(0), "{}", terminal.screen());
    project.brynhild(&["chat", "again"]).success();
    assert!(project.read("out.txt").contains("\"b\""));
    let kept = list(&project);
    assert_eq!(kept[0]["project"], json!(project.path().canonicalize().unwrap()), "{kept:?}");
    // A global approval does not cover a plugin of a project.
    let text = fs::read_to_string(file(&project)).unwrap();
    let mut everywhere: Value = serde_json::from_str(text.trim()).unwrap();
    everywhere.as_object_mut().unwrap().remove("project");
    fs::write(file(&project), format!("{everywhere}\n")).unwrap();
    let input = r#"{"text": "c"}"#;
    project.brynhild(&["tools", "exec", "chw", "--input", input]).code(3);
}
