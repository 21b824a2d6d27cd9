//! `plugin check`: the report for plugins of every system.

use super::{KINDS, new};
use crate::project;

#[test]
fn plugin_check_names_the_system_of_every_kind() {
    let project = project();
    for kind in KINDS {
        let name = format!("my-{kind}");
        new(&project, &name, kind);
        let run = project.brynhild(&["plugin", "check", &name, "--json"]);
        let plugin = run.success().json()["plugins"][0].clone();
        assert_eq!(
            (&plugin["name"], &plugin["verdict"]),
            (&name.as_str().into(), &"works".into()),
            "{run}"
        );
        let system = match kind {
            "agent" | "mcp" => "claude",
            "chibi" => "chibi",
            "lmao" => "lmao",
            "role" => "initrunner",
            _ => "brynhild",
        };
        assert_eq!(plugin["system"], system, "{run}");
    }
}

#[test]
fn plugin_check_says_what_does_not_work_and_why() {
    let project = project();
    new(&project, "my-agent", "agent");
    project.file("my-agent/hooks/hooks.json", "{\"hooks\": {\"NoSuchEvent\": [{\"hooks\": []}]}}");
    let run = project.brynhild(&["plugin", "check", "my-agent"]);
    assert!(run.success().stdout.starts_with("my-agent (claude): works partly\n"), "{run}");
    assert!(run.stdout.contains("does not work:") && run.stdout.contains("NoSuchEvent"), "{run}");
    new(&project, "my-lmao", "lmao");
    project.file("my-lmao/tool.py", "PLUGIN = {}\n");
    let run = project.brynhild(&["plugin", "check", "my-lmao"]);
    assert!(run.code(1).stdout.starts_with("my-lmao (lmao): does not work\n"), "{run}");
}

#[test]
fn plugin_check_explains_directories_without_a_plugin() {
    let project = project();
    project.file("shop/.claude-plugin/marketplace.json", "{}").file("empty/a.txt", "a");
    for (path, words) in [
        ("shop", "is a marketplace of plugins"),
        ("empty", "has no plugin of a known system"),
        ("nowhere", "does not exist"),
    ] {
        let run = project.brynhild(&["plugin", "check", path]);
        assert!(run.code(1).stderr.contains(words), "{run}");
    }
}
