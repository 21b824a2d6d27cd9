//! Starts the process of a hook, and says why a hook gave no answer.

use std::path::Path;

use contract::hook::HookError;
use contract::sandbox::{Profile, Sandbox, SandboxError, Spawn};

use crate::process::{self, Ended, Limits};

const OUTPUT_LIMIT: usize = 1 << 20;

#[derive(Debug)]
pub(crate) enum Failed {
    /// It was not allowed to run: its bytes are not the trusted ones any more, or it cannot be confined,
    /// or no process can be started.
    /// The call or prompt that it guards is blocked, whatever it says of failures of its own.
    Refused(String),
    Broken(HookError),
}

impl From<String> for Failed {
    fn from(why: String) -> Self {
        Self::Broken(HookError(why))
    }
}

impl From<&str> for Failed {
    fn from(why: &str) -> Self {
        why.to_owned().into()
    }
}

impl From<HookError> for Failed {
    fn from(error: HookError) -> Self {
        Self::Broken(error)
    }
}

impl Failed {
    /// A shell is not a program that a hook names: if it cannot be started, nothing can.
    fn at_start(error: SandboxError, program: &Path) -> Self {
        let is_shell = [Path::new("/bin/sh"), Path::new("/bin/bash")].contains(&program);
        match Self::from(error) {
            Self::Broken(HookError(why)) if is_shell => Self::Refused(why),
            failed => failed,
        }
    }
}

impl From<SandboxError> for Failed {
    fn from(error: SandboxError) -> Self {
        match error {
            SandboxError::Refused(why) => Self::Refused(why),
            // A missing program that the hook names is its own affair.
            SandboxError::Start { ref source, .. }
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                Self::Broken(HookError(error.to_string()))
            }
            SandboxError::Unavailable { .. } | SandboxError::Start { .. } => {
                Self::Refused(error.to_string())
            }
        }
    }
}

impl From<Failed> for HookError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Refused(why) => Self(why),
            Failed::Broken(error) => error,
        }
    }
}

fn unseen(error: &std::io::Error) -> Failed {
    // The way to a process is shut where what it was started from has lost its trust.
    if error.kind() == std::io::ErrorKind::PermissionDenied {
        return Failed::Refused(error.to_string());
    }
    Failed::Broken(HookError(format!("its end was not seen: {error}")))
}

pub(crate) async fn run(
    sandbox: &dyn Sandbox,
    spawn: &Spawn,
    profile: &Profile,
    input: &[u8],
) -> Result<Ended, Failed> {
    let started = sandbox.start(spawn, profile);
    let child = started.map_err(|error| Failed::at_start(error, &spawn.program))?;
    process::run(child, input, Limits::of_output(OUTPUT_LIMIT))
        .await
        .map_err(|error| unseen(&error))
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn unavailable_sandbox_is_no_failure_of_the_hook() {
        let start = |kind: io::ErrorKind| SandboxError::Start {
            program: "x".to_owned(),
            source: kind.into(),
        };
        let unavailable = SandboxError::Unavailable { cause: "c".into(), hint: "h".into() };
        for error in [
            SandboxError::Refused("no".to_owned()),
            unavailable,
            start(io::ErrorKind::OutOfMemory),
            start(io::ErrorKind::Other),
        ] {
            let said = error.to_string();
            assert!(matches!(Failed::from(error), Failed::Refused(_)), "{said}");
        }
        let missing = Failed::from(start(io::ErrorKind::NotFound));
        assert!(matches!(missing, Failed::Broken(_)), "a program that it names is its own affair");
        for (program, is_refused) in [("/bin/sh", true), ("/bin/bash", true), ("/x/guard", false)] {
            let failed = Failed::at_start(start(io::ErrorKind::NotFound), Path::new(program));
            assert_eq!(matches!(failed, Failed::Refused(_)), is_refused, "{program}");
        }
    }
}
