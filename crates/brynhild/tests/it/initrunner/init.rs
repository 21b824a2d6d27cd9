//! `init`: what it writes is valid and runs, and nothing is overwritten.

use serde_json::json;
use testkit::{ModelServer, Reply};

use crate::{project, project_with};

#[test]
fn init_role_and_api_are_valid_and_run() {
    for template in ["role", "api"] {
        let model = ModelServer::start([Reply::text("Done.")]);
        let project = project_with(&model);
        let args = ["init", "--template", template, "--name", "my-agent"];
        let run = project.brynhild(&args);
        assert!(run.success().stdout.contains("my-agent.yaml"), "{run}");
        let valid = project.brynhild(&["validate", "my-agent.yaml"]);
        assert!(valid.success().stderr.is_empty(), "{valid}");
        let run = project.brynhild(&["run", "my-agent.yaml", "-p", "x"]);
        assert_eq!(run.success().stdout.trim(), "Done.");
        let tools = model.chats()[0].body["tools"].to_string();
        let tool = if template == "role" { "read_file" } else { "temperature" };
        assert!(tools.contains(tool), "{tools}");
    }
}

#[test]
fn init_plugin_is_valid_and_works() {
    let project = project();
    let directory = project.config_directory().join("plugins");
    let output = directory.to_str().unwrap();
    let args = ["init", "--template", "plugin", "--name", "greeter", "--output", output, "--json"];
    let run = project.brynhild(&args);
    assert_eq!(run.success().json()["files"].as_array().unwrap().len(), 3);
    let plugin = directory.join("greeter");
    let valid = project.brynhild(&["plugin", "validate", plugin.to_str().unwrap()]);
    assert!(valid.success().stderr.is_empty(), "{valid}");
    let run = project.brynhild(&["tools", "exec", "greeting", "--input", "{\"name\": \"Ann\"}"]);
    assert_eq!(run.success().stdout, "Hello, Ann!\n");
    let run = project.brynhild(&["command", "render", "greet", "Ann"]);
    assert!(run.success().stdout.contains("Greet Ann"), "{run}");
}

#[test]
fn init_skill_is_valid() {
    let project = project();
    project.brynhild(&["init", "--template", "skill", "--name", "tidy-up"]).success();
    let valid = project.brynhild(&["skill", "validate", "tidy-up"]);
    assert!(valid.success().stderr.is_empty(), "{valid}");
}

#[test]
fn init_tool_is_a_module() {
    let project = project();
    project.brynhild(&["init", "--template", "tool", "--name", "my-tools"]).success();
    let module = project.read("my_tools.py");
    assert!(module.contains("def greet(name: str, tool_config: dict"), "{module}");
    let role =
        "name: t\nprompt: x\ntools: [{type: custom, module: my_tools, config: {greeting: Hi}}]\n";
    project.file("role.yaml", role);
    let input = "{\"name\": \"Ann\"}";
    let words = ["tools", "exec", "greet", "--role", "role.yaml", "--input", input, "--yes"];
    assert_eq!(project.brynhild(&words).success().stdout, "Hi, Ann!\n");
}

#[test]
fn init_overwrites_nothing_and_checks_names() {
    let project = project();
    project.file("taken.yaml", "mine").file("half/tools/greeting.py", "mine");
    for (template, name) in [("role", "taken"), ("plugin", "half")] {
        let run = project.brynhild(&["init", "--template", template, "--name", name]);
        assert!(run.code(2).stderr.contains("is there already and stays as it is"), "{run}");
    }
    assert_eq!(project.read("taken.yaml"), "mine");
    assert!(!project.path().join("half/plugin.yaml").exists());
    for (template, name) in [
        ("role", "Bad Name"),
        ("skill", "../x"),
        ("tool", "1st"),
        ("plugin", "a--b"),
        ("tool", "a/b"),
    ] {
        let run = project.brynhild(&["init", "--template", template, "--name", name]);
        run.code(2);
    }
    let list = json!(std::fs::read_dir(project.path()).unwrap().count());
    assert_eq!(list, 2);
    project.brynhild(&["init", "--template", "house", "--name", "x"]).code(2);
}
