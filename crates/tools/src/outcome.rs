//! Failures and cancellations of tools, and the execution of work that blocks.

use contract::tool::{ToolError, ToolOutput};
use tokio_util::sync::CancellationToken;

#[derive(Debug)]
pub(crate) enum Stop {
    /// The reason for the model.
    Failed(String),
    /// The reason why a file is out of reach.
    Denied(String),
    Cancelled,
}

impl From<String> for Stop {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}

impl From<Stop> for ToolError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Failed(message) => Self::Input(message),
            Stop::Denied(message) => Self::Denied(message),
            Stop::Cancelled => Self::Cancelled,
        }
    }
}

/// Runs `work` on a thread that may block.
pub(crate) async fn blocking(
    work: impl FnOnce() -> Result<ToolOutput, Stop> + Send + 'static,
) -> Result<ToolOutput, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(output)) => Ok(output),
        Ok(Err(Stop::Failed(message))) => Ok(ToolOutput::failure(message)),
        Ok(Err(stop @ (Stop::Denied(_) | Stop::Cancelled))) => Err(stop.into()),
        Err(error) => Err(ToolError::Broken(format!("the tool crashed: {error}"))),
    }
}

pub(crate) fn unless_cancelled(cancel: &CancellationToken) -> Result<(), Stop> {
    if cancel.is_cancelled() { Err(Stop::Cancelled) } else { Ok(()) }
}
