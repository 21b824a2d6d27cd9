//! What the words of handlers come to in a conversation.

use std::sync::PoisonError;

use async_trait::async_trait;
use contract::event::CallOutcome;
use contract::hook::{
    CallView, CompactCause, CompactVerdict, CompactView, Ending, Hook, HookContext, HookError,
    HookReply, Moment, Notification, ResultView, StopVerdict, TextVerdict, ToolVerdict,
    WordsVerdict,
};
use contract::message::ToolCall;
use contract::policy::Decision;
use serde_json::{Map, Value, json};

use super::decision::Said;
use super::event::Event;
use super::expansion::Expanded;
use super::hook::{Handlers, Happening};
use super::input;
use crate::typed::typed;

/// An object's fields.
fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// The agent whose conversation a scene belongs to, as matchers know it.
fn agent(scene: &HookContext) -> &str {
    scene.within.as_ref().map_or("", |within| within.agent.as_str())
}

/// What is said of a call that the model made.
fn made(call: &ToolCall, scene: &HookContext) -> Map<String, Value> {
    input::of_call(&call.id, &call.name, &call.args, &scene.cwd)
}

impl Handlers {
    /// Tells people of a refusal that changes nothing.
    fn tell_refusal(&self, event: Event, said: &Said) {
        if event.can_halt() {
            return;
        }
        for why in said.block.iter().chain(&said.stop) {
            self.tell(&format!("a hook of {} says: {why}", event.name()));
        }
    }

    /// What handlers say of the command that a prompt comes from; none for plain words.
    async fn expansion(&self, scene: &HookContext, prompt: &str) -> Option<Said> {
        let event = Event::UserPromptExpansion;
        if self.list.iter().all(|handler| handler.event != event) {
            return None;
        }
        let expansions = &self.shared.settings.expansions;
        let Expanded { name, args, source, .. } =
            expansions.behind(prompt, scene.session.as_str())?;
        let line = format!("/{name} {args}");
        let input = fields(json!({
            "expansion_type": "slash_command",
            "command_name": name,
            "command_args": args,
            "command_source": source,
            "prompt": line.trim_end(),
        }));
        Some(self.hear(Happening { event, scene, names: vec![&name], input }).await)
    }

