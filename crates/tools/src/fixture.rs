//! What the tests of the tools share: a project on disk, a context, and a sandbox that confines
//! nothing but kills what it started.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use async_trait::async_trait;
use contract::id::{CallId, SessionId};
use contract::message::ToolCall;
use contract::policy::Access;
use contract::sandbox::{
    Child, Confinement, Exit, Limits, Network, Process, Profile, Sandbox, SandboxError, Spawn,
};
use contract::tool::{Tool, ToolContext, ToolError, ToolOutput};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::Settings;
use crate::paths::Paths;
use crate::seen::Seen;

/// A temporary folder whose path holds no symbolic link.
pub(crate) fn folder() -> tempfile::TempDir {
    let base = std::fs::canonicalize("/tmp").unwrap();
    tempfile::Builder::new().prefix("brynhild-tools-").tempdir_in(base).unwrap()
}

/// A project in a temporary folder.
pub(crate) struct Project {
    folder: tempfile::TempDir,
    pub(crate) paths: Arc<Paths>,
    pub(crate) seen: Arc<Seen>,
}

impl Project {
    /// An empty project.
    pub(crate) fn new() -> Self {
        let folder = folder();
        std::fs::create_dir_all(folder.path().join("home/project")).unwrap();
        let paths = Paths::new(&Settings {
            root: folder.path().join("home/project"),
            home: Some(folder.path().join("home")),
            ..Settings::default()
        });
        Self { folder, paths: Arc::new(paths), seen: Arc::default() }
    }

    /// A project that holds these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let project = Self::new();
        for (name, content) in files {
            project.write(name, content);
        }
        project
    }

    /// The absolute path of a file of the project.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.paths.root().join(name)
    }

    /// The folder that output spills into.
    pub(crate) fn spill(&self) -> PathBuf {
        self.folder.path().join("spilled/session")
    }

    /// Writes a file behind the tools' backs.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// What a file holds.
    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Runs a tool with these arguments.
    pub(crate) async fn run(&self, tool: &dyn Tool, args: Value) -> ToolOutput {
        let (context, _lines) = self.context();
        tool.run(&call(args), &context).await.unwrap()
    }

    /// What a call that must fail says.
    pub(crate) async fn fail(&self, tool: &dyn Tool, args: Value) -> String {
        let output = self.run(tool, args).await;
        assert!(!output.success, "{output:?}");
        output.error.unwrap()
    }

    /// What a call that must succeed returns.
    pub(crate) async fn output(&self, tool: &dyn Tool, args: Value) -> String {
        let output = self.run(tool, args).await;
        assert!(output.success, "{output:?}");
        output.output
    }

    /// A context, and the lines of progress that it takes.
    pub(crate) fn context(&self) -> (ToolContext, mpsc::Receiver<String>) {
        let (progress, lines) = mpsc::channel(64);
        let profile = Profile {
            workspace: self.paths.root().to_owned(),
            access: Access::Workspace,
            read: Vec::new(),
            write: Vec::new(),
            own: Vec::new(),
            network: Network::None,
            env: BTreeMap::new(),
            limits: Limits::default(),
        };
        let context = ToolContext {
            session: SessionId::parse("one").unwrap(),
            confinement: Confinement::new(Arc::new(Unconfined), profile),
            cancel: CancellationToken::new(),
            progress,
            spill: self.spill(),
        };
        (context, lines)
    }
}

/// A call with these arguments.
pub(crate) fn call(args: Value) -> ToolCall {
    ToolCall { id: CallId("call/1".to_owned()), name: String::new(), args, opaque: None }
}

/// What `actions` says when it must refuse.
pub(crate) fn refusal(tool: &dyn Tool, args: &Value) -> String {
    match tool.actions(args) {
        Err(ToolError::Input(message)) => message,
        other => panic!("not refused: {other:?}"),
    }
}

struct Unconfined;

impl Sandbox for Unconfined {
    fn describe(&self) -> String {
        "none".to_owned()
    }

    #[expect(clippy::disallowed_methods, reason = "the tests need a process and no sandbox")]
    fn start(&self, spawn: &Spawn, _profile: &Profile) -> Result<Child, SandboxError> {
        let mut child = tokio::process::Command::new(&spawn.program)
            .args(&spawn.args)
            .current_dir(&spawn.cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|source| SandboxError::Start {
                program: spawn.program.display().to_string(),
                source,
            })?;
        Ok(Child {
            stdin: None,
            stdout: Box::new(child.stdout.take().unwrap()),
            stderr: Box::new(child.stderr.take().unwrap()),
            channel: None,
            process: Box::new(Group { id: child.id().unwrap(), child }),
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
        use std::os::unix::process::ExitStatusExt;
        let status = self.child.wait().await?;
        Ok(match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, signal) => Exit::Signal(signal.unwrap_or_default()),
        })
    }

    fn kill(&mut self) {
        let group = i32::try_from(self.id).ok();
        if let Some(group) = group.and_then(rustix::process::Pid::from_raw) {
            let signal = rustix::process::Signal::KILL;
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
