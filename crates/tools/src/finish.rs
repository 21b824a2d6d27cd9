//! `Finish`: the model says that the task is over and how it went.

use std::sync::Arc;

use async_trait::async_trait;
use contract::message::ToolCall;
use contract::tool::{
    FinishStatus, Plan, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{arguments, describe};

#[derive(Deserialize)]
struct Args {
    status: FinishStatus,
    summary: String,
    next_steps: Option<String>,
}

pub(crate) struct Finish {
    spec: Arc<ToolSpec>,
}

impl Finish {
    pub(crate) fn new() -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "status": {
                    "type": "string",
                    "enum": ["success", "partial", "failed", "blocked"],
                    "description": "How it went: all done, done in part, failed, or held up by something only a user can remove"
                },
                "summary": {"type": "string", "description": "What was done, in a few sentences"},
                "next_steps": {"type": "string", "description": "What remains to be done, if anything"}
            },
            "required": ["status", "summary"]
        });
        let words = include_str!("finish.md");
        let spec = describe::spec("Finish", words, "control", Risk::ReadOnly, schema);
        Self { spec: ToolSpec { parallel: false, ..spec }.into() }
    }
}

#[async_trait]
impl Tool for Finish {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, _args: &Value) -> Result<Plan, ToolError> {
        Ok(Plan::default())
    }

    async fn run(&self, call: &ToolCall, _context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let args: Args = arguments::parse("Finish", &call.args)?;
        let status = args.status.as_str();
        let mut text = format!("Status: {status}\nSummary: {}", args.summary);
        let mut output = ToolOutput::default();
        output.facts.insert("status".into(), json!(status));
        output.facts.insert("summary".into(), json!(args.summary));
        let next_steps = args.next_steps.filter(|steps| !steps.trim().is_empty());
        if let Some(steps) = &next_steps {
            text.push_str("\nNext steps: ");
            text.push_str(steps);
            output.facts.insert("next_steps".into(), json!(steps));
        }
        let (status, summary) = (args.status, args.summary);
        let finish = contract::tool::Finish { status, summary, next_steps };
        Ok(ToolOutput { success: true, output: text, finish: Some(finish), ..output })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::Project;

    #[tokio::test]
    async fn finish_reports_status_summary_and_next_steps() {
        let args = json!({"status": "partial", "summary": "half", "next_steps": "the rest"});
        let output = Project::new().run(&Finish::new(), args).await;
        assert_eq!(output.output, "Status: partial\nSummary: half\nNext steps: the rest");
        assert_eq!(output.facts["status"], "partial");
        assert_eq!(output.finish.unwrap().next_steps.as_deref(), Some("the rest"));
    }

    #[tokio::test]
    async fn next_steps_may_be_left_out() {
        let args = json!({"status": "success", "summary": "done", "next_steps": ""});
        let output = Project::new().run(&Finish::new(), args).await;
        assert_eq!(output.output, "Status: success\nSummary: done");
        assert!(!output.facts.contains_key("next_steps"));
    }
}
