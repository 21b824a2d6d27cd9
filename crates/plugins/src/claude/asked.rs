//! What the words of handlers come to in a conversation.

use async_trait::async_trait;
use contract::hook::{
    Advice, CallView, CompactCause, CompactVerdict, CompactView, Ending, Hook, HookError, Moment,
    Occasion, OutputVerdict, ResultView, Scene, StopVerdict, ToolVerdict, WordsVerdict,
};
use contract::message::ToolCall;
use serde_json::{Map, Value, json};

use super::decision::Said;
use super::event::Event;
use super::hook::{Handlers, Happening};
use super::input;

/// An object's fields.
fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// The agent whose conversation a scene belongs to, as matchers know it.
fn agent(scene: &Scene) -> &str {
    scene.within.as_ref().map_or("", |within| within.agent.as_str())
}

impl Handlers {
    /// Tells people of a refusal that changes nothing.
    fn tell_refusal(&self, event: Event, said: &Said) {
        for why in said.block.iter().chain(&said.stop) {
            self.tell(&format!("a hook of {} says: {why}", event.name()));
        }
    }

    /// The events that an occasion is, each with what its matcher sees and what it says.
    fn told<'a>(&self, scene: &'a Scene, what: &'a Occasion) -> Vec<(Event, &'a str, Value)> {
        let began = |source: &'static str| (Event::SessionStart, source, json!({"source": source}));
        match what {
            Occasion::SessionStarted => vec![began(self.shared.settings.source)],
            Occasion::SessionEnded => {
                vec![(Event::SessionEnd, "other", json!({"reason": "other"}))]
            }
            Occasion::Clearing { .. } => {
                vec![(Event::SessionEnd, "clear", json!({"reason": "clear"}))]
            }
            Occasion::Cleared => vec![began("clear")],
            Occasion::AgentStarted => vec![(Event::SubagentStart, agent(scene), json!({}))],
            Occasion::Failed { error, kind } => {
                let extra = json!({"error": kind, "error_details": error});
                vec![(Event::StopFailure, kind.as_str(), extra)]
            }
            Occasion::Asking { tool } => {
                let tool = input::tool_name(tool);
                let message = format!("Brynhild needs your permission to use {tool}");
                let kind = "permission_prompt";
                let extra = json!({"message": message, "notification_type": kind});
                vec![(Event::Notification, kind, extra)]
            }
            Occasion::BatchEnded { calls } => {
                let call = |call: &ToolCall| {
                    let view = CallView { tool: &call.name, args: &call.args };
                    Value::Object(input::of_call(view, &scene.cwd))
                };
                let calls: Vec<Value> = calls.iter().map(call).collect();
                vec![(Event::PostToolBatch, "", json!({"tool_calls": calls}))]
            }
            Occasion::Compacted { is_asked_for, summary, .. } => {
                let trigger = if *is_asked_for { "manual" } else { "auto" };
                let extra = json!({"trigger": trigger, "compact_summary": summary});
                vec![(Event::PostCompact, trigger, extra), began("compact")]
            }
            Occasion::OutputStored { .. } => Vec::new(),
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

    async fn occasion(&self, scene: &Scene, what: &Occasion) -> Result<Advice<()>, HookError> {
        let mut injected = Vec::new();
        for (event, name, extra) in self.told(scene, what) {
            let happening = Happening { event, scene, names: vec![name], input: fields(extra) };
            let said = self.hear(happening).await;
            self.tell_refusal(event, &said);
            injected.extend(said.inject());
        }
        let inject = (!injected.is_empty()).then(|| injected.join("\n\n"));
        Ok(Advice { verdict: (), inject })
    }

    async fn before_prompt(
        &self,
        scene: &Scene,
        text: &str,
    ) -> Result<Advice<WordsVerdict>, HookError> {
        if scene.within.is_some() {
            // The words that an agent is given are no person's.
            return Ok(Advice::default());
        }
        let event = Event::UserPromptSubmit;
        let input = fields(json!({"prompt": text}));
        let said = self.hear(Happening { event, scene, names: Vec::new(), input }).await;
        let inject = said.inject();
        let verdict = said.block.or(said.stop).map_or(WordsVerdict::Keep, WordsVerdict::Block);
        Ok(Advice { verdict, inject })
    }

    async fn before_tool(
        &self,
        scene: &Scene,
        call: CallView<'_>,
    ) -> Result<Advice<ToolVerdict>, HookError> {
        let said = self
            .hear(Happening {
                event: Event::PreToolUse,
                scene,
                names: input::tool_names(call.tool),
                input: input::of_call(call, &scene.cwd),
            })
            .await;
        let inject = said.inject();
        let verdict = if let Some(why) = said.block.or(said.stop) {
            ToolVerdict::Block(why)
        } else if let Some(why) = said.ask {
            // A person is asked about the call as it was made.
            ToolVerdict::Ask(why)
        } else {
            said.updated_input.map_or(ToolVerdict::Proceed, ToolVerdict::Rewrite)
        };
        Ok(Advice { verdict, inject })
    }

    async fn after_tool(
        &self,
        scene: &Scene,
        result: ResultView<'_>,
    ) -> Result<Advice<OutputVerdict>, HookError> {
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
        if let Some(why) = said.stop.take() {
            self.tell(&format!("a hook of {} wants the work to end: {why}", event.name()));
            said.context.push(format!("Stop working here: {why}"));
        }
        let inject = said.inject();
        let verdict = said.updated_output.map_or(OutputVerdict::Keep, OutputVerdict::Replace);
        Ok(Advice { verdict, inject })
    }

    async fn before_compact(
        &self,
        scene: &Scene,
        history: CompactView<'_>,
    ) -> Result<Advice<CompactVerdict>, HookError> {
        let event = Event::PreCompact;
        let (trigger, instructions) = match history.cause {
            CompactCause::Person { instructions } => ("manual", instructions.unwrap_or_default()),
            CompactCause::Length => ("auto", ""),
        };
        let input = fields(json!({"trigger": trigger, "custom_instructions": instructions}));
        let said = self.hear(Happening { event, scene, names: vec![trigger], input }).await;
        self.tell_refusal(event, &said);
        Ok(Advice { verdict: CompactVerdict::default(), inject: said.inject() })
    }

    async fn before_stop(
        &self,
        scene: &Scene,
        ending: Ending<'_>,
    ) -> Result<Advice<StopVerdict>, HookError> {
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
            return Ok(Advice::default());
        }
        let context = said.inject();
        let verdict = said.block.or(context).map_or(StopVerdict::End, StopVerdict::GoOn);
        Ok(verdict.into())
    }
}
