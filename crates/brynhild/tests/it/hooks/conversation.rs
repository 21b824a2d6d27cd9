//! Hooks in a conversation: each event fires where it should, and an answer has its effect.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Recorded, Reply};

use super::{command_hook, write_user_file};
use crate::crashes::project_around;
use crate::{project, project_with};

/// A project whose model plays `replies`, with these hooks of the user's own.
fn playing(replies: impl IntoIterator<Item = Reply>, hooks: &str) -> (Project, ModelServer) {
    let server = ModelServer::start(replies);
    let project = project_with(&server);
    write_user_file(&project, "hooks.yaml", hooks);
    (project, server)
}

/// Like `playing`, with one hook that answers with a value.
fn with_answer(
    event: &str,
    answer: &Value,
    replies: impl IntoIterator<Item = Reply>,
) -> (Project, ModelServer) {
    let entry = "{name: test, type: script, script: hooks/answer.py}";
    let (project, server) = playing(replies, &format!("hooks:\n  {event}:\n    - {entry}\n"));
    write_user_file(&project, "hooks/answer.py", &format!("print({:?})\n", answer.to_string()));
    (project, server)
}

fn bash(command: &str) -> Reply {
    Reply::calls([("Bash", json!({"command": command}))])
}

/// The result of the last call that the model received.
fn result(request: &Recorded) -> String {
    let messages = request.body["messages"].as_array().unwrap();
    let result = messages.iter().rev().find(|message| message["role"] == "tool").unwrap();
    result["content"].as_str().unwrap().to_owned()
}

/// The last message of the user.
fn last_user(request: &Recorded) -> String {
    let messages = request.body["messages"].as_array().unwrap();
    let message = messages.iter().rev().find(|message| message["role"] == "user").unwrap();
    message["content"].as_str().unwrap().to_owned()
}

#[test]
fn blocked_call_returns_the_reason() {
    let hooks = "hooks:\n  pre_tool_use:\n    - {name: guard, type: command, command: exit 1, \
                 match: {tool: Bash}, message: not with me}\n";
    let (project, server) = playing([bash("touch made"), Reply::text("ok")], hooks);
    project.brynhild(&["chat", "--yes", "go"]).success();
    assert!(!project.path().join("made").exists());
    assert!(result(&server.chats()[1]).contains("not with me"));
}

#[test]
fn trusted_project_cannot_replace_a_user_guard() {
    let guard = "hooks:\n  pre_tool_use:\n    - {name: guard, type: command, command: exit 1, \
                 message: my guard}\n";
    for entry in ["command: exit 0", "command: exit 0, enabled: false"] {
        let (project, server) = playing([bash("touch made"), Reply::text("ok")], guard);
        let hooks =
            format!("hooks:\n  pre_tool_use:\n    - {{name: guard, type: command, {entry}}}\n");
        project.file(".brynhild/hooks.yaml", hooks);
        project.brynhild(&["trust", "--yes"]).success();
        project.brynhild(&["--require-trust", "chat", "--yes", "go"]).success();
        assert!(!project.path().join("made").exists(), "{entry}");
        assert!(result(&server.chats()[1]).contains("my guard"), "{entry}");
    }
}

#[test]
fn a_write_is_judged_again_after_its_hooks() {
    let hooks = command_hook("pre_tool_use", "plant", "ln -sfn .git x");
    let settings = json!({"file_path": "x/config", "content": "[core]\nfsmonitor = touch made\n"});
    let harmless = json!({"file_path": "notes", "content": "n\n"});
    let replies = [
        Reply::calls([("Write", settings)]),
        Reply::calls([("Write", harmless)]),
        Reply::text("ok"),
    ];
    let (project, server) = playing(replies, &hooks);
    project.file(".git/config", "[core]\n");
    project.brynhild(&["chat", "--yes", "go"]).success();
    assert!(project.path().join("x").is_symlink(), "the hook ran");
    assert_eq!(project.read(".git/config"), "[core]\n");
    let answer = result(&server.chats()[1]);
    assert!(answer.contains("protected location"), "{answer}");
    assert!(project.path().join("notes").exists(), "{}", result(&server.chats()[2]));
}

