//! A turn: ask the model, run the tools it calls, ask again, until it is done.

use std::sync::Arc;

use contract::event::{Answer, EventKind, Level, MessageOrigin, NoticeTopic, Outcome};
use contract::hook::{CompactCause, Ending, Moment, Notification};
use contract::id::CallId;
use contract::message::{Part, Reply, StopReason, ToolCall};
use contract::provider::Failure;
use contract::tool::Recovery;
use serde_json::Value;

use crate::announced_action::announces;
use crate::batch::{self, RequestedCall};
use crate::compact::{self, Shortened};
use crate::hooks::{Doubt, Words};
use crate::journal::{Journal, Logged};
use crate::loop_detector::{LoopDetector, Reaction, TALK};
use crate::prompt_fill;
use crate::recover::{self, Sought};
use crate::reply::{Draft, RequestOutcome};
use crate::round;
use crate::settings::{Bound, Questions, limited};
use crate::tool_call::{self, Extras};
use crate::turn_context::TurnContext;

/// Reminders to end with the required tool before a plain answer is taken.
const REMINDERS: u32 = 3;
/// Times that a model which says nothing is asked to go on.
const NUDGES: u32 = 3;
/// Messages that come between two times that the history is shortened because it is due.
const REST: usize = 4;
/// Times in a row that hooks can keep a turn from ending.
const HOLDS: u32 = 8;

const ANNOUNCED: &str = "Your last reply ends by saying what you will do. If it is to be done now, \
                         call the tool; if that was your answer, or nothing is left to do, say so.";
const IDLED: &str = "You replied several times in a row without using a tool, and the work is not \
                     done. Use a tool to continue it, or say what stops you.";

struct Turn<'a> {
    context: TurnContext<'a>,
    prompt: String,
    system: Arc<str>,
    circles: LoopDetector,
    /// Text for the model about a call that was recovered from its text.
    feedback: Option<String>,
    reminders: u32,
    nudges: u32,
    holds: u32,
    announced: Option<String>,
    /// Messages that were left when the history was shortened because it was due.
    shortened: usize,
}

pub(crate) async fn run(
    context: TurnContext<'_>,
    journal: &mut Journal,
    prompt: String,
) -> Logged<Outcome> {
    let prompt = match context.hooks.words(journal, prompt).await? {
        Words::Sent(prompt) => prompt,
        Words::Blocked { hook, reason } => return Ok(Outcome::Blocked { hook, reason }),
        Words::Skipped => return Ok(Outcome::Answered { stop_reason: StopReason::Skipped }),
    };
    let prompt = prompt_fill::fill(context, journal, prompt).await?;
    journal.note(vec![EventKind::TurnStarted { prompt: prompt.clone() }]).await?;
    if context.cancel.is_cancelled() {
        return Ok(Outcome::Cancelled);
    }
    let mut turn = Turn {
        context,
        prompt,
        system: round::system(context, journal).await?,
        circles: LoopDetector::new(context.settings.stuck_after),
        feedback: None,
        reminders: 0,
        nudges: 0,
        holds: 0,
        announced: None,
        shortened: 0,
    };
    remind_of_work(context, journal).await?;
    for number in 1..=context.settings.rounds.most {
        if let Some(ended) = journal.account().reached().or_else(|| context.hooks.take_halt()) {
            return Ok(ended);
        }
        if let Some(outcome) = turn.round(journal, number).await? {
            return Ok(outcome);
        }
    }
    let Bound { most, name } = context.settings.rounds;
    Ok(limited("max_turns", most, format!("{name} ({most})")))
}

