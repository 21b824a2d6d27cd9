//! Runs the requests of clients. All calls of one client are one session. Changes since the last
//! request are picked up with the next one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use contract::event::{Answer, EventKind, Input, Level};
use contract::id::{CallId, InvalidSessionId};
use contract::message::ToolCall;
use contract::tool::{Tool, ToolOutput};
use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use super::client_session::{Request, Sessions};
use super::current_offer::CurrentOffer;
use super::host::{Host, Offer};
use crate::catalog::PromptEntry;
use crate::client_registry::{ClientIo, ClientRegistry};

/// Counts the calls of all clients.
static CALLS: AtomicU64 = AtomicU64::new(1);

/// Runs the requests of all clients.
pub struct Backend {
    pub(super) host: Arc<dyn Host>,
    pub(super) current: Arc<CurrentOffer>,
    pub(super) sessions: Sessions,
    /// The servers whose resources cannot be listed, of which the user was warned.
    pub(super) warned: Mutex<BTreeSet<String>>,
    registry: Arc<ClientRegistry>,
}

/// A call by a client.
pub(super) struct Call {
    pub(super) name: String,
    pub(super) args: Value,
    pub(super) cancel: CancellationToken,
    /// Takes lines of output while it runs.
    pub(super) progress: tokio::sync::mpsc::Sender<String>,
    pub(super) client: Arc<dyn ClientIo>,
}

impl Backend {
    /// Serves an offer of the host until that changes.
    pub fn new(
        host: Arc<dyn Host>,
        offer: Offer,
        registry: Arc<ClientRegistry>,
    ) -> Result<Self, InvalidSessionId> {
        Ok(Self {
            current: Arc::new(CurrentOffer::new(Arc::clone(&host), offer)),
            host,
            sessions: Sessions::new()?,
            warned: Mutex::default(),
            registry,
        })
    }

    /// Ends the sessions of clients that are still there.
    pub async fn close(&self) {
        self.end_sessions().await;
    }

    pub(super) async fn prompts(&self) -> Vec<PromptEntry> {
        let offer = self.current.refreshed().await;
        let mut prompts = offer.command_prompts();
        for (_, _, entry) in offer.server_prompts() {
            if !prompts.iter().any(|known| known.name == entry.name) {
                prompts.push(entry);
            }
        }
        prompts
    }

    /// The messages of a prompt, as the protocol has them. The client reads the error.
    pub(super) async fn prompt(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
    ) -> Result<Value, String> {
        let offer = self.current.refreshed().await;
        let mut of_servers = offer.server_prompts().into_iter();
        let found = of_servers.find(|(_, _, entry)| entry.name == name);
        if let Some((servers, command, _)) = found.filter(|_| offer.commands.find(name).is_none()) {
            let messages = servers.prompt_messages(&command, arguments).await;
            return messages.map_err(|failure| failure.to_string());
        }
        let text = offer.command_text(name, arguments)?;
        Ok(json!([{"role": "user", "content": {"type": "text", "text": text}}]))
    }

    /// The URIs of resources that change.
    pub(super) fn updates(&self) -> broadcast::Receiver<String> {
        self.registry.updates.subscribe()
    }
}

impl Request<'_> {
    /// Judges a call of one of these tools and runs it.
    pub(super) async fn perform(&self, tools: Vec<Arc<dyn Tool>>, call: Call) -> ToolOutput {
        let Call { name, args, cancel, progress, client } = call;
        if cancel.is_cancelled() {
            return ToolOutput::failure("interrupted: not run");
        }
        let tool = tools.iter().find(|tool| tool.spec().name == name);
        let registry = &self.backend.registry;
        let _registered = tool.map(|tool| registry.register(&tool.spec().source, &client));
        let mut conversation = self.backend.host.open(&self.offer, self.session, tools);
        // An id of its own: consent to one call says nothing of another.
        let id = CallId(format!("call-{}", CALLS.fetch_add(1, Ordering::Relaxed)));
        let input = Input::Call(ToolCall { id, name, args, opaque: None });
        // A conversation that has ended is noticed by the loop below.
        let _ = conversation.inputs().send(input).await;
        let mut result = None;
        let mut is_stopping = false;
        loop {
            let event = tokio::select! {
                biased;
                () = cancel.cancelled(), if !is_stopping => {
                    is_stopping = true;
                    let _ = conversation.inputs().send(Input::Interrupt).await;
                    continue;
                }
                event = conversation.next_event() => event,
            };
            let Some(event) = event else { break };
            match &event.kind {
                EventKind::Asked { call, .. } => {
                    let question = self.backend.host.question(&event);
                    let answer = ask(&question, &cancel, client.as_ref()).await;
                    let input = Input::Answer { call: call.clone(), answer, by: None };
                    let _ = conversation.inputs().send(input).await;
                }
                EventKind::ToolProgress { text, .. } => {
                    // A client that is behind can do without a line.
                    let _ = progress.try_send(text.clone());
                }
                EventKind::ToolFinished { output, content, .. } if event.within.is_none() => {
                    let text = content.clone();
                    let told = if output.success {
                        ToolOutput::success(text)
                    } else {
                        ToolOutput::failure(text)
                    };
                    result = Some(ToolOutput { facts: output.facts.clone(), ..told });
                }
                EventKind::Notice { level: Level::Warning | Level::Error, text, .. } => {
                    self.backend.host.frontend().warn(text);
                }
                EventKind::TurnFinished { .. } if event.within.is_none() => break,
                _ => {}
            }
        }
        conversation.finish().await;
        result.unwrap_or_else(|| ToolOutput::failure("the call did not finish"))
    }
}

/// Asks the user on the client's side for a permission. A cancelled call is denied.
async fn ask(question: &str, cancel: &CancellationToken, client: &dyn ClientIo) -> Answer {
    let consent = tokio::select! {
        biased;
        () = cancel.cancelled() => Some(false),
        consent = client.consent(question) => consent,
    };
    match consent {
        Some(true) => Answer::Once,
        Some(false) => Answer::Deny { reason: None },
        None => Answer::Unavailable,
    }
}
