//! `finish_task` and `finalize_plan`: the ends of a task and of its plan.

use std::sync::Arc;

use async_trait::async_trait;
use contract::tool::{Risk, Tool};
use serde_json::{Value, json};

use super::function::{self, Function};
use super::{About, ToolHost, has_run_state, text};
use crate::role::{Pattern, Role, ToolEntry};
use crate::task::{RunScope, TaskEnd, TaskStatus};

/// The tools by which a model ends its task, and its plan. Autonomous runs and roles with tools that
/// keep state have them.
pub fn task_tools(role: &Role, entries: &[&ToolEntry], tool_host: &ToolHost) -> Vec<Arc<dyn Tool>> {
    let mut ends = Vec::new();
    if role.is_autonomous || entries.iter().any(|entry| has_run_state(&entry.kind)) {
        ends.push(TaskPart::Task);
    }
    if role.is_autonomous && role.reasoning.pattern == Pattern::PlanExecute {
        ends.push(TaskPart::Plan);
    }
    let tool = |part: TaskPart| {
        let end = EndPart(part, tool_host.run.clone());
        function::stateful(end, about(part).spec(tool_host))
    };
    ends.into_iter().map(tool).collect()
}

#[derive(Clone, Copy)]
enum TaskPart {
    Task,
    Plan,
}

fn about(part: TaskPart) -> About<'static> {
    let (kind, risk) = ("todo", Risk::ReadOnly);
    match part {
        TaskPart::Task => About {
            name: "finish_task",
            description: "Say that the task is over, with a summary of the result. Then answer.",
            kind,
            risk,
            properties: json!({
                "summary": {"type": "string", "description": "What was done, or why it was not"},
                "status": {
                    "type": "string", "default": "completed",
                    "description": "completed, blocked or failed",
                },
            }),
            required: &["summary"],
        },
        TaskPart::Plan => About {
            name: "finalize_plan",
            description: "Say that the plan in the todo list is complete. Its execution follows.",
            kind,
            risk,
            properties: json!({}),
            required: &[],
        },
    }
}

struct EndPart(TaskPart, RunScope);

#[async_trait]
impl Function for EndPart {
    async fn call(&self, args: &Value) -> Result<String, String> {
        match self.0 {
            TaskPart::Task => {
                let status = TaskStatus::parse(text(args, "status"))?;
                let summary = text(args, "summary").to_owned();
                self.1.with_task(|task| task.finished = Some(TaskEnd { status, summary }));
                Ok(format!("Task finished ({}).", status.name()))
            }
            TaskPart::Plan => self.1.with_task(|task| {
                task.is_plan_final = !task.list.is_empty();
                Ok(String::from(if task.is_plan_final {
                    "Plan finalized. Switching to execution phase."
                } else {
                    "Create at least one todo item before finalizing the plan."
                }))
            }),
        }
    }
}
