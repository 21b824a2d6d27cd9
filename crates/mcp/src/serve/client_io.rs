//! The user and the model on the client's side, as far as the client can reach them.
#![expect(deprecated, reason = "sampling is deprecated, and most clients use it")]

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, CreateMessageRequestParams, ElicitRequest,
    ElicitRequestParams, ElicitationAction, InputRequest, InputRequests, InputRequiredResult,
    SamplingMessage,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::json;

use crate::client_handler::message_text;
use crate::client_registry::ClientIo;
use crate::question::{Question, QuestionAnswer, SamplingReply, SamplingRequest, Wanted};

/// How long a user on the client's side may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(5);
/// The key under which a question waits for its answer.
const APPROVAL: &str = "approval";

/// A result that asks the client to come back with an answer.
pub(super) fn input_required(question: &str) -> InputRequiredResult {
    let wanted = InputRequest::Elicitation(ElicitRequest::new(form(question)));
    InputRequiredResult::from_input_requests(InputRequests::from([(APPROVAL.to_owned(), wanted)]))
}

/// Asks the user of a client: by an elicitation, or in revisions that have none, by an unfinished
/// result that the client repeats its call with.
pub(super) struct PeerIo {
    peer: Peer<RoleServer>,
    elicitation: Elicitation,
    /// True if the client has a model for sampling.
    can_sample: bool,
    open_question: Mutex<Option<String>>,
}

/// The way in which a client can be asked for consent.
enum Elicitation {
    None,
    Request,
    /// By an unfinished result, with the answer if the call is the repeated one.
    InputRequired(Option<bool>),
}

impl PeerIo {
    pub(super) fn new(
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Self {
        let can_ask = context.client_capabilities().is_some_and(|it| it.elicitation.is_some());
        let is_modern = context.protocol_version().is_some_and(|it| !it.has_initialize());
        let elicitation = match (can_ask, is_modern) {
            (false, _) => Elicitation::None,
            (true, false) => Elicitation::Request,
            (true, true) => {
                let answers = request.input_responses.as_ref();
                let answer = answers.and_then(|answers| answers.get(APPROVAL));
                Elicitation::InputRequired(answer.map(|answer| answer["action"] == "accept"))
            }
        };
        Self { elicitation, ..Self::without_call(context) }
    }

    /// For a request that is no call: its result cannot be left unfinished.
    pub(super) fn without_call(context: &RequestContext<RoleServer>) -> Self {
        let capabilities = context.client_capabilities();
        let is_modern = context.protocol_version().is_some_and(|it| !it.has_initialize());
        let has = |asks: fn(&ClientCapabilities) -> bool| {
            !is_modern && capabilities.as_ref().is_some_and(asks)
        };
        let elicitation = if has(|it| it.elicitation.is_some()) {
            Elicitation::Request
        } else {
            Elicitation::None
        };
        let can_sample = has(|it| it.sampling.is_some());
        let open_question = Mutex::default();
        Self { peer: context.peer.clone(), elicitation, can_sample, open_question }
    }

    /// The question that waits for an answer.
    pub(super) fn take_open(&self) -> Option<String> {
        self.open_question.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[async_trait]
impl ClientIo for PeerIo {
    async fn consent(&self, question: &str) -> Option<bool> {
        match &self.elicitation {
            Elicitation::None => None,
            Elicitation::InputRequired(Some(answer)) => Some(*answer),
            Elicitation::InputRequired(None) => {
                let mut open = self.open_question.lock().unwrap_or_else(PoisonError::into_inner);
                *open = Some(question.to_owned());
                None
            }
            Elicitation::Request => {
                let asked = self.peer.create_elicitation(form(question));
                let answer = tokio::time::timeout(ANSWER_TIMEOUT, asked).await.ok()?.ok()?;
                Some(answer.action == ElicitationAction::Accept)
            }
        }
    }

    async fn answer(&self, question: &Question) -> Option<QuestionAnswer> {
        if !matches!(self.elicitation, Elicitation::Request) {
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
        let answer = tokio::time::timeout(ANSWER_TIMEOUT, asked).await.ok()?.ok()?;
        Some(match answer.action {
            ElicitationAction::Accept => {
                let fields = answer.content.as_ref().and_then(|content| content.as_object());
                QuestionAnswer::Accept(fields.cloned().unwrap_or_default())
            }
            ElicitationAction::Decline => QuestionAnswer::Decline,
            _ => QuestionAnswer::Cancel,
        })
    }

    async fn sample(&self, request: &SamplingRequest) -> Option<Result<SamplingReply, String>> {
        if !self.can_sample {
            return None;
        }
        let message = |(speaker, words): &(String, String)| match speaker.as_str() {
            "assistant" => SamplingMessage::assistant_text(words),
            _ => SamplingMessage::user_text(words),
        };
        let messages = request.messages.iter().map(message).collect();
        let mut params = CreateMessageRequestParams::new(messages, request.max_tokens);
        params.system_prompt.clone_from(&request.system);
        let asked = tokio::time::timeout(ANSWER_TIMEOUT, self.peer.create_message(params)).await;
        Some(match asked {
            Ok(Ok(written)) => {
                let (model, text) = (written.model.clone(), message_text(&written.message));
                Ok(SamplingReply { model, text })
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
