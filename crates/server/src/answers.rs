//! Answers to questions: the first one counts, and one that comes after the turn resumes the work.

use contract::event::{Answer, EventKind, Input};
use contract::id::CallId;
use http::StatusCode;
use serde_json::{Value, json};

use crate::credentials::Client;
use crate::host::Failure;
use crate::reply::{self, Reply};
use crate::room::{Grant, Room};

/// The right that an answer needs.
pub(crate) fn is_remembered(answer: &Answer) -> bool {
    matches!(answer, Answer::Session | Answer::Project | Answer::Always)
}

/// Answers a question, or says who did.
pub(crate) async fn give(
    room: &Room,
    client: &Client,
    call: CallId,
    answer: Answer,
) -> Result<Option<Reply>, Failure> {
    if let Some(reply) = answered(room, &call) {
        return Ok(Some(reply));
    }
    let (question, is_running) = {
        let fold = room.fold.borrow();
        (fold.question(&call).cloned(), fold.is_running)
    };
    let Some(question) = question else {
        let what = format!("no question about the call `{call}` is open");
        return Err(Failure::new(StatusCode::NOT_FOUND, what));
    };
    // From here on the question counts as answered, whoever else answers.
    room.fold.borrow_mut().settle(&call, &answer, Some(&client.name));
    if is_running {
        room.input(Input::Answer { call, answer, by: Some(client.name.clone()) }).await?;
        return Ok(None);
    }
    let EventKind::Asked { tool, args, .. } = question.kind else { return Ok(None) };
    let text = match &answer {
        Answer::Cancel | Answer::Unavailable => return Ok(None),
        Answer::Deny { reason } => {
            let why = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("The question about `{tool}` is answered now: no{why}. Go on without it.")
        }
        Answer::Once | Answer::Session | Answer::Project | Answer::Always => {
            let by = client.name.clone();
            let text = format!(
                "The question about `{tool}` is answered now: it may run. Make the same call again, \
                 with the same arguments, and go on."
            );
            room.grants.borrow_mut().push(Grant { tool, args, answer, by });
            text
        }
    };
    room.input(Input::Prompt { text }).await?;
    Ok(None)
}

/// The refusal of an answer to a question that has one.
fn answered(room: &Room, call: &CallId) -> Option<Reply> {
    let winner: Value = room.fold.borrow().answer_to(call)?.clone();
    let message = "the question is answered already";
    let body = json!({"error": {"message": message}, "answer": winner});
    Some(reply::json(StatusCode::CONFLICT, &body))
}
