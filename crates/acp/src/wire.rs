//! The objects of the protocol, by its schema.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The version of the protocol that is spoken.
pub const VERSION: u16 = 1;

/// The errors of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    Parse = -32700,
    InvalidRequest = -32600,
    MethodNotFound = -32601,
    InvalidParams = -32602,
    Internal = -32603,
    Cancelled = -32800,
    AuthenticationRequired = -32000,
    NotFound = -32002,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Initialize {
    /// Read, so that a client without one is told of it; the answer is always [`VERSION`].
    #[serde(rename = "protocolVersion")]
    pub(crate) _protocol_version: u64,
    #[serde(default)]
    pub(crate) client_capabilities: Option<Value>,
}

/// The abilities of the client that change what it is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientAbilities {
    pub notices: bool,
    pub compaction: bool,
    pub terminal_login: bool,
}

impl ClientAbilities {
    /// Reads them leniently, as the schema wants it: what is not understood is not there.
    pub(crate) fn of(capabilities: Option<&Value>) -> Self {
        let at = |pointer: &str| capabilities.and_then(|it| it.pointer(pointer));
        Self {
            notices: at("/session/notices").is_some_and(Value::is_object),
            compaction: at("/session/compaction").is_some_and(Value::is_object),
            terminal_login: at("/auth/terminal") == Some(&Value::Bool(true)),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NewSession {
    pub(crate) cwd: PathBuf,
    pub(crate) mcp_servers: Vec<McpServer>,
    #[serde(default)]
    pub(crate) additional_directories: Option<Vec<PathBuf>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredSession {
    pub(crate) session_id: String,
    pub(crate) cwd: PathBuf,
    #[serde(default)]
    pub(crate) mcp_servers: Option<Vec<McpServer>>,
    #[serde(default)]
    pub(crate) additional_directories: Option<Vec<PathBuf>>,
}

/// An MCP server of the client. One that is a program has no `type`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum McpServer {
    Address {
        #[serde(rename = "type")]
        transport: Transport,
        name: String,
        url: String,
        #[serde(default)]
        headers: Vec<Pair>,
    },
    Program {
        name: String,
        command: String,
        #[serde(default)]
        args: Vec<String>,
        #[serde(default)]
        env: Vec<Pair>,
    },
}

/// Servers as a configuration document. It grants them nothing.
pub fn document(servers: &[McpServer]) -> Value {
    let pairs = |pairs: &[Pair]| -> Map<String, Value> {
        pairs.iter().map(|pair| (pair.name.clone(), pair.value.as_str().into())).collect()
    };
    let entry = |server: &McpServer| match server {
        McpServer::Program { command, args, env, .. } => {
            json!({"command": command, "args": args, "env": pairs(env)})
        }
        McpServer::Address { url, headers, .. } => {
            json!({"type": "http", "url": url, "headers": pairs(headers)})
        }
    };
    let entries = servers.iter().map(|server| (server.name().to_owned(), entry(server)));
    json!({"mcpServers": entries.collect::<Map<_, _>>()})
}

impl McpServer {
    pub fn name(&self) -> &str {
        match self {
            Self::Address { name, .. } | Self::Program { name, .. } => name,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    Http,
    Sse,
}

/// A variable or a header. Its value is a secret.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct Pair {
    pub name: String,
    pub value: String,
}

impl std::fmt::Debug for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}=[redacted]", self.name)
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfSession {
    pub(crate) session_id: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ListSessions {
    #[serde(default)]
    pub(crate) cwd: Option<PathBuf>,
    #[serde(default)]
    pub(crate) cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Authenticate {
    pub(crate) method_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetMode {
    pub(crate) session_id: String,
    pub(crate) mode_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetConfigOption {
    pub(crate) session_id: String,
    pub(crate) config_id: String,
    pub(crate) value: Value,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Prompt {
    pub(crate) session_id: String,
    pub(crate) prompt: Vec<PromptBlock>,
}

/// A part of a prompt.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum PromptBlock {
    Text { text: String },
    ResourceLink { uri: String, name: String },
    Resource { resource: Resource },
    Image {},
    Audio {},
}

#[derive(Debug, Deserialize)]
pub(crate) struct Resource {
    pub(crate) uri: String,
    #[serde(default)]
    pub(crate) text: Option<String>,
    #[serde(default)]
    pub(crate) blob: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CancelRequest {
    pub(crate) request_id: Value,
}

#[derive(Debug, Deserialize)]
pub(crate) struct PermissionAnswer {
    pub(crate) outcome: PermissionOutcome,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub(crate) enum PermissionOutcome {
    Selected {
        #[serde(rename = "optionId")]
        option_id: String,
    },
    Cancelled,
}

/// Content that the client shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Text { text: String },
}

impl Block {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// Something that the client is told about a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case")]
pub enum Update {
    UserMessageChunk(Chunk),
    AgentMessageChunk(Chunk),
    AgentThoughtChunk(Chunk),
    ToolCall(ToolCall),
    ToolCallUpdate(ToolCall),
    Plan {
        entries: Vec<PlanEntry>,
    },
    #[serde(rename_all = "camelCase")]
    AvailableCommandsUpdate {
        available_commands: Vec<Command>,
    },
    #[serde(rename_all = "camelCase")]
    CurrentModeUpdate {
        current_mode_id: &'static str,
    },
    #[serde(rename_all = "camelCase")]
    ConfigOptionUpdate {
        config_options: Vec<ConfigOption>,
    },
    SessionInfoUpdate {
        title: String,
    },
    UsageUpdate {
        used: u64,
        size: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        cost: Option<Cost>,
    },
    Notice {
        severity: &'static str,
        title: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    #[serde(rename_all = "camelCase")]
    CompactionUpdate {
        compaction_id: String,
        status: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        summary: Option<Vec<Block>>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Chunk {
    pub content: Block,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
}

/// A call of a tool, or what changed about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    pub tool_call_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ToolStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<ToolContent>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locations: Option<Vec<Location>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_input: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    Read,
    Edit,
    Execute,
    Fetch,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    Pending,
    InProgress,
    Completed,
    Failed,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolContent {
    Content {
        content: Block,
    },
    #[serde(rename_all = "camelCase")]
    Diff {
        path: PathBuf,
        #[serde(skip_serializing_if = "Option::is_none")]
        old_text: Option<String>,
        new_text: String,
    },
}

impl ToolContent {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Content { content: Block::text(text) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Location {
    pub path: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanEntry {
    pub content: String,
    pub priority: &'static str,
    pub status: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    pub amount: f64,
    pub currency: &'static str,
}

/// A slash command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Command {
    pub name: String,
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Hint>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hint {
    pub hint: String,
}

/// A choice that a session offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigOption {
    pub id: &'static str,
    pub name: &'static str,
    pub category: &'static str,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub current_value: String,
    pub options: Vec<Choice>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    pub value: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}
