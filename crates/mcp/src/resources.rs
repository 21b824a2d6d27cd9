//! Two tools through which the model lists and reads the resources of servers.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use contract::message::ToolCall;
use contract::tool::{
    Plan, Recovery, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, Traits,
};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::link::{Consent, Link};
use crate::tool::{actions, told};
use crate::{result, schema};

/// What one of the tools does.
enum Deed {
    List,
    Read,
}

/// What results hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeping {
    /// Words for the model.
    Words,
    /// Beside these, the resources as they came.
    Contents,
}

/// The fact that holds the resources that a server has.
pub const RESOURCES: &str = "resources";
/// The fact that holds the templates of resources that a server has.
pub const TEMPLATES: &str = "templates";
/// The fact that holds what a resource holds.
pub const CONTENTS: &str = "contents";

/// One of the tools.
struct ResourceTool {
    links: Vec<Arc<Link>>,
    deed: Deed,
    spec: Arc<ToolSpec>,
    keeping: Keeping,
}

/// The name of the tool that lists resources.
pub const LIST: &str = "ListMcpResources";
/// The name of the tool that reads one.
pub const READ: &str = "ReadMcpResource";

/// The tools for servers that have resources; none where no server has.
pub(crate) fn tools(links: &[Arc<Link>], keeping: Keeping) -> Vec<Arc<dyn Tool>> {
    if links.is_empty() {
        return Vec::new();
    }
    let names: Vec<&str> = links.iter().map(|link| link.server.name.as_str()).collect();
    let server = json!({"type": "string", "enum": names, "description": "The MCP server"});
    let list = spec(
        LIST,
        "Lists the resources (files, records, documents) that an MCP server has, with their URIs.",
        json!({"type": "object", "properties": {"server": server.clone()}, "required": ["server"]}),
    );
    let read = spec(
        READ,
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
    let make = |(deed, spec)| {
        Arc::new(ResourceTool { links: links.to_vec(), deed, spec, keeping }) as Arc<dyn Tool>
    };
    [(Deed::List, list.into()), (Deed::Read, read.into())].map(make).into()
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
    fn link(&self, args: &Value) -> Result<&Arc<Link>, ToolError> {
        let name = args.get("server").and_then(Value::as_str).unwrap_or_default();
        let link = self.links.iter().find(|link| link.server.name == name);
        link.ok_or_else(|| ToolError::Input(format!("no MCP server `{name}` has resources")))
    }

    async fn perform(&self, link: &Link, call: &ToolCall) -> Result<ToolOutput, Failure> {
        let connection = link.connect(Consent::Call(&call.id)).await?;
        let mut facts = BTreeMap::new();
        let mut keep = |name: &str, value: serde_json::Result<Value>| {
            if self.keeping == Keeping::Contents {
                facts.insert(name.to_owned(), value.unwrap_or_default());
            }
        };
        let text = match self.deed {
            Deed::List => {
                let (resources, templates) = connection.resources().await?;
                keep(RESOURCES, serde_json::to_value(&resources));
                keep(TEMPLATES, serde_json::to_value(&templates));
                let about = |text: Option<&String>| {
                    text.map(|text| format!(": {}", schema::clean(text))).unwrap_or_default()
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
            Deed::Read => {
                let uri = call.args.get("uri").and_then(Value::as_str).unwrap_or_default();
                let read = connection.read(uri).await?;
                keep(CONTENTS, serde_json::to_value(&read.contents));
                result::resource(&read)
            }
        };
        link.praise().await;
        Ok(ToolOutput { facts, ..ToolOutput::success(text) })
    }
}

#[async_trait]
impl Tool for ResourceTool {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        let link = self.link(args)?;
        Ok(Plan::from(actions(link, "resources")))
    }

    async fn caution(&self, call: &ToolCall) -> Option<String> {
        self.link(&call.args).ok()?.caution("", &call.id).await
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let link = self.link(&call.args)?;
        let work = async {
            let patience = link.server.call_timeout;
            let work = tokio::time::timeout(patience, self.perform(link, call)).await;
            work.unwrap_or_else(|_| {
                let name = &link.server.name;
                Err(Failure::new(format!("MCP server `{name}` did not answer within {patience:?}")))
            })
        };
        told(tokio::select! {
            outcome = work => outcome,
            () = context.cancel.cancelled() => Err(Failure::Cancelled),
        })
    }
}
