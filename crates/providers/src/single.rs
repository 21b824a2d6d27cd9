//! A single question to a model, without tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use contract::message::{Entry, Message};
use contract::provider::{
    Delivery, Delta, Provider, ProviderError, ReasoningFormat, ReasoningLevel, Request,
};
use futures::StreamExt as _;

/// A model, and the way it is asked.
pub struct Question<'a> {
    pub model: String,
    pub text: &'a str,
    pub max_tokens: u64,
    pub reasoning_format: ReasoningFormat,
    pub delivery: Delivery,
}

/// The text of an answer.
#[derive(Debug, Default)]
pub struct Answer {
    pub text: String,
    /// False if the reply ended before the model stopped.
    pub is_whole: bool,
}

pub async fn ask(provider: &dyn Provider, asked: Question<'_>) -> Result<Answer, ProviderError> {
    let message = Message::User { text: asked.text.to_owned() };
    let request = Request {
        model: asked.model,
        system: Arc::from(""),
        history: Arc::new(vec![Arc::new(Entry::new(message))]),
        tools: Arc::from([]),
        max_tokens: asked.max_tokens,
        temperature: None,
        reasoning_level: ReasoningLevel::Auto,
        reasoning_format: asked.reasoning_format,
        params: BTreeMap::new(),
        delivery: asked.delivery,
    };
    let mut stream = provider.stream(request).await?;
    let mut answer = Answer::default();
    while let Some(delta) = stream.next().await {
        match delta? {
            Delta::Text(text) => answer.text.push_str(&text),
            Delta::Stopped(_) => answer.is_whole = true,
            Delta::Thinking(_)
            | Delta::ThinkingOpaque(_)
            | Delta::CallStarted { .. }
            | Delta::Call(_)
            | Delta::Usage(_) => {}
        }
    }
    Ok(answer)
}
