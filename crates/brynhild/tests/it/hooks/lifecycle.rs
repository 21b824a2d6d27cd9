//! Plugins that run something when they begin and when they end.

use std::fs;

use testkit::{ModelServer, Reply};

use super::plugin;
use crate::project_with;

#[test]
fn a_plugin_begins_before_and_ends_after_a_conversation() {
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
    let log = project.config_folder().join("plugin-data/tidy/log");
    assert_eq!(
        fs::read_to_string(log).unwrap(),
        "plugin_init tidy\nsession_start tidy\nsession_end tidy\nplugin_shutdown tidy\n"
    );
}

#[test]
fn a_beginning_that_fails_costs_a_warning() {
    let server = ModelServer::start([Reply::text("ok")]);
    let project = project_with(&server);
    let hooks = "hooks:\n  plugin_init:\n    - {name: setup, type: command, command: 'exit 1'}\n";
    plugin(&project, "tidy", hooks);
    let run = project.brynhild(&["chat", "go"]);
    run.success();
    assert!(run.stderr.contains("tried to block plugin_init"), "{run}");
}
