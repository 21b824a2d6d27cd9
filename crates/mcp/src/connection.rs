//! The connection to one server, from the handshake to the end of its program.

mod handshake;
mod http_errors;
mod initialize_filter;
mod lists;
mod server_output;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use contract::text::visible;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ClientResult,
    CustomResult, GetPromptRequestParams, GetPromptResult, InputRequest, InputRequests,
    InputResponses, NumberOrString, Prompt, PromptArgument, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResult, Resource, ResourceTemplate, ServerRequest,
    ServerResult, SubscribeRequestParams,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RunningService, Service};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ClientLifecycleMode, RoleClient, ServiceError};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::catalog::{ArgumentEntry, Catalog, PromptEntry, ToolEntry};
use crate::client_handler::{Handler, ProgressRoutes};
use crate::config::{Server, Transport};
use crate::failure::Failure;
use crate::launch::{self, Launch, ServerProcess, StderrTail, advice, remedy};
use crate::settings::Settings;
use handshake::{HandshakeFailure, connect_http, is_misunderstanding, lifecycle, shake_hands};
use initialize_filter::InitializeFilter;
use lists::{all_prompts, all_resources, all_templates, all_tools};
use server_output::{OutputFacts, ServerOutput};

/// The longest message that a server may send, in bytes.
const MAX_MESSAGE: usize = 32 << 20;
/// How often a server may ask for input before it answers one call.
const MAX_INPUT_ROUNDS: usize = 10;
/// How long a program may take to end by itself.
const GRACE: Duration = Duration::from_millis(500);

/// The connection to a server.
pub(crate) struct Connection {
    service: RunningService<RoleClient, Handler>,
    process: Option<ServerProcess>,
    routes: Arc<ProgressRoutes>,
    server: Server,
    settings: Arc<Settings>,
    output: Arc<OutputFacts>,
}

/// The context of a call.
pub(crate) struct CallContext<'a> {
    pub(crate) progress: &'a mpsc::Sender<String>,
    pub(crate) cancel: &'a CancellationToken,
    /// How long the server may be silent.
    pub(crate) timeout: Duration,
}

impl Connection {
    /// Connects to a server. `protocol` is the revision it spoke before, `stderr` takes the standard
    /// error of its program, `again` is awaited before the program is started a second time.
    pub(crate) async fn open(
        (server, stderr): (&Server, &StderrTail),
        settings: &Arc<Settings>,
        protocol: Option<&str>,
        is_stale: &Arc<AtomicBool>,
        again: impl Future<Output = Result<(), Failure>>,
    ) -> Result<Self, Failure> {
        let first = lifecycle(protocol);
        let is_known = first == ClientLifecycleMode::Initialize;
        match Self::attempt((server, stderr), settings, is_stale, first).await {
            // Older servers may answer an unknown method with anything, or end.
            Err(HandshakeFailure { may_be_older: true, .. }) if !is_known => {
                again.await?;
                let older = ClientLifecycleMode::Initialize;
                Self::attempt((server, stderr), settings, is_stale, older).await
            }
            opened => opened,
        }
        .map_err(|error| error.failure)
    }

