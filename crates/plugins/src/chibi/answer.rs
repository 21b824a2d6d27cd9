//! The effect of the answers of plugins at one point, folded the way chibi does.

use contract::hook::{ContextVerdict, RequestVerdict};
use serde_json::{Map, Value};

use super::gate;
use crate::hooks::moment::{Occurrence, Reply};

/// Fields of a request that a hook cannot change: the model, and what it reads.
const FIXED_FIELDS: [&str; 4] = ["model", "messages", "tools", "stream"];

pub(super) fn settles(point: &str, answer: &Value) -> bool {
    match point {
        "pre_tool" | "pre_tool_output" => is_blocked(answer),
        "pre_spawn_agent" => is_blocked(answer) || answer.get("response").is_some(),
        "pre_file_read" | "pre_file_write" | "pre_shell_exec" | "pre_fetch_url" => {
            gate::refusal(answer).is_some()
        }
        _ => false,
    }
}

pub(super) fn folded(
    point: &str,
    payload: &Value,
    answers: Vec<Value>,
    what: Occurrence<'_>,
) -> Reply {
    let settled = answers.last().filter(|answer| settles(point, answer));
    let last_text = |key: &str| answers.iter().rev().find_map(|answer| text(answer, key));
    let mut reply = Reply::default();
    match point {
        "pre_message" => {
            if matches!(what, Occurrence::Message(_)) {
                reply.text = last_text("prompt").map(str::to_owned);
            }
        }
        "pre_system_prompt" | "post_system_prompt" => reply.system_prompt = added(point, &answers),
        "pre_tool" => {
            reply.block = settled.map(|answer| message(answer, "Tool call blocked by hook"));
            let changed = answers.iter().rev().find_map(|answer| answer.get("arguments"));
            let changed = changed.filter(|it| it.is_object() && **it != payload["arguments"]);
            reply.input = changed.cloned();
        }
        "pre_spawn_agent" => match settled.map(|answer| (answer, text(answer, "response"))) {
            Some((_, Some(response))) => reply.answer = Some(response.to_owned()),
            Some((answer, None)) => {
                reply.block = Some(message(answer, "Sub-agent call blocked by hook"));
            }
            None => {}
        },
        "pre_tool_output" => {
            reply.text = match settled {
                Some(answer) => Some(message(answer, "Output blocked by hook")),
                None => last_text("output").map(str::to_owned),
            };
        }
        "pre_api_tools" => reply.request = offered(&answers),
        "pre_api_request" => reply.request = changed(&payload["request_body"], answers),
        "pre_shell_exec" => reply.block = settled.and_then(gate::refusal),
        _ => {
            let refusal = settled.and_then(gate::refusal);
            reply.block = refusal.map(|reason| format!("Permission denied: {reason}"));
        }
    }
    reply
}

/// Additions to the system prompt; before it, those of later plugins go further up.
fn added(point: &str, answers: &[Value]) -> ContextVerdict {
    let mut parts: Vec<&str> = answers.iter().filter_map(|answer| text(answer, "inject")).collect();
    let is_before = point == "pre_system_prompt";
    if is_before {
        parts.reverse();
    }
    let words = (!parts.is_empty()).then(|| parts.join("\n\n"));
    if is_before {
        ContextVerdict { prepend: words, append: None }
    } else {
        ContextVerdict { prepend: None, append: words }
    }
}

fn offered(answers: &[Value]) -> RequestVerdict {
    let mut verdict = RequestVerdict::default();
    for answer in answers {
        if let Some(only) = names(answer, "include") {
            verdict.only = Some(match verdict.only {
                Some(kept) => kept.into_iter().filter(|name| only.contains(name)).collect(),
                None => only,
            });
        }
        verdict.without.extend(names(answer, "exclude").unwrap_or_default());
    }
    verdict
}

fn changed(body: &Value, answers: Vec<Value>) -> RequestVerdict {
    let mut fields = Map::new();
    for mut answer in answers {
        if let Some(Value::Object(changed)) = answer.get_mut("request_body").map(Value::take) {
            fields.extend(changed);
        }
    }
    fields.retain(|name, value| {
        !FIXED_FIELDS.contains(&name.as_str()) && body.get(name) != Some(value)
    });
    RequestVerdict { fields, ..RequestVerdict::default() }
}

fn is_blocked(answer: &Value) -> bool {
    answer.get("block").and_then(Value::as_bool) == Some(true)
}

fn names(answer: &Value, key: &str) -> Option<Vec<String>> {
    let list = answer.get(key)?.as_array()?;
    Some(list.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect())
}

fn text<'a>(answer: &'a Value, key: &str) -> Option<&'a str> {
    answer.get(key).and_then(Value::as_str)
}

fn message(answer: &Value, usual: &str) -> String {
    text(answer, "message").filter(|text| !text.is_empty()).unwrap_or(usual).to_owned()
}
