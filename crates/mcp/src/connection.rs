//! A conversation with one server, from the handshake to the end of its program.

mod bounded;
mod handshake;
mod lists;
mod patient;
mod tasks;
mod trouble;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use contract::text::visible;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ClientResult,
    CustomResult, GetPromptRequestParams, GetPromptResult, InputRequest, InputRequests,
    InputResponses, NumberOrString, Prompt, PromptArgument, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResult, Resource, ResourceTemplate, ServerRequest,
    ServerResult, SubscribeRequestParams, Tool,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RunningService, Service};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ClientLifecycleMode, RoleClient, ServiceError};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::catalog::{ArgumentEntry, Catalog, Hints, PromptEntry, ToolEntry};
use crate::config::{Server, Transport};
use crate::failure::Failure;
use crate::frontend::Frontend;
use crate::handler::{Handler, Routes};
use crate::launch::{self, Running, Words, advice, remedy};
use crate::oauth::Credentials;
use crate::settings::Settings;
use bounded::{Bounded, Overflow};
use handshake::{Refusal, is_misunderstanding, lifecycle, not_started, reach, shake_hands};
use lists::{all_prompts, all_resources, all_templates, all_tools};
use patient::Patient;
use tasks::{Overheard, Tasks};

/// The longest message that a server may send.
const LONGEST_LINE: usize = 32 << 20;
/// How often a server may ask for input before it answers one call.
const INPUT_ROUNDS: usize = 10;
/// How long a program may take to end by itself.
const GRACE: Duration = Duration::from_millis(500);

/// A conversation with a server.
pub(crate) struct Connection {
    name: String,
    service: RunningService<RoleClient, Handler>,
    running: Option<Running>,
    routes: Arc<Routes>,
    hint: String,
    server: Server,
    credentials: Credentials,
    overflow: Overflow,
    tasks: Arc<Tasks>,
    frontend: Arc<dyn Frontend>,
}

/// What a call brings with it.
pub(crate) struct CallTerms<'a> {
    pub(crate) progress: &'a mpsc::Sender<String>,
    pub(crate) cancel: &'a CancellationToken,
    /// How long the server may say nothing.
    pub(crate) timeout: Duration,
}

impl Connection {
    /// Reaches a server and shakes hands. `protocol` is the revision it spoke before; `words` takes
    /// what its program says, also where nobody waits for the end of this; `again` says whether the
    /// program may be started once more.
    pub(crate) async fn open(
        (server, words): (&Server, &Words),
        settings: &Settings,
        protocol: Option<&str>,
        is_stale: &Arc<AtomicBool>,
        again: impl Future<Output = Result<(), Failure>>,
    ) -> Result<Self, Failure> {
        let first = lifecycle(protocol);
        let is_known = first == ClientLifecycleMode::Initialize;
        match Self::attempt((server, words), settings, is_stale, first).await {
            // Older servers may answer a word they do not know with anything, or with their end.
            Err(Refusal { failure: _, may_be_older: true }) if !is_known => {
                again.await?;
                let older = ClientLifecycleMode::Initialize;
                let opened = Self::attempt((server, words), settings, is_stale, older).await;
                opened.map_err(|it| it.failure)
            }
            opened => opened.map_err(|refusal| refusal.failure),
        }
    }

    async fn attempt(
        (server, words): (&Server, &Words),
        settings: &Settings,
        is_stale: &Arc<AtomicBool>,
        lifecycle: ClientLifecycleMode,
    ) -> Result<Self, Refusal> {
        let routes = Arc::new(Routes::default());
        let handler = Handler {
            server: server.name.clone(),
            workspace: settings.surroundings.workspace.clone(),
            user: Arc::clone(&settings.user),
            routes: Arc::clone(&routes),
            is_stale: Arc::clone(is_stale),
            updates: settings.clients.as_ref().map(|clients| clients.updates.clone()),
        };
        let (overflow, tasks) = (Overflow::default(), Arc::<Tasks>::default());
        let (service, running) = match &server.transport {
            Transport::Stdio(program) => {
                let (surroundings, sandbox) = (&settings.surroundings, &settings.sandbox);
                let (running, (stdout, stdin)) =
                    Running::start((server, program), surroundings, sandbox, words)?;
                let stdout = Bounded::new(stdout, LONGEST_LINE, &overflow);
                let stdout = Overheard::new(stdout, &tasks);
                let transport =
                    AsyncRwTransport::new_client(stdout, stdin).with_max_line_length(LONGEST_LINE);
                match shake_hands(handler, Patient::new(transport), lifecycle).await {
                    Ok(service) => {
                        // By now it has loaded its script, from wherever that lies.
                        settings.surroundings.vouched(server)?;
                        (service, Some(running))
                    }
                    Err(error) => {
                        let may_be_older = is_misunderstanding(&error);
                        let failure = not_started(server, &error, &running).await;
                        return Err(Refusal { failure, may_be_older });
                    }
                }
            }
            Transport::Http(address) => {
                (reach(server, address, settings, handler, lifecycle).await?, None)
            }
        };
        let hint = advice(server, "");
        let (name, server) = (server.name.clone(), server.clone());
        let credentials = settings.credentials.clone();
        let frontend = Arc::clone(&settings.frontend);
        Ok(Self {
            name,
            service,
            running,
            routes,
            hint,
            server,
            credentials,
            overflow,
            tasks,
            frontend,
        })
    }

