//! Plugins of a project, and named plugins in it: they are inert before trust.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::Value;
use testkit::Project;

use super::plugin;
use crate::project;

fn row(project: &Project, args: &[&str]) -> Value {
    let run = project.brynhild(&[&["plugin", "list", "--json"], args].concat());
    run.json()["plugins"][0].clone()
}

fn is_active(project: &Project, args: &[&str]) -> bool {
    let run = project.brynhild(&[&["skill", "list"], args].concat());
    run.success().stdout.contains("one-skill")
}

#[test]
fn project_plugin_is_inert_until_trusted() {
    let project = project();
    plugin(&project.path().join(".brynhild/plugins"), "one");
    let found = row(&project, &[]);
    assert_eq!((&found["name"], &found["trusted"]), (&"one".into(), &false.into()));
    assert_eq!(found["description"], "");
    assert!(!is_active(&project, &[]));
    let asked = project.brynhild(&["trust", "--json"]).json();
    let files = asked["files"].to_string();
    for file in ["plugin.yaml", "commands/c.md", "skills/s/SKILL.md", "profiles/p.yaml"] {
        assert!(files.contains(&format!(".brynhild/plugins/one/{file}")), "{files}");
    }
    assert!(files.contains("run as a part of a plugin"));
    project.brynhild(&["trust", "--yes"]).success();
    assert_eq!(row(&project, &[])["trusted"], true);
    assert!(is_active(&project, &[]));
    project.file(".brynhild/plugins/one/extra.py", "");
    assert!(!is_active(&project, &[]));
}

#[test]
fn symlink_does_not_load_untrusted_files() {
    let project = project();
    let plugins = project.path().join(".brynhild/plugins");
    plugin(&project.path().join("elsewhere"), "one");
    fs::create_dir_all(&plugins).unwrap();
    symlink("../../elsewhere/one", plugins.join("one")).unwrap();
    project.brynhild(&["trust", "--yes"]).success();
    assert!(!is_active(&project, &[]));
    fs::remove_file(plugins.join("one")).unwrap();
    plugin(&plugins, "one");
    fs::remove_dir_all(plugins.join("one/skills")).unwrap();
    symlink("../../../elsewhere/one/skills", plugins.join("one/skills")).unwrap();
    project.brynhild(&["trust", "--yes"]).success();
    let run = project.brynhild(&["skill", "list"]);
    assert!(run.stderr.contains("points outside the directory you trusted"), "{run}");
    assert!(!run.stdout.contains("one-skill"), "{run}");
}

#[test]
fn plugin_in_the_project_is_used_for_a_run_that_names_it() {
    let project = project();
    plugin(&project.path(), "one");
    let named = ["--plugin-dir", "one"];
    assert!(is_active(&project, &named));
    project.file("one/skills/s/extra.md", "x");
    assert!(is_active(&project, &named), "its author may change it");
    assert!(!is_active(&project, &[]));
}

#[test]
fn named_plugin_outside_the_project_needs_no_trust() {
    let project = project();
    plugin(&project.home(), "one");
    let directory = project.home().join("one").display().to_string();
    assert!(is_active(&project, &["--plugin-dir", &directory]));
    assert!(!is_active(&project, &["--plugin-dir", &directory, "--safe"]));
}

#[test]
fn untrusted_plugin_overrides_no_other() {
    let project = project();
    plugin(&project.config_directory().join("plugins"), "one");
    project.file(".brynhild/plugins/one/plugin.yaml", "name: one\nversion: '9'\n");
    let found = row(&project, &[]);
    assert_eq!((&found["version"], &found["trusted"]), (&"1.0".into(), &true.into()));
    assert!(is_active(&project, &[]));
}
