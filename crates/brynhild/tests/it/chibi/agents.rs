//! Events of delegated agents for hooks of chibi plugins.

use serde_json::{Value, json};
use testkit::Reply;

use super::hooks::{hook_payloads, hooked, playing};

#[test]
fn hook_is_notified_of_delegated_work() {
    let task = |agent: &str| {
        Reply::calls([(
            "Task",
            json!({"description": "d", "prompt": "Look", "subagent_type": agent}),
        )])
    };
    let replies = [
        task("critic"),
        Reply::text("seen"),
        task("general-purpose"),
        Reply::text("seen"),
        Reply::text("done"),
    ];
    let (project, _server) = playing(replies);
    let directory = project.config_directory().join("agents");
    std::fs::create_dir_all(&directory).unwrap();
    let text = "---\nname: critic\ndescription: Finds faults\n---\nFind what is wrong.\n";
    std::fs::write(directory.join("critic.md"), text).unwrap();
    hooked(&project, "watch", &["pre_spawn_agent", "post_spawn_agent"], &json!({}));
    project.brynhild(&["chat", "--yes", "--model", "test-model", "go"]).success();
    let told: Vec<Value> =
        hook_payloads(&project, "watch").into_iter().map(|(_, payload)| payload).collect();
    assert_eq!(told.len(), 4, "{told:?}");
    assert_eq!(told[0]["system_prompt"], "Find what is wrong.");
    assert_eq!((&told[0]["input"], &told[0]["model"]), (&json!("Look"), &json!("test-model")));
    assert_eq!(told[1]["system_prompt"], told[0]["system_prompt"]);
    assert_eq!(
        (&told[2]["system_prompt"], &told[2]["model"]),
        (&Value::Null, &json!("test-model"))
    );
}
