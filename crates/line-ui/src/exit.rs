//! How the program ends: the exit codes that scripts rely on.

use std::process::ExitCode;

/// An exit code. The comments are the page `docs/reference/exit-codes.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Done,
    /// The task failed: the provider gave up, a hook blocked the prompt, the model finished with
    /// the status `failed` or `blocked`, or a check found a mistake.
    Failed,
    /// Misuse, or something is not set up: a bad flag, a broken configuration, no model.
    Misuse,
    /// A permission was needed and nobody could be asked, or `--require-trust` found untrusted files.
    PermissionNeeded,
    /// No sandbox works on this machine, so a command did not run.
    Unsafe,
    /// A limit was reached, or the model repeated itself. `--continue` resumes the session.
    Limited,
    /// The terminal was closed (SIGHUP).
    HungUp,
    /// The run of a role waits for approvals. `brynhild pending` lists them.
    Paused,
    /// The user stopped the program (SIGINT).
    Interrupted,
    /// The user stopped the program (SIGQUIT).
    Quit,
    /// The reader of standard output has gone (SIGPIPE).
    PipeClosed,
    /// Another program stopped this one (SIGTERM).
    Terminated,
    /// The exit code of the command that `sandbox run` ran: 127 if it is not found, 126 if it cannot
    /// be started.
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
