//! Wrong input: one clear message each.

use insta::assert_snapshot;
use serde_json::json;

use super::Setup;

#[test]
fn broken_yaml_is_shown_with_its_place() {
    let setup = Setup::user("behavior:\n  mode: [read-only\nversion: 1\n");
    assert_snapshot!(setup.problems(), @r"
    Error in config file T/home/.config/brynhild/config.yaml: invalid YAML: illegal placement of ':' indicator at line 3, column 8
      3 | version: 1
        |        ^
    ");
    let setup = Setup::user("a: 1\n\tb: \x1b[31m\n");
    assert_snapshot!(setup.problems(), @r"
    Error in config file T/home/.config/brynhild/config.yaml: invalid YAML: while scanning a plain scalar, found a tab at line 1, column 4
      1 | a: 1
        |    ^
    ");
}

#[test]
fn every_invalid_file_has_its_message() {
    let cases = [
        "- a\n- b\n",
        "just text\n",
        "42\n",
        "a: 1\na: 2\n",
        "a: *nothing\n",
        "a: &a [*a]\n",
        "? [x]\n: y\n",
        "a: !other 1\n",
        "a: 1\n---\nb: 2\n",
        "'open\n",
    ];
    let found: Vec<String> = cases
        .iter()
        .map(|text| {
            let problems = Setup::user(text).problems();
            let first = problems.lines().next().unwrap_or_default();
            first.replace("Error in config file T/home/.config/brynhild/config.yaml: ", "")
        })
        .collect();
    assert_snapshot!(found.join("\n"), @r"
    config must be a YAML mapping (dict), got list
    config must be a YAML mapping (dict), got str
    config must be a YAML mapping (dict), got int
    invalid YAML: duplicate key a at line 2, column 1
    invalid YAML: while parsing node, found unknown anchor at line 1, column 4
    invalid YAML: an alias is inside its own anchor at line 1, column 8
    invalid YAML: a key must be plain text at line 1, column 3
    invalid YAML: unknown tag !other, the tags are !delete and !replace at line 1, column 4
    invalid YAML: a second document begins here at line 3, column 1
    invalid YAML: while scanning a quoted scalar, found unexpected end of stream at line 1, column 1
    ");
}

#[test]
fn invalid_values_are_reported_with_file_and_line() {
    let cases = [
        "behavior: {max_tokens: 0}",
        "behavior: {max_tokens: 200001}",
        "behavior: {max_tokens: lots}",
        "behavior: {max_tokens: 1.5}",
        "behavior: {max_tokens: null}",
        "behavior: {mode: turbo}",
        "behavior: {verbose: maybe}",
        "behavior: [1]",
        "behavior: fast",
        "version: 2",
        "sandbox: {allowed_paths: 3}",
        "sandbox: {allowed_paths: '[broken'}",
        "models: {default: 4}",
        "models: {aliases: {x: [y]}}",
        "models: {registry: {a/b: {confidence: high}}}",
        "models: {registry: {a/b: {descriptor: {size: 1b}}}}",
        "providers: {instances: {a: {base_url: 'http://x'}}}",
        "providers: {ollama: {enabled: true}}",
        "providers: {instances: {a: {type: openai, cache_ttl: -1}}}",
        "tools: {Bash: {require_approval: sometimes}}",
        "tools: {Bash: {blocked_commands: rm}}",
        "tools: {disabled: [Bash]}",
        "permissions: {deny: all}",
        "plugins: {x: 3}",
        "plugins: {x: {timeout: 0}}",
        "openrouter_api_key: [sk-secret]",
        "log_file: [\"\\e[31m\"]",
    ];
    let found: Vec<String> = cases
        .iter()
        .map(|text| {
            let problems = Setup::user(&format!("# head\n{text}\n")).problems();
            problems.replace("Error in config file T/home/.config/brynhild/config.yaml: ", "")
        })
        .collect();
    assert_snapshot!(found.join("\n"), @r#"
    line 2: behavior.max_tokens is 0, expected a whole number from 1 to 200000
    line 2: behavior.max_tokens is 200001, expected a whole number from 1 to 200000
    line 2: behavior.max_tokens is "lots", expected a whole number from 1 to 200000
    line 2: behavior.max_tokens is 1.5, expected a whole number from 1 to 200000
    line 2: behavior.max_tokens is null, expected a whole number from 1 to 200000
    line 2: behavior.mode is "turbo", expected one of read-only, ask, normal, yolo
    line 2: behavior.verbose is "maybe", expected true or false
    line 2: behavior is [1], expected a mapping
    line 2: behavior is "fast", expected a mapping
    line 2: version is 2, expected 1
    line 2: sandbox.allowed_paths is 3, expected a list of paths, or paths separated by colons
    line 2: sandbox.allowed_paths is "[broken", expected a list of paths, or paths separated by colons
    line 2: models.default is 4, expected text: put it in quotes
    line 2: models.aliases.x is ["y"], expected text
    line 2: models.registry.a/b.confidence is "high", expected one of curated, matched, synthetic
    line 2: models.registry.a/b.descriptor has no `family`
    line 2: providers.instances.a has no `type`: every provider says what kind of server it is; add `type: openai` to it (the kinds are openrouter, openai, anthropic, ollama, script, and those of plugins)
    line 2: providers.instances.ollama has no `type`: every provider says what kind of server it is; add `type: ollama` to it (the kinds are openrouter, openai, anthropic, ollama, script, and those of plugins)
    line 2: providers.instances.a.cache_ttl is -1, expected a whole number from 0 up
    line 2: tools.Bash.require_approval is "sometimes", expected one of always, once, never
    line 2: tools.Bash.blocked_commands is "rm", expected a list of texts
    line 2: tools.disabled is ["Bash"], expected a mapping
    line 2: permissions.deny is "all", expected a list
    line 2: plugins.x is 3, expected a mapping
    line 2: plugins.x.timeout is 0, expected a whole number from 1 to 86400
    line 2: openrouter_api_key is [redacted], expected text
    line 2: log_file is ["\u001b[31m"], expected a path
    "#);
}

#[test]
fn all_problems_of_all_layers_are_reported_at_once() {
    let setup = Setup::user("behavior: {max_tokens: 0, verbose: 7}")
        .project("- x")
        .env("BRYNHILD_SESSION__HISTORY_LIMIT", "many")
        .flag("behavior.mode", json!("turbo"));
    assert_snapshot!(setup.problems(), @r#"
    Error in config file T/home/.config/brynhild/config.yaml: line 1: behavior.max_tokens is 0, expected a whole number from 1 to 200000
    Error in config file T/home/.config/brynhild/config.yaml: line 1: behavior.verbose is 7, expected true or false
    Error in config file T/project/.brynhild/config.yaml: config must be a YAML mapping (dict), got list
    Error in environment variable BRYNHILD_SESSION__HISTORY_LIMIT: session.history_limit is "many", expected a whole number from 0 up
    Error in a command-line flag: behavior.mode is "turbo", expected one of read-only, ask, normal, yolo
    "#);
}

#[test]
fn unreadable_files_are_reported() {
    let setup = Setup::new().file("project/.brynhild/config.yaml/inner", "");
    assert_snapshot!(setup.problems(), @"Error in config file T/project/.brynhild/config.yaml: it is not a regular file");
    let setup = Setup::user(&"a: aaaaaaaaaaaaaaa\n".repeat(70_000));
    assert_snapshot!(setup.problems(), @"Error in config file T/home/.config/brynhild/config.yaml: it is larger than 1 MiB");
    let setup = Setup::new().file("home/.config/brynhild/config.yaml", "");
    std::fs::write(setup.path("home/.config/brynhild/config.yaml"), b"a: 1\nb: \xff\n").unwrap();
    assert_snapshot!(setup.problems(), @"Error in config file T/home/.config/brynhild/config.yaml: it is not UTF-8 text, see line 2");
}

#[test]
fn alias_bombs_and_deep_nesting_are_refused() {
    let level = |level: usize| {
        let row = vec![format!("*a{}", level - 1); 10].join(", ");
        format!("a{level}: &a{level} [{row}]\n")
    };
    let levels = (1..12).map(level).collect::<Vec<_>>().concat();
    let text = format!("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n{levels}");
    assert!(Setup::user(&text).problems().contains("more than 20000 values"));
    let deep = format!("a: {}{}", "[".repeat(100), "]".repeat(100));
    assert!(Setup::user(&deep).problems().contains("nested too deeply"));
}

#[test]
fn unknown_keys_are_warnings_with_a_suggestion() {
    let setup = Setup::user(
        "behaviour: {verbose: true}\nbehavior:\n  max_token: 5\n  colour: red\nmax_tokens: 5\n\
         providers: {defualt: openai}\ntools:\n  bash: {require_aproval: always}\n  \
         disabled: {grep: true}\nplugins:\n  x: {enabeld: true, anything: 1}\nhooks: {}\n",
    );
    assert_snapshot!(setup.warnings(), @r"
    T/home/.config/brynhild/config.yaml:6: unknown key `providers.defualt` (did you mean `default`?)
    T/home/.config/brynhild/config.yaml:1: unknown key `behaviour` (did you mean `behavior`?)
    T/home/.config/brynhild/config.yaml:3: unknown key `behavior.max_token` (did you mean `max_tokens`?)
    T/home/.config/brynhild/config.yaml:4: unknown key `behavior.colour`
    T/home/.config/brynhild/config.yaml:5: unknown key `max_tokens` (did you mean `behavior.max_tokens`?)
    T/home/.config/brynhild/config.yaml:8: `tools.bash` counts for `Bash` where it forbids, and for nothing else (write `Bash`)
    T/home/.config/brynhild/config.yaml:8: `tools.bash.require_aproval` looks like a typo (did you mean `require_approval`?)
    T/home/.config/brynhild/config.yaml:9: `tools.disabled.grep` counts for `Grep` where it forbids, and for nothing else (write `Grep`)
    T/home/.config/brynhild/config.yaml:11: `plugins.x.enabeld` looks like a typo (did you mean `enabled`?)
    T/home/.config/brynhild/config.yaml:12: unknown key `hooks`
    ");
}

#[test]
fn free_maps_take_any_name() {
    let setup = Setup::user(
        "models: {aliases: {zz: a/b}, favorites: {q/r: true}}\nmcp: {server: {command: x}}\n\
         api: {tools: [{name: t}], allow_private: [box], other: 1}\nui: {theme: dark, keys: {}}\n\
         permissions: {allow: [x], rules: []}\ntools: {my_tool: {color: red}}\n\
         plugins: {python: /usr/bin/python3, p: {sandbox: {network: [a]}, timeout: 5, key: 1}}\n",
    );
    assert_eq!(setup.warnings(), "");
    let config = setup.load().config;
    assert_eq!(config.mcp["server"], json!({"command": "x"}));
}

#[test]
fn redacted_value_is_not_accepted_as_a_secret() {
    let setup = Setup::user("openrouter_api_key: '[redacted]'\n");
    assert!(setup.load().config.openrouter_api_key.is_none());
    assert_snapshot!(setup.warnings(), @"T/home/.config/brynhild/config.yaml:1: `openrouter_api_key` is a redacted secret and is ignored");
}
