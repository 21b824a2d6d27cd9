//! A plugin's tool: one process for each call.

use std::sync::Arc;

use async_trait::async_trait;
use contract::action::Action;
use contract::message::ToolCall;
use contract::text;
use contract::tool::{
    Finish, FinishStatus, Plan, Recovery, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec,
    Traits,
};
use serde_json::Value;

use super::call::{Call, Purpose};
use super::executable::{Executable, RunError};
use super::run::Ran;
use super::schema::{Flow, ToolEntry};
use crate::process::End;

const SHOWN: usize = 2000;

pub(crate) struct ChibiTool {
    spec: Arc<ToolSpec>,
    entry: ToolEntry,
    executable: Arc<Executable>,
}

impl ChibiTool {
    pub(crate) fn new(entry: ToolEntry, executable: Arc<Executable>) -> Self {
        let runs = matches!(entry.flow, Flow::Runs | Flow::RunsLast);
        let spec = ToolSpec {
            name: entry.name.clone(),
            description: entry.description.clone(),
            input_schema: entry.parameters.clone().into(),
            version: "0.0.0".to_owned(),
            categories: vec!["plugin".to_owned()],
            requires_permission: runs,
            risk_level: if runs { Risk::Mutating } else { Risk::ReadOnly },
            recovery_policy: Recovery::Allow,
            parallel: entry.parallel,
            source: executable.plugin.name().to_owned(),
            traits: Traits::default(),
        };
        Self { spec: spec.into(), entry, executable }
    }

    fn steered(&self, args: &Value) -> Option<ToolOutput> {
        let text = |key: &str| args.get(key).and_then(Value::as_str);
        match self.entry.flow {
            Flow::Runs | Flow::RunsLast => None,
            Flow::Continues => Some(ToolOutput::success(match text("prompt") {
                Some(prompt) => format!("Continuing with: {prompt}"),
                None => "Continuing processing".to_owned(),
            })),
            Flow::Ends => {
                let words = text("message").unwrap_or("Returning to user").to_owned();
                Some(ended(ToolOutput::success(words)))
            }
        }
    }

    fn summary(&self, args: &Value) -> Option<String> {
        let values = self.entry.summary_params.iter();
        let values: Vec<&str> = values.filter_map(|name| args.get(name)?.as_str()).collect();
        let words = text::visible(&values.join(" ")).into_owned();
        (!words.is_empty()).then(|| format!("[Tool: {}] {}", self.spec.name, words))
    }

    fn output(&self, ran: Ran) -> Result<ToolOutput, ToolError> {
        let name = &self.spec.name;
        let mut output = ToolOutput { output: ran.stdout.text, ..ToolOutput::default() };
        if ran.stdout.is_cut {
            output.output.push_str("\n[more output was dropped]");
        }
        let why = match ran.end {
            End::Exited(0) => {
                output.success = true;
                return Ok(output);
            }
            End::Exited(code) => {
                output.facts.insert("exit_code".to_owned(), code.into());
                format!("`{name}` ended with exit code {code}")
            }
            End::Late => {
                let (time, plugin) =
                    (self.executable.time().as_secs_f64(), self.executable.plugin.name());
                format!(
                    "Timed out after {time}s: plugin tool '{name}' was stopped \
                     (plugins.{plugin}.timeout)"
                )
            }
            End::Cancelled => return Err(ToolError::Cancelled),
        };
        let mut why = match ran.stderr.as_str() {
            "" => why,
            stderr => format!("{why}\n[stderr]\n{stderr}"),
        };
        let advice =
            [&ran.stderr, &output.output].into_iter().find_map(|it| self.executable.advice(it));
        if let Some(advice) = advice {
            why = format!("{}\n({advice})", why.trim_end());
        }
        output.error = Some(why);
        Ok(output)
    }
}

fn ended(mut output: ToolOutput) -> ToolOutput {
    let (status, summary) = (FinishStatus::Success, output.output.trim().to_owned());
    output.finish = Some(Finish { status, summary, next_steps: None });
    output
}

#[async_trait]
impl Tool for ChibiTool {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        if self.steered(args).is_some() {
            return Ok(Plan::default());
        }
        let args = args.to_string();
        let args = text::visible(text::head(&args, SHOWN)).into_owned();
        let (plugin, name) = (self.executable.plugin.name(), &self.spec.name);
        Ok(Plan::from(vec![Action::Opaque { what: format!("plugin {plugin}: {name} {args}") }]))
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        if let Some(output) = self.steered(&call.args) {
            return Ok(output);
        }
        if let Some(line) = self.summary(&call.args) {
            // Where nobody listens, nobody misses it.
            let _ = context.progress.send(line).await;
        }
        let asked = Call {
            purpose: Purpose::Tool(&self.entry.own_name),
            context: Some(context.session.as_str()),
            input: Some(&call.args),
        };
        let ran = self.executable.run(&asked, &context.cancel).await.map_err(|why| match why {
            RunError::Sandbox(error) => ToolError::Sandbox(error),
            RunError::Other(words) => ToolError::Broken(format!("`{}`: {words}", self.spec.name)),
        })?;
        let output = self.output(ran)?;
        Ok(match self.entry.flow {
            Flow::RunsLast if output.success => ended(output),
            Flow::Runs | Flow::RunsLast | Flow::Continues | Flow::Ends => output,
        })
    }
}
