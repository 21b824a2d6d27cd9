//! Plugins that are plain files: where they are found, which of them count, what they contribute.

mod commands;
mod contributions;
mod fifos;
mod install;
mod lines;
mod state;
mod switches;
mod trust;

use std::fs;
use std::path::Path;

use serde_json::Value;
use testkit::{ModelServer, Project, Reply, Run};

use crate::{project, project_with};

/// Writes a file of a plugin in any directory.
fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A plugin with one contribution of each plain kind, all named after it.
fn plugin(parent: &Path, name: &str) {
    let root = parent.join(name);
    let manifest = format!(
        "name: {name}\nversion: '1.0'\ndescription: All of {name}\ncommands: [c]\nskills: [s]\n\
         rules: [r]\n"
    );
    write(&root.join("plugin.yaml"), &manifest);
    let command = format!(
        "---\nname: {name}-command\ndescription: Does it\naliases: [{name}-alias]\nargs: '[x]'\n---\n\
         {name} command: {{{{args}}}}\n"
    );
    write(&root.join("commands/c.md"), &command);
    let skill =
        format!("---\nname: {name}-skill\ndescription: Skill of {name}\n---\nBody of {name}\n");
    write(&root.join("skills/s/SKILL.md"), &skill);
    write(&root.join("rules/r.md"), &format!("Rule of {name}\n"));
    write(&root.join("profiles/p.yaml"), &format!("name: {name}-profile\nfamily: {name}\n"));
}

/// The user's own directory of plugins.
fn global(project: &Project) -> std::path::PathBuf {
    project.config_directory().join("plugins")
}

