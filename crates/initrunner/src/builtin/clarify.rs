//! `clarify`: asks the user for missing information, a few times in a run.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use contract::tool::Risk;
use serde_json::{Value, json};

use super::function::{self, Function};
use super::options::Options;
use super::{About, Built, ToolHost, text};
use crate::host::{UserAnswer, UserQuestions};
use crate::task::RunState;

pub(super) const KEYS: &[&str] = &["max_clarifications", "timeout_seconds"];

pub(super) fn build(options: &Options<'_>, tool_host: &ToolHost) -> Result<Built, String> {
    let about = About {
        name: "clarify",
        description: "Ask the user for information that is missing and that you cannot find \
                      yourself. Do not ask for confirmation.",
        kind: "clarify",
        risk: Risk::ReadOnly,
        properties: json!({"question": {"type": "string", "description": "The question"}}),
        required: &["question"],
    };
    let clarify = Clarify {
        max_questions: options.count_within("max_clarifications", 3, 1..=10)?,
        timeout: Duration::from_secs(
            options.count_within("timeout_seconds", 300, 30..=3600)? as u64
        ),
        asked: RunState::new(&tool_host.run),
        user: Arc::clone(&tool_host.user),
    };
    Ok(Built::of([function::stateful(clarify, about.spec(tool_host))]))
}

struct Clarify {
    max_questions: usize,
    timeout: Duration,
    asked: RunState<usize>,
    user: Arc<dyn UserQuestions>,
}

#[async_trait]
impl Function for Clarify {
    async fn call(&self, args: &Value) -> Result<String, String> {
        let limit = self.max_questions;
        if self.asked.with(|asked| *asked >= limit) {
            return Ok(format!(
                "Clarification limit reached ({limit}). Proceed with your best judgment based on \
                 available information."
            ));
        }
        let answer = self.user.ask(text(args, "question"));
        let answer = tokio::time::timeout(self.timeout, answer).await;
        let answer = answer.unwrap_or(UserAnswer::None);
        if answer != UserAnswer::NotAvailable {
            self.asked.with(|asked| *asked += 1);
        }
        Ok(match answer {
            UserAnswer::Text(answer) => format!("User response: {answer}"),
            UserAnswer::None => String::from(
                "No response received within the timeout. Proceed with your best judgment.",
            ),
            UserAnswer::NotAvailable => String::from(
                "Clarification is not available in this execution mode. Proceed with your best \
                 judgment.",
            ),
        })
    }
}
