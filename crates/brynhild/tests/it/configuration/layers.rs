//! The precedence of the layers, and the directories of files.

use std::fs;

use serde_json::{Value, json};
use testkit::Project;

use super::{at, value};
use crate::project;

const KEY: &str = "behavior.reasoning_level";

/// The level in force, with the layer and the line that it comes from.
fn level(project: &Project, args: &[&str], env: &[(&str, &str)]) -> (Value, Value, Value) {
    let words = [&["config", "show", "--json", "--provenance"], args].concat();
    let invocation = env.iter().fold(project.command(&words), |it, (k, v)| it.env(k, v));
    let run = invocation.run();
    run.success();
    let is_told = |line: &str| line.contains("is this project's choice");
    assert!(run.stderr.lines().all(is_told), "{run}");
    let shown = run.json();
    let origin = &shown["provenance"][KEY];
    (at(&shown["config"], KEY), origin["layer"].clone(), origin["line"].clone())
}

fn layer(word: &str) -> String {
    format!("# a comment\nbehavior:\n  reasoning_level: {word}\n")
}

#[test]
fn each_layer_overrides_lower_layers() {
    let mut project = project();
    assert_eq!(level(&project, &[], &[]).1, "builtin");
    project.file("site.yaml", layer("site")).file("deployment/config.yaml", layer("deployment"));
    let directory = project.path();
    project = project.env("BRYNHILD_SITE_CONFIG", directory.join("site.yaml"));
    assert_eq!(level(&project, &[], &[]), (json!("site"), json!("site"), json!(3)));
    // A directory means the file in it.
    project = project.env("BRYNHILD_DEPLOYMENT_CONFIG", directory.join("deployment"));
    assert_eq!(level(&project, &[], &[]).1, "deployment");
    project.config(&layer("user"));
    assert_eq!(level(&project, &[], &[]), (json!("user"), json!("user"), json!(3)));
    project.file(".brynhild/config.yaml", layer("project"));
    assert_eq!(level(&project, &[], &[]), (json!("project"), json!("project"), json!(3)));
    project.file(".env", "\nBRYNHILD_BEHAVIOR__REASONING_LEVEL=dotenv\n");
    assert_eq!(level(&project, &[], &[]), (json!("dotenv"), json!("dotenv"), json!(2)));
    let env = [("brynhild_Behavior__REASONING_level", "env")];
    assert_eq!(level(&project, &[], &env), (json!("env"), json!("env"), Value::Null));
}

#[test]
fn flag_overrides_every_layer() {
    let project = project().env("BRYNHILD_BEHAVIOR__MODE", "read-only");
    assert_eq!(value(&project, "behavior.mode"), "read-only");
    let run = project.brynhild(&["--mode", "normal", "config", "show", "--json", "--provenance"]);
    assert_eq!(at(&run.json(), "config.behavior.mode"), "normal");
    assert_eq!(run.json()["provenance"]["behavior.mode"]["layer"], "flag");
}

#[test]
fn user_env_file_replaces_the_project_env_file() {
    let project = project();
    project.file(".env", "BRYNHILD_BEHAVIOR__REASONING_LEVEL=low\n");
    project.file("own.env", "export BRYNHILD_BEHAVIOR__REASONING_LEVEL='high' # mine\n");
    let own = project.path().join("own.env");
    let own = own.to_str().unwrap();
    assert_eq!(level(&project, &[], &[("BRYNHILD_ENV_FILE", own)]).0, "high");
    assert_eq!(level(&project, &[], &[("BRYNHILD_ENV_FILE", "/nowhere.env")]).0, "auto");
    assert_eq!(level(&project, &[], &[]).0, "low");
}

