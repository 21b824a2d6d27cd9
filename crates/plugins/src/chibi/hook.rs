//! The hooks of one point: each plugin that wants it is run with the same payload, in order, and
//! what they answer is folded the way chibi does.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use contract::hook::{
    CallView, CompactVerdict, CompactView, ContextVerdict, Hook, HookContext, HookError, HookReply,
    Moment, Notification, OnFailure, RequestVerdict, ResultView, TextVerdict, ToolVerdict,
    WordsVerdict,
};
use contract::message::{Message, ToolCall};
use contract::provider::{Delivery, Request};
use contract::tool::{ToolOutput, ToolSpec};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::Host;
use super::call::{Call, Purpose};
use super::gate;
use super::member::Member;
use super::point::Point;
use crate::process::End;
use crate::typed::{CLOSING, OPENING, typed};

/// The tool that has another conversation do a task.
const SUBAGENT: &str = "Task";

/// What ends a turn in which the model calls nothing.
const FALLBACK: &str = "call_user";

/// Characters of an output beyond which the whole of it goes into a file.
const LONG: usize = 50_000;

/// What a hook cannot change about a request.
const SETTLED: [&str; 4] = ["model", "messages", "tools", "stream"];

/// All hooks of one point.
pub(crate) struct PointHook {
    point: &'static Point,
    title: String,
    /// One for each tool that lists the point.
    listeners: Vec<Arc<Member>>,
    host: Arc<Host>,
    tool_count: usize,
}

impl PointHook {
    pub(crate) fn new(
        point: &'static Point,
        listeners: Vec<Arc<Member>>,
        host: Arc<Host>,
        tool_count: usize,
    ) -> Self {
        let mut names: Vec<&str> = listeners.iter().map(|member| member.plugin.name()).collect();
        names.dedup();
        let title = format!("'{}' (plugin {})", point.name, names.join(", "));
        Self { point, title, listeners, host, tool_count }
    }

    /// Asks all of them the same. Stops at the first answer that `settles` the matter. An error
    /// of one ends it for all.
    async fn ask(
        &self,
        scene: &HookContext,
        payload: &Value,
        settles: fn(&Value) -> bool,
    ) -> Result<Vec<Value>, HookError> {
        let mut answers = Vec::new();
        for member in &self.listeners {
            let call = Call {
                purpose: Purpose::Hook(self.point.name),
                context: Some(scene.session.as_str()),
                input: Some(payload),
            };
            let plugin = member.plugin.name();
            let ran = member.run(&call, &CancellationToken::new()).await;
            let ran = ran.map_err(|why| HookError(format!("plugin {plugin}: {why}")))?;
            let printed = ran.stdout.text.trim();
            match ran.end {
                End::Late => {
                    let time = member.time().as_secs_f64();
                    return Err(HookError(format!("plugin {plugin}: timed out after {time}s")));
                }
                End::Exited(0) if !printed.is_empty() => {
                    let answer = serde_json::from_str(printed);
                    answers.push(answer.unwrap_or_else(|_| Value::String(printed.to_owned())));
                }
                End::Exited(_) | End::Cancelled => continue,
            }
            if answers.last().is_some_and(settles) {
                break;
            }
        }
        Ok(answers)
    }

    fn workspace(&self) -> &std::path::Path {
        &self.host.settings.surroundings.workspace
    }

    async fn before_spawn(
        &self,
        scene: &HookContext,
        call: CallView<'_>,
    ) -> Result<ToolVerdict, HookError> {
        if call.tool != SUBAGENT {
            return Ok(ToolVerdict::Proceed);
        }
        let payload = self.spawned(call);
        let decides = |answer: &Value| is_blocked(answer) || answer.get("response").is_some();
        let answers = self.ask(scene, &payload, decides).await?;
        let Some(answer) = answers.last().filter(|answer| decides(answer)) else {
            return Ok(ToolVerdict::Proceed);
        };
        Ok(match text(answer, "response") {
            Some(response) => ToolVerdict::Answer(ToolOutput::success(response)),
            None => ToolVerdict::Block(message(answer, "Sub-agent call blocked by hook")),
        })
    }

    async fn before_run(
        &self,
        scene: &HookContext,
        call: CallView<'_>,
    ) -> Result<ToolVerdict, HookError> {
        let payload = json!({"tool_name": call.tool, "arguments": call.args});
        let answers = self.ask(scene, &payload, is_blocked).await?;
        if let Some(blocker) = answers.last().filter(|answer| is_blocked(answer)) {
            return Ok(ToolVerdict::Block(message(blocker, "Tool call blocked by hook")));
        }
        let changed = answers.iter().rev().find_map(|answer| answer.get("arguments"));
        Ok(match changed.filter(|changed| changed.is_object()) {
            Some(changed) if changed != call.args => ToolVerdict::Rewrite(changed.clone()),
            _ => ToolVerdict::Proceed,
        })
    }

