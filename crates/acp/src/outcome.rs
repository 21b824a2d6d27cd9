//! The answer to a prompt, by how its turn ended.

use contract::event::Outcome;
use contract::message::StopReason;
use serde_json::{Value, json};

use crate::host::Failure;
use crate::wire::Code;

/// The result of `session/prompt`. After a cancellation no failure is reported.
pub(crate) fn answer(outcome: &Outcome, is_cancelled: bool) -> Result<Value, Failure> {
    let reason = match outcome {
        Outcome::Answered { stop_reason: StopReason::MaxTokens } => "max_tokens",
        Outcome::Answered { stop_reason: StopReason::Refusal } | Outcome::Blocked { .. } => {
            "refusal"
        }
        Outcome::Answered { stop_reason: StopReason::Interrupted } | Outcome::Cancelled => {
            "cancelled"
        }
        Outcome::Limited { limit, .. } => match limit.as_str() {
            "max_tokens" => "max_tokens",
            "max_turns" => "max_turn_requests",
            _ => "end_turn",
        },
        Outcome::Failed { .. } if is_cancelled => "cancelled",
        Outcome::Failed { error, hint } => {
            return Err(Failure { hint: hint.clone(), ..Failure::new(Code::Internal, error) });
        }
        Outcome::Answered { .. } | Outcome::Finished(_) | Outcome::Stuck { .. } => "end_turn",
    };
    let mut answer = json!({"stopReason": reason});
    if let Outcome::Limited { .. } | Outcome::Stuck { .. } | Outcome::Blocked { .. } = outcome {
        answer["_meta"] = json!({"brynhild": {"outcome": outcome}});
    }
    Ok(answer)
}

/// The words about the end of a turn that the stop reason does not say.
pub(crate) fn words(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Limited { limit, told, .. } => {
            let limit = if told.is_empty() { limit } else { told };
            Some(format!("The turn ended at the limit {limit}."))
        }
        Outcome::Stuck { why } => Some(format!("The model went in circles: {why}")),
        Outcome::Blocked { hook, reason } => {
            Some(format!("The hook {hook} stopped the turn: {reason}"))
        }
        Outcome::Finished(finish) => Some(finish.summary.clone()).filter(|it| !it.is_empty()),
        Outcome::Answered { .. } | Outcome::Cancelled | Outcome::Failed { .. } => None,
    }
}
