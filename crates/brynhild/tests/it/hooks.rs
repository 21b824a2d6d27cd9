//! Hooks: which there are, what `hooks` says of them, and that their processes are confined.

mod conversation;
mod lifecycle;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply, Run};

use crate::{project, project_with};

/// A hooks file with one command hook.
fn command_hook(event: &str, name: &str, command: &str) -> String {
    let command = serde_json::to_string(command).unwrap();
    format!("hooks:\n  {event}:\n    - {{name: {name}, type: command, command: {command}}}\n")
}

/// Writes a file in Brynhild's directory of the home.
fn write_user_file(project: &Project, path: &str, text: &str) -> PathBuf {
    let path = project.config_directory().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// Puts a plugin with hooks into the home.
fn plugin(project: &Project, name: &str, hooks: &str) -> PathBuf {
    let manifest = format!("name: {name}\nversion: '1.0'\nhooks: true\n");
    let root = format!("plugins/{name}");
    write_user_file(project, &format!("{root}/plugin.yaml"), &manifest);
    write_user_file(project, &format!("{root}/hooks.yaml"), hooks);
    project.config_directory().join(root)
}

/// A project of which the user trusts these hooks.
fn trusted(hooks: &str) -> Project {
    let project = project();
    project.file(".brynhild/hooks.yaml", hooks);
    project.brynhild(&["trust", "--yes"]).success();
    project
}

fn json_of(project: &Project, args: &[&str]) -> Value {
    let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    let run = project.brynhild(&args);
    run.success();
    run.json()
}

fn code(run: &Run) -> Option<i32> {
    run.status.code()
}

#[test]
fn all_hooks_are_listed_with_their_source_file_and_state() {
    let project = trusted(&command_hook("pre_tool_use", "guard", "exit 1"));
    write_user_file(&project, "hooks.yaml", &command_hook("pre_tool_use", "guard", "true"));
    let root = plugin(
        &project,
        "tidy",
        "hooks:\n  error:\n    - {name: e, type: script, script: x.py, enabled: false, timeout: 5}\n",
    );
    let listed = json_of(&project, &["hooks", "list"]);
    let hooks = listed["hooks"].as_array().unwrap();
    let sources: Vec<&Value> = hooks.iter().map(|hook| &hook["source"]).collect();
    assert_eq!(sources, ["global", "project", "plugin tidy"], "{listed:#}");
    let global = project.config_directory().join("hooks.yaml").display().to_string();
    assert_eq!(listed["global_config"], global);
    let expected = json!({
        "event": "error", "name": "e", "type": "script", "enabled": false, "timeout": 5,
        "source": "plugin tidy", "file": root.join("hooks.yaml"), "line": 3, "subject": "x.py",
    });
    assert_eq!(hooks[2], expected);
    let only = json_of(&project, &["hooks", "list", "--event", "error"]);
    assert_eq!(only["hooks"].as_array().unwrap().len(), 1);
}

#[test]
fn hooks_of_an_untrusted_project_do_not_run() {
    let project = project();
    project.file(".brynhild/hooks.yaml", command_hook("session_start", "evil", "touch made"));
    let listed = json_of(&project, &["hooks", "list"]);
    assert_eq!(listed["hooks"], json!([]));
    assert_eq!(listed["project_trusted"], false);
    let tried = project.brynhild(&["hooks", "test", "session_start", "--json"]);
    assert_eq!(tried.json()["result"], "no_hooks");
    assert!(tried.stderr.contains("until you trust them: .brynhild/hooks.yaml"), "{tried}");
    assert!(!project.path().join("made").exists());
}

#[test]
fn changed_hooks_lose_trust() {
    let project = trusted(&command_hook("session_start", "a", "touch first"));
    project.file(".brynhild/hooks.yaml", command_hook("session_start", "a", "touch second"));
    let tried = project.brynhild(&["hooks", "test", "session_start", "--json"]);
    assert_eq!(tried.json()["result"], "no_hooks");
    assert!(!project.path().join("second").exists());
}

#[test]
fn symlinked_project_hooks_are_not_followed() {
    let project = project();
    project.file("elsewhere.yaml", command_hook("session_start", "a", "touch made"));
    fs::create_dir(project.path().join(".brynhild")).unwrap();
    let link = project.path().join(".brynhild/hooks.yaml");
    std::os::unix::fs::symlink("../elsewhere.yaml", link).unwrap();
    project.brynhild(&["trust", "--yes"]).success();
    let run = project.brynhild(&["hooks", "test", "session_start"]);
    assert!(run.stderr.contains("not a regular file of the project"), "{run}");
    assert!(!project.path().join("made").exists());
}

#[test]
fn safe_mode_runs_no_hooks() {
    let project = project();
    write_user_file(&project, "hooks.yaml", &command_hook("session_start", "a", "touch made"));
    assert_eq!(json_of(&project, &["--safe", "hooks", "list"])["hooks"], json!([]));
}

#[test]
fn hooks_test_shows_each_answer_and_the_outcome() {
    let project = project();
    write_user_file(
        &project,
        "hooks.yaml",
        "hooks:\n  pre_tool_use:\n    \
         - {name: other, type: command, command: 'exit 1', match: {tool: Write}}\n    \
         - {name: guard, type: command, command: 'exit 1', match: {tool_input: {command: '*rm*'}}, \
         message: no rm here}\n",
    );
    let args = ["hooks", "test", "pre_tool_use", "--input", "{\"command\": \"rm x\"}"];
    let tried = json_of(&project, &args);
    assert_eq!(tried["event"], "pre_tool_use");
    let guard = &tried["hooks"][1];
    assert_eq!((&guard["name"], &guard["type"]), (&json!("guard"), &json!("command")));
    assert_eq!(tried["hooks"][0]["outcome"], "no match");
    assert_eq!(tried["result"], json!({"action": "block", "message": "no rm here"}));
    let fine = json_of(&project, &["hooks", "test", "pre_tool_use"]);
    assert_eq!(fine["result"], "no_hooks");
}

#[test]
fn unknown_event_lists_the_known_ones() {
    let run = project().brynhild(&["hooks", "test", "before_lunch", "--json"]);
    assert_eq!(code(&run), Some(1));
    assert!(run.json()["error"].as_str().unwrap().contains("before_lunch"));
    assert_eq!(run.json()["valid_events"].as_array().unwrap().len(), 12);
    let run = project().brynhild(&["hooks", "test", "error", "--input", "[]"]);
    assert_eq!(code(&run), Some(2));
}

#[test]
fn hooks_validate_reports_lines() {
    let project = project();
    let bad = "hooks:\n  pre_tool_us:\n    - {name: a, type: command, command: x}\n  error:\n    \
               - {name: b, type: command}\n    - {name: c, type: command, command: x}\n";
    project.file("bad.yaml", bad);
    let run = project.brynhild(&["hooks", "validate", "bad.yaml"]);
    assert_eq!(code(&run), Some(1));
    assert!(run.stderr.contains("bad.yaml: line 2: there is no event `pre_tool_us`"), "{run}");
    assert!(run.stderr.contains("did you mean `pre_tool_use`?"), "{run}");
    assert!(run.stderr.contains("line 5: this hook is left out: it has no `command`"), "{run}");
    let run = project.brynhild(&["hooks", "validate", "bad.yaml", "--json"]);
    let result = &run.json()["results"][0];
    assert_eq!((&result["valid"], &result["hooks_count"]), (&json!(false), &json!(1)));
    let run = project.brynhild(&["hooks", "validate", "none.yaml", "--json"]);
    assert_eq!((code(&run), &run.json()["results"][0]["exists"]), (Some(1), &json!(false)));
    write_user_file(&project, "hooks.yaml", &command_hook("error", "a", "x"));
    let run = project.brynhild(&["hooks", "validate"]);
    run.success();
    assert!(run.stdout.contains("hooks.yaml: valid, 1 hooks"), "{run}");
}

#[test]
fn plugin_hook_writes_only_its_own_data() {
    let project = project();
    let secret = project.home().join("secret");
    fs::write(&secret, "s").unwrap();
    let command = format!(
        "echo kept > $BRYNHILD_PLUGIN_DATA/kept; touch made 2>/dev/null && echo wrote; \
         cat {} 2>/dev/null && echo read; cat readable; exit 1",
        secret.display()
    );
    project.file("readable", "workspace");
    let root = plugin(&project, "tidy", &command_hook("pre_tool_use", "a", &command));
    let tried = json_of(&project, &["hooks", "test", "pre_tool_use"]);
    assert_eq!(tried["result"]["message"], "workspace", "{tried:#}");
    let data = project.config_directory().join("plugin-data/tidy/kept");
    assert_eq!(fs::read_to_string(data).unwrap(), "kept\n");
    assert!(!project.path().join("made").exists());
    assert!(root.exists());
}

#[test]
fn hook_grant_applies_except_in_read_only_mode() {
    let project = project();
    plugin(&project, "tidy", &command_hook("session_start", "a", "touch made"));
    project.config("plugins:\n  tidy:\n    sandbox:\n      write: ['.']\n");
    project.brynhild(&["--mode", "read-only", "hooks", "test", "session_start"]).success();
    assert!(!project.path().join("made").exists());
    project.brynhild(&["hooks", "test", "session_start"]).success();
    assert!(project.path().join("made").exists());
}

#[test]
fn user_hook_runs_in_the_workspace() {
    let project = project();
    write_user_file(
        &project,
        "hooks.yaml",
        "hooks:\n  session_start:\n    - {name: a, type: script, script: hooks/a.py}\n    \
         - {name: b, type: script, script: b.py}\n",
    );
    write_user_file(&project, "hooks/a.py", "import helper\nhelper.touch('made')\n");
    write_user_file(&project, "hooks/helper.py", "def touch(name):\n    open(name, 'w').close()\n");
    write_user_file(&project, "b.py", "open('also', 'w').close()\n");
    let run = project.brynhild(&["hooks", "test", "session_start"]);
    run.success();
    assert!(project.path().join("made").exists(), "{run}");
    assert!(project.path().join("also").exists(), "{run}");
}

#[test]
fn hook_sees_no_user_keys() {
    let project = project().env("OPENROUTER_API_KEY", "sk-or-1234567890");
    write_user_file(&project, "hooks.yaml", &command_hook("pre_tool_use", "a", "env; exit 1"));
    let tried = json_of(&project, &["hooks", "test", "pre_tool_use"]);
    let seen = tried["result"]["message"].as_str().unwrap();
    assert!(seen.contains("BRYNHILD_EVENT=pre_tool_use"), "{seen}");
    assert!(!seen.contains("sk-or"), "{seen}");
}

#[test]
fn prompt_hook_uses_its_model() {
    let server = ModelServer::start([Reply::text("{\"safe\": false, \"reason\": \"no\"}")]);
    let project = project_with(&server);
    write_user_file(
        &project,
        "hooks.yaml",
        "hooks:\n  pre_message:\n    - name: judge\n      type: prompt\n      model: small\n      \
         prompt: 'Is this fine? {{message}}'\n",
    );
    let tried = json_of(&project, &["hooks", "test", "pre_message", "--message", "hello"]);
    assert_eq!(tried["result"], json!({"action": "block", "message": "no"}));
    let request = &server.chats()[0].body;
    assert_eq!(request["model"], "small");
    assert_eq!(request["messages"], json!([{"role": "user", "content": "Is this fine? hello"}]));
    let limit = request.get("max_tokens").or(request.get("max_completion_tokens"));
    assert_eq!(limit, Some(&json!(500)));
}

fn example(name: &str) -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugins").join(name);
    directory.canonicalize().unwrap().display().to_string()
}

