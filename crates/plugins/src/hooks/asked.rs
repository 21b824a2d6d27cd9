//! What the answers of a hook come to in a conversation.

use std::sync::PoisonError;

use async_trait::async_trait;
use contract::hook::{
    CallView, CompactVerdict, CompactView, ContextVerdict, Hook, HookContext, HookError, HookReply,
    Moment, Notification, OnFailure, ResultView, TextVerdict, ToolVerdict, WordsVerdict,
};
use contract::tool::ToolOutput;
use serde_json::{Value, json};

use super::answer::{Action, Answer, Location};
use super::context::Context;
use super::defined::Defined;
use super::event::Event;

impl Defined {
    fn context(&self, scene: &HookContext) -> Context {
        Context::in_scene(self.definition.event, scene)
    }

    /// Why it blocks, in words.
    fn why(&self, answer: &Answer) -> String {
        let generic = || format!("Blocked by {} hook", self.definition.event.name());
        answer.message.clone().unwrap_or_else(generic)
    }

    async fn words(
        &self,
        scene: &HookContext,
        text: &str,
    ) -> Result<HookReply<WordsVerdict>, HookError> {
        let context = self.context(scene).with("message", text);
        let Some(answer) = self.answer(context).await? else { return Ok(HookReply::default()) };
        let verdict = match answer.action {
            Action::Block => WordsVerdict::Block(self.why(&answer)),
            Action::Skip => WordsVerdict::Skip,
            Action::Continue => {
                answer.modified_message.map_or(WordsVerdict::Keep, WordsVerdict::Replace)
            }
        };
        Ok(HookReply { verdict, inject: answer.inject })
    }

    /// Asks what to add to a system prompt, and remembers it.
    async fn addition(
        &self,
        scene: &HookContext,
        base: &str,
    ) -> Result<HookReply<ContextVerdict>, HookError> {
        let ledger = &self.settings.ledger;
        let session = scene.session.as_str();
        let context = self
            .context(scene)
            .with("base_system_prompt", base)
            .with("injections_so_far", ledger.injections(session, self.position));
        let answer = self.answer(context).await?.unwrap_or_default();
        let injection = answer.context_injection.as_ref().map(|content| {
            let location = if answer.location == Location::Prepend { "prepend" } else { "append" };
            json!({
                "source": "hook", "location": location, "content": content,
                "origin": self.definition.name,
            })
        });
        ledger.inject(session, self.position, injection);
        let mut verdict = ContextVerdict::default();
        match answer.location {
            Location::Prepend => verdict.prepend = answer.context_injection,
            Location::Append => verdict.append = answer.context_injection,
        }
        Ok(HookReply { verdict, inject: answer.inject })
    }
}

#[async_trait]
impl Hook for Defined {
    fn name(&self) -> &str {
        &self.title
    }

    fn wants(&self, moment: Moment) -> bool {
        self.definition.event.moment() == Some(moment)
    }

    fn on_failure(&self) -> OnFailure {
        self.definition.on_failure
    }

    async fn occasion(
        &self,
        scene: &HookContext,
        what: &Notification,
    ) -> Result<HookReply<()>, HookError> {
        let session = scene.session.as_str();
        let own = self.definition.event;
        let context = Context::of_occasion(what, scene).filter(|context| context.event == own);
        let Some(mut context) = context else { return Ok(HookReply::default()) };
        if let (Event::SessionEnd, Some(summary)) =
            (context.event, self.settings.ledger.summary(session))
        {
            context.set("session_metrics_summary", summary);
        }
        let answer = self.answer(context).await?.unwrap_or_default();
        Ok(HookReply { verdict: (), inject: answer.inject })
    }

    async fn before_prompt(
        &self,
        scene: &HookContext,
        text: &str,
    ) -> Result<HookReply<WordsVerdict>, HookError> {
        self.words(scene, text).await
    }

    async fn before_message(
        &self,
        scene: &HookContext,
        text: &str,
    ) -> Result<HookReply<WordsVerdict>, HookError> {
        self.words(scene, text).await
    }

    async fn before_request(
        &self,
        scene: &HookContext,
        base: &str,
    ) -> Result<HookReply<ContextVerdict>, HookError> {
        let key = (scene.session.as_str().to_owned(), base.to_owned());
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(verdict) = said {
            return Ok(verdict.into());
        }
        let advice = self.addition(scene, base).await?;
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.insert(key, advice.verdict.clone());
        Ok(advice)
    }

    async fn after_reply(
        &self,
        scene: &HookContext,
        prompt: &str,
        reply: &str,
    ) -> Result<HookReply<TextVerdict>, HookError> {
        let context = self.context(scene).with("message", prompt).with("response", reply);
        let answer = self.answer(context).await?.unwrap_or_default();
        let verdict = answer.modified_response.map_or(TextVerdict::Keep, TextVerdict::Replace);
        Ok(HookReply { verdict, inject: answer.inject })
    }

    async fn before_tool(
        &self,
        scene: &HookContext,
        call: CallView<'_>,
    ) -> Result<HookReply<ToolVerdict>, HookError> {
        let context =
            self.context(scene).with("tool", call.tool).with("tool_input", call.args.clone());
        let Some(answer) = self.answer(context).await? else { return Ok(HookReply::default()) };
        let verdict = match answer.action {
            Action::Block => ToolVerdict::Block(self.why(&answer)),
            Action::Skip => {
                ToolVerdict::Answer(ToolOutput::success("[skipped by pre_tool_use hook]"))
            }
            Action::Continue => match answer.modified_input {
                Some(input) => ToolVerdict::Rewrite(Value::Object(input)),
                None => ToolVerdict::Proceed,
            },
        };
        Ok(HookReply { verdict, inject: answer.inject })
    }

    async fn after_tool(
        &self,
        scene: &HookContext,
        result: ResultView<'_>,
    ) -> Result<HookReply<TextVerdict>, HookError> {
        let mut context = self.context(scene).with_result(&result);
        let (ledger, session) = (&self.settings.ledger, scene.session.as_str());
        if let Some(metrics) = ledger.tool(session, result.call.tool) {
            context.set("tool_metrics", metrics);
        }
        if let Some(summary) = ledger.summary(session) {
            context.set("session_metrics_summary", summary);
        }
        let answer = self.answer(context).await?.unwrap_or_default();
        let verdict = answer.modified_output.map_or(TextVerdict::Keep, TextVerdict::Replace);
        Ok(HookReply { verdict, inject: answer.inject })
    }

    async fn before_compact(
        &self,
        scene: &HookContext,
        history: CompactView<'_>,
    ) -> Result<HookReply<CompactVerdict>, HookError> {
        let context = self.context(scene).with("compaction_strategy", history.strategy);
        let answer = self.answer(context).await?.unwrap_or_default();
        let verdict = CompactVerdict {
            strategy: answer.modified_strategy,
            summary: answer.summary,
            refusal: None,
        };
        Ok(HookReply { verdict, inject: answer.inject })
    }
}