    async fn permission(
        &self,
        scene: &HookContext,
        call: CallView<'_>,
    ) -> Result<ToolVerdict, HookError> {
        let refuses = |answer: &Value| gate::refusal(answer).is_some();
        for payload in gate::questions(self.point.name, call, self.workspace()) {
            let answers = self.ask(scene, &payload, refuses).await?;
            match answers.last().and_then(gate::refusal) {
                Some(reason) if self.point.name == "pre_shell_exec" => {
                    return Ok(ToolVerdict::Block(reason));
                }
                Some(reason) => {
                    return Ok(ToolVerdict::Block(format!("Permission denied: {reason}")));
                }
                None => {}
            }
        }
        Ok(ToolVerdict::Proceed)
    }

    /// Has the hooks of writing hear of each file that a call writes; what they say has no effect.
    async fn writes(&self, scene: &HookContext, call: CallView<'_>) -> Result<(), HookError> {
        for path in gate::written(call.actions) {
            let mut payload = json!({
                "tool_name": call.tool, "path": path, "caller": scene.session.as_str(),
            });
            if self.point.name == "pre_vfs_write" {
                payload["content"] = call
                    .args
                    .get("content")
                    .or_else(|| call.args.get("new_string"))
                    .cloned()
                    .into();
            }
            self.ask(scene, &payload, never).await?;
        }
        Ok(())
    }

    /// What the model reads in place of an output; nothing where it stays.
    async fn filtered(
        &self,
        scene: &HookContext,
        result: ResultView<'_>,
    ) -> Result<TextVerdict, HookError> {
        let output = result.output.for_model();
        let call = result.call;
        let payload = json!({"tool_name": call.tool, "arguments": call.args, "output": output});
        let answers = match self.ask(scene, &payload, is_blocked).await {
            Ok(answers) => answers,
            // What was to be looked through does not pass unseen.
            Err(error) => {
                let name = self.first_plugin();
                (self.host.settings.on_output)(&name, &format!("pre_tool_output: {error}"));
                return Ok(TextVerdict::Replace(format!("Output blocked by hook: {error}")));
            }
        };
        if let Some(blocker) = answers.last().filter(|answer| is_blocked(answer)) {
            return Ok(TextVerdict::Replace(message(blocker, "Output blocked by hook")));
        }
        let changed = answers.iter().rev().find_map(|answer| text(answer, "output"));
        Ok(changed.map_or(TextVerdict::Keep, |text| TextVerdict::Replace(text.to_owned())))
    }

    /// The points that an occasion is, each with what it says.
    fn told(&self, scene: &HookContext, what: &Notification) -> Vec<(&'static str, Value)> {
        let context = scene.session.as_str();
        let session = || {
            json!({
                "chibi_home": self.host.settings.home,
                "project_root": self.workspace(),
                "tool_count": self.tool_count,
            })
        };
        match what {
            Notification::SessionStarted => vec![("on_start", session())],
            Notification::SessionEnded => vec![("on_end", session())],
            Notification::BatchEnded { calls, .. } => {
                let call = |call: &ToolCall| json!({"name": call.name, "arguments": call.args});
                let calls: Vec<Value> = calls.iter().map(call).collect();
                let payload = json!({
                    "context_name": context, "current_fallback": FALLBACK, "tool_calls": calls,
                });
                vec![("post_tool_batch", payload)]
            }
            Notification::OutputStored { tool, path, size, shown } => {
                let payload = json!({
                    "tool_name": tool, "cache_id": path, "output_size": size,
                    "preview_size": shown,
                });
                vec![("post_cache_output", payload)]
            }
            Notification::Compacted { summary, dropped, kept, .. } => {
                let compacted = json!({
                    "context_name": context, "message_count": kept + 1, "summary": summary,
                });
                let mut rolled = compacted.clone();
                rolled["messages_archived"] = (*dropped).into();
                vec![("post_compact", compacted), ("post_rolling_compact", rolled)]
            }
            Notification::Clearing { messages } => {
                let payload =
                    json!({"context_name": context, "message_count": messages, "summary": ""});
                vec![("pre_clear", payload)]
            }
            Notification::Cleared => vec![("post_clear", json!({"context_name": context}))],
            Notification::AgentStarted
            | Notification::Asking { .. }
            | Notification::CallRefused { .. }
            | Notification::Failed { .. } => vec![],
        }
    }

