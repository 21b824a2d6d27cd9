//! Variables and env files.

use insta::assert_snapshot;
use serde_json::json;

use super::{Setup, at};

#[test]
fn names_in_environment_variables_ignore_case() {
    let user = "plugins: {my-plugin: {x: 1}}\nproviders: {instances: {Box: {type: openai}}}\n\
                models: {aliases: {Fast: a/b}}";
    let cases = [
        ("BRYNHILD_TOOLS__DISABLED__BASH", "true", "tools.disabled.Bash", json!(true)),
        ("BRYNHILD_TOOLS__DISABLED__LEARNSKILL", "1", "tools.disabled.LearnSkill", json!(true)),
        ("BRYNHILD_TOOLS__DISABLED____BUILTIN__", "yes", "tools.disabled.__builtin__", json!(true)),
        ("BRYNHILD_TOOLS__DISABLED__MY_TOOL", "true", "tools.disabled.my_tool", json!(true)),
        (
            "BRYNHILD_TOOLS__BASH__REQUIRE_APPROVAL",
            "never",
            "tools.Bash.require_approval",
            json!("never"),
        ),
        ("BRYNHILD_TOOLS__DISABLED", "{\"Bash\":true}", "tools.disabled", json!({"Bash": true})),
        ("brynhild_behavior__Verbose", "on", "behavior.verbose", json!(true)),
        (
            "BRYNHILD_PLUGINS__MY_PLUGIN__ENABLED",
            "false",
            "plugins.my-plugin.enabled",
            json!(false),
        ),
        ("BRYNHILD_PLUGINS__MY_PLUGIN__DEPTH", "3", "plugins.my-plugin.depth", json!(3)),
        (
            "BRYNHILD_PROVIDERS__INSTANCES__BOX__BASE_URL",
            "http://b",
            "providers.instances.Box.base_url",
            json!("http://b"),
        ),
        ("BRYNHILD_MODELS__ALIASES__FAST", "c/d", "models.aliases.Fast", json!("c/d")),
        ("BRYNHILD_MODELS__DEFAULT", "123", "models.default", json!("123")),
        ("BRYNHILD_LOGGING__DIR", "null", "logging.dir", json!(null)),
        ("BRYNHILD_BEHAVIOR", "{\"max_tokens\": 9}", "behavior.max_tokens", json!(9)),
        ("BRYNHILD_SANDBOX__ALLOWED_PATHS", "/a:/b", "sandbox.allowed_paths", json!(["/a", "/b"])),
        ("BRYNHILD_SANDBOX__ALLOWED_PATHS", "[\"/a\"]", "sandbox.allowed_paths", json!(["/a"])),
        ("BRYNHILD_API__ALLOW_PRIVATE", "[\"h\"]", "api.allow_private", json!(["h"])),
        ("BRYNHILD_ALLOW_HOME_DIRECTORY", "true", "allow_home_directory", json!(true)),
        ("OPENROUTER_API_KEY", "sk-e", "openrouter_api_key", json!("sk-e")),
    ];
    for (name, value, path, expected) in cases {
        let loaded = Setup::user(user).env(name, value).load();
        assert_eq!(at(&loaded, path), expected, "{name}");
        assert_eq!(loaded.warnings, [], "{name}");
        let steps: Vec<&str> = path.split('.').collect();
        let leaf = loaded.origin(&steps).unwrap();
        if path != "tools.disabled" && path != "behavior.max_tokens" {
            assert_eq!(leaf.variable.as_deref(), Some(name));
        }
    }
}

#[test]
fn nested_environment_variable_overrides_json_of_its_parent() {
    let loaded = Setup::new()
        .env("BRYNHILD_BEHAVIOR", "{\"max_tokens\": 9, \"verbose\": true}")
        .env("BRYNHILD_BEHAVIOR__MAX_TOKENS", "10")
        .load();
    assert_eq!(loaded.config.behavior.max_tokens, 10);
    assert!(loaded.config.behavior.verbose);
}

