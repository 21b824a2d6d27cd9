//! Which hooks there are, in which order, and what those of plugins may do.

use std::time::Duration;

use contract::sandbox::{Access, Network};
use serde_json::{Value, json};

use super::call;
use super::fixture::{Others, Rig};
use crate::hooks::{Event, Offered, Pretended};
use crate::plugin::{NetworkPermission, Permissions};

fn entry(event: &str, name: &str, command: &str) -> String {
    format!("  {event}:\n    - {{name: {name}, type: command, command: '{command}'}}\n")
}

fn file(event: &str, name: &str, command: &str) -> String {
    format!("hooks:\n{}", entry(event, name, command))
}

#[test]
fn hook_files_are_merged_in_order() {
    let global = "hooks:\n  error:\n    - {name: a, type: command, command: global-a}\n    \
                  - {name: b, type: command, command: global-b}\n";
    let project = "hooks:\n  error:\n    - {name: c, type: command, command: project-c}\n    \
                   - {name: a, type: command, command: project-a}\n";
    let others = Others {
        project: Some(project.to_owned()),
        plugins: vec![("tidy".to_owned(), file("error", "a", "plugin-a"))],
        offers: vec![Offered {
            plugin: "tidy".to_owned(),
            name: "point".to_owned(),
            config: json!({"hooks": {"error": [
                {"name": "a", "type": "command", "command": "offered-a"},
            ]}}),
        }],
        change: None,
    };
    let rig = Rig::beside(global, others);
    let listing = &rig.loaded.listing;
    let subjects: Vec<&str> = listing.iter().map(|hook| hook.subject.as_str()).collect();
    assert_eq!(
        subjects,
        ["global-a", "global-b", "project-c", "project-a", "plugin-a", "offered-a"]
    );
    let sources: Vec<&str> = listing.iter().map(|hook| hook.source.as_str()).collect();
    assert_eq!(sources, ["global", "global", "project", "project", "plugin tidy", "plugin tidy"]);
    assert_eq!(rig.hooks().len(), 6);
}

#[test]
fn disabled_or_untrusted_plugin_has_no_hooks() {
    let changes: [fn(&mut crate::plugin::Plugin); 3] = [
        |plugin| plugin.enabled = false,
        |plugin| plugin.trusted = false,
        |plugin| plugin.manifest.hooks = false,
    ];
    for change in changes {
        let rig = Rig::beside(
            "",
            Others {
                plugins: vec![("tidy".to_owned(), file("error", "a", "x"))],
                change: Some(change),
                ..Others::default()
            },
        );
        assert!(rig.loaded.hooks.is_empty());
    }
}

#[test]
fn inactive_hooks_are_reported_unless_disabled() {
    let told = |change: fn(&mut crate::plugin::Plugin)| {
        let plugins = vec![("tidy".to_owned(), file("error", "a", "x"))];
        let rig = Rig::beside("", Others { plugins, change: Some(change), ..Others::default() });
        rig.loaded.problems.len()
    };
    assert_eq!(told(|plugin| plugin.manifest.hooks = false), 1);
    let off = |plugin: &mut crate::plugin::Plugin| {
        plugin.manifest.hooks = false;
        plugin.manifest.hooks_off = true;
    };
    assert_eq!(told(off), 0);
}

#[test]
fn disabled_hook_is_listed_and_not_run() {
    let rig = Rig::with("error", "type: command\ncommand: x\nenabled: false");
    assert!(rig.loaded.hooks.is_empty());
    assert!(!rig.loaded.listing[0].enabled);
}

#[test]
fn plugin_events_are_refused_in_user_files() {
    let rig = Rig::new(&file("plugin_init", "a", "x"));
    assert!(rig.problems()[0].contains("plugin_init is for plugins' own files"));
    assert!(rig.loaded.lifecycle.is_empty());
}

#[test]
fn missing_declared_file_is_reported() {
    let rig = Rig::beside(
        "",
        Others {
            plugins: vec![("tidy".to_owned(), String::new())],
            change: Some(|plugin| std::fs::remove_file(plugin.root.join("hooks.yaml")).unwrap()),
            ..Others::default()
        },
    );
    assert_eq!(rig.problems(), ["Plugin declares hooks but hooks.yaml missing"]);
}

async fn ask(rig: &Rig) {
    let args = json!({});
    for hook in rig.hooks() {
        hook.before_tool(&rig.context(), call("Bash", &args)).await.unwrap();
    }
}

#[tokio::test]
async fn plugin_hooks_have_only_granted_access() {
    let plugins = || vec![("tidy".to_owned(), file("pre_tool_use", "a", "true"))];
    let rig = Rig::beside("", Others { plugins: plugins(), ..Others::default() });
    ask(&rig).await;
    let profile = rig.profiles().remove(0);
    assert_eq!((profile.access, profile.network), (Access::ReadOnly, Network::None));
    assert_eq!(profile.own, [rig.path("config/plugin-data/tidy")]);
    assert!(profile.read.contains(&rig.path("plugins/tidy")));
    assert!(!profile.env.contains_key("TOKEN"));

    let change = |plugin: &mut crate::plugin::Plugin| {
        plugin.settings.grants = Permissions {
            network: NetworkPermission::All,
            read: vec!["~/docs".into()],
            write: vec![".".into()],
            env: vec!["TOKEN".into()],
            exec: Vec::new(),
        };
    };
    let others = Others { plugins: plugins(), change: Some(change), ..Others::default() };
    let rig = Rig::beside("", others);
    ask(&rig).await;
    let profile = rig.profiles().remove(0);
    assert_eq!((profile.access, profile.network), (Access::Workspace, Network::Host));
    assert!(profile.read.contains(&rig.path("home/docs")));
    assert_eq!(profile.env["TOKEN"], "t");
}

