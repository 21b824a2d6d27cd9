//! A hook that is only asked about calls, for work that is not a session.

use std::sync::Arc;

use async_trait::async_trait;
use contract::hook::{
    Advised, CallView, Hook, HookContext, Moment, OnFailure, ResultView, TextVerdict, ToolVerdict,
};

pub struct CallGuard(pub Arc<dyn Hook>);

#[async_trait]
impl Hook for CallGuard {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn wants(&self, moment: Moment) -> bool {
        matches!(moment, Moment::BeforeTool | Moment::AfterTool) && self.0.wants(moment)
    }

    fn on_failure(&self) -> OnFailure {
        self.0.on_failure()
    }

    async fn before_tool(&self, context: &HookContext, call: CallView<'_>) -> Advised<ToolVerdict> {
        self.0.before_tool(context, call).await
    }

    async fn after_tool(
        &self,
        context: &HookContext,
        result: ResultView<'_>,
    ) -> Advised<TextVerdict> {
        self.0.after_tool(context, result).await
    }
}
