//! What the words of handlers come to in a conversation.

use async_trait::async_trait;
use contract::hook::{
    Advice, CallView, CompactVerdict, Ending, Hook, HookError, Moment, Occasion, OutputVerdict,
    ResultView, Scene, StopVerdict, ToolVerdict, WordsVerdict,
};
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

impl Handlers {
    /// Tells people of a refusal that changes nothing.
    fn tell_refusal(&self, event: Event, said: &Said) {
        for why in said.block.iter().chain(&said.stop) {
            self.tell(&format!("a hook of {} says: {why}", event.name()));
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
        let source = self.shared.settings.source;
        let (event, name, extra) = match what {
            Occasion::SessionStarted => (Event::SessionStart, source, json!({"source": source})),
            Occasion::SessionEnded => (Event::SessionEnd, "other", json!({"reason": "other"})),
            Occasion::Failed { error, kind } => {
                let extra = json!({"error": kind, "error_details": error});
                (Event::StopFailure, kind.as_str(), extra)
            }
        };
        let happening = Happening { event, scene, names: vec![name], input: fields(extra) };
        let said = self.hear(happening).await;
        self.tell_refusal(event, &said);
        Ok(Advice { verdict: (), inject: said.inject() })
    }

    async fn before_prompt(
        &self,
        scene: &Scene,
        text: &str,
    ) -> Result<Advice<WordsVerdict>, HookError> {
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
        _strategy: &str,
    ) -> Result<Advice<CompactVerdict>, HookError> {
        let event = Event::PreCompact;
        // Whether a person or the length asked for it is not told.
        let names = vec!["auto", "manual"];
        let input = fields(json!({"trigger": "auto", "custom_instructions": ""}));
        let said = self.hear(Happening { event, scene, names, input }).await;
        self.tell_refusal(event, &said);
        Ok(Advice { verdict: CompactVerdict::default(), inject: said.inject() })
    }

    async fn before_stop(
        &self,
        scene: &Scene,
        ending: Ending<'_>,
    ) -> Result<Advice<StopVerdict>, HookError> {
        let event = Event::Stop;
        let input = fields(json!({
            "stop_hook_active": ending.is_held,
            "last_assistant_message": ending.reply,
            "background_tasks": [],
            "session_crons": [],
        }));
        let said = self.hear(Happening { event, scene, names: Vec::new(), input }).await;
        if let Some(why) = &said.stop {
            self.tell(why);
            return Ok(Advice::default());
        }
        let context = said.inject();
        let verdict = said.block.or(context).map_or(StopVerdict::End, StopVerdict::GoOn);
        Ok(verdict.into())
    }
}