    async fn attempt(
        (server, stderr): (&Server, &StderrTail),
        settings: &Arc<Settings>,
        is_stale: &Arc<AtomicBool>,
        lifecycle: ClientLifecycleMode,
    ) -> Result<Self, HandshakeFailure> {
        let routes = Arc::<ProgressRoutes>::default();
        let handler = Handler {
            server: server.name.clone(),
            workspace: settings.launch.workspace.clone(),
            user: Arc::clone(&settings.user),
            routes: Arc::clone(&routes),
            is_stale: Arc::clone(is_stale),
            updates: settings.clients.as_ref().map(|clients| clients.updates.clone()),
        };
        let output = Arc::<OutputFacts>::default();
        let (service, process) = match &server.transport {
            Transport::Stdio(program) => {
                let launch = Launch::new(server, program, &settings.launch);
                let (running, (stdout, stdin)) = launch.start(&settings.sandbox, stderr)?;
                let stdout = ServerOutput::new(stdout, MAX_MESSAGE, &output);
                let transport =
                    AsyncRwTransport::new_client(stdout, stdin).with_max_line_length(MAX_MESSAGE);
                match shake_hands(handler, InitializeFilter::new(transport), lifecycle).await {
                    Ok(service) => {
                        // By now it has loaded its script.
                        settings.launch.check_trust(server)?;
                        (service, Some(running))
                    }
                    Err(error) => {
                        let may_be_older = is_misunderstanding(&error);
                        let failure = handshake::start_failure(server, &error, &running).await;
                        return Err(HandshakeFailure { failure, may_be_older });
                    }
                }
            }
            Transport::Http(address) => {
                (connect_http(server, address, settings, handler, lifecycle).await?, None)
            }
        };
        let (server, settings) = (server.clone(), Arc::clone(settings));
        Ok(Self { service, process, routes, server, settings, output })
    }

    /// Returns true if the connection is closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// The revision of the protocol.
    pub(crate) fn protocol(&self) -> Option<ProtocolVersion> {
        self.service.peer().peer_info().map(|info| info.protocol_version.clone())
    }

    /// Fetches the catalog.
    pub(crate) async fn catalog(&self) -> Result<Catalog, Failure> {
        let peer = self.service.peer();
        let info = peer.peer_info();
        let capabilities = info.as_ref().map(|info| info.capabilities.clone()).unwrap_or_default();
        let mut catalog = Catalog::default();
        if let Some(info) = &info {
            catalog.protocol = info.protocol_version.to_string();
            catalog.instructions = info.instructions.clone().unwrap_or_default();
            if let Some(server) = &info.server_info {
                catalog.server = format!("{} {}", server.name, server.version);
            }
        }
        if capabilities.tools.is_some() {
            (catalog.tools, catalog.tasks) = self.tools().await?;
        }
        if capabilities.prompts.is_some() {
            catalog.prompts = self.prompts().await?;
        }
        catalog.resources = capabilities.resources.is_some();
        Ok(catalog)
    }

    /// Its tools, and the names of those that can be run as a task only.
    async fn tools(&self) -> Result<(Vec<ToolEntry>, Vec<String>), Failure> {
        self.output.begin_scan();
        let tools = all_tools(self.service.peer()).await;
        let tasks = self.output.end_scan();
        let (tools, left_out) =
            tools.map_err(|error| self.request_failure("list its tools", &error))?;
        for what in &left_out {
            self.warn(what);
        }
        let mut entries: Vec<ToolEntry> = Vec::with_capacity(tools.len());
        for tool in tools.into_iter().filter(|tool| !tasks.contains(&tool.name)) {
            // A call names a tool, so that the server alone knows which of two it would run.
            if entries.iter().any(|known| known.name == tool.name) {
                let name = visible(&tool.name);
                self.warn(&format!("it lists two tools `{name}`; the first one is used"));
            } else {
                entries.push(tool);
            }
        }
        Ok((entries, tasks.into_iter().collect()))
    }

    fn warn(&self, text: &str) {
        let text = self.server.redact(text);
        self.settings.frontend.warn(&format!("MCP server `{}`: {text}", self.server.name));
    }

    async fn prompts(&self) -> Result<Vec<PromptEntry>, Failure> {
        let prompts = all_prompts(self.service.peer()).await;
        let prompts = prompts.map_err(|error| self.request_failure("list its prompts", &error))?;
        let argument = |argument: PromptArgument| ArgumentEntry {
            name: argument.name,
            description: argument.description.unwrap_or_default(),
            required: argument.required.unwrap_or(false),
        };
        let entry = |prompt: Prompt| PromptEntry {
            name: prompt.name,
            description: prompt.description.or(prompt.title).unwrap_or_default(),
            arguments: prompt.arguments.unwrap_or_default().into_iter().map(argument).collect(),
        };
        Ok(prompts.into_iter().map(entry).collect())
    }

