//! The result of a command: an exit code, or a problem with what to do about it.

pub use line_ui::exit::Exit;
use plugin_kit::host::HostError;

/// An error with the exit code it leads to and what to do about it.
#[derive(Debug)]
pub struct Problem {
    pub exit: Exit,
    pub error: anyhow::Error,
    pub hint: Option<String>,
}

impl Problem {
    /// Something the user must put right first.
    pub fn misuse(message: impl Into<String>) -> Self {
        Self::new(Exit::Misuse, message)
    }

    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, message)
    }

    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, error: anyhow::Error::msg(message.into()), hint: None }
    }

    /// The message with its causes, each once.
    pub fn message(&self) -> String {
        self.error.chain().map(ToString::to_string).fold(String::new(), |message, cause| {
            if message.is_empty() {
                cause
            } else if message.ends_with(&cause) {
                message
            } else {
                format!("{message}: {cause}")
            }
        })
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl<E: Into<anyhow::Error>> From<E> for Problem {
    fn from(error: E) -> Self {
        Self { exit: Exit::Failed, error: error.into(), hint: None }
    }
}

impl HostError for Problem {
    fn misuse(text: String) -> Self {
        Self::misuse(text)
    }

    fn failed(text: String) -> Self {
        Self::failed(text)
    }

    fn declined(text: String) -> Self {
        Self::new(Exit::PermissionNeeded, text)
    }

    fn hint(self, hint: String) -> Self {
        Self { hint: Some(hint), ..self }
    }
}

pub type Outcome = Result<Exit, Problem>;
