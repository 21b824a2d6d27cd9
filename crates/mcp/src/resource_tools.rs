//! The two tools through which the model lists and reads the resources of servers.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use contract::message::ToolCall;
use contract::tool::{
    Plan, Recovery, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, Traits,
};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::server_state::{Consent, ServerState};
use crate::server_tool::{actions, outcome};
use crate::{sanitize, tool_result};

/// The action of a tool.
enum ResourceAction {
    List,
    Read,
}

/// The content of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResourceOutput {
    /// Text for the model.
    Text,
    /// Beside the text, the resources as the server sent them.
    Contents,
}

/// The fact that holds the resources of a server.
pub(crate) const RESOURCES: &str = "resources";
/// The fact that holds the resource templates of a server.
pub(crate) const TEMPLATES: &str = "templates";
/// The fact that holds the contents of a resource.
pub(crate) const CONTENTS: &str = "contents";

/// One of the tools.
struct ResourceTool {
    states: Vec<Arc<ServerState>>,
    action: ResourceAction,
    spec: Arc<ToolSpec>,
    output: ResourceOutput,
}

/// The name of the tool that lists resources.
pub const LIST_RESOURCES: &str = "ListMcpResources";
/// The name of the tool that reads one.
pub const READ_RESOURCE: &str = "ReadMcpResource";

/// The tools for servers that have resources; none where no server has.
pub(crate) fn tools(states: &[Arc<ServerState>], output: ResourceOutput) -> Vec<Arc<dyn Tool>> {
    if states.is_empty() {
        return Vec::new();
    }
    let names: Vec<&str> = states.iter().map(|state| state.server.name.as_str()).collect();
    let server = json!({"type": "string", "enum": names, "description": "The MCP server"});
    let list = spec(
        LIST_RESOURCES,
        "Lists the resources (files, records, documents) that an MCP server has, with their URIs.",
        json!({"type": "object", "properties": {"server": server.clone()}, "required": ["server"]}),
    );
    let read = spec(
        READ_RESOURCE,
        "Reads a resource of an MCP server by its URI.",
        json!({
            "type": "object",
            "properties": {
                "server": server,
                "uri": {"type": "string", "description": "The URI, as ListMcpResources gives it"},
            },
            "required": ["server", "uri"],
        }),
    );
    let make = |(action, spec)| {
        Arc::new(ResourceTool { states: states.to_vec(), action, spec, output }) as Arc<dyn Tool>
    };
    [(ResourceAction::List, list.into()), (ResourceAction::Read, read.into())].map(make).into()
}

fn spec(name: &str, description: &str, input_schema: Value) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: input_schema.into(),
        version: String::new(),
        categories: vec!["mcp".to_owned()],
        requires_permission: true,
        risk_level: Risk::Mutating,
        recovery_policy: Recovery::Allow,
        parallel: true,
        source: "mcp".to_owned(),
        traits: Traits::default(),
    }
}

impl ResourceTool {
    fn state(&self, args: &Value) -> Result<&Arc<ServerState>, ToolError> {
        let name = args.get("server").and_then(Value::as_str).unwrap_or_default();
        let state = self.states.iter().find(|state| state.server.name == name);
        state.ok_or_else(|| ToolError::Input(format!("no MCP server `{name}` has resources")))
    }

    async fn perform(&self, state: &ServerState, call: &ToolCall) -> Result<ToolOutput, Failure> {
        let connection = state.connect(Consent::Call(&call.id)).await?;
        let mut facts = BTreeMap::new();
        let mut keep = |name: &str, value: serde_json::Result<Value>| {
            if self.output == ResourceOutput::Contents {
                facts.insert(name.to_owned(), value.unwrap_or_default());
            }
        };
        let text = match self.action {
            ResourceAction::List => {
                let (resources, templates) = connection.resources().await?;
                keep(RESOURCES, serde_json::to_value(&resources));
                keep(TEMPLATES, serde_json::to_value(&templates));
                let about = |text: Option<&String>| {
                    text.map(|text| format!(": {}", sanitize::clean(text))).unwrap_or_default()
                };
                let mut lines: Vec<String> = resources
                    .iter()
                    .map(|it| format!("{} ({}){}", it.uri, it.name, about(it.description.as_ref())))
                    .collect();
                lines.extend(templates.iter().map(|it| {
                    let about = about(it.description.as_ref());
                    format!("{} ({}, a template){about}", it.uri_template, it.name)
                }));
                if lines.is_empty() { "it has no resources".to_owned() } else { lines.join("\n") }
            }
            ResourceAction::Read => {
                let uri = call.args.get("uri").and_then(Value::as_str).unwrap_or_default();
                let read = connection.read(uri).await?;
                keep(CONTENTS, serde_json::to_value(&read.contents));
                tool_result::resource(&read)
            }
        };
        state.note_success().await;
        Ok(ToolOutput { facts, ..ToolOutput::success(text) })
    }
}

#[async_trait]
impl Tool for ResourceTool {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        let state = self.state(args)?;
        Ok(Plan::from(actions(state, "resources")))
    }

    async fn caution(&self, call: &ToolCall) -> Option<String> {
        self.state(&call.args).ok()?.caution("", &call.id).await
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let state = self.state(&call.args)?;
        let work = async {
            let timeout = state.server.call_timeout;
            let work = tokio::time::timeout(timeout, self.perform(state, call)).await;
            let late = || Failure::of(&state.server, format!("did not answer within {timeout:?}"));
            work.unwrap_or_else(|_| Err(late()))
        };
        outcome(tokio::select! {
            outcome = work => outcome,
            () = context.cancel.cancelled() => Err(Failure::Cancelled),
        })
    }
}
