//! Conversations with a real program that speaks MCP: `tests/server.py`. They need Python 3.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod calls;
mod changes;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use contract::id::{CallId, SessionId};
use contract::message::ToolCall;
use contract::policy::Mode;
use contract::sandbox::{Access, Confinement, Limits, Network, Profile};
use contract::tool::{Tool, ToolContext, ToolError, ToolOutput};
use contract::trust_check::TrustCheck;
use mcp::config::{self, Scope, Server, Source};
use mcp::frontend::{DialogInput, Frontend};
use mcp::oauth::Credentials;
use mcp::{LaunchSettings, Servers, Settings, UserPrompt};
use serde_json::{Value, json};
use testkit::Plain;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/server.py");

/// A workspace with servers.
struct TestWorkspace {
    directory: tempfile::TempDir,
    notices: Arc<Mutex<Vec<String>>>,
}

impl TestWorkspace {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("work")).unwrap();
        Self { directory, notices: Arc::default() }
    }

    fn work(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join("work")
    }

    fn file(&self, name: &str, text: &str) {
        std::fs::write(self.work().join(name), text).unwrap();
    }

    /// The servers of a document, as a program that is started finds them.
    fn servers(&self, document: &Value) -> Servers {
        let frontend = Arc::new(Notices(Arc::clone(&self.notices))) as Arc<dyn Frontend>;
        let path = Path::new("/usr/local/bin:/usr/bin:/bin").display().to_string();
        let settings = Settings {
            cache: self.directory.path().join("cache"),
            pins: self.directory.path().join("pins"),
            credentials: Credentials::new(self.directory.path().join("keys")),
            sandbox: Arc::new(Plain::default()),
            launch: LaunchSettings {
                workspace: self.work(),
                env: [("PATH".to_owned(), path)].into(),
                variables: [("SECRET".to_owned(), "hush".to_owned())].into(),
                home: None,
                data: self.directory.path().join("data"),
                mode: Mode::Normal,
                limits: Limits::default(),
                trust_check: TrustCheck::default(),
            },
            user: Arc::new(UserPrompt::new(Arc::clone(&frontend), None, false)),
            frontend,
            clients: None,
            resolver: None,
        };
        Servers::new(settings, described(document))
    }

    /// One server of the name `test`, with these arguments.
    fn server(&self, words: &[&str]) -> Servers {
        self.servers(&entry(words))
    }

    fn notices(&self) -> String {
        self.notices.lock().unwrap().join("\n")
    }
}

/// A front end that collects messages and answers nothing.
struct Notices(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl Frontend for Notices {
    fn warn(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }

    fn hint(&self, text: &str) {
        self.warn(text);
    }

    fn is_full_screen(&self) -> bool {
        false
    }

    fn has_terminal(&self) -> bool {
        false
    }

    fn pause_animation(&self) -> Box<dyn Send> {
        Box::new(())
    }

    async fn dialog(&self, _: &str, _: &str, _: DialogInput) -> Option<String> {
        None
    }

    async fn line(&self, _: &str, _: &str) -> Option<String> {
        None
    }
}

/// The servers of a document.
fn described(document: &Value) -> Vec<Server> {
    let source =
        Source { origin: "test".to_owned(), scope: Scope::User, document: document.clone() };
    let found = config::read(&[source], &BTreeMap::new());
    assert_eq!(found.problems, []);
    found.servers
}

fn entry(words: &[&str]) -> Value {
    let mut args = vec![SERVER];
    args.extend(words);
    json!({"test": {"command": "python3", "args": args}})
}

fn tool(servers: &Servers, name: &str) -> Arc<dyn Tool> {
    let tools = servers.tools();
    let names: Vec<String> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
    let found = tools.into_iter().find(|tool| tool.spec().name == name);
    found.unwrap_or_else(|| panic!("no {name} in {names:?}"))
}

/// A call on its way, with what can be watched of it.
struct Sent {
    call: ToolCall,
    context: ToolContext,
    progress: mpsc::Receiver<String>,
}

fn sent(id: &str, args: Value) -> Sent {
    let (progress, lines) = mpsc::channel(64);
    let profile = Profile {
        workspace: PathBuf::from("/"),
        access: Access::ReadOnly,
        read: Vec::new(),
        write: Vec::new(),
        own: Vec::new(),
        fixed: Vec::new(),
        network: Network::None,
        env: BTreeMap::new(),
        limits: Limits::default(),
    };
    let context = ToolContext {
        session: SessionId::parse("test").unwrap(),
        confinement: Confinement::new(Arc::new(Plain::default()), profile),
        cancel: CancellationToken::new(),
        progress,
        spill: PathBuf::from("/nonexistent"),
        view: contract::action::View::default(),
        actions: Vec::new(),
        redactors: None,
    };
    let call = ToolCall { id: CallId(id.to_owned()), name: String::new(), args, opaque: None };
    Sent { call, context, progress: lines }
}

async fn run(tool: &Arc<dyn Tool>, args: Value) -> Result<ToolOutput, ToolError> {
    let sent = sent("call", args);
    tool.run(&sent.call, &sent.context).await
}

async fn text(servers: &Servers, name: &str, args: Value) -> String {
    run(&tool(servers, name), args).await.unwrap().for_model()
}
