//! Models for prompt hooks: the conversation's own, or another one of its provider.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use contract::message::{Entry, Message};
use contract::provider::{Delivery, Delta, Provider, ReasoningFormat, ReasoningLevel, Request};
use futures::StreamExt;
use plugins::hooks::{Ask, REPLY_TOKENS};

use crate::assemble::answering_model::AnsweringModel;
use crate::assemble::subagents::FAMILIAR;

pub(crate) struct Models {
    provider: Arc<dyn Provider>,
    usual: String,
    spelled: Mutex<BTreeMap<String, String>>,
}

impl Models {
    pub(crate) fn new(answering: &AnsweringModel) -> Self {
        Self {
            provider: Arc::clone(&answering.provider),
            usual: answering.model.clone(),
            spelled: Mutex::default(),
        }
    }

    pub(crate) fn learn(&self, spelled: impl Iterator<Item = (String, String)>) {
        self.spelled.lock().unwrap_or_else(PoisonError::into_inner).extend(spelled);
    }

    /// The provider's name for a model; the conversation's model if none, or another vendor's, is
    /// named.
    pub(crate) fn model(&self, named: Option<&str>) -> String {
        let Some(named) = named else { return self.usual.clone() };
        let spelled = self.spelled.lock().unwrap_or_else(PoisonError::into_inner);
        let unknown = || if FAMILIAR.contains(&named) { &self.usual } else { named };
        spelled.get(named).map_or_else(unknown, String::as_str).to_owned()
    }
}

#[async_trait]
impl Ask for Models {
    async fn ask(&self, model: Option<&str>, prompt: &str) -> Result<String, String> {
        let question = Entry::new(Message::User { text: prompt.to_owned() });
        let request = Request {
            model: self.model(model),
            system: Arc::from(""),
            history: Arc::new(vec![Arc::new(question)]),
            tools: Arc::from([]),
            max_tokens: REPLY_TOKENS,
            temperature: None,
            reasoning_level: ReasoningLevel::Auto,
            reasoning_format: ReasoningFormat::None,
            params: BTreeMap::new(),
            delivery: Delivery::Whole,
        };
        let mut stream = self.provider.stream(request).await.map_err(|error| error.to_string())?;
        let mut reply = String::new();
        while let Some(delta) = stream.next().await {
            match delta.map_err(|error| error.to_string())? {
                Delta::Text(text) => reply.push_str(&text),
                Delta::Stopped(_) => return Ok(reply),
                Delta::Thinking(_)
                | Delta::ThinkingOpaque(_)
                | Delta::CallStarted { .. }
                | Delta::Call(_)
                | Delta::Usage(_) => {}
            }
        }
        Err("the model's reply was cut off".to_owned())
    }
}
