//! The schema of `--output-schema`. An answer that does not fit is asked for once more.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use contract::hook::{Ending, Hook, HookContext, HookError, HookReply, Moment, StopVerdict};
use contract::tool::Tool as _;
use initrunner::final_result::FinalResult;
use serde_json::Value;

use crate::exit::Problem;
use crate::named_file;
use crate::role::answer::fitting;
use crate::run_context::RunContext;

/// The JSON Schema that the answer must fit, as `--output-schema` names it.
pub struct AnswerSchema {
    schema: Value,
    was_asked_again: AtomicBool,
}

impl AnswerSchema {
    /// Reads and checks the schema.
    pub fn read(run: &RunContext, path: &Path) -> Result<Arc<Self>, Problem> {
        let misuse = |what: String| {
            Problem::misuse(format!("cannot use `--output-schema {}`: {what}", path.display()))
                .hint("it must name a file with a JSON Schema")
        };
        let text = std::fs::read(named_file::place(run, path)?);
        let text = text.map_err(|error| misuse(error.to_string()))?;
        let schema: Value =
            serde_json::from_slice(&text).map_err(|error| misuse(error.to_string()))?;
        let tool = FinalResult::new(&schema);
        agent::registry::check_schema(&tool.spec().input_schema).map_err(misuse)?;
        Ok(Arc::new(Self { schema, was_asked_again: AtomicBool::new(false) }))
    }

    /// The prompt with the schema, for a new turn.
    pub fn added_to(&self, prompt: &str) -> String {
        self.was_asked_again.store(false, Ordering::Relaxed);
        format!("{prompt}\n\nAnswer with JSON alone that fits this JSON Schema:\n{}", self.schema)
    }

    /// The JSON of an answer, or why it does not fit.
    pub fn fitting(&self, answer: &str) -> Result<String, String> {
        fitting(answer, &self.schema)
    }
}

#[async_trait]
impl Hook for AnswerSchema {
    fn name(&self) -> &'static str {
        "--output-schema"
    }

    fn wants(&self, moment: Moment) -> bool {
        moment == Moment::BeforeStop
    }

    async fn before_stop(
        &self,
        context: &HookContext,
        ending: Ending<'_>,
    ) -> Result<HookReply<StopVerdict>, HookError> {
        let Err(reason) = self.fitting(ending.reply) else { return Ok(HookReply::default()) };
        if context.within.is_some() || self.was_asked_again.swap(true, Ordering::Relaxed) {
            return Ok(HookReply::default());
        }
        let words = format!(
            "Your answer does not fit the schema: {reason}. Answer again, with JSON alone."
        );
        Ok(StopVerdict::GoOn(words).into())
    }
}
