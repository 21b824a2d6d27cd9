//! The hooks of one point: each plugin that wants it is run with the same payload, in order, and
//! what they answer is folded the way chibi does.

use std::sync::Arc;

use async_trait::async_trait;
use contract::hook::{
    Advice, CallView, CompactVerdict, ContextVerdict, Hook, HookError, Moment, Occasion, OnFailure,
    OutputVerdict, ReplyVerdict, ResultView, Scene, ToolVerdict, WordsVerdict,
};
use contract::tool::ToolOutput;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Host;
use super::call::{Call, Purpose};
use super::gate;
use super::member::Member;
use super::point::Point;
use super::run::End;

/// The tool that has another conversation do a task.
const SUBAGENT: &str = "Task";

/// What stands around a prompt on its way to the model.
const OPENING: &str = "<prompt>\n";
const CLOSING: &str = "\n</prompt>";

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
        scene: &Scene,
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
        scene: &Scene,
        call: CallView<'_>,
    ) -> Result<ToolVerdict, HookError> {
        if call.tool != SUBAGENT {
            return Ok(ToolVerdict::Proceed);
        }
        let payload = spawn_payload(call);
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

    async fn before_call(
        &self,
        scene: &Scene,
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
        scene: &Scene,
        call: CallView<'_>,
    ) -> Result<ToolVerdict, HookError> {
        let Some(payload) = gate::question(self.point.name, call, self.workspace()) else {
            return Ok(ToolVerdict::Proceed);
        };
        let answers = self.ask(scene, &payload, |answer| gate::refusal(answer).is_some()).await?;
        Ok(match answers.last().and_then(gate::refusal) {
            Some(reason) if self.point.name == "pre_shell_exec" => ToolVerdict::Block(reason),
            Some(reason) => ToolVerdict::Block(format!("Permission denied: {reason}")),
            None => ToolVerdict::Proceed,
        })
    }

    /// What the model reads in place of an output; nothing where it stays.
    async fn filtered(
        &self,
        scene: &Scene,
        result: ResultView<'_>,
    ) -> Result<OutputVerdict, HookError> {
        let output = result.output.for_model();
        let call = result.call;
        let payload = json!({"tool_name": call.tool, "arguments": call.args, "output": output});
        let answers = match self.ask(scene, &payload, is_blocked).await {
            Ok(answers) => answers,
            // What was to be looked through does not pass unseen.
            Err(error) => {
                let name = self.first_plugin();
                (self.host.settings.on_output)(&name, &format!("pre_tool_output: {error}"));
                return Ok(OutputVerdict::Replace(format!("Output blocked by hook: {error}")));
            }
        };
        if let Some(blocker) = answers.last().filter(|answer| is_blocked(answer)) {
            return Ok(OutputVerdict::Replace(message(blocker, "Output blocked by hook")));
        }
        let changed = answers.iter().rev().find_map(|answer| text(answer, "output"));
        Ok(changed.map_or(OutputVerdict::Keep, |text| OutputVerdict::Replace(text.to_owned())))
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

    async fn occasion(&self, scene: &Scene, what: &Occasion) -> Result<Advice<()>, HookError> {
        let wanted = match what {
            Occasion::SessionStarted => "on_start",
            Occasion::SessionEnded => "on_end",
            Occasion::Failed { .. } => return Ok(Advice::default()),
        };
        if self.point.name == wanted {
            let payload = json!({
                "chibi_home": self.host.settings.home,
                "project_root": self.workspace(),
                "tool_count": self.tool_count,
            });
            self.ask(scene, &payload, never).await?;
        }
        Ok(Advice::default())
    }

    async fn before_message(
        &self,
        scene: &Scene,
        words: &str,
    ) -> Result<Advice<WordsVerdict>, HookError> {
        let context = scene.session.as_str();
        let typed = typed(words);
        if self.point.name == "pre_agentic_loop" {
            let payload = json!({
                "context_name": context, "current_fallback": "call_user", "message": typed,
            });
            self.ask(scene, &payload, never).await?;
            return Ok(Advice::default());
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
        scene: &Scene,
        _base: &str,
    ) -> Result<Advice<ContextVerdict>, HookError> {
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

    async fn after_reply(
        &self,
        scene: &Scene,
        prompt: &str,
        reply: &str,
    ) -> Result<Advice<ReplyVerdict>, HookError> {
        if !reply.is_empty() {
            let context = scene.session.as_str();
            let payload =
                json!({"prompt": typed(prompt), "response": reply, "context_name": context});
            self.ask(scene, &payload, never).await?;
        }
        Ok(Advice::default())
    }

    async fn before_tool(
        &self,
        scene: &Scene,
        call: CallView<'_>,
    ) -> Result<Advice<ToolVerdict>, HookError> {
        let verdict = match self.point.name {
            "pre_tool" => self.before_call(scene, call).await?,
            "pre_spawn_agent" => self.before_spawn(scene, call).await?,
            _ => self.permission(scene, call).await?,
        };
        Ok(verdict.into())
    }

    async fn after_tool(
        &self,
        scene: &Scene,
        result: ResultView<'_>,
    ) -> Result<Advice<OutputVerdict>, HookError> {
        let (call, output) = (result.call, result.output.for_model());
        let mut payload = json!({"tool_name": call.tool, "arguments": call.args, "cached": false});
        match self.point.name {
            "pre_tool_output" => return Ok(self.filtered(scene, result).await?.into()),
            "post_tool" => payload["result"] = output.into(),
            "post_spawn_agent" if call.tool != SUBAGENT => return Ok(Advice::default()),
            "post_spawn_agent" => {
                payload = spawn_payload(call);
                payload["response"] = output.into();
            }
            _ => {
                payload["output"] = output.clone().into();
                payload["final_output"] = output.into();
            }
        }
        self.ask(scene, &payload, never).await?;
        Ok(Advice::default())
    }

    async fn before_compact(
        &self,
        scene: &Scene,
        _strategy: &str,
    ) -> Result<Advice<CompactVerdict>, HookError> {
        let context = scene.session.as_str();
        let payload = json!({"context_name": context, "message_count": null, "summary": ""});
        self.ask(scene, &payload, never).await?;
        Ok(Advice::default())
    }
}

fn spawn_payload(call: CallView<'_>) -> Value {
    let of = |key: &str| call.args.get(key).cloned().unwrap_or(Value::Null);
    json!({
        "system_prompt": of("system_prompt"), "input": of("prompt"), "model": of("model"),
        "temperature": of("temperature"), "max_tokens": of("max_tokens"),
    })
}

/// A prompt as it was typed.
fn typed(prompt: &str) -> &str {
    let inner = prompt.strip_prefix(OPENING).and_then(|inner| inner.strip_suffix(CLOSING));
    inner.unwrap_or(prompt)
}

/// No answer settles anything.
fn never(_: &Value) -> bool {
    false
}

fn is_blocked(answer: &Value) -> bool {
    answer.get("block").and_then(Value::as_bool) == Some(true)
}

fn text<'a>(answer: &'a Value, key: &str) -> Option<&'a str> {
    answer.get(key).and_then(Value::as_str)
}

fn message(answer: &Value, usual: &str) -> String {
    text(answer, "message").filter(|text| !text.is_empty()).unwrap_or(usual).to_owned()
}
