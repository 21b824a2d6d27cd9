//! Changes between two prompts apply to the second one, after a new trust check.

use std::fs;
use std::path::Path;

use serde_json::json;
use testkit::{ModelServer, Project, Reply};

use super::{plugin, results, tool, write};
use crate::{has_bubblewrap, project_with};

/// Says a line before and one after a change, and returns what was printed.
fn around(project: &Project, first: &str, change: impl FnOnce(), then: &[&str]) -> testkit::Run {
    let mut running = project.command(&["--plain"]).spawn();
    running.send(&format!("{first}\n"));
    running.wait_for_stdout("first answer");
    change();
    for line in then {
        running.send(&format!("{line}\n"));
    }
    running.close_stdin();
    running.wait()
}

fn system(server: &ModelServer, chat: usize) -> String {
    server.chats()[chat].body["messages"][0]["content"].as_str().unwrap().to_owned()
}

fn last_prompt(server: &ModelServer, chat: usize) -> String {
    let messages = server.chats()[chat].body["messages"].as_array().unwrap().clone();
    messages.last().unwrap()["content"].as_str().unwrap().to_owned()
}

#[test]
fn changed_and_added_tools_are_reloaded() {
    if !has_bubblewrap() {
        return;
    }
    let server = ModelServer::start([
        Reply::calls([("changing", json!({}))]),
        Reply::text("first answer"),
        Reply::calls([("changing", json!({})), ("added", json!({}))]),
        Reply::text("second answer"),
    ]);
    let project = project_with(&server);
    let before = tool("changing", "return ToolResult(True, 'before')");
    let root = plugin(&project, "changing", &[("tools/changing.py", &before)]);
    let change = || {
        let after = tool("changing", "return ToolResult(True, 'after the change')");
        write(&root.join("tools/changing.py"), &after);
        write(&root.join("tools/added.py"), &tool("added", "return ToolResult(True, 'here')"));
    };
    let run = around(&project, "one", change, &["two", "/tools"]);
    assert!(run.success().stdout.contains("second answer"), "{run}");
    assert!(run.stdout.contains("Tries added"), "`/tools` shows what is there: {run}");
    assert_eq!(results(&server, 1), ["before"]);
    assert_eq!(results(&server, 3)[..2], ["here", "after the change"], "{run}");
}

#[test]
fn changed_plugin_files_apply_to_the_next_prompt() {
    let server = ModelServer::start([
        Reply::text("first answer"),
        Reply::text("second answer"),
        Reply::text("third answer"),
        Reply::text("fourth answer"),
    ]);
    let project = project_with(&server);
    let manifest =
        "name: soft\nversion: '1'\ncommands: [c]\nskills: [s]\nrules: [r]\nhooks: true\n";
    let files = |word: &str| {
        [
            ("plugin.yaml", manifest.to_owned()),
            ("commands/c.md", format!("---\nname: c\n---\nCommand {word}\n")),
            (
                "skills/s/SKILL.md",
                format!("---\nname: s\ndescription: Skill {word}\n---\nBody {word}\n"),
            ),
            ("rules/r.md", format!("Rule {word}\n")),
            ("hooks.yaml", String::from("version: 1\nhooks: {}\n")),
        ]
    };
    let root = project.config_directory().join("plugins/soft");
    let give = |word: &str| {
        for (file, text) in files(word) {
            write(&root.join(file), &text);
        }
    };
    give("old");
    let change = || {
        give("fresh");
        let hook = "version: 1\nhooks:\n  user_prompt_submit:\n    - name: hold\n      type: command\n      \
                    command: 'case \"$BRYNHILD_MESSAGE\" in *blocked*) exit 1;; esac'\n      message: held back\n";
        write(&root.join("hooks.yaml"), hook);
        write(&root.join("commands/d.md"), "---\nname: d\n---\nAnother {{args}}\n");
        let other = project.config_directory().join("plugins/other");
        write(&other.join("plugin.yaml"), "name: other\nversion: '1'\ncommands: [e]\n");
        write(&other.join("commands/e.md"), "---\nname: e\n---\nFrom another plugin\n");
    };
    let run = around(&project, "/c", change, &["/c", "/d it", "blocked", "/e"]);
    assert!(run.stderr.contains("held back"), "{run}");
    assert_eq!(last_prompt(&server, 0), "Command old");
    assert!(system(&server, 0).contains("Rule old") && system(&server, 0).contains("Skill old"));
    assert_eq!(last_prompt(&server, 1), "Command fresh");
    assert!(
        system(&server, 1).contains("Rule fresh") && system(&server, 1).contains("Skill fresh")
    );
    assert_eq!(last_prompt(&server, 2), "Another it");
    assert_eq!(last_prompt(&server, 3), "From another plugin");
}

