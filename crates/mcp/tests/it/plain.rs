//! Starts programs without confinement: what confines them has tests of its own.

use std::process::Stdio;

use async_trait::async_trait;
use contract::sandbox::{Child, Exit, Process, Profile, Sandbox, SandboxError, Spawn};
use tokio::process::Command;

pub(crate) struct Plain;

struct Running(tokio::process::Child);

#[async_trait]
impl Process for Running {
    fn id(&self) -> u32 {
        self.0.id().unwrap_or_default()
    }

    async fn wait(&mut self) -> std::io::Result<Exit> {
        use std::os::unix::process::ExitStatusExt;
        let status = self.0.wait().await?;
        Ok(match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, signal) => Exit::Signal(signal.unwrap_or_default()),
        })
    }

    fn kill(&mut self) {
        self.0.start_kill().unwrap();
    }
}

impl Sandbox for Plain {
    fn describe(&self) -> String {
        "none".to_owned()
    }

    #[expect(clippy::disallowed_methods, reason = "a test stands in for the sandbox here")]
    fn start(&self, spawn: &Spawn, profile: &Profile) -> Result<Child, SandboxError> {
        let mut child = Command::new(&spawn.program)
            .args(&spawn.args)
            .current_dir(&spawn.cwd)
            .env_clear()
            .envs(&profile.env)
            .envs(&spawn.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|source| SandboxError::Start {
                program: spawn.program.display().to_string(),
                source,
            })?;
        Ok(Child {
            stdin: child.stdin.take().map(|it| Box::new(it) as _),
            stdout: Box::new(child.stdout.take().unwrap()),
            stderr: Box::new(child.stderr.take().unwrap()),
            channel: None,
            process: Box::new(Running(child)),
        })
    }
}