    /// Whether the conversation is over.
    pub(crate) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// The revision that was agreed on.
    pub(crate) fn protocol(&self) -> Option<ProtocolVersion> {
        self.service.peer().peer_info().map(|info| info.protocol_version.clone())
    }

    /// Asks for everything that the server offers.
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
        self.tasks.begin();
        let tools = all_tools(self.service.peer()).await;
        let tasks = self.tasks.end();
        let (tools, left_out) = tools.map_err(|error| self.refused("list its tools", &error))?;
        for what in left_out {
            self.say(&what);
        }
        let entry = |tool: Tool| {
            let hints = tool.annotations.as_ref();
            ToolEntry {
                name: tool.name.into_owned(),
                title: tool.title.or_else(|| hints.and_then(|hints| hints.title.clone())),
                description: tool.description.unwrap_or_default().into_owned(),
                input_schema: Arc::unwrap_or_clone(tool.input_schema),
                hints: Hints {
                    read_only: hints.and_then(|hints| hints.read_only_hint),
                    destructive: hints.and_then(|hints| hints.destructive_hint),
                    idempotent: hints.and_then(|hints| hints.idempotent_hint),
                    open_world: hints.and_then(|hints| hints.open_world_hint),
                },
            }
        };
        let mut entries: Vec<ToolEntry> = Vec::with_capacity(tools.len());
        for tool in tools.into_iter().map(entry).filter(|tool| !tasks.contains(&tool.name)) {
            // A call names a tool, so that the server alone knows which of two it would run.
            if entries.iter().any(|known| known.name == tool.name) {
                let name = visible(&tool.name);
                self.say(&format!("it lists two tools `{name}`; the first one counts"));
            } else {
                entries.push(tool);
            }
        }
        Ok((entries, tasks.into_iter().collect()))
    }

    /// Tells people something about the server.
    fn say(&self, what: &str) {
        let what = self.server.without_keys(what);
        self.frontend.warn(&format!("MCP server `{}`: {what}", self.name));
    }

    async fn prompts(&self) -> Result<Vec<PromptEntry>, Failure> {
        let prompts = all_prompts(self.service.peer()).await;
        let prompts = prompts.map_err(|error| self.refused("list its prompts", &error))?;
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
        let resources = resources.map_err(|error| self.refused("list its resources", &error))?;
        // Many servers have no templates and do not know the word.
        Ok((resources, all_templates(peer).await.unwrap_or_default()))
    }

    /// Reads a resource.
    pub(crate) async fn read(&self, uri: &str) -> Result<ReadResourceResult, Failure> {
        let params = ReadResourceRequestParams::new(uri);
        let read = self.service.read_resource(params).await;
        read.map_err(|error| self.refused(&format!("read `{uri}`"), &error))
    }

    /// Subscribes to the changes of a resource.
    #[expect(deprecated, reason = "the servers at hand know no other way")]
    pub(crate) async fn subscribe(&self, uri: &str) -> Result<(), Failure> {
        let done = self.service.subscribe(SubscribeRequestParams::new(uri)).await;
        done.map_err(|error| self.refused(&format!("watch `{uri}`"), &error))
    }

    /// Asks for a prompt.
    pub(crate) async fn prompt(
        &self,
        params: GetPromptRequestParams,
    ) -> Result<GetPromptResult, Failure> {
        let what = format!("give the prompt `{}`", params.name);
        let prompt = self.service.get_prompt(params).await;
        prompt.map_err(|error| self.refused(&what, &error))
    }

    /// Calls a tool.
    pub(crate) async fn call(
        &self,
        mut params: CallToolRequestParams,
        terms: CallTerms<'_>,
    ) -> Result<CallToolResult, Failure> {
        let name = params.name.to_string();
        for _ in 0..INPUT_ROUNDS {
            match self.call_once(params.clone(), &terms).await? {
                ServerResult::CallToolResult(result) => return Ok(result),
                ServerResult::InputRequiredResult(result) => {
                    let wanted = result.input_requests.unwrap_or_default();
                    let responses = self.input(wanted).await?;
                    params.input_responses = (!responses.is_empty()).then_some(responses);
                    params.request_state = result.request_state;
                }
                ServerResult::CustomResult(CustomResult(odd)) => {
                    let kept = crate::result::lenient(odd);
                    return kept.ok_or_else(|| self.senseless(&name));
                }
                _ => return Err(self.senseless(&name)),
            }
        }
        Err(Failure::new(format!("MCP server `{}` keeps asking and does not answer", self.name)))
    }

    async fn call_once(
        &self,
        params: CallToolRequestParams,
        terms: &CallTerms<'_>,
    ) -> Result<ServerResult, Failure> {
        let what = format!("run `{}`", params.name);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::no_options();
        let sent = self.service.peer().send_cancellable_request(request, options).await;
        let mut handle = match sent {
            Ok(handle) => handle,
            Err(error) => return Err(self.lost(&what, &error).await),
        };
        let (route, mut lines) = mpsc::channel(64);
        let _open = self.routes.open(handle.progress_token.clone(), route);
        let sleep = tokio::time::sleep(terms.timeout);
        tokio::pin!(sleep);
        loop {
            tokio::select! {
                answer = &mut handle.rx => {
                    let answer = answer.unwrap_or(Err(ServiceError::TransportClosed));
                    drain(&mut lines, terms.progress).await;
                    return match answer {
                        Ok(result) => Ok(result),
                        Err(error) => Err(self.lost(&what, &error).await),
                    };
                }
                Some(line) = lines.recv() => {
                    sleep.as_mut().reset(tokio::time::Instant::now() + terms.timeout);
                    // A listener that is behind can do without a line.
                    let _ = terms.progress.try_send(line);
                }
                () = terms.cancel.cancelled() => {
                    // The server may be gone; the call is over for us either way.
                    let _ = handle.cancel(Some("interrupted by the user".to_owned())).await;
                    return Err(Failure::Cancelled);
                }
                () = &mut sleep => {
                    let _ = handle.cancel(Some("it took too long".to_owned())).await;
                    return Err(Failure::hinted(
                        format!("MCP server `{}` did not {what} within {:?}", self.name, terms.timeout),
                        format!("`timeout` of the server sets the seconds: mcp.servers.{}.timeout", self.name),
                    ));
                }
            }
        }
    }

    /// Answers what a server wants to know before it goes on.
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
                    return Err(Failure::new(format!(
                        "MCP server `{}` asks for what is unknown here",
                        self.name
                    )));
                }
            };
            let answer = self.service.service().handle_request(request, context).await;
            let answer = answer.map_err(|error| {
                Failure::new(format!(
                    "MCP server `{}` asked for something: {}",
                    self.name, error.message
                ))
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

    /// Ends the conversation and the program.
    pub(crate) async fn close(&self) {
        self.service.cancellation_token().cancel();
        if let Some(running) = &self.running {
            running.ended(GRACE).await;
            running.kill();
        }
    }

    /// It ran, and nobody knows what came of it.
    fn senseless(&self, tool: &str) -> Failure {
        let server = &self.name;
        Failure::new(format!(
            "MCP server `{server}` answered the call of `{tool}` with something that is no result; \
             the tool may have run"
        ))
    }

    fn refused(&self, what: &str, error: &ServiceError) -> Failure {
        if let Some(failure) = trouble::of_rights(&self.server, &self.credentials, error) {
            return failure;
        }
        let why = trouble::of_request(error);
        let message = format!("MCP server `{}` did not {what}: {why}", self.name);
        let is_program = matches!(self.server.transport, Transport::Stdio(_));
        let failure = match remedy(&self.server, &why).filter(|_| is_program) {
            Some(remedy) => Failure::hinted(message, remedy),
            None => Failure::new(message),
        };
        failure.without_keys(&self.server)
    }

    /// A failure of a call; where the server has ended, with its last words.
    async fn lost(&self, what: &str, error: &ServiceError) -> Failure {
        if self.overflow.load(Ordering::Relaxed) {
            return Failure::new(format!(
                "MCP server `{}` did not {what}: it sent a message of more than {} MiB",
                self.name,
                LONGEST_LINE >> 20
            ));
        }
        let is_over = !matches!(error, ServiceError::McpError(_));
        let Some(running) = self.running.as_ref().filter(|_| is_over) else {
            return self.refused(what, error);
        };
        let Some(exit) = running.ended(GRACE).await else { return self.refused(what, error) };
        let said = launch::said(&running.last_words());
        let how = launch::in_words(exit);
        let failure = Failure::hinted(
            format!("MCP server `{}` ended ({how}) and did not {what}{said}", self.name),
            format!("it is started again at the next call; {}", self.hint),
        );
        failure.without_keys(&self.server)
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