impl Turn<'_> {
    /// One request with the calls that come of it. Returns how the turn ended, where it did.
    async fn round(&mut self, journal: &mut Journal, number: u32) -> Logged<Option<Outcome>> {
        let context = self.context;
        self.hear(journal).await?;
        if let Some(guidance) = context.hooks.take_guidance() {
            journal.note(vec![guidance]).await?;
        }
        let draft = match self.reply(journal, number).await? {
            Err(limited) => return Ok(Some(limited)),
            Ok(RequestOutcome::Whole(draft)) => draft,
            Ok(RequestOutcome::Cancelled(draft)) => {
                round::keep_partial(context, journal, draft).await?;
                return Ok(Some(Outcome::Cancelled));
            }
            Ok(RequestOutcome::Failed(draft, error)) => {
                round::keep_partial(context, journal, draft).await?;
                let (error, hint) = (error.message, error.hint);
                return Ok(Some(Outcome::Failed { error, hint }));
            }
        };
        // A model that spoke is not asked again because a hook took its words away.
        let spoke = ReplyContent::of(&draft.reply) == ReplyContent::Something;
        let mut draft = round::revise(context, journal, &self.prompt, draft).await?;
        let doubt = self.recover(journal, &mut draft).await?;
        let stop_reason = draft.reply.stop.clone();
        let said = if spoke { ReplyContent::Something } else { ReplyContent::of(&draft.reply) };
        let words = draft.reply.text();
        let calls = round::keep(context, journal, draft).await?;
        if calls.is_empty() {
            // A hook may refuse the last reply, too.
            if let Some(halt) = context.hooks.take_halt() {
                return Ok(Some(halt));
            }
            let outcome = self.without_calls(journal, (said, &words), stop_reason).await?;
            let outcome = self.ended(journal, outcome, &words).await?;
            if outcome.is_some() {
                return Ok(outcome);
            }
            let reaction = self.circles.idled();
            return self.heed(journal, reaction, IDLED).await;
        }
        let is_cut =
            stop_reason == StopReason::MaxTokens && calls.iter().any(|call| call.args.is_string());
        let asked = |call| RequestedCall { call, doubt: doubt.clone(), extras: Extras::default() };
        let asked = calls.iter().cloned().map(asked).collect();
        let mut reported = batch::run(context, journal, &mut self.circles, asked).await?;
        let results = std::mem::take(&mut reported.results);
        context.hooks.notify(journal, &Notification::BatchEnded { calls, results }).await?;
        if context.cancel.is_cancelled() {
            return Ok(Some(Outcome::Cancelled));
        }
        if let Some(finish) = reported.finish {
            let words = finish.summary.clone();
            return self.ended(journal, Some(Outcome::Finished(finish)), &words).await;
        }
        if let Some(why) = reported.stuck {
            return Ok(Some(Outcome::Stuck { why }));
        }
        if let Some(text) = self.feedback.take() {
            inject(journal, MessageOrigin::Recovery, text).await?;
        }
        if is_cut {
            tell_of_cut_call(journal).await?;
        }
        if let Some(what) = reported.suggestion {
            suggest(journal, &what).await?;
        }
        Ok(None)
    }

    async fn ended(
        &mut self,
        journal: &mut Journal,
        outcome: Option<Outcome>,
        reply: &str,
    ) -> Logged<Option<Outcome>> {
        let is_stuck = matches!(outcome, Some(Outcome::Stuck { .. } | Outcome::Cancelled));
        if outcome.is_none() || is_stuck || !self.context.hooks.wants(Moment::BeforeStop) {
            return Ok(outcome);
        }
        let ending = Ending { reply, is_held: self.holds > 0 };
        let Some(why) = self.context.hooks.before_stop(journal, ending).await? else {
            return Ok(outcome);
        };
        if self.context.cancel.is_cancelled() {
            return Ok(Some(Outcome::Cancelled));
        }
        if self.holds == HOLDS {
            let text = format!("hooks kept the turn from ending {HOLDS} times; it ends anyway");
            journal.warn(text).await?;
            return Ok(outcome);
        }
        self.holds += 1;
        advise(journal, "stop hook", why).await?;
        Ok(None)
    }

    async fn hear(&mut self, journal: &mut Journal) -> Logged {
        let words = tokio::select! {
            biased;
            () = self.context.cancel.cancelled() => Vec::new(),
            words = self.context.waiting.gather() => words,
        };
        for prompt in words {
            match self.context.hooks.words(journal, prompt).await? {
                Words::Sent(text) => {
                    let text = prompt_fill::fill(self.context, journal, text).await?;
                    self.prompt.clone_from(&text);
                    inject(journal, MessageOrigin::User, text).await?;
                }
                Words::Blocked { hook, reason } => {
                    let text = format!("a message was not sent, because of hook {hook}: {reason}");
                    let topic = NoticeTopic::MessageUnsent;
                    journal.notice_about(topic, Level::Warning, text, None).await?;
                }
                Words::Skipped => {
                    let text = "a message was not sent: a hook blocked it".to_owned();
                    let topic = NoticeTopic::MessageUnsent;
                    journal.notice_about(topic, Level::Info, text, None).await?;
                }
            }
        }
        Ok(())
    }

    /// Requests a reply. Shortens the history before if it is too long; that may exhaust the budget.
    async fn reply(
        &mut self,
        journal: &mut Journal,
        number: u32,
    ) -> Logged<Result<RequestOutcome, Outcome>> {
        let context = self.context;
        // A compaction without effect is not repeated at every step.
        let length = journal.transcript.entries().len();
        if length >= self.shortened + REST && compact::is_due(context, journal) {
            self.shorten(journal).await?;
            self.shortened = journal.transcript.entries().len();
            if let Some(limited) = journal.account().reached() {
                return Ok(Err(limited));
            }
        }
        let mut was_too_long = false;
        loop {
            journal.sender().tell(EventKind::RequestSent { round: number }).await;
            let request = round::request(context, journal, Arc::clone(&self.system));
            let asked = round::ask(context, journal, request, round::audience(context)).await?;
            let is_too_long = matches!(&asked, RequestOutcome::Failed(_, error) if error.kind == Failure::TooLong);
            if !is_too_long || was_too_long || !self.shorten(journal).await? {
                return Ok(Ok(asked));
            }
            if let Some(limited) = journal.account().reached() {
                return Ok(Err(limited));
            }
            was_too_long = true;
        }
    }

    async fn shorten(&self, journal: &mut Journal) -> Logged<bool> {
        match compact::shorten(self.context, journal, CompactCause::Length).await? {
            Shortened::Done => Ok(true),
            Shortened::Nothing => Ok(false),
            Shortened::Refused(why) => {
                compact::tell_refusal(journal, &why).await?;
                Ok(false)
            }
            Shortened::Failed(outcome) => {
                if let Outcome::Failed { error, hint } = outcome {
                    journal.notice(Level::Warning, error, hint).await?;
                }
                Ok(false)
            }
        }
    }

    /// Adds the call that a reply without calls speaks of. Returns why a user should decide on it.
    async fn recover(&mut self, journal: &mut Journal, draft: &mut Draft) -> Logged<Option<Doubt>> {
        let Some(settings) = self.context.settings.recovery else { return Ok(None) };
        if settings.is_agreed {
            let calls = recover::agreed(&draft.reply.text(), &self.context.parts.registry.specs());
            draft.reply.parts.extend(calls.into_iter().map(Part::Call));
            return Ok(None);
        }
        let sought = {
            let mut recoveries = self.context.recoveries();
            if draft.reply.calls().next().is_some() {
                recoveries.saw_native_call();
                return Ok(None);
            }
            recoveries.seek(&draft.reply, &self.context.parts.registry.specs(), settings)
        };
        match sought {
            Sought::Nothing => Ok(None),
            Sought::Refused(topic, why) => {
                journal.notice_about(topic, Level::Warning, why, None).await?;
                Ok(None)
            }
            Sought::Found { call, policy, told } => {
                journal.notice(Level::Info, told, None).await?;
                if settings.tells_model {
                    self.feedback = Some(format!(
                        "[System Note] Your last reply spoke of a call of {} without making it. It \
                         was taken from your words. Call tools directly from here on.",
                        call.name
                    ));
                }
                draft.reply.parts.push(Part::Call(call));
                Ok((policy == Recovery::Confirm).then(|| Doubt {
                    origin: "recovery".to_owned(),
                    why: "the model wrote this call as text and did not make it".to_owned(),
                }))
            }
        }
    }

    /// Decides after a reply without calls: the end of the turn, or another request.
    async fn without_calls(
        &mut self,
        journal: &mut Journal,
        (said, words): (ReplyContent, &str),
        stop_reason: StopReason,
    ) -> Logged<Option<Outcome>> {
        let is_declined = stop_reason == StopReason::Refusal;
        if said != ReplyContent::Something && !is_declined && self.nudges < NUDGES {
            self.nudges += 1;
            nudge(journal, said).await?;
            return Ok(None);
        }
        if self.announces(words, &stop_reason) && !self.is_said_again(journal, words) {
            self.announced = Some(words.trim().to_owned());
            let reaction = self.circles.talked();
            return self.heed(journal, reaction, ANNOUNCED).await;
        }
        let ending = match said {
            ReplyContent::Something => Outcome::Answered { stop_reason },
            ReplyContent::OnlyThought | ReplyContent::Nothing if is_declined => {
                let (error, hint) = (DECLINED.0.to_owned(), Some(DECLINED.1.to_owned()));
                return Ok(Some(Outcome::Failed { error, hint }));
            }
            ReplyContent::OnlyThought | ReplyContent::Nothing => {
                Outcome::Stuck { why: silence(said) }
            }
        };
        let Some(tool) = &self.context.settings.required_finish else {
            warn_of_silence(journal, said).await?;
            warn_of_cut(journal, &ending).await?;
            return Ok(Some(ending));
        };
        if self.reminders == REMINDERS {
            let error = format!("the turn ended without the required call of {tool}");
            let hint = "type `continue`, or ask without the requirement".to_owned();
            return Ok(Some(Outcome::Failed { error, hint: Some(hint) }));
        }
        self.reminders += 1;
        remind(journal, tool).await?;
        Ok(None)
    }

    /// Returns true if a reply without calls ends with an announcement, though tools are available.
    fn announces(&self, words: &str, stop_reason: &StopReason) -> bool {
        self.context.settings.stuck_after.is_some()
            && *stop_reason == StopReason::EndTurn
            && !self.context.parts.registry.specs().is_empty()
            && announces(words)
    }

    /// Returns true if the model repeats an announcement and nothing else indicates open work.
    fn is_said_again(&self, journal: &Journal, words: &str) -> bool {
        let is_same = self.announced.as_deref() == Some(words.trim());
        let has_work = self.circles.has_acted
            || self.context.settings.required_finish.is_some()
            || journal.transcript.open_work() > 0;
        is_same && !has_work
    }

    /// Reacts to talk without calls: the model is told, then a user is asked, then the turn ends.
    async fn heed(
        &mut self,
        journal: &mut Journal,
        reaction: Reaction,
        text: &str,
    ) -> Logged<Option<Outcome>> {
        match reaction {
            Reaction::GoOn => return Ok(None),
            Reaction::Suggest(_) => {}
            Reaction::Stop(why) => return Ok(Some(Outcome::Stuck { why })),
            Reaction::Ask(why) => match self.may_go_on(journal, &why).await? {
                Answer::Once | Answer::Session | Answer::Project | Answer::Always => {}
                Answer::Deny { reason: Some(words) } => {
                    inject(journal, MessageOrigin::User, words).await?;
                    return Ok(None);
                }
                Answer::Deny { reason: None } | Answer::Unavailable => {
                    return Ok(Some(Outcome::Stuck { why }));
                }
                Answer::Cancel => return Ok(Some(Outcome::Cancelled)),
            },
        }
        advise(journal, "talk", text.to_owned()).await?;
        Ok(None)
    }

    async fn may_go_on(&self, journal: &mut Journal, why: &str) -> Logged<Answer> {
        let settings = self.context.settings;
        if self.context.auto_approves() {
            return Ok(Answer::Once);
        }
        if settings.questions == Questions::Refused {
            return Ok(Answer::Unavailable);
        }
        let id = CallId(format!("go-on-{:012x}", fastrand::u64(..1 << 48)));
        let name = "another reply".to_owned();
        let call = ToolCall { id, name, args: Value::Null, opaque: None };
        let question = EventKind::Asked {
            call: call.id.clone(),
            tool: call.name.clone(),
            args: Value::Null,
            actions: Vec::new(),
            why: why.to_owned(),
            destructive: false,
            remember: Vec::new(),
        };
        let (answer, by) = tool_call::ask(self.context, journal, &call, question).await?;
        let (call, rules) = (call.id, Vec::new());
        let answered = EventKind::Answered { call, answer: answer.clone(), rules, by };
        journal.note(vec![answered]).await?;
        Ok(answer)
    }
}

