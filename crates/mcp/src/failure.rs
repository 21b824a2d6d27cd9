//! The failures of servers.

use contract::sandbox::SandboxError;
use contract::tool::ToolError;

use crate::config::Server;
use crate::frontend::Frontend;

/// The failure of a server.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Its program could not be started.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// It did not do what was asked.
    #[error("{message}")]
    Server {
        /// The message, with the server's name.
        message: String,
        /// The advice on it.
        hint: Option<String>,
    },
    /// It wants the user to sign in first.
    #[error("MCP server `{server}` wants you to sign in; `brynhild mcp login {server}` does it")]
    SignIn {
        /// The server.
        server: String,
    },
    /// It wants more rights than the user gave by signing in.
    #[error(
        "MCP server `{server}` wants further rights for this ({scope}); \
         `brynhild mcp login {server}` asks for them"
    )]
    Scope {
        /// The server.
        server: String,
        /// The rights, in its own words.
        scope: String,
    },
    /// The call was cancelled.
    #[error("interrupted")]
    Cancelled,
}

impl Failure {
    /// A failure without advice.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self::Server { message: message.into(), hint: None }
    }

    /// A failure with advice.
    pub(crate) fn hinted(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Server { message: message.into(), hint: Some(hint.into()) }
    }

    /// The advice on it.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Sandbox(SandboxError::Unavailable { hint, .. }) => Some(hint),
            Self::Server { hint, .. } => hint.as_deref(),
            Self::Sandbox(_) | Self::SignIn { .. } | Self::Scope { .. } | Self::Cancelled => None,
        }
    }

    /// The failure without the keys that a server gets, which it may repeat.
    pub(crate) fn redacted(self, server: &Server) -> Self {
        match self {
            Self::Server { message, hint } => Self::Server {
                message: server.redact(&message),
                hint: hint.map(|hint| server.redact(&hint)),
            },
            other => other,
        }
    }

    /// Shows it as a warning, with advice if there is any. A cancellation needs no words.
    pub(crate) fn report(&self, frontend: &dyn Frontend) {
        if matches!(self, Self::Cancelled) {
            return;
        }
        frontend.warn(&self.to_string());
        if let Some(hint) = self.hint() {
            frontend.hint(hint);
        }
    }

    /// Message and advice in one text.
    pub fn with_hint(&self) -> String {
        match self.hint() {
            Some(hint) => format!("{self} ({hint})"),
            None => self.to_string(),
        }
    }

    pub(crate) fn into_tool_error(self) -> ToolError {
        match self {
            Self::Sandbox(error) => ToolError::Sandbox(error),
            Self::Cancelled => ToolError::Cancelled,
            other => ToolError::Broken(other.with_hint()),
        }
    }
}