    /// The events that an occasion is, each with what its matcher sees and what it says.
    fn told<'a>(
        &self,
        scene: &'a HookContext,
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
            Notification::AgentStarted => vec![(Event::SubagentStart, agent(scene), json!({}))],
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
                let mut extra = made(call, scene);
                extra.insert("reason".to_owned(), why.as_str().into());
                vec![(Event::PermissionDenied, input::tool_name(&call.name), extra.into())]
            }
            Notification::BatchEnded { calls, results } => {
                let call = |(call, result): (&ToolCall, &String)| {
                    let mut made = made(call, scene);
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

#[async_trait]
impl Hook for Handlers {
    fn name(&self) -> &str {
        &self.title
    }

    fn wants(&self, moment: Moment) -> bool {
        self.list.iter().any(|handler| handler.event.moment() == moment)
    }

    fn take_halt(&self) -> Option<String> {
        self.halt.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    async fn occasion(
        &self,
        scene: &HookContext,
        what: &Notification,
    ) -> Result<HookReply<()>, HookError> {
        let mut injected = Vec::new();
        for (event, name, extra) in self.told(scene, what) {
            let happening = Happening { event, scene, names: vec![name], input: fields(extra) };
            let mut said = self.hear(happening).await;
            self.tell_refusal(event, &said);
            if event == Event::PostToolBatch {
                said.block.take().into_iter().for_each(|why| self.halt(why));
            }
            injected.extend(said.block.take().filter(|_| event.can_halt()));
            injected.extend(said.inject());
        }
        let inject = (!injected.is_empty()).then(|| injected.join("\n\n"));
        Ok(HookReply { verdict: (), inject })
    }

    async fn before_prompt(
        &self,
        scene: &HookContext,
        text: &str,
    ) -> Result<HookReply<WordsVerdict>, HookError> {
        if scene.within.is_some() {
            // The words that an agent is given are no user's.
            return Ok(HookReply::default());
        }
        let mut said = self.expansion(scene, text).await.unwrap_or_default();
        if said.block.is_none() && said.stop.is_none() {
            let event = Event::UserPromptSubmit;
            let input = fields(json!({"prompt": typed(text)}));
            let happening = Happening { event, scene, names: Vec::new(), input };
            said = said.and(self.hear(happening).await);
        }
        let inject = said.inject();
        let verdict = said.block.or(said.stop).map_or(WordsVerdict::Keep, WordsVerdict::Block);
        Ok(HookReply { verdict, inject })
    }

    async fn before_tool(
        &self,
        scene: &HookContext,
        call: CallView<'_>,
    ) -> Result<HookReply<ToolVerdict>, HookError> {
        let happening = |event| Happening {
            event,
            scene,
            names: input::tool_names(call.tool),
            input: input::of_call(call.id, call.tool, call.args, &scene.cwd),
        };
        let mut said = self.hear(happening(Event::PreToolUse)).await;
        let is_asked = said.ask.is_some() || call.decision == Decision::Ask;
        if is_asked && said.block.is_none() && said.stop.is_none() {
            said = said.and(self.hear(happening(Event::PermissionRequest)).await);
        }
        let inject = said.inject();
        let verdict = if let Some(why) = said.block.or(said.stop) {
            ToolVerdict::Block(why)
        } else if let Some(why) = said.ask {
            // A user is asked about the call as it was made.
            ToolVerdict::Ask(why)
        } else {
            said.updated_input.map_or(ToolVerdict::Proceed, ToolVerdict::Rewrite)
        };
        Ok(HookReply { verdict, inject })
    }

    async fn after_tool(
        &self,
        scene: &HookContext,
        result: ResultView<'_>,
    ) -> Result<HookReply<TextVerdict>, HookError> {
        let is_success = result.output.success;
        let event = if is_success { Event::PostToolUse } else { Event::PostToolUseFailure };
        let mut said = self
            .hear(Happening {
                event,
                scene,
                names: input::tool_names(result.call.tool),
                input: input::of_result(result, &scene.cwd),
            })
            .await;
        said.context.extend(said.block.take());
        let inject = said.inject();
        let verdict = said.updated_output.map_or(TextVerdict::Keep, TextVerdict::Replace);
        Ok(HookReply { verdict, inject })
    }

    async fn before_compact(
        &self,
        scene: &HookContext,
        history: CompactView<'_>,
    ) -> Result<HookReply<CompactVerdict>, HookError> {
        let event = Event::PreCompact;
        let (trigger, instructions) = match history.cause {
            CompactCause::Person { instructions } => ("manual", instructions.unwrap_or_default()),
            CompactCause::Length => ("auto", ""),
        };
        let input = fields(json!({"trigger": trigger, "custom_instructions": instructions}));
        let said = self.hear(Happening { event, scene, names: vec![trigger], input }).await;
        let inject = said.inject();
        let refusal = said.block.or(said.stop);
        Ok(HookReply { verdict: CompactVerdict { refusal, ..CompactVerdict::default() }, inject })
    }

    async fn before_stop(
        &self,
        scene: &HookContext,
        ending: Ending<'_>,
    ) -> Result<HookReply<StopVerdict>, HookError> {
        let mut input = fields(json!({
            "stop_hook_active": ending.is_held,
            "last_assistant_message": ending.reply,
        }));
        let (event, names) = if scene.within.is_some() {
            (Event::SubagentStop, vec![agent(scene)])
        } else {
            input.extend(fields(json!({"background_tasks": [], "session_crons": []})));
            (Event::Stop, Vec::new())
        };
        let said = self.hear(Happening { event, scene, names, input }).await;
        if let Some(why) = &said.stop {
            self.tell(why);
            return Ok(HookReply::default());
        }
        let context = said.inject();
        let verdict = said.block.or(context).map_or(StopVerdict::End, StopVerdict::GoOn);
        Ok(verdict.into())
    }
}