#[test]
fn plugin_disabled_during_a_session_is_disabled() {
    if !has_bubblewrap() {
        return;
    }
    let server = ModelServer::start([Reply::text("first answer"), Reply::text("second answer")]);
    let project = project_with(&server);
    plugin(
        &project,
        "fading",
        &[("tools/fades.py", &tool("fades", "return ToolResult(True, '')"))],
    );
    let off = || {
        project.brynhild(&["plugin", "disable", "fading"]).success();
    };
    around(&project, "one", off, &["two"]).success();
    let offers = |chat: usize| server.chats()[chat].body["tools"].to_string().contains("\"fades\"");
    assert!(offers(0) && !offers(1));
}

/// The lock of its process is free only when that has ended, while the conversation goes on.
#[test]
fn worker_of_a_disabled_plugin_ends() {
    if !has_bubblewrap() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let link = place.path().join("project");
    let held = link.join("held");
    let mut asked = 0;
    let server = ModelServer::respond_with(move |_| {
        asked += 1;
        match asked {
            1 => Reply::calls([("holds", json!({}))]),
            2 => Reply::text("first answer"),
            _ => {
                let file = fs::File::open(&held).unwrap();
                rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
                Reply::text("second answer")
            }
        }
    });
    let project = project_with(&server);
    std::os::unix::fs::symlink(project.path(), &link).unwrap();
    project.file("held", "");
    let body = "import builtins, fcntl\nbuiltins.held = open('held')\n\
                fcntl.flock(builtins.held, fcntl.LOCK_EX)\nreturn ToolResult(True, 'it is held')";
    plugin(&project, "fading", &[("tools/holds.py", &tool("holds", body))]);
    let off = || {
        project.brynhild(&["plugin", "disable", "fading"]).success();
    };
    around(&project, "one", off, &["two"]).success();
    assert!(server.chats()[1].body["messages"].to_string().contains("it is held"));
}

#[test]
fn changed_project_plugin_needs_trust_again() {
    if !has_bubblewrap() {
        return;
    }
    let answers = ["first answer", "second answer"];
    let server = ModelServer::start(answers.map(Reply::text));
    let project = project_with(&server);
    let root = project.path().join(".brynhild/plugins/ours");
    write(&root.join("plugin.yaml"), "name: ours\nversion: '1'\ntools: [t]\ncommands: [c]\n");
    write(&root.join("tools/t.py"), &tool("ours", "return ToolResult(True, '')"));
    write(&root.join("commands/c.md"), "---\nname: c\n---\nTrusted\n");
    project.brynhild(&["trust", "--yes"]).success();
    let canary = project.path().join("out");
    fs::create_dir(&canary).unwrap();
    let change = || change_tool(&root, &canary);
    let run = around(&project, "one", change, &["two", "/ours:c"]);
    let offers = |chat: usize| server.chats()[chat].body["tools"].to_string().contains("\"ours\"");
    assert!(offers(0) && !offers(1), "{run}");
    assert!(run.stderr.contains("Unknown command /ours:c"), "{run}");
}

#[test]
fn retrusted_project_plugin_runs_and_absence_is_reported() {
    if !has_bubblewrap() {
        return;
    }
    let call = || Reply::calls([("ours", json!({}))]);
    let server = ModelServer::start([
        call(),
        Reply::text("first answer"),
        Reply::text("second answer"),
        call(),
        Reply::text("third answer"),
    ]);
    let project = project_with(&server);
    let root = project.path().join(".brynhild/plugins/ours");
    let body = |word: &str| tool("ours", &format!("return ToolResult(True, '{word}')"));
    write(&root.join("plugin.yaml"), "name: ours\nversion: '1'\ntools: [t]\n");
    write(&root.join("tools/t.py"), &body("before"));
    project.brynhild(&["trust", "--yes"]).success();
    project.brynhild(&["tools", "list"]).success();
    let mut running = project.command(&["--plain"]).spawn();
    running.send("one\n");
    running.wait_for_stdout("first answer");
    write(&root.join("tools/t.py"), &body("after the change"));
    running.send("two\n");
    running.wait_for_stdout("second answer");
    project.brynhild(&["trust", "--yes"]).success();
    running.send("three\n");
    running.wait_for_stdout("third answer");
    running.close_stdin();
    let run = running.wait();
    let told = "this project changed since you trusted it";
    assert_eq!(run.stderr.matches(told).count(), 1, "{run}");
    assert_eq!(results(&server, 1), ["before"]);
    assert_eq!(results(&server, 4)[0], "after the change", "{run}");
}

