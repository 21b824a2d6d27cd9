//! The reply of a handler, from its exit code and its output. JSON is read at every exit
//! code, and exit code 2 blocks whatever the JSON says.

use contract::text::{head, visible};
use serde_json::Value;

use super::event::Event;
use crate::hooks::moment::Reply;
use crate::process::Ended;

/// Characters of one text that get through.
const MAX_TEXT_CHARS: usize = 10_000;

pub(crate) fn read_answer(event: Event, status: u16, body: &str) -> Reply {
    let mut said = Reply::default();
    if !(200..300).contains(&status) {
        said.failures.push(format!("it answered with HTTP {status}"));
        return said;
    }
    let body = body.trim();
    match serde_json::from_str::<Value>(body) {
        Ok(value) => decided(event, &value, &mut said),
        Err(_) if body.is_empty() => {}
        Err(error) => said.failures.push(format!("what it answered is not valid JSON: {error}")),
    }
    said
}

pub(crate) fn read_reply(reply: &str) -> Reply {
    let object = reply.find('{').zip(reply.rfind('}')).filter(|(start, end)| start < end);
    let value =
        object.and_then(|(start, end)| serde_json::from_str::<Value>(&reply[start..=end]).ok());
    let mut said = Reply::default();
    match value.as_ref().and_then(|value| value.get("ok")?.as_bool()) {
        Some(true) => {}
        Some(false) => {
            let reason = value.as_ref().and_then(|value| value.get("reason")?.as_str());
            let reason = reason.filter(|reason| !reason.trim().is_empty());
            said.block = Some(cut(reason.unwrap_or("a hook refused and gave no reason")));
        }
        None => said.failures.push("the model gave no answer of the form {\"ok\": ..}".to_owned()),
    }
    said
}