    /// What plugins say about the tools on offer.
    async fn offered(
        &self,
        scene: &HookContext,
        request: &Request,
    ) -> Result<RequestVerdict, HookError> {
        let tool = |tool: &Arc<ToolSpec>| {
            let kind = if tool.source == "builtin" { "builtin" } else { "plugin" };
            json!({"name": tool.name, "type": kind})
        };
        let tools: Vec<Value> = request.tools.iter().map(tool).collect();
        let payload = json!({"context_name": scene.session.as_str(), "tools": tools});
        let mut verdict = RequestVerdict::default();
        for answer in self.ask(scene, &payload, never).await? {
            if let Some(only) = names(&answer, "include") {
                verdict.only = Some(match verdict.only {
                    Some(kept) => kept.into_iter().filter(|name| only.contains(name)).collect(),
                    None => only,
                });
            }
            verdict.without.extend(names(&answer, "exclude").unwrap_or_default());
        }
        Ok(verdict)
    }

    /// What plugins change about how the model is asked.
    async fn options(
        &self,
        scene: &HookContext,
        request: &Request,
    ) -> Result<RequestVerdict, HookError> {
        let system = json!({"role": "system", "content": &*request.system});
        let history = request.history.iter().map(|entry| said(&entry.message));
        let messages: Vec<Value> = [system].into_iter().chain(history).collect();
        let tools: Vec<Value> = request.tools.iter().map(|tool| defined(tool)).collect();
        let mut body = json!({
            "model": request.model, "messages": messages, "tools": tools,
            "max_tokens": request.max_tokens, "temperature": request.temperature,
            "stream": request.delivery == Delivery::Streamed,
        });
        for (name, value) in &request.params {
            body[name] = value.clone();
        }
        let payload = json!({"context_name": scene.session.as_str(), "request_body": body});
        let mut fields = Map::new();
        for mut answer in self.ask(scene, &payload, never).await? {
            let Some(Value::Object(changed)) = answer.get_mut("request_body").map(Value::take)
            else {
                continue;
            };
            fields.extend(changed);
        }
        // What the model is told, and by which model, is not the hook's to say.
        fields.retain(|name, value| {
            !SETTLED.contains(&name.as_str()) && body.get(name) != Some(value)
        });
        Ok(RequestVerdict { fields, ..RequestVerdict::default() })
    }

    /// What is said of a call that hands work to an agent.
    fn spawned(&self, call: CallView<'_>) -> Value {
        let of = |key: &str| call.args.get(key).cloned().unwrap_or(Value::Null);
        let name = call.args.get("subagent_type").and_then(Value::as_str);
        let agent = self.host.agent(name).unwrap_or_default();
        json!({
            "system_prompt": agent.instructions, "input": of("prompt"), "model": agent.model,
            "temperature": of("temperature"), "max_tokens": of("max_tokens"),
        })
    }

    fn first_plugin(&self) -> String {
        self.listeners.first().map(|member| member.plugin.name().to_owned()).unwrap_or_default()
    }
}

#[async_trait]
impl Hook for PointHook {
    fn name(&self) -> &str {
        &self.title
    }

    fn wants(&self, moment: Moment) -> bool {
        self.point.moment() == Some(moment)
    }

    fn on_failure(&self) -> OnFailure {
        self.point.on_failure()
    }

    async fn occasion(
        &self,
        scene: &HookContext,
        what: &Notification,
    ) -> Result<HookReply<()>, HookError> {
        for (point, payload) in self.told(scene, what) {
            if self.point.name == point {
                self.ask(scene, &payload, never).await?;
            }
        }
        Ok(HookReply::default())
    }

    async fn before_message(
        &self,
        scene: &HookContext,
        words: &str,
    ) -> Result<HookReply<WordsVerdict>, HookError> {
        let context = scene.session.as_str();
        let typed = typed(words);
        if self.point.name == "pre_agentic_loop" {
            let payload = json!({
                "context_name": context, "current_fallback": FALLBACK, "message": typed,
            });
            self.ask(scene, &payload, never).await?;
            return Ok(HookReply::default());
        }
        let payload = json!({"prompt": typed, "context_name": context, "summary": ""});
        let answers = self.ask(scene, &payload, never).await?;
        let changed = answers.iter().rev().find_map(|answer| text(answer, "prompt"));
        let replace = |text: &str| {
            let is_wrapped = typed.len() < words.len();
            let text = if is_wrapped { format!("{OPENING}{text}{CLOSING}") } else { text.into() };
            WordsVerdict::Replace(text)
        };
        Ok(changed.map_or(WordsVerdict::Keep, replace).into())
    }

