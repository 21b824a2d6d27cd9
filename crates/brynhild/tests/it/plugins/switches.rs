//! On and off for what other systems bring: their plugins, interfaces and servers.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use super::write;
use crate::{has_bubblewrap, project, project_with};

const SERVER: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/server.py"));

const LMAO: &str = "import json\nPLUGIN = {'name': 'lmao_say', 'description': 'd', 'api_version': '1', \
                    'is_destructive': False}\n\ndef run(target, args, base, extra_roots, skill_roots):\n    \
                    return json.dumps({'success': True})\n";

/// One plugin, interface and server of every other system, each called after its system.
fn everything(project: &Project) {
    let directory = project.config_directory().join("plugins");
    let chibi = directory.join("chibi-say");
    let schema = json!({"name": "chibi_say", "description": "d"});
    write(
        &chibi,
        &format!("#!/bin/sh\n[ \"$1\" = --schema ] && echo '{schema}' && exit\nexec cat\n"),
    );
    fs::set_permissions(&chibi, fs::Permissions::from_mode(0o755)).unwrap();
    write(&directory.join("lmao-say/tool.py"), LMAO);
    let manifest = json!({"name": "claude-say", "description": "Says it", "version": "2"});
    let claude = directory.join("claude-say");
    write(&claude.join(".claude-plugin/plugin.json"), &manifest.to_string());
    write(&claude.join("commands/claude_say.md"), "Say it\n");
    project.config_more(
        "api:\n  tools:\n    - {name: api-say, type: api, base_url: 'https://example.com', endpoints: \
         [{name: api_say, method: GET, path: /}]}\n",
    );
    project.file("server.py", SERVER);
    project.brynhild(&["mcp", "add", "mcp-say", "--", "python3", "server.py"]).success();
    project.brynhild(&["mcp", "test", "mcp-say"]).success();
}

fn rows(project: &Project) -> Vec<Value> {
    project.brynhild(&["plugin", "list", "--json"]).json()["plugins"].as_array().unwrap().clone()
}

#[test]
fn foreign_plugins_are_listed_and_toggled() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    everything(&project);
    for (system, shown, by) in [
        ("api", "api_say", "tools"),
        ("chibi", "chibi_say", "tools"),
        ("claude", "claude_say", "command"),
        ("lmao", "lmao_say", "tools"),
        ("mcp", "mcp__mcp-say__echo", "tools"),
    ] {
        let name = format!("{system}-say");
        let is_there = || project.brynhild(&[by, "list"]).success().stdout.contains(shown);
        let is_on = || {
            let rows = rows(&project);
            let row = rows.iter().find(|row| row["name"] == name.as_str());
            let row = row.unwrap_or_else(|| panic!("no {name} in {rows:?}"));
            assert_eq!(row["dialect"], system);
            row["enabled"] == true
        };
        let slash = || project.brynhild(&["chat", "/plugins"]).success().stdout.clone();
        let line = |text: String| text.lines().find(|it| it.starts_with(&name)).unwrap().to_owned();
        assert!(is_there() && is_on(), "{name}");
        assert!(line(slash()).contains("enabled") && line(slash()).contains(system));
        let off = project.brynhild(&["plugin", "disable", &name]);
        assert_eq!(off.success().stdout, format!("Plugin '{name}' disabled.\n"));
        assert!(!is_there() && !is_on() && line(slash()).contains("disabled"), "{name}");
        let shown = project.brynhild(&["plugin", "show", &name, "--json"]).json();
        assert_eq!(shown["enabled"], false);
        let on = project.brynhild(&["plugin", "enable", &name, "--json"]).json();
        assert_eq!(on, json!({"plugin": name, "enabled": true, "changed": true}));
        assert!(is_there() && is_on(), "{name}");
        project.config_more(&format!("plugins: {{{name}: {{enabled: false}}}}\n"));
        assert!(!is_there() && !is_on(), "{name} by the configuration");
        let on = project.brynhild(&["plugin", "enable", &name]);
        assert!(on.success().stderr.contains("it stays off, because of `plugins."), "{on}");
        let config = project.config_directory().join("config.yaml");
        let text = fs::read_to_string(&config).unwrap();
        fs::write(&config, text.replace("plugins: {", "#plugins: {")).unwrap();
    }
}

