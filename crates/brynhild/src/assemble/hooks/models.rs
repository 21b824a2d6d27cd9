//! Puts the questions of hooks to a model: the conversation's own, or another one of the same
//! provider.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use contract::message::{Entry, Message};
use contract::provider::{Delivery, Delta, Provider, Request};
use futures::StreamExt;
use plugins::hooks::{Ask, REPLY_TOKENS};

use crate::assemble::answering_model::AnsweringModel;
use crate::assemble::subagents::FAMILIAR;

/// The models of a provider.
pub(crate) struct Models {
    provider: Arc<dyn Provider>,
    usual: String,
    /// How the provider spells the names that hooks use.
    spelled: Mutex<BTreeMap<String, String>>,
}

impl Models {
    /// The models of the provider that answers.
    pub(crate) fn new(answering: &AnsweringModel) -> Self {
        Self {
            provider: Arc::clone(&answering.provider),
            usual: answering.model.clone(),
            spelled: Mutex::default(),
        }
    }

    /// Takes how the provider spells names.
    pub(crate) fn learn(&self, spelled: impl Iterator<Item = (String, String)>) {
        self.spelled.lock().unwrap_or_else(PoisonError::into_inner).extend(spelled);
    }

    /// The model of a name, in the provider's spelling; the usual one where none is named, or one
    /// by a name that only another vendor's hooks use.
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
            reasoning_level: "auto".to_owned(),
            reasoning_format: "none".to_owned(),
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
        Err("the model's reply broke off".to_owned())
    }
}
