//! Our tools for other agents, and with them our commands as prompts and our skills as texts: lists
//! them and passes calls on. What may run is decided behind [`Backend`], never here.
#![expect(deprecated, reason = "logging is deprecated, and most clients use it")]

mod changed;
mod desk;
mod http;
mod lingering;
mod replay;
mod teller;
mod told;
mod watched;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use contract::tool::{Risk, ToolOutput, ToolSpec};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorCode, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, Implementation, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, Prompt, PromptArgument,
    PromptMessage, PromptsCapability, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ResourceContents, ResourcesCapability, ServerCapabilities, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool, ToolAnnotations,
    ToolsCapability, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ErrorData, ServerHandler, ServiceExt};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{broadcast, mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::catalog::{ArgumentEntry, PromptEntry};
use crate::connection::Watch;
use crate::failure::Failure;
use crate::person::{Answer, Question, Sampled, Sampling};
use changed::Changed;
use desk::Desk;
use lingering::Lingering;
use teller::{Loudness, Teller};
use watched::Watched;

pub use http::{http, token};

/// The longest message that a client may send.
const LONGEST_LINE: usize = 32 << 20;
/// What runs the tools that are offered.
#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// Takes in a client. What it does is one session, which ends when this is dropped.
    fn welcome(self: Arc<Self>) -> Arc<dyn Guest>;

    /// The tools, as they are at this moment.
    async fn tools(&self) -> Arc<[Arc<ToolSpec>]>;

    /// Counts how often others have taken the place of the tools.
    fn changes(&self) -> watch::Receiver<u64>;

    /// The prompts.
    async fn prompts(&self) -> Vec<PromptEntry>;

    /// A prompt with its blanks filled in: messages as the protocol has them. The error is told to
    /// the client.
    async fn prompt(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
    ) -> Result<Value, String>;

    /// Hears the addresses of what has changed.
    fn updates(&self) -> broadcast::Receiver<String>;
}

/// What one client can have done.
#[async_trait]
pub trait Guest: Send + Sync {
    /// Judges a call and runs it; none where there is no such tool.
    async fn call(&self, call: Call) -> Option<Called>;

    /// What can be read.
    async fn resources(&self) -> Resources;

    /// What something holds that can be read: a list of contents as the protocol has them; none
    /// where there is no such thing. The error is told to the client.
    async fn read(&self, uri: &str, asker: Arc<dyn Asker>) -> Result<Option<Value>, String>;

    /// Watches something that can be read, or no longer. The error is told to the client.
    async fn watch(&self, uri: &str, watch: Watch) -> Result<(), String>;
}

/// A call that has ended.
pub struct Called {
    /// The tool.
    pub spec: Arc<ToolSpec>,
    /// What came of it.
    pub output: ToolOutput,
}

/// What can be read, as the protocol describes it.
#[derive(Debug, Default)]
pub struct Resources {
    /// Things with an address of their own.
    pub resources: Vec<Value>,
    /// Patterns of addresses.
    pub templates: Vec<Value>,
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
    /// Asks the user on the client's side.
    pub asker: Arc<dyn Asker>,
}

/// Asks the user on the client's side.
#[async_trait]
pub trait Asker: Send + Sync {
    /// Whether the user agrees; none where nobody can be asked.
    async fn ask(&self, question: &str) -> Option<bool>;

    /// What the user answers a server of ours; none where nobody can be asked.
    async fn answer(&self, question: &Question) -> Option<Answer>;

    /// What the client's model writes for a server of ours; none where it has none.
    async fn sample(&self, sampling: &Sampling) -> Option<Result<Sampled, String>>;
}

/// Nobody: there is no client, or none that can be asked.
pub struct Alone;

#[async_trait]
impl Asker for Alone {
    async fn ask(&self, _: &str) -> Option<bool> {
        None
    }

    async fn answer(&self, _: &Question) -> Option<Answer> {
        None
    }