fn silence(said: ReplyContent) -> String {
    let held = if said == ReplyContent::OnlyThought { "nothing but reasoning" } else { "nothing" };
    format!("its replies held {held}, {} times", NUDGES + 1)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReplyContent {
    Something,
    OnlyThought,
    Nothing,
}

impl ReplyContent {
    fn of(reply: &Reply) -> Self {
        if !reply.text().trim().is_empty() {
            Self::Something
        } else if reply.thinking().trim().is_empty() {
            Self::Nothing
        } else {
            Self::OnlyThought
        }
    }
}

async fn inject(journal: &mut Journal, origin: MessageOrigin, text: String) -> Logged {
    journal.note(vec![EventKind::Injected { origin, text }]).await
}

async fn advise(journal: &mut Journal, cause: &str, text: String) -> Logged {
    inject(journal, MessageOrigin::Other(cause.to_owned()), text).await
}

async fn remind_of_work(context: TurnContext<'_>, journal: &mut Journal) -> Logged {
    let (talk, open) = (journal.transcript.talk, journal.transcript.open_work());
    let is_due = talk > 0 && talk % TALK == 0 && open > 0;
    if !is_due || context.settings.stuck_after.is_none() {
        return Ok(());
    }
    let text = format!(
        "Your last {talk} replies used no tool, and your list of todos has {open} open. If they \
         are to be done, continue with them; if they are not, bring the list up to date."
    );
    advise(journal, "talk", text).await
}

async fn nudge(journal: &mut Journal, said: ReplyContent) -> Logged {
    let held =
        if said == ReplyContent::OnlyThought { "reasoning and nothing else" } else { "nothing" };
    let text = format!("Your last reply held {held}. Go on: call a tool, or answer.");
    inject(journal, MessageOrigin::EmptyReply, text).await
}

async fn suggest(journal: &mut Journal, what: &str) -> Logged {
    journal.warn(format!("the model is repeating itself: {what}")).await?;
    let text = format!(
        "You are repeating yourself: {what}. Doing it again gives the same. Try something else, or \
         say what stops you."
    );
    advise(journal, "repetition", text).await
}

async fn warn_of_silence(journal: &mut Journal, said: ReplyContent) -> Logged {
    if said == ReplyContent::Something {
        return Ok(());
    }
    let text = "Model failed to produce output after multiple attempts.".to_owned();
    let hint = "ask again, or choose another model".to_owned();
    journal.notice(Level::Warning, text, Some(hint)).await
}

const DECLINED: (&str, &str) = (
    "the provider declined to answer, or ended the answer early",
    "rephrase it, or choose another model",
);

async fn warn_of_cut(journal: &mut Journal, ending: &Outcome) -> Logged {
    let Outcome::Answered { stop_reason } = ending else { return Ok(()) };
    let (text, hint) = match stop_reason {
        StopReason::MaxTokens => (
            "the answer is cut off: it reached the limit on its length",
            "ask the model to continue, or set `behavior.max_tokens` higher",
        ),
        StopReason::Refusal => DECLINED,
        _ => return Ok(()),
    };
    journal.notice(Level::Warning, text.to_owned(), Some(hint.to_owned())).await
}

/// Says why a call could not be read: to the user, who can allow more, and to the model.
async fn tell_of_cut_call(journal: &mut Journal) -> Logged {
    let text = "a call is cut off: the reply reached the limit on its length".to_owned();
    let hint = "`behavior.max_tokens` allows more".to_owned();
    journal.notice(Level::Warning, text, Some(hint)).await?;
    let text = "Your last reply reached the limit on its length, in the middle of a call. Say less at \
                once: a long file can be written in several steps, first Write and then Edit.";
    advise(journal, "length", text.to_owned()).await
}

async fn remind(journal: &mut Journal, tool: &str) -> Logged {
    let text = format!(
        "This task ends with a call of the {tool} tool. If the work is done, call {tool} with its \
         status and a summary; if it is not, go on with it."
    );
    advise(journal, "required finish", text).await
}
