//! The answer of a role that has a schema: read from the model's words, and asked for again where
//! it does not fit.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agent::registry::Registry;
use approvals::role_guard::Allowance;
use async_trait::async_trait;
use contract::hook::{
    Ending, Hook, HookContext, HookError, HookReply, Moment, Notification, StopVerdict,
    WordsVerdict,
};
use contract::tool::Tool;
use files::private;
use initrunner::final_result::{self, FinalResult};
use initrunner::role::{Finding, Role};
use initrunner::task::RunScope;
use serde_json::Value;

use super::reach;
use crate::assembly::Assembly;

/// The JSON in a model's words, which may stand between fences, where it fits a schema.
pub fn fitting(words: &str, schema: &Value) -> Result<String, String> {
    let inner = words.trim();
    let fenced = inner.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let inner = fenced.map_or(inner, |rest| rest.trim_start_matches("json").trim());
    let value: Value = serde_json::from_str(inner).map_err(|error| error.to_string())?;
    let tool = FinalResult::new(schema);
    let args = tool.arguments(value.clone());
    let (registry, _) = Registry::new([Arc::new(tool) as Arc<dyn Tool>], None);
    registry.check(final_result::NAME, &args)?;
    Ok(value.to_string())
}

/// The schema of a role's answer, read from its file where it stands in one. What is not a schema is
/// among the findings.
pub(super) fn schema(
    assembly: &Assembly,
    role: &Role,
    findings: &mut Vec<Finding>,
) -> Option<Value> {
    let (place, read) = match role.output.as_ref()? {
        Value::String(file) => ("output.schema_file", read(assembly, role, file)),
        schema => ("output.schema", Ok(schema.clone())),
    };
    let checked = read.and_then(|schema| {
        let tool = FinalResult::new(&schema);
        match agent::registry::check_schema(&tool.spec().input_schema) {
            Ok(()) => Ok(schema),
            Err(what) => Err(format!("it is not a JSON Schema: {what}")),
        }
    });
    checked.map_err(|what| findings.push(super::error(place, what))).ok()
}

fn read(assembly: &Assembly, role: &Role, file: &str) -> Result<Value, String> {
    let path = role.directory().join(file);
    reach::check(assembly, role, &path)?;
    let bytes = private::read(&path).map_err(|error| error.to_string())?;
    let bytes = bytes.ok_or_else(|| format!("there is no file {}", path.display()))?;
    match serde_json::from_slice(&bytes).map_err(|error| error.to_string())? {
        schema @ Value::Object(_) => Ok(schema),
        _ => Err(String::from("it holds no schema")),
    }
}

/// Keeps a turn from ending with a wrong answer. Counts the calls that reach no tool along with the
/// others, and begins anew with each turn.
pub(super) struct AnswerCheck {
    schema: Option<Value>,
    retries: u32,
    asked: AtomicU32,
    allowance: Arc<Allowance>,
    run: RunScope,
    halt: Mutex<Option<String>>,
}

impl AnswerCheck {
    /// Asks `retries` times again for an answer of this schema, if there is one. Advances `run` and
    /// renews `allowance` at each prompt.
    pub(super) fn new(
        (schema, retries): (Option<Value>, u32),
        allowance: &Arc<Allowance>,
        run: &RunScope,
    ) -> Self {
        let (asked, halt, run) = (AtomicU32::new(0), Mutex::default(), run.clone());
        Self { schema, retries, asked, allowance: Arc::clone(allowance), run, halt }
    }
}

#[async_trait]
impl Hook for AnswerCheck {
    fn name(&self) -> &'static str {
        "the role's answer"
    }

    fn wants(&self, moment: Moment) -> bool {
        match moment {
            Moment::BeforePrompt | Moment::Notification => true,
            Moment::BeforeStop => self.schema.is_some(),
            _ => false,
        }
    }

    async fn notify(
        &self,
        _: &HookContext,
        what: &Notification,
    ) -> Result<HookReply<()>, HookError> {
        if let Notification::CallRefused { .. } = what
            && let Some(limit) = self.allowance.take()
        {
            *self.halt.lock().unwrap_or_else(PoisonError::into_inner) = Some(limit);
        }
        Ok(HookReply::default())
    }

    fn take_halt(&self) -> Option<String> {
        let limit = self.halt.lock().unwrap_or_else(PoisonError::into_inner).take();
        limit.map(|limit| format!("a limit was reached: {limit}"))
    }

    async fn before_prompt(
        &self,
        scene: &HookContext,
        _: &str,
    ) -> Result<HookReply<WordsVerdict>, HookError> {
        if scene.within.is_none() {
            self.asked.store(0, Ordering::Relaxed);
            self.allowance.renew();
            self.run.advance();
        }
        Ok(HookReply::default())
    }

    async fn before_stop(
        &self,
        scene: &HookContext,
        ending: Ending<'_>,
    ) -> Result<HookReply<StopVerdict>, HookError> {
        let is_over = scene.within.is_some() || self.allowance.exceeded().is_some();
        let Some(schema) = self.schema.as_ref().filter(|_| !is_over) else {
            return Ok(HookReply::default());
        };
        let Err(what) = fitting(ending.reply, schema) else { return Ok(HookReply::default()) };
        if self.asked.fetch_add(1, Ordering::Relaxed) >= self.retries {
            return Ok(HookReply::default());
        }
        let words = format!(
            "Your answer does not fit the schema: {what}. Give it again: call `{}`, or answer with \
             JSON alone.",
            final_result::NAME
        );
        Ok(StopVerdict::GoOn(words).into())
    }
}
