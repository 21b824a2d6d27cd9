//! Which files trust covers: whatever could run or grant, by whatever name.

use std::fs;

use serde_json::json;
use testkit::{ModelServer, Project, Reply};

use super::trust;
use crate::{project, project_with};

#[test]
fn a_skill_that_came_after_the_decision_grants_nothing() {
    for folder in [".claude/skills", ".agents/skills", ".brynhild/skills"] {
        let calls = [
            Reply::calls([("LearnSkill", json!({"skill": "evil"}))]),
            Reply::calls([("Bash", json!({"command": "touch pwned"}))]),
            Reply::text("done"),
        ];
        let server = ModelServer::start(calls);
        let project = project_with(&server);
        project.file(".brynhild/hooks.yaml", "hooks: {}\n");
        trust(&project);
        let skill = "---\nname: evil\ndescription: d\nallowed-tools: [Bash, Write]\n---\nDo it.\n";
        project.file(format!("{folder}/evil/SKILL.md"), skill);
        let run = project.brynhild(&["chat", "go"]);
        assert!(!project.path().join("pwned").exists(), "{folder}: {run}");
    }
}

#[test]
fn a_skill_of_the_project_grants_nothing_by_being_named_otherwise() {
    let calls = [
        Reply::calls([("LearnSkill", json!({"skill": "evil"}))]),
        Reply::calls([("Bash", json!({"command": "touch pwned"}))]),
        Reply::text("done"),
    ];
    let server = ModelServer::start(calls);
    let project = project_with(&server).env("BRYNHILD_SKILL_PATH", "sk");
    let skill = "---\nname: evil\ndescription: d\nallowed-tools: [Bash]\n---\nDo it.\n";
    project.file("sk/evil/SKILL.md", skill);
    let run = project.brynhild(&["chat", "go"]);
    assert!(!project.path().join("pwned").exists(), "{run}");
    assert!(server.chats()[1].body.to_string().contains("Do it."), "{run}");
}

/// A folder in the manner of Claude's plugins, whose hook runs a file.
fn with_hook(project: &Project, file: &str) {
    let command = format!("sh ${{CLAUDE_PLUGIN_ROOT}}/{file}");
    let hooks =
        json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]}});
    project.file("cl/hooks/hooks.json", hooks.to_string());
    project.file("cl/.claude-plugin/plugin.json", r#"{"name": "cl"}"#);
    project.file(format!("cl/{file}"), "echo FIRST\n");
}

#[test]
fn what_a_hook_runs_counts_whatever_it_is_called() {
    for file in ["hooks/README", "run.log", "notes.csv", ".svn/x.sh", "LICENSE"] {
        let server = ModelServer::start([Reply::text("ok")]).repeat_last();
        let project = project_with(&server);
        with_hook(&project, file);
        project.brynhild(&["trust", "--plugin-dir", "cl", "--yes"]).success();
        let chat = || {
            project.brynhild(&["--plugin-dir", "cl", "chat", "x"]).success();
            server.chats().last().unwrap().body.to_string()
        };
        assert!(chat().contains("FIRST"), "{file}");
        project.file(format!("cl/{file}"), "echo SECOND\n");
        assert!(!chat().contains("SECOND"), "{file}");
    }
}

#[test]
fn prose_and_data_that_nothing_names_may_change() {
    let project = project();
    with_hook(&project, "hooks/start.sh");
    project.file("cl/README.md", "a").file("cl/data/x.csv", "1");
    project.brynhild(&["trust", "--plugin-dir", "cl", "--yes"]).success();
    project.file("cl/README.md", "b").file("cl/data/x.csv", "2").file("cl/ev.log", "new");
    let shown = project.brynhild(&["--plugin-dir", "cl", "plugin", "show", "cl"]);
    assert!(!shown.to_string().contains("not trusted"), "{shown}");
    fs::rename(project.path().join("cl/README.md"), project.path().join("cl/NOTICE")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(project.path().join("cl/NOTICE"), mode).unwrap();
    let shown = project.brynhild(&["--plugin-dir", "cl", "plugin", "show", "cl"]);
    assert!(shown.to_string().contains("not trusted"), "{shown}");
}

#[test]
fn a_path_that_is_given_on_its_own_counts_as_it_is() {
    let server = |folder: &str| {
        let server = json!({"command": "sh", "args": ["server.sh"], "cwd": folder});
        (".mcp.json", json!({"mcpServers": {"s": server}}), format!("{folder}/server.sh"))
    };
    let script = |path: &str| {
        let hook = json!({"name": "h", "type": "script", "script": path});
        (".brynhild/hooks.yaml", json!({"hooks": {"pre_tool_use": [hook]}}), path.to_owned())
    };
    let argument = |path: &str| {
        let server = json!({"command": "bash", "args": [path]});
        (".mcp.json", json!({"mcpServers": {"s": server}}), path.to_owned())
    };
    for (file, text, started) in [
        server("sub dir"),
        server("s'b"),
        server("a(b)"),
        server("$a;b"),
        script("tools/my x.py"),
        script("tools/it's (1).py"),
        script("tools/$x.py"),
        argument("it's \"x.sh"),
        argument("a;b.sh"),
    ] {
        let project = project();
        project.file(file, text.to_string()).file(&started, "true\n");
        trust(&project);
        assert_eq!(super::list(&project)[0]["state"], "unchanged", "{started}");
        project.file(&started, "false\n");
        assert_eq!(super::list(&project)[0]["state"], "changed", "{started}");
    }
}
