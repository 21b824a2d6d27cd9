//! The rules of a role on prompts and answers. What they refuse is recorded.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use contract::hook::{
    Advised, Hook, HookContext, HookReply, Moment, OnFailure, TextVerdict, WordsVerdict,
};
use initrunner::content_filter::{self, ContentFilter};
use initrunner::role::Role;

use super::stores;
use crate::answering_model::AnsweringModel;
use crate::assembly::Assembly;
use crate::output;

const VERDICT_TOKENS: u64 = 256;

pub(super) struct ContentGuard {
    filter: ContentFilter,
    answering: Option<Arc<AnsweringModel>>,
    assembly: Assembly,
    agent: String,
    halt: Mutex<Option<String>>,
}

impl ContentGuard {
    pub(super) fn new(
        assembly: &Assembly,
        role: &Role,
        answering: Option<&Arc<AnsweringModel>>,
    ) -> Option<Arc<Self>> {
        Some(Arc::new(Self {
            filter: ContentFilter::new(role.content.as_ref()?),
            answering: answering.cloned(),
            assembly: assembly.clone(),
            agent: role.name.clone(),
            halt: Mutex::default(),
        }))
    }

    async fn check(&self, prompt: &str) -> Result<(), String> {
        self.filter.check_input(prompt)?;
        let Some(question) = self.filter.classifier_prompt(prompt) else { return Ok(()) };
        let answering = self.answering.as_ref().ok_or("Input refused: there is no classifier")?;
        let verdict = answering.ask(&question, VERDICT_TOKENS).await;
        let verdict = verdict.map_err(|problem| format!("Input refused: {}", problem.message()))?;
        content_filter::classified(&verdict)
    }

    fn record(&self, event: &str, why: &str) {
        let recorded = stores::audit(&self.assembly).and_then(|store| {
            store.map_or(Ok(()), |it| it.add_security_event(event, &self.agent, why))
        });
        if let Err(what) = recorded {
            output::warning(&format!("a security event is not recorded: {what}"));
        }
    }
}

#[async_trait]
impl Hook for ContentGuard {
    fn name(&self) -> &'static str {
        "the role's content rules"
    }

    fn wants(&self, moment: Moment) -> bool {
        matches!(moment, Moment::BeforePrompt | Moment::AfterReply)
    }

    fn on_failure(&self) -> OnFailure {
        OnFailure::Block
    }

    fn take_halt(&self) -> Option<String> {
        self.halt.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    async fn before_prompt(&self, _: &HookContext, prompt: &str) -> Advised<WordsVerdict> {
        Ok(match self.check(prompt).await {
            Ok(()) => HookReply::default(),
            Err(why) => {
                self.record("input_blocked", &why);
                WordsVerdict::Block(why).into()
            }
        })
    }

    async fn after_reply(&self, _: &HookContext, _: &str, reply: &str) -> Advised<TextVerdict> {
        let text = self.filter.filtered_output(reply).unwrap_or_else(|why| {
            self.record("output_blocked", &why);
            *self.halt.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
            String::new()
        });
        let is_changed = text != reply;
        Ok(if is_changed { TextVerdict::Replace(text).into() } else { HookReply::default() })
    }
}
