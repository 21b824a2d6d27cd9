//! Models for prompt hooks: the conversation's own, or another one of its provider.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use contract::provider::{Delivery, Provider, ReasoningFormat};
use plugins::hooks::{Ask, REPLY_TOKENS};
use providers::single::{self, Question};
use subagents::FAMILIAR;

use crate::answering_model::AnsweringModel;

/// Asks models the questions of hooks.
pub struct Models {
    provider: Arc<dyn Provider>,
    usual: String,
    spelled: Mutex<BTreeMap<String, String>>,
}

impl Models {
    /// Asks the model of the conversation, unless a hook names another one.
    pub fn new(answering: &AnsweringModel) -> Self {
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
        let asked = Question {
            model: self.model(model),
            text: prompt,
            max_tokens: REPLY_TOKENS,
            reasoning_format: ReasoningFormat::None,
            delivery: Delivery::Whole,
        };
        let answer = single::ask(self.provider.as_ref(), asked).await;
        let answer = answer.map_err(|error| error.to_string())?;
        let cut_off = || "the model's reply was cut off".to_owned();
        answer.is_whole.then_some(answer.text).ok_or_else(cut_off)
    }
}
