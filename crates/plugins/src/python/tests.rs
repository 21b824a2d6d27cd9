//! Plugins with real Python behind them.

mod crashes;
mod examples;
mod packages;
mod providers;
mod tools;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use contract::id::{CallId, SessionId};
use contract::message::ToolCall;
use contract::policy::Access;
use contract::sandbox::{Confinement, Network, Profile};
use contract::tool::{Tool, ToolContext, ToolError, ToolOutput};
use serde_json::Value;
use testkit::Plain;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::fixture::{self, Heard};
use super::{Described, HostSettings, Hosts, Missing};
use crate::plugin::Plugin;

/// A directory with a host and one plugin in it.
struct World {
    directory: tempfile::TempDir,
    hosts: Hosts,
    heard: Heard,
    plugin: Plugin,
}

impl World {
    /// A plugin `demo` with these files.
    fn new(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (hosts, heard) = fixture::hosts(directory.path());
        let mut plugin = fixture::plugin(directory.path(), "demo");
        for (name, text) in files {
            write(&plugin.root.join(name), text);
            match name.split('/').next() {
                Some("tools") => plugin.manifest.tools = vec!["any".into()],
                Some("providers") => plugin.manifest.providers = vec!["any".into()],
                _ => {}
            }
        }
        Self { directory, hosts, heard, plugin }
    }

    /// A host of a later run, which finds what this one left.
    fn again(&self) -> Hosts {
        fixture::hosts(self.directory.path()).0
    }

    async fn described(&self) -> Described {
        let mut all = self.hosts.describe(&[&self.plugin], Missing::Install).await;
        all.pop().unwrap()
    }

    async fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let described = self.described().await;
        assert!(described.problems.is_empty(), "{:?}", described.problems);
        self.hosts.tools(&self.plugin, &described)
    }

    async fn tool(&self, name: &str) -> Arc<dyn Tool> {
        self.tools().await.into_iter().find(|tool| tool.spec().name == name).unwrap()
    }

    fn heard(&self) -> String {
        self.heard.lock().unwrap().join("\n")
    }
}

fn write(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// A tool whose `execute` has this body.
fn tool_file(name: &str, body: &str) -> String {
    format!(
        "import asyncio, os, sys, time\n\
         from brynhild.tools.base import Tool as Base, ToolResult\n\
         class Tool(Base):\n\
         \x20   count = 0\n\
         \x20   name = {name:?}\n\
         \x20   description = 'does something'\n\
         \x20   input_schema = {{'type': 'object', 'properties': {{'x': {{'type': 'string'}}}}}}\n\
         \x20   async def execute(self, input):\n\
         \x20       {body}\n"
    )
}

async fn run(tool: &dyn Tool, args: Value) -> Result<ToolOutput, ToolError> {
    run_until(tool, args, CancellationToken::new()).await
}

async fn run_until(
    tool: &dyn Tool,
    args: Value,
    cancel: CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let call = ToolCall { id: CallId("1".into()), name: String::new(), args, opaque: None };
    let profile = Profile {
        workspace: "/".into(),
        access: Access::ReadOnly,
        read: Vec::new(),
        write: Vec::new(),
        own: Vec::new(),
        fixed: Vec::new(),
        network: Network::None,
        env: std::collections::BTreeMap::new(),
        limits: contract::sandbox::Limits::default(),
    };
    let (progress, _lines) = mpsc::channel(16);
    let context = ToolContext {
        session: SessionId::parse("s").unwrap(),
        confinement: Confinement::new(Arc::new(Plain::default()), profile),
        cancel,
        progress,
        spill: "/nowhere".into(),
        conversation: None,
        view: contract::policy::View::default(),
        actions: Vec::new(),
        veils: None,
    };
    tool.run(&call, &context).await
}
