//! Layers and how they join.

use std::collections::BTreeMap;

use contract::policy::Mode;
use serde_json::{Value, json};

use super::{Setup, at};
use crate::check::check;
use crate::expansion::Expansion;
use crate::load::{DEFAULTS, defaults};
use crate::origin::Layer;
use crate::report::Report;
use crate::settings::OutputFormat;

#[test]
fn defaults_apply_without_configuration() {
    let loaded = Setup::new().load();
    let config = &loaded.config;
    assert_eq!(config.models.default, "openai/gpt-oss-120b");
    assert_eq!(config.models.aliases["opus"], "anthropic/claude-opus-4.5");
    assert_eq!(config.models.registry.len(), 8);
    let model = &config.models.registry["openai/gpt-oss-20b"];
    assert_eq!(model.canonical_id, "openai/gpt-oss-20b");
    assert_eq!(model.bindings["ollama"].model_id.as_deref(), Some("gpt-oss:20b"));
    assert_eq!(config.behavior.max_tool_rounds, 500);
    assert_eq!(config.behavior.mode, Mode::Normal);
    assert!(config.behavior.show_cost && config.sandbox.enabled && config.logging.private);
    assert_eq!(loaded.warnings, []);
    assert_eq!(loaded.origin(&["behavior", "max_tokens"]).unwrap().layer, Layer::Builtin);
}

#[test]
fn the_built_in_file_passes_its_own_check_unchanged() {
    let mut report = Report::default();
    let env = BTreeMap::new();
    let expansion = Expansion { env: &env, home: None };
    let checked = check(defaults(), expansion, &mut report).unwrap();
    assert_eq!(report.problems, [""; 0]);
    assert_eq!(report.warnings, []);
    assert_eq!(checked, defaults());
    assert!(!DEFAULTS.contains('\t'));
}

#[test]
fn each_layer_wins_over_the_ones_below() {
    let mut setup = Setup::new();
    let expect = |setup: &Setup, wanted: u64, layer: Layer| {
        let loaded = setup.load();
        assert_eq!(loaded.config.behavior.max_tokens, wanted);
        assert_eq!(loaded.origin(&["behavior", "max_tokens"]).unwrap().layer, layer);
    };
    setup = setup.file("site/config.yaml", "behavior: {max_tokens: 7007}");
    let site = super::shown(&setup.path("site"));
    setup = setup.env("BRYNHILD_SITE_CONFIG", &site);
    expect(&setup, 7007, Layer::Site);
    setup = setup.file("deploy.yaml", "behavior: {max_tokens: 7006}");
    let directory = super::shown(&setup.path(""));
    setup = setup.env("WHERE", &directory);
    setup = setup.env("BRYNHILD_DEPLOYMENT_CONFIG", "$WHERE/deploy.yaml");
    expect(&setup, 7006, Layer::Deployment);
    setup = setup.file("home/.config/brynhild/config.yaml", "behavior: {max_tokens: 7005}");
    expect(&setup, 7005, Layer::User);
    setup = setup.project("behavior: {max_tokens: 7004}");
    expect(&setup, 7004, Layer::Project);
    setup = setup.file("project/.env", "BRYNHILD_BEHAVIOR__MAX_TOKENS=7003");
    expect(&setup, 7003, Layer::EnvFile);
    setup = setup.env("BRYNHILD_BEHAVIOR__MAX_TOKENS", "7002");
    expect(&setup, 7002, Layer::Environment);
    setup = setup.flag("behavior.max_tokens", json!(7001));
    expect(&setup, 7001, Layer::Flag);
}

