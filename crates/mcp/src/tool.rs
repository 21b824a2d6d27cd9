//! A server's tool as the model calls it.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use contract::message::ToolCall;
use contract::policy::{Action, Ruling};
use contract::tool::{
    Plan, Recovery, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, Traits,
};
use rmcp::model::CallToolRequestParams;
use serde_json::Value;

use crate::catalog::ToolEntry;
use crate::config::{Scope, Transport};
use crate::connection::CallTerms;
use crate::failure::Failure;
use crate::link::{Consent, Link};
use crate::{name, result, schema};

/// The longest result that may be no more than the report of a failure: longer ones may well be about
/// somebody else's.
const LONGEST_EXCUSE: usize = 1000;

/// A server's tool.
pub(crate) struct McpTool {
    link: Arc<Link>,
    /// The server's name for it.
    tool: String,
    spec: Arc<ToolSpec>,
    keeps_content: bool,
}

impl McpTool {
    /// The tool of an entry, under a name that is not taken.
    pub(crate) fn new(link: &Arc<Link>, entry: &ToolEntry, taken: &mut BTreeSet<String>) -> Self {
        let title = entry.title.as_deref().map(schema::clean).filter(|title| !title.is_empty());
        let words = schema::clean(&entry.description);
        let description = match (title, words.is_empty()) {
            (Some(title), true) => title,
            (None, true) => {
                format!("{} of MCP server {}", schema::clean(&entry.name), link.prefix)
            }
            (_, false) => words,
        };
        let spec = ToolSpec {
            name: name::joined(&link.prefix, &entry.name, taken),
            description,
            input_schema: schema::arguments(entry.input_schema.clone()).into(),
            version: String::new(),
            categories: vec!["mcp".to_owned()],
            // Hints of a server grant nothing.
            requires_permission: true,
            risk_level: match entry.hints.destructive {
                Some(true) => Risk::HighImpact,
                Some(false) | None => Risk::Mutating,
            },
            recovery_policy: Recovery::Confirm,
            parallel: entry.hints.read_only == Some(true),
            source: source(link),
            traits: Traits::default(),
        };
        let keeps_content = link.keeps_content();
        let (link, tool) = (Arc::clone(link), entry.name.clone());
        Self { link, tool, spec: spec.into(), keeps_content }
    }

    /// The tool with results that keep what the model cannot see.
    pub(crate) fn keeping_content(self) -> Self {
        Self { keeps_content: true, ..self }
    }

    /// The tool under the server's own name for it, behind a prefix if one is given.
    pub(crate) fn by_own_name(mut self, prefix: Option<&str>) -> Self {
        let stem = format!("mcp__{}__", self.link.prefix);
        let own = self.spec.name.strip_prefix(&stem).unwrap_or(&self.spec.name);
        let name = prefix.map_or_else(|| own.to_owned(), |it| format!("{it}_{own}"));
        Arc::make_mut(&mut self.spec).name = name;
        self
    }

    /// The tool without the need for a permission.
    pub(crate) fn without_permission(mut self) -> Self {
        Arc::make_mut(&mut self.spec).requires_permission = false;
        self
    }

    /// The tool as a registry takes it.
    pub(crate) fn into_arc(self) -> Arc<dyn Tool> {
        Arc::new(self)
    }

    /// Returns true if it is this tool of this server.
    pub(crate) fn is(&self, server: &str, tool: &str) -> bool {
        self.link.server.name == server && self.tool == tool
    }

    /// The scope of the server.
    pub(crate) fn scope(&self) -> &Scope {
        &self.link.server.scope
    }

    async fn call(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, Failure> {
        let connection = tokio::select! {
            connection = self.link.connect(Consent::Call(&call.id)) => connection?,
            () = context.cancel.cancelled() => return Err(Failure::Cancelled),
        };
        if let Err(text) = self.link.settle(&self.tool, &call.id) {
            return Ok(ToolOutput::failure(text));
        }
        let mut params = CallToolRequestParams::new(self.tool.clone());
        if let Value::Object(arguments) = &call.args {
            params = params.with_arguments(arguments.clone());
        }
        let terms = CallTerms {
            progress: &context.progress,
            cancel: &context.cancel,
            timeout: self.link.server.call_timeout,
        };
        let returned = connection.call(params, terms).await?;
        self.link.praise().await;
        let rich = result::content(&returned);
        let rich = rich.filter(|_| self.keeps_content);
        let mut output = self.advised(result::output(returned));
        output.facts.extend(rich.map(|rich| (result::CONTENT.to_owned(), rich)));
        Ok(output)
    }

    /// A failure that the sandbox may have caused, with what would lift it. Some servers report one as
    /// if all were well: their words stay as they are, and it is said beside them.
    fn advised(&self, mut output: ToolOutput) -> ToolOutput {
        let server = &self.link.server;
        if !matches!(server.transport, Transport::Stdio(_)) {
            return output;
        }
        match &mut output.error {
            Some(words) => {
                if let Some(remedy) = crate::launch::remedy(server, words) {
                    *words = format!("{words}\n\n({remedy})");
                }
            }
            None if output.output.len() <= LONGEST_EXCUSE => {
                let remedy = crate::launch::seems_shut_off(server, &output.output);
                output.error = remedy.map(|remedy| format!("({remedy})"));
            }
            None => {}
        }
        output
    }
}

/// The command that lets a call run which a server's own change holds up, whatever rules allow. None
/// if that is not the cause.
pub fn approval_hint(ruling: &Ruling, source: &str, args: &Value) -> Option<String> {
    let is_held_up = ruling.reasons.iter().any(|reason| reason.origin == source);
    let server = match source.strip_prefix("mcp")?.rsplit_once(':') {
        Some((_, server)) => server,
        None => args.get("server")?.as_str()?,
    };
    is_held_up
        .then(|| format!("`brynhild mcp approve {server}` shows what changed and agrees to it"))
}

/// Where a server's tools come from, as rules know it. A project's server never counts as one of
/// the user's own of the same name.
pub(crate) fn source(link: &Link) -> String {
    match &link.server.scope {
        Scope::User => format!("mcp:{}", link.server.name),
        Scope::Plugin(plugin) => format!("mcp:{plugin}:{}", link.server.name),
        Scope::Project => format!("mcp:project:{}", link.server.name),
    }
}

/// What using a server does, as far as it can be told.
pub(crate) fn actions(link: &Link, what: &str) -> Vec<Action> {
    let opaque = Action::Opaque { what: format!("{what} of MCP server {}", link.server.name) };
    match &link.server.transport {
        Transport::Stdio(_) => vec![opaque],
        Transport::Http(address) => vec![opaque, Action::Connect { host: address.host() }],
    }
}

/// What the model reads of a failure; what ends more than the call stays an error.
pub(crate) fn told(outcome: Result<ToolOutput, Failure>) -> Result<ToolOutput, ToolError> {
    match outcome {
        Ok(output) => Ok(output),
        Err(failure @ (Failure::Sandbox(_) | Failure::Cancelled)) => Err(failure.into_tool_error()),
        Err(failure) => Ok(ToolOutput::failure(failure.whole())),
    }
}

#[async_trait]
impl Tool for McpTool {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, _args: &Value) -> Result<Plan, ToolError> {
        Ok(Plan::from(actions(&self.link, &self.tool)))
    }

    async fn caution(&self, call: &ToolCall) -> Option<String> {
        self.link.caution(&self.tool, &call.id).await
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        told(self.call(call, context).await)
    }
}
