//! Our tools for other agents (`mcp serve`), with our commands as prompts and our skills as
//! resources. The binary decides what is offered and what may run, behind [`host::Host`].
#![expect(deprecated, reason = "logging is deprecated, and most clients use it")]

mod backend;
mod call_result;
mod client_io;
mod client_session;
mod current_offer;
mod draining;
pub mod host;
mod http;
mod progress;
mod replay;
mod resources;
mod subscriptions;
mod texts;
mod tool_changes;

use std::sync::Arc;

use contract::tool::{Risk, ToolSpec};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorCode, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, Implementation, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, Prompt, PromptArgument,
    PromptMessage, PromptsCapability, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ResourcesCapability, ServerCapabilities, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool, ToolAnnotations,
    ToolsCapability, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ErrorData, ServerHandler, ServiceExt};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::catalog::ArgumentEntry;
use crate::client_registry::ClientIo;
use crate::failure::Failure;
use backend::Call;
use client_io::PeerIo;
use client_session::ClientSession;
use draining::Draining;
use progress::{LogLevel, ProgressReport};
use subscriptions::Subscriptions;
use tool_changes::ToolChanges;

pub use backend::Backend;
pub use http::{http, token};

/// The longest message that a client may send.
const LONGEST_LINE: usize = 32 << 20;

/// Serves one client on a pair of streams until it leaves or `cancel` fires.
pub async fn streams(
    backend: Arc<Backend>,
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
    cancel: CancellationToken,
) -> Result<(), Failure> {
    let view = Server::new(backend, None);
    let transport = AsyncRwTransport::new_server(read, write).with_max_line_length(LONGEST_LINE);
    let transport = Draining::new(transport, view.left.clone());
    let broken = |error: &dyn std::fmt::Display| Failure::new(format!("the client left: {error}"));
    let server = tokio::select! {
        served = view.serve_with_ct(transport, cancel.clone()) => served,
        () = cancel.cancelled() => return Ok(()),
    };
    let server = server.map_err(|error| broken(&error))?;
    server.waiting().await.map_err(|error| broken(&error))?;
    Ok(())
}

/// One client's view of the tools.
#[derive(Clone)]
pub(crate) struct Server {
    backend: Arc<Backend>,
    session: Arc<ClientSession>,
    /// The session of all requests that belong to none, over HTTP.
    shared_session: Option<Arc<ClientSession>>,
    log_level: LogLevel,
    subscriptions: Subscriptions,
    tool_changes: ToolChanges,
    /// Fires when the client has closed its end.
    left: CancellationToken,
}

impl Server {
    /// A view for one more client.
    fn new(backend: Arc<Backend>, shared_session: Option<Arc<ClientSession>>) -> Self {
        Self {
            session: Arc::new(ClientSession::new(Arc::clone(&backend))),
            shared_session,
            log_level: LogLevel::default(),
            subscriptions: Subscriptions::default(),
            tool_changes: ToolChanges::new(&backend),
            left: CancellationToken::new(),
            backend,
        }
    }

    /// The session that a request belongs to.
    fn session(&self, context: &RequestContext<RoleServer>) -> &ClientSession {
        let head = context.extensions.get::<::http::request::Parts>();
        let has_none = head.is_some_and(|head| !head.headers.contains_key(http::SESSION));
        self.shared_session.as_ref().filter(|_| has_none).unwrap_or(&self.session)
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::default();
        let mut tools = ToolsCapability::default();
        tools.list_changed = Some(true);
        capabilities.tools = Some(tools);
        capabilities.prompts = Some(PromptsCapability::default());
        let mut resources = ResourcesCapability::default();
        resources.subscribe = Some(true);
        capabilities.resources = Some(resources);
        capabilities.completions = Some(JsonObject::default());
        capabilities.logging = Some(JsonObject::default());
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("brynhild", env!("CARGO_PKG_VERSION")))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.tool_changes.notify(context.peer);
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.tool_changes.expect(&self.backend);
        let mut accepted = SubscriptionFilter::new();
        accepted.tools_list_changed = requested.tools_list_changed;
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        tokio::select! {
            () = self.tool_changes.listen(&context) => {}
            () = self.left.cancelled() => {}
        }
        Ok(())
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.log_level.set(request.level);
        Ok(())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let specs = &self.backend.current.refreshed().await.specs;
        Ok(ListToolsResult::with_all_items(specs.iter().map(|spec| described(spec)).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let client = Arc::new(PeerIo::new(&context, Some(&request)));
        let (progress, lines) = mpsc::channel(64);
        let token = context.meta.get_progress_token();
        let report =
            ProgressReport::start(&context.peer, token, (&request.name, &self.log_level), lines);
        let name = request.name.to_string();
        let call = Call {
            name: name.clone(),
            args: Value::Object(request.arguments.unwrap_or_default()),
            cancel: context.ct.clone(),
            progress,
            client: Arc::clone(&client) as Arc<dyn ClientIo>,
        };
        let called = self.session(&context).call(call).await;
        report.finish().await;
        if let Some(question) = client.take_open() {
            return Ok(client_io::input_required(&question).into());
        }
        let (spec, output) = called.ok_or_else(|| refusal(format!("Unknown tool: {name}")))?;
        Ok(call_result::result(&spec, &output).into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = self.backend.prompts().await.into_iter().map(|prompt| {
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
        let given = self.backend.prompt(&request.name, &arguments.collect()).await;
        let messages: Vec<PromptMessage> = serde_json::from_value(given.map_err(refusal)?)
            .map_err(|error| refusal(format!("{} makes no sense: {error}", request.name)))?;
        Ok(GetPromptResult::new(messages).into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let list = self.session(&context).request().await.resources().await;
        Ok(ListResourcesResult::with_all_items(list.resources))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let list = self.session(&context).request().await.resources().await;
        Ok(ListResourceTemplatesResult::with_all_items(list.templates))
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let session = self.session(&context).request().await;
        session.subscribe(&request.uri).await.map_err(refusal)?;
        self.subscriptions.add(request.uri, &self.backend, &context.peer);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // The server goes on telling us: other clients may want to know.
        self.subscriptions.remove(&request.uri);
        Ok(())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let client = Arc::new(PeerIo::new(&context, None));
        let session = self.session(&context).request().await;
        let contents = session.read(&request.uri, client).await.map_err(refusal)?;
        let contents = contents.ok_or_else(|| {
            let message = format!("there is no resource {}", request.uri);
            ErrorData::resource_not_found(message, None)
        })?;
        Ok(ReadResourceResult::new(contents).into())
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
