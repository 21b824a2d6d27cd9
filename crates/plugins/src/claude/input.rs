//! The standard input of a handler, with Claude Code's names of tools, arguments and results.

use std::ops::Range;
use std::path::Path;

use contract::hook::{HookContext, ResultView};
use contract::id::CallId;
use contract::policy::Mode;
use contract::tool::ToolOutput;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::event::Event;

pub(crate) fn tool_name(tool: &str) -> &str {
    if tool == "LearnSkill" { "Skill" } else { tool }
}

pub(crate) fn tool_names(tool: &str) -> Vec<&str> {
    match tool {
        "LearnSkill" => vec!["Skill", tool],
        "Task" => vec!["Task", "Agent"],
        _ => vec![tool],
    }
}

pub(crate) fn arguments(args: &Value, cwd: &Path) -> Value {
    let mut args = args.clone();
    for key in ["file_path", "notebook_path", "path"] {
        let Some(Value::String(path)) = args.get_mut(key) else { continue };
        if !path.starts_with('~') && !path.is_empty() {
            *path = cwd.join(path.as_str()).display().to_string();
        }
    }
    args
}

fn permission_mode(mode: Mode) -> &'static str {
    match mode {
        Mode::ReadOnly => "plan",
        Mode::Ask | Mode::Normal => "default",
        Mode::Yolo => "bypassPermissions",
    }
}

pub(crate) fn common(
    event: Event,
    context: &HookContext,
    transcript: Option<&Path>,
    mode: Mode,
) -> Map<String, Value> {
    let mut input = Map::new();
    let mut set = |key: &str, value: Value| {
        input.insert(key.to_owned(), value);
    };
    set("session_id", context.session.as_str().into());
    let transcript = transcript.map(|path| path.display().to_string()).unwrap_or_default();
    set("transcript_path", transcript.into());
    set("cwd", context.cwd.display().to_string().into());
    set("permission_mode", permission_mode(mode).into());
    set("hook_event_name", event.name().into());
    if let Some(within) = &context.within {
        set("agent_id", within.call.as_str().into());
        set("agent_type", within.agent.as_str().into());
    }
    input
}

pub(crate) fn of_call(id: &CallId, tool: &str, args: &Value, cwd: &Path) -> Map<String, Value> {
    let mut input = Map::new();
    input.insert("tool_name".to_owned(), tool_name(tool).into());
    input.insert("tool_input".to_owned(), arguments(args, cwd));
    input.insert("tool_use_id".to_owned(), id.as_str().into());
    input
}

pub(crate) fn of_result(result: ResultView<'_>, cwd: &Path) -> Map<String, Value> {
    let mut input = of_call(result.call.id, result.call.tool, result.call.args, cwd);
    let milliseconds = u64::try_from(result.duration.as_millis()).unwrap_or(u64::MAX);
    input.insert("duration_ms".to_owned(), milliseconds.into());
    let output = result.output;
    if output.success {
        input.insert("tool_response".to_owned(), response(result, cwd));
    } else {
        let error = output.error.clone().unwrap_or_else(|| output.for_model());
        input.insert("error".to_owned(), error.into());
        // Hooks are not asked about an interrupted call.
        input.insert("is_interrupt".to_owned(), false.into());
    }
    input
}

fn response(result: ResultView<'_>, cwd: &Path) -> Value {
    let output = result.output;
    let args = arguments(result.call.args, cwd);
    let path = args.get("file_path").cloned().unwrap_or_default();
    match result.call.tool {
        "Bash" => {
            let (stdout, stderr) = streams(output).unwrap_or((&output.output, ""));
            json!({"stdout": stdout, "stderr": stderr, "interrupted": false, "isImage": false})
        }
        "Write" | "Edit" => json!({"filePath": path, "success": true}),
        "Read" => {
            json!({"type": "text", "file": {"filePath": path, "content": output.output}})
        }
        _ => json!({"success": true, "output": output.output}),
    }
}

/// None unless the tool marks the parts of its output and no hook has replaced it.
fn streams(output: &ToolOutput) -> Option<(&str, &str)> {
    let range = |stream: &str| {
        let (from, to) = Deserialize::deserialize(output.facts.get(stream)?).ok()?;
        Some::<Range<usize>>(from..to)
    };
    let (stdout, stderr) = (range("stdout")?, range("stderr")?);
    let is_whole = stderr.end == output.output.len();
    is_whole.then(|| output.output.get(stdout).zip(output.output.get(stderr))).flatten()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::hooks::tests::call as call_of;

    #[test]
    fn paths_are_absolute_and_results_have_the_shape_of_their_tool() {
        let args = json!({"file_path": "a.txt", "content": "x"});
        let call = call_of("Write", &args);
        let output = ToolOutput::success("ok");
        let view = ResultView { call, output: &output, duration: Duration::from_millis(3) };
        let input = of_result(view, Path::new("/w"));
        assert_eq!(input["tool_use_id"], "c1");
        assert_eq!(input["tool_input"]["file_path"], "/w/a.txt");
        assert_eq!(input["tool_response"], json!({"filePath": "/w/a.txt", "success": true}));
        assert_eq!(input["duration_ms"], 3);
        let args = json!({"command": "x"});
        let call = call_of("Bash", &args);
        let printed = |text: &str, facts: &[(&str, Value)]| {
            let mut output = ToolOutput::success(text);
            output.facts.extend(facts.iter().map(|(name, it)| ((*name).to_owned(), it.clone())));
            let view = ResultView { call, output: &output, duration: Duration::ZERO };
            let response = of_result(view, Path::new("/w"))["tool_response"].clone();
            ["stdout", "stderr"].map(|stream| response[stream].as_str().unwrap().to_owned())
        };
        let facts = [("stdout", json!([0, 4])), ("stderr", json!([5, 8]))];
        assert_eq!(printed("out\n|err", &facts), ["out\n", "err"]);
        let forged = "a\n--- stderr ---\nb";
        assert_eq!(printed(forged, &[]), [forged, ""]);
        let changed = "somebody wrote something else";
        assert_eq!(printed(changed, &facts), [changed, ""]);
        let failed = ToolOutput::failure("no");
        let view = ResultView { call, output: &failed, duration: Duration::ZERO };
        let input = of_result(view, Path::new("/w"));
        assert_eq!((&input["error"], &input["is_interrupt"]), (&json!("no"), &json!(false)));
    }
}