    async fn before_request(
        &self,
        scene: &HookContext,
        _base: &str,
    ) -> Result<HookReply<ContextVerdict>, HookError> {
        let context = scene.session.as_str();
        let payload = json!({"context_name": context, "summary": "", "flock_goals": []});
        let answers = self.ask(scene, &payload, never).await?;
        let mut parts: Vec<&str> =
            answers.iter().filter_map(|answer| text(answer, "inject")).collect();
        let is_before = self.point.name == "pre_system_prompt";
        if is_before {
            // Later plugins go further up.
            parts.reverse();
        }
        let words = (!parts.is_empty()).then(|| parts.join("\n\n"));
        Ok(if is_before {
            ContextVerdict { prepend: words, append: None }.into()
        } else {
            ContextVerdict { prepend: None, append: words }.into()
        })
    }

    async fn before_send(
        &self,
        scene: &HookContext,
        request: &Request,
    ) -> Result<HookReply<RequestVerdict>, HookError> {
        let verdict = match self.point.name {
            "pre_api_tools" => self.offered(scene, request).await?,
            _ => self.options(scene, request).await?,
        };
        Ok(verdict.into())
    }

    async fn after_reply(
        &self,
        scene: &HookContext,
        prompt: &str,
        reply: &str,
    ) -> Result<HookReply<TextVerdict>, HookError> {
        if !reply.is_empty() {
            let context = scene.session.as_str();
            let payload =
                json!({"prompt": typed(prompt), "response": reply, "context_name": context});
            self.ask(scene, &payload, never).await?;
        }
        Ok(HookReply::default())
    }

    async fn before_tool(
        &self,
        scene: &HookContext,
        call: CallView<'_>,
    ) -> Result<HookReply<ToolVerdict>, HookError> {
        let verdict = match self.point.name {
            "pre_tool" => self.before_run(scene, call).await?,
            "pre_spawn_agent" => self.before_spawn(scene, call).await?,
            "pre_vfs_write" => {
                self.writes(scene, call).await?;
                ToolVerdict::Proceed
            }
            _ => self.permission(scene, call).await?,
        };
        Ok(verdict.into())
    }

    async fn after_tool(
        &self,
        scene: &HookContext,
        result: ResultView<'_>,
    ) -> Result<HookReply<TextVerdict>, HookError> {
        let (call, output) = (result.call, result.output.for_model());
        let is_long = output.chars().count() > LONG;
        let mut payload =
            json!({"tool_name": call.tool, "arguments": call.args, "cached": is_long});
        match self.point.name {
            "pre_tool_output" => return Ok(self.filtered(scene, result).await?.into()),
            "post_vfs_write" => {
                if result.output.success {
                    self.writes(scene, call).await?;
                }
                return Ok(HookReply::default());
            }
            "pre_cache_output" if !is_long => return Ok(HookReply::default()),
            "pre_cache_output" => {
                payload = json!({
                    "tool_name": call.tool, "output_size": output.len(), "arguments": call.args,
                });
            }
            "post_tool" => {
                payload["arguments"] = call.original.clone();
                payload["result"] = output.into();
            }
            "post_spawn_agent" if call.tool != SUBAGENT => return Ok(HookReply::default()),
            "post_spawn_agent" => {
                payload = self.spawned(call);
                payload["response"] = output.into();
            }
            _ => {
                payload["final_output"] = shown(&output).into();
                payload["output"] = output.into();
            }
        }
        self.ask(scene, &payload, never).await?;
        Ok(HookReply::default())
    }

    async fn before_compact(
        &self,
        scene: &HookContext,
        history: CompactView<'_>,
    ) -> Result<HookReply<CompactVerdict>, HookError> {
        let (context, count) = (scene.session.as_str(), history.messages);
        let mut payload = json!({"context_name": context, "message_count": count, "summary": ""});
        if self.point.name == "pre_rolling_compact" {
            payload["non_system_count"] = count.into();
        }
        self.ask(scene, &payload, never).await?;
        Ok(HookReply::default())
    }
}

/// What the model reads of an output, which goes into a file where it is long.
fn shown(output: &str) -> Cow<'_, str> {
    let count = output.chars().count();
    if count <= LONG {
        return Cow::Borrowed(output);
    }
    let at = |number: usize| output.char_indices().nth(number).map_or(output.len(), |(at, _)| at);
    let (first, last) = (&output[..at(LONG * 3 / 5)], &output[at(count - LONG * 2 / 5)..]);
    let note = "... [TRUNCATED: output exceeded 50,000 characters] ...";
    Cow::Owned(format!("{first}\n\n{note}\n\n{last}"))
}

/// A tool in the words of requests.
fn defined(tool: &ToolSpec) -> Value {
    let function = json!({
        "name": tool.name, "description": tool.description, "parameters": tool.input_schema,
    });
    json!({"type": "function", "function": function})
}

/// No answer settles anything.
fn never(_: &Value) -> bool {
    false
}

fn is_blocked(answer: &Value) -> bool {
    answer.get("block").and_then(Value::as_bool) == Some(true)
}

/// A message in the words of requests.
fn said(message: &Message) -> Value {
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

/// A list of names.
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
