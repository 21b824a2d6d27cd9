//! `finish_task`: the end of a task.

use std::sync::Arc;

use async_trait::async_trait;
use contract::tool::{Risk, Tool};
use serde_json::{Value, json};

use super::function::{self, Function};
use super::{About, ToolHost, text};
use crate::task::{RunScope, TaskEnd, TaskStatus};

/// The tool by which a model says that its task is over. Autonomous runs and roles with tools that
/// keep state have it.
pub fn finish_task(tool_host: &ToolHost) -> Arc<dyn Tool> {
    let about = About {
        name: "finish_task",
        description: "Say that the task is over, with a summary of the result. Then answer.",
        kind: "todo",
        risk: Risk::ReadOnly,
        properties: json!({
            "summary": {"type": "string", "description": "What was done, or why it was not"},
            "status": {
                "type": "string", "default": "completed",
                "description": "completed, blocked or failed",
            },
        }),
        required: &["summary"],
    };
    function::stateful(FinishTask(tool_host.run.clone()), about.spec(tool_host))
}

struct FinishTask(RunScope);

#[async_trait]
impl Function for FinishTask {
    async fn call(&self, args: &Value) -> Result<String, String> {
        let status = TaskStatus::parse(text(args, "status"))?;
        let summary = text(args, "summary").to_owned();
        self.0.with_task(|task| task.finished = Some(TaskEnd { status, summary }));
        Ok(format!("Task finished ({}).", status.name()))
    }
}
