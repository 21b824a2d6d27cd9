//! `behavior`, `sandbox` and `tools`: what each key does to a conversation.

use std::fs;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply, Run};

use super::warnings;
use crate::{project, project_with};

/// Asks once with this configuration, and returns the body of the first request.
fn request(behavior: &str) -> Value {
    let server = ModelServer::start([Reply::text("done")]);
    let project = project_with(&server);
    add(&project, behavior);
    chat(&project, &[]).success();
    server.chats().remove(0).body
}

/// Adds to the user's configuration.
fn add(project: &Project, yaml: &str) {
    let path = project.config_directory().join("config.yaml");
    let text = fs::read_to_string(&path).unwrap_or_default();
    fs::write(&path, format!("{text}{yaml}\n")).unwrap();
}

fn chat(project: &Project, args: &[&str]) -> Run {
    project.brynhild(&[&["chat", "--no-log", "go"], args].concat())
}

#[test]
fn reply_limit_is_sent() {
    assert_eq!(request("")["max_completion_tokens"], 8192);
    assert_eq!(request("behavior: {max_tokens: 123}")["max_completion_tokens"], 123);
}

#[test]
fn reasoning_level_is_sent_with_the_name_of_the_provider() {
    assert_eq!(request("")["reasoning_effort"], Value::Null);
    for (level, sent) in [("low", "low"), ("off", "none"), ("maximum", "xhigh"), ("raw:odd", "odd")]
    {
        let body = request(&format!("behavior: {{reasoning_level: '{level}'}}"));
        assert_eq!(body["reasoning_effort"], sent, "{level}");
    }
}

#[test]
fn past_reasoning_is_sent_in_the_configured_form() {
    let second = |format: &str| {
        let look = Reply::calls([("Inspect", json!({"operation": "cwd"}))]).thinking("let me see");
        let server = ModelServer::start([look, Reply::text("done")]);
        let project = project();
        project.config(&format!(
            "providers:\n  default: test\n  test: {{type: openrouter, base_url: {}/v1}}\nbehavior: \
             {{reasoning_format: {format}}}\n",
            server.url()
        ));
        chat(&project, &[]).success();
        server.chats()[1].text.clone()
    };
    assert!(second("auto").contains("\"reasoning\":\"let me see\""));
    assert!(second("reasoning_field").contains("\"reasoning\":\"let me see\""));
    assert!(second("thinking_tags").contains("<thinking>"));
    assert!(!second("none").contains("let me see"));
}

#[test]
fn answer_format_is_configurable() {
    let answer = |format: &str, args: &[&str]| {
        let server = ModelServer::start([Reply::text("done")]);
        let project = project_with(&server);
        add(&project, &format!("behavior: {{output_format: {format}}}"));
        chat(&project, args)
    };
    assert_eq!(answer("text", &[]).stdout, "done\n");
    assert_eq!(answer("json", &[]).json()["response"], "done");
    for word in ["stream", "stream-json"] {
        assert!(answer(word, &[]).json_lines().len() > 3);
    }
    assert_eq!(answer("json", &["--output-format", "text"]).stdout, "done\n");
    answer("json", &["--output-format", "xml"]).code(2);
}

#[test]
fn verbose_output_includes_the_cost() {
    let told = |behavior: &str, args: &[&str]| {
        let look = Reply::calls([("Inspect", json!({"operation": "cwd"}))]).usage(10, 5);
        let server = ModelServer::start([look, Reply::text("done").usage(20, 7)]);
        let project = project_with(&server);
        add(&project, behavior);
        let run = chat(&project, args);
        run.success();
        assert_eq!(run.stdout, "done\n");
        run.stderr
    };
    assert_eq!(told("", &[]), "");
    let all = told("behavior: {verbose: true}", &[]);
    assert!(all.contains("● Inspect(operation: cwd)"), "{all}");
    assert!(all.contains("Tokens: 30 in / 12 out"), "{all}");
    let quiet = told("behavior: {verbose: true, show_cost: false}", &[]);
    assert!(quiet.contains("● Inspect") && !quiet.contains("Tokens:"), "{quiet}");
    let flag = told("behavior: {show_cost: false}", &["--verbose", "--show-cost"]);
    assert!(flag.contains("Tokens: 30 in"), "{flag}");
    assert_eq!(told("", &["--show-cost"]), "Tokens: 30 in / 12 out | cost unknown\n");
}

