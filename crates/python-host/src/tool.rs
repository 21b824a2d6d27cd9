//! A plugin's tool, run by its worker.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use contract::action::Action;
use contract::message::ToolCall;
use contract::python::{PythonTool, SharedPlugin};
use contract::text;
use contract::tool::{Plan, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::description::is_object_schema;
use crate::session::{Bounds, RequestError};
use crate::settings::Tracebacks;
use crate::state::plugin_key;
use crate::traceback::author_frames;
use crate::wire::{CANCELLED, CallResult, Live, Looked};
use crate::worker::{Worker, WorkerError};

/// Bytes of a call's arguments that are shown to users.
const SHOWN: usize = 2000;

/// A plugin's tool.
pub(crate) struct WorkerTool {
    /// Names it in calls to the worker.
    key: String,
    spec: Mutex<Arc<ToolSpec>>,
    /// True if its spec may change from call to call.
    is_live: bool,
    worker: Arc<Worker>,
    /// The plugin that it belongs to; the worker may serve several.
    owner: SharedPlugin,
}

impl WorkerTool {
    /// A tool of `owner`, which the worker serves.
    pub(crate) fn new(tool: PythonTool, worker: Arc<Worker>, owner: SharedPlugin) -> Self {
        let PythonTool { key, mut spec, live: is_live } = tool;
        let facts = worker.facts();
        spec.traits.file = (!key.starts_with("entry:")).then(|| facts.root.join(&key));
        spec.traits.may_write = facts.may_write;
        Self { key, spec: Mutex::new(spec.into()), is_live, worker, owner }
    }

    /// Takes note of what the tool says of itself while it runs.
    fn learn(&self, live: Live) {
        if !self.is_live {
            return;
        }
        let known = self.spec();
        let mut spec = ToolSpec::clone(&known);
        if let Some(text) = live.description {
            spec.description = text;
        }
        if let Some(schema) = live.input_schema.filter(is_object_schema) {
            spec.input_schema = schema.into();
        }
        spec.requires_permission = live.requires_permission.unwrap_or(spec.requires_permission);
        if spec == *known {
            return;
        }
        *self.spec.lock().unwrap_or_else(PoisonError::into_inner) = spec.into();
        let host = &self.worker.host;
        host.cache.forget(&plugin_key(self.worker.facts()));
        host.note_changed_tool();
    }

    fn output(&self, result: CallResult) -> ToolOutput {
        let mut output = ToolOutput {
            success: result.success,
            output: result.output,
            error: result.error,
            ..ToolOutput::default()
        };
        let (host, source) = (&self.worker.host, &self.spec().source);
        let show = |line: &str| (host.settings.on_output)(source, &text::visible(line));
        if !output.success
            && let words = output.error.as_ref().unwrap_or(&output.output)
            && let Some(advice) = host.advice(&*self.owner, source, words)
        {
            let error = output.error.take().unwrap_or_default();
            output.error = Some(format!("{error}\n({advice})").trim_start().to_owned());
        }
        if let Some(words) = result.traceback {
            let (lines, hidden) = match host.settings.tracebacks {
                Tracebacks::Whole => (words.lines().collect(), 0),
                Tracebacks::Author => author_frames(&words, &self.worker.facts().root),
            };
            lines.into_iter().for_each(show);
            if hidden > 0 {
                show(&format!("({hidden} frames of other files; `--verbose` shows them)"));
            }
            output.facts.insert("traceback".to_owned(), Value::String(words));
        }
        output
    }

    fn trouble(&self, trouble: WorkerError) -> Result<ToolOutput, ToolError> {
        let spec = self.spec();
        let name = &spec.name;
        match trouble {
            WorkerError::Sandbox(error) => Err(ToolError::Sandbox(error)),
            WorkerError::Unready(words) | WorkerError::Request(RequestError::Refused(words)) => {
                Err(ToolError::Broken(words))
            }
            WorkerError::Request(RequestError::Cancelled) => Err(ToolError::Cancelled),
            WorkerError::Request(RequestError::Ended(words)) => {
                Err(ToolError::Broken(format!("`{name}` did not finish: {words}")))
            }
            WorkerError::Request(RequestError::Late(time)) => {
                let key = if self.worker.adapter().loads_whole {
                    let role = &self.worker.facts().name;
                    format!("plugins.{role}.timeout, or the role's execution.tool_timeout_seconds")
                } else {
                    format!("plugins.{}.timeout", spec.source)
                };
                Ok(ToolOutput::failure(format!(
                    "`{name}` did not finish within {} s and was stopped ({key})",
                    time.as_secs_f64()
                )))
            }
            WorkerError::Request(RequestError::Unsayable(words)) => Err(ToolError::Input(words)),
            WorkerError::Request(RequestError::Fault(fault)) if fault.code == CANCELLED => {
                Err(ToolError::Cancelled)
            }
            WorkerError::Request(RequestError::Fault(fault)) => {
                Ok(ToolOutput::failure(fault.message))
            }
        }
    }
}

#[async_trait]
impl Tool for WorkerTool {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        let args = args.to_string();
        let args = text::visible(text::head(&args, SHOWN)).into_owned();
        let spec = self.spec();
        let (plugin, name) = (&spec.source, &spec.name);
        Ok(Plan::from(vec![Action::Opaque { what: format!("plugin {plugin}: {name} {args}") }]))
    }

    /// Asks a tool that may describe itself anew for each call.
    async fn caution(&self, _: &ToolCall) -> Option<String> {
        if !self.is_live {
            return None;
        }
        let cancel = CancellationToken::new();
        let bounds = Bounds { time: self.worker.time(), cancel: &cancel };
        // The call itself reports why there is no answer.
        let answer = self.worker.ask("look", &json!({"tool": self.key}), bounds).await.ok()?;
        let Looked { live } = serde_json::from_str(answer.get()).ok()?;
        if let Some(live) = live {
            self.learn(live);
        }
        None
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        if self.worker.adapter().loads_whole {
            self.worker.prepare(&context.cancel).await;
        }
        let params = json!({"tool": self.key, "input": call.args});
        let bounds = Bounds { time: self.worker.time(), cancel: &context.cancel };
        match self.worker.ask("call", &params, bounds).await {
            Ok(answer) => {
                let mut result: CallResult =
                    serde_json::from_str(answer.get()).map_err(|error| {
                        ToolError::Broken(format!(
                            "`{}` answered nonsense: {error}",
                            self.spec().name
                        ))
                    })?;
                if let Some(live) = result.live.take() {
                    self.learn(live);
                }
                Ok(self.output(result))
            }
            Err(trouble) => self.trouble(trouble),
        }
    }
}
