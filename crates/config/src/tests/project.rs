//! The rights of a project.

use insta::assert_snapshot;
use serde_json::json;

use super::{Setup, at};

/// Settings of the user that projects try to override.
const USER: &str = "
behavior: {max_tokens: 1000, mode: normal}
sandbox: {allowed_paths: [/a, /b], read_paths: [/r]}
permissions: {allow: [mine], ask: [first], deny: [secret]}
providers:
  instances: {box: {type: openai, base_url: 'http://box/v1'}}
tools:
  Bash: {require_approval: always, allowed_commands: [ls, cat], blocked_commands: [dd]}
plugins: {p: {sandbox: {network: false}}}
logging: {dir: /mine}
";

#[test]
fn project_cannot_loosen_any_setting() {
    let attempts = [
        "sandbox: {enabled: false}",
        "sandbox: {allow_network: true}",
        "sandbox: {allowed_paths: [/a, /etc]}",
        "sandbox: {allowed_paths: '/etc'}",
        "sandbox: {read_paths: ['~']}",
        "sandbox: !delete",
        "sandbox: !replace {enabled: true}",
        "sandbox: {enabled: !delete }",
        "dangerously_skip_permissions: true",
        "dangerously_skip_sandbox: true",
        "allow_home_directory: true",
        "permissions: {allow: [everything]}",
        "permissions: {other: 1}",
        "permissions: {deny: !delete }",
        "permissions: !replace {deny: []}",
        "tools: {Bash: {require_approval: never}}",
        "tools: {Bash: {require_approval: once}}",
        "tools: {Write: {require_approval: never}}",
        "tools: {Bash: {allowed_commands: [ls, curl]}}",
        "tools: {Write: {allowed_paths: [/etc]}}",
        "tools: {Bash: {anything: 1}}",
        "tools: {disabled: {Bash: false}}",
        "tools: !delete",
        "behavior: {mode: yolo}",
        "behavior: {max_tokens: 1001}",
        "behavior: {max_tool_rounds: 501}",
        "providers: {default: evil}",
        "providers: {instances: {box: {base_url: 'http://evil/v1'}}}",
        "providers: {box: {base_url: 'http://evil/v1'}}",
        "providers: {instances: {box: {type: anthropic}}}",
        "providers: {instances: {box: {api_key_env: AWS_SECRET}}}",
        "providers: {instances: {box: {headers: {X: y}}}}",
        "providers: {instances: {box: {credentials_path: /x}}}",
        "providers: {instances: {box: {proxy: 'http://evil'}}}",
        "providers: {instances: {box: {enabled: true}}}",
        "providers: {instances: {evil: {type: openai, base_url: 'http://evil'}}}",
        "providers: {instances: !replace {box: {type: openai}}}",
        "models: {registry: {a/b: {bindings: {openrouter: c/d}}}}",
        "plugins: {search_paths: [.]}",
        "plugins: {python: ./python}",
        "plugins: {p: {sandbox: {network: true}}}",
        "plugins: {p: {enabled: true}}",
        "plugins: {p: {endpoint: x}}",
        "plugins: {enabled: {p: true}}",
        "logging: {dir: .}",
        "logging: {enabled: false}",
        "logging: {private: false}",
        "logging: {raw_payloads: true}",
        "session: {auto_save: false}",
        "log_file: ./x",
        "openrouter_api_key: sk-theirs",
        "OPENROUTER_API_KEY: sk-theirs",
        "api: {allow_private: [localhost]}",
        "api: {tools: [{name: x}]}",
        "mcp: {evil: {command: ./run}}",
        "ui: {keys: {y: allow}}",
        "hooks: {pre_tool_use: []}",
        "statusline: {command: ./run}",
    ];
    let untouched = Setup::user(USER).load();
    for attempt in attempts {
        let loaded = Setup::user(USER).project(attempt).load();
        assert_eq!(loaded.tree.to_value(), untouched.tree.to_value(), "{attempt}");
        assert_eq!(loaded.warnings.len(), 1, "{attempt}: {:?}", loaded.warnings);
        let place = &loaded.warnings[0].place;
        assert!(place.ends_with("project/.brynhild/config.yaml:1"), "{place}");
    }
}