fn change_tool(root: &Path, canary: &Path) {
    let text = format!("open({:?}, 'w')\n", canary.join("ran").display().to_string());
    write(&root.join("tools/t.py"), &(text + &tool("ours", "return ToolResult(True, 'worse')")));
}

#[test]
fn changed_permissions_apply_to_the_next_prompt() {
    if !has_bubblewrap() {
        return;
    }
    let call = || Reply::calls([("Bash", json!({"command": "touch made"}))]);
    let replies = [call(), Reply::text("first answer"), call(), Reply::text("second answer")];
    let server = ModelServer::start(replies);
    let project = project_with(&server);
    project.config_more("permissions: {allow: ['Bash(touch:*)']}\n");
    let file = project.config_directory().join("config.yaml");
    let change = || {
        fs::remove_file(project.path().join("made")).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("{allow:", "{deny:")).unwrap();
    };
    let run = around(&project, "one", change, &["two"]);
    assert!(run.stdout.contains("second answer"), "{run}");
    assert!(!project.path().join("made").exists(), "{run}");
    assert_ne!(results(&server, 1)[0], results(&server, 3)[0]);
}

#[test]
fn added_and_removed_servers_apply_to_the_next_prompt() {
    if !has_bubblewrap() {
        return;
    }
    let answers = ["first answer", "second answer", "third answer"];
    let server = ModelServer::start(answers.map(Reply::text));
    let project = project_with(&server);
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/server.py");
    project.file("server.py", fs::read_to_string(program).unwrap());
    let mut running = project.command(&["--plain"]).spawn();
    let mut say = |line: &str, answer: &str| {
        running.send(&format!("{line}\n"));
        running.wait_for_stdout(answer);
    };
    say("one", "first answer");
    project.brynhild(&["mcp", "add", "late", "--", "python3", "server.py"]).success();
    say("two", "second answer");
    project.brynhild(&["mcp", "remove", "late"]).success();
    say("three", "third answer");
    running.close_stdin();
    let run = running.wait();
    let offers = |chat: usize| server.chats()[chat].body["tools"].to_string().contains("mcp__late");
    assert!(!offers(0) && offers(1) && !offers(2), "{run}");
}

#[test]
fn installed_package_is_offered_at_the_next_prompt() {
    if !has_bubblewrap() {
        return;
    }
    let server = ModelServer::start([Reply::text("first answer"), Reply::text("second answer")]);
    let project = project_with(&server);
    let place = project.home().join("env");
    super::documents::venv(&place);
    let python = place.join("bin/python");
    project.config_more(&format!("plugins: {{python: {}}}\n", python.display()));
    let install = || {
        let site = super::documents::site(&place);
        let module = tool("latecomer", "return ToolResult(True, '')");
        write(&site.join("latecomer/__init__.py"), &module);
        let metadata = site.join("latecomer-1.0.dist-info");
        write(&metadata.join("METADATA"), "Name: latecomer\nVersion: 1.0\n");
        let points = "[brynhild.tools]\nlatecomer = latecomer:Tool\n";
        write(&metadata.join("entry_points.txt"), points);
    };
    let run = around(&project, "one", install, &["two"]);
    let offers =
        |chat: usize| server.chats()[chat].body["tools"].to_string().contains("\"latecomer\"");
    assert!(!offers(0) && offers(1), "{run}");
}

#[test]
fn changed_settings_keep_hooks_in_the_mode_of_the_session() {
    let server = ModelServer::start([Reply::text("first answer"), Reply::text("second answer")]);
    let project = project_with(&server);
    let hooks = "hooks:\n  user_prompt_submit:\n    - {name: log, type: command, \
                 command: 'echo x >> log'}\n";
    write(&project.config_directory().join("hooks.yaml"), hooks);
    let change = || {
        project.config_more("behavior: {mode: read-only}\n");
    };
    let run = around(&project, "one", change, &["two"]);
    assert!(run.success().stdout.contains("second answer"), "{run}");
    assert_eq!(project.read("log"), "x\nx\n", "{run}");
}