#[test]
fn example_guard_refuses_only_forced_pushes() {
    let project = project();
    let guard = example("force-guard");
    let result = |command: &str| {
        let input = json!({"command": command}).to_string();
        let args = ["--plugin-dir", &guard, "hooks", "test", "pre_tool_use", "--input", &input];
        json_of(&project, &args)["result"]["action"].clone()
    };
    assert_eq!(result("git push --force origin main"), "block");
    for command in
        ["git push -f", "git push origin +main", "git clean --force", "git -C x push -uf"]
    {
        assert_eq!(result(command), "block", "{command}");
    }
    assert_eq!(result("git push --force-with-lease"), "continue");
    assert_eq!(result("git log"), "continue");
    assert_eq!(result("rm -f x"), Value::Null);
}

#[test]
fn example_log_hook_writes_a_line_per_call() {
    let project = project();
    let log = example("tool-log");
    json_of(&project, &["--plugin-dir", &log, "hooks", "test", "post_tool_use"]);
    let kept = project.config_directory().join("plugin-data/tool-log/tools.log");
    assert_eq!(fs::read_to_string(kept).unwrap(), "test-session Bash success=true\n");
}

#[test]
fn documented_hook_files_are_valid() {
    let docs = include_str!("../../../../docs/extend/hooks.md");
    let project = project();
    let mut count = 0;
    for block in docs.split("```yaml\n").skip(1) {
        let text = block.split("```").next().unwrap();
        project.file("hooks.yaml", text);
        for line in text.lines().filter_map(|line| line.trim().strip_prefix("script: ")) {
            project.file(line, "");
        }
        let run = project.brynhild(&["hooks", "validate", "hooks.yaml"]);
        assert_eq!(code(&run), Some(0), "{text}\n{run}");
        count += 1;
    }
    assert!(count >= 4, "{count}");
}

#[test]
fn plugin_hook_home_persists_between_runs() {
    let project = project();
    let count = "mkdir -p ~/.homer && echo x >> ~/.homer/n && wc -l < ~/.homer/n >&2; exit 1";
    let script = "import os, sys\nprint(len(open(os.path.expanduser('~/.homer/n')).readlines()), \
                  file=open(os.path.expanduser('~/seen'), 'w'))\n";
    let hooks = command_hook("pre_tool_use", "count", count)
        + "  post_tool_use:\n    - {name: see, type: script, script: see.py}\n";
    let root = plugin(&project, "homer", &hooks);
    fs::write(root.join("see.py"), script).unwrap();
    for count in ["1", "2"] {
        let tried = json_of(&project, &["hooks", "test", "pre_tool_use"]);
        assert_eq!(tried["result"]["message"], count, "{tried}");
    }
    json_of(&project, &["hooks", "test", "post_tool_use"]);
    let seen = project.config_directory().join("plugin-data/homer/home/seen");
    assert_eq!(fs::read_to_string(seen).unwrap(), "2\n");
}