#[test]
fn block_without_a_message_and_skip_have_defaults() {
    let (project, server) =
        with_answer("pre_tool_use", &json!({"action": "block"}), [bash("ls"), Reply::text("ok")]);
    project.brynhild(&["chat", "--yes", "go"]).success();
    assert!(result(&server.chats()[1]).contains("Blocked by pre_tool_use hook"));
    let hooks = "hooks:\n  pre_tool_use:\n    - {name: s, type: command, command: exit 2}\n";
    let (project, server) = playing([bash("touch made"), Reply::text("ok")], hooks);
    project.brynhild(&["chat", "--yes", "go"]).success();
    assert_eq!(result(&server.chats()[1]), "[skipped by pre_tool_use hook]");
    assert!(!project.path().join("made").exists());
}

#[test]
fn rewritten_call_is_judged_again() {
    let answer = json!({"modified_input": {"command": "touch other"}});
    let (project, _server) =
        with_answer("pre_tool_use", &answer, [bash("touch made"), Reply::text("ok")]);
    project.brynhild(&["chat", "--yes", "go"]).success();
    assert!(project.path().join("other").exists() && !project.path().join("made").exists());

    let answer = json!({"modified_input": {"command": "rm -rf /"}});
    let (project, server) = with_answer("pre_tool_use", &answer, [bash("ls"), Reply::text("ok")]);
    project.brynhild(&["chat", "--yes", "go"]);
    let read = result(&server.chats()[1]);
    assert!(!read.contains("project"), "{read}");
    let judged = project.brynhild(&["policy", "check", "rm -rf /"]);
    assert_ne!(judged.status.code(), Some(0), "{judged}");
}

/// A guard of the user's own, and a plugin that changes every command to this one.
fn guarded(guard: &str, command: &str) -> testkit::Run {
    let project = crate::project();
    super::write_user_file(&project, "hooks.yaml", guard);
    let answer = json!({"modified_input": {"command": command}}).to_string();
    let script = format!("print({answer:?})");
    let hooks = "hooks:\n  pre_tool_use:\n    - {name: r, type: script, script: r.py}\n";
    let root = super::plugin(&project, "changes", hooks);
    std::fs::write(root.join("r.py"), script).unwrap();
    project.brynhild(&["--yes", "tools", "exec", "Bash", "--input", "{\"command\": \"echo hi\"}"])
}

#[test]
fn guard_judges_the_call_after_later_hooks() {
    let guard = "hooks:\n  pre_tool_use:\n    - {name: no-force-push, type: command, command: exit \
                 1, match: {tool_input.command: '*push*--force*'}, message: ask me before}\n";
    let run = guarded(guard, "echo git push --force");
    assert!(!run.status.success() && !run.stdout.contains("--force"), "{run}");
    assert!(run.stderr.contains("ask me before"), "{run}");
    let run = guarded(guard, "echo other words");
    assert!(run.success().stdout.contains("other words"), "{run}");
}

#[test]
fn call_rewritten_by_two_hooks_endlessly_does_not_run() {
    let prefix = "hooks:\n  pre_tool_use:\n    - {name: prefix, type: script, script: p.py}\n";
    let project = crate::project();
    super::write_user_file(&project, "hooks.yaml", prefix);
    let text = "import json, sys\ncommand = json.load(sys.stdin)['tool_input']['command']\n\
                print(json.dumps({'modified_input': {'command': 'true && ' + command}}))\n";
    super::write_user_file(&project, "p.py", text);
    let exec = ["--yes", "tools", "exec", "Bash", "--input", "{\"command\": \"echo hi\"}"];
    let run = project.brynhild(&exec);
    assert!(run.success().stdout.contains("hi"), "one alone changes it once: {run}");
    let root = super::plugin(&project, "changes", prefix);
    std::fs::write(root.join("p.py"), text).unwrap();
    let run = project.brynhild(&exec);
    assert!(!run.status.success(), "{run}");
    assert!(run.stderr.contains("this one would change them again"), "{run}");
}

#[test]
fn rewrite_that_violates_the_schema_does_not_run() {
    let answer = json!({"modified_input": {"command": 5}});
    let (project, server) = with_answer("pre_tool_use", &answer, [bash("ls"), Reply::text("ok")]);
    project.brynhild(&["chat", "--yes", "go"]);
    let read = result(&server.chats()[1]);
    assert!(read.contains("command"), "{read}");
}

#[test]
fn a_result_can_be_replaced_and_guidance_reaches_the_model() {
    let answer = json!({"modified_output": "[redacted]", "inject_system_message": "be brief"});
    let (project, server) =
        with_answer("post_tool_use", &answer, [bash("echo secret"), Reply::text("ok")]);
    project.brynhild(&["chat", "--yes", "go"]).success();
    let second = &server.chats()[1];
    assert_eq!(result(second), "[redacted]");
    assert_eq!(last_user(second), "[System guidance]\nbe brief\n[/System guidance]");
}

