//! The failures of servers.

use std::fmt;

use contract::sandbox::SandboxError;

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
    Server { message: String, hint: Option<String> },
    /// It wants the user to sign in first.
    #[error("MCP server `{server}` wants you to sign in; `brynhild mcp login {server}` does it")]
    SignIn { server: String },
    /// It wants more rights than the user gave by signing in.
    #[error(
        "MCP server `{server}` wants further rights for this ({scope}); \
         `brynhild mcp login {server}` asks for them"
    )]
    Scope {
        server: String,
        /// The rights, in its own words.
        scope: String,
    },
    /// The call was cancelled.
    #[error("interrupted")]
    Cancelled,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self::Server { message: message.into(), hint: None }
    }

    /// A failure of a server, as a sentence about it. The keys that the server gets are redacted: it
    /// may repeat them.
    pub(crate) fn of(server: &Server, sentence: impl fmt::Display) -> Self {
        Self::new(server.redact(&format!("MCP server `{}` {sentence}", server.name)))
    }

    /// The failure without the keys that a server gets.
    pub(crate) fn redacted(self, server: &Server) -> Self {
        match self {
            Self::Server { message, hint } => {
                let hint = hint.map(|hint| server.redact(&hint));
                Self::Server { message: server.redact(&message), hint }
            }
            other => other,
        }
    }

    pub(crate) fn hinted(self, text: impl Into<String>) -> Self {
        match self {
            Self::Server { message, .. } => Self::Server { message, hint: Some(text.into()) },
            other => other,
        }
    }

    /// The hint: what the user can do about it.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Sandbox(SandboxError::Unavailable { hint, .. }) => Some(hint),
            Self::Server { hint, .. } => hint.as_deref(),
            Self::Sandbox(_) | Self::SignIn { .. } | Self::Scope { .. } | Self::Cancelled => None,
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
}