fn listed(run: &Run) -> Vec<String> {
    let rows = run.json();
    let row = |row: &Value| {
        format!("{} {}", row["name"].as_str().unwrap(), row["version"].as_str().unwrap())
    };
    rows["plugins"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn later_plugin_directories_override_earlier_ones() {
    let project = project();
    let home = project.home();
    let at = |directory: &str, version: &str| {
        let manifest = format!("name: same\nversion: '{version}'\n");
        write(&home.join(directory).join("plugin.yaml"), &manifest);
    };
    at(".config/brynhild/plugins/same", "global");
    let list = |project: &Project| listed(&project.brynhild(&["plugin", "list", "--json"]));
    assert_eq!(list(&project), ["same global"]);
    at("configured/one", "configured");
    project.config("plugins: {search_paths: [~/configured]}\n");
    assert_eq!(list(&project), ["same configured"]);
    at("environment", "environment");
    let project = project.env("BRYNHILD_PLUGIN_PATH", home.join("environment"));
    assert_eq!(list(&project), ["same environment"]);
    project.file(".brynhild/plugins/same/plugin.yaml", "name: same\nversion: project\n");
    assert_eq!(list(&project), ["same environment"]);
    project.brynhild(&["trust", "--yes"]).success();
    assert_eq!(list(&project), ["same project"]);
    at("flag/deep", "flag");
    let flag = home.join("flag").display().to_string();
    let run = project.brynhild(&["plugin", "list", "--json", "--plugin-dir", &flag]);
    assert_eq!(listed(&run), ["same flag"]);
    let safe = project.brynhild(&["plugin", "list", "--json", "--plugin-dir", &flag, "--safe"]);
    assert!(listed(&safe).is_empty());
}

#[test]
fn the_json_of_plugin_commands_has_its_documented_shape() {
    let project = project();
    plugin(&global(&project), "one");
    plugin(&global(&project), "two");
    project.brynhild(&["plugin", "disable", "two"]).success();
    let list = project.brynhild(&["plugin", "list", "--json"]).json();
    assert_eq!((&list["enabled_count"], &list["disabled_count"]), (&1.into(), &1.into()));
    let show = project.brynhild(&["plugin", "show", "one", "--json"]).json();
    assert_eq!(show, list["plugins"][0]);
    let wanted = serde_json::json!({
        "name": "one", "version": "1.0", "description": "All of one", "enabled": true,
        "source": "directory", "package_name": null, "package_version": null, "commands": ["c"],
        "tools": [], "hooks": false, "skills": ["s"], "providers": [], "rules": ["r"],
    });
    for (key, value) in wanted.as_object().unwrap() {
        assert_eq!(&show[key], value, "{key}");
    }
    assert!(show["path"].as_str().unwrap().ends_with("/plugins/one"));
    let paths = project.brynhild(&["plugin", "paths", "--json"]).json();
    let first = &paths["search_paths"][0];
    assert_eq!((&first["exists"], &first["source"]), (&true.into(), &"global".into()));
    assert!(paths["env_vars"].as_object().unwrap().contains_key("BRYNHILD_PLUGIN_PATH"));
    let missing = project.brynhild(&["plugin", "show", "none", "--json"]);
    missing.code(1);
    assert_eq!(missing.json()["error"], "Plugin not found: none");
    let missing = project.brynhild(&["plugin", "show", "none"]);
    assert!(missing.code(1).stderr.contains("Plugin 'none' not found"));
}

#[test]
fn broken_plugin_is_one_message() {
    let project = project();
    plugin(&global(&project), "good");
    write(&global(&project).join("bad/plugin.yaml"), "name: Bad Name\nversion: [1]\ntools: 3\n");
    let run = project.brynhild(&["skill", "list"]);
    run.success();
    assert!(run.stdout.contains("good-skill"), "{run}");
    let told: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(told.len(), 1, "{run}");
    for part in ["bad/plugin.yaml", "left out", "line 1", "line 2", "line 3", "lower-case letters"]
    {
        assert!(told[0].contains(part), "{part}: {run}");
    }
}

#[test]
fn unknown_key_and_bare_version_are_warnings() {
    let project = project();
    let root = global(&project).join("p");
    write(&root.join("plugin.yaml"), "name: p\nversion: 1.10\ndesciption: x\n");
    let run = project.brynhild(&["plugin", "list", "--json"]);
    assert_eq!(listed(&run), ["p 1.10"]);
    assert!(run.stderr.contains("did you mean `description`?"), "{run}");
    let valid = project.brynhild(&["plugin", "validate", &root.display().to_string(), "--json"]);
    valid.success();
    let report = valid.json();
    assert_eq!((&report["valid"], &report["error"]), (&true.into(), &Value::Null));
    assert_eq!(report["warnings"].as_array().unwrap().len(), 2);
}

#[test]
fn validation_fails_without_a_plugin() {
    let project = project();
    let root = project.home().join("p");
    let path = root.display().to_string();
    let none = project.brynhild(&["plugin", "validate", &path]);
    assert!(none.code(1).stderr.contains(&format!("Plugin directory not found: {path}")));
    write(&root.join("tools/t.py"), "");
    let none = project.brynhild(&["plugin", "validate", &path]);
    assert!(none.code(1).stderr.contains("Plugin manifest not found"));
    write(&root.join("plugin.yaml"), "name: p\nversion: '1'\ncommands: [c]\nhooks: true\n");
    let report = project.brynhild(&["plugin", "validate", &path, "--json"]).json();
    let words = report["warnings"].to_string();
    assert!(words.contains("Declared command not found: c.md"), "{words}");
    assert!(words.contains("Plugin declares hooks but hooks.yaml missing"), "{words}");
    assert!(words.contains("`tools` has no effect"), "{words}");
}

#[test]
fn validation_checks_every_part_and_takes_a_name() {
    let project = project();
    let root = global(&project).join("parts");
    let manifest = "name: parts\nversion: '1'\ncommands: [c]\nskills: [s]\nrules: [r]\n\
                    hooks: true\ntools: [t]\n";
    write(&root.join("plugin.yaml"), manifest);
    write(&root.join("commands/c.md"), "no front matter");
    write(&root.join("skills/s/SKILL.md"), "no front matter");
    write(&root.join("rules/r.md"), "fine");
    write(&root.join("profiles/p.yaml"), "name: p\nunknown: 1\n");
    let hooks = "hooks:\n  pre_tool_use:\n    - {name: x, type: odd}\n    \
                 - {name: gone, type: script, script: gone.py}\n";
    write(&root.join("hooks.yaml"), hooks);
    write(&root.join("tools/t.py"), "def (\n");
    let run = project.brynhild(&["plugin", "validate", "parts"]);
    run.code(1);
    for part in ["c.md", "SKILL.md", "p.yaml", "hooks.yaml", "t.py"] {
        assert!(run.stderr.contains(part), "{part}: {run}");
    }
    assert!(!run.stderr.contains("r.md"), "{run}");
    let missing = format!("hook 'gone': there is no script {}", root.join("gone.py").display());
    assert!(run.stderr.contains(&missing), "{run}");
    let run = project.brynhild(&["hooks", "validate"]);
    assert!(run.code(1).stderr.contains(&missing), "{run}");
}

#[test]
fn missing_or_invalid_interpreter_is_reported() {
    for (python, what) in [("/nonexistent/python", "no program"), ("/bin/false", "no Python")] {
        let project = project().env("BRYNHILD_PLUGINS__PYTHON", python);
        let run = project.brynhild(&["plugin", "list"]);
        let told = format!("{python}: `plugins.python` names {what}");
        assert!(run.stderr.contains(&told), "{run}");
        let run = project.brynhild(&["plugin", "paths"]);
        assert!(!run.stdout.contains("entry_points"), "{run}");
    }
}

#[test]
fn installed_packages_are_plugins_without_running_python() {
    let project = project();
    let prefix = project.home().join("python");
    let site = prefix.join("lib/python3.11/site-packages");
    let canary = project.home().join("canary");
    let python = prefix.join("bin/python3.11");
    write(&python, &format!("#!/bin/sh\ntouch {}\n", canary.display()));
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&python, mode).unwrap();
    let points = "[brynhild.providers]\nacme = acme:Provider\n";
    write(&site.join("acme_cloud-2.1.dist-info/entry_points.txt"), points);
    write(
        &site.join("acme_cloud-2.1.dist-info/METADATA"),
        "Name: acme-cloud\nVersion: 2.1\nSummary: A cloud\n",
    );
    project.config("plugins: {python: ~/python/bin/python3.11}\n");
    let list = project.brynhild(&["plugin", "list", "--json"]).json();
    let row = &list["plugins"][0];
    assert_eq!(row["name"], "acme");
    assert_eq!(row["source"], "entry_point_provider");
    assert_eq!(
        (&row["package_name"], &row["package_version"]),
        (&"acme-cloud".into(), &"2.1".into())
    );
    assert_eq!(row["providers"], serde_json::json!(["acme"]));
    assert!(!canary.exists());
    let off = project
        .command(&["plugin", "list", "--json"])
        .env("BRYNHILD_DISABLE_ENTRY_POINT_PLUGINS", "1")
        .run();
    assert!(listed(&off).is_empty());
}

#[test]
fn invalid_skill_and_agent_names_become_file_names() {
    let project = project();
    let own = |path: &str, text: &str| write(&project.config_directory().join(path), text);
    own("skills/deep-search/SKILL.md", "---\nname: Deep Search\ndescription: Finds.\n---\nFind.\n");
    own("agents/bench.md", "---\nname: TurnContext Suite\ndescription: Measures.\n---\nMeasure.\n");
    let skills = project.brynhild(&["skill", "list"]);
    assert!(skills.success().stdout.contains("deep-search"), "{skills}");
    assert!(skills.stderr.contains("its directory's is used: deep-search"), "{skills}");
    let agents = project.brynhild(&["agents", "list"]);
    assert!(agents.success().stdout.contains("bench"), "{agents}");
}

#[test]
fn rules_beyond_the_limit_are_left_out_and_reported() {
    let model = ModelServer::start([Reply::text("Done.")]);
    let project = project_with(&model);
    for number in 0..2_100 {
        let directory = if number % 2 == 0 { "even" } else { "odd" };
        project.file(format!(".claude/rules/{directory}/{number}.md"), "x");
    }
    let run = project.brynhild(&["-p", "hi"]);
    let reported = "only 2000 files below this directory were read";
    assert!(run.success().stderr.contains(reported), "{run}");
}
