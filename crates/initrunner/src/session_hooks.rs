//! Hooks that follow the session of a role: its prompts are remembered, its agents end with it.

use std::sync::Arc;

use async_trait::async_trait;
use contract::hook::{
    Advised, Hook, HookContext, HookError, HookReply, Moment, Notification, WordsVerdict,
};

use crate::memory::MemoryStore;
use crate::task::RunScope;

/// Saves the prompts of a session, by which a resumed one recalls memories.
pub struct PromptRecorder(pub Arc<MemoryStore>);

#[async_trait]
impl Hook for PromptRecorder {
    fn name(&self) -> &'static str {
        "the role's memory"
    }

    fn wants(&self, moment: Moment) -> bool {
        moment == Moment::BeforePrompt
    }

    async fn before_prompt(&self, context: &HookContext, prompt: &str) -> Advised<WordsVerdict> {
        if context.within.is_none() {
            self.0.save_prompt(context.session.as_str(), prompt).map_err(HookError)?;
        }
        Ok(WordsVerdict::Keep.into())
    }
}

/// Ends the agents in the background with the session.
pub struct EndSpawned(pub RunScope);

#[async_trait]
impl Hook for EndSpawned {
    fn name(&self) -> &'static str {
        "the role's agents"
    }

    fn wants(&self, moment: Moment) -> bool {
        moment == Moment::Notification
    }

    async fn notify(&self, _: &HookContext, notification: &Notification) -> Advised<()> {
        if *notification == Notification::SessionEnded {
            self.0.stop_spawned().await;
        }
        Ok(HookReply::default())
    }
}
