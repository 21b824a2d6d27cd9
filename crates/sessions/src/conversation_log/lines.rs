//! Turns events into the lines of a conversation log.

use contract::event::{Event, EventKind, MessageOrigin, NoticeTopic, Outcome, Subconversation};
use contract::id::{SessionId, Timestamp};
use contract::message::{Reply, ToolCall, Usage};
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// Numbers the lines and remembers what earlier ones said.
pub(super) struct Translator {
    zone: TimeZone,
    count: u64,
    has_begun: bool,
    context_version: u64,
    provider: String,
    model: String,
    system: Option<String>,
    /// The conversation within the session that the lines are about.
    within: Option<Subconversation>,
    lines: Vec<Value>,
}

impl Translator {
    pub(super) fn new(zone: TimeZone) -> Self {
        Self {
            zone,
            count: 0,
            has_begun: false,
            context_version: 0,
            provider: String::new(),
            model: String::new(),
            system: None,
            within: None,
            lines: Vec::new(),
        }
    }

    /// The lines for an event: none, one or several.
    pub(super) fn translate(&mut self, event: &Event) -> Vec<Value> {
        let at = event.at;
        self.within.clone_from(&event.within);
        match &event.kind {
            // The log tells one model and one system prompt: those of the session's own.
            EventKind::Configured { .. } if event.within.is_some() => {}
            EventKind::Configured { provider, model, system, .. } => {
                self.configure(event, provider, model, system);
            }
            // The first line names the model, which is not known before it is configured.
            EventKind::SessionStarted { .. } => {}
            what => {
                if what.is_kept() {
                    self.begin(at, &event.session);
                }
                self.tell(at, what);
            }
        }
        std::mem::take(&mut self.lines)
    }

    fn tell(&mut self, at: Timestamp, what: &EventKind) {
        match what {
            EventKind::TurnStarted { prompt } => {
                self.push(at, "user_message", json!({"content": prompt}));
            }
            EventKind::Injected { origin, text } => self.inject(at, origin, text),
            EventKind::ReplyFinished { reply, usage } => {
                self.reply(at, reply);
                self.usage(at, usage);
            }
            EventKind::ToolCalled { call } => self.call(at, call),
            EventKind::ToolFinished { call, name, outcome, output, duration_ms, .. } => {
                let fields = json!({
                    "tool_name": name,
                    "success": output.success,
                    "output": output.output,
                    "error": output.error,
                    "tool_id": call,
                    "duration_ms": duration_ms,
                    "outcome": outcome,
                });
                self.push(at, "tool_result", fields);
            }
            EventKind::Notice { level, text, hint, topic } => {
                self.push(at, "notice", json!({"level": level, "text": text, "hint": hint}));
                let kind = match topic {
                    Some(NoticeTopic::RecoveryLoop) => "recovery_loop_detected",
                    Some(NoticeTopic::RecoveryBudget) => "recovery_budget_exceeded",
                    Some(NoticeTopic::MessageUnsent | NoticeTopic::Retry) | None => return,
                };
                self.push(at, kind, json!({"message": text}));
            }
            EventKind::ToolJudged { call, ruling, .. } => {
                self.push(at, "tool_judged", json!({"tool_id": call, "ruling": ruling}));
            }
            EventKind::TurnFinished { outcome: Outcome::Failed { error, hint }, .. } => {
                self.push(at, "error", json!({"error": error, "context": hint}));
            }
            EventKind::TurnFinished { outcome: Outcome::Blocked { hook, reason }, .. } => {
                let context = format!("hook {hook} did not let the prompt through");
                self.push(at, "error", json!({"error": reason, "context": context}));
            }
            EventKind::Custom { plugin, name, data } => {
                let fields = json!({"plugin": plugin, "name": name, "data": data});
                self.push(at, "plugin_event", fields);
            }
            EventKind::FilesChanged { files, count, .. } => {
                self.push(at, "files_changed", json!({"files": files, "count": count}));
            }
            EventKind::FilesRestored { direction, turns, files, count, kept, .. } => {
                let fields = json!({
                    "direction": direction, "turns": turns, "files": files, "count": count,
                    "kept": kept,
                });
                self.push(at, "files_restored", fields);
            }
            EventKind::Compacted { summary, strategy, dropped, range, kept, usage, .. } => {
                let fields = json!({
                    "summary": summary, "strategy": strategy, "dropped": dropped,
                    "range": range, "kept": kept,
                });
                self.push(at, "context_reset", fields);
                self.usage(at, usage);
            }
            EventKind::SessionEnded => {
                let total = self.count + 1;
                self.push(at, "session_end", json!({"total_events": total}));
            }
            EventKind::SessionStarted { .. }
            | EventKind::Titled { .. }
            | EventKind::JobStarted { .. }
            | EventKind::JobFinished { .. }
            | EventKind::Configured { .. }
            | EventKind::RequestSent { .. }
            | EventKind::ReplyDelta { .. }
            | EventKind::Asked { .. }
            | EventKind::Answered { .. }
            | EventKind::ToolProgress { .. }
            | EventKind::TurnFinished { .. } => {}
        }
    }

