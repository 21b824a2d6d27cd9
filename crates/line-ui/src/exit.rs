//! How the program ends: the exit codes that scripts rely on.

use std::process::ExitCode;

/// An exit code with its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done,
    Failed,
    /// Misuse, or something is not set up.
    Misuse,
    /// A permission or trust was needed and nobody could give it.
    PermissionNeeded,
    /// No sandbox works here.
    Unsafe,
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
    pub fn is_signal(self) -> bool {
        matches!(self, Self::HungUp | Self::Interrupted | Self::Quit | Self::Terminated)
    }

    pub fn code(self) -> u8 {
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
