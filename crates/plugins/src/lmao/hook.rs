//! The hooks of LMAO plugins: all those of one worker, asked together in its own order.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use contract::event::CallOutcome;
use contract::hook::{HookContext, HookError, Moment, Notification};
use contract::python::{PythonHost, SharedPlugin};
use serde::Deserialize;
use serde_json::{Value, json};

use super::facts::Facts;
use crate::hooks::moment::{Listener, Occurrence, Reply};

pub(super) struct LmaoHook {
    name: String,
    plugin: SharedPlugin,
    host: Arc<dyn PythonHost>,
    moments: Vec<Moment>,
    /// The files that must be loaded for all of them to be asked, each with its moments.
    guards: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Decided {
    block: Option<String>,
    answer: Option<String>,
    rewrite: Option<Value>,
    replace: Option<String>,
}

impl LmaoHook {
    pub(super) fn new(
        place: &str,
        plugin: SharedPlugin,
        host: Arc<dyn PythonHost>,
        facts: &Facts,
    ) -> Self {
        let name = format!("of the LMAO plugins in {place}");
        let (moments, guards) = (facts.moments.clone(), facts.guards.clone());
        Self { name, plugin, host, moments, guards }
    }

    async fn ask(&self, moment: &str, mut facts: Value) -> Result<Decided, HookError> {
        facts["moment"] = moment.into();
        let asked = self.guards.iter().filter(|(_, moments)| moments.iter().any(|it| it == moment));
        facts["guards"] = asked.map(|(file, _)| file.as_str()).collect();
        facts["mode"] = self.host.mode().as_str().into();
        let answer = self.host.ask(&self.plugin, "hook", facts).await;
        serde_json::from_value(answer.map_err(HookError)?)
            .map_err(|error| HookError(format!("it answered nonsense: {error}")))
    }
}

/// The name of a moment and what hooks read then; none if they do not hear of the occurrence.
fn payload(what: Occurrence<'_>) -> Option<(&'static str, Value)> {
    Some(match what {
        Occurrence::Notification(what) => ("occasion", notification(what)?),
        Occurrence::Request(request) => {
            let count = request.history.len();
            ("before_send", json!({"system": &*request.system, "messages": count}))
        }
        Occurrence::ModelReply { prompt, reply } => {
            ("after_reply", json!({"prompt": prompt, "reply": reply}))
        }
        Occurrence::Call(call) => ("before_tool", json!({"tool": call.tool, "args": call.args})),
        Occurrence::CallResult(result) => {
            let facts = json!({
                "tool": result.call.tool,
                "args": result.call.args,
                "output": result.output.for_model(),
                "success": result.output.success,
                "seconds": result.duration.as_secs_f64(),
            });
            ("after_tool", facts)
        }
        Occurrence::Compaction(history) => {
            ("before_compact", json!({"strategy": history.strategy}))
        }
        Occurrence::Prompt(_)
        | Occurrence::Message(_)
        | Occurrence::SystemPrompt(_)
        | Occurrence::TurnEnd(_) => return None,
    })
}

fn notification(what: &Notification) -> Option<Value> {
    Some(match what {
        Notification::SessionStarted => json!({"occasion": "started"}),
        Notification::SessionEnded => json!({"occasion": "ended"}),
        Notification::Failed { error, kind } => {
            json!({"occasion": "failed", "error": error, "kind": kind})
        }
        Notification::CallRefused { call, outcome, why } => {
            let is_invalid = *outcome == CallOutcome::Invalid;
            let occasion = if is_invalid { "invalid" } else { "denied" };
            json!({"occasion": occasion, "tool": call.name, "args": call.args, "error": why})
        }
        Notification::Compacted { dropped, kept, .. } => {
            json!({"occasion": "compacted", "dropped": dropped, "kept": kept})
        }
        Notification::AgentStarted
        | Notification::Asking { .. }
        | Notification::BatchEnded { .. }
        | Notification::OutputStored { .. }
        | Notification::Clearing { .. }
        | Notification::Cleared => return None,
    })
}

#[async_trait]
impl Listener for LmaoHook {
    fn name(&self) -> &str {
        &self.name
    }

    fn wants(&self, moment: Moment) -> bool {
        self.moments.contains(&moment)
    }

    async fn hear(&self, _: &HookContext, what: Occurrence<'_>) -> Result<Reply, HookError> {
        let Some((moment, facts)) = payload(what) else { return Ok(Reply::default()) };
        let decided = match self.ask(moment, facts).await {
            Ok(decided) => decided,
            // In their own host these hooks share its process: no call runs while they are down.
            Err(HookError(why)) if matches!(what, Occurrence::Call(_)) => {
                return Ok(Reply::block(format!("its hooks could not be asked: {why}")));
            }
            Err(error) => return Err(error),
        };
        let Decided { block, answer, rewrite, replace } = decided;
        let block = block.filter(|_| matches!(what, Occurrence::Call(_)));
        Ok(Reply { block, answer, input: rewrite, text: replace, ..Reply::default() })
    }
}
