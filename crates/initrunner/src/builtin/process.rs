//! Runs a program for a tool and puts its end into words.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use contract::sandbox::{Channel, Confinement, Spawn, Stdin};
use contract::tool::{ToolContext, ToolError, ToolOutput};
use tokio::time::Instant;

use super::shortened;
use crate::host::{End, Ended, ProcessRunner, RunLimits};

pub(super) struct Program {
    /// The program: a path, or a name that is looked up where it runs.
    pub(super) path: PathBuf,
    pub(super) args: Vec<OsString>,
    pub(super) cwd: PathBuf,
    pub(super) input: Vec<u8>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) limits: Limits,
}

/// Runs programs within limits.
#[derive(Clone)]
pub(super) struct Limits {
    pub(super) processes: Arc<dyn ProcessRunner>,
    pub(super) time: Duration,
    pub(super) output: usize,
}

impl Program {
    /// Runs it to its end. Nothing that it started is left when this returns.
    pub(super) async fn run(
        &self,
        confinement: &Confinement,
        context: &ToolContext,
    ) -> Result<Ended, ToolError> {
        let spawn = Spawn {
            program: self.path.clone(),
            args: self.args.clone(),
            cwd: self.cwd.clone(),
            stdin: if self.input.is_empty() { Stdin::Null } else { Stdin::Piped },
            channel: Channel::None,
            env: self.env.clone(),
            home: None,
        };
        let child = confinement.start(&spawn)?;
        let limits = RunLimits {
            // One byte more tells that there is more.
            output: self.limits.output + 1,
            deadline: Instant::now() + self.limits.time,
            cancel: &context.cancel,
        };
        match self.limits.processes.run(child, &self.input, limits).await {
            Ok(Ended { end: End::Cancelled, .. }) => Err(ToolError::Cancelled),
            Ok(ended) => Ok(ended),
            Err(error) => Err(ToolError::Broken(error.to_string())),
        }
    }

    /// The output for the model: the exit code if it is not 0, then both streams.
    pub(super) fn told(&self, ended: &Ended) -> ToolOutput {
        let End::Exited(code) = ended.end else { return self.late() };
        let mut parts = Vec::new();
        if code != 0 {
            parts.push(format!("Exit code: {code}"));
        }
        for (name, printed) in [("STDOUT", &ended.stdout), ("STDERR", &ended.stderr)] {
            if !printed.is_empty() {
                parts.push(format!("{name}:\n{printed}"));
            }
        }
        if parts.is_empty() {
            parts.push(String::from("(no output)"));
        }
        let output = shortened(parts.join("\n"), self.limits.output);
        let facts = BTreeMap::from([("exit_code".to_owned(), code.into())]);
        ToolOutput { success: code == 0, output, facts, ..ToolOutput::default() }
    }

    fn late(&self) -> ToolOutput {
        let seconds = self.limits.time.as_secs_f64();
        ToolOutput::failure(format!("Execution timed out after {seconds}s"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::fixture;
    use super::*;

    fn told(code: i32, stdout: &str, stderr: &str) -> ToolOutput {
        let program = Program {
            path: PathBuf::new(),
            args: Vec::new(),
            cwd: PathBuf::new(),
            input: Vec::new(),
            env: BTreeMap::new(),
            limits: Limits {
                processes: fixture::processes(),
                time: Duration::from_secs(3),
                output: 60,
            },
        };
        let end = End::Exited(code);
        program.told(&Ended { end, stdout: stdout.to_owned(), stderr: stderr.to_owned() })
    }

    #[test]
    fn exit_status_has_a_fixed_wording() {
        assert_eq!(told(0, "hi\n", "").output, "STDOUT:\nhi\n");
        assert_eq!(told(0, "", "").output, "(no output)");
        let failed = told(3, "a", "b");
        assert_eq!(failed.output, "Exit code: 3\nSTDOUT:\na\nSTDERR:\nb");
        assert!(!failed.success);
        assert_eq!(told(1, "", "").output, "Exit code: 1");
        let long = told(0, &"x".repeat(100), "").output;
        assert!(long.ends_with("x\n[truncated]") && long.len() == 60, "{long}");
    }
}