pub(crate) fn read_words(event: Event, words: &str) -> Reply {
    let mut said = Reply::default();
    printed(event, words.trim(), Hearing::Whole, &mut said);
    said
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Hearing {
    /// Plain words too, where the event hears them.
    Whole,
    Decisions,
}

fn printed(event: Event, words: &str, hearing: Hearing, said: &mut Reply) {
    if words.starts_with('{') {
        match serde_json::from_str::<Value>(words) {
            Ok(value) => decided(event, &value, said),
            Err(error) => {
                said.failures.push(format!("what it printed is not valid JSON: {error}"));
            }
        }
    } else if hearing == Hearing::Whole && event.hears_plain_words() && !words.is_empty() {
        said.context.push(cut(words));
    }
}

pub(crate) fn read(event: Event, ended: &Ended) -> Reply {
    let mut said = Reply::default();
    let hearing = if ended.code() == 0 { Hearing::Whole } else { Hearing::Decisions };
    printed(event, ended.stdout.text.trim(), hearing, &mut said);
    let stderr = ended.stderr.text.trim();
    match ended.code() {
        0 => {}
        // Whether a user is asked is not for an exit code to say.
        2 if matches!(event, Event::PermissionRequest | Event::PermissionDenied) => {}
        2 => {
            let why = if stderr.is_empty() { said.block.take() } else { Some(cut(stderr)) };
            let why = why.or_else(|| said.ask.take());
            said.block = Some(why.unwrap_or_else(|| "a hook refused and gave no reason".into()));
        }
        code => {
            let words = if stderr.is_empty() { String::new() } else { format!(": {stderr}") };
            said.failures.push(format!("it failed with exit code {code}{}", cut(&words)));
        }
    }
    said
}

fn decided(event: Event, value: &Value, said: &mut Reply) {
    let text = |value: &Value, key: &str| {
        let text = value.get(key).and_then(Value::as_str).map(cut);
        text.filter(|text| !text.trim().is_empty())
    };
    if value.get("continue") == Some(&Value::Bool(false)) {
        let why = text(value, "stopReason");
        said.stop = Some(why.unwrap_or_else(|| "a hook stopped the work".to_owned()));
    }
    said.messages.extend(text(value, "systemMessage"));
    let reason = text(value, "reason");
    if matches!(value.get("decision").and_then(Value::as_str), Some("block" | "deny")) {
        said.block = Some(reason.unwrap_or_else(|| "a hook refused and gave no reason".into()));
    }
    let Some(own) = value.get("hookSpecificOutput") else { return };
    if let Some(named) = own.get("hookEventName").and_then(Value::as_str)
        && named != event.name()
    {
        said.failures.push(format!("it answers to `{named}`, which was not asked"));
        return;
    }
    said.context.extend(text(own, "additionalContext"));
    if event == Event::PermissionRequest {
        let decision = own.get("decision").unwrap_or(&Value::Null);
        if decision.get("behavior").and_then(Value::as_str) == Some("deny") {
            let why = text(decision, "message");
            let why = why.unwrap_or_else(|| "a hook refused and gave no reason".to_owned());
            if decision.get("interrupt") == Some(&Value::Bool(true)) {
                said.stop = Some(why.clone());
            }
            said.block = Some(why);
        }
    }
    if event == Event::PreToolUse {
        let reason = text(own, "permissionDecisionReason");
        let reason = reason.unwrap_or_else(|| "a hook gave no reason".to_owned());
        match own.get("permissionDecision").and_then(Value::as_str) {
            Some("deny") => said.block = Some(reason),
            Some("ask" | "defer") => said.ask = Some(reason),
            // Nothing that a hook says lifts what rules and people decide.
            Some("allow") | None => {}
            Some(other) => said.failures.push(format!("the decision `{other}` is not known")),
        }
        said.input = own.get("updatedInput").filter(|input| input.is_object()).cloned();
    }
    let updated = own.get("updatedToolOutput").or_else(|| own.get("updatedMCPToolOutput"));
    said.text = match updated {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(other) => Some(other.to_string()),
    };
}

fn cut(text: &str) -> String {
    let short = head(text, MAX_TEXT_CHARS);
    if short.len() == text.len() {
        return visible(text).into_owned();
    }
    format!("{}\n[the rest of {} bytes is left out]", visible(short), text.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::process::{End, Printed};

    fn said(event: Event, code: i32, stdout: &str, stderr: &str) -> Reply {
        let printed = |text: &str| Printed { text: text.to_owned(), is_cut: false };
        read(
            event,
            &Ended { end: End::Exited(code), stdout: printed(stdout), stderr: printed(stderr) },
        )
    }

    #[test]
    fn exit_code_two_blocks_despite_the_json() {
        let allow = json!({"hookSpecificOutput": {"permissionDecision": "allow"}}).to_string();
        let heard = said(Event::PreToolUse, 2, &allow, "no\n");
        assert_eq!(heard.block.as_deref(), Some("no"));
        assert!(said(Event::PreToolUse, 2, "{broken", "").block.is_some());
        let other = said(Event::PreToolUse, 1, "", "oops");
        assert!(other.block.is_none() && other.failures[0].contains("exit code 1: oops"));
    }

    #[test]
    fn plain_output_is_context_for_events_that_take_it() {
        assert_eq!(said(Event::SessionStart, 0, " hello ", "").context, ["hello"]);
        assert!(said(Event::PostToolUse, 0, "hello", "").context.is_empty());
        assert!(said(Event::UserPromptSubmit, 1, "hello", "").context.is_empty());
    }

    #[test]
    fn decisions_are_read_at_every_exit_code() {
        let deny = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
            "permissionDecision": "deny", "permissionDecisionReason": "why"}});
        assert_eq!(said(Event::PreToolUse, 1, &deny.to_string(), "").block.as_deref(), Some("why"));
        let block = json!({"decision": "block", "reason": "r", "systemMessage": "m"}).to_string();
        let heard = said(Event::Stop, 0, &block, "");
        assert_eq!(
            (heard.block.as_deref(), heard.messages.as_slice()),
            (Some("r"), &["m".into()][..])
        );
        let stop = said(Event::PostToolUse, 0, r#"{"continue": false, "stopReason": "s"}"#, "");
        assert_eq!(stop.stop.as_deref(), Some("s"));
        let long = said(Event::SessionStart, 0, &"x".repeat(MAX_TEXT_CHARS * 2), "");
        assert!(long.context[0].contains("left out"));
    }
}
