//! A try: the hooks of an event run as they would, on something that did not happen.

use std::path::Path;
use std::sync::Arc;

use contract::hook::OnFailure;
use serde_json::{Value, json};

use super::answer::{Action, Answer};
use super::context::{Context, tool_result};
use super::event::Event;
use super::yaml_hook::YamlHook;

/// Something that did not happen.
#[derive(Clone, Debug)]
pub struct Pretended<'a> {
    /// The event.
    pub event: Event,
    /// The directory it is said to happen in.
    pub cwd: &'a Path,
    /// The tool, for events of tools.
    pub tool: &'a str,
    /// Its input.
    pub input: &'a Value,
    /// The prompt, reply, output or error.
    pub text: &'a str,
}

/// What came of a try.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// Each hook that was asked: its name, its type, and what it answered.
    pub hooks: Vec<Value>,
    /// What all of it comes to; nothing where no hook was asked.
    pub result: Option<Value>,
}

/// Runs the hooks of an event, one after the other, on something that did not happen.
pub(crate) async fn rehearse(hooks: &[Arc<YamlHook>], what: &Pretended<'_>) -> Tried {
    let mut context = pretend(what);
    let mut tried = Tried { hooks: Vec::new(), result: None };
    let mut whole = Answer::default();
    for hook in hooks.iter().filter(|hook| hook.definition.event == what.event) {
        let answer = hook.answer(context.clone()).await;
        let mut row = json!({
            "name": hook.definition.name,
            "type": hook.definition.action.kind(),
            "source": hook.origin.title(),
        });
        let answer = match answer {
            Ok(None) => {
                row["outcome"] = "no match".into();
                tried.hooks.push(row);
                continue;
            }
            Ok(Some(answer)) => {
                row["outcome"] = answer.to_json();
                answer
            }
            Err(error) => {
                row["outcome"] = json!({"error": error.to_string()});
                failed(hook, &error.to_string())
            }
        };
        tried.hooks.push(row);
        merge(&mut whole, answer, &mut context);
        tried.result = Some(whole.to_json());
        if whole.action() != Action::Continue {
            break;
        }
    }
    tried
}

fn pretend(what: &Pretended<'_>) -> Context {
    let context = Context::new(what.event, "test-session", what.cwd);
    match what.event {
        Event::PluginInit | Event::PluginShutdown | Event::SessionStart | Event::SessionEnd => {
            context
        }
        Event::UserPromptSubmit | Event::PreMessage => context.with("message", what.text),
        Event::PostMessage => context.with("message", "").with("response", what.text),
        Event::PreToolUse => context.with("tool", what.tool).with("tool_input", what.input.clone()),
        Event::PostToolUse => {
            let result = json!({"success": true, "output": what.text, "error": null});
            let context = context.with("tool", what.tool);
            context.with("tool_input", what.input.clone()).with("tool_result", result)
        }
        Event::ContextBuild => {
            context.with("base_system_prompt", what.text).with("injections_so_far", json!([]))
        }
        Event::PreCompact => context.with("compaction_strategy", what.text),
        Event::Error => context.with("error", what.text).with("error_type", "test"),
    }
}

/// What a failure comes to.
fn failed(hook: &YamlHook, error: &str) -> Answer {
    match hook.definition.on_failure {
        OnFailure::Block | OnFailure::Ask if hook.definition.event.can_block() => {
            Answer::block(error)
        }
        OnFailure::Block | OnFailure::Ask | OnFailure::Continue => Answer::default(),
    }
}

/// Adds an answer to those before it, and shows later hooks what it changed.
fn merge(whole: &mut Answer, answer: Answer, context: &mut Context) {
    if let Some(input) = answer.input() {
        context.set("tool_input", input.clone());
    }
    for (name, field) in [("modified_message", "message"), ("modified_response", "response")] {
        if let Some(text) = answer.text(name) {
            context.set(field, text);
        }
    }
    if let Some(output) = answer.text("modified_output") {
        context.set("tool_result", tool_result(true, output, None));
    }
    whole.merge(answer);
}
