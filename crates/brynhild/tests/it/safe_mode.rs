//! `--safe`: nothing but the program itself, whatever the project and the home are like.

use std::fs;

use serde_json::json;
use testkit::{ModelServer, Project, Reply};

use crate::trust::traps;
use crate::{project, project_with};

/// A project whose model is named by variables, as no file can be relied on.
pub(crate) fn without_files(server: &ModelServer) -> Project {
    project()
        .env("BRYNHILD_PROVIDERS__DEFAULT", "openai")
        .env("BRYNHILD_PROVIDERS__INSTANCES__OPENAI__TYPE", "openai")
        .env("BRYNHILD_PROVIDERS__INSTANCES__OPENAI__BASE_URL", format!("{}/v1", server.url()))
        .env("BRYNHILD_PROVIDERS__INSTANCES__OPENAI__DEFAULT_MODEL", "test-model")
        .env("OPENAI_API_KEY", "sk-test")
}

#[test]
fn safe_mode_ignores_the_project() {
    let server = ModelServer::start([Reply::text("hello")]);
    let project = project_with(&server);
    let canary = traps(&project);
    project
        .file("AGENTS.md", "PROJECT-RULE")
        .file(".brynhild/config.yaml", "behavior: {max_tokens: 5}\nbroken: [")
        .file(".env", "BRYNHILD_BEHAVIOR__VERBOSE=true\n");
    project.brynhild(&["chat", "hi"]).code(2);
    let run = project.brynhild(&["--safe", "chat", "hi"]);
    run.success();
    assert_eq!(run.stderr, "");
    let body = server.chats()[0].body.to_string();
    assert!(!body.contains("PROJECT-RULE") && !body.contains("evil"), "{body}");
    let skills = project.brynhild(&["skill", "list", "--safe"]);
    assert!(!skills.stdout.contains("evil"), "{skills}");
    project.brynhild(&["policy", "check", "ls", "--safe", "--require-trust"]).success();
    assert!(!canary.exists());
}

#[test]
fn safe_mode_is_read_only_despite_flags() {
    let project = project();
    project.config("dangerously_skip_permissions: true\ndangerously_skip_sandbox: true\n");
    let input = r#"{"command": "touch made"}"#;
    for more in [
        &["--yes"][..],
        &["--mode", "yolo"],
        &["--dangerously-skip-sandbox", "--mode", "yolo"],
        &["--dangerously-skip-permissions"],
    ] {
        let words = [&["tools", "exec", "Bash", "--input", input, "--safe"], more].concat();
        let run = project.brynhild(&words);
        assert_ne!(run.status.code(), Some(0), "{run}");
        assert!(!run.stderr.contains("without a sandbox"), "{run}");
        assert!(!project.path().join("made").exists());
    }
    let look = r#"{"command": "ls"}"#;
    project.brynhild(&["tools", "exec", "Bash", "--input", look, "--safe"]).success();
    let mode = project.brynhild(&["config", "--safe", "--json"]).json();
    assert_eq!(mode["mode"], "read-only");
}

#[test]
fn safe_mode_ignores_a_plugin_directory() {
    let project = project();
    let directory = project.home().join("plugin");
    fs::create_dir_all(directory.join("skills/mine")).unwrap();
    fs::write(directory.join("skills/mine/SKILL.md"), "---\nname: mine\ndescription: x\n---\nb\n")
        .unwrap();
    let directory = directory.display().to_string();
    let with = project.brynhild(&["skill", "list", "--plugin-dir", &directory]);
    assert!(with.stdout.contains("mine"), "{with}");
    let safe = project.brynhild(&["skill", "list", "--plugin-dir", &directory, "--safe"]);
    safe.success();
    assert!(!safe.stdout.contains("mine"), "{safe}");
}

/// A name, and what breaks the home.
type Breakage<'a> = (&'a str, &'a dyn Fn(&Project));

#[test]
fn safe_mode_reports_and_skips_a_broken_home() {
    let breakages: [Breakage; 7] = [
        ("not YAML", &|project| {
            project.config("a: [");
        }),
        ("wrong values", &|project| {
            project.config("behavior: {max_tokens: many}\n");
        }),
        ("not text", &|project| {
            fs::create_dir_all(project.config_directory()).unwrap();
            fs::write(project.config_directory().join("config.yaml"), [0xff, 0xfe, 0x00]).unwrap();
        }),
        ("a directory", &|project| {
            fs::create_dir_all(project.config_directory().join("config.yaml")).unwrap();
        }),
        ("no type", &|project| {
            project.config("providers: {instances: {x: {base_url: 'http://x'}}}\n");
        }),
        ("a bad rule", &|project| {
            project.config("permissions: {deny: ['Bash(']}\n");
        }),
        ("a bad env file", &|project| {
            fs::write(project.home().join("env"), "BRYNHILD_BEHAVIOR__MAX_TOKENS=many\n").unwrap();
        }),
    ];
    for (name, break_it) in breakages {
        let server = ModelServer::start([
            Reply::calls([("Bash", json!({"command": "ls"}))]),
            Reply::text("fine"),
        ]);
        let mut project = without_files(&server);
        break_it(&project);
        if name == "a bad env file" {
            let path = project.home().join("env");
            project = project.env("BRYNHILD_ENV_FILE", path);
        }
        project.brynhild(&["config"]).code(if name == "a bad rule" { 0 } else { 2 });
        let run = project.brynhild(&["--safe", "chat", "hi"]);
        run.success();
        assert_eq!(run.stdout, "fine\n", "{name}");
        assert!(run.stderr.contains("ignored because of `--safe`"), "{name}: {run}");
    }
}

#[test]
fn safe_mode_does_not_block_on_fifos() {
    let server = ModelServer::start([Reply::text("fine")]);
    let project = without_files(&server);
    fs::create_dir_all(project.config_directory()).unwrap();
    for name in ["permissions.jsonl", "mcp.json"] {
        let (path, mode) = (project.config_directory().join(name), rustix::fs::Mode::RWXU);
        rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).unwrap();
    }
    project.brynhild(&["--safe", "policy", "check", "ls"]).success();
    assert_eq!(project.brynhild(&["--safe", "chat", "hi"]).success().stdout, "fine\n");
}

#[test]
fn safe_mode_works_with_an_unusable_home() {
    for place in ["/dev/null", "/proc/nowhere"] {
        let server = ModelServer::start([
            Reply::calls([("Bash", json!({"command": "ls"}))]),
            Reply::text("fine"),
        ]);
        let project = without_files(&server);
        project.file("a.txt", "");
        let run = project
            .command(&["--safe", "chat", "hi"])
            .env("HOME", place)
            .env("BRYNHILD_CONFIG_DIR", format!("{place}/brynhild"))
            .run();
        run.success();
        assert_eq!(run.stdout, "fine\n", "{place}");
        assert!(run.stderr.contains("the session is not saved"), "{run}");
        let result = server.chats()[1].body["messages"].as_array().unwrap().last().unwrap().clone();
        assert!(result["content"].as_str().unwrap().contains("a.txt"), "{result}");
    }
}