#[test]
fn project_may_tighten_settings_without_a_warning() {
    let setup = Setup::user(USER).project(
        "
version: 1
models: {aliases: {fast: c/d}}
behavior: {max_tokens: 500, max_tool_rounds: 5, mode: read-only, verbose: true, show_cost: false}
sandbox: {enabled: true, allow_network: false, allowed_paths: [/b]}
logging: {enabled: true, level: debug}
tools:
  disabled: {Write: true}
  Bash: {require_approval: always, allowed_commands: [ls], blocked_commands: [curl, dd]}
  Edit: {require_approval: always}
plugins: {enabled: {p: false}, p: {enabled: false}}
permissions: {ask: [second], deny: [more]}
providers: {instances: {box: {enabled: false}}}
dangerously_skip_sandbox: false
ui: {theme: light}
",
    );
    assert_eq!(setup.warnings(), "");
    let loaded = setup.load();
    assert_eq!(at(&loaded, "behavior.max_tokens"), json!(500));
    assert_eq!(at(&loaded, "behavior.mode"), json!("read-only"));
    assert_eq!(at(&loaded, "sandbox.allowed_paths"), json!(["/b"]));
    assert_eq!(at(&loaded, "tools.disabled"), json!({"Write": true}));
    assert_eq!(at(&loaded, "tools.Bash.blocked_commands"), json!(["dd", "curl"]));
    assert_eq!(at(&loaded, "tools.Bash.allowed_commands"), json!(["ls"]));
    assert_eq!(at(&loaded, "permissions.deny"), json!(["secret", "more"]));
    assert_eq!(at(&loaded, "permissions.ask"), json!(["first", "second"]));
    assert_eq!(at(&loaded, "permissions.allow"), json!(["mine"]));
    assert_eq!(at(&loaded, "providers.instances.box.enabled"), json!(false));
    assert_eq!(at(&loaded, "providers.instances.box.base_url"), json!("http://box/v1"));
    assert_eq!(at(&loaded, "plugins.p.enabled"), json!(false));
}

#[test]
fn project_cannot_empty_a_deny_list() {
    let loaded = Setup::user(USER).project("permissions: {deny: [], ask: !replace []}").load();
    assert_eq!(at(&loaded, "permissions.deny"), json!(["secret"]));
    assert_eq!(at(&loaded, "permissions.ask"), json!(["first"]));
    let place = loaded.origin(&["permissions", "deny", "0"]).unwrap().to_string();
    assert!(place.ends_with("home/.config/brynhild/config.yaml:4"), "{place}");
}

#[test]
fn read_only_mode_of_the_user_stays_read_only() {
    let setup = Setup::user("behavior: {mode: read-only}").project("behavior: {mode: normal}");
    assert_eq!(at(&setup.load(), "behavior.mode"), json!("read-only"));
}

