//! A tool of a role that is Python.

use std::sync::Arc;

use async_trait::async_trait;
use contract::message::ToolCall;
use contract::tool::{Plan, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde_json::Value;

const SHUT: [&str; 3] = ["Errno 30", "Read-only file system", "Errno 13"];
const ALONE: [&str; 4] = [
    "Temporary failure in name resolution",
    "Network is unreachable",
    "Errno 101",
    "nodename nor servname",
];

pub(super) struct RoleTool {
    pub(super) python: Arc<dyn Tool>,
    pub(super) role: String,
}

impl RoleTool {
    fn explain(&self, output: &mut ToolOutput) {
        let Some(error) = output.error.as_mut().filter(|_| !output.success) else { return };
        let says = |words: &[&str]| words.iter().any(|words| error.contains(words));
        let flag = if says(&ALONE) {
            "--network"
        } else if says(&SHUT) {
            "--write ."
        } else {
            return;
        };
        let role = &self.role;
        *error = format!(
            "{error}\n(the role's tools are confined; the user can grant it with \
             `brynhild plugin grant {role} {flag}`)"
        );
    }
}

#[async_trait]
impl Tool for RoleTool {
    fn spec(&self) -> Arc<ToolSpec> {
        self.python.spec()
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        self.python.actions(args)
    }

    async fn caution(&self, call: &ToolCall) -> Option<String> {
        self.python.caution(call).await
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let mut output = self.python.run(call, context).await?;
        self.explain(&mut output);
        Ok(output)
    }
}
