//! A guard hook of a plugin in a project that changed since the user trusted it: until the user
//! decides, it does not run, and the calls that it guarded are refused.

use async_trait::async_trait;
use contract::action::Action;
use contract::hook::{Advised, CallView, Hook, HookContext, Moment, OnFailure, ToolVerdict};

pub(crate) struct ChangedGuard {
    title: String,
    point: String,
    reason: String,
}

impl ChangedGuard {
    pub(crate) fn new(plugin: &str, point: &str, reason: &str) -> Self {
        let title = format!("'{point}' (plugin {plugin})");
        let reason = format!("Hook {title} guards this call, and {reason}");
        Self { title, point: point.to_owned(), reason }
    }

    fn is_about(&self, call: CallView<'_>) -> bool {
        let mut actions = call.actions.iter();
        match self.point.as_str() {
            "pre_file_read" => actions.any(|action| matches!(action, Action::Read { .. })),
            "pre_file_write" => actions.any(|action| matches!(action, Action::Write { .. })),
            "pre_shell_exec" => actions.any(|action| matches!(action, Action::Run { .. })),
            "pre_fetch_url" => actions.any(|action| matches!(action, Action::Connect { .. })),
            "pre_spawn_agent" => call.args.get("subagent_type").is_some(),
            _ => true,
        }
    }
}

#[async_trait]
impl Hook for ChangedGuard {
    fn name(&self) -> &str {
        &self.title
    }

    fn wants(&self, moment: Moment) -> bool {
        moment == Moment::BeforeTool
    }

    fn on_failure(&self) -> OnFailure {
        OnFailure::Block
    }

    async fn before_tool(&self, _: &HookContext, call: CallView<'_>) -> Advised<ToolVerdict> {
        if self.is_about(call) {
            return Ok(ToolVerdict::Block(self.reason.clone()).into());
        }
        Ok(ToolVerdict::Proceed.into())
    }
}
