//! `TodoWrite`: the model's todo list. The list is the result of the call, so it is in the log, front
//! ends show it, and the current one stays in a shortened history.

use std::sync::Arc;

use async_trait::async_trait;
use contract::message::ToolCall;
use contract::tool::{Lasting, Plan, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{arguments, describe};

const NAME: &str = "TodoWrite";

#[derive(Deserialize)]
struct Args {
    todos: Vec<Todo>,
}

#[derive(Deserialize)]
struct Todo {
    content: String,
    status: Status,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
}

impl Status {
    fn mark(self) -> &'static str {
        match self {
            Self::Pending => "[ ]",
            Self::InProgress => "[>]",
            Self::Completed => "[x]",
        }
    }
}

pub(crate) struct TodoWrite {
    spec: Arc<ToolSpec>,
}

impl TodoWrite {
    pub(crate) fn new() -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "todos": {
                    "type": "array",
                    "description": "All items, in the order in which they are to be done",
                    "items": {
                        "type": "object",
                        "properties": {
                            "content": {"type": "string", "description": "What is to be done"},
                            "status": {
                                "type": "string",
                                "enum": ["pending", "in_progress", "completed"]
                            },
                            "activeForm": {
                                "type": "string",
                                "description": "The same as something that is being done"
                            }
                        },
                        "required": ["content", "status"]
                    }
                }
            },
            "required": ["todos"]
        });
        let words = include_str!("todo_write.md");
        let spec = describe::spec(NAME, words, "control", Risk::ReadOnly, schema);
        Self { spec: ToolSpec { parallel: false, ..spec }.into() }
    }
}

#[async_trait]
impl Tool for TodoWrite {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, _args: &Value) -> Result<Plan, ToolError> {
        Ok(Plan::default())
    }

    async fn run(&self, call: &ToolCall, _context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Args { todos } = arguments::parse(NAME, &call.args)?;
        if todos.iter().any(|todo| todo.content.trim().is_empty()) {
            return Err(ToolError::Input("a todo has no content".to_owned()));
        }
        let mut output = ToolOutput::success(listed(&todos));
        let open = todos.iter().filter(|todo| todo.status != Status::Completed).count() as u64;
        output.set_lasting(Lasting { subject: Some("todos".to_owned()), open: Some(open) });
        Ok(output)
    }
}

fn listed(todos: &[Todo]) -> String {
    let done = todos.iter().filter(|todo| todo.status == Status::Completed).count() as u64;
    let mut text = match todos.len() {
        0 => return "Todos: none".to_owned(),
        all => format!("Todos, {done} of {all} done:"),
    };
    for todo in todos {
        let words: Vec<&str> = todo.content.split_whitespace().collect();
        text.extend(["\n", todo.status.mark(), " ", &words.join(" ")]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::Project;

    #[tokio::test]
    async fn todo_list_is_shown_whole_and_persists() {
        let todos = json!([
            {"content": "read the\nparser", "status": "completed", "activeForm": "Reading"},
            {"content": "mend it", "status": "in_progress"},
            {"content": "run the tests", "status": "pending"},
        ]);
        let output = Project::new().run(&TodoWrite::new(), json!({"todos": todos})).await;
        let list = "Todos, 1 of 3 done:\n[x] read the parser\n[>] mend it\n[ ] run the tests";
        assert_eq!(output.output, list);
        let lasting = Lasting { subject: Some("todos".to_owned()), open: Some(2) };
        assert_eq!(output.lasting(), Some(lasting));
        let none = Project::new().run(&TodoWrite::new(), json!({"todos": []})).await;
        assert_eq!(none.output, "Todos: none");
    }
}