    fn begin(&mut self, at: Timestamp, session: &SessionId) {
        if !self.has_begun {
            self.has_begun = true;
            let fields = json!({
                "session_id": session,
                "provider": self.provider,
                "model": self.model,
            });
            self.push(at, "session_start", fields);
        }
    }

    fn configure(&mut self, event: &Event, provider: &str, model: &str, system: &str) {
        let at = event.at;
        let is_same = self.provider == provider && self.model == model;
        provider.clone_into(&mut self.provider);
        model.clone_into(&mut self.model);
        if !self.has_begun {
            self.begin(at, &event.session);
        } else if !is_same {
            let fields = json!({"provider": provider, "model": model});
            self.push(at, "model_switch", fields);
        }
        if self.system.as_deref() == Some(system) {
            return;
        }
        self.context_version += 1;
        let version = self.context_version;
        if self.system.is_none() {
            let fields = json!({"base_system_prompt": system, "context_version": version});
            self.push(at, "context_init", fields);
        }
        let hash = short_hash(system);
        let fields = json!({"context_version": version, "system_prompt_hash": hash});
        self.push(at, "context_ready", fields);
        self.push(at, "system_prompt", json!({"content": system}));
        self.system = Some(system.to_owned());
    }

    fn inject(&mut self, at: Timestamp, origin: &MessageOrigin, text: &str) {
        self.context_version += 1;
        let fields = json!({
            "context_version": self.context_version,
            "source": origin,
            "location": "conversation",
            "content": text,
            "content_hash": short_hash(text),
            "origin": origin,
            "trigger_type": null,
            "trigger_match": null,
            "metadata": {},
        });
        self.push(at, "context_injection", fields);
        let kind = match origin {
            MessageOrigin::Recovery => "recovery_feedback_injected",
            MessageOrigin::EmptyReply => "thinking_retry_feedback",
            MessageOrigin::User | MessageOrigin::Other(_) => return,
        };
        self.push(at, kind, json!({"content": text}));
    }

    fn reply(&mut self, at: Timestamp, reply: &Reply) {
        let (text, thinking) = (reply.text(), reply.thinking());
        match (text.is_empty(), thinking.is_empty()) {
            (true, true) => {}
            (true, false) => {
                self.push(at, "thinking", json!({"content": thinking}));
                if reply.calls().next().is_none() {
                    self.push(at, "thinking_only_response", json!({"content": thinking}));
                }
            }
            (false, true) => self.push(at, "assistant_message", json!({"content": text})),
            (false, false) => {
                let fields = json!({"content": text, "thinking": thinking});
                self.push(at, "assistant_message", fields);
            }
        }
    }

    fn call(&mut self, at: Timestamp, call: &ToolCall) {
        let is_recovered = call.id.is_recovered();
        let mut fields = json!({
            "tool_name": call.name, "tool_input": call.args, "tool_id": call.id,
        });
        if is_recovered {
            self.push(at, "tool_call_recovered", fields.clone());
        }
        fields["call_type"] = if is_recovered { "recovered" } else { "native" }.into();
        self.push(at, "tool_call", fields);
    }

    fn usage(&mut self, at: Timestamp, usage: &Usage) {
        let mut fields = json!({
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "total_tokens": usage.total_tokens(),
        });
        let optional = [
            ("cost_usd", usage.cost_usd.map(Value::from)),
            ("reasoning_tokens", usage.reasoning_tokens.map(Value::from)),
            ("cached_tokens", usage.cached_tokens.map(Value::from)),
            ("cache_write_tokens", usage.cache_write_tokens.map(Value::from)),
            ("estimated", usage.estimated.then_some(Value::Bool(true))),
            ("provider", Some(Value::from(self.provider.as_str()))),
            ("generation_id", usage.generation_id.clone().map(Value::from)),
        ];
        for (key, value) in optional {
            if let Some(value) = value {
                fields[key] = value;
            }
        }
        self.push(at, "usage", fields);
    }

    fn push(&mut self, at: Timestamp, kind: &str, fields: Value) {
        self.count += 1;
        let local = at.0.to_zoned(self.zone.clone());
        let timestamp = local.strftime("%Y-%m-%dT%H:%M:%S%.6f").to_string();
        let mut line = Map::new();
        line.insert("timestamp".into(), timestamp.into());
        line.insert("event_number".into(), self.count.into());
        line.insert("event_type".into(), kind.into());
        if let Some(within) = &self.within {
            line.insert("agent".into(), within.agent.as_str().into());
            line.insert("parent_tool_id".into(), within.call.as_str().into());
        }
        if let Value::Object(fields) = fields {
            line.extend(fields);
        }
        self.lines.push(Value::Object(line));
    }
}

/// The first 16 hexadecimal digits of the SHA-256 of a text.
fn short_hash(text: &str) -> String {
    let hash = Sha256::digest(text);
    let (start, _) = hash.split_first_chunk().expect("a hash has 32 bytes");
    format!("{:016x}", u64::from_be_bytes(*start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_hashes_match_those_of_other_programs() {
        assert_eq!(short_hash(""), "e3b0c44298fc1c14");
        assert_eq!(short_hash("abc"), "ba7816bf8f01cfea");
    }
}
