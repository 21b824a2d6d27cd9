//! A conversation with a scenario, without a loop.

use std::collections::BTreeMap;
use std::sync::Arc;

use contract::id::CallId;
use contract::message::{Entry, Message, Part, Reply, StopReason};
use contract::provider::{
    Delivery, Delta, Provider, ProviderError, ReasoningFormat, ReasoningLevel, Request,
};
use contract::tool::{Recovery, Risk, ToolSpec, Traits};
use futures::StreamExt;

use crate::script::{Script, parse};

/// The conversation so far, and the model.
pub(super) struct Conversation {
    pub(super) script: Script,
    pub(super) history: Vec<Arc<Entry>>,
    pub(super) tools: Vec<&'static str>,
    pub(super) delivery: Delivery,
}

impl Conversation {
    pub(super) fn with(yaml: &str) -> Self {
        let scenario = parse("play.yaml", yaml).expect("the scenario is valid");
        Self {
            script: Script::new(scenario),
            history: Vec::new(),
            tools: vec!["Bash", "Read"],
            delivery: Delivery::Streamed,
        }
    }

    /// This history in another process.
    pub(super) fn resumed(self, yaml: &str) -> Self {
        Self { history: self.history, ..Self::with(yaml) }
    }

    pub(super) fn user(&mut self, text: &str) {
        let text = text.to_owned();
        self.push(Message::User { text });
    }

    pub(super) fn result(&mut self, name: &str, content: &str, is_error: bool) {
        self.push(Message::Tool {
            call: CallId(format!("id-{}", self.history.len())),
            name: name.to_owned(),
            content: content.to_owned(),
            is_error,
        });
    }

    pub(super) fn push(&mut self, message: Message) {
        self.history.push(Arc::new(Entry::new(message)));
    }

    pub(super) fn request(&self) -> Request {
        let spec = |name: &&str| {
            Arc::new(ToolSpec {
                name: (*name).to_owned(),
                description: String::new(),
                input_schema: serde_json::json!({"type": "object"}).into(),
                version: "1.0.0".into(),
                categories: Vec::new(),
                requires_permission: false,
                risk_level: Risk::ReadOnly,
                recovery_policy: Recovery::Allow,
                parallel: true,
                source: "builtin".into(),
                traits: Traits::default(),
            })
        };
        Request {
            model: "play.yaml".into(),
            system: "You are terse.".into(),
            history: Arc::new(self.history.clone()),
            tools: self.tools.iter().map(spec).collect(),
            max_tokens: 100,
            temperature: None,
            reasoning_level: ReasoningLevel::Auto,
            reasoning_format: ReasoningFormat::Auto,
            params: BTreeMap::new(),
            delivery: self.delivery,
        }
    }

    /// Everything that comes in answer to the history as it is.
    pub(super) async fn deltas(&self) -> Vec<Result<Delta, ProviderError>> {
        match self.script.stream(self.request()).await {
            Ok(stream) => stream.collect().await,
            Err(error) => vec![Err(error)],
        }
    }

    /// Takes one reply into the history.
    pub(super) async fn reply(&mut self) -> Result<Reply, ProviderError> {
        let mut reply = Reply::default();
        for delta in self.deltas().await {
            match delta? {
                Delta::Text(more) => match reply.parts.last_mut() {
                    Some(Part::Text { text }) => text.push_str(&more),
                    _ => reply.parts.push(Part::Text { text: more }),
                },
                Delta::Call(call) => reply.parts.push(Part::Call(call)),
                Delta::Stopped(stop) => reply.stop = stop,
                _ => {}
            }
        }
        self.push(Message::Assistant(reply.clone()));
        Ok(reply)
    }

    /// The text of the next reply.
    pub(super) async fn text(&mut self) -> String {
        self.reply().await.expect("a reply").text()
    }

    /// The failure that comes in place of a reply.
    pub(super) async fn failure(&mut self) -> ProviderError {
        self.reply().await.expect_err("a failure")
    }

    /// Puts a reply that broke off into the history.
    pub(super) fn broken_off(&mut self, text: &str) {
        let text = text.to_owned();
        self.push(Message::Assistant(Reply {
            parts: vec![Part::Text { text }],
            stop: StopReason::Interrupted,
        }));
    }
}
