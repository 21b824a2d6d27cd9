//! Questions to the user: what the client shows, and what its answer means.

use contract::event::{Answer, Event, EventKind};
use contract::id::CallId;
use serde_json::{Value, json};

use crate::updates::Mapper;
use crate::wire::{PermissionAnswer, PermissionOutcome, ToolCall, ToolContent, ToolStatus};

/// A question for the client.
pub(crate) struct Question {
    pub(crate) call: CallId,
    pub(crate) params: Value,
    /// True if an answer beyond this once is offered.
    pub(crate) can_remember: bool,
}

impl Question {
    /// The question that an event asks, if it asks one.
    pub(crate) fn of(event: &Event, mapper: &Mapper) -> Option<Self> {
        let EventKind::Asked { call, tool, args, actions, why, destructive, remember } =
            &event.kind
        else {
            return None;
        };
        let mut shown = mapper.described(call, args, actions);
        let title =
            shown.title.take().unwrap_or_else(|| crate::tool_calls::first_title(tool, args));
        let title = match &event.within {
            Some(within) => format!("{} (agent {})", title, within.agent),
            None => title,
        };
        let mut content = mapper.proposed(actions);
        let mut words = why.clone();
        if *destructive {
            words.push_str("\n\nThis may destroy data that undo does not restore.");
        }
        if !words.trim().is_empty() {
            content.push(ToolContent::text(words.trim()));
        }
        let shown = ToolCall {
            title: Some(title),
            name: Some(tool.clone()),
            status: Some(ToolStatus::Pending),
            content: Some(content),
            ..shown
        };
        let mut options = vec![option("once", "Allow once", "allow_once")];
        if !remember.is_empty() {
            let rules = remember.join(", ");
            let always = |id, reach: &str| option(id, &format!("{reach}: {rules}"), "allow_always");
            options.push(always("session", "Allow in this session"));
            options.push(always("project", "Allow in this project"));
            options.push(always("always", "Allow everywhere"));
        }
        options.push(option("deny", "Deny", "reject_once"));
        let params = json!({"sessionId": event.session, "toolCall": shown, "options": options});
        Some(Self { call: call.clone(), params, can_remember: !remember.is_empty() })
    }
}

fn option(id: &str, name: &str, kind: &str) -> Value {
    json!({"optionId": id, "name": name, "kind": kind})
}

/// The meaning of the client's reply. One that was not offered allows nothing.
pub(crate) fn answer(reply: Value, can_remember: bool) -> Answer {
    let Ok(PermissionAnswer { outcome }) = serde_json::from_value(reply) else {
        return Answer::Unavailable;
    };
    match outcome {
        PermissionOutcome::Cancelled => Answer::Cancel,
        PermissionOutcome::Selected { option_id } => match option_id.as_str() {
            "once" => Answer::Once,
            "session" if can_remember => Answer::Session,
            "project" if can_remember => Answer::Project,
            "always" if can_remember => Answer::Always,
            "deny" => Answer::Deny { reason: None },
            _ => Answer::Unavailable,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_offered_options_allow_something() {
        let reply = |id: &str| json!({"outcome": {"outcome": "selected", "optionId": id}});
        let selected = |id: &str| answer(reply(id), true);
        assert_eq!(selected("once"), Answer::Once);
        assert_eq!(selected("always"), Answer::Always);
        assert_eq!(selected("deny"), Answer::Deny { reason: None });
        assert_eq!(selected("yes"), Answer::Unavailable);
        assert_eq!(answer(reply("always"), false), Answer::Unavailable);
        assert_eq!(answer(json!({"outcome": {"outcome": "cancelled"}}), true), Answer::Cancel);
        for wrong in [json!(null), json!({}), json!({"outcome": "selected"}), json!([1])] {
            assert_eq!(answer(wrong, true), Answer::Unavailable);
        }
    }
}
