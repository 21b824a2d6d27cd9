//! The hooks of one point: each plugin that wants it is run with the same payload, in order.

use std::sync::Arc;

use async_trait::async_trait;
use contract::hook::{HookContext, HookError, Moment, OnFailure};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Host;
use super::answer;
use super::call::{Call, Purpose};
use super::executable::Executable;
use super::payload;
use super::point::Point;
use crate::hooks::moment::{Listener, Occurrence, Reply};
use crate::process::End;

pub(crate) struct PointHook {
    pub(crate) point: &'static Point,
    title: String,
    listeners: Vec<Arc<Executable>>,
    pub(crate) host: Arc<Host>,
    pub(crate) tool_count: usize,
}

impl PointHook {
    pub(crate) fn new(
        point: &'static Point,
        listeners: Vec<Arc<Executable>>,
        host: Arc<Host>,
        tool_count: usize,
    ) -> Self {
        let mut names: Vec<&str> =
            listeners.iter().map(|executable| executable.plugin.name()).collect();
        names.dedup();
        let title = format!("'{}' (plugin {})", point.name, names.join(", "));
        Self { point, title, listeners, host, tool_count }
    }

    /// Asks listeners up to the first answer that settles the matter; an error of one ends it for all.
    async fn ask(&self, context: &HookContext, payload: &Value) -> Result<Vec<Value>, HookError> {
        let mut answers = Vec::new();
        for executable in &self.listeners {
            let call = Call {
                purpose: Purpose::Hook(self.point.name),
                context: Some(context.session.as_str()),
                input: Some(payload),
            };
            let plugin = executable.plugin.name();
            let ran = executable.run(&call, &CancellationToken::new()).await;
            let ran = ran.map_err(|why| HookError(format!("plugin {plugin}: {why}")))?;
            let printed = ran.stdout.text.trim();
            match ran.end {
                End::Late => {
                    let time = executable.time().as_secs_f64();
                    return Err(HookError(format!("plugin {plugin}: timed out after {time}s")));
                }
                End::Exited(0) if !printed.is_empty() => {
                    let answer = serde_json::from_str(printed);
                    answers.push(answer.unwrap_or_else(|_| Value::String(printed.to_owned())));
                }
                End::Exited(_) | End::Cancelled => continue,
            }
            if answers.last().is_some_and(|last| answer::settles(self.point.name, last)) {
                break;
            }
        }
        Ok(answers)
    }

    /// An output that could not be looked through does not reach the model.
    fn unfiltered(&self, error: &HookError) -> Reply {
        let plugin = self.listeners.first().map_or("", |executable| executable.plugin.name());
        (self.host.settings.on_output)(plugin, &format!("pre_tool_output: {error}"));
        Reply { text: Some(format!("Output blocked by hook: {error}")), ..Reply::default() }
    }
}

#[async_trait]
impl Listener for PointHook {
    fn name(&self) -> &str {
        &self.title
    }

    fn wants(&self, moment: Moment) -> bool {
        self.point.moment() == Some(moment)
    }

    fn on_failure(&self) -> OnFailure {
        self.point.on_failure()
    }

    async fn hear(&self, context: &HookContext, what: Occurrence<'_>) -> Result<Reply, HookError> {
        for payload in payload::payloads(self, context, what) {
            let answers = match self.ask(context, &payload).await {
                Ok(answers) => answers,
                Err(error) if self.point.name == "pre_tool_output" => {
                    return Ok(self.unfiltered(&error));
                }
                Err(error) => return Err(error),
            };
            let reply = answer::folded(self.point.name, &payload, answers, what);
            if reply != Reply::default() {
                return Ok(reply);
            }
        }
        Ok(Reply::default())
    }
}