#[test]
fn maps_merge_while_lists_and_scalars_replace() {
    let setup = Setup::new()
        .file("site.yaml", "sandbox: {allowed_paths: [/a, /b]}\nmodels: {aliases: {mine: x/y}}")
        .file(
            "home/.config/brynhild/config.yaml",
            "sandbox: {allowed_paths: [/c]}\nmodels: {aliases: {opus: o/p}}",
        );
    let site = super::shown(&setup.path("site.yaml"));
    let config = setup.env("BRYNHILD_SITE_CONFIG", &site).load().config;
    assert_eq!(config.sandbox.allowed_paths, [std::path::Path::new("/c")]);
    assert_eq!(config.models.aliases["mine"], "x/y");
    assert_eq!(config.models.aliases["opus"], "o/p");
    assert_eq!(config.models.aliases["glm"], "z-ai/glm-4.7");
}

#[test]
fn null_overrides_and_an_empty_section_changes_nothing() {
    let site = "logging: {dir: /logs}\nmodels: {favorites: {a/b: true}}";
    let setup = Setup::user("logging: {dir: null}\nmodels:\n  favorites:\nsandbox:\n");
    let setup = setup.file("site.yaml", site);
    let site = super::shown(&setup.path("site.yaml"));
    let loaded = setup.env("BRYNHILD_SITE_CONFIG", &site).load();
    assert_eq!(loaded.config.logging.dir, None);
    assert!(loaded.config.models.favorites.is_empty());
    assert!(loaded.config.sandbox.enabled);
    assert_eq!(loaded.origin(&["logging", "dir"]).unwrap().layer, Layer::User);
}

#[test]
fn tags_delete_and_replace() {
    let loaded = Setup::user(
        "models:\n  aliases: !replace {only: a/b}\n  registry:\n    z-ai/glm-4.7: !delete\n\
         behavior:\n  show_cost: !delete\n",
    )
    .load();
    let models = &loaded.config.models;
    assert_eq!(models.aliases, [("only".to_owned(), "a/b".to_owned())].into());
    assert_eq!(models.registry.len(), 7);
    assert!(loaded.config.behavior.show_cost, "the built-in value holds again");
}

#[test]
fn tags_apply_inside_a_replaced_map() {
    let loaded = Setup::user("plugins: {x: !replace {a: !delete , b: {c: 1}}}").load();
    assert_eq!(at(&loaded, "plugins.x"), json!({"b": {"c": 1}}));
}

#[test]
fn anchors_and_merge_keys_work() {
    let loaded = Setup::user(
        "providers:\n  instances:\n    a: &a {type: openai, base_url: 'http://a/v1'}\n    \
         b:\n      <<: *a\n      base_url: http://b/v1\n",
    )
    .load();
    let b = &loaded.config.providers.instances["b"];
    assert_eq!((b.kind.as_str(), b.base_url.as_deref()), ("openai", Some("http://b/v1")));
}

#[test]
fn names_directly_under_providers_become_instances() {
    let loaded = Setup::user(
        "providers:\n  default: box\n  box:\n    type: openai\n    base_url: http://box:1/v1\n    \
         api_key_env: BOX_KEY\n    headers: {X-Team: a}\n    region: eu\n",
    )
    .load();
    let instance = &loaded.config.providers.instances["box"];
    assert_eq!(instance.api_key_env.as_deref(), Some("BOX_KEY"));
    assert_eq!(instance.headers["X-Team"], "a");
    assert_eq!(instance.extra["region"], json!("eu"));
    assert_eq!((instance.enabled, instance.cache_ttl), (true, 3600));
    assert_eq!(loaded.warnings, []);
}

#[test]
fn a_layer_may_complete_an_instance_of_a_lower_one() {
    let setup = Setup::new().file("site.yaml", "providers: {instances: {a: {type: ollama}}}");
    let site = super::shown(&setup.path("site.yaml"));
    let setup = setup
        .file("home/.config/brynhild/config.yaml", "providers: {a: {base_url: 'http://x'}}")
        .env("BRYNHILD_SITE_CONFIG", &site);
    assert_eq!(setup.load().config.providers.instances["a"].kind, "ollama");
}

