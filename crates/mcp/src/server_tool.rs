//! A server's tool as the model calls it.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use contract::action::Action;
use contract::message::ToolCall;
use contract::policy::Ruling;
use contract::tool::{
    Plan, Recovery, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, Traits,
};
use rmcp::model::CallToolRequestParams;
use serde_json::Value;

use crate::catalog::ToolEntry;
use crate::config::{Scope, Transport};
use crate::connection::CallContext;
use crate::failure::Failure;
use crate::server_state::{Consent, ServerState};
use crate::{sanitize, tool_name, tool_result};

/// Upper bound on a result that may be nothing but the report of a failure.
const MAX_FAILURE_REPORT: usize = 1000;

/// A server's tool.
pub(crate) struct ServerTool {
    pub(crate) state: Arc<ServerState>,
    /// The server's name for it.
    tool: String,
    pub(crate) spec: Arc<ToolSpec>,
    /// True if results keep what the model cannot see.
    pub(crate) keeps_content: bool,
}

impl ServerTool {
    /// The tool of an entry, under a name that is not taken.
    pub(crate) fn new(
        state: &Arc<ServerState>,
        entry: &ToolEntry,
        taken: &mut BTreeSet<String>,
    ) -> Self {
        let title = entry.title.as_deref().map(sanitize::clean).filter(|title| !title.is_empty());
        let words = sanitize::clean(&entry.description);
        let description = match (title, words.is_empty()) {
            (Some(title), true) => title,
            (None, true) => {
                format!("{} of MCP server {}", sanitize::clean(&entry.name), state.prefix)
            }
            (_, false) => words,
        };
        let spec = ToolSpec {
            name: tool_name::joined(&state.prefix, &entry.name, taken),
            description,
            input_schema: sanitize::arguments(entry.input_schema.clone()).into(),
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
            source: source(state),
            traits: Traits::default(),
        };
        let keeps_content = state.keeps_content();
        let (state, tool) = (Arc::clone(state), entry.name.clone());
        Self { state, tool, spec: spec.into(), keeps_content }
    }

    /// The tool under the server's own name for it, behind a prefix if one is given.
    pub(crate) fn by_own_name(mut self, prefix: Option<&str>) -> Self {
        let stem = format!("mcp__{}__", self.state.prefix);
        let own = self.spec.name.strip_prefix(&stem).unwrap_or(&self.spec.name);
        let name = prefix.map_or_else(|| own.to_owned(), |it| format!("{it}_{own}"));
        Arc::make_mut(&mut self.spec).name = name;
        self
    }

    /// The tool as a registry takes it.
    pub(crate) fn into_arc(self) -> Arc<dyn Tool> {
        Arc::new(self)
    }

    /// Returns true if it is this tool of this server.
    pub(crate) fn is(&self, server: &str, tool: &str) -> bool {
        self.state.server.name == server && self.tool == tool
    }

    async fn call(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, Failure> {
        let connection = tokio::select! {
            connection = self.state.connect(Consent::Call(&call.id)) => connection?,
            () = context.cancel.cancelled() => return Err(Failure::Cancelled),
        };
        if let Err(text) = self.state.approve_shown(&self.tool, &call.id) {
            return Ok(ToolOutput::failure(text));
        }
        let mut params = CallToolRequestParams::new(self.tool.clone());
        if let Value::Object(arguments) = &call.args {
            params = params.with_arguments(arguments.clone());
        }
        let call_context = CallContext {
            progress: &context.progress,
            cancel: &context.cancel,
            timeout: self.state.server.call_timeout,
        };
        let returned = connection.call(params, call_context).await?;
        self.state.note_success().await;
        let rich = tool_result::content(&returned);
        let rich = rich.filter(|_| self.keeps_content);
        let mut output = self.with_advice(tool_result::output(returned));
        output.facts.extend(rich.map(|rich| (tool_result::CONTENT.to_owned(), rich)));
        Ok(output)
    }

    /// Adds advice to a failure that the sandbox may have caused. Some servers report one as a success:
    /// the advice then stands beside their text.
    fn with_advice(&self, mut output: ToolOutput) -> ToolOutput {
        let server = &self.state.server;
        if !matches!(server.transport, Transport::Stdio(_)) {
            return output;
        }
        match &mut output.error {
            Some(words) => {
                if let Some(remedy) = crate::launch::remedy(server, words) {
                    *words = format!("{words}\n\n({remedy})");
                }
            }
            None if output.output.len() <= MAX_FAILURE_REPORT => {
                let remedy = crate::launch::advice_on_success(server, &output.output);
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

/// The source of a server's tools, as rules name it. A project's server never counts as one of the
/// user's own of the same name.
pub(crate) fn source(state: &ServerState) -> String {
    match &state.server.scope {
        Scope::User => format!("mcp:{}", state.server.name),
        Scope::Plugin(plugin) => format!("mcp:{plugin}:{}", state.server.name),
        Scope::Project => format!("mcp:project:{}", state.server.name),
    }
}

/// The actions of a use of a server.
pub(crate) fn actions(state: &ServerState, what: &str) -> Vec<Action> {
    let opaque = Action::Opaque { what: format!("{what} of MCP server {}", state.server.name) };
    match &state.server.transport {
        Transport::Stdio(_) => vec![opaque],
        Transport::Http(address) => vec![opaque, Action::Connect { host: address.host() }],
    }
}

/// The outcome of a call: most failures are results that the model reads.
pub(crate) fn outcome(outcome: Result<ToolOutput, Failure>) -> Result<ToolOutput, ToolError> {
    match outcome {
        Ok(output) => Ok(output),
        Err(Failure::Sandbox(error)) => Err(ToolError::Sandbox(error)),
        Err(Failure::Cancelled) => Err(ToolError::Cancelled),
        Err(failure) => Ok(ToolOutput::failure(failure.with_hint())),
    }
}

#[async_trait]
impl Tool for ServerTool {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, _args: &Value) -> Result<Plan, ToolError> {
        Ok(Plan::from(actions(&self.state, &self.tool)))
    }

    async fn caution(&self, call: &ToolCall) -> Option<String> {
        self.state.caution(&self.tool, &call.id).await
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        outcome(self.call(call, context).await)
    }
}