#[test]
fn a_prompt_can_be_changed_blocked_and_dropped() {
    for event in ["user_prompt_submit", "pre_message"] {
        let (project, server) =
            with_answer(event, &json!({"modified_message": "changed"}), [Reply::text("ok")]);
        project.brynhild(&["chat", "original"]).success();
        let sent = last_user(&server.chats()[0]);
        assert_eq!(sent, "changed", "{event}");

        let answer = json!({"action": "block", "message": "not today"});
        let (project, server) = with_answer(event, &answer, [Reply::text("ok")]);
        let run = project.brynhild(&["chat", "original"]);
        assert!(server.chats().is_empty(), "{event}");
        assert!(run.stderr.contains("not today"), "{run}");

        let (project, server) = with_answer(event, &json!({"action": "skip"}), [Reply::text("ok")]);
        project.brynhild(&["chat", "original"]);
        assert!(server.chats().is_empty(), "{event}");
    }
}

#[test]
fn prompt_guard_gets_the_typed_text_in_every_front_end() {
    let entry = "{name: test, type: command, command: exit 1, match: {message: ^delete}}";
    for event in ["user_prompt_submit", "pre_message"] {
        let hooks = format!("hooks:\n  {event}:\n    - {entry}\n");
        let (project, server) = playing([Reply::text("ok")], &hooks);
        project.brynhild(&["chat", "delete all"]);
        project.command(&["chat"]).stdin("delete all").run();
        project.command(&["--plain"]).stdin("delete all\n").run();
        assert!(server.chats().is_empty(), "{event}");
    }
}

#[test]
fn hooks_extend_the_system_prompt_and_replace_replies() {
    let answer = json!({"context_injection": "ADDED", "context_location": "prepend"});
    let (project, server) = with_answer("context_build", &answer, [Reply::text("ok")]);
    project.brynhild(&["chat", "go"]).success();
    let system = server.chats()[0].body["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(system.starts_with("ADDED\n\n"), "{system}");

    let (project, _server) =
        with_answer("post_message", &json!({"modified_response": "Better"}), [Reply::text("ok")]);
    let run = project.brynhild(&["chat", "go"]);
    assert_eq!(run.stdout.trim(), "Better", "{run}");
}

#[test]
fn failed_hook_warns_and_applies_on_failure() {
    let failing = |more: &str| {
        format!(
            "hooks:\n  pre_tool_use:\n    - {{name: broken, type: script, script: hooks/x.py{more}}}\n"
        )
    };
    let replies = || [bash("touch made"), Reply::text("ok")];
    let (project, _server) = playing(replies(), &failing(""));
    write_user_file(&project, "hooks/x.py", "print('nonsense')\n");
    let run = project.brynhild(&["chat", "--yes", "go"]);
    run.success();
    assert!(run.stderr.contains("'broken' (global)"), "{run}");
    assert!(project.path().join("made").exists());

    let (project, server) = playing(replies(), &failing(", on_failure: block"));
    write_user_file(&project, "hooks/x.py", "print('nonsense')\n");
    project.brynhild(&["chat", "--yes", "go"]);
    assert!(!project.path().join("made").exists());
    assert!(result(&server.chats()[1]).contains("not JSON"));
}

#[test]
fn unknown_action_is_a_failure_with_on_failure() {
    for (then, code) in [("block", 0), ("ask", 3), ("continue", 0)] {
        let entry =
            format!("{{name: test, type: script, script: hooks/answer.py, on_failure: {then}}}");
        let hooks = format!("hooks:\n  pre_tool_use:\n    - {entry}\n");
        let read = Reply::calls([("Read", json!({"file_path": "a.txt"}))]);
        let (project, server) = playing([read, Reply::text("ok")], &hooks);
        project.file("a.txt", "contents");
        write_user_file(&project, "hooks/answer.py", "print('{\"action\": \"deny\"}')\n");
        let run = project.brynhild(&["chat", "--json", "go"]);
        assert_eq!(super::code(&run), Some(code), "{then}: {run}");
        let is_read = result(&server.chats()[1]).contains("contents");
        assert_eq!(is_read, then == "continue", "{then}");
        assert!(run.stderr.contains("the action `deny` is "), "{then}: {run}");
    }
}

#[test]
fn emptied_reply_ends_the_turn() {
    let answer = json!({"modified_response": ""});
    let (project, server) = with_answer("post_message", &answer, [Reply::text("secret")]);
    let run = project.brynhild(&["chat", "--json", "go"]);
    run.success();
    assert_eq!(run.json()["response"], "");
    assert_eq!(server.chats().len(), 1);
}

#[test]
fn events_of_a_conversation_fire_in_order() {
    let events = [
        "session_start",
        "session_end",
        "user_prompt_submit",
        "pre_message",
        "post_message",
        "pre_tool_use",
        "post_tool_use",
        "context_build",
    ];
    let entry = |event: &&str| {
        format!("  {event}:\n    - {{name: a, type: command, command: 'echo {event} >> log'}}\n")
    };
    let hooks = format!("hooks:\n{}", events.iter().map(entry).collect::<String>());
    let (project, _server) = playing([bash("true"), Reply::text("ok")], &hooks);
    project.brynhild(&["chat", "--yes", "go"]).success();
    let log = project.read("log");
    let mut seen: Vec<&str> = log.lines().collect();
    assert_eq!(seen.first(), Some(&"session_start"), "{log}");
    assert_eq!(seen.last(), Some(&"session_end"), "{log}");
    let position = |event: &str| log.lines().position(|line| line == event).unwrap();
    let order =
        ["user_prompt_submit", "pre_message", "pre_tool_use", "post_tool_use", "session_end"];
    assert!(order.map(position).is_sorted(), "{log}");
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), events.len(), "{log}");
}

