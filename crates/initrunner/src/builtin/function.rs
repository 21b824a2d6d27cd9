//! A tool whose calls take arguments and give a text.

use std::sync::Arc;

use async_trait::async_trait;
use contract::action::Action;
use contract::message::ToolCall;
use contract::tool::{Plan, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde_json::Value;

#[async_trait]
pub(super) trait Function: Send + Sync {
    /// The actions of a call. An error is text for the model.
    fn actions(&self, _args: &Value) -> Result<Vec<Action>, String> {
        Ok(Vec::new())
    }

    /// Runs a call; dropped when it is cancelled. An error is text for the model.
    async fn call(&self, args: &Value) -> Result<String, String>;
}

pub(super) fn tool(function: impl Function + 'static, spec: ToolSpec) -> Arc<dyn Tool> {
    Arc::new(FunctionTool { spec: spec.into(), function })
}

/// A tool that keeps state, whose calls run one after the other.
pub(super) fn stateful(function: impl Function + 'static, spec: ToolSpec) -> Arc<dyn Tool> {
    tool(function, ToolSpec { parallel: false, ..spec })
}

struct FunctionTool<F> {
    spec: Arc<ToolSpec>,
    function: F,
}

#[async_trait]
impl<F: Function> Tool for FunctionTool<F> {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        self.function.actions(args).map(Plan::from).map_err(ToolError::Input)
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let done = tokio::select! {
            done = self.function.call(&call.args) => done,
            () = context.cancel.cancelled() => return Err(ToolError::Cancelled),
        };
        Ok(done.map_or_else(ToolOutput::failure, ToolOutput::success))
    }
}

/// Runs work that blocks. An error is text for the model.
pub(super) async fn blocking(
    work: impl FnOnce() -> Result<String, String> + Send + 'static,
) -> Result<String, String> {
    tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?
}