#[test]
fn maps_merge_lists_replace_and_null_overrides() {
    let project = project();
    project.file(
        "site.yaml",
        "models: {aliases: {mine: a/b}}\nsandbox: {read_paths: [/a, /b]}\nlog_file: /tmp/x.jsonl\n",
    );
    let site = project.path().join("site.yaml");
    let project = project.env("BRYNHILD_SITE_CONFIG", site);
    project
        .config("models: {aliases: {yours: c/d}}\nsandbox: {read_paths: [/c]}\nlog_file: null\n");
    assert_eq!(value(&project, "models.aliases.mine"), "a/b");
    assert_eq!(value(&project, "models.aliases.yours"), "c/d");
    assert_eq!(value(&project, "models.aliases.opus"), "anthropic/claude-opus-4.5");
    assert_eq!(value(&project, "sandbox.read_paths"), json!(["/c"]));
    assert_eq!(value(&project, "log_file"), Value::Null);
}

#[test]
fn tags_delete_and_replace_lower_values() {
    let project = project();
    project.config("models:\n  aliases:\n    opus: !delete\n    grok: a/b\n");
    let aliases = project.brynhild(&["models", "aliases"]).stdout;
    assert!(!aliases.contains("opus") && aliases.contains("grok = a/b\n"), "{aliases}");
    project.config("models:\n  aliases: !replace\n    only: a/b\n");
    assert_eq!(project.brynhild(&["models", "aliases"]).stdout, "only = a/b\n");
}

#[test]
fn missing_and_empty_files_are_accepted() {
    let project = project()
        .env("BRYNHILD_SITE_CONFIG", "/nowhere/config.yaml")
        .env("BRYNHILD_DEPLOYMENT_CONFIG", "");
    project.config("# nothing but a comment\n").file(".brynhild/config.yaml", "");
    let run = project.brynhild(&["config", "show"]);
    run.success();
    assert_eq!(run.stderr, "");
}

#[test]
fn paths_are_expanded() {
    let project =
        project().env("WHERE", "site").env("BRYNHILD_SITE_CONFIG", "~/$WHERE/config.yaml");
    let directory = project.home().join("site");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("config.yaml"), "logging: {dir: '~/${WHERE}/logs'}").unwrap();
    let logs = directory.join("logs");
    assert_eq!(value(&project, "logging.dir"), logs.to_str().unwrap());
}

