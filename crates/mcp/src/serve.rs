//! Our tools for other agents, and with them our commands as prompts and our skills as texts: lists
//! them and passes calls on. What may run is decided behind [`Backend`], never here.
#![expect(deprecated, reason = "logging is deprecated, and most clients use it")]

mod desk;
mod http;
mod lingering;
mod teller;
mod told;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use contract::tool::{Risk, ToolOutput, ToolSpec};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorCode, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, Implementation, JsonObject, ListPromptsResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, Prompt, PromptArgument, PromptMessage,
    PromptsCapability, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    Resource, ResourceContents, ResourcesCapability, Role, ServerCapabilities, ServerConfig,
    SetLevelRequestParams, Tool, ToolAnnotations, ToolsCapability,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ErrorData, ServerHandler, ServiceExt};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::catalog::{ArgumentEntry, PromptEntry};
use crate::failure::Failure;
use desk::Desk;
use teller::{Loudness, Teller};

pub use http::http;

/// The longest message that a client may send.
const LONGEST_LINE: usize = 32 << 20;
/// What runs the tools that are offered.
#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// The tools.
    fn tools(&self) -> Arc<[Arc<ToolSpec>]>;

    /// Judges a call and runs it.
    async fn call(&self, call: Call) -> ToolOutput;

    /// The prompts.
    fn prompts(&self) -> Vec<PromptEntry>;

    /// A prompt with its blanks filled in. The error is told to the client.
    async fn prompt(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
    ) -> Result<String, String>;

    /// The texts that can be read.
    fn texts(&self) -> Vec<Text>;

    /// One of the texts.
    fn text(&self, uri: &str) -> Option<String>;
}

/// A text that can be read.
pub struct Text {
    /// Its address.
    pub uri: String,
    /// Its name for people.
    pub name: String,
    /// What it is about.
    pub description: String,
}

/// A call by another agent.
pub struct Call {
    /// The tool.
    pub name: String,
    /// The arguments.
    pub args: Value,
    /// Says when to stop.
    pub cancel: CancellationToken,
    /// Takes lines of output while it runs.
    pub progress: mpsc::Sender<String>,
    /// Asks the person on the client's side.
    pub asker: Arc<dyn Asker>,
}

/// Asks the person on the client's side.
#[async_trait]
pub trait Asker: Send + Sync {
    /// Whether the person agrees; none where nobody can be asked.
    async fn ask(&self, question: &str) -> Option<bool>;
}

/// Serves one client on a pair of streams until it leaves or `cancel` fires.
pub async fn streams(
    backend: Arc<dyn Backend>,
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
    cancel: CancellationToken,
) -> Result<(), Failure> {
    let (read, write) = lingering::pair(read, write);
    let transport = AsyncRwTransport::new_server(read, write).with_max_line_length(LONGEST_LINE);
    let broken = |error: &dyn std::fmt::Display| Failure::new(format!("the client left: {error}"));
    let server = tokio::select! {
        served = Server::new(backend).serve_with_ct(transport, cancel.clone()) => served,
        () = cancel.cancelled() => return Ok(()),
    };
    let server = server.map_err(|error| broken(&error))?;
    server.waiting().await.map_err(|error| broken(&error))?;
    Ok(())
}

/// One client's view of the tools.
#[derive(Clone)]
pub(crate) struct Server {
    backend: Arc<dyn Backend>,
    loudness: Loudness,
}

impl Server {
    /// A view for one more client.
    pub(crate) fn new(backend: Arc<dyn Backend>) -> Self {
        Self { backend, loudness: Loudness::default() }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::default();
        capabilities.tools = Some(ToolsCapability::default());
        capabilities.prompts = Some(PromptsCapability::default());
        capabilities.resources = Some(ResourcesCapability::default());
        capabilities.completions = Some(JsonObject::default());
        capabilities.logging = Some(JsonObject::default());
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("brynhild", env!("CARGO_PKG_VERSION")))
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.loudness.set(request.level);
        Ok(())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let specs = self.backend.tools();
        Ok(ListToolsResult::with_all_items(specs.iter().map(|spec| described(spec)).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tools = self.backend.tools();
        let Some(spec) = tools.iter().find(|spec| spec.name == *request.name) else {
            return Err(refusal(format!("Unknown tool: {}", request.name)));
        };
        let asker = Arc::new(Desk::new(&request, &context));
        let (progress, lines) = mpsc::channel(64);
        let token = context.meta.get_progress_token();
        let teller = Teller::start(&context.peer, token, (&spec.name, &self.loudness), lines);
        let output = self
            .backend
            .call(Call {
                name: request.name.to_string(),
                args: Value::Object(request.arguments.unwrap_or_default()),
                cancel: context.ct.clone(),
                progress,
                asker: Arc::clone(&asker) as Arc<dyn Asker>,
            })
            .await;
        teller.finish().await;
        if let Some(question) = asker.take_open() {
            return Ok(desk::unfinished(&question).into());
        }
        Ok(told::result(spec, &output).into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = self.backend.prompts().into_iter().map(|prompt| {
            let argument = |argument: ArgumentEntry| {
                let described = PromptArgument::new(argument.name).with_required(argument.required);
                described.with_description(argument.description)
            };
            let arguments = prompt.arguments.into_iter().map(argument).collect();
            Prompt::new(prompt.name, Some(prompt.description), Some(arguments))
        });
        Ok(ListPromptsResult::with_all_items(prompts.collect()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let arguments = request.arguments.unwrap_or_default();
        let arguments = arguments.iter().map(|(name, value)| (name.clone(), text(value)));
        let text = self.backend.prompt(&request.name, &arguments.collect()).await;
        let message = PromptMessage::new_text(Role::User, text.map_err(refusal)?);
        Ok(GetPromptResult::new(vec![message]).into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = self.backend.texts().into_iter().map(|text| {
            Resource::new(text.uri, text.name)
                .with_description(text.description)
                .with_mime_type("text/markdown")
        });
        Ok(ListResourcesResult::with_all_items(resources.collect()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let Some(text) = self.backend.text(&request.uri) else {
            let words = format!("there is no resource {}", request.uri);
            return Err(ErrorData::resource_not_found(words, None));
        };
        let contents = ResourceContents::text(text, request.uri).with_mime_type("text/markdown");
        Ok(ReadResourceResult::new(vec![contents]).into())
    }
}

fn refusal(text: String) -> ErrorData {
    ErrorData::new(ErrorCode::INVALID_PARAMS, text, None)
}

fn described(spec: &ToolSpec) -> Tool {
    let schema = spec.input_schema.as_object().cloned().unwrap_or_default();
    let annotations = ToolAnnotations::new()
        .read_only(spec.risk_level == Risk::ReadOnly)
        .destructive(spec.risk_level == Risk::HighImpact);
    Tool::new(spec.name.clone(), spec.description.clone(), Arc::new(schema))
        .with_annotations(annotations)
}
