//! Hooks that crash, hang, flood and talk nonsense.

use contract::hook::{OnFailure, ToolVerdict};
use serde_json::json;

use super::call;
use super::fixture::Rig;

async fn failure(script: &str) -> String {
    let rig = Rig::with("pre_tool_use", "type: script\nscript: s.py\non_failure: ask");
    rig.write("config/s.py", script);
    let args = json!({});
    let call = call("Bash", &args);
    let hook = rig.hook();
    assert_eq!(hook.on_failure(), OnFailure::Ask);
    hook.before_tool(&rig.context(), call).await.unwrap_err().to_string()
}

#[tokio::test]
async fn invalid_script_answer_is_one_message() {
    for (script, words) in [
        ("import sys; sys.exit('boom')", "ended with exit code 1: boom"),
        ("raise ValueError('x')", "ValueError: x"),
        ("print('hello')", "not JSON"),
        ("print('[1]')", "answered with a list"),
        ("print('{\"modified_input\": 5}')", "`modified_input` as a number"),
        ("print('x' * 3_000_000)", "printed more than an answer may have"),
    ] {
        let said = failure(script).await;
        assert!(said.contains(words), "{script}: {said}");
    }
}

#[tokio::test]
async fn missing_script_is_reported_with_its_path() {
    let rig = Rig::with("pre_tool_use", "type: script\nscript: gone.py");
    let args = json!({});
    let call = call("Bash", &args);
    let error = rig.hook().before_tool(&rig.context(), call).await.unwrap_err().to_string();
    let places = [rig.path("config/gone.py"), rig.path("project/gone.py")];
    for place in places {
        assert!(error.contains(&place.display().to_string()), "{error}");
    }
}

#[tokio::test]
async fn unknown_action_continues_with_a_notice() {
    let rig = Rig::with("pre_tool_use", "type: script\nscript: s.py");
    rig.write("config/s.py", "print('{\"action\": \"explode\"}')");
    let args = json!({});
    let call = call("Bash", &args);
    let advice = rig.hook().before_tool(&rig.context(), call).await.unwrap();
    assert_eq!(advice.verdict, ToolVerdict::Proceed);
    assert!(rig.notices()[0].contains("the action `explode` is unknown"));
}

#[tokio::test]
async fn unknown_action_of_a_required_guard_fails() {
    let rig = Rig::with("pre_tool_use", "type: script\nscript: s.py\non_failure: block");
    rig.write("config/s.py", "print('{\"action\": \"Block\"}')");
    let args = json!({});
    let call = call("Bash", &args);
    let error = rig.hook().before_tool(&rig.context(), call).await.unwrap_err().to_string();
    assert!(error.contains("the action `Block` is not known"), "{error}");
    assert!(rig.notices().is_empty());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn late_hook_is_killed_with_its_children() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    for (then, blocks) in [("block", true), ("continue", false)] {
        let entry = format!(
            "type: command\ncommand: exec 9> alive; sleep 600 & sleep 600\n\
             timeout: {{seconds: 0.5, on_timeout: {then}}}"
        );
        let rig = Rig::with("pre_tool_use", &entry);
        let alive = rig.path("project/alive");
        mknodat(CWD, &alive, FileType::Fifo, Mode::RWXU, 0).unwrap();
        // Reading ends when the last writer is closed.
        let ended = tokio::task::spawn_blocking(move || std::fs::read(alive).unwrap());
        let args = json!({});
        let call = call("Bash", &args);
        let verdict = rig.hook().before_tool(&rig.context(), call).await.unwrap().verdict;
        let text = "Hook 'test' timed out after 0.5s";
        if blocks {
            assert_eq!(verdict, ToolVerdict::Block(text.to_owned()));
        } else {
            assert_eq!(verdict, ToolVerdict::Proceed);
            assert_eq!(rig.notices(), [format!("{text} (global); the work goes on")]);
        }
        assert!(ended.await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn flood_of_hook_output_is_bounded() {
    let entry = "type: command\ncommand: head -c 50000000 /dev/zero; echo first >&2; exit 1";
    let rig = Rig::with("pre_tool_use", entry);
    let args = json!({});
    let call = call("Bash", &args);
    let verdict = rig.hook().before_tool(&rig.context(), call).await.unwrap().verdict;
    assert_eq!(verdict, ToolVerdict::Block("first".to_owned()));
}

#[tokio::test]
async fn hook_that_ignores_its_input_does_not_block() {
    let rig = Rig::with("pre_tool_use", "type: command\ncommand: exit 2");
    let args = json!({"content": "x".repeat(5_000_000)});
    let call = call("Write", &args);
    let verdict = rig.hook().before_tool(&rig.context(), call).await.unwrap().verdict;
    assert!(matches!(verdict, ToolVerdict::Answer(_)));
}

#[tokio::test]
async fn background_process_does_not_delay_the_hook() {
    let rig = Rig::with("pre_tool_use", "type: command\ncommand: sleep 600 & exit 0");
    let args = json!({});
    let call = call("Bash", &args);
    let verdict = rig.hook().before_tool(&rig.context(), call).await.unwrap().verdict;
    assert_eq!(verdict, ToolVerdict::Proceed);
}
