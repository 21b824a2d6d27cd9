//! A plugin's tool, run by its worker.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use contract::message::ToolCall;
use contract::policy::Action;
use contract::text;
use contract::tool::{Plan, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::description::{ToolDescription, object_schema};
use super::host::plugin_key;
use super::session::{Bounds, Failed};
use super::wire::{CANCELLED, CallResult, Live, Looked};
use super::worker::{Trouble, Worker};
use crate::plugin::{Dialect, Plugin};

/// Bytes of a call's arguments that people are shown.
const SHOWN: usize = 2000;

/// A plugin's tool.
pub(crate) struct PythonTool {
    spec: Mutex<Arc<ToolSpec>>,
    /// Names it in calls to the worker.
    key: String,
    /// How it describes itself, where that may change from call to call.
    live: Option<Box<ToolDescription>>,
    worker: Arc<Worker>,
    /// The plugin that it belongs to, where the worker serves several.
    owner: Option<Box<Plugin>>,
    /// What the tool last said of itself, where that differs.
    said: Mutex<Option<Box<ToolDescription>>>,
}

impl PythonTool {
    /// A tool that comes from `source`, a plugin that the worker serves.
    pub(crate) fn new(description: &ToolDescription, worker: Arc<Worker>, source: &str) -> Self {
        let mut spec = description.spec(source);
        let key = &description.key;
        spec.traits.file = (!key.starts_with("entry:")).then(|| worker.plugin.root.join(key));
        spec.traits.may_write = !worker.plugin.settings.grants.write.is_empty();
        Self {
            spec: Mutex::new(spec.into()),
            key: description.key.clone(),
            live: description.live.then(|| Box::new(description.clone())),
            worker,
            owner: None,
            said: Mutex::default(),
        }
    }

    /// The same as a tool of `owner`, one of several plugins that the worker serves.
    pub(crate) fn owned(self, owner: Option<Box<Plugin>>) -> Self {
        Self { owner, ..self }
    }

    /// Takes note of what the tool says of itself while it runs.
    fn learn(&self, live: Live) {
        let Some(known) = &self.live else { return };
        let mut description = ToolDescription::clone(known);
        if let Some(text) = live.description {
            description.description = text;
        }
        if let Some(schema) = live.input_schema.and_then(|schema| object_schema(&schema)) {
            description.input_schema = schema.into();
        }
        if live.requires_permission.is_some() {
            description.requires_permission = live.requires_permission;
        }
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if **said.as_ref().unwrap_or(known) == description {
            return;
        }
        *said = Some(Box::new(description.clone()));
        drop(said);
        let host = &self.worker.host;
        host.cache.forget(&plugin_key(&self.worker.plugin));
        let tool = Self::new(&description, Arc::clone(&self.worker), &self.spec().source)
            .owned(self.owner.clone());
        *self.spec.lock().unwrap_or_else(PoisonError::into_inner) = tool.spec();
        host.refresh(Arc::new(tool));
    }

    fn output(&self, result: CallResult) -> ToolOutput {
        let mut output = ToolOutput {
            success: result.success,
            output: result.output,
            error: result.error,
            ..ToolOutput::default()
        };
        let spec = self.spec();
        let plugin = spec.source.as_str();
        if !output.success
            && let Some(advice) = self.advice(output.error.as_ref().unwrap_or(&output.output))
        {
            let error = output.error.take().unwrap_or_default();
            output.error = Some(format!("{error}\n({advice})").trim_start().to_owned());
        }
        if let Some(words) = result.traceback {
            for line in words.lines() {
                (self.worker.host.settings.on_output)(plugin, &text::visible(line));
            }
            output.facts.insert("traceback".to_owned(), Value::String(words));
        }
        output
    }

    fn advice(&self, words: &str) -> Option<String> {
        let served = &self.worker.plugin;
        self.worker.host.advice(self.owner.as_deref().unwrap_or(served), served, words)
    }

    fn trouble(&self, trouble: Trouble) -> Result<ToolOutput, ToolError> {
        let spec = self.spec();
        let name = &spec.name;
        match trouble {
            Trouble::Sandbox(error) => Err(ToolError::Sandbox(error)),
            Trouble::Unready(words) | Trouble::Failed(Failed::Refused(words)) => {
                Err(ToolError::Broken(words))
            }
            Trouble::Failed(Failed::Cancelled) => Err(ToolError::Cancelled),
            Trouble::Failed(Failed::Ended(words)) => {
                Err(ToolError::Broken(format!("`{name}` did not finish: {words}")))
            }
            Trouble::Failed(Failed::Late(time)) => {
                let own = &self.worker.plugin;
                let key = match own.manifest.dialect {
                    Dialect::Brynhild | Dialect::Lmao => {
                        format!("plugins.{}.timeout", spec.source)
                    }
                    Dialect::InitRunner => format!(
                        "plugins.{}.timeout, or the role's execution.tool_timeout_seconds",
                        own.manifest.name
                    ),
                };
                Ok(ToolOutput::failure(format!(
                    "`{name}` did not finish within {} s and was stopped ({key})",
                    time.as_secs_f64()
                )))
            }
            Trouble::Failed(Failed::Unsayable(words)) => Err(ToolError::Input(words)),
            Trouble::Failed(Failed::Fault(fault)) if fault.code == CANCELLED => {
                Err(ToolError::Cancelled)
            }
            Trouble::Failed(Failed::Fault(fault)) => Ok(ToolOutput::failure(fault.message)),
        }
    }
}

impl PythonTool {
    /// Has its process load all there is, so that a call is timed alone.
    pub(crate) async fn prepare(&self, context: &ToolContext) {
        self.worker.prepare(&context.cancel).await;
    }
}

#[async_trait]
impl Tool for PythonTool {
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
        self.live.as_ref()?;
        let cancel = CancellationToken::new();
        let bounds = Bounds { time: self.worker.time(), cancel: &cancel };
        let params = json!({"tool": self.key});
        // What keeps it from answering is said by the call itself.
        let answer = self.worker.ask("look", &params, bounds).await.ok()?;
        let Looked { live } = serde_json::from_str(answer.get()).ok()?;
        if let Some(live) = live {
            self.learn(live);
        }
        None
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
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
