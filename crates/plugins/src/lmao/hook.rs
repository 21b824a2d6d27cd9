//! The hooks of LMAO plugins: all those of one worker, asked together in its own order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use contract::event::CallOutcome;
use contract::hook::{
    CallView, CompactVerdict, CompactView, Hook, HookContext, HookError, HookReply, Moment,
    Notification, RequestVerdict, ResultView, TextVerdict, ToolVerdict,
};
use contract::provider::Request;
use contract::tool::ToolOutput;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::facts::Facts;
use crate::python::Hosts;
use crate::python::session::Bounds;
use crate::python::worker::Worker;

/// How long the hooks of one moment may take.
const LONGEST: Duration = Duration::from_mins(1);

/// The hooks of one worker.
pub(super) struct LmaoHook {
    name: String,
    worker: Arc<Worker>,
    hosts: Hosts,
    moments: Vec<Moment>,
    /// The files that must be loaded for all of them to be asked, each with its moments.
    guards: BTreeMap<String, Vec<String>>,
}

/// What hooks decided.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Decided {
    block: Option<String>,
    answer: Option<String>,
    rewrite: Option<Value>,
    replace: Option<String>,
}

impl LmaoHook {
    /// The hooks of the plugins in the directory `place`.
    pub(super) fn new(place: &str, worker: Arc<Worker>, hosts: Hosts, facts: &Facts) -> Self {
        let name = format!("of the LMAO plugins in {place}");
        let (moments, guards) = (facts.moments.clone(), facts.guards.clone());
        Self { name, worker, hosts, moments, guards }
    }

    async fn ask(&self, moment: &str, mut facts: Value) -> Result<Decided, HookError> {
        facts["moment"] = moment.into();
        let asked = self.guards.iter().filter(|(_, moments)| moments.iter().any(|it| it == moment));
        facts["guards"] = asked.map(|(file, _)| file.as_str()).collect();
        facts["mode"] = self.hosts.mode().as_str().into();
        let cancel = CancellationToken::new();
        let bounds = Bounds { time: self.worker.time().min(LONGEST), cancel: &cancel };
        let answer = self.worker.ask("hook", &facts, bounds).await;
        let answer = answer.map_err(|trouble| HookError(trouble.words()))?;
        serde_json::from_str(answer.get())
            .map_err(|error| HookError(format!("it answered nonsense: {error}")))
    }
}

/// Where these hooks live, in the process of their host, nothing runs while they cannot be asked.
fn unasked(HookError(why): HookError) -> Decided {
    let block = Some(format!("its hooks could not be asked: {why}"));
    Decided { block, ..Decided::default() }
}

#[async_trait]
impl Hook for LmaoHook {
    fn name(&self) -> &str {
        &self.name
    }

    fn wants(&self, moment: Moment) -> bool {
        self.moments.contains(&moment)
    }

    async fn occasion(
        &self,
        _: &HookContext,
        occasion: &Notification,
    ) -> Result<HookReply<()>, HookError> {
        let facts = match occasion {
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
            // What else happens within a session is no event of these hooks.
            Notification::AgentStarted
            | Notification::Asking { .. }
            | Notification::BatchEnded { .. }
            | Notification::OutputStored { .. }
            | Notification::Clearing { .. }
            | Notification::Cleared => return Ok(HookReply::default()),
        };
        self.ask("occasion", facts).await?;
        Ok(HookReply::default())
    }

    async fn before_send(
        &self,
        _: &HookContext,
        request: &Request,
    ) -> Result<HookReply<RequestVerdict>, HookError> {
        let facts = json!({"system": &*request.system, "messages": request.history.len()});
        self.ask("before_send", facts).await?;
        Ok(HookReply::default())
    }

    async fn after_reply(
        &self,
        _: &HookContext,
        prompt: &str,
        reply: &str,
    ) -> Result<HookReply<TextVerdict>, HookError> {
        let decided = self.ask("after_reply", json!({"prompt": prompt, "reply": reply})).await?;
        Ok(decided.replace.map_or(TextVerdict::Keep, TextVerdict::Replace).into())
    }

    async fn before_tool(
        &self,
        _: &HookContext,
        call: CallView<'_>,
    ) -> Result<HookReply<ToolVerdict>, HookError> {
        let facts = json!({"tool": call.tool, "args": call.args});
        let verdict = match self.ask("before_tool", facts).await.unwrap_or_else(unasked) {
            Decided { block: Some(reason), .. } => ToolVerdict::Block(reason),
            Decided { answer: Some(text), .. } => ToolVerdict::Answer(ToolOutput::success(text)),
            Decided { rewrite: Some(args), .. } => ToolVerdict::Rewrite(args),
            _ => ToolVerdict::Proceed,
        };
        Ok(verdict.into())
    }

    async fn after_tool(
        &self,
        _: &HookContext,
        result: ResultView<'_>,
    ) -> Result<HookReply<TextVerdict>, HookError> {
        let facts = json!({
            "tool": result.call.tool,
            "args": result.call.args,
            "output": result.output.for_model(),
            "success": result.output.success,
            "seconds": result.duration.as_secs_f64(),
        });
        let decided = self.ask("after_tool", facts).await?;
        Ok(decided.replace.map_or(TextVerdict::Keep, TextVerdict::Replace).into())
    }

    async fn before_compact(
        &self,
        _: &HookContext,
        history: CompactView<'_>,
    ) -> Result<HookReply<CompactVerdict>, HookError> {
        self.ask("before_compact", json!({"strategy": history.strategy})).await?;
        Ok(HookReply::default())
    }
}
