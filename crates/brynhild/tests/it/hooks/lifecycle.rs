//! Plugins that run something when they begin and when they end.

use std::fs;
use std::path::Path;

use testkit::{ModelServer, Project, Reply};

use super::plugin;
use crate::project_with;

#[test]
fn plugin_hooks_run_before_and_after_a_conversation() {
    let server = ModelServer::start([Reply::text("ok")]);
    let project = project_with(&server);
    let hook = |event: &str| {
        format!(
            "  {event}:\n    - name: {event}\n      type: command\n      \
             command: echo {event} $BRYNHILD_PLUGIN_NAME >> $BRYNHILD_PLUGIN_DATA/log\n"
        )
    };
    let hooks: String =
        ["plugin_init", "plugin_shutdown", "session_start", "session_end"].map(hook).concat();
    plugin(&project, "tidy", &format!("hooks:\n{hooks}"));
    project.brynhild(&["chat", "go"]).success();
    let log = project.config_directory().join("plugin-data/tidy/log");
    assert_eq!(
        fs::read_to_string(log).unwrap(),
        "plugin_init tidy\nsession_start tidy\nsession_end tidy\nplugin_shutdown tidy\n"
    );
}

const FAREWELL: &str = "hooks:\n  plugin_init:\n    - {name: a, type: command, command: 'true'}\n  \
                        plugin_shutdown:\n    - name: b\n      type: command\n      \
                        command: echo bye >> $BRYNHILD_PLUGIN_DATA/log\n";

/// Talks before and after a change, and says whether the plugin said goodbye in between, and at all.
fn around(project: &Project, log: &Path, change: impl FnOnce()) -> (bool, bool) {
    let mut running = project.command(&["--plain"]).spawn();
    running.send("one\n");
    running.wait_for_stdout("first answer");
    change();
    running.send("two\n");
    running.wait_for_stdout("second answer");
    let between = log.exists();
    running.close_stdin();
    running.wait();
    (between, log.exists())
}

#[test]
fn disabled_plugin_runs_its_end_hook_once() {
    let server = ModelServer::start(["first answer", "second answer"].map(Reply::text));
    let project = project_with(&server);
    plugin(&project, "tidy", FAREWELL);
    let log = project.config_directory().join("plugin-data/tidy/log");
    let off = || drop(project.brynhild(&["plugin", "disable", "tidy"]));
    assert_eq!(around(&project, &log, off), (true, true));
    assert_eq!(fs::read_to_string(log).unwrap(), "bye\n");
}

#[test]
fn changed_project_plugin_runs_no_end_hook() {
    let server = ModelServer::start(["first answer", "second answer"].map(Reply::text));
    let project = project_with(&server);
    let directory = ".brynhild/plugins/theirs";
    project.file(format!("{directory}/plugin.yaml"), "name: theirs\nversion: '1'\nhooks: true\n");
    project.file(format!("{directory}/hooks.yaml"), FAREWELL);
    project.brynhild(&["trust", "--yes"]).success();
    let log = project.config_directory().join("plugin-data/theirs/log");
    let change = || {
        project.file(format!("{directory}/script"), "other bytes");
    };
    assert_eq!(around(&project, &log, change), (false, false));
}

#[test]
fn failed_start_hook_is_a_warning() {
    let server = ModelServer::start([Reply::text("ok")]);
    let project = project_with(&server);
    let hooks = "hooks:\n  plugin_init:\n    - {name: setup, type: command, command: 'exit 1'}\n";
    plugin(&project, "tidy", hooks);
    let run = project.brynhild(&["chat", "go"]);
    run.success();
    assert!(run.stderr.contains("tried to block plugin_init"), "{run}");
}
