//! What the tests of the tools share: a project on disk, and a context without walls.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use contract::id::{CallId, SessionId};
use contract::message::ToolCall;
use contract::sandbox::{Access, Confinement, Limits, Network, Profile};
use contract::tool::{Tool, ToolContext, ToolError, ToolOutput};
use serde_json::Value;
use testkit::Plain;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::Settings;
use crate::paths::Paths;
use crate::seen::Seen;

/// A temporary directory whose path holds no symbolic link.
pub(crate) fn directory() -> tempfile::TempDir {
    let base = std::fs::canonicalize("/tmp").unwrap();
    tempfile::Builder::new().prefix("brynhild-tools-").tempdir_in(base).unwrap()
}

/// A project in a temporary directory.
pub(crate) struct Project {
    directory: tempfile::TempDir,
    pub(crate) paths: Arc<Paths>,
    pub(crate) seen: Arc<Seen>,
}

impl Project {
    /// An empty project.
    pub(crate) fn new() -> Self {
        let directory = directory();
        std::fs::create_dir_all(directory.path().join("home/project")).unwrap();
        let paths = Paths::new(&Settings {
            root: directory.path().join("home/project"),
            home: Some(directory.path().join("home")),
            ..Settings::default()
        });
        Self { directory, paths: Arc::new(paths), seen: Arc::default() }
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

    /// The settings of tools in it, with these background commands.
    pub(crate) fn settings(&self, jobs: Arc<crate::jobs::Jobs>) -> Settings {
        let root = self.paths.root().to_owned();
        Settings { root, single_hosts: true, jobs, ..Settings::default() }
    }

    /// The directory that output spills into.
    pub(crate) fn spill(&self) -> PathBuf {
        self.directory.path().join("spilled/session")
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
            fixed: Vec::new(),
            network: Network::None,
            env: BTreeMap::new(),
            limits: Limits::default(),
        };
        let context = ToolContext {
            session: SessionId::parse("one").unwrap(),
            confinement: Confinement::new(Arc::new(Plain::inheriting()), profile),
            cancel: CancellationToken::new(),
            progress,
            spill: self.spill(),
            view: contract::action::View::default(),
            actions: Vec::new(),
            redactors: None,
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
        Err(ToolError::Input(message) | ToolError::Denied(message)) => message,
        other => panic!("not refused: {other:?}"),
    }
}