#[test]
fn environment_variable_moves_the_config_directory() {
    let project = project();
    let own = project.home().join("elsewhere");
    let skill = "---\nname: moved\ndescription: A skill that has moved.\n---\n\nDo it.\n";
    for (path, text) in [
        ("config.yaml", "providers: {default: script}\n"),
        ("rules/mine.md", "Always say please.\n"),
        ("profiles/mine.yaml", "name: mine\ndescription: My own\n"),
        ("skills/moved/SKILL.md", skill),
    ] {
        let path = own.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    project.config("this is: [not read\n");
    project.file("say.yaml", "name: say\nturns: [{text: hello}]\n");
    let project = project.env("BRYNHILD_CONFIG_DIR", &own);
    project.brynhild(&["chat", "--no-log", "--model", "say.yaml", "go"]).success();
    let list = project.brynhild(&["session", "list", "--json"]);
    assert_eq!(list.json().as_array().unwrap().len(), 1, "{list}");
    assert!(own.join("sessions").is_dir());
    assert!(project.brynhild(&["rules", "show"]).stdout.contains("Always say please."));
    assert!(project.brynhild(&["profile", "list"]).stdout.contains("My own"));
    assert!(project.brynhild(&["skill", "list"]).stdout.contains("A skill that has moved."));
    let kept: Vec<_> = fs::read_dir(project.config_directory()).unwrap().collect();
    assert_eq!(kept.len(), 1, "only the file that was there before: {kept:?}");
}

#[test]
fn xdg_config_home_is_honored() {
    let project = project();
    let moved = project.home().join("xdg");
    fs::create_dir_all(moved.join("brynhild")).unwrap();
    fs::write(moved.join("brynhild/config.yaml"), layer("moved")).unwrap();
    assert_eq!(level(&project, &[], &[("XDG_CONFIG_HOME", moved.to_str().unwrap())]).0, "moved");
    // Existing files are moved along.
    project.config(&layer("usual"));
    assert_eq!(level(&project, &[], &[("XDG_CONFIG_HOME", "/nowhere")]).0, "usual");
}

/// The decision of `policy check` on a command.
fn decision(project: &Project, flags: &[&str], command: &str) -> String {
    let words = [&["policy", "check", "--json"], flags, &[command]].concat();
    let run = project.brynhild(&words);
    run.json()["ruling"]["decision"].as_str().unwrap().to_owned()
}

/// A project with a configuration of the site, one of the deployment, and one of the user.
fn layered(site: &str, deployment: &str, user: &str) -> Project {
    let project = project();
    project.file("site.yaml", site).file("deployment.yaml", deployment).config(user);
    let directory = project.path();
    let (site, deployment) = (directory.join("site.yaml"), directory.join("deployment.yaml"));
    project.env("BRYNHILD_SITE_CONFIG", site).env("BRYNHILD_DEPLOYMENT_CONFIG", deployment)
}

#[test]
fn deny_and_ask_rules_of_all_layers_are_merged() {
    let lists = |word: &str| {
        format!("permissions: {{deny: ['Bash({word}-a:*)'], ask: ['Bash({word}-b:*)']}}\n")
    };
    let project = layered(&lists("site"), &lists("deployment"), &lists("user"));
    project.file(".brynhild/config.yaml", lists("project"));
    for layer in ["site", "deployment", "user", "project"] {
        assert_eq!(decision(&project, &[], &format!("{layer}-a x")), "deny", "{layer}");
        assert_eq!(decision(&project, &[], &format!("{layer}-b x")), "ask", "{layer}");
    }
}

#[test]
fn a_user_cannot_remove_the_site_s_rules() {
    let site = "permissions: {deny: ['Bash(curl:*)']}\ntools: {Bash: {blocked_commands: [wget]}}\n";
    for user in [
        "permissions: {deny: []}\n",
        "permissions: {deny: !replace ['Bash(x:*)']}\n",
        "permissions: {deny: !delete null}\n",
        "permissions: !replace {ask: []}\n",
        "tools: {Bash: {blocked_commands: [x]}}\n",
        "tools: {Bash: !replace {blocked_commands: []}}\n",
    ] {
        let project = layered(site, "", user);
        for command in ["curl x", "wget x"] {
            assert_eq!(decision(&project, &[], command), "deny", "{user}: {command}");
        }
    }
}

#[test]
fn the_mode_of_site_and_deployment_is_an_upper_bound() {
    let mode = |word: &str| format!("behavior: {{mode: {word}}}\n");
    let project = layered(&mode("ask"), "", &mode("yolo"));
    assert_eq!(value(&project, "behavior.mode"), "ask");
    assert_eq!(decision(&project, &["--mode", "yolo"], "make"), "ask");
    assert_eq!(decision(&project, &["--dangerously-skip-permissions"], "make"), "ask");
    assert_eq!(decision(&project, &["--mode", "read-only"], "make"), "allow");
    let run = project.brynhild(&["--mode", "yolo", "policy", "check", "make"]);
    assert!(run.stderr.contains("`behavior.mode: yolo` is ignored"), "{run}");
    // The deployment tightens the site's bound and does not loosen it.
    assert_eq!(
        value(&layered(&mode("normal"), &mode("ask"), &mode("normal")), "behavior.mode"),
        "ask"
    );
    assert_eq!(value(&layered(&mode("ask"), &mode("normal"), ""), "behavior.mode"), "ask");
}

#[test]
fn a_project_only_makes_the_mode_stricter() {
    let project = project();
    project.config("behavior: {mode: ask}\n");
    project.file(".brynhild/config.yaml", "behavior: {mode: normal}\n");
    assert_eq!(decision(&project, &[], "make"), "ask");
    project.config("behavior: {mode: normal}\n");
    project.file(".brynhild/config.yaml", "behavior: {mode: ask}\n");
    assert_eq!(decision(&project, &[], "make"), "ask");
}
