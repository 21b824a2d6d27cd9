//! Hooks hear of agents, and bind them.

use std::fs;

use serde_json::{Value, json};
use testkit::{Project, Reply};

use super::{bash, messages, playing, result, task};
use crate::has_bubblewrap;

/// Gives the user a plugin with these hooks, which find their own directory in `$CLAUDE_PLUGIN_DATA`.
fn plugin(project: &Project, hooks: &Value) {
    let root = project.config_directory().join("plugins/watch");
    fs::create_dir_all(root.join("hooks")).unwrap();
    fs::write(root.join("hooks/hooks.json"), json!({"hooks": hooks}).to_string()).unwrap();
}

fn handler(command: &str) -> Value {
    json!({"type": "command", "command": command})
}

#[test]
fn hook_blocks_agent_calls_and_gets_the_agent_name() {
    if !has_bubblewrap() {
        return;
    }
    let (project, server) = playing([
        task("scout", "work"),
        bash("echo x > made"),
        Reply::text("tried"),
        bash("echo y > own"),
        Reply::text("done"),
    ]);
    let hooks = "hooks:\n  pre_tool_use:\n    - name: guard\n      type: command\n      command: \
                 'echo \"not for $BRYNHILD_AGENT\" >&2; exit 1'\n      match: {tool: Bash, agent: \
                 scout}\n";
    fs::write(project.config_directory().join("hooks.yaml"), hooks).unwrap();
    project.brynhild(&["chat", "--yes", "go"]).success();
    assert!(!project.path().join("made").exists());
    let told = result(&server.chats()[2]);
    assert!(told.contains("not for scout") || told.contains("Blocked"), "{told}");
    assert_eq!(project.read("own"), "y\n");
}

#[test]
fn subagent_hooks_run_at_start_and_can_continue_an_agent() {
    if !has_bubblewrap() {
        return;
    }
    let (project, server) = playing([
        task("scout", "work"),
        Reply::text("first words"),
        Reply::text("better words"),
        Reply::text("done"),
    ]);
    let keep = "cat > $CLAUDE_PLUGIN_DATA/stop.json; if [ ! -e $CLAUDE_PLUGIN_DATA/held ]; then \
                touch $CLAUDE_PLUGIN_DATA/held; echo 'say it better' >&2; exit 2; fi";
    let begin = "cat > $CLAUDE_PLUGIN_DATA/start.json; echo '{\"hookSpecificOutput\": \
                 {\"hookEventName\": \"SubagentStart\", \"additionalContext\": \"be kind\"}}'";
    let other = json!([{"matcher": "spy", "hooks": [handler("touch $CLAUDE_PLUGIN_DATA/spy")]}]);
    let stop = json!([{"matcher": "scout", "hooks": [handler(keep)]}]);
    let prompts = "cat >> $CLAUDE_PLUGIN_DATA/prompts; echo >> $CLAUDE_PLUGIN_DATA/prompts";
    plugin(
        &project,
        &json!({
            "SubagentStart": [{"hooks": [handler(begin)]}, other[0]],
            "SubagentStop": stop,
            "Stop": [{"hooks": [handler("touch $CLAUDE_PLUGIN_DATA/main-stop")]}],
            "UserPromptSubmit": [{"hooks": [handler(prompts)]}],
        }),
    );
    project.brynhild(&["chat", "go"]).success();
    let chats = server.chats();
    assert!(messages(&chats[1]).iter().any(|(_, text)| text.contains("be kind")));
    assert!(messages(&chats[2]).last().unwrap().1.contains("say it better"));
    assert_eq!(result(&chats[3]), "better words");
    let data = project.config_directory().join("plugin-data/watch");
    let heard = |name: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(data.join(name)).unwrap()).unwrap()
    };
    let (start, stop) = (heard("start.json"), heard("stop.json"));
    assert_eq!((&start["agent_type"], &stop["agent_type"]), (&json!("scout"), &json!("scout")));
    assert_eq!(start["agent_id"], stop["agent_id"]);
    assert_eq!(stop["hook_event_name"], "SubagentStop");
    assert_eq!(stop["last_assistant_message"], "better words");
    assert_eq!(stop["stop_hook_active"], true);
    assert_ne!(stop["agent_transcript_path"], stop["transcript_path"]);
    assert!(data.join("main-stop").exists() && !data.join("spy").exists());
    let prompts = fs::read_to_string(data.join("prompts")).unwrap();
    assert_eq!(prompts.lines().count(), 1, "an agent's prompt is not a user's: {prompts}");
}