#[test]
fn invalid_environment_variables_are_reported() {
    let setup = Setup::new()
        .env("BRYNHILD_BEHAVIOR__MAX_TOKENS", "0")
        .env("BRYNHILD_SANDBOX", "on")
        .env("BRYNHILD_TOOLS__DISABLED", "{broken")
        .env("BRYNHILD_TOOLS__BASH__BLOCKED_COMMANDS", "rm");
    assert_snapshot!(setup.problems(), @r#"
    Error in environment variable BRYNHILD_TOOLS__DISABLED: tools.disabled is not valid JSON: key must be a string at line 1 column 2
    Error in environment variable BRYNHILD_BEHAVIOR__MAX_TOKENS: behavior.max_tokens is "0", expected a whole number from 1 to 200000
    Error in environment variable BRYNHILD_SANDBOX: sandbox is "on", expected a mapping, written as JSON
    Error in environment variable BRYNHILD_TOOLS__BASH__BLOCKED_COMMANDS: tools.Bash.blocked_commands is "rm", expected a list of texts, written as JSON
    "#);
}

#[test]
fn renamed_environment_variables_are_errors_unless_ignored() {
    let names = [
        "MODEL",
        "PROVIDER",
        "VERBOSE",
        "MAX_TOKENS",
        "OUTPUT_FORMAT",
        "SANDBOX_ENABLED",
        "SANDBOX_ALLOW_NETWORK",
        "LOG_CONVERSATIONS",
        "LOG_DIR",
        "LOG_DIR_PRIVATE",
        "RAW_LOG",
        "DISABLED_TOOLS",
        "DISABLE_BUILTIN_TOOLS",
    ];
    for name in names {
        let name = format!("BRYNHILD_{name}");
        let problems = Setup::new().env(&name, "x").problems();
        assert!(
            problems.contains(&format!("{name} is not a setting: set BRYNHILD_")),
            "{problems}"
        );
        assert_eq!(Setup::new().env(&name, "").warnings(), "");
        let skipped = Setup::new().env(&name, "x").env("BRYNHILD_SKIP_MIGRATION_CHECK", "1");
        assert_eq!(skipped.warnings(), "");
    }
    let setup = Setup::new().env("BRYNHILD_MODEL", "x");
    assert_snapshot!(setup.problems(), @"Error in the configuration (env): BRYNHILD_MODEL is not a setting: set BRYNHILD_MODELS__DEFAULT instead, or BRYNHILD_SKIP_MIGRATION_CHECK=1 to have it ignored");
}

#[test]
fn unknown_environment_variables_get_a_suggestion() {
    let setup = Setup::new()
        .env("BRYNHILD_BEHAVIOUR__VERBOSE", "1")
        .env("BRYNHILD_BEHAVIOR__VERBOS", "1")
        .env("BRYNHILD_PLUGINPATH", "x")
        .env("BRYNHILD_AUTO_SAVE", "1")
        .env("BRYNHILD_XYZZY", "1")
        .env("BRYNHILD_MODELS__DEFAULT__X", "1")
        .env("BRYNHILD_PLUGIN_PATH", "/x")
        .env("BRYNHILD_OLLAMA_HOST", "h")
        .env("BRYNHILD_TOOL_NAME", "t")
        .env("OTHER", "1");
    assert_snapshot!(setup.warnings(), @r"
    environment: BRYNHILD_AUTO_SAVE is not a setting (did you mean `BRYNHILD_SESSION__AUTO_SAVE`?)
    environment: BRYNHILD_BEHAVIOR__VERBOS is not a setting (did you mean `BRYNHILD_BEHAVIOR__VERBOSE`?)
    environment: BRYNHILD_BEHAVIOUR__VERBOSE is not a setting (did you mean `BRYNHILD_BEHAVIOR__VERBOSE`?)
    environment: BRYNHILD_MODELS__DEFAULT__X is not a setting (did you mean `BRYNHILD_MODELS__DEFAULT`?)
    environment: BRYNHILD_PLUGINPATH is not a setting (did you mean `BRYNHILD_PLUGIN_PATH`?)
    environment: BRYNHILD_XYZZY is not a setting
    ");
}

#[test]
fn environment_cannot_disable_the_sandbox() {
    let setup = Setup::new().env("BRYNHILD_DANGEROUSLY_SKIP_SANDBOX", "true");
    assert!(!setup.load().config.dangerously_skip_sandbox);
    assert_snapshot!(setup.warnings(), @"environment variable BRYNHILD_DANGEROUSLY_SKIP_SANDBOX: it is ignored: a variable may not leave the sandbox (pass `--dangerously-skip-sandbox`)");
    let setup = setup.flag("dangerously_skip_sandbox", json!(true));
    assert!(setup.load().config.dangerously_skip_sandbox);
}

#[test]
fn env_file_of_the_user_is_trusted() {
    let setup = Setup::new()
        .file("own.env", "OPENROUTER_API_KEY=sk-o\nOTHER_KEY=k\nBRYNHILD_BEHAVIOR__MODE=yolo\n")
        .file("project/.env", "BRYNHILD_BEHAVIOR__VERBOSE=true");
    let own = super::shown(&setup.path("own.env"));
    let setup = setup.env("BRYNHILD_ENV_FILE", &own);
    let loaded = setup.load();
    assert_eq!(loaded.warnings, []);
    assert_eq!(loaded.config.openrouter_api_key.as_ref().unwrap().expose(), "sk-o");
    assert_eq!(loaded.env_file_variables["OTHER_KEY"].expose(), "k");
    assert_eq!(at(&loaded, "behavior.mode"), json!("yolo"));
    assert!(!loaded.config.behavior.verbose);
    let place = loaded.origin(&["behavior", "mode"]).unwrap();
    assert_eq!(place.to_string(), format!("{own}:3"));
}

#[test]
fn missing_env_file_replaces_the_project_env_file() {
    let setup = Setup::new()
        .file("project/.env", "BRYNHILD_BEHAVIOR__VERBOSE=true")
        .env("BRYNHILD_ENV_FILE", "/does/not/exist");
    assert!(!setup.load().config.behavior.verbose);
}

#[test]
fn invalid_env_file_line_is_reported() {
    let setup = Setup::new().file("own.env", "\nBRYNHILD_BEHAVIOR__MAX_TOKENS=x\n");
    let own = super::shown(&setup.path("own.env"));
    assert_snapshot!(setup.env("BRYNHILD_ENV_FILE", &own).problems(), @r#"Error in env file T/own.env: line 2: behavior.max_tokens is "x", expected a whole number from 1 to 200000"#);
}

#[test]
fn loosening_environment_variable_is_reported_and_ignored() {
    let setup = Setup::new()
        .env("BRYNHILD_DANGEROUSLY_SKIP_PERMISSIONS", "yes")
        .env("BRYNHILD_SANDBOX", r#"{"enabled": false, "allow_network": true}"#);
    let loaded = setup.load();
    assert!(loaded.config.sandbox.enabled && loaded.config.sandbox.allow_network);
    assert!(!loaded.config.dangerously_skip_permissions);
    assert_eq!(loaded.warnings.len(), 2);
    let setup = Setup::user("sandbox: {enabled: false}").env("BRYNHILD_SANDBOX__ENABLED", "true");
    assert!(setup.load().config.sandbox.enabled);
    assert_eq!(setup.load().warnings, []);
}
