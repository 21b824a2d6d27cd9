//! The person on the client's side, as far as the client can reach one.

use std::time::Duration;

use async_trait::async_trait;
use rmcp::model::{
    CallToolRequestParams, ElicitRequest, ElicitRequestParams, ElicitationAction, InputRequest,
    InputRequests, InputRequiredResult,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::json;

use super::Asker;

/// How long a person on the client's side may take to answer.
const PATIENCE: Duration = Duration::from_mins(5);
/// The key under which a question waits for its answer.
const APPROVAL: &str = "approval";

/// A result that asks the client to come back with an answer.
pub(super) fn unfinished(question: &str) -> InputRequiredResult {
    let wanted = InputRequest::Elicitation(ElicitRequest::new(form(question)));
    InputRequiredResult::from_input_requests(InputRequests::from([(APPROVAL.to_owned(), wanted)]))
}

/// Asks the client for a person's word: by a question of its own, or in revisions that know none,
/// by an unfinished result that the client comes back with.
pub(super) struct Desk {
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
        Self { peer: context.peer.clone(), manner, open: std::sync::Mutex::default() }
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
