//! Asks hooks one after the other, and merges their replies. The effect of a failure is `on_failure`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use contract::action::Action;
use contract::event::{CompactionStrategy, EventKind, Level, MessageOrigin, Outcome};
use contract::hook::{
    CallView, CompactVerdict, CompactView, Ending, Hook, HookContext, HookError, HookReply, Moment,
    Notification, OnFailure, RequestVerdict, ResultView, StopVerdict, TextVerdict, ToolVerdict,
    WordsVerdict,
};
use contract::message::ToolCall;
use contract::policy::Decision;
use contract::provider::Request;
use contract::tool::{Tool, ToolOutput};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::journal::{Journal, Logged};

/// The time that all hooks together may delay the end of a session.
const FAREWELL: Duration = Duration::from_secs(5);
/// The time after which a user is told which hook delays the beginning.
const SLOW_HOOK_DELAY: Duration = Duration::from_secs(3);

/// A reason for asking the user about a call, whatever the rules say.
#[derive(Clone, Debug)]
pub(crate) struct Doubt {
    pub(crate) origin: String,
    pub(crate) why: String,
}

/// The hooks of a conversation, and what they want the model to read.
pub(crate) struct Hooks {
    list: Arc<[Arc<dyn Hook>]>,
    context: HookContext,
    guidance: Mutex<Vec<String>>,
    halt: Mutex<Option<Outcome>>,
    has_halted: AtomicBool,
    cancel: CancellationToken,
}

pub(crate) enum Words {
    Sent(String),
    Blocked { hook: String, reason: String },
    Skipped,
}

pub(crate) enum Advised {
    Proceed { rewritten: Option<Value>, ask: Option<Doubt> },
    Answer(ToolOutput),
    Block { hook: String, reason: String },
}

enum HookDecision {
    Nothing,
    Rewrite(Value),
    Ask(Doubt),
    Settled(Advised),
}

impl Hooks {
    pub(crate) fn new(list: impl Into<Arc<[Arc<dyn Hook>]>>, context: HookContext) -> Self {
        let list = list.into();
        Self {
            list,
            context,
            guidance: Mutex::default(),
            halt: Mutex::default(),
            has_halted: AtomicBool::new(false),
            cancel: CancellationToken::new(),
        }
    }

    pub(crate) fn stop_with(&mut self, cancel: CancellationToken) {
        self.cancel = cancel;
    }

