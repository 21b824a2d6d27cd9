//! A project's files may tighten what is in force, never loosen it.

use serde_json::json;

use super::{value, warnings};
use crate::project;

const OWN: &str = "providers:\n  instances:\n    mine: {type: openai, base_url: http://localhost:1/v1}\n\
                   sandbox: {allowed_paths: [/a, /b]}\npermissions: {deny: [\"Bash(rm *)\"]}\n\
                   tools: {disabled: {Bash: true}}\n";

#[test]
fn loosening_project_keys_are_ignored_with_a_warning() {
    for (yaml, key) in [
        ("dangerously_skip_permissions: true", "dangerously_skip_permissions"),
        ("dangerously_skip_sandbox: true", "dangerously_skip_sandbox"),
        ("allow_home_directory: true", "allow_home_directory"),
        ("log_file: /tmp/x", "log_file"),
        ("openrouter_api_key: abc", "openrouter_api_key"),
        ("sandbox: {enabled: false}", "sandbox.enabled"),
        ("sandbox: {allow_network: true}", "sandbox.allow_network"),
        ("sandbox: {allowed_paths: [/etc]}", "sandbox.allowed_paths"),
        ("sandbox: {read_paths: [/etc]}", "sandbox.read_paths"),
        ("behavior: {mode: yolo}", "behavior.mode"),
        ("behavior: {max_tokens: 100000}", "behavior.max_tokens"),
        ("behavior: {max_tool_rounds: 1000}", "behavior.max_tool_rounds"),
        ("providers: {default: mine}", "providers.default"),
        ("providers: {instances: {evil: {type: openai}}}", "providers.instances.evil"),
        ("providers: {mine: {base_url: http://evil}}", "providers.instances.mine.base_url"),
        ("providers: {mine: {api_key_env: HOME}}", "providers.instances.mine.api_key_env"),
        ("providers: {mine: {headers: {a: b}}}", "providers.instances.mine.headers"),
        ("providers: {mine: !delete }", "providers.instances.mine"),
        ("permissions: {allow: [Bash]}", "permissions.allow"),
        ("permissions: !replace {deny: []}", "permissions"),
        ("permissions: {deny: !delete }", "permissions.deny"),
        ("tools: {disabled: {Bash: false}}", "tools.disabled.Bash"),
        ("tools: {disabled: !replace {}}", "tools.disabled"),
        ("tools: {Bash: {require_approval: never}}", "tools.Bash.require_approval"),
        ("logging: {enabled: false}", "logging.enabled"),
        ("logging: {dir: /tmp/x}", "logging.dir"),
        ("logging: {private: false}", "logging.private"),
        ("session: {auto_save: false}", "session.auto_save"),
        ("plugins: {search_paths: [/tmp]}", "plugins.search_paths"),
        ("plugins: {enabled: {evil: true}}", "plugins.enabled.evil"),
        ("mcp: {evil: {command: sh}}", "mcp"),
        ("models: {registry: {a/b: {bindings: {openrouter: c/d}}}}", "models.registry"),
    ] {
        let project = project();
        project.config(OWN);
        let before = value(&project, key);
        project.file(".brynhild/config.yaml", format!("version: 1\n{yaml}\n"));
        let run = project.brynhild(&["config", "show", "--json"]);
        run.success();
        let told = warnings(&run);
        assert_eq!(told.len(), 1, "{yaml}: {run}");
        let place = format!("{}:2: `{key}", project.path().join(".brynhild/config.yaml").display());
        assert!(told[0].starts_with(&place), "{yaml}: {run}");
        let why = ["is ignored: ", "is ignored until you trust the project"];
        assert!(why.iter().any(|why| told[0].contains(why)), "{yaml}: {run}");
        assert!(told[0].contains(&format!("set it in {}", project.config_directory().display())));
        assert_eq!(super::at(&run.json(), key), before, "{yaml}");
    }
}

#[test]
fn tightening_project_keys_apply() {
    let project = project();
    project.config(OWN).file(
        ".brynhild/config.yaml",
        "behavior: {mode: read-only, max_tool_rounds: 3}\nsandbox: {allowed_paths: [/a]}\n\
         permissions: {deny: [Write]}\ntools: {disabled: {Edit: true}}\n\
         providers: {mine: {enabled: false}}\n",
    );
    let run = project.brynhild(&["config", "show", "--json"]);
    assert_eq!(run.stderr, "");
    let shown = run.json();
    assert_eq!(shown["behavior"]["mode"], "read-only");
    assert_eq!(shown["behavior"]["max_tool_rounds"], 3);
    assert_eq!(shown["sandbox"]["allowed_paths"], json!(["/a"]));
    assert_eq!(shown["permissions"]["deny"], json!(["Bash(rm *)", "Write"]));
    assert_eq!(shown["tools"]["disabled"], json!({"Bash": true, "Edit": true}));
    assert_eq!(shown["providers"]["instances"]["mine"]["enabled"], false);
}

#[test]
fn project_env_file_has_the_rights_of_the_project() {
    let project = project();
    project.file(
        ".env",
        "OPENROUTER_API_KEY=theirs\nBRYNHILD_BEHAVIOR__MODE=yolo\nBRYNHILD_CONFIG_DIR=/tmp/x\n\
         BRYNHILD_TOOLS__DISABLED__BASH=true\nDATABASE_URL=postgres://x\n",
    );
    let run = project.brynhild(&["config", "show", "--json"]);
    run.success();
    let told = warnings(&run);
    assert_eq!(told.len(), 3, "{run}");
    for (line, part) in
        [":1: `OPENROUTER_API_KEY`", ":2: `behavior.mode", ":3: BRYNHILD_CONFIG_DIR"]
            .iter()
            .enumerate()
    {
        assert!(told.iter().any(|it| it.contains(part)), "line {line}, {part}: {run}");
    }
    assert_eq!(run.json()["openrouter_api_key"], json!(null));
    assert_eq!(run.json()["tools"]["disabled"], json!({"Bash": true}));
}

#[test]
fn yolo_mode_is_set_by_user_file_or_flag() {
    let project = project();
    let mode = |run: &testkit::Run| run.json()["mode"].clone();
    project.config("dangerously_skip_permissions: true");
    assert_eq!(mode(&project.brynhild(&["config", "--json"])), "yolo");
    project.config("");
    let run = project.brynhild(&["config", "--json", "--dangerously-skip-permissions"]);
    assert_eq!(mode(&run), "yolo");
    let set = ("BRYNHILD_DANGEROUSLY_SKIP_PERMISSIONS", "true");
    let run = project.command(&["config", "--json"]).env(set.0, set.1).run();
    assert_eq!(mode(&run), "normal");
    assert_eq!(warnings(&run).len(), 1, "{run}");
    let set = ("BRYNHILD_DANGEROUSLY_SKIP_SANDBOX", "true");
    let run = project.command(&["config", "--json"]).env(set.0, set.1).run();
    assert_eq!(warnings(&run).len(), 1, "{run}");
}
