//! Our tools for other agents: lists them and passes calls on. What may run is decided behind
//! [`Backend`], never here.

mod http;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use contract::tool::{Risk, ToolOutput, ToolSpec};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest,
    ElicitRequestParams, ElicitationAction, ErrorCode, Implementation, InputRequest, InputRequests,
    InputRequiredResult, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    ProgressToken, ServerCapabilities, ServerConfig, Tool, ToolAnnotations, ToolsCapability,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ErrorData, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;

pub use http::http;

/// The longest message that a client may send.
const LONGEST_LINE: usize = 32 << 20;
/// How long a person on the client's side may take to answer.
const PATIENCE: Duration = Duration::from_mins(5);
/// The key under which a question waits for its answer.
const APPROVAL: &str = "approval";

/// What runs the tools that are offered.
#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// The tools.
    fn tools(&self) -> Arc<[Arc<ToolSpec>]>;

    /// Judges a call and runs it.
    async fn call(&self, call: Call) -> ToolOutput;
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
    let transport = AsyncRwTransport::new_server(read, write).with_max_line_length(LONGEST_LINE);
    let broken = |error: &dyn std::fmt::Display| Failure::new(format!("the client left: {error}"));
    let server = tokio::select! {
        served = Server { backend }.serve_with_ct(transport, cancel.clone()) => served,
        () = cancel.cancelled() => return Ok(()),
    };
    let server = server.map_err(|error| broken(&error))?;
    server.waiting().await.map_err(|error| broken(&error))?;
    Ok(())
}

/// One client's view of the tools.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) backend: Arc<dyn Backend>,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::default();
        capabilities.tools = Some(ToolsCapability::default());
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("brynhild", env!("CARGO_PKG_VERSION")))
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
        if !self.backend.tools().iter().any(|spec| spec.name == *request.name) {
            let text = format!("Unknown tool: {}", request.name);
            return Err(ErrorData::new(ErrorCode::INVALID_PARAMS, text, None));
        }
        let asker = Arc::new(Desk::new(&request, &context));
        let (progress, lines) = mpsc::channel(64);
        let teller = context
            .meta
            .get_progress_token()
            .map(|token| tokio::spawn(tell(context.peer.clone(), token, lines)));
        let teller = Teller(teller);
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
            let wanted = InputRequest::Elicitation(ElicitRequest::new(form(&question)));
            let wanted = InputRequests::from([(APPROVAL.to_owned(), wanted)]);
            return Ok(InputRequiredResult::from_input_requests(wanted).into());
        }
        let said = vec![ContentBlock::text(output.for_model())];
        Ok(if output.success {
            CallToolResult::success(said).into()
        } else {
            CallToolResult::error(said).into()
        })
    }
}

fn described(spec: &ToolSpec) -> Tool {
    let schema = spec.input_schema.as_object().cloned().unwrap_or_default();
    let annotations = ToolAnnotations::new()
        .read_only(spec.risk_level == Risk::ReadOnly)
        .destructive(spec.risk_level == Risk::HighImpact);
    Tool::new(spec.name.clone(), spec.description.clone(), Arc::new(schema))
        .with_annotations(annotations)
}

/// Passes lines of output on as progress.
async fn tell(peer: Peer<RoleServer>, token: ProgressToken, mut lines: mpsc::Receiver<String>) {
    let mut count = 0.0;
    while let Some(line) = lines.recv().await {
        count += 1.0;
        let progress = ProgressNotificationParam::new(token.clone(), count).with_message(line);
        if peer.notify_progress(progress).await.is_err() {
            return;
        }
    }
}

/// The task that tells progress; ended with the call.
struct Teller(Option<JoinHandle<()>>);

impl Teller {
    /// Waits until everything is told.
    async fn finish(mut self) {
        if let Some(task) = self.0.take() {
            // A client that left needs no progress.
            let _ = task.await;
        }
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

/// Asks the client for a person's word: by a question of its own, or in revisions that know none,
/// by an unfinished result that the client comes back with.
struct Desk {
    peer: Peer<RoleServer>,
    manner: Manner,
    open: std::sync::Mutex<Option<String>>,
}

enum Manner {
    Nobody,
    Question,
    Unfinished(Option<bool>),
}

impl Desk {
    fn new(request: &CallToolRequestParams, context: &RequestContext<RoleServer>) -> Self {
        let can_ask = context.client_capabilities().is_some_and(|it| it.elicitation.is_some());
        let is_modern = context.protocol_version().is_some_and(|it| !it.has_initialize());
        let manner = match (can_ask, is_modern) {
            (false, _) => Manner::Nobody,
            (true, false) => Manner::Question,
            (true, true) => {
                let answers = request.input_responses.as_ref();
                let answer = answers.and_then(|answers| answers.get(APPROVAL));
                Manner::Unfinished(answer.map(|answer| answer["action"] == "accept"))
            }
        };
        Self { peer: context.peer.clone(), manner, open: std::sync::Mutex::default() }
    }

    /// The question that waits for an answer.
    fn take_open(&self) -> Option<String> {
        self.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    }
}

#[async_trait]
impl Asker for Desk {
    async fn ask(&self, question: &str) -> Option<bool> {
        match &self.manner {
            Manner::Nobody => None,
            Manner::Unfinished(Some(answer)) => Some(*answer),
            Manner::Unfinished(None) => {
                let mut open = self.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                *open = Some(question.to_owned());
                None
            }
            Manner::Question => {
                let asked = self.peer.create_elicitation(form(question));
                let answer = tokio::time::timeout(PATIENCE, asked).await.ok()?.ok()?;
                Some(answer.action == ElicitationAction::Accept)
            }
        }
    }
}

/// A question that is answered by accepting it.
fn form(question: &str) -> ElicitRequestParams {
    let schema = serde_json::from_value(json!({"type": "object", "properties": {}}));
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question.to_owned(),
        requested_schema: schema.expect("an empty form is a form"),
    }
}
