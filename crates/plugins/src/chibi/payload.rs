//! The payload of each point, in the words of chibi.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use contract::hook::{CallView, HookContext, Notification, ResultView};
use contract::message::{Message, ToolCall};
use contract::provider::{Delivery, Request};
use contract::tool::ToolSpec;
use serde_json::{Value, json};

use super::gate;
use super::hook::PointHook;
use crate::hooks::moment::Occurrence;

const SUBAGENT: &str = "Task";

/// The tool that ends a turn in which the model calls nothing.
const FALLBACK: &str = "call_user";

/// Characters of an output beyond which the whole of it goes into a file.
const STORED_LENGTH: usize = 50_000;

/// Empty if the occurrence does not belong to the point.
pub(super) fn payloads(
    hook: &PointHook,
    context: &HookContext,
    what: Occurrence<'_>,
) -> Vec<Value> {
    let point = hook.point.name;
    let session = context.session.as_str();
    match what {
        Occurrence::Notification(what) => notification(hook, session, what),
        Occurrence::Message(words) if point == "pre_agentic_loop" => vec![json!({
            "context_name": session, "current_fallback": FALLBACK, "message": words,
        })],
        Occurrence::Message(words) => {
            vec![json!({"prompt": words, "context_name": session, "summary": ""})]
        }
        Occurrence::SystemPrompt(_) => {
            vec![json!({"context_name": session, "summary": "", "flock_goals": []})]
        }
        Occurrence::Request(request) if point == "pre_api_tools" => {
            vec![json!({"context_name": session, "tools": offered(request)})]
        }
        Occurrence::Request(request) => {
            vec![json!({"context_name": session, "request_body": body(request)})]
        }
        Occurrence::ModelReply { reply: "", .. }
        | Occurrence::Prompt(_)
        | Occurrence::TurnEnd(_) => Vec::new(),
        Occurrence::ModelReply { prompt, reply } => {
            vec![json!({"prompt": prompt, "response": reply, "context_name": session})]
        }
        Occurrence::Call(call) => match point {
            "pre_tool" => vec![json!({"tool_name": call.tool, "arguments": call.args})],
            "pre_spawn_agent" if call.tool == SUBAGENT => vec![spawned(hook, call)],
            "pre_spawn_agent" => Vec::new(),
            "pre_vfs_write" => writes(point, session, call),
            _ => gate::questions(point, call, workspace(hook)),
        },
        Occurrence::CallResult(result) => returned(hook, session, result),
        Occurrence::Compaction(history) => {
            let count = history.messages;
            let mut payload =
                json!({"context_name": session, "message_count": count, "summary": ""});
            if point == "pre_rolling_compact" {
                payload["non_system_count"] = count.into();
            }
            vec![payload]
        }
    }
}

fn workspace(hook: &PointHook) -> &Path {
    &hook.host.settings.surroundings.workspace
}

fn notification(hook: &PointHook, session: &str, what: &Notification) -> Vec<Value> {
    let payload = match (hook.point.name, what) {
        ("on_start", Notification::SessionStarted) | ("on_end", Notification::SessionEnded) => {
            json!({
                "chibi_home": hook.host.settings.home,
                "project_root": workspace(hook),
                "tool_count": hook.tool_count,
            })
        }
        ("post_tool_batch", Notification::BatchEnded { calls, .. }) => {
            let call = |call: &ToolCall| json!({"name": call.name, "arguments": call.args});
            let calls: Vec<Value> = calls.iter().map(call).collect();
            json!({"context_name": session, "current_fallback": FALLBACK, "tool_calls": calls})
        }
        ("post_cache_output", Notification::OutputStored { tool, path, size, shown }) => json!({
            "tool_name": tool, "cache_id": path, "output_size": size, "preview_size": shown,
        }),
        (
            "post_compact" | "post_rolling_compact",
            Notification::Compacted { summary, dropped, kept, .. },
        ) => {
            let mut payload =
                json!({"context_name": session, "message_count": kept + 1, "summary": summary});
            if hook.point.name == "post_rolling_compact" {
                payload["messages_archived"] = (*dropped).into();
            }
            payload
        }
        ("pre_clear", Notification::Clearing { messages }) => {
            json!({"context_name": session, "message_count": messages, "summary": ""})
        }
        ("post_clear", Notification::Cleared) => json!({"context_name": session}),
        _ => return Vec::new(),
    };
    vec![payload]
}

