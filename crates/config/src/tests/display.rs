//! `config show` and `config path`.

use anstyle::Style;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::Setup;
use crate::show::{Form, Provenance, paths, show};

const SHOWN: Provenance = Provenance::Shown { width: None, style: Style::new() };

fn yaml(setup: &Setup, provenance: Provenance, section: &str) -> String {
    let text = show(&setup.load(), Form::Yaml, provenance, Some(section)).unwrap();
    setup.filtered(&text)
}

#[test]
fn values_are_shown_with_aligned_origins() {
    let setup = Setup::user("sandbox:\n  allowed_paths: [/a]\n\nbehavior:\n  max_tokens: 100\n")
        .project("behavior: {verbose: true}")
        .file("project/.env", "# head\nBRYNHILD_BEHAVIOR__MAX_TOOL_ROUNDS=3\n")
        .env("BRYNHILD_BEHAVIOR__SHOW_COST", "no")
        .flag("behavior.mode", json!("read-only"));
    assert_snapshot!(yaml(&setup, SHOWN, "behavior"), @r"
    # Where the values come from, strongest first:
    # [flag]       command line
    # [env]        environment variables
    # [dotenv]     T/project/.env
    # [project]    T/project/.brynhild/config.yaml
    # [user]       T/home/.config/brynhild/config.yaml
    # [builtin]    in the program

    behavior:                 # [merged]
      max_tokens: 100         # [user:5]
      max_tool_rounds: 3      # [dotenv:2] BRYNHILD_BEHAVIOR__MAX_TOOL_ROUNDS
      mode: read-only         # [flag]
      output_format: text     # [builtin:57]
      reasoning_format: auto  # [builtin:58]
      reasoning_level: auto   # [builtin:59]
      require_finish: false   # [builtin:60]
      show_cost: false        # [env] BRYNHILD_BEHAVIOR__SHOW_COST
      show_thinking: true     # [builtin:62]
      verbose: true           # [project:1]
    ");
    assert_snapshot!(yaml(&setup, SHOWN, "sandbox"), @r"
    # Where the values come from, strongest first:
    # [user]       T/home/.config/brynhild/config.yaml
    # [builtin]    in the program

    sandbox:                # [merged]
      enabled: true         # [builtin:66]
      allow_network: false  # [builtin:67]
      allowed_paths:        # [user:2]
        - /a                # [user:2]
      read_paths: []        # [builtin:69]
    ");
    assert_snapshot!(yaml(&setup, SHOWN, "logging"), @r"
    # Where the values come from, strongest first:
    # [builtin]    in the program

    logging:               # [builtin:71]
      enabled: true        # [builtin:72]
      dir: null            # [builtin:73]
      level: info          # [builtin:74]
      private: true        # [builtin:75]
      raw_payloads: false  # [builtin:76]
    ");
}

#[test]
fn long_lines_do_not_move_the_origin_column() {
    let setup = Setup::user("sandbox:\n  read_paths:\n    - /a/very/long/path/indeed\n");
    let narrow = Provenance::Shown { width: Some(24), style: Style::new() };
    assert_snapshot!(yaml(&setup, narrow, "sandbox"), @r"
    # Where the values come from, strongest first:
    # [user]       T/home/.config/brynhild/config.yaml
    # [builtin]    in the program

    sandbox:                # [merged]
      enabled: true         # [builtin:66]
      allow_network: false  # [builtin:67]
      allowed_paths: []     # [builtin:68]
      read_paths:           # [user:2]
        - /a/very/long/path/indeed  # [user:3]
    ");
}

#[test]
fn secrets_are_redacted_in_every_form() {
    let setup = Setup::user(
        "providers:\n  box:\n    type: openai\n    api_key: abc-secret\n    \
         base_url: https://u:secret@h/v1\n    headers: {Authorization: Bearer secret}\n",
    )
    .env("OPENROUTER_API_KEY", "sk-secret");
    let loaded = setup.load();
    for form in [Form::Yaml, Form::Json] {
        for provenance in [Provenance::Hidden, SHOWN] {
            let text = show(&loaded, form, provenance, None).unwrap();
            assert!(!text.contains("secret@") && !text.contains("sk-secret"), "{text}");
            assert!(!text.contains("abc-secret") && !text.contains("Bearer"), "{text}");
            assert_eq!(text.matches("[redacted]").count(), 4, "{text}");
        }
    }
}

#[test]
fn the_yaml_reads_back_as_the_same_configuration() {
    let setup = Setup::user(
        "models: {aliases: {'yes': a/b, 'null': 'c: d', '7': '0x10', é: \"tab\\there\\u202e\"}}\n\
         permissions: {deny: [{tool: Bash, match: [rm, 'a # b']}, [[1, 2.5], {}], '- x', '']}\n\
         providers: {box: {type: openai, base_url: 'http://h:1/v1', note: '  padded '}}\n",
    );
    let loaded = setup.load();
    for provenance in [Provenance::Hidden, SHOWN] {
        let text = show(&loaded, Form::Yaml, provenance, None).unwrap();
        let again = Setup::user(&text).load();
        assert_eq!(again.tree.to_value(), loaded.tree.to_value());
        assert_eq!(again.warnings, []);
    }
}

#[test]
fn json_shows_values_with_or_without_origins() {
    let setup = Setup::user("logging: {level: debug}").env("BRYNHILD_LOGGING__PRIVATE", "0");
    let loaded = setup.load();
    let plain = show(&loaded, Form::Json, Provenance::Hidden, Some("logging")).unwrap();
    let plain: Value = serde_json::from_str(&plain).unwrap();
    assert_eq!(plain["logging"]["level"], "debug");
    let both = show(&loaded, Form::Json, SHOWN, Some("logging")).unwrap();
    let both: Value = serde_json::from_str(&both).unwrap();
    assert_eq!(both["config"], plain);
    let file = super::shown(&setup.path("home/.config/brynhild/config.yaml"));
    assert_eq!(
        both["provenance"]["logging.level"],
        json!({"layer": "user", "file": file, "line": 1, "variable": null})
    );
    assert_eq!(both["provenance"]["logging.private"]["variable"], "BRYNHILD_LOGGING__PRIVATE");
}

#[test]
fn unknown_section_is_reported() {
    let error = show(&Setup::new().load(), Form::Yaml, SHOWN, Some("sandbx")).unwrap_err();
    assert_eq!(error.to_string(), "Unknown section: sandbx");
    assert!(error.known.contains(&"sandbox".to_owned()));
}

#[test]
fn every_file_layer_has_a_row() {
    let setup = Setup::user("").project("version: 1");
    assert_snapshot!(setup.filtered(&paths(&setup.sources.files())), @r"
    ✓ Built-in: (in the program)
    ✗ Site: (BRYNHILD_SITE_CONFIG is not set)
    ✗ Deployment: (BRYNHILD_DEPLOYMENT_CONFIG is not set)
    ✓ User: T/home/.config/brynhild/config.yaml
    ✓ Project: T/project/.brynhild/config.yaml
    ✗ Env file: T/project/.env
    ");
    let site = super::shown(&setup.path("site.yaml"));
    let setup = setup.env("BRYNHILD_SITE_CONFIG", &site).file("own.env", "");
    let own = super::shown(&setup.path("own.env"));
    let mut setup = setup.env("BRYNHILD_ENV_FILE", &own);
    setup.sources.read_project = false;
    assert_snapshot!(setup.filtered(&paths(&setup.sources.files())), @r"
    ✓ Built-in: (in the program)
    ✗ Site: T/site.yaml
    ✗ Deployment: (BRYNHILD_DEPLOYMENT_CONFIG is not set)
    ✓ User: T/home/.config/brynhild/config.yaml
    ✗ Project: (not read)
    ✓ Env file: T/own.env
    ");
}
