//! A tool under another specification: another name, or other conditions.

use std::sync::Arc;

use async_trait::async_trait;
use contract::message::ToolCall;
use contract::tool::{Plan, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde_json::Value;

/// What is shown in place of a tool's own specification.
type Dress = Arc<dyn Fn(&ToolSpec) -> ToolSpec + Send + Sync>;

/// A tool that shows another specification than its own.
pub(crate) struct Dressed {
    tool: Arc<dyn Tool>,
    dress: Dress,
}

impl Dressed {
    /// The tool with its specification changed.
    pub(crate) fn new(
        tool: Arc<dyn Tool>,
        dress: impl Fn(&ToolSpec) -> ToolSpec + Send + Sync + 'static,
    ) -> Self {
        Self { tool, dress: Arc::new(dress) }
    }
}

#[async_trait]
impl Tool for Dressed {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::new((self.dress)(&self.tool.spec()))
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        self.tool.actions(args)
    }

    async fn caution(&self, call: &ToolCall) -> Option<String> {
        self.tool.caution(call).await
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.tool.run(call, context).await
    }
}
