//! Plugins with real Python behind them.

mod crashes;
mod examples;
pub(crate) mod fixture;
mod packages;
mod providers;
mod tools;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use contract::id::{CallId, SessionId};
use contract::message::ToolCall;
use contract::sandbox::Confinement;
use contract::tool::{Tool, ToolContext, ToolError, ToolOutput};
use serde_json::Value;
use testkit::Plain;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::description::Described;
use crate::host::Host;
use crate::settings::{Missing, Settings};
use fixture::{Heard, Plugin};

/// A directory with a host and one plugin in it.
struct World {
    directory: tempfile::TempDir,
    host: Host,
    heard: Heard,
    plugin: Plugin,
}

impl World {
    /// A plugin `demo` with these files.
    fn new(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (host, heard) = fixture::host(directory.path());
        let mut plugin = Plugin::new(directory.path(), "demo");
        for (name, text) in files {
            write(&plugin.facts.root.join(name), text);
            plugin.tools |= name.starts_with("tools/");
            plugin.providers |= name.starts_with("providers/");
        }
        Self { directory, host, heard, plugin }
    }

    /// The settings of its host.
    fn settings(&self) -> Settings {
        fixture::settings(self.directory.path()).0
    }

    /// A host of a later run, which finds what this one left.
    fn again(&self) -> Host {
        fixture::host(self.directory.path()).0
    }

    async fn described(&self) -> Described {
        let mut all = self.host.describe(&self.plugin.list(), Missing::Install).await;
        all.pop().unwrap()
    }

    async fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let offer = self.described().await.offer;
        assert!(offer.faults.is_empty(), "{:?}", offer.faults);
        self.host.tools(&self.plugin.list()[0], &offer)
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
    let (progress, _lines) = mpsc::channel(16);
    let context = ToolContext {
        session: SessionId::parse("s").unwrap(),
        confinement: Confinement::new(Arc::new(Plain::default()), fixture::profile(Path::new("/"))),
        cancel,
        progress,
        spill: "/nowhere".into(),
        view: contract::action::View::default(),
        actions: Vec::new(),
        redactors: None,
    };
    tool.run(&call, &context).await
}