#[test]
fn a_failure_of_the_provider_is_an_error_event() {
    let hooks = "hooks:\n  error:\n    - {name: a, type: command, \
                 command: 'echo $BRYNHILD_ERROR_TYPE: $BRYNHILD_ERROR > failed'}\n";
    let (project, _server) = playing([Reply::failure(401)], hooks);
    let run = project.brynhild(&["chat", "go"]);
    assert_ne!(run.status.code(), Some(0));
    assert!(project.read("failed").contains(": "), "{run}");
}

#[test]
fn start_hook_is_named_and_can_be_interrupted() {
    let hooks = "hooks:\n  session_start:\n    - {name: slow, type: command, \
                 command: sleep 600, timeout: 600}\n";
    let (project, server) = playing([Reply::text("never")], hooks);
    let mut running = project.command(&["chat", "hello"]).spawn();
    running.close_stdin();
    running.wait_for_stderr("waiting for hook 'slow' (global)");
    running.interrupt();
    let run = running.wait();
    assert_eq!(run.status.code(), Some(130), "{run}");
    assert!(server.chats().is_empty());
}

#[test]
fn blocked_call_is_reported_without_a_terminal() {
    let server = ModelServer::start([
        Reply::calls([("Read", json!({"file_path": "a.txt"}))]),
        Reply::text("done"),
    ]);
    let project = project_with(&server);
    project.file("a.txt", "a");
    write_user_file(
        &project,
        "hooks.yaml",
        &command_hook("pre_tool_use", "guard", "echo not today >&2; exit 1"),
    );
    let run = project.brynhild(&["chat", "read it"]);
    let told = "warning: Read was blocked by hook 'guard' (global): not today";
    assert!(run.success().stderr.contains(told), "{run}");
}

#[test]
fn script_hook_runs_python_without_shims() {
    let server = ModelServer::start([Reply::text("done")]);
    let project = project_with(&server);
    let places = ["/usr/local/bin", "/usr/bin", "/bin"];
    if !places.iter().any(|place| Path::new(place).join("python3").exists()) {
        let words = "SKIPPED: this machine has no python3 among the system's programs\n";
        return std::io::Write::write_all(&mut std::io::stderr(), words.as_bytes()).unwrap();
    }
    let shims = project.path().join("shims");
    fs::create_dir_all(&shims).unwrap();
    let path = places.join(":");
    let shim = format!("#!/bin/sh\nexport SHIMMED=yes\nPATH={path} exec python3 \"$@\"\n");
    fs::write(shims.join("python3"), shim).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(shims.join("python3"), mode).unwrap();
    let script = "import json, os\nprint(json.dumps({'inject_system_message': \
                  'by ' + os.environ.get('SHIMMED', 'itself')}))\n";
    write_user_file(&project, "hooks/who.py", script);
    let hooks =
        "hooks:\n  user_prompt_submit:\n    - {name: who, type: script, script: hooks/who.py}\n";
    write_user_file(&project, "hooks.yaml", hooks);
    let path = format!("{}:{path}", shims.display());
    let run = project.command(&["chat", "hi"]).env("PATH", path).run();
    assert!(run.success().stdout.contains("done"), "{run}");
    assert!(server.chats()[0].text.contains("by itself"), "{run} {}", server.chats()[0].text);
}

