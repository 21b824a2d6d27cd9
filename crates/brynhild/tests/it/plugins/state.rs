//! On and off: `plugins.yaml` and the configuration, for every kind of extension.

use super::{global, plugin};
use crate::project;

/// The contributions of the plugin `one` in each list.
const KINDS: [(&[&str], &str); 5] = [
    (&["skill", "list"], "one-skill"),
    (&["command", "list"], "one-command"),
    (&["rules", "show"], "Rule of one"),
    (&["profile", "list"], "one-profile"),
    (&["chat", "/help"], "one-command"),
];

#[test]
fn disabled_plugin_contributes_nothing() {
    let project = project();
    plugin(&global(&project), "one");
    for (command, wanted) in KINDS {
        let run = project.brynhild(command);
        assert!(run.success().stdout.contains(wanted), "{run}");
    }
    let off = project.brynhild(&["plugin", "disable", "one"]);
    assert_eq!(off.success().stdout, "Plugin 'one' disabled.\n");
    for (command, wanted) in KINDS {
        let run = project.brynhild(command);
        assert!(!run.success().stdout.contains(wanted), "{run}");
    }
    let again = project.brynhild(&["plugin", "disable", "one"]);
    assert_eq!(again.success().stdout, "Plugin 'one' is already disabled.\n");
    let on = project.brynhild(&["plugin", "enable", "one"]);
    assert_eq!(on.success().stdout, "Plugin 'one' enabled.\n");
    for (command, wanted) in KINDS {
        assert!(project.brynhild(command).stdout.contains(wanted));
    }
    project.brynhild(&["plugin", "disable", "none"]).code(1);
}

#[test]
fn configuration_disables_plugins_despite_enable() {
    for config in ["plugins: {enabled: {one: false}}\n", "plugins: {one: {enabled: false}}\n"] {
        let project = project();
        project.config(config);
        plugin(&global(&project), "one");
        for (command, wanted) in KINDS {
            assert!(!project.brynhild(command).success().stdout.contains(wanted), "{config}");
        }
        let enable = project.brynhild(&["plugin", "enable", "one"]);
        assert!(enable.success().stderr.contains("it stays off, because of `plugins."), "{enable}");
    }
}

#[test]
fn broken_state_file_is_reported_and_not_overwritten() {
    let project = project();
    plugin(&global(&project), "one");
    let file = project.config_directory().join("plugins.yaml");
    std::fs::write(&file, "disabled: {what: ever}\n").unwrap();
    let run = project.brynhild(&["plugin", "list"]);
    assert!(run.success().stderr.contains("`disabled` is not a list of names"), "{run}");
    project.brynhild(&["plugin", "disable", "one"]).code(2);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "disabled: {what: ever}\n");
}

#[test]
fn foreign_keys_in_the_state_file_stay() {
    let project = project();
    plugin(&global(&project), "one");
    let file = project.config_directory().join("plugins.yaml");
    std::fs::write(&file, "disabled: [zeta]\nnote: mine\n").unwrap();
    project.brynhild(&["plugin", "disable", "one"]).success();
    let text = std::fs::read_to_string(&file).unwrap();
    for part in ["- \"one\"\n  - \"zeta\"", "\"note\": \"mine\""] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn invalid_grants_are_reported() {
    let project = project();
    plugin(&global(&project), "one");
    project.config("plugins: {one: {sandbox: {network: 3}}}\n");
    let run = project.brynhild(&["plugin", "list"]);
    assert!(run.success().stderr.contains("neither true, false nor a list of hosts"), "{run}");
    project.config("plugins: {one: {sandbox: {netwrok: true}}}\n");
    let run = project.brynhild(&["plugin", "list"]);
    assert!(run.success().stderr.contains("did you mean `network`?"), "{run}");
    assert_eq!(run.stderr.lines().count(), 1, "{run}");
}

#[test]
fn plugin_list_titles_its_columns() {
    let project = project();
    plugin(&global(&project), "one");
    let run = project.brynhild(&["plugin", "list"]);
    let lines: Vec<Vec<&str>> =
        run.success().stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["NAME", "VERSION", "STATE", "SYSTEM", "FOUND", "IN", "DESCRIPTION"]);
    assert_eq!(lines[1][2..5], ["enabled", "brynhild", "global"], "{run}");
}
