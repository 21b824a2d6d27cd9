//! The first start, `login`, `logout` and `doctor`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use testkit::{ModelServer, Project, Reply};

use crate::providers::nothing;
use crate::{project, project_with};

const SIZE: (u16, u16) = (100, 40);
const KEY: &str = "sk-test-0123456789abcdef";

/// A provider that needs a key, and nothing that chooses it.
fn keyless(server: &ModelServer) -> Project {
    let project = nothing();
    project.config_more(&format!(
        "  lab: {{type: openai, base_url: {}/v1, api_key_env: LAB_KEY, default_model: test-model}}\n",
        server.url()
    ));
    project
}

#[test]
fn first_start_leads_to_an_answer_in_five_keys() {
    let server = ModelServer::start([Reply::text("Hello.")]).models(["test-model", "other"]);
    let project = keyless(&server);
    let terminal = project.terminal(&["hi"], SIZE);
    let screen = terminal.wait_for("d or q:");
    assert!(screen.contains(" 1  lab") && screen.contains("Watch the demo"), "{screen}");
    terminal.send("1\r");
    terminal.wait_for("Paste the API key of lab");
    terminal.send(KEY);
    terminal.send("\r");
    let screen = terminal.wait_for("Number or name [test-model]:");
    assert!(screen.contains(" 2  other") && !screen.contains("sk-test"), "{screen}");
    terminal.send("\r");
    terminal.wait_for("Hello.");
    let request = server.chats().remove(0);
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    terminal.send("\x14q");
    assert_eq!(terminal.wait_for_end(), Some(0));
    let config = fs::read_to_string(project.config_directory().join("config.yaml")).unwrap();
    assert!(config.contains("default: lab") && !config.contains(KEY), "{config}");
}

#[test]
fn empty_model_list_asks_for_a_name() {
    let server = ModelServer::start([]).models_reply(Reply::bytes("{\"data\": []}"));
    let project = keyless(&server);
    let terminal = project.terminal(&["login"], SIZE);
    terminal.wait_for("d or q:");
    terminal.send("1\r");
    terminal.wait_for("Paste the API key of lab");
    terminal.send(KEY);
    terminal.send("\r");
    let screen = terminal.wait_for("Number or name [test-model]:");
    assert!(screen.contains("No models are listed. Type the name of one"), "{screen}");
}

#[test]
fn local_server_is_used_in_an_empty_home() {
    let server = ModelServer::start([Reply::text("Hello.")]).models(["small", "large"]);
    let project = project().env("OLLAMA_HOST", server.url());
    let terminal = project.terminal(&["login"], SIZE);
    let screen = terminal.wait_for("d or q:");
    assert!(screen.contains(" 1  Ollama") && screen.contains("answers at http"), "{screen}");
    terminal.send("1\r");
    terminal.wait_for("Number or name [small]:");
    terminal.send("2\r");
    assert_eq!(terminal.wait_for_end(), Some(0));
    let run = project.brynhild(&["-p", "hi"]);
    assert_eq!(run.success().stdout, "Hello.\n");
    assert_eq!(server.chats()[0].body["model"], "large");
}

#[test]
fn setup_screen_opens_the_demo() {
    let project = nothing();
    let terminal = project.terminal::<&str>(&[], SIZE);
    terminal.wait_for("d or q:");
    terminal.send("d\r");
    terminal.wait_for("The tests pass.");
}

#[test]
fn missing_model_error_is_short_without_a_terminal() {
    let run = nothing().brynhild(&["-p", "hi"]);
    run.code(2);
    assert!(run.stderr.starts_with("error: no model is set up"), "{run}");
    assert!(run.stderr.contains("`brynhild login`") && run.stderr.lines().count() <= 3, "{run}");
}