    async fn sample(&self, _: &Sampling) -> Option<Result<Sampled, String>> {
        None
    }
}

/// Serves one client on a pair of streams until it leaves or `cancel` fires.
pub async fn streams(
    backend: Arc<dyn Backend>,
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
    cancel: CancellationToken,
) -> Result<(), Failure> {
    let view = Server::new(backend, None);
    let transport = AsyncRwTransport::new_server(read, write).with_max_line_length(LONGEST_LINE);
    let transport = Lingering::new(transport, view.left.clone());
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
    backend: Arc<dyn Backend>,
    guest: Arc<dyn Guest>,
    /// Whoever asks by requests that belong to no session.
    passers: Option<Arc<dyn Guest>>,
    loudness: Loudness,
    watched: Watched,
    changed: Changed,
    /// Fires when the client has asked its last, where that can be told.
    left: CancellationToken,
}

impl Server {
    /// A view for one more client.
    pub(crate) fn new(backend: Arc<dyn Backend>, passers: Option<Arc<dyn Guest>>) -> Self {
        let guest = Arc::clone(&backend).welcome();
        let (loudness, watched) = (Loudness::default(), Watched::default());
        let changed = Changed::new(&backend);
        let left = CancellationToken::new();
        Self { backend, guest, passers, loudness, watched, changed, left }
    }

    /// In whose session a request is.
    fn guest(&self, context: &RequestContext<RoleServer>) -> &Arc<dyn Guest> {
        let head = context.extensions.get::<::http::request::Parts>();
        let is_passing = head.is_some_and(|head| !head.headers.contains_key(http::SESSION));
        self.passers.as_ref().filter(|_| is_passing).unwrap_or(&self.guest)
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
        self.changed.tell(context.peer);
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.changed.expect(&self.backend);
        let mut accepted = SubscriptionFilter::new();
        accepted.tools_list_changed = requested.tools_list_changed;
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        tokio::select! {
            () = self.changed.listen(&context) => {}
            () = self.left.cancelled() => {}
        }
        Ok(())
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
        let specs = self.backend.tools().await;
        Ok(ListToolsResult::with_all_items(specs.iter().map(|spec| described(spec)).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let asker = Arc::new(Desk::new(&request, &context));
        let (progress, lines) = mpsc::channel(64);
        let token = context.meta.get_progress_token();
        let teller = Teller::start(&context.peer, token, (&request.name, &self.loudness), lines);
        let name = request.name.to_string();
        let called = self
            .guest(&context)
            .call(Call {
                name: name.clone(),
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
        let Called { spec, output } =
            called.ok_or_else(|| refusal(format!("Unknown tool: {name}")))?;
        Ok(told::result(&spec, &output).into())
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
        let resources = self.guest(&context).resources().await.resources;
        Ok(ListResourcesResult::with_all_items(known(resources)))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = known(self.guest(&context).resources().await.templates);
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.guest(&context).watch(&request.uri, Watch::Begin).await.map_err(refusal)?;
        self.watched.add(request.uri, &self.backend, &context.peer);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // Others may still want to know: whoever asked for it is no longer told, and that is all.
        self.watched.remove(&request.uri);
        Ok(())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let asker = Arc::new(Desk::bare(&context));
        let read = self.guest(&context).read(&request.uri, asker).await.map_err(refusal)?;
        let Some(contents) = read else {
            let words = format!("there is no resource {}", request.uri);
            return Err(ErrorData::resource_not_found(words, None));
        };
        let contents: Vec<ResourceContents> =
            serde_json::from_value(contents).map_err(|error| {
                refusal(format!("what {} holds makes no sense: {error}", request.uri))
            })?;
        Ok(ReadResourceResult::new(contents).into())
    }
}

/// Things that a server of ours described, as far as the protocol knows them.
fn known<T: DeserializeOwned>(described: Vec<Value>) -> Vec<T> {
    described.into_iter().filter_map(|value| serde_json::from_value(value).ok()).collect()
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