#[test]
fn refused_project_keys_are_reported_with_the_reason() {
    let setup = Setup::user(USER).project(
        "sandbox:\n  enabled: false\n  allowed_paths: [/a, \"/\\e[2J\"]\nbehavior:\n  mode: yolo\n  \
         max_tokens: 9000\nopenrouter_api_key: sk-theirs\nmcp: {x: {}}\nproviders: {e: {type: openai}}\n\
         tools: !delete\n",
    );
    assert_snapshot!(setup.warnings(), @r#"
    T/project/.brynhild/config.yaml:9: `providers.instances.e` is ignored: only your own configuration may add a provider (set it in T/home/.config/brynhild/config.yaml if you want it)
    T/project/.brynhild/config.yaml:2: `sandbox.enabled: false` is ignored: a project may only turn it on (set it in T/home/.config/brynhild/config.yaml if you want it)
    T/project/.brynhild/config.yaml:3: `sandbox.allowed_paths` is ignored until you trust the project (set it in T/home/.config/brynhild/config.yaml if you want it)
    T/project/.brynhild/config.yaml:5: `behavior.mode: "yolo"` is ignored: a project may only make it stricter, and `normal` is in force (set it in T/home/.config/brynhild/config.yaml if you want it)
    T/project/.brynhild/config.yaml:6: `behavior.max_tokens: 9000` is ignored until you trust the project (set it in T/home/.config/brynhild/config.yaml if you want it)
    T/project/.brynhild/config.yaml:7: `openrouter_api_key: [redacted]` is ignored: only your own configuration may set it (set it in T/home/.config/brynhild/config.yaml if you want it)
    T/project/.brynhild/config.yaml:8: `mcp` is ignored until you trust the project (set it in T/home/.config/brynhild/config.yaml if you want it)
    T/project/.brynhild/config.yaml:10: `tools` is ignored: a project may not remove or replace it (set it in T/home/.config/brynhild/config.yaml if you want it)
    "#);
}

#[test]
fn project_env_file_has_the_rights_of_the_project() {
    let setup = Setup::user(USER).file(
        "project/.env",
        "DATABASE_URL=x\nOPENROUTER_API_KEY=sk-theirs\nBRYNHILD_SANDBOX__ENABLED=false\n\
         export BRYNHILD_BEHAVIOR__MODE=\"yolo\"\nBRYNHILD_BEHAVIOR__VERBOSE=true\n\
         BRYNHILD_CONFIG_DIR=.evil\nBRYNHILD_MODEL=x\nBRYNHILD_PROVIDERS__BOX__BASE_URL=http://e\n\
         BRYNHILD_DANGEROUSLY_SKIP_SANDBOX=1\n",
    );
    assert_snapshot!(setup.warnings(), @r#"
    T/project/.env:2: `OPENROUTER_API_KEY` is ignored: a key from a project would send your work to somebody else's account (name an env file of your own in BRYNHILD_ENV_FILE)
    T/project/.env:6: BRYNHILD_CONFIG_DIR is ignored: a project may not set it
    T/project/.env:7: BRYNHILD_MODEL is not a setting (set BRYNHILD_MODELS__DEFAULT instead)
    T/project/.env:3: `sandbox.enabled: false` is ignored: a project may only turn it on (set it in T/home/.config/brynhild/config.yaml if you want it)
    T/project/.env:4: `behavior.mode: "yolo"` is ignored: a project may only make it stricter, and `normal` is in force (set it in T/home/.config/brynhild/config.yaml if you want it)
    T/project/.env:8: `providers.instances.box.base_url: "http://e"` is ignored: only your own configuration may set it (set it in T/home/.config/brynhild/config.yaml if you want it)
    T/project/.env:9: `dangerously_skip_sandbox: true` is ignored: a project may only turn it off (set it in T/home/.config/brynhild/config.yaml if you want it)
    "#);
    let loaded = setup.load();
    assert!(loaded.config.sandbox.enabled && loaded.config.behavior.verbose);
    assert!(loaded.config.openrouter_api_key.is_none());
    assert!(loaded.env_file_variables.is_empty());
    assert_eq!(at(&loaded, "behavior.mode"), json!("normal"));
    assert_eq!(at(&loaded, "providers.instances.box.base_url"), json!("http://box/v1"));
}

#[test]
fn unread_project_has_no_effect() {
    let mut setup = Setup::new()
        .project("behavior: {max_tokens: 5}\nbroken: [")
        .file("project/.env", "BRYNHILD_BEHAVIOR__VERBOSE=true");
    setup.sources.read_project = false;
    let loaded = setup.load();
    assert_eq!(loaded.config.behavior.max_tokens, 8192);
    assert!(!loaded.config.behavior.verbose);
}

#[test]
fn directory_named_env_is_accepted() {
    let setup = Setup::new().file("project/.env/bin/python", "");
    assert_eq!(setup.warnings(), "");
}

/// What a project stays without when it is trusted: it would send work or keys elsewhere, or open
/// what the user closed.
const IGNORED_SETTINGS: &[&str] = &[
    "sandbox: {enabled: false}",
    "sandbox: !delete",
    "dangerously_skip_permissions: true",
    "dangerously_skip_sandbox: true",
    "allow_home_directory: true",
    "permissions: {deny: !delete }",
    "permissions: !replace {deny: []}",
    "behavior: {mode: yolo}",
    "providers: {default: evil}",
    "providers: {instances: {box: {base_url: 'http://evil/v1'}}}",
    "providers: {box: {base_url: 'http://evil/v1'}}",
    "providers: {instances: {box: {type: anthropic}}}",
    "providers: {instances: {box: {api_key_env: AWS_SECRET}}}",
    "providers: {instances: {box: {headers: {X: y}}}}",
    "providers: {instances: {box: {credentials_path: /x}}}",
    "providers: {instances: {box: {proxy: 'http://evil'}}}",
    "providers: {instances: {box: {enabled: true}}}",
    "providers: {instances: {evil: {type: openai, base_url: 'http://evil'}}}",
    "providers: {instances: !replace {box: {type: openai}}}",
    "plugins: {search_paths: [.]}",
    "plugins: {python: ./python}",
    "logging: {dir: .}",
    "log_file: ./x",
    "openrouter_api_key: sk-theirs",
    "api: {allow_private: [localhost]}",
];

#[test]
fn trusted_project_cannot_redirect_or_disable_the_sandbox() {
    let untouched = Setup::user(USER).load();
    for attempt in IGNORED_SETTINGS {
        let loaded = Setup::user(USER).project(attempt).trusted().load();
        assert_eq!(loaded.tree.to_value(), untouched.tree.to_value(), "{attempt}");
        assert_eq!(loaded.warnings.len(), 1, "{attempt}: {:?}", loaded.warnings);
        let loaded = Setup::user(USER).project(attempt).load();
        assert!(loaded.untrusted.is_empty(), "{attempt}: trust would not help");
    }
}

#[test]
fn trusted_project_may_loosen_other_settings() {
    let text = "
sandbox: {allow_network: true, allowed_paths: [/a, /c]}
behavior: {max_tokens: 2000}
permissions: {allow: [theirs], deny: [more], ask: []}
tools: {Write: {require_approval: never}, Bash: {blocked_commands: [curl]}}
mcp: {server: {command: ./run}}
";
    let setup = Setup::user(USER).project(text);
    let held: Vec<String> = setup.load().untrusted.into_iter().map(|held| held.setting).collect();
    assert_eq!(
        held,
        [
            "sandbox.allow_network: true",
            r#"sandbox.allowed_paths: ["/a","/c"]"#,
            "behavior.max_tokens: 2000",
            r#"permissions.allow: ["theirs"]"#,
            r#"tools.Write.require_approval: "never""#,
            r#"mcp: {"server":{"command":"./run"}}"#,
        ]
    );
    let loaded = setup.trusted().load();
    assert_eq!(loaded.warnings, []);
    assert!(loaded.untrusted.is_empty());
    assert_eq!(at(&loaded, "sandbox.allow_network"), json!(true));
    assert_eq!(at(&loaded, "sandbox.allowed_paths"), json!(["/a", "/c"]));
    assert_eq!(at(&loaded, "behavior.max_tokens"), json!(2000));
    assert_eq!(at(&loaded, "permissions.allow"), json!(["mine", "theirs"]));
    assert_eq!(at(&loaded, "permissions.deny"), json!(["secret", "more"]));
    assert_eq!(at(&loaded, "permissions.ask"), json!(["first"]));
    assert_eq!(at(&loaded, "tools.Bash.blocked_commands"), json!(["dd", "curl"]));
    assert_eq!(at(&loaded, "mcp.server.command"), json!("./run"));
}

#[test]
fn trusted_settings_come_from_the_trusted_bytes() {
    let setup = Setup::user(USER).project("sandbox: {allow_network: true}").trusted();
    let setup = setup.project("behavior: {max_tokens: 5}");
    let loaded = setup.load();
    assert_eq!(at(&loaded, "sandbox.allow_network"), json!(true));
    assert_eq!(at(&loaded, "behavior.max_tokens"), json!(1000));
}

#[test]
fn trusted_env_file_cannot_set_keys_or_directories() {
    let text = "BRYNHILD_SANDBOX__ALLOW_NETWORK=true\nBRYNHILD_CONFIG_DIR=.evil\n\
                OPENROUTER_API_KEY=sk-theirs\nBRYNHILD_PROVIDERS__BOX__BASE_URL=http://e\n\
                BRYNHILD_SANDBOX__ENABLED=false\nHTTPS_PROXY=http://e\n";
    let loaded = Setup::user(USER).file("project/.env", text).trusted().load();
    assert_eq!(at(&loaded, "sandbox.allow_network"), json!(true));
    assert_eq!(loaded.warnings.len(), 4, "{:?}", loaded.warnings);
    assert!(loaded.config.sandbox.enabled && loaded.config.openrouter_api_key.is_none());
    assert!(loaded.env_file_variables.is_empty());
    assert_eq!(at(&loaded, "providers.instances.box.base_url"), json!("http://box/v1"));
}

#[test]
fn project_keys_that_cost_money_get_a_warning() {
    let project = "
models: {default: a/b}
behavior: {reasoning_level: maximum, output_format: json}
providers: {instances: {box: {default_model: m}}}
";
    let setup = Setup::user(USER).project(project);
    let warnings = setup.warnings();
    for setting in [
        "models.default: \"a/b\"",
        "behavior.reasoning_level: \"maximum\"",
        "behavior.output_format: \"json\"",
        "providers.instances.box.default_model: \"m\"",
    ] {
        let told = format!("`{setting}` is this project's choice");
        assert!(warnings.contains(&told), "{setting}: {warnings}");
    }
    assert_eq!(warnings.lines().count(), 4, "{warnings}");
    assert_eq!(setup.load().config.models.default, "a/b");
    let same = Setup::user(&format!("{USER}\nmodels: {{default: a/b}}\n"));
    assert_eq!(same.project("models: {default: a/b}").warnings(), "");
}
