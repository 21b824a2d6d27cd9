//! The events of Claude Code for an occurrence: names for matchers, input for handlers.

use contract::event::CallOutcome;
use contract::hook::{CompactCause, HookContext, Notification};
use contract::message::ToolCall;
use serde_json::{Map, Value, json};

use super::event::Event;
use super::expansion::Expanded;
use super::hook::Handlers;
use super::input;
use crate::hooks::moment::Occurrence;

#[derive(Clone)]
pub(crate) struct ClaudeEvent<'a> {
    pub(crate) event: Event,
    pub(crate) context: &'a HookContext,
    pub(crate) names: Vec<String>,
    pub(crate) input: Map<String, Value>,
}

fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn agent(context: &HookContext) -> &str {
    context.within.as_ref().map_or("", |within| within.agent.as_str())
}

fn made(call: &ToolCall, context: &HookContext) -> Map<String, Value> {
    input::of_call(&call.id, &call.name, &call.args, &context.cwd)
}

impl Handlers {
    pub(crate) fn claude_events<'a>(
        &self,
        context: &'a HookContext,
        what: Occurrence<'_>,
    ) -> Vec<ClaudeEvent<'a>> {
        let one = |event, names: &[&str], input: Map<String, Value>| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            ClaudeEvent { event, context, names, input }
        };
        match what {
            Occurrence::Notification(what) => {
                let told = self.told(context, what).into_iter();
                told.map(|(event, name, extra)| one(event, &[name], fields(extra))).collect()
            }
            // The words that an agent is given are no user's.
            Occurrence::Prompt(_) if context.within.is_some() => Vec::new(),
            Occurrence::Prompt(text) => {
                let submitted = fields(json!({"prompt": text}));
                let mut all: Vec<_> = self.expansion(context, text).into_iter().collect();
                all.push(one(Event::UserPromptSubmit, &[], submitted));
                all
            }
            Occurrence::Call(call) => {
                let names = input::tool_names(call.tool);
                let input = input::of_call(call.id, call.tool, call.args, &context.cwd);
                let events = [Event::PreToolUse, Event::PermissionRequest];
                events.map(|event| one(event, &names, input.clone())).into()
            }
            Occurrence::CallResult(result) => {
                let is_success = result.output.success;
                let event = if is_success { Event::PostToolUse } else { Event::PostToolUseFailure };
                let input = input::of_result(result, &context.cwd);
                vec![one(event, &input::tool_names(result.call.tool), input)]
            }
            Occurrence::Compaction(history) => {
                let (trigger, instructions) = match history.cause {
                    CompactCause::Person { instructions } => {
                        ("manual", instructions.unwrap_or_default())
                    }
                    CompactCause::Length => ("auto", ""),
                };
                let input = json!({"trigger": trigger, "custom_instructions": instructions});
                vec![one(Event::PreCompact, &[trigger], fields(input))]
            }
            Occurrence::TurnEnd(ending) => {
                let mut input = fields(json!({
                    "stop_hook_active": ending.is_held,
                    "last_assistant_message": ending.reply,
                }));
                if context.within.is_some() {
                    return vec![one(Event::SubagentStop, &[agent(context)], input)];
                }
                input.extend(fields(json!({"background_tasks": [], "session_crons": []})));
                vec![one(Event::Stop, &[], input)]
            }
            Occurrence::Message(_)
            | Occurrence::SystemPrompt(_)
            | Occurrence::Request(_)
            | Occurrence::ModelReply { .. } => Vec::new(),
        }
    }

    fn expansion<'a>(&self, context: &'a HookContext, prompt: &str) -> Option<ClaudeEvent<'a>> {
        let expansions = &self.shared.settings.expansions;
        let Expanded { name, args, source, .. } =
            expansions.behind(prompt, context.session.as_str())?;
        let line = format!("/{name} {args}");
        let input = fields(json!({
            "expansion_type": "slash_command",
            "command_name": name,
            "command_args": args,
            "command_source": source,
            "prompt": line.trim_end(),
        }));
        Some(ClaudeEvent { event: Event::UserPromptExpansion, context, names: vec![name], input })
    }

    fn told<'a>(
        &self,
        context: &'a HookContext,
        what: &'a Notification,
    ) -> Vec<(Event, &'a str, Value)> {
        let began = |source: &'static str| (Event::SessionStart, source, json!({"source": source}));
        match what {
            Notification::SessionStarted => vec![began(self.shared.settings.source)],
            Notification::SessionEnded => {
                vec![(Event::SessionEnd, "other", json!({"reason": "other"}))]
            }
            Notification::Clearing { .. } => {
                vec![(Event::SessionEnd, "clear", json!({"reason": "clear"}))]
            }
            Notification::Cleared => vec![began("clear")],
            Notification::AgentStarted => vec![(Event::SubagentStart, agent(context), json!({}))],
            Notification::Failed { error, kind } => {
                let extra = json!({"error": kind, "error_details": error});
                vec![(Event::StopFailure, kind.as_str(), extra)]
            }
            Notification::Asking { tool } => {
                let tool = input::tool_name(tool);
                let message = format!("Brynhild needs your permission to use {tool}");
                let kind = "permission_prompt";
                let extra = json!({"message": message, "notification_type": kind});
                vec![(Event::Notification, kind, extra)]
            }
            Notification::CallRefused { call, outcome, why }
                if *outcome != CallOutcome::Invalid =>
            {
                let mut extra = made(call, context);
                extra.insert("reason".to_owned(), why.as_str().into());
                vec![(Event::PermissionDenied, input::tool_name(&call.name), extra.into())]
            }
            Notification::BatchEnded { calls, results } => {
                let call = |(call, result): (&ToolCall, &String)| {
                    let mut made = made(call, context);
                    made.insert("tool_response".to_owned(), result.as_str().into());
                    Value::Object(made)
                };
                let calls: Vec<Value> = calls.iter().zip(results).map(call).collect();
                vec![(Event::PostToolBatch, "", json!({"tool_calls": calls}))]
            }
            Notification::Compacted { is_asked_for, summary, .. } => {
                let trigger = if *is_asked_for { "manual" } else { "auto" };
                let extra = json!({"trigger": trigger, "compact_summary": summary});
                vec![(Event::PostCompact, trigger, extra), began("compact")]
            }
            Notification::OutputStored { .. } | Notification::CallRefused { .. } => Vec::new(),
        }
    }
}
