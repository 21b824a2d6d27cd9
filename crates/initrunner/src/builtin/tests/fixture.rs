//! A host of tools and a call, for tests of tools.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use ::files::surroundings::Surroundings;
use async_trait::async_trait;
use contract::id::{CallId, SessionId};
use contract::message::ToolCall;
use contract::sandbox::{
    Access, Child, Confinement, Limits, Network, Profile, Sandbox, SandboxError, Spawn,
};
use contract::tool::{Tool, ToolContext, ToolOutput};
use serde_json::Value;
use tokio::net::TcpStream;

use super::super::{Granted, ToolHost};
use crate::host::{
    Ended, Exchange, HttpClient, HttpReply, ProcessRunner, RunLimits, UserAnswer, UserQuestions,
};

/// A host of tools in a directory, without network and environment.
pub(crate) fn tool_host(directory: &Path) -> ToolHost {
    ToolHost {
        role_directory: directory.to_owned(),
        surroundings: Surroundings {
            workspace: directory.to_owned(),
            cwd: directory.to_owned(),
            env: BTreeMap::new(),
            variables: BTreeMap::from([("HOOK".to_owned(), "https://x.test/s3cret".to_owned())]),
            home: None,
        },
        requests: Arc::new(NoNetwork),
        processes: processes(),
        network: Granted {
            network: Arc::new(|| Network::None),
            remedy: String::from("grant it"),
            is_network_failure: |_| false,
        },
        run: crate::task::RunScope::default(),
        user: Arc::new(NoUser),
        source: String::from("role:test"),
        documents: None,
        calculate: |expression| Ok(expression.to_owned()),
        analyze_table: |tool, _, _, _| Ok(tool.to_owned()),
        model: crate::role::ModelSettings::default(),
    }
}

/// Refuses every request.
struct NoNetwork;

#[async_trait]
impl HttpClient for NoNetwork {
    async fn exchange(&self, exchange: Exchange) -> Result<HttpReply, String> {
        Err(format!("{} is not reachable in tests", exchange.url))
    }

    async fn connect(&self, host: &str, _: u16) -> Result<TcpStream, String> {
        Err(format!("{host} is not reachable in tests"))
    }

    fn expand(&self, text: &str) -> String {
        text.replace("${HOOK}", "https://x.test/s3cret")
    }
}

struct NoUser;

#[async_trait]
impl UserQuestions for NoUser {
    async fn ask(&self, _: &str) -> UserAnswer {
        UserAnswer::NotAvailable
    }
}

struct NoProcesses;

#[async_trait]
impl ProcessRunner for NoProcesses {
    async fn run(&self, _: Child, _: &[u8], _: RunLimits<'_>) -> io::Result<Ended> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

pub(crate) fn processes() -> Arc<dyn ProcessRunner> {
    Arc::new(NoProcesses)
}

/// Starts nothing.
struct Nothing;

impl Sandbox for Nothing {
    fn describe(&self) -> String {
        String::from("nothing")
    }

    fn start(&self, _: &Spawn, _: &Profile) -> Result<Child, SandboxError> {
        Err(SandboxError::Refused(String::from("this test starts nothing")))
    }
}

/// The output of a call; an error if it could not run or failed.
pub(crate) async fn ran(tool: &Arc<dyn Tool>, args: Value) -> Result<ToolOutput, String> {
    let profile = Profile {
        workspace: "/".into(),
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
        confinement: Confinement::new(Arc::new(Nothing), profile),
        cancel: tokio_util::sync::CancellationToken::new(),
        progress: tokio::sync::mpsc::channel(1).0,
        spill: "/nowhere".into(),
        view: contract::action::View::default(),
        actions: Vec::new(),
        redactors: None,
    };
    let name = tool.spec().name.clone();
    let call = ToolCall { id: CallId("1".to_owned()), name, args, opaque: None };
    let output = tool.run(&call, &context).await.map_err(|error| error.to_string())?;
    if output.success { Ok(output) } else { Err(output.for_model()) }
}

/// The output of a call that works.
pub(crate) async fn output(tool: &Arc<dyn Tool>, args: Value) -> String {
    ran(tool, args).await.unwrap().output
}
