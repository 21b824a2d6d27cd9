//! Processes without walls, for tests of what starts processes: what confines them has tests of its
//! own. Each leads a group of its own, which ends with it.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use contract::sandbox::{Child, Exit, Process, Profile, Sandbox, SandboxError, Spawn, Stdin};
use rustix::process::{Pid, Signal, kill_process_group};

/// A sandbox that confines nothing and remembers what it was asked for.
#[derive(Debug, Default)]
pub struct Plain {
    inherits: bool,
    profiles: Mutex<Vec<Profile>>,
}

impl Plain {
    /// One whose processes see the variables of the test as well.
    pub fn inheriting() -> Self {
        Self { inherits: true, ..Self::default() }
    }

    /// The profiles of all started processes.
    pub fn profiles(&self) -> Vec<Profile> {
        self.profiles.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Sandbox for Plain {
    fn describe(&self) -> String {
        "none".to_owned()
    }

    #[expect(clippy::disallowed_methods, reason = "the tests need a process and no sandbox")]
    fn start(&self, spawn: &Spawn, profile: &Profile) -> Result<Child, SandboxError> {
        self.profiles.lock().unwrap_or_else(PoisonError::into_inner).push(profile.clone());
        let mut command = tokio::process::Command::new(&spawn.program);
        if !self.inherits {
            command.env_clear();
        }
        let stdin = match spawn.stdin {
            Stdin::Null => Stdio::null(),
            Stdin::Piped => Stdio::piped(),
        };
        let started = command
            .args(&spawn.args)
            .current_dir(&spawn.cwd)
            .envs(&profile.env)
            .envs(&spawn.env)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        let mut child = started.map_err(|source| SandboxError::Start {
            program: spawn.program.display().to_string(),
            source,
        })?;
        Ok(Child {
            stdin: child.stdin.take().map(|stdin| Box::new(stdin) as _),
            stdout: Box::new(child.stdout.take().expect("a pipe")),
            stderr: Box::new(child.stderr.take().expect("a pipe")),
            channel: None,
            process: Box::new(Group { id: child.id().expect("a process that runs"), child }),
        })
    }
}

/// A process that leads a group of its own.
struct Group {
    id: u32,
    child: tokio::process::Child,
}

#[async_trait]
impl Process for Group {
    fn id(&self) -> u32 {
        self.id
    }

    async fn wait(&mut self) -> std::io::Result<Exit> {
        let status = self.child.wait().await?;
        Ok(match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, signal) => Exit::Signal(signal.unwrap_or_default()),
        })
    }

    fn kill(&mut self) {
        let group = i32::try_from(self.id).ok().and_then(Pid::from_raw);
        if let Some(group) = group {
            // A group that is gone needs no signal.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