#[test]
fn paths_come_as_list_json_or_with_colons() {
    for text in ["['~/a', $X/b]", "'[\"~/a\", \"$X/b\"]'", "'~/a:${X}/b'"] {
        let setup = Setup::user(&format!("sandbox: {{allowed_paths: {text}}}")).env("X", "/x");
        let home = setup.path("home/a");
        assert_eq!(setup.load().config.sandbox.allowed_paths, [home, "/x/b".into()], "{text}");
    }
}

#[test]
fn switches_choices_and_numbers_have_several_forms() {
    let config = Setup::user(
        "behavior: {verbose: yes, show_cost: 'off', max_tokens: '100', mode: Read-Only, \
         output_format: stream}",
    )
    .load()
    .config;
    assert!(config.behavior.verbose && !config.behavior.show_cost);
    assert_eq!(config.behavior.max_tokens, 100);
    assert_eq!(config.behavior.mode, Mode::ReadOnly);
    assert_eq!(config.behavior.output_format, OutputFormat::StreamJson);
}

#[test]
fn favorites_and_bindings_have_a_short_and_a_long_form() {
    let config = Setup::user(
        "models:\n  favorites: {a/b: false, c/d: {note: x}}\n  registry:\n    a/b:\n      \
         bindings: {p: {model_id: q, max_context: 5, alternatives: [r]}}\n      \
         descriptor: {family: f}\n",
    )
    .load()
    .config;
    assert!(!config.models.favorites["a/b"]);
    assert!(config.models.favorites["c/d"]);
    let binding = &config.models.registry["a/b"].bindings["p"];
    assert_eq!((binding.model_id.as_deref(), binding.max_context), (Some("q"), Some(5)));
    assert_eq!(binding.alternatives, ["r"]);
}

#[test]
fn config_directory_follows_environment_variables() {
    let setup = Setup::new()
        .file("elsewhere/config.yaml", "behavior: {max_tokens: 1}")
        .file("xdg/brynhild/config.yaml", "behavior: {max_tokens: 2}")
        .file("home/.config/brynhild/config.yaml", "behavior: {max_tokens: 3}");
    assert_eq!(setup.load().config.behavior.max_tokens, 3);
    let xdg = super::shown(&setup.path("xdg"));
    let setup = setup.env("XDG_CONFIG_HOME", &xdg);
    assert_eq!(setup.load().config.behavior.max_tokens, 2);
    let elsewhere = super::shown(&setup.path("elsewhere"));
    let setup = setup.env("BRYNHILD_CONFIG_DIR", &elsewhere);
    assert_eq!(setup.load().config.behavior.max_tokens, 1);
    assert_eq!(setup.load().config_dir, Some(setup.path("elsewhere")));
}

#[test]
fn empty_or_missing_files_and_home_are_accepted() {
    let mut setup = Setup::user("# nothing\n").env("BRYNHILD_SITE_CONFIG", "/does/not/exist");
    assert_eq!(setup.load().warnings, []);
    setup.sources.home = None;
    assert_eq!(setup.load().config_dir, None);
}

#[test]
fn an_origin_names_file_and_line() {
    let setup =
        Setup::user("behavior:\n  verbose: true\npermissions:\n  deny:\n    - a\n    - b\n");
    let loaded = setup.load();
    let file = setup.path("home/.config/brynhild/config.yaml");
    let place = |path: &[&str]| loaded.origin(path).unwrap().to_string();
    assert_eq!(place(&["behavior", "verbose"]), format!("{}:2", file.display()));
    assert_eq!(place(&["permissions", "deny", "1"]), format!("{}:6", file.display()));
    assert_eq!(loaded.config.permissions.deny, [Value::from("a"), Value::from("b")]);
}

#[test]
fn api_key_has_two_names_and_does_not_print() {
    for name in ["openrouter_api_key", "OPENROUTER_API_KEY"] {
        let loaded = Setup::user(&format!("{name}: sk-x")).load();
        assert_eq!(loaded.config.openrouter_api_key.as_ref().unwrap().expose(), "sk-x");
        assert_eq!(loaded.warnings, []);
        assert!(!format!("{:?}", loaded.config).contains("sk-x"));
    }
}