fn writes(point: &str, session: &str, call: CallView<'_>) -> Vec<Value> {
    let payload = |path: &Path| {
        let mut payload = json!({"tool_name": call.tool, "path": path, "caller": session});
        if point == "pre_vfs_write" {
            let content = call.args.get("content").or_else(|| call.args.get("new_string"));
            payload["content"] = content.cloned().into();
        }
        payload
    };
    gate::written(call.actions).map(payload).collect()
}

fn spawned(hook: &PointHook, call: CallView<'_>) -> Value {
    let of = |key: &str| call.args.get(key).cloned().unwrap_or(Value::Null);
    let name = call.args.get("subagent_type").and_then(Value::as_str);
    let agent = hook.host.agent(name).unwrap_or_default();
    json!({
        "system_prompt": agent.instructions, "input": of("prompt"), "model": agent.model,
        "temperature": of("temperature"), "max_tokens": of("max_tokens"),
    })
}

fn returned(hook: &PointHook, session: &str, result: ResultView<'_>) -> Vec<Value> {
    let (call, output) = (result.call, result.output.for_model());
    let is_long = output.chars().count() > STORED_LENGTH;
    let mut payload = json!({"tool_name": call.tool, "arguments": call.args});
    match hook.point.name {
        "pre_tool_output" => payload["output"] = output.into(),
        "post_vfs_write" if result.output.success => {
            return writes(hook.point.name, session, call);
        }
        "pre_cache_output" if is_long => payload["output_size"] = output.len().into(),
        "post_tool" => {
            payload["cached"] = is_long.into();
            payload["arguments"] = call.original.clone();
            payload["result"] = output.into();
        }
        "post_spawn_agent" if call.tool == SUBAGENT => {
            payload = spawned(hook, call);
            payload["response"] = output.into();
        }
        "post_tool_output" => {
            payload["cached"] = is_long.into();
            payload["final_output"] = shown(&output).into();
            payload["output"] = output.into();
        }
        _ => return Vec::new(),
    }
    vec![payload]
}

fn shown(output: &str) -> Cow<'_, str> {
    let count = output.chars().count();
    if count <= STORED_LENGTH {
        return Cow::Borrowed(output);
    }
    let at = |number: usize| output.char_indices().nth(number).map_or(output.len(), |(at, _)| at);
    let first = &output[..at(STORED_LENGTH * 3 / 5)];
    let last = &output[at(count - STORED_LENGTH * 2 / 5)..];
    let note = "... [TRUNCATED: output exceeded 50,000 characters] ...";
    Cow::Owned(format!("{first}\n\n{note}\n\n{last}"))
}

fn offered(request: &Request) -> Vec<Value> {
    let tool = |tool: &Arc<ToolSpec>| {
        let kind = if tool.source == "builtin" { "builtin" } else { "plugin" };
        json!({"name": tool.name, "type": kind})
    };
    request.tools.iter().map(tool).collect()
}

fn body(request: &Request) -> Value {
    let tool = |tool: &Arc<ToolSpec>| {
        let function = json!({
            "name": tool.name, "description": tool.description, "parameters": tool.input_schema,
        });
        json!({"type": "function", "function": function})
    };
    let system = json!({"role": "system", "content": &*request.system});
    let history = request.history.iter().map(|entry| message(&entry.message));
    let messages: Vec<Value> = [system].into_iter().chain(history).collect();
    let tools: Vec<Value> = request.tools.iter().map(tool).collect();
    let mut body = json!({
        "model": request.model, "messages": messages, "tools": tools,
        "max_tokens": request.max_tokens, "temperature": request.temperature,
        "stream": request.delivery == Delivery::Streamed,
    });
    for (name, value) in &request.params {
        body[name] = value.clone();
    }
    body
}

fn message(message: &Message) -> Value {
    match message {
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::Assistant(reply) => {
            let call = |call: &ToolCall| {
                let function = json!({"name": call.name, "arguments": call.args.to_string()});
                json!({"id": call.id, "type": "function", "function": function})
            };
            let calls: Vec<Value> = reply.calls().map(call).collect();
            json!({"role": "assistant", "content": reply.text(), "tool_calls": calls})
        }
        Message::Tool { call, content, .. } => {
            json!({"role": "tool", "tool_call_id": call, "content": content})
        }
    }
}