#[test]
fn reasoning_is_shown_on_a_terminal_if_configured() {
    let screen = |behavior: &str, args: &[&str]| {
        let server = ModelServer::start([Reply::text("the answer").thinking("deep thoughts")]);
        let project = project_with(&server);
        add(&project, behavior);
        let terminal = project.terminal(&[&["chat", "--no-log", "go"], args].concat(), (80, 24));
        assert_eq!(terminal.wait_for_end(), Some(0));
        let screen = terminal.screen();
        assert!(screen.contains("the answer"), "{screen}");
        screen.contains("deep thoughts")
    };
    assert!(screen("", &[]));
    assert!(!screen("behavior: {show_thinking: false}", &[]));
    assert!(screen("behavior: {show_thinking: false}", &["--show-thinking"]));
}

#[test]
fn the_number_of_rounds_is_bounded() {
    let look = Reply::calls([("Inspect", json!({"operation": "cwd"}))]);
    let server = ModelServer::start([look]).repeat_last();
    let project = project_with(&server);
    add(&project, "behavior: {max_tool_rounds: 2}");
    let run = chat(&project, &[]);
    run.code(5);
    assert!(run.stderr.contains("limit"), "{run}");
    assert!(server.chats().len() <= 3, "{}", server.chats().len());
}

#[test]
fn finish_report_is_configurable() {
    let finish = Reply::calls([("Finish", json!({"status": "success", "summary": "all done"}))]);
    let server = ModelServer::start([Reply::text("I think so"), finish]);
    let project = project_with(&server);
    add(&project, "behavior: {require_finish: true}");
    let run = chat(&project, &["--json"]);
    run.success();
    assert_eq!(run.json()["finish"]["summary"], "all done", "{run}");
}

