//! How the program ends: the exit codes that scripts rely on.

use std::process::ExitCode;

/// An exit code with its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// The task failed.
    Failed,
    /// Misuse, or something is not set up.
    Misuse,
    /// A permission or trust was needed and nobody could give it.
    PermissionNeeded,
    /// No sandbox works here.
    Unsafe,
    /// A limit was reached.
    Limited,
    /// The terminal went away (SIGHUP).
    HungUp,
    /// The run of a role waits for approvals.
    Paused,
    /// The user stopped it (SIGINT).
    Interrupted,
    /// The user wanted it gone (SIGQUIT).
    Quit,
    /// Whoever reads the output has gone (SIGPIPE).
    PipeClosed,
    /// Another program stopped it (SIGTERM).
    Terminated,
    /// A command was run in our place and ended so.
    Command(u8),
}

impl Exit {
    /// Returns true if a signal ended the program.
    pub(crate) fn is_signal(self) -> bool {
        matches!(self, Self::HungUp | Self::Interrupted | Self::Quit | Self::Terminated)
    }

    /// The number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Misuse | Self::Paused => 2,
            Self::PermissionNeeded => 3,
            Self::Unsafe => 4,
            Self::Limited => 5,
            Self::HungUp => 129,
            Self::Interrupted => 130,
            Self::Quit => 131,
            Self::PipeClosed => 141,
            Self::Terminated => 143,
            Self::Command(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

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

    /// The task failed.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, message)
    }

    /// A problem with a given exit code.
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

    /// Adds what to do.
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

/// The result of a command.
pub(crate) type Outcome = Result<Exit, Problem>;