#[tokio::test]
async fn plugin_start_and_end_hooks_run() {
    let yaml = format!(
        "hooks:\n{}{}",
        entry("plugin_init", "in", "./scripts/init.sh"),
        entry("plugin_shutdown", "out", "echo out $BRYNHILD_PLUGIN_NAME >> log"),
    );
    let rig =
        Rig::beside("", Others { plugins: vec![("tidy".to_owned(), yaml)], ..Others::default() });
    let script = "#!/bin/sh\necho in $BRYNHILD_PLUGIN_PATH $PWD $BRYNHILD_SESSION_ID >> log\n";
    rig.program("plugins/tidy/scripts/init.sh", script);
    let lifecycle = &rig.loaded.lifecycle;
    lifecycle.shutdown().await;
    lifecycle.start().await;
    lifecycle.start().await;
    lifecycle.shutdown().await;
    lifecycle.shutdown().await;
    let log = rig.read("project/log");
    let words: Vec<&str> = log.split_whitespace().collect();
    let [first, path, cwd, session, last, name] = words.as_slice() else { panic!("{log}") };
    assert_eq!((*first, *last, *name), ("in", "out", "tidy"));
    assert_eq!(*path, rig.path("plugins/tidy").display().to_string());
    assert_eq!(*cwd, rig.path("project").display().to_string());
    assert!(session.len() == 16 && session.chars().all(|c| c.is_ascii_hexdigit()), "{session}");
    assert!(rig.loaded.hooks.is_empty());
}

#[tokio::test]
async fn plugin_start_hook_runs_once() {
    let yaml = |word: &str| {
        let begins = entry("plugin_init", "in", "echo in >> log");
        let ends = entry("plugin_shutdown", "out", &format!("echo {word} >> log"));
        vec![("tidy".to_owned(), format!("hooks:\n{begins}{ends}"))]
    };
    let first = Rig::beside("", Others { plugins: yaml("first"), ..Others::default() });
    first.loaded.lifecycle.start().await;
    let again = first.again(Others { plugins: yaml("second"), ..Others::default() });
    again.lifecycle.start().await;
    first.loaded.lifecycle.shutdown().await;
    again.lifecycle.shutdown().await;
    assert_eq!(first.read("project/log"), "in\nsecond\n");
}

#[tokio::test]
async fn failed_plugin_start_hook_is_a_notice() {
    let others = Others {
        plugins: vec![
            ("one".to_owned(), file("plugin_init", "a", "echo why; exit 1")),
            ("two".to_owned(), file("plugin_init", "b", "touch fine")),
        ],
        ..Others::default()
    };
    let rig = Rig::beside("", others);
    rig.loaded.lifecycle.start().await;
    let notices = rig.notices();
    assert_eq!(
        notices,
        ["hook 'a' (plugin one): tried to block plugin_init, which cannot be blocked: why"]
    );
    assert!(rig.path("project/fine").exists());
}

#[tokio::test]
async fn hanging_end_hook_is_killed_at_its_timeout() {
    let others = Others {
        plugins: vec![("slow".to_owned(), file("plugin_shutdown", "a", "sleep 600"))],
        ..Others::default()
    };
    let rig = Rig::beside("", others);
    rig.loaded.lifecycle.start().await;
    rig.loaded.lifecycle.shutdown_within(Duration::from_millis(100)).await;
    assert_eq!(rig.notices(), ["hooks of plugin_shutdown took too long and were stopped"]);
}

#[tokio::test]
async fn hook_test_passes_changes_to_later_hooks() {
    let rig = Rig::new(
        "hooks:\n  pre_tool_use:\n    \
         - {name: first, type: script, script: first.sh}\n    \
         - {name: other, type: command, command: exit 1, match: {tool: Write}}\n    \
         - {name: last, type: command, command: 'echo $BRYNHILD_TOOL_INPUT; exit 1'}\n    \
         - {name: never, type: command, command: 'touch ran'}\n",
    );
    let answer = "#!/bin/sh\necho '{\"modified_input\": {\"command\": \"ls\"}}'\n";
    rig.program("config/first.sh", answer);
    let cwd = rig.path("project");
    let input = json!({"command": "rm"});
    let what =
        Pretended { event: "pre_tool_use", cwd: &cwd, tool: "Bash", input: &input, text: "" };
    let tried = rig.loaded.rehearse(Event::PreToolUse, what).await;
    let names: Vec<&Value> = tried.hooks.iter().map(|hook| &hook["name"]).collect();
    assert_eq!(names, ["first", "other", "last"]);
    assert_eq!(tried.hooks[1]["outcome"], "no match");
    let result = tried.result.unwrap();
    assert_eq!(result["action"], "block");
    assert_eq!(result["message"], "{\"command\":\"ls\"}");
    assert_eq!(result["modified_input"], json!({"command": "ls"}));
    assert!(!rig.path("project/ran").exists());
    let none = rig.loaded.rehearse(Event::Error, what).await;
    assert_eq!(none.result, None);
}