#[test]
fn configured_mode_applies() {
    let project = project();
    project.config("behavior: {mode: read-only}");
    let write =
        ["tools", "exec", "Write", "--yes", "--input", r#"{"file_path":"a","content":"b"}"#];
    let run = project.brynhild(&write);
    assert!(!run.status.success(), "{run}");
    assert!(!project.path().join("a").exists());
    let run = project.brynhild(&[&write as &[&str], &["--mode", "normal"]].concat());
    run.success();
    assert_eq!(project.read("a"), "b");
}

#[test]
fn disabled_tool_is_neither_listed_nor_offered() {
    let server = ModelServer::start([Reply::text("done")]).repeat_last();
    let project = project_with(&server).env("BRYNHILD_TOOLS__DISABLED__BASH", "true");
    let list = project.brynhild(&["tools", "list"]);
    assert!(!list.stdout.contains("Bash") && list.stdout.contains("Read"), "{list}");
    project.brynhild(&["tools", "exec", "Bash", "--input", r#"{"command":"true"}"#]).code(1);
    chat(&project, &[]).success();
    let body = server.chats().remove(0).body;
    let names: Vec<&str> = body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert!(!names.contains(&"Bash") && names.contains(&"Edit"), "{names:?}");
    assert!(!body["messages"][0].to_string().contains("Bash"), "the prompt names it: {body}");
}

#[test]
fn all_built_in_tools_can_be_disabled() {
    let server = ModelServer::start([Reply::text("done")]);
    let project = project_with(&server);
    add(&project, "tools: {disabled: {__builtin__: true}}");
    assert_eq!(project.brynhild(&["tools", "list", "--json"]).json(), json!([]));
    chat(&project, &[]).success();
    assert_eq!(server.chats()[0].body["tools"], Value::Null);
}

#[test]
fn only_user_file_or_flag_disables_the_sandbox() {
    let project = project();
    let secret = project.home().join("secret.txt");
    fs::write(&secret, "mango").unwrap();
    let words = ["sandbox", "run", "--", "cat", secret.to_str().unwrap()];
    let confined = project.brynhild(&words);
    assert!(!confined.stdout.contains("mango"), "{confined}");
    let run = project.command(&words).env("BRYNHILD_SANDBOX__ENABLED", "false").run();
    assert!(!run.stdout.contains("mango"), "{run}");
    let told = warnings(&run).iter().filter(|it| it.contains("BRYNHILD_SANDBOX__ENABLED")).count();
    assert_eq!(told, 1, "{run}");
    let shown = ["config", "show", "--section", "sandbox"];
    let shown = project.command(&shown).env("BRYNHILD_SANDBOX__ENABLED", "false").run();
    assert!(shown.success().stdout.contains("enabled: true"), "{shown}");
    let run = project.brynhild(&[&["--dangerously-skip-sandbox"], &words as &[&str]].concat());
    assert_eq!(run.stdout, "mango", "{run}");
    assert_eq!(warnings(&run), ["tools run without a sandbox"]);
    for yaml in ["sandbox: {enabled: false}", "dangerously_skip_sandbox: true"] {
        project.config(yaml);
        assert_eq!(project.brynhild(&words).stdout, "mango", "{yaml}");
    }
}

#[test]
fn configured_paths_are_visible_to_commands() {
    let project = project();
    let (read, write) = (project.home().join("read"), project.home().join("write"));
    fs::create_dir(&read).unwrap();
    fs::create_dir(&write).unwrap();
    fs::write(read.join("a"), "mango").unwrap();
    let script = format!("cat {0}/a; touch {0}/b {1}/b", read.display(), write.display());
    let words = ["sandbox", "run", "--", "sh", "-c", &script];
    let run = project.brynhild(&words);
    assert!(!run.stdout.contains("mango") && !write.join("b").exists(), "{run}");
    project.config(&format!(
        "sandbox:\n  read_paths: [{}]\n  allowed_paths: {}\n",
        read.display(),
        write.display()
    ));
    let run = project.brynhild(&words);
    assert_eq!(run.stdout, "mango", "{run}");
    assert!(write.join("b").exists() && !read.join("b").exists(), "{run}");
}

#[test]
fn commands_get_a_network_if_allowed() {
    let server = ModelServer::start([]);
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{} && echo reached", server.address().port());
    let words = ["sandbox", "run", "--", "bash", "-c", &script];
    let project = project();
    let run = project.brynhild(&words);
    assert_eq!(run.stdout, "", "{run}");
    project.config("sandbox: {allow_network: true}");
    assert_eq!(project.brynhild(&words).stdout, "reached\n");
}

#[test]
fn home_can_be_a_project_if_allowed() {
    let project = project();
    let home = project.home();
    let look = ["tools", "exec", "Inspect", "--input", r#"{"operation":"cwd"}"#];
    project.command(&look).cwd(&home).run().code(2);
    let run = project.command(&look).cwd(&home).env("BRYNHILD_ALLOW_HOME_DIRECTORY", "yes").run();
    run.success();
    project.config("allow_home_directory: true");
    let run = project.command(&look).cwd(&home).run();
    run.success();
    assert_eq!(run.stdout.trim_end(), home.canonicalize().unwrap().to_str().unwrap());
}

/// The exit code of a call in mode `ask` without a terminal.
fn ends(project: &Project, tool: &str, input: &Value) -> Option<i32> {
    let input = input.to_string();
    let words = ["--mode", "ask", "tools", "exec", tool, "--input", &input];
    project.brynhild(&words).status.code()
}

#[test]
fn tool_approval_is_always_once_or_never() {
    let project = project();
    let (read, write) = (json!({"file_path": "a"}), json!({"file_path": "a", "content": "b"}));
    assert_eq!(ends(&project, "Write", &write), Some(3));
    project.config("tools: {Write: {require_approval: never}}");
    assert_eq!(ends(&project, "Write", &write), Some(0));
    assert_eq!(ends(&project, "Read", &read), Some(0));
    project.config("tools: {Read: {require_approval: always}}");
    assert_eq!(ends(&project, "Read", &read), Some(3));
}

#[test]
fn commands_can_be_allowed_and_blocked() {
    let project = project();
    project.config("tools: {Bash: {allowed_commands: [touch], blocked_commands: [touch -m]}}");
    let bash = |command: &str| ends(&project, "Bash", &json!({"command": command}));
    assert_eq!(bash("touch a"), Some(0));
    assert!(project.path().join("a").exists());
    assert_eq!(bash("mkdir b"), Some(3));
    assert_eq!(bash("touch -m c"), Some(1));
    assert!(!project.path().join("b").exists() && !project.path().join("c").exists());
}

#[test]
fn paths_can_be_granted_to_one_tool() {
    let project = project();
    let outside = project.home().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("in.txt"), "inside").unwrap();
    let input = |name: &str| json!({"file_path": outside.join(name), "content": "x"});
    assert_ne!(ends(&project, "Read", &input("in.txt")), Some(0));
    assert_ne!(ends(&project, "Write", &input("out.txt")), Some(0));
    project.config("tools: {Write: {allowed_paths: [~/outside]}}\n");
    assert_eq!(ends(&project, "Write", &input("out.txt")), Some(0));
    assert_ne!(ends(&project, "Read", &input("in.txt")), Some(0), "it is open to Write alone");
    assert_ne!(
        ends(&project, "Write", &json!({"file_path": project.home().join("x"), "content": ""})),
        Some(0)
    );
    project.config("tools: {Read: {allowed_paths: [~/outside]}}\n");
    assert_eq!(ends(&project, "Read", &json!({"file_path": outside.join("in.txt")})), Some(0));
}

#[test]
fn relative_paths_are_relative_to_the_project() {
    let project = project();
    std::fs::create_dir_all(project.home().join("notes")).unwrap();
    project.file("src/a.txt", "a\n").file("docs/a.txt", "a\n").file("deep/er/a.txt", "a\n");
    let edit = |path: &str| json!({"file_path": path, "old_string": "a", "new_string": "b"});
    let write = |path: &str| json!({"file_path": path, "content": "a\n"});
    project.config(
        "tools: {Write: {allowed_paths: [src, ./docs, ~/notes, '']}, Edit: {allowed_paths: deep/er/..}}\n",
    );
    for path in ["src/b.txt", "docs/x/b.txt", "~/notes/b.txt"] {
        assert_eq!(ends(&project, "Write", &write(path)), Some(0), "{path}");
    }
    for path in ["b.txt", "srcs/b.txt", "deep/b.txt", "src/../b.txt", "~/b.txt"] {
        assert_ne!(ends(&project, "Write", &write(path)), Some(0), "{path}");
    }
    assert_eq!(ends(&project, "Edit", &edit("deep/er/a.txt")), Some(0));
    assert_ne!(ends(&project, "Edit", &edit("src/a.txt")), Some(0));
    std::os::unix::fs::symlink("/nowhere", project.path().join("src/link")).unwrap();
    assert_ne!(ends(&project, "Write", &write("src/link")), Some(0), "it leads out");

    let beside = project.path().parent().unwrap().join("beside");
    std::fs::create_dir_all(&beside).unwrap();
    std::fs::write(beside.join("in.txt"), "needle\n").unwrap();
    let tools = [
        ("Read", json!({"file_path": beside.join("in.txt")})),
        ("Grep", json!({"pattern": "needle", "path": beside})),
        ("Glob", json!({"pattern": "*.txt", "path": beside})),
    ];
    for (tool, input) in &tools {
        project.config("");
        assert_ne!(ends(&project, tool, input), Some(0), "{tool}");
        project.config(&format!("tools: {{{tool}: {{allowed_paths: [../beside]}}}}\n"));
        assert_eq!(ends(&project, tool, input), Some(0), "{tool}");
        project.config("sandbox: {read_paths: [../beside]}\n");
        assert_eq!(ends(&project, tool, input), Some(0), "{tool}");
    }
    project.config("sandbox: {allowed_paths: [../beside]}\n");
    let run = project.brynhild(&["sandbox", "run", "--", "touch", "../beside/made"]);
    run.success();
}

/// A streamed reply that thinks, in these fields, and then calls a tool.
fn thinking_in(fields: &[Value]) -> Reply {
    let call = json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function",
        "function": {"name": "Inspect", "arguments": "{\"operation\": \"cwd\"}"}}]});
    let deltas = fields.iter().chain([&call]).map(|delta| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": null});
        format!("data: {}\n\n", json!({"id": "x", "choices": [choice]}))
    });
    let end = json!({"id": "x", "choices": [{"delta": {}, "finish_reason": "tool_calls"}]});
    Reply::bytes(deltas.collect::<String>() + &format!("data: {end}\n\ndata: [DONE]\n\n"))
        .header("content-type", "text/event-stream")
}

