//! A tool under another specification: another name, or other conditions.

use std::sync::Arc;

use async_trait::async_trait;
use contract::message::ToolCall;
use contract::policy::Action;
use contract::tool::{Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde_json::Value;

/// A tool that shows another specification than its own.
pub(crate) struct Dressed {
    tool: Arc<dyn Tool>,
    spec: ToolSpec,
}

impl Dressed {
    /// The tool with this specification.
    pub(crate) fn new(tool: Arc<dyn Tool>, spec: ToolSpec) -> Self {
        Self { tool, spec }
    }
}

#[async_trait]
impl Tool for Dressed {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn accepts(&self) -> Option<&Value> {
        self.tool.accepts()
    }

    fn actions(&self, args: &Value) -> Result<Vec<Action>, ToolError> {
        self.tool.actions(args)
    }

    fn caution(&self, call: &ToolCall) -> Option<String> {
        self.tool.caution(call)
    }

    fn refusal(&self) -> Option<String> {
        self.tool.refusal()
    }

    fn is_offered(&self) -> bool {
        self.tool.is_offered()
    }

    fn is_indivisible(&self) -> bool {
        self.tool.is_indivisible()
    }

    fn may_write(&self) -> bool {
        self.tool.may_write()
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.tool.run(call, context).await
    }
}