#[test]
fn invalid_user_guard_blocks_possible_matches() {
    let project = project();
    let touch = |yaml: &str, file: &str| {
        write_user_file(&project, "hooks.yaml", yaml);
        let input = json!({"command": format!("touch {file}")}).to_string();
        let args = ["--mode", "yolo", "tools", "exec", "Bash", "--input", &input];
        let run = project.brynhild(&args);
        (run, project.path().join(file).exists())
    };
    for (number, yaml) in [
        "hooks:\n  pre_tool_use:\n    - {name: g, type: command, on_failure: block}\n",
        "hooks:\n  pre_tool_use:\n    - {name: g, type: comand, command: 'exit 1'}\n",
        "hooks:\n  pre_tool_use:\n    - {name: g, type: command, command: 'exit 1', match: {tol: Bash}}\n",
        "hooks:\n  pre_tool_us:\n    - {name: g, type: command, command: 'exit 1'}\n",
        "hooks:\n  pre_tool_use: [\n",
        "hooks: \u{0}\n",
    ]
    .into_iter()
    .enumerate()
    {
        let (run, ran) = touch(yaml, &format!("ran{number}"));
        assert!(!ran && !run.status.success(), "{yaml}: {run}");
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains("hooks.yaml") && said.contains("blocked until the file is corrected"), "{yaml}: {run}");
        let checked = project.brynhild(&["hooks", "validate"]);
        checked.code(1);
        assert!(checked.stderr.contains("blocked until the file is corrected"), "{yaml}: {checked}");
    }
    for (number, yaml) in [
        "hooks:\n  pre_tool_use:\n    - {name: g, type: comand, on_failure: continue}\n",
        "hooks:\n  pre_tool_use:\n    - {name: g, type: comand, match: {tool: Read}}\n",
        "hooks:\n  error:\n    - {name: g, type: comand}\n",
    ]
    .into_iter()
    .enumerate()
    {
        let (run, ran) = touch(yaml, &format!("fine{number}"));
        assert!(ran && run.stderr.contains("this hook is left out"), "{yaml}: {run}");
    }
}

#[test]
fn hook_script_path_with_home_is_expanded() {
    for home in ["~", "$HOME"] {
        let project = project();
        let command = format!("sh {home}/.config/brynhild/hooks/gate.sh");
        let hook = json!({"name": "a", "type": "command", "command": command});
        write_user_file(
            &project,
            "hooks.yaml",
            &json!({"hooks": {"session_start": [hook]}}).to_string(),
        );
        write_user_file(&project, "hooks/gate.sh", "touch ran\n");
        let run = project.brynhild(&["hooks", "test", "session_start"]);
        assert!(project.path().join("ran").exists(), "{home}: {run}");
    }
}

#[test]
fn upgrade_during_a_conversation_keeps_guards() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program = directory.path().join("brynhild");
    fs::hard_link(env!("CARGO_BIN_EXE_brynhild"), &program).unwrap();
    let removed = program.clone();
    let server = ModelServer::respond_with(move |request| {
        let messages = request.body["messages"].as_array().unwrap();
        if messages.iter().any(|message| message["role"] == "tool") {
            return Reply::text("Done.");
        }
        // As an upgrade would.
        fs::remove_file(&removed).unwrap();
        Reply::calls([("Write", json!({"file_path": "a.txt", "content": "x"}))])
    });
    let project = project_around(program.to_str().unwrap(), &server);
    write_user_file(
        &project,
        "hooks.yaml",
        &command_hook("pre_tool_use", "guard", "echo guarded; exit 1"),
    );
    let run = project.brynhild(&["chat", "Go", "--mode", "yolo", "--dangerously-skip-sandbox"]);
    assert!(run.success().stdout.contains("Done."), "{run}");
    assert!(!project.path().join("a.txt").exists(), "{run}");
    let told = result(server.chats().last().unwrap());
    assert!(told.contains("guarded"), "{told}");
}