#[test]
fn plain_name_toggles_all_dialects() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    project.file("server.py", SERVER);
    project.brynhild(&["mcp", "add", "same", "--", "python3", "server.py"]).success();
    let manifest = "name: same\nversion: '1'\n";
    write(&project.config_directory().join("plugins/same/plugin.yaml"), manifest);
    let on = || -> Vec<bool> { rows(&project).iter().map(|row| row["enabled"] == true).collect() };
    assert_eq!(on(), [true, true]);
    let off = project.brynhild(&["plugin", "disable", "mcp:same"]);
    off.success();
    assert_eq!(on(), [true, false]);
    let off = project.brynhild(&["plugin", "disable", "same"]);
    assert!(off.success().stderr.contains("the name is ambiguous (brynhild, mcp)"), "{off}");
    assert_eq!(on(), [false, false]);
    let half = project.brynhild(&["plugin", "enable", "mcp:same"]);
    assert!(
        half.success().stderr.contains("it stays off, because `same` is off for all"),
        "{half}"
    );
    project.brynhild(&["plugin", "enable", "same"]).success();
    assert_eq!(on(), [true, true]);
    let shown = project.brynhild(&["plugin", "show", "mcp:same", "--json"]).json();
    assert_eq!(shown["dialect"], "mcp");
    let wrong = project.brynhild(&["plugin", "disable", "mcp:smae"]);
    assert!(wrong.code(1).stderr.contains("did you mean `same`?"), "{wrong}");
}

#[test]
fn plugin_disabled_by_default_can_be_enabled() {
    let project = project();
    let root = project.config_directory().join("plugins/shy");
    let manifest = json!({"name": "shy", "version": "1", "defaultEnabled": false});
    write(&root.join(".claude-plugin/plugin.json"), &manifest.to_string());
    write(&root.join("commands/whisper.md"), "Whisper\n");
    let is_there = || project.brynhild(&["command", "list"]).success().stdout.contains("whisper");
    assert!(!is_there());
    let on = project.brynhild(&["plugin", "enable", "shy"]);
    assert_eq!(on.success().stdout, "Plugin 'shy' enabled.\n");
    assert!(is_there());
    project.brynhild(&["plugin", "disable", "shy"]).success();
    assert!(!is_there());
}

#[test]
fn server_disabled_by_its_entry_is_reported() {
    let project = project();
    let file = project.config_directory().join("mcp.json");
    write(&file, r#"{"mcpServers": {"quiet": {"command": "x", "disabled": true}}}"#);
    let on = project.brynhild(&["plugin", "enable", "quiet"]);
    assert!(on.success().stderr.contains("mcp.json says so"), "{on}");
}

#[test]
fn server_prompts_are_listed_as_commands() {
    if !has_bubblewrap() {
        return;
    }
    let server = ModelServer::start([Reply::text("ok")]);
    let project = project_with(&server);
    project.file("server.py", SERVER);
    project.brynhild(&["mcp", "add", "test", "--", "python3", "server.py"]).success();
    project.brynhild(&["mcp", "test", "test"]).success();
    for command in [["command", "list"], ["chat", "/help"]] {
        let run = project.brynhild(&command);
        assert!(run.success().stdout.contains("/mcp__test__greet <who>"), "{run}");
    }
    let list = project.brynhild(&["command", "list", "--json"]).json();
    let row = list["commands"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&row["typed"], &row["source"]), (&json!("/mcp__test__greet"), &json!("mcp:test")));
    let text = project.brynhild(&["command", "render", "mcp__test__greet", "Ada"]);
    assert!(text.success().stdout.contains("Ada"), "{text}");
}

#[test]
fn foreign_plugins_are_validated_by_their_dialect() {
    let project = project();
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/plugins");
    let of = |path: &str| format!("{examples}/{path}");
    let run = project.brynhild(&["plugin", "validate", &of("claude-notes")]);
    assert!(run.success().stdout.contains("is the plugin claude-notes of claude"), "{run}");
    let run = project.brynhild(&["plugin", "validate", &of("lmao"), "--json"]);
    assert_eq!(run.success().json()["valid"], true, "{run}");
    let run = project.brynhild(&["plugin", "validate", "no-such-plugin"]);
    assert!(run.code(1).stderr.contains("Plugin directory not found"), "{run}");
}