/// The message that the reply becomes in the second request to a provider of this type.
fn sent_back(kind: &str, fields: &[Value]) -> Value {
    let server = ModelServer::start([thinking_in(fields), Reply::text("done")]);
    let project = project();
    project.config(&format!(
        "providers:\n  default: test\n  test: {{type: {kind}, base_url: {}/v1}}\n",
        server.url()
    ));
    chat(&project, &[]).success();
    let messages = server.chats()[1].body["messages"].as_array().unwrap().clone();
    messages.into_iter().find(|message| message["role"] == "assistant").unwrap()
}

#[test]
fn reasoning_returns_in_the_field_it_arrived_in() {
    for field in ["reasoning_content", "reasoning"] {
        let message = sent_back("openai", &[json!({field: "let me "}), json!({field: "see"})]);
        assert_eq!(message[field], "let me see", "{message}");
        let others = ["reasoning_content", "reasoning", "reasoning_details"];
        let count = others.iter().filter(|name| !message[**name].is_null()).count();
        assert_eq!(count, 1, "{message}");
    }
    let detail = json!({"type": "reasoning.text", "text": "let me see", "signature": "s"});
    let message = sent_back("openai", &[json!({"reasoning_details": [detail]})]);
    assert_eq!(message["reasoning_details"], json!([detail]), "{message}");
    assert!(message["reasoning"].is_null(), "{message}");
}

#[test]
fn vendor_entry_overrides_the_field_of_reasoning() {
    let thought = json!({"reasoning": "let me see"});
    let message = sent_back("deepseek", std::slice::from_ref(&thought));
    assert_eq!(message["reasoning_content"], "let me see", "{message}");
    let message = sent_back("mistral", std::slice::from_ref(&thought));
    assert!(!message.to_string().contains("let me see"), "{message}");
}
