//! Tries handlers on something that did not happen, one by one, so that people see what each says.

use std::path::Path;
use std::time::Duration;

use contract::hook::{CallView, HookContext, ResultView};
use contract::id::{CallId, SessionId};
use contract::policy::Decision;
use contract::tool::ToolOutput;
use serde_json::{Map, Value, json};

use super::Stage;
use super::event::Event;
use super::handlers::{Handler, Waiting};
use super::happening::Happening;
use super::hook::Handlers;
use super::input;
use crate::hooks::moment::Reply;

/// Something that did not happen.
#[derive(Clone, Debug)]
pub struct Pretended<'a> {
    /// The event, by the name that it has in its own system.
    pub event: &'a str,
    /// The directory it is said to happen in.
    pub cwd: &'a Path,
    /// The tool, for events of tools.
    pub tool: &'a str,
    /// Its input.
    pub input: &'a Value,
    /// The prompt, reply, output or error.
    pub text: &'a str,
}

impl Stage {
    /// What each handler of an event says, with those that what happened is not meant for; none
    /// where there is no such event.
    pub async fn rehearse(&self, what: &Pretended<'_>) -> Option<Vec<Value>> {
        let event = Event::of(what.event).ok()?;
        let session = SessionId::parse("rehearsal").ok()?;
        let scene = HookContext { session, cwd: what.cwd.to_owned(), within: None };
        let mut rows = Vec::new();
        for owner in &self.owners {
            for handler in owner.list.iter().filter(|handler| handler.event == event) {
                let outcome = tried(owner, handler, &scene, what).await;
                rows.push(json!({
                    "name": handler.title(),
                    "type": "claude",
                    "source": owner.title,
                    "matcher": handler.matcher.shown(),
                    "outcome": outcome,
                }));
            }
        }
        self.end();
        Some(rows)
    }
}

async fn tried(
    owner: &Handlers,
    handler: &Handler,
    scene: &HookContext,
    what: &Pretended<'_>,
) -> Value {
    let event = handler.event;
    let (names, input) = happening(event, scene, what);
    let is_meant = handler.matcher.fits(&names)
        && handler.condition.as_ref().is_none_or(|it| it.fits(&names, what.input));
    if !is_meant {
        return "no match".into();
    }
    // Whoever tries it wants to see its end.
    let alone = Handler { waiting: Waiting::ForEnd, ..handler.clone() };
    let alone = Handlers { list: vec![alone], ..owner.clone() };
    told(alone.gather(Happening { event, scene, names, input }).await)
}

/// What matchers and handlers see.
fn happening(
    event: Event,
    scene: &HookContext,
    what: &Pretended<'_>,
) -> (Vec<String>, Map<String, Value>) {
    let id = CallId("rehearsal".to_owned());
    let call = CallView {
        id: &id,
        tool: what.tool,
        args: what.input,
        original: what.input,
        actions: &[],
        decision: Decision::Ask,
    };
    let ended = |output: &ToolOutput| {
        let result = ResultView { call, output, duration: Duration::ZERO };
        input::of_result(result, &scene.cwd)
    };
    let of_call = || input::of_call(&id, what.tool, what.input, &scene.cwd);
    let (name, fields) = match event {
        Event::PreToolUse | Event::PermissionRequest => (None, of_call()),
        Event::PermissionDenied => {
            let mut fields = of_call();
            fields.insert("reason".to_owned(), what.text.into());
            (None, fields)
        }
        Event::PostToolUse => (None, ended(&ToolOutput::success(what.text.to_owned()))),
        Event::PostToolUseFailure => (None, ended(&ToolOutput::failure(what.text.to_owned()))),
        Event::SessionStart => (Some("startup"), object(json!({"source": "startup"}))),
        Event::SessionEnd => (Some("other"), object(json!({"reason": "other"}))),
        Event::UserPromptSubmit | Event::UserPromptExpansion => {
            (Some(""), object(json!({"prompt": what.text})))
        }
        Event::PreCompact | Event::PostCompact => {
            (Some("manual"), object(json!({"trigger": "manual", "custom_instructions": what.text})))
        }
        Event::Notification => (
            Some("permission_prompt"),
            object(json!({"message": what.text, "notification_type": "permission_prompt"})),
        ),
        Event::Stop | Event::SubagentStop | Event::SubagentStart => {
            let fields = json!({"stop_hook_active": false, "last_assistant_message": what.text});
            (Some(""), object(fields))
        }
        Event::StopFailure => (Some(""), object(json!({"error": what.text}))),
        Event::PostToolBatch => (Some(""), object(json!({"tool_calls": []}))),
    };
    let names = name.map_or_else(|| input::tool_names(what.tool), |name| vec![name]);
    (names.into_iter().map(str::to_owned).collect(), fields)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// What a handler says, as far as it says something.
fn told(said: Reply) -> Value {
    let context = said.inject();
    let lines = |lines: &[String]| (!lines.is_empty()).then(|| Value::from(lines.join("\n")));
    let parts = [
        ("failed", lines(&said.failures)),
        ("message", lines(&said.messages)),
        ("block", said.block.map(Value::from)),
        ("ask", said.ask.map(Value::from)),
        ("stop", said.stop.map(Value::from)),
        ("updated_input", said.input),
        ("updated_output", said.text.map(Value::from)),
        ("context", context.map(Value::from)),
    ];
    let said: Map<String, Value> =
        parts.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
    if said.is_empty() { "no objection".into() } else { said.into() }
}
