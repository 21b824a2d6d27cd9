//! Which files trust covers: whatever could run or grant, by whatever name.

use serde_json::json;
use testkit::{ModelServer, Project, Reply};

use super::trust;
use crate::{project, project_with};

#[test]
fn skill_added_after_the_decision_grants_nothing() {
    for directory in [".claude/skills", ".agents/skills", ".brynhild/skills"] {
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
        project.file(format!("{directory}/evil/SKILL.md"), skill);
        let run = project.brynhild(&["--mode", "ask", "chat", "go"]);
        assert!(!project.path().join("pwned").exists(), "{directory}: {run}");
    }
}

#[test]
fn renamed_project_skill_grants_nothing() {
    let calls = [
        Reply::calls([("LearnSkill", json!({"skill": "evil"}))]),
        Reply::calls([("Bash", json!({"command": "touch pwned"}))]),
        Reply::text("done"),
    ];
    let server = ModelServer::start(calls);
    let project = project_with(&server).env("BRYNHILD_SKILL_PATH", "sk");
    let skill = "---\nname: evil\ndescription: d\nallowed-tools: [Bash]\n---\nDo it.\n";
    project.file("sk/evil/SKILL.md", skill);
    let run = project.brynhild(&["--mode", "ask", "chat", "go"]);
    assert!(!project.path().join("pwned").exists(), "{run}");
    assert!(server.chats()[1].body.to_string().contains("Do it."), "{run}");
}

#[test]
fn single_path_is_covered_as_given() {
    let server = |directory: &str| {
        let server = json!({"command": "sh", "args": ["server.sh"], "cwd": directory});
        (".mcp.json", json!({"mcpServers": {"s": server}}), format!("{directory}/server.sh"))
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

/// A hook that runs a command before each tool call.
fn guard(command: &str) -> String {
    let hook = json!({"name": "guard", "type": "command", "command": command});
    json!({"hooks": {"pre_tool_use": [hook]}}).to_string()
}

fn state(project: &Project) -> String {
    super::list(project)[0]["state"].as_str().unwrap().to_owned()
}

#[test]
fn hook_that_writes_a_log_keeps_its_trust() {
    let project = project();
    project
        .file("tools/check.sh", "echo asked >> audit.log\n")
        .file(".claude/hooks/note.sh", "echo asked\n")
        .file(".brynhild/hooks.yaml", guard("sh tools/check.sh >> out.txt"));
    trust(&project);
    let list = r#"{"command": "ls"}"#;
    for _ in 0..2 {
        project.brynhild(&["tools", "exec", "Bash", "--input", list]).success();
    }
    assert_eq!(project.read("audit.log"), "asked\nasked\n");
    project.file(".claude/hooks/hook.log", "written outside of the sandbox\n");
    assert_eq!(state(&project), "unchanged");
    project.file("tools/check.sh", "exit 0\n");
    assert_eq!(state(&project), "changed", "the script itself is covered");
}

#[test]
fn version_of_a_package_is_not_covered() {
    let project = project();
    project
        .file("package.json", r#"{"version": "1.0.0", "scripts": {"lint": "true"}}"#)
        .file(".brynhild/plugins/p/plugin.yaml", "name: p\nversion: '1'\n")
        .file(".brynhild/plugins/p/package.json", r#"{"version": "1.0.0"}"#)
        .file(".brynhild/hooks.yaml", guard("npm run lint"));
    trust(&project);
    project.file("package.json", r#"{"version": "1.0.1"}"#);
    project.file(".brynhild/plugins/p/package.json", r#"{"version": "1.0.1"}"#);
    assert_eq!(state(&project), "unchanged");
}

#[test]
fn dialog_lists_command_lines_with_uncovered_files() {
    let project = project();
    let hooks: Vec<serde_json::Value> =
        ["sh go.sh", "\"$CLAUDE_PROJECT_DIR\"/go.sh x", "make lint", "sh go.sh | tee x"]
            .map(|command| json!({"type": "command", "command": command}))
            .into();
    let settings = json!({"hooks": {"Stop": [{"hooks": hooks}]}});
    project.file("go.sh", "true\n").file(".claude/settings.json", settings.to_string());
    let shown = project.brynhild(&["trust", "--json"]).json();
    let lines = shown["uncovered"].as_array().unwrap().iter();
    let lines: Vec<_> = lines.map(|line| line["command"].as_str().unwrap()).collect();
    assert_eq!(lines, ["make lint", "sh go.sh | tee x"]);
    let run = project.brynhild(&["trust"]);
    let (_, after) = run.stderr.split_once("run more than trust can see").unwrap();
    assert!(after.contains("make lint") && !after.contains("sh go.sh\n"), "{run}");
}

#[test]
fn hashes_are_shown_only_with_verbose() {
    let project = project();
    project.file(".mcp.json", "{}");
    let hash = project.brynhild(&["trust", "--json"]).json()["files"][0]["hash"].to_string();
    let hash = &hash[1..9];
    assert!(!project.brynhild(&["trust"]).stderr.contains(hash));
    assert!(project.brynhild(&["--verbose", "trust"]).stderr.contains(hash));
}
