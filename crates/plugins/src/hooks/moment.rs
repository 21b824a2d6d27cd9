//! Where hooks of all dialects meet the moments of a conversation. A [`Listener`] hears of an
//! [`Occurrence`] in the words of the contract and gives a [`Reply`]; here the reply becomes the
//! verdict of the moment. Parts of a reply that the moment cannot take are dropped.

use std::sync::Arc;

use async_trait::async_trait;
use contract::hook::{
    Advised, CallView, CompactVerdict, CompactView, ContextVerdict, Ending, Hook, HookContext,
    HookError, HookReply, Moment, Notification, OnFailure, RequestVerdict, ResultView, StopVerdict,
    TextVerdict, ToolVerdict, WordsVerdict,
};
use contract::provider::Request;
use contract::tool::ToolOutput;
use serde_json::Value;

/// Something that happens in a conversation, one variant for each moment.
#[derive(Clone, Copy)]
pub(crate) enum Occurrence<'a> {
    Notification(&'a Notification),
    Prompt(&'a str),
    Message(&'a str),
    SystemPrompt(&'a str),
    Request(&'a Request),
    ModelReply { prompt: &'a str, reply: &'a str },
    Call(CallView<'a>),
    CallResult(ResultView<'a>),
    Compaction(CompactView<'a>),
    TurnEnd(Ending<'a>),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reply {
    /// Why it must not happen; at the end of a turn, why the turn goes on.
    pub(crate) block: Option<String>,
    pub(crate) stop: Option<String>,
    pub(crate) ask: Option<String>,
    /// True if a prompt is dropped without a word.
    pub(crate) skip: bool,
    pub(crate) answer: Option<String>,
    pub(crate) input: Option<Value>,
    pub(crate) text: Option<String>,
    pub(crate) system_prompt: ContextVerdict,
    pub(crate) request: RequestVerdict,
    pub(crate) strategy: Option<String>,
    pub(crate) summary: Option<String>,
    pub(crate) context: Vec<String>,
    pub(crate) messages: Vec<String>,
    pub(crate) failures: Vec<String>,
}

impl Reply {
    pub(crate) fn block(why: impl Into<String>) -> Self {
        Self { block: Some(why.into()), ..Self::default() }
    }

    /// A failure with its reason, which decides nothing.
    pub(crate) fn failure(why: impl Into<String>) -> Self {
        Self { failures: vec![why.into()], ..Self::default() }
    }

    /// Adds what another hook says about the same; the strictest wins, and of equals the first.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.block = self.block.or(other.block);
        self.stop = self.stop.or(other.stop);
        self.ask = self.ask.or(other.ask);
        self.input = self.input.or(other.input);
        self.text = self.text.or(other.text);
        self.context.extend(other.context);
        self.messages.extend(other.messages);
        self.failures.extend(other.failures);
        self
    }

    pub(crate) fn inject(&self) -> Option<String> {
        (!self.context.is_empty()).then(|| self.context.join("\n\n"))
    }

    fn refusal(&mut self) -> Option<String> {
        self.block.take().or(self.stop.take())
    }

    fn words(&mut self) -> WordsVerdict {
        match (self.refusal(), self.text.take()) {
            (Some(why), _) => WordsVerdict::Block(why),
            (None, _) if self.skip => WordsVerdict::Skip,
            (None, text) => text.map_or(WordsVerdict::Keep, WordsVerdict::Replace),
        }
    }

    fn tool(&mut self) -> ToolVerdict {
        if let Some(why) = self.refusal() {
            ToolVerdict::Block(why)
        } else if let Some(text) = self.answer.take() {
            ToolVerdict::Answer(ToolOutput::success(text))
        } else if let Some(why) = self.ask.take() {
            // The user is asked about the call as it was made.
            ToolVerdict::Ask(why)
        } else {
            self.input.take().map_or(ToolVerdict::Proceed, ToolVerdict::Rewrite)
        }
    }

    fn replacement(&mut self) -> TextVerdict {
        self.text.take().map_or(TextVerdict::Keep, TextVerdict::Replace)
    }

    fn compaction(&mut self) -> CompactVerdict {
        let (strategy, summary) = (self.strategy.take(), self.summary.take());
        CompactVerdict { strategy, summary, refusal: self.refusal() }
    }

    fn turn_end(&mut self) -> StopVerdict {
        self.block.take().map_or(StopVerdict::End, StopVerdict::GoOn)
    }
}

#[async_trait]
pub(crate) trait Listener: Send + Sync {
    fn name(&self) -> &str;

    fn wants(&self, moment: Moment) -> bool;

    fn on_failure(&self) -> OnFailure {
        OnFailure::Continue
    }

    /// Why the turn must end, if the hook has said so since this was last asked.
    fn take_halt(&self) -> Option<String> {
        None
    }

    async fn hear(&self, context: &HookContext, what: Occurrence<'_>) -> Result<Reply, HookError>;
}

pub(crate) struct ListenerHook(pub(crate) Arc<dyn Listener>);

impl ListenerHook {
    pub(crate) fn shared(listener: impl Listener + 'static) -> Arc<dyn Hook> {
        Arc::new(Self(Arc::new(listener)))
    }

    async fn ask<V>(
        &self,
        context: &HookContext,
        what: Occurrence<'_>,
        verdict: fn(&mut Reply) -> V,
    ) -> Advised<V> {
        let mut reply = self.0.hear(context, what).await?;
        Ok(HookReply { verdict: verdict(&mut reply), inject: reply.inject() })
    }
}

#[async_trait]
impl Hook for ListenerHook {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn wants(&self, moment: Moment) -> bool {
        self.0.wants(moment)
    }

    fn on_failure(&self) -> OnFailure {
        self.0.on_failure()
    }

    fn take_halt(&self) -> Option<String> {
        self.0.take_halt()
    }

    async fn notify(&self, context: &HookContext, what: &Notification) -> Advised<()> {
        self.ask(context, Occurrence::Notification(what), |_| ()).await
    }

    async fn before_prompt(&self, context: &HookContext, text: &str) -> Advised<WordsVerdict> {
        self.ask(context, Occurrence::Prompt(text), Reply::words).await
    }

    async fn before_message(&self, context: &HookContext, text: &str) -> Advised<WordsVerdict> {
        self.ask(context, Occurrence::Message(text), Reply::words).await
    }

    async fn before_request(&self, context: &HookContext, base: &str) -> Advised<ContextVerdict> {
        let verdict = |reply: &mut Reply| std::mem::take(&mut reply.system_prompt);
        self.ask(context, Occurrence::SystemPrompt(base), verdict).await
    }

    async fn before_send(
        &self,
        context: &HookContext,
        request: &Request,
    ) -> Advised<RequestVerdict> {
        let verdict = |reply: &mut Reply| std::mem::take(&mut reply.request);
        self.ask(context, Occurrence::Request(request), verdict).await
    }

    async fn after_reply(
        &self,
        context: &HookContext,
        prompt: &str,
        reply: &str,
    ) -> Advised<TextVerdict> {
        self.ask(context, Occurrence::ModelReply { prompt, reply }, Reply::replacement).await
    }

    async fn before_tool(&self, context: &HookContext, call: CallView<'_>) -> Advised<ToolVerdict> {
        self.ask(context, Occurrence::Call(call), Reply::tool).await
    }

    async fn after_tool(
        &self,
        context: &HookContext,
        result: ResultView<'_>,
    ) -> Advised<TextVerdict> {
        self.ask(context, Occurrence::CallResult(result), Reply::replacement).await
    }

    async fn before_compact(
        &self,
        context: &HookContext,
        history: CompactView<'_>,
    ) -> Advised<CompactVerdict> {
        self.ask(context, Occurrence::Compaction(history), Reply::compaction).await
    }

    async fn before_stop(&self, context: &HookContext, ending: Ending<'_>) -> Advised<StopVerdict> {
        self.ask(context, Occurrence::TurnEnd(ending), Reply::turn_end).await
    }
}
