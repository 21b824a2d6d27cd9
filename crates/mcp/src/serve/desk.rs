//! The user and the model on the client's side, as far as the client can reach them.
#![expect(deprecated, reason = "sampling is deprecated, and most clients use it")]

use std::time::Duration;

use async_trait::async_trait;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, CreateMessageRequestParams, ElicitRequest,
    ElicitRequestParams, ElicitationAction, InputRequest, InputRequests, InputRequiredResult,
    SamplingMessage,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::json;

use super::Asker;
use crate::handler::words;
use crate::person::{Answer, Question, Sampled, Sampling, Wanted};

/// How long a user on the client's side may take to answer.
const PATIENCE: Duration = Duration::from_mins(5);
/// The key under which a question waits for its answer.
const APPROVAL: &str = "approval";

/// A result that asks the client to come back with an answer.
pub(super) fn unfinished(question: &str) -> InputRequiredResult {
    let wanted = InputRequest::Elicitation(ElicitRequest::new(form(question)));
    InputRequiredResult::from_input_requests(InputRequests::from([(APPROVAL.to_owned(), wanted)]))
}

/// Asks the client for a user's word: by a question of its own, or in revisions that know none,
/// by an unfinished result that the client comes back with.
pub(super) struct Desk {
    peer: Peer<RoleServer>,
    manner: Manner,
    /// Whether the client has a model that writes for us.
    can_sample: bool,
    open: std::sync::Mutex<Option<String>>,
}

enum Manner {
    Nobody,
    Question,
    Unfinished(Option<bool>),
}

impl Desk {
    pub(super) fn new(
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Self {
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
        Self { manner, ..Self::bare(context) }
    }

    /// The same for what is no call: there a result cannot be left unfinished.
    pub(super) fn bare(context: &RequestContext<RoleServer>) -> Self {
        let capabilities = context.client_capabilities();
        let is_modern = context.protocol_version().is_some_and(|it| !it.has_initialize());
        let has = |asks: fn(&ClientCapabilities) -> bool| {
            !is_modern && capabilities.as_ref().is_some_and(asks)
        };
        let manner =
            if has(|it| it.elicitation.is_some()) { Manner::Question } else { Manner::Nobody };
        let can_sample = has(|it| it.sampling.is_some());
        let open = std::sync::Mutex::default();
        Self { peer: context.peer.clone(), manner, can_sample, open }
    }

    /// The question that waits for an answer.
    pub(super) fn take_open(&self) -> Option<String> {
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

    async fn answer(&self, question: &Question) -> Option<Answer> {
        if !matches!(self.manner, Manner::Question) {
            return None;
        }
        let message = format!("MCP server `{}` asks: {}", question.server, question.message);
        let params = match &question.wanted {
            Wanted::Form(schema) => ElicitRequestParams::FormElicitationParams {
                meta: None,
                message,
                requested_schema: serde_json::from_value(schema.clone()).ok()?,
            },
            // A page that a server names is not for another machine's person to open.
            Wanted::Visit(_) => return None,
        };
        let asked = self.peer.create_elicitation(params);
        let answer = tokio::time::timeout(PATIENCE, asked).await.ok()?.ok()?;
        Some(match answer.action {
            ElicitationAction::Accept => {
                let fields = answer.content.as_ref().and_then(|content| content.as_object());
                Answer::Accept(fields.cloned().unwrap_or_default())
            }
            ElicitationAction::Decline => Answer::Decline,
            _ => Answer::Cancel,
        })
    }

    async fn sample(&self, sampling: &Sampling) -> Option<Result<Sampled, String>> {
        if !self.can_sample {
            return None;
        }
        let message = |(speaker, words): &(String, String)| match speaker.as_str() {
            "assistant" => SamplingMessage::assistant_text(words),
            _ => SamplingMessage::user_text(words),
        };
        let messages = sampling.messages.iter().map(message).collect();
        let mut params = CreateMessageRequestParams::new(messages, sampling.max_tokens);
        params.system_prompt.clone_from(&sampling.system);
        let asked = tokio::time::timeout(PATIENCE, self.peer.create_message(params)).await;
        Some(match asked {
            Ok(Ok(written)) => {
                let (model, text) = (written.model.clone(), words(&written.message));
                Ok(Sampled { model, text })
            }
            Ok(Err(error)) => Err(format!("the client declined: {error}")),
            Err(_) => Err("the client did not answer".to_owned()),
        })
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
