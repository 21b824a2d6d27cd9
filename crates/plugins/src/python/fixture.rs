//! What the tests of this module build on: plugins, surroundings, and processes without walls.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use contract::policy::Mode;
use contract::sandbox::{Child, Exit, Limits, Process, Profile, Sandbox, SandboxError, Spawn};
use serde_json::json;

use super::{HostSettings, Hosts, Surroundings};
use crate::plugin::{Manifest, Place, Plugin, PluginSettings};

/// A plugin with a folder and nothing in it.
pub(crate) fn plugin(base: &Path, name: &str) -> Plugin {
    let root = base.join(name);
    std::fs::create_dir_all(&root).unwrap();
    let manifest = Manifest { name: name.into(), version: "1.0.0".into(), ..Manifest::default() };
    Plugin {
        manifest,
        root,
        place: Place::Global,
        enabled: true,
        trusted: true,
        settings: PluginSettings::default(),
        package: None,
    }
}

/// A home and a workspace in `base`.
pub(crate) fn surroundings(base: &Path) -> Surroundings {
    for name in ["home", "work/.git"] {
        std::fs::create_dir_all(base.join(name)).unwrap();
    }
    let pairs = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    Surroundings {
        workspace: base.join("work"),
        cwd: base.join("work"),
        env: pairs(&[("PATH", "/usr/local/bin:/usr/bin:/bin"), ("PYTHONPATH", "/evil")]),
        variables: pairs(&[("SECRET", "s"), ("PATH", "/usr/local/bin:/usr/bin:/bin")]),
        home: Some(base.join("home")),
        limits: Limits::default(),
    }
}

/// What was heard.
pub(crate) type Heard = Arc<Mutex<Vec<String>>>;

/// A host without walls, and what its plugins print.
pub(crate) fn hosts(base: &Path) -> (Hosts, Heard) {
    let heard = Heard::default();
    let ear = Arc::clone(&heard);
    let settings = HostSettings {
        state: base.join("state"),
        data: base.join("data"),
        sandbox: Arc::new(Open),
        surroundings: surroundings(base),
        mode: Mode::Normal,
        python: None,
        config: json!({}),
        model: None,
        on_output: Arc::new(move |_, line| ear.lock().unwrap().push(line.to_owned())),
        on_progress: Arc::new(|_, _| {}),
    };
    (Hosts::new(settings), heard)
}

/// Starts processes without walls.
pub(crate) struct Open;

impl Sandbox for Open {
    fn describe(&self) -> String {
        "none".to_owned()
    }

    #[expect(clippy::disallowed_methods, reason = "the tests need a process and no sandbox")]
    fn start(&self, spawn: &Spawn, profile: &Profile) -> Result<Child, SandboxError> {
        let mut child = tokio::process::Command::new(&spawn.program)
            .args(&spawn.args)
            .current_dir(&spawn.cwd)
            .env_clear()
            .envs(&profile.env)
            .envs(&spawn.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|source| SandboxError::Start {
                program: spawn.program.display().to_string(),
                source,
            })?;
        Ok(Child {
            stdin: child.stdin.take().map(|stdin| Box::new(stdin) as _),
            stdout: Box::new(child.stdout.take().unwrap()),
            stderr: Box::new(child.stderr.take().unwrap()),
            channel: None,
            process: Box::new(Plain(child)),
        })
    }
}

struct Plain(tokio::process::Child);

#[async_trait]
impl Process for Plain {
    fn id(&self) -> u32 {
        self.0.id().unwrap_or_default()
    }

    async fn wait(&mut self) -> std::io::Result<Exit> {
        use std::os::unix::process::ExitStatusExt as _;
        let status = self.0.wait().await?;
        Ok(match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, signal) => Exit::Signal(signal.unwrap_or_default()),
        })
    }

    fn kill(&mut self) {
        let _ = self.0.start_kill();
    }
}