    /// The resources and the templates of resources.
    pub(crate) async fn resources(
        &self,
    ) -> Result<(Vec<Resource>, Vec<ResourceTemplate>), Failure> {
        let peer = self.service.peer();
        let resources = all_resources(peer).await;
        let resources =
            resources.map_err(|error| self.request_failure("list its resources", &error))?;
        // Many servers have no templates and do not know the method.
        Ok((resources, all_templates(peer).await.unwrap_or_default()))
    }

    /// Reads a resource.
    pub(crate) async fn read(&self, uri: &str) -> Result<ReadResourceResult, Failure> {
        let params = ReadResourceRequestParams::new(uri);
        let read = self.service.read_resource(params).await;
        read.map_err(|error| self.request_failure(&format!("read `{uri}`"), &error))
    }

    /// Subscribes to the changes of a resource.
    #[expect(deprecated, reason = "no other method is supported")]
    pub(crate) async fn subscribe(&self, uri: &str) -> Result<(), Failure> {
        let done = self.service.subscribe(SubscribeRequestParams::new(uri)).await;
        done.map_err(|error| self.request_failure(&format!("watch `{uri}`"), &error))
    }

    /// Asks for a prompt.
    pub(crate) async fn prompt(
        &self,
        params: GetPromptRequestParams,
    ) -> Result<GetPromptResult, Failure> {
        let what = format!("give the prompt `{}`", params.name);
        let prompt = self.service.get_prompt(params).await;
        prompt.map_err(|error| self.request_failure(&what, &error))
    }

    /// Calls a tool.
    pub(crate) async fn call(
        &self,
        mut params: CallToolRequestParams,
        context: CallContext<'_>,
    ) -> Result<CallToolResult, Failure> {
        let name = params.name.to_string();
        for _ in 0..MAX_INPUT_ROUNDS {
            match self.call_once(params.clone(), &context).await? {
                ServerResult::CallToolResult(result) => return Ok(result),
                ServerResult::InputRequiredResult(result) => {
                    let wanted = result.input_requests.unwrap_or_default();
                    let responses = self.input(wanted).await?;
                    params.input_responses = (!responses.is_empty()).then_some(responses);
                    params.request_state = result.request_state;
                }
                ServerResult::CustomResult(CustomResult(value)) => {
                    let result = crate::tool_result::lenient(value);
                    return result.ok_or_else(|| self.invalid_result(&name));
                }
                _ => return Err(self.invalid_result(&name)),
            }
        }
        Err(Failure::of(&self.server, "keeps asking and does not answer"))
    }

    async fn call_once(
        &self,
        params: CallToolRequestParams,
        context: &CallContext<'_>,
    ) -> Result<ServerResult, Failure> {
        let what = format!("run `{}`", params.name);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::no_options();
        let sent = self.service.peer().send_cancellable_request(request, options).await;
        let mut handle = match sent {
            Ok(handle) => handle,
            Err(error) => return Err(self.call_failure(&what, &error).await),
        };
        let (route, mut lines) = mpsc::channel(64);
        let _open = self.routes.open(handle.progress_token.clone(), route);
        let sleep = tokio::time::sleep(context.timeout);
        tokio::pin!(sleep);
        loop {
            tokio::select! {
                answer = &mut handle.rx => {
                    let answer = answer.unwrap_or(Err(ServiceError::TransportClosed));
                    drain(&mut lines, context.progress).await;
                    return match answer {
                        Ok(result) => Ok(result),
                        Err(error) => Err(self.call_failure(&what, &error).await),
                    };
                }
                Some(line) = lines.recv() => {
                    sleep.as_mut().reset(tokio::time::Instant::now() + context.timeout);
                    // A listener that is behind can do without a line.
                    let _ = context.progress.try_send(line);
                }
                () = context.cancel.cancelled() => {
                    // The server may be gone; the call is over for us either way.
                    let _ = handle.cancel(Some("interrupted by the user".to_owned())).await;
                    return Err(Failure::Cancelled);
                }
                () = &mut sleep => {
                    let _ = handle.cancel(Some("it took too long".to_owned())).await;
                    let (name, timeout) = (&self.server.name, context.timeout);
                    let hint = format!("`timeout` of the server sets the seconds: mcp.servers.{name}.timeout");
                    let sentence = format!("did not {what} within {timeout:?}");
                    return Err(Failure::of(&self.server, sentence).hinted(hint));
                }
            }
        }
    }