#[test]
fn stored_key_is_used_redacted_and_removed() {
    let server = ModelServer::start([Reply::text(format!("It is {KEY}."))]).repeat_last();
    let project = keyless(&server);
    let login = project.command(&["login", "lab"]).stdin(format!("{KEY}\n")).run();
    assert!(login.success().stdout.starts_with("The key of lab is stored in "), "{login}");
    let file = project.config_directory().join("credentials.json");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    project.brynhild(&["-p", "hi"]).success();
    let request = server.chats().remove(0);
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let found = project.brynhild(&["api", "providers"]);
    assert!(found.success().stdout.contains("key found in the key store"), "{found}");
    let own = project.command(&["-p", "hi"]).env("LAB_KEY", "sk-other-12345678").run();
    own.success();
    let request = server.chats().pop().unwrap();
    assert_eq!(request.header("authorization"), Some("Bearer sk-other-12345678"));
    let out = project.brynhild(&["logout"]);
    assert_eq!(out.success().stdout, "The stored key for LAB_KEY is removed.\n");
    assert!(!file.exists());
    assert!(project.brynhild(&["logout", "lab"]).code(1).stderr.contains("no key is stored"));
}

#[test]
fn stored_key_is_hidden_from_commands() {
    let server = ModelServer::start([]);
    let project = keyless(&server);
    project.command(&["login", "lab"]).stdin(KEY).run().success();
    let file = project.config_directory().join("credentials.json");
    let command = format!("env; cat {}", file.display());
    let input = serde_json::json!({"command": command}).to_string();
    let run = project.brynhild(&["--mode", "yolo", "tools", "exec", "Bash", "--input", &input]);
    assert!(run.stdout.contains("PATH="), "{run}");
    assert!(!run.stdout.contains(KEY) && !run.stderr.contains(KEY), "{run}");
}

#[test]
fn login_mistakes_name_the_next_step() {
    let server = ModelServer::start([]);
    let project = keyless(&server);
    for (args, stdin, wanted) in [
        (&["login"][..], "", "`brynhild login PROVIDER < FILE`"),
        (&["login", "lab"], "two words", "a key is one word"),
        (&["login", "lab"], "", "a key is one word"),
        (&["login", "script"], "x", "script needs no key"),
        (&["login", "nobody"], "x", "Unknown provider 'nobody'"),
    ] {
        let run = project.command(args).stdin(stdin).run();
        assert!(run.code(2).stderr.contains(wanted), "{args:?}: {run}");
    }
}

#[test]
fn doctor_reports_each_part_and_fails_for_problems() {
    let broken = nothing().brynhild(&["doctor"]);
    assert!(
        broken.code(1).stdout.contains("provider       PROBLEM  no model is set up"),
        "{broken}"
    );
    assert!(broken.stdout.contains("run `brynhild login`"), "{broken}");
    let server = ModelServer::start([]);
    let run = project_with(&server).brynhild(&["doctor", "--json"]);
    let report = run.success().json();
    assert_eq!(report["ok"], true);
    let names: Vec<&str> = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["configuration", "sandbox", "provider", "python", "git", "terminal"]);
    let project = keyless(&server);
    project.command(&["login", "lab"]).stdin(KEY).run().success();
    let run = project.brynhild(&["doctor"]);
    assert!(
        run.success().stdout.contains("key            OK       lab: from the key store"),
        "{run}"
    );
    fs::write(project.config_directory().join("credentials.json"), "[]").unwrap();
    let run = project.brynhild(&["doctor"]);
    assert!(run.code(1).stdout.contains("must be a JSON object of keys"), "{run}");
}

#[test]
fn conversation_and_undo_need_no_python_and_no_git() {
    let call = serde_json::json!({"command": "echo new > a.txt"});
    let server = ModelServer::start([Reply::calls([("Bash", call)]), Reply::text("Done.")]);
    let project = project_with(&server);
    project.file("a.txt", "old\n");
    let empty = project.home().join("empty");
    fs::create_dir_all(&empty).unwrap();
    let run = |args: &[&str]| project.command(args).env("PATH", &empty).run();
    assert_eq!(run(&["--yes", "-p", "go"]).success().stdout, "Done.\n");
    assert_eq!(project.read("a.txt"), "new\n");
    run(&["session", "undo"]).success();
    assert_eq!(project.read("a.txt"), "old\n");
    let checks = run(&["doctor"]).stdout;
    for name in ["python3", "git"] {
        assert!(checks.contains(&format!("note     no `{name}` in PATH")), "{checks}");
    }
}