    /// Waits for an answer, unless the user has had enough.
    async fn answer<V>(
        &self,
        asked: impl Future<Output = Result<HookReply<V>, HookError>>,
    ) -> Result<HookReply<V>, HookError> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(HookError("interrupted".to_owned())),
            answer = asked => answer,
        }
    }

    /// Replaces the hooks; guidance for the model stays.
    pub(crate) fn replace(&mut self, list: Vec<Arc<dyn Hook>>) {
        self.list = list.into();
    }

    pub(crate) fn list(&self) -> Arc<[Arc<dyn Hook>]> {
        Arc::clone(&self.list)
    }

    pub(crate) fn wants(&self, moment: Moment) -> bool {
        self.list.iter().any(|hook| hook.wants(moment))
    }

    fn asked(&self, moment: Moment) -> impl Iterator<Item = &Arc<dyn Hook>> {
        self.list.iter().filter(move |hook| hook.wants(moment))
    }

    pub(crate) fn take_guidance(&self) -> Option<EventKind> {
        let mut waiting = self.guidance.lock().unwrap_or_else(PoisonError::into_inner);
        let texts = std::mem::take(&mut *waiting);
        if texts.is_empty() {
            return None;
        }
        let text = format!("[System guidance]\n{}\n[/System guidance]", texts.join("\n\n"));
        Some(EventKind::Injected { origin: MessageOrigin::Other("hooks".to_owned()), text })
    }

    pub(crate) fn take_halt(&self) -> Option<Outcome> {
        let halt = self.halt.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.has_halted.store(halt.is_some(), Ordering::Relaxed);
        halt
    }

    pub(crate) fn has_halted(&self) -> bool {
        self.has_halted.load(Ordering::Relaxed)
    }

    pub(crate) fn guide(&self, text: String) {
        self.guidance.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    async fn settle<V>(
        &self,
        journal: &mut Journal,
        hook: &dyn Hook,
        answer: Result<HookReply<V>, HookError>,
    ) -> Logged<Result<V, (OnFailure, String)>> {
        if let Some(reason) = hook.take_halt() {
            let halt = Outcome::Blocked { hook: hook.name().to_owned(), reason };
            self.halt.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(halt);
        }
        match answer {
            Ok(reply) => {
                reply.inject.into_iter().for_each(|text| self.guide(text));
                Ok(Ok(reply.verdict))
            }
            Err(error) => {
                let text = format!("hook {}: {error}", hook.name());
                journal.warn(text.clone()).await?;
                Ok(Err((hook.on_failure(), text)))
            }
        }
    }

    pub(crate) async fn notify(
        &self,
        journal: &mut Journal,
        notification: &Notification,
    ) -> Logged {
        for hook in self.asked(Moment::Notification) {
            let answer = hook.notify(&self.context, notification).await;
            // Nothing can be stopped here, whatever the failure means elsewhere.
            let _ = self.settle(journal, hook.as_ref(), answer).await?;
        }
        Ok(())
    }

    /// Tells that the session begins. The user can end the wait, and learns what it is for.
    pub(crate) async fn greet(&self, journal: &mut Journal) -> Logged {
        for hook in self.asked(Moment::Notification) {
            let told = self.answer(hook.notify(&self.context, &Notification::SessionStarted));
            tokio::pin!(told);
            let answer = if let Ok(answer) = tokio::time::timeout(SLOW_HOOK_DELAY, &mut told).await
            {
                answer
            } else {
                journal.warn(format!("waiting for hook {}", hook.name())).await?;
                told.await
            };
            let _ = self.settle(journal, hook.as_ref(), answer).await?;
        }
        Ok(())
    }

    /// Tells that the session ends, without letting anybody delay it for long.
    pub(crate) async fn farewell(&self, journal: &mut Journal) -> Logged {
        let told =
            tokio::time::timeout(FAREWELL, self.notify(journal, &Notification::SessionEnded));
        if let Ok(told) = told.await {
            return told;
        }
        journal.warn("hooks of session_end took too long and were stopped").await
    }

    /// Asks about a user's prompt: as it was sent, then on its way to the model.
    pub(crate) async fn words(&self, journal: &mut Journal, prompt: String) -> Logged<Words> {
        if !self.wants(Moment::BeforePrompt) && !self.wants(Moment::BeforeMessage) {
            return Ok(Words::Sent(prompt));
        }
        let mut text = prompt;
        for moment in [Moment::BeforePrompt, Moment::BeforeMessage] {
            for hook in self.asked(moment) {
                let answer = if moment == Moment::BeforePrompt {
                    self.answer(hook.before_prompt(&self.context, &text)).await
                } else {
                    self.answer(hook.before_message(&self.context, &text)).await
                };
                let hook_name = || hook.name().to_owned();
                match self.settle(journal, hook.as_ref(), answer).await? {
                    Ok(WordsVerdict::Keep) | Err((OnFailure::Continue, _)) => {}
                    Ok(WordsVerdict::Replace(changed)) => text = changed,
                    Ok(WordsVerdict::Skip) => return Ok(Words::Skipped),
                    Ok(WordsVerdict::Block(reason))
                    | Err((OnFailure::Ask | OnFailure::Block, reason)) => {
                        return Ok(Words::Blocked { hook: hook_name(), reason });
                    }
                }
            }
        }
        Ok(Words::Sent(text))
    }

    pub(crate) async fn system(&self, journal: &mut Journal, base: &str) -> Logged<String> {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for hook in self.asked(Moment::BeforeRequest) {
            let answer = self.answer(hook.before_request(&self.context, base)).await;
            if let Ok(verdict) = self.settle(journal, hook.as_ref(), answer).await? {
                before.extend(verdict.prepend);
                after.extend(verdict.append);
            }
        }
        before.push(base.to_owned());
        before.extend(after);
        before.retain(|part| !part.is_empty());
        Ok(before.join("\n\n"))
    }

    /// The request as hooks leave it. A tool is offered where no hook leaves it out.
    pub(crate) async fn request(
        &self,
        journal: &mut Journal,
        mut request: Request,
    ) -> Logged<Request> {
        for hook in self.asked(Moment::BeforeSend) {
            let answer = self.answer(hook.before_send(&self.context, &request)).await;
            let Ok(verdict) = self.settle(journal, hook.as_ref(), answer).await? else {
                continue;
            };
            let RequestVerdict { only, without, fields } = verdict;
            if only.is_some() || !without.is_empty() {
                let is_offered = |name: &String| {
                    only.as_ref().is_none_or(|only| only.contains(name)) && !without.contains(name)
                };
                let offered = request.tools.iter().filter(|tool| is_offered(&tool.name));
                request.tools = offered.cloned().collect();
            }
            for (name, value) in fields {
                match (name.as_str(), value.as_u64(), value.as_f64()) {
                    ("max_tokens", Some(most), _) => request.max_tokens = most,
                    ("temperature", _, Some(degree)) => request.temperature = Some(degree),
                    _ => drop(request.params.insert(name, value)),
                }
            }
        }
        Ok(request)
    }

    /// The text of a reply as hooks leave it; none where they leave it alone.
    pub(crate) async fn reply(
        &self,
        journal: &mut Journal,
        prompt: &str,
        text: &str,
    ) -> Logged<Option<String>> {
        let mut changed: Option<String> = None;
        for hook in self.asked(Moment::AfterReply) {
            let seen = changed.as_deref().unwrap_or(text);
            let answer = self.answer(hook.after_reply(&self.context, prompt, seen)).await;
            if let Ok(TextVerdict::Replace(text)) =
                self.settle(journal, hook.as_ref(), answer).await?
            {
                changed = Some(text);
            }
        }
        Ok(changed)
    }

    /// Asks about a call that the policy did not deny. Those that were asked before a later one
    /// changed the arguments are asked about the last ones too: a guard has seen what runs.
    pub(crate) async fn before_tool(
        &self,
        journal: &mut Journal,
        call: &ToolCall,
        judged: (&dyn Tool, &[Action], Decision),
    ) -> Logged<Advised> {
        let hooks: Vec<&Arc<dyn Hook>> = self.asked(Moment::BeforeTool).collect();
        let mut rewritten: Option<Value> = None;
        let mut ask: Option<Doubt> = None;
        let mut before_change: &[&Arc<dyn Hook>] = &[];
        for is_again in [false, true] {
            let asked = if is_again { before_change } else { &hooks };
            for (index, hook) in asked.iter().enumerate() {
                match self.advised(journal, hook, (call, rewritten.as_ref()), judged).await? {
                    HookDecision::Nothing => {}
                    HookDecision::Rewrite(_) if is_again => {
                        let reason = "a later hook changed the arguments, and this one would change \
                                      them again; nothing that both agree on could be run";
                        let (hook, reason) = (hook.name().to_owned(), reason.to_owned());
                        return Ok(Advised::Block { hook, reason });
                    }
                    HookDecision::Rewrite(args) => {
                        rewritten = Some(args);
                        before_change = &hooks[..index];
                    }
                    HookDecision::Ask(doubt) => ask = ask.or(Some(doubt)),
                    HookDecision::Settled(advised) => return Ok(advised),
                }
            }
        }
        Ok(Advised::Proceed { rewritten, ask })
    }

    /// Asks one hook about a call as earlier ones have changed it.
    async fn advised(
        &self,
        journal: &mut Journal,
        hook: &Arc<dyn Hook>,
        (call, rewritten): (&ToolCall, Option<&Value>),
        (tool, actions, decision): (&dyn Tool, &[Action], Decision),
    ) -> Logged<HookDecision> {
        let args = rewritten.unwrap_or(&call.args);
        // Invalid arguments have no actions, and are refused when they are judged.
        let own = rewritten.map(|args| tool.actions(args).unwrap_or_default().actions);
        let view = CallView {
            id: &call.id,
            tool: &call.name,
            args,
            original: &call.args,
            actions: own.as_deref().unwrap_or(actions),
            decision,
        };
        let answer = self.answer(hook.before_tool(&self.context, view)).await;
        Ok(match self.settle(journal, hook.as_ref(), answer).await? {
            Ok(ToolVerdict::Proceed) | Err((OnFailure::Continue, _)) => HookDecision::Nothing,
            Ok(ToolVerdict::Rewrite(same)) if same == *args => HookDecision::Nothing,
            Ok(ToolVerdict::Rewrite(args)) => HookDecision::Rewrite(args),
            Ok(ToolVerdict::Answer(output)) => HookDecision::Settled(Advised::Answer(output)),
            Ok(ToolVerdict::Ask(why)) | Err((OnFailure::Ask, why)) => {
                HookDecision::Ask(Doubt { origin: format!("hook {}", hook.name()), why })
            }
            Ok(ToolVerdict::Block(reason)) | Err((OnFailure::Block, reason)) => {
                HookDecision::Settled(Advised::Block { hook: hook.name().to_owned(), reason })
            }
        })
    }

    /// Asks about a call that ran, and changes what it said where a hook says so.
    pub(crate) async fn after_tool(
        &self,
        journal: &mut Journal,
        call: CallView<'_>,
        output: &mut ToolOutput,
        duration: Duration,
    ) -> Logged {
        for hook in self.asked(Moment::AfterTool) {
            let view = ResultView { call, output, duration };
            let answer = self.answer(hook.after_tool(&self.context, view)).await;
            if let Ok(TextVerdict::Replace(text)) =
                self.settle(journal, hook.as_ref(), answer).await?
            {
                output.output = text;
                output.error = None;
                output.display = None;
            }
        }
        Ok(())
    }

    pub(crate) async fn before_compact(
        &self,
        journal: &mut Journal,
        view: CompactView<'_>,
    ) -> Logged<(CompactionStrategy, CompactVerdict)> {
        let CompactView { mut strategy, .. } = view;
        let mut verdict = CompactVerdict::default();
        for hook in self.asked(Moment::BeforeCompact) {
            let view = CompactView { strategy, ..view };
            let answer = self.answer(hook.before_compact(&self.context, view)).await;
            if let Ok(said) = self.settle(journal, hook.as_ref(), answer).await? {
                if let Some(name) = said.strategy {
                    strategy = named_strategy(journal, &name).await?.unwrap_or(strategy);
                }
                verdict.summary = said.summary.or(verdict.summary);
                if let Some(why) = said.refusal {
                    verdict.refusal = Some(format!("{}: {why}", hook.name()));
                    break;
                }
            }
        }
        Ok((strategy, verdict))
    }

    /// Asks whether a turn may end. Returns why it must not, where a hook says so.
    pub(crate) async fn before_stop(
        &self,
        journal: &mut Journal,
        ending: Ending<'_>,
    ) -> Logged<Option<String>> {
        for hook in self.asked(Moment::BeforeStop) {
            let answer = self.answer(hook.before_stop(&self.context, ending)).await;
            if let Ok(StopVerdict::GoOn(why)) = self.settle(journal, hook.as_ref(), answer).await? {
                return Ok(Some(why));
            }
        }
        Ok(None)
    }
}

/// The strategy of a name that a hook gave; none, with a warning, if there is none.
async fn named_strategy(journal: &mut Journal, name: &str) -> Logged<Option<CompactionStrategy>> {
    let strategy = match name {
        "summarize" => Some(CompactionStrategy::Summarize),
        "truncate" => Some(CompactionStrategy::Truncate),
        _ => None,
    };
    if strategy.is_none() {
        let text = format!("a hook asks for the unknown strategy `{name}`");
        let hint = "there are `summarize` and `truncate`".to_owned();
        journal.notice(Level::Warning, text, Some(hint)).await?;
    }
    Ok(strategy)
}
