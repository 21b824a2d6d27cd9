//! A try: the hooks of an event run as they would, on something that did not happen.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use contract::event::CompactionStrategy;
use contract::hook::{
    CallView, CompactCause, CompactView, Ending, HookContext, Moment, Notification, OnFailure,
    ResultView,
};
use contract::id::{CallId, SessionId};
use contract::policy::Decision;
use contract::tool::ToolOutput;
use serde_json::{Value, json};

use super::answer::{Action, Answer};
use super::context::{Context, tool_result};
use super::event::Event;
use super::moment::Occurrence;
use super::yaml_hook::YamlHook;

#[derive(Clone, Copy, Debug)]
pub struct Pretended<'a> {
    /// The event, by its name in its dialect.
    pub event: &'a str,
    pub cwd: &'a Path,
    pub tool: &'a str,
    pub input: &'a Value,
    pub text: &'a str,
}

pub(crate) struct Rehearsal<'a> {
    what: Pretended<'a>,
    id: CallId,
    output: ToolOutput,
    notification: Notification,
}

impl<'a> Rehearsal<'a> {
    /// An occurrence with this output, if it is the end of a call, or this notification.
    pub(crate) fn new(what: Pretended<'a>, output: ToolOutput, notification: Notification) -> Self {
        Self { what, id: CallId("rehearsal".to_owned()), output, notification }
    }

    pub(crate) fn context(&self) -> Option<HookContext> {
        let session = SessionId::parse("test-session").ok()?;
        Some(HookContext { session, cwd: self.what.cwd.to_owned(), within: None })
    }

    /// The occurrence at a moment; none if nothing can be tried then.
    pub(crate) fn occurrence(&self, moment: Moment) -> Option<Occurrence<'_>> {
        let Pretended { tool, input, text, .. } = self.what;
        let call = CallView {
            id: &self.id,
            tool,
            args: input,
            original: input,
            actions: &[],
            decision: Decision::Ask,
        };
        let cause = CompactCause::Person { instructions: Some(text) };
        Some(match moment {
            Moment::Notification => Occurrence::Notification(&self.notification),
            Moment::BeforePrompt => Occurrence::Prompt(text),
            Moment::BeforeMessage => Occurrence::Message(text),
            Moment::BeforeRequest => Occurrence::SystemPrompt(text),
            Moment::BeforeSend => return None,
            Moment::AfterReply => Occurrence::ModelReply { prompt: "", reply: text },
            Moment::BeforeTool => Occurrence::Call(call),
            Moment::AfterTool => {
                let duration = Duration::ZERO;
                Occurrence::CallResult(ResultView { call, output: &self.output, duration })
            }
            Moment::BeforeCompact => {
                let strategy = match text {
                    "truncate" => CompactionStrategy::Truncate,
                    _ => CompactionStrategy::Summarize,
                };
                Occurrence::Compaction(CompactView { strategy, messages: 0, cause })
            }
            Moment::BeforeStop => Occurrence::TurnEnd(Ending { reply: text, is_held: false }),
        })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    pub hooks: Vec<Value>,
    /// All answers merged; none if no hook was asked.
    pub result: Option<Value>,
}

pub(crate) async fn rehearse(hooks: &[Arc<YamlHook>], event: Event, what: Pretended<'_>) -> Tried {
    let mut tried = Tried { hooks: Vec::new(), result: None };
    let Some(mut context) = pretend(event, what) else { return tried };
    let mut whole = Answer::default();
    for hook in hooks.iter().filter(|hook| hook.definition.event == event) {
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

fn pretend(event: Event, what: Pretended<'_>) -> Option<Context> {
    let Some(moment) = event.moment() else {
        return Some(Context::new(event, "test-session", what.cwd));
    };
    let notification = match event {
        Event::SessionStart => Notification::SessionStarted,
        Event::SessionEnd => Notification::SessionEnded,
        _ => Notification::Failed { error: what.text.to_owned(), kind: "test".to_owned() },
    };
    let rehearsal = Rehearsal::new(what, ToolOutput::success(what.text), notification);
    Context::of_occurrence(event, &rehearsal.context()?, rehearsal.occurrence(moment)?)
}

fn failed(hook: &YamlHook, error: &str) -> Answer {
    match hook.definition.on_failure {
        OnFailure::Block | OnFailure::Ask if hook.definition.event.can_block() => {
            Answer::block(error)
        }
        OnFailure::Block | OnFailure::Ask | OnFailure::Continue => Answer::default(),
    }
}

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