    /// Answers the requests of a server for input.
    async fn input(&self, wanted: InputRequests) -> Result<InputResponses, Failure> {
        let mut responses = InputResponses::new();
        for (key, request) in wanted {
            let id = NumberOrString::String(Arc::from(key.as_str()));
            let context = RequestContext::new(id, self.service.peer().clone());
            let request = match request {
                InputRequest::CreateMessage(request) => {
                    ServerRequest::CreateMessageRequest(request)
                }
                InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
                InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
                _ => {
                    return Err(Failure::of(&self.server, "sends a request of an unknown kind"));
                }
            };
            let answer = self.service.service().handle_request(request, context).await;
            let answer = answer.map_err(|error| {
                let sentence = format!("asked for something: {}", error.message);
                Failure::of(&self.server, sentence)
            })?;
            let answer = match answer {
                ClientResult::CreateMessageResult(result) => serde_json::to_value(result),
                ClientResult::ElicitResult(result) => serde_json::to_value(result),
                ClientResult::ListRootsResult(result) => serde_json::to_value(result),
                _ => continue,
            };
            responses.insert(key, answer.unwrap_or_default());
        }
        Ok(responses)
    }

    /// Ends the connection and the program.
    pub(crate) async fn close(&self) {
        self.service.cancellation_token().cancel();
        if let Some(process) = &self.process {
            process.exit(GRACE).await;
            process.kill();
        }
    }

    /// The failure of a call whose result cannot be read.
    fn invalid_result(&self, tool: &str) -> Failure {
        let why = "with something that is not a result; the tool may have run";
        Failure::of(&self.server, format!("answered the call of `{tool}` {why}"))
    }

    fn request_failure(&self, what: &str, error: &ServiceError) -> Failure {
        if let Some(failure) =
            http_errors::missing_scope(&self.server, &self.settings.credentials, error)
        {
            return failure;
        }
        let why = http_errors::request_error(error);
        let failure = Failure::of(&self.server, format!("did not {what}: {why}"));
        let is_program = matches!(self.server.transport, Transport::Stdio(_));
        match remedy(&self.server, &why).filter(|_| is_program) {
            Some(remedy) => failure.hinted(remedy).redacted(&self.server),
            None => failure,
        }
    }

    /// The failure of a call; with the end of standard error if the server has ended.
    async fn call_failure(&self, what: &str, error: &ServiceError) -> Failure {
        if self.output.has_overflowed() {
            let limit = MAX_MESSAGE >> 20;
            let why = format!("did not {what}: it sent a message of more than {limit} MiB");
            return Failure::of(&self.server, why);
        }
        let is_over = !matches!(error, ServiceError::McpError(_));
        let Some(process) = self.process.as_ref().filter(|_| is_over) else {
            return self.request_failure(what, error);
        };
        let Some(exit) = process.exit(GRACE).await else {
            return self.request_failure(what, error);
        };
        let said = launch::quoted_stderr(&process.stderr());
        let how = launch::exit_text(exit);
        let hint = format!("it restarts at the next call; {}", advice(&self.server, ""));
        let sentence = format!("ended ({how}) and did not {what}{said}");
        Failure::of(&self.server, sentence).hinted(hint)
    }
}

/// Passes on progress that arrived with the answer: it is handled beside it.
async fn drain(lines: &mut mpsc::Receiver<String>, progress: &mpsc::Sender<String>) {
    for _ in 0..4 {
        tokio::task::yield_now().await;
        while let Ok(line) = lines.try_recv() {
            // A listener that is behind can do without a line.
            let _ = progress.try_send(line);
        }
    }
}
