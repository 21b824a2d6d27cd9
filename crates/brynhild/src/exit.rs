//! The result of a command: an exit code, or a problem with what to do about it.

pub(crate) use line_ui::exit::Exit;

/// An error with the exit code it leads to and what to do about it.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) exit: Exit,
    pub(crate) error: anyhow::Error,
    pub(crate) hint: Option<String>,
}

impl Problem {
    /// Something the user must put right first.
    pub(crate) fn misuse(message: impl Into<String>) -> Self {
        Self::new(Exit::Misuse, message)
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, message)
    }

    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, error: anyhow::Error::msg(message.into()), hint: None }
    }

    /// The message with its causes, each once.
    pub(crate) fn message(&self) -> String {
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

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl<E: Into<anyhow::Error>> From<E> for Problem {
    fn from(error: E) -> Self {
        Self { exit: Exit::Failed, error: error.into(), hint: None }
    }
}

pub(crate) type Outcome = Result<Exit, Problem>;
