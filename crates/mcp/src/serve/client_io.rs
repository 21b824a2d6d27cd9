//! The user and the model on the client's side, as far as the client can reach them.
#![expect(deprecated, reason = "sampling is deprecated, and most clients use it")]

use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use rmcp::model::{
    CallToolRequestParams, CreateMessageRequestParams, ElicitRequest, ElicitRequestParams,
    ElicitationAction, InputRequest, InputRequests, InputRequiredResult, SamplingMessage,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::{Value, json};

use crate::client_handler::message_text;
use crate::client_registry::ClientIo;
use crate::mutex::lock;
use crate::question::{Question, QuestionAnswer, SamplingReply, SamplingRequest, Wanted};

/// How long a user on the client's side may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(5);
/// The key under which a question waits for its answer.
const APPROVAL: &str = "approval";

/// A result that asks the client to come back with an answer.
pub(super) fn input_required(question: &str) -> InputRequiredResult {
    let wanted = InputRequest::Elicitation(ElicitRequest::new(consent_form(question)));
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
    /// For a request of a client. The result of a call can be left unfinished.
    pub(super) fn new(
        context: &RequestContext<RoleServer>,
        call: Option<&CallToolRequestParams>,
    ) -> Self {
        let capabilities = context.client_capabilities().unwrap_or_default();
        let is_modern = context.protocol_version().is_some_and(|it| !it.has_initialize());
        let elicitation = match (capabilities.elicitation, call) {
            (Some(_), _) if !is_modern => Elicitation::Request,
            (Some(_), Some(call)) => {
                let answers = call.input_responses.as_ref();
                let answer = answers.and_then(|answers| answers.get(APPROVAL));
                Elicitation::InputRequired(answer.map(|answer| answer["action"] == "accept"))
            }
            _ => Elicitation::None,
        };
        let can_sample = !is_modern && capabilities.sampling.is_some();
        let open_question = Mutex::default();
        Self { peer: context.peer.clone(), elicitation, can_sample, open_question }
    }

    /// The question that waits for an answer.
    pub(super) fn take_open(&self) -> Option<String> {
        lock(&self.open_question).take()
    }
}

#[async_trait]
impl ClientIo for PeerIo {
    async fn consent(&self, question: &str) -> Option<bool> {
        match &self.elicitation {
            Elicitation::None => None,
            Elicitation::InputRequired(Some(answer)) => Some(*answer),
            Elicitation::InputRequired(None) => {
                *lock(&self.open_question) = Some(question.to_owned());
                None
            }
            Elicitation::Request => {
                let asked = self.peer.create_elicitation(consent_form(question));
                let answer = tokio::time::timeout(ANSWER_TIMEOUT, asked).await.ok()?.ok()?;
                Some(answer.action == ElicitationAction::Accept)
            }
        }
    }

    async fn answer(&self, question: &Question) -> Option<QuestionAnswer> {
        if !matches!(self.elicitation, Elicitation::Request) {
            return None;
        }
        // A page that a server names is not for a user of another machine.
        let Wanted::Form(schema) = &question.wanted else { return None };
        let message = format!("MCP server `{}` asks: {}", question.server, question.message);
        let asked = self.peer.create_elicitation(form(message, schema)?);
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
        let message = |(role, text): &(String, String)| match role.as_str() {
            "assistant" => SamplingMessage::assistant_text(text),
            _ => SamplingMessage::user_text(text),
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

/// The request to fill in a form. None if its schema is invalid.
fn form(message: String, schema: &Value) -> Option<ElicitRequestParams> {
    let requested_schema = serde_json::from_value(schema.clone()).ok()?;
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// A question that is answered by accepting it.
fn consent_form(question: &str) -> ElicitRequestParams {
    let form = form(question.to_owned(), &json!({"type": "object", "properties": {}}));
    form.expect("an empty form is valid")
}
