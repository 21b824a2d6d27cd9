//! The order of a tool call. It is the security model, so it stands here and nowhere else:
//! look up, check against the schema, state the actions, judge, ask hooks, judge again what they
//! changed, ask the person where the ruling says so, judge writes again when their turn comes, run
//! confined, let hooks revise the result, shorten what the model reads.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use contract::event::{Answer, CallOutcome, Level, What};
use contract::hook::{CallView, Occasion};
use contract::log::LogError;
use contract::message::ToolCall;
use contract::policy::{Access, Action, Decision, Kept, Mode, Reach, Reason, Ruling};
use contract::sandbox::{Network, SandboxError};
use contract::snapshots::Effect;
use contract::text::head;
use contract::tool::{BUILTIN, Risk, Tool, ToolContext, ToolError, ToolOutput};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::hooks::{Advised, Hooks};
use crate::journal::{Journal, Teller};
use crate::keys::{self, Keys};
use crate::nested::Parent;
use crate::person::Answers;
use crate::recover::Recoveries;
use crate::settings::{Execution, Parts, Questions, Settings};
use crate::truncate::{Shown, truncate};
use crate::waiting::Waiting;
use crate::writing;

/// How long a cancelled tool may take to stop by itself.
const GRACE: Duration = Duration::from_millis(150);

/// What every call of a turn shares.
#[derive(Clone, Copy)]
pub(crate) struct Bench<'a> {
    pub(crate) parts: &'a Arc<Parts>,
    pub(crate) settings: &'a Arc<Settings>,
    pub(crate) hooks: &'a Hooks,
    pub(crate) answers: &'a Arc<Answers>,
    pub(crate) recoveries: &'a Mutex<Recoveries>,
    pub(crate) waiting: &'a Waiting,
    /// Stops this turn.
    pub(crate) cancel: &'a CancellationToken,
    /// Stops the turn of the session, which this one may be within.
    pub(crate) stop: &'a CancellationToken,
}

impl Bench<'_> {
    /// How much freedom tools have: what was set, unless the person wants less by now.
    pub(crate) fn mode(&self) -> Mode {
        self.settings.mode.min(self.answers.ceiling())
    }

    /// Whether what only needs a word is taken as said.
    pub(crate) fn asks_nothing(&self) -> bool {
        self.settings.approves_all || self.mode() == Mode::Yolo
    }

    /// What was recovered in this session so far.
    pub(crate) fn recoveries(&self) -> MutexGuard<'_, Recoveries> {
        self.recoveries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a person should decide on a call, whatever the rules say.
#[derive(Clone, Debug)]
pub(crate) struct Doubt {
    /// Who doubts.
    pub(crate) origin: String,
    /// Why.
    pub(crate) why: String,
}

/// A call that may run. Only [`prepare`] makes one.
pub(crate) struct Approved {
    tool: Arc<dyn Tool>,
    call: ToolCall,
    actions: Vec<Action>,
    access: Access,
    /// Where its processes find programs, if not where they usually do.
    search_path: Option<String>,
    /// The arguments that the model gave, where hooks changed them.
    original: Option<Value>,
}

impl Approved {
    /// Whether it may change anything.
    fn has_effect(&self) -> bool {
        let only_looks = self.tool.spec().risk_level == Risk::ReadOnly;
        self.access != Access::ReadOnly || !only_looks || self.tool.may_write()
    }
}

/// A call that has ended, whether it ran or not.
pub(crate) struct Settled {
    call: ToolCall,
    outcome: CallOutcome,
    pub(crate) output: ToolOutput,
    duration: Duration,
    /// Whether it may have changed anything.
    pub(crate) has_effect: bool,
    actions: Vec<Action>,
    /// The arguments that the model gave, where hooks changed them.
    original: Option<Value>,
}

/// What became of a call before it ran.
pub(crate) enum Prepared {
    /// It may run.
    Approved(Box<Approved>),
    /// It will not.
    Settled(Box<Settled>),
}

impl Prepared {
    /// Whether it needed an answer that nobody could give.
    pub(crate) fn is_unanswered(&self) -> bool {
        matches!(self, Self::Settled(settled) if settled.outcome == CallOutcome::Unanswered)
    }

    /// Whether it will run and may change something: intent must be on disk before that.
    pub(crate) fn has_effect(&self) -> bool {
        match self {
            Self::Approved(approved) => approved.has_effect(),
            Self::Settled(_) => false,
        }
    }

    /// What it could do to files; none where it will not run or changes nothing.
    pub(crate) fn effect(&self) -> Option<Effect> {
        match self {
            Self::Approved(approved) if approved.has_effect() => {
                let actions = approved.actions.clone();
                Some(Effect { actions, access: approved.access })
            }
            Self::Approved(_) | Self::Settled(_) => None,
        }
    }
}

impl Settled {
    /// A call that does not run, with what the model is told.
    pub(crate) fn without_running(
        call: ToolCall,
        outcome: CallOutcome,
        text: impl Into<String>,
    ) -> Self {
        let output = ToolOutput::failure(text);
        Self {
            call,
            outcome,
            output,
            duration: Duration::ZERO,
            has_effect: false,
            actions: Vec::new(),
            original: None,
        }
    }

    /// The call.
    pub(crate) fn call(&self) -> &ToolCall {
        &self.call
    }

    /// A call that the end of the turn overtook.
    pub(crate) fn interrupted(call: ToolCall) -> Self {
        Self::without_running(call, CallOutcome::Interrupted, "interrupted: not run")
    }

    /// Lets hooks see the result of a call that ran, and change what the model reads; tells them of
    /// one that did not.
    pub(crate) async fn revise(
        &mut self,
        bench: Bench<'_>,
        journal: &mut Journal,
    ) -> Result<(), LogError> {
        let outcome = match self.outcome {
            CallOutcome::Ran => {
                let call = CallView {
                    id: &self.call.id,
                    tool: &self.call.name,
                    args: &self.call.args,
                    original: self.original.as_ref().unwrap_or(&self.call.args),
                    actions: &self.actions,
                    decision: Decision::Allow,
                };
                let (output, duration) = (&mut self.output, self.duration);
                return bench.hooks.after_tool(journal, call, output, duration).await;
            }
            outcome @ (CallOutcome::Invalid | CallOutcome::Denied | CallOutcome::Unanswered) => {
                outcome
            }
            CallOutcome::NoSandbox | CallOutcome::Skipped | CallOutcome::Interrupted => {
                return Ok(());
            }
        };
        let (call, why) = (self.call.clone(), self.output.for_model());
        bench.hooks.occasion(journal, &Occasion::CallRefused { call, outcome, why }).await
    }

    /// The event that tells it, and what there is to tell hooks where its output was too long.
    pub(crate) fn into_event(self, settings: &Settings, keys: &Keys) -> (What, Option<Occasion>) {
        let content = keys.hide(&self.output.for_model()).into_owned();
        let size = content.len();
        let Shown { text, stored } = truncate(content, &self.call.id, &settings.spill);
        let stored = stored.map(|path| {
            let tool = self.call.name.clone();
            Occasion::OutputStored { tool, path, size, shown: text.len() }
        });
        let finished = What::ToolFinished {
            call: self.call.id,
            name: self.call.name,
            outcome: self.outcome,
            output: self.output,
            content: text,
            duration_ms: u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
        };
        (finished, stored)
    }
}

/// Takes a call as far as the permission to run.
pub(crate) async fn prepare(
    bench: Bench<'_>,
    journal: &mut Journal,
    call: ToolCall,
    doubt: Option<Doubt>,
) -> Result<Prepared, LogError> {
    let settle = |call, outcome, text: String| {
        Ok(Prepared::Settled(Box::new(Settled::without_running(call, outcome, text))))
    };
    let interrupted = |call| Ok(Prepared::Settled(Box::new(Settled::interrupted(call))));
    if bench.cancel.is_cancelled() {
        return interrupted(call);
    }
    let renewed = match bench.parts.registry.get(&call.name) {
        Some(tool) => tool.renewed(bench.cancel).await,
        None => None,
    };
    let (call, Judgment { tool, actions, ruling, original }) =
        match judge(bench, &call, renewed).await {
            _ if bench.cancel.is_cancelled() => return interrupted(call),
            Err(problem) => return settle(call, CallOutcome::Invalid, problem),
            Ok(judgment) if judgment.ruling.decision == Decision::Deny => (call, judgment),
            Ok(judgment) => match consult(bench, journal, call, (judgment, doubt)).await? {
                Consulted::Judged(call, judgment) => (call, judgment),
                Consulted::Settled(settled) => return Ok(Prepared::Settled(Box::new(settled))),
            },
        };
    if bench.cancel.is_cancelled() {
        return interrupted(call);
    }
    if let Some(text) = bench.parts.registry.broken(&call.name) {
        let hint = "correct `input_schema` in the tool".to_owned();
        journal.notice(Level::Warning, text, Some(hint)).await?;
    }
    if let Some(text) = bench.parts.registry.ignored(&call.name, &call.args) {
        journal.notice(Level::Warning, format!("{}: {text}", call.name), None).await?;
    }
    let judged = What::ToolJudged {
        call: call.id.clone(),
        source: source(tool.as_ref()),
        args: call.args.clone(),
        actions: actions.clone(),
        ruling: ruling.clone(),
    };
    let (access, stated, path) = (ruling.access, actions.clone(), ruling.search_path.clone());
    let approved = Approved { tool, call, actions: stated, access, search_path: path, original };
    if bench.settings.execution == Execution::Dry && ruling.decision != Decision::Deny {
        journal.note(vec![judged]).await?;
        let mut settled = Settled::without_running(approved.call, CallOutcome::Skipped, "");
        settled.output = ToolOutput::success("[dry run - tool not executed]");
        return Ok(Prepared::Settled(Box::new(settled)));
    }
    match ruling.decision {
        Decision::Allow => {
            journal.note(vec![judged]).await?;
            Ok(Prepared::Approved(Box::new(approved)))
        }
        Decision::Deny => {
            journal.note(vec![judged]).await?;
            let text = format!("Permission denied: {}", why(&ruling));
            settle(approved.call, CallOutcome::Denied, text)
        }
        Decision::Ask => {
            let question = What::Asked {
                call: approved.call.id.clone(),
                tool: approved.call.name.clone(),
                args: approved.call.args.clone(),
                actions: actions.clone(),
                why: why(&ruling),
                remember: bench.parts.policy.rememberable(approved.tool.spec(), &actions),
                asked_again: bench.parts.policy.asked_again(approved.tool.spec(), &actions),
            };
            let answer = ask(bench, journal, &approved.call, vec![judged, question]).await?;
            // Before the answer is told: what is said to be remembered is.
            let kept = remember(bench, &approved, &actions, &answer);
            let told = What::Answered {
                call: approved.call.id.clone(),
                answer: answer.clone(),
                rules: kept.rules.clone(),
            };
            journal.note(vec![told]).await?;
            answered(bench, journal, approved, (&kept, &ruling), answer).await
        }
    }
}

/// What the policy makes of a call.
struct Judgment {
    tool: Arc<dyn Tool>,
    actions: Vec<Action>,
    ruling: Ruling,
    /// The arguments that the model gave, where hooks changed them.
    original: Option<Value>,
}

/// The plugin that a tool comes from.
fn source(tool: &dyn Tool) -> Option<String> {
    let source = &tool.spec().source;
    (source != BUILTIN).then(|| source.clone())
}

/// Looks a call up unless its tool is known, checks its arguments, and judges it. Says in words for
/// the model what is wrong.
async fn judge(
    bench: Bench<'_>,
    call: &ToolCall,
    tool: Option<Arc<dyn Tool>>,
) -> Result<Judgment, String> {
    let registry = &bench.parts.registry;
    registry.check(&call.name, &call.args)?;
    let Some(tool) = tool.or_else(|| registry.get(&call.name).cloned()) else {
        return Err(format!("Unknown tool: {}", call.name));
    };
    let actions = tool.actions(&call.args).map_err(|error| error.to_string())?;
    let mut ruling = bench.parts.policy.judge(tool.spec(), &actions, bench.mode());
    if let Some(why) = bench.cancel.run_until_cancelled(tool.caution(call)).await.flatten() {
        // No rule can have been made with this in mind.
        let (decision, origin) = (Decision::Ask, tool.spec().source.clone());
        ruling.decision = ruling.decision.max(decision);
        ruling.reasons.insert(0, Reason { decision, subject: call.name.clone(), why, origin });
    }
    Ok(Judgment { tool, actions, ruling, original: None })
}

/// What became of a call that hooks were asked about.
enum Consulted {
    Judged(ToolCall, Judgment),
    Settled(Settled),
}

/// Asks hooks about a call that is not denied. They may tighten and rewrite; what they rewrite is
/// judged like a call of its own.
async fn consult(
    bench: Bench<'_>,
    journal: &mut Journal,
    mut call: ToolCall,
    (mut judgment, doubt): (Judgment, Option<Doubt>),
) -> Result<Consulted, LogError> {
    let judged = (judgment.tool.as_ref(), &*judgment.actions, judgment.ruling.decision);
    let (rewritten, ask) = match bench.hooks.before_tool(journal, &call, judged).await? {
        Advised::Proceed { rewritten, ask } => (rewritten, ask),
        Advised::Answer(output) => {
            let mut settled = Settled::without_running(call, CallOutcome::Skipped, "");
            settled.output = output;
            return Ok(Consulted::Settled(settled));
        }
        Advised::Block { hook, reason } => {
            let doubt = Doubt { origin: format!("hook {hook}"), why: reason };
            let why = tightened(&mut judgment.ruling, Decision::Deny, &call.name, doubt);
            let judged = What::ToolJudged {
                call: call.id.clone(),
                source: source(judgment.tool.as_ref()),
                args: call.args.clone(),
                actions: judgment.actions,
                ruling: judgment.ruling,
            };
            journal.note(vec![judged]).await?;
            let settled = Settled::without_running(call, CallOutcome::Denied, why);
            return Ok(Consulted::Settled(settled));
        }
    };
    if let Some(args) = rewritten {
        let original = Some(std::mem::replace(&mut call.args, args));
        judgment = match judge(bench, &call, Some(judgment.tool)).await {
            Ok(judgment) => Judgment { original, ..judgment },
            Err(problem) => {
                let text = format!("a hook changed the arguments, and they do not fit: {problem}");
                let settled = Settled::without_running(call, CallOutcome::Invalid, text);
                return Ok(Consulted::Settled(settled));
            }
        };
    }
    if let Some(doubt) = ask.or(doubt)
        && !bench.asks_nothing()
    {
        tightened(&mut judgment.ruling, Decision::Ask, &call.name, doubt);
    }
    if judgment.ruling.decision == Decision::Ask && bench.settings.questions == Questions::Refused {
        let why = "it needs approval, and this agent asks nobody".to_owned();
        let doubt = Doubt { origin: "permissionMode".to_owned(), why };
        tightened(&mut judgment.ruling, Decision::Deny, &call.name, doubt);
    }
    Ok(Consulted::Judged(call, judgment))
}

/// Adds a doubt to a ruling, which never becomes milder by it. Returns the reason.
fn tightened(ruling: &mut Ruling, decision: Decision, subject: &str, doubt: Doubt) -> String {
    ruling.decision = ruling.decision.max(decision);
    let (subject, Doubt { origin, why }) = (subject.to_owned(), doubt);
    ruling.reasons.push(Reason { decision, subject, why: why.clone(), origin });
    why
}

/// Puts a question to a person and waits for the answer.
pub(crate) async fn ask(
    bench: Bench<'_>,
    journal: &mut Journal,
    call: &ToolCall,
    question: Vec<What>,
) -> Result<Answer, LogError> {
    let receiver = bench.answers.wait_for(&call.id);
    journal.note(question).await?;
    let answer = async {
        tokio::select! {
            () = bench.cancel.cancelled() => Answer::Cancel,
            answer = receiver => answer.unwrap_or(Answer::Nobody),
        }
    };
    tokio::pin!(answer);
    let asking = Occasion::Asking { tool: call.name.clone() };
    // Hooks hear of the question while the person thinks; an answer does not wait for them.
    tokio::select! {
        biased;
        answer = &mut answer => return Ok(answer),
        told = bench.hooks.occasion(journal, &asking) => told?,
    }
    Ok(answer.await)
}

/// Remembers a call for as long as the answer says.
fn remember(bench: Bench<'_>, approved: &Approved, actions: &[Action], answer: &Answer) -> Kept {
    let (policy, spec) = (&bench.parts.policy, approved.tool.spec());
    match answer {
        Answer::Session => Kept { rules: policy.remember(spec, actions), problem: None },
        Answer::Project => policy.keep(spec, actions, Reach::Project),
        Answer::Always => policy.keep(spec, actions, Reach::Everywhere),
        Answer::Once | Answer::Deny { .. } | Answer::Cancel | Answer::Nobody => Kept::default(),
    }
}

async fn answered(
    bench: Bench<'_>,
    journal: &mut Journal,
    approved: Approved,
    (kept, ruling): (&Kept, &Ruling),
    answer: Answer,
) -> Result<Prepared, LogError> {
    let (outcome, text) = match answer {
        Answer::Once => return Ok(Prepared::Approved(Box::new(approved))),
        Answer::Session | Answer::Project | Answer::Always => {
            let span = match answer {
                Answer::Project if kept.problem.is_none() => "in this project from here on",
                Answer::Always if kept.problem.is_none() => "from here on",
                _ => "until the session ends",
            };
            let text = if kept.rules.is_empty() {
                "calls like this one are asked about every time".to_owned()
            } else {
                format!("allowed {span}: {}", kept.rules.join("; "))
            };
            journal.notice(Level::Info, text, None).await?;
            if let Some(problem) = &kept.problem {
                journal.notice(Level::Warning, problem.clone(), None).await?;
            }
            return Ok(Prepared::Approved(Box::new(approved)));
        }
        Answer::Deny { reason } => {
            let refusal = approved.tool.refusal();
            let refusal = refusal.unwrap_or_else(|| "Permission denied by user".to_owned());
            let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            (CallOutcome::Denied, refusal + &why)
        }
        Answer::Cancel => {
            bench.stop.cancel();
            (CallOutcome::Denied, "Permission denied by user: the turn was stopped".to_owned())
        }
        Answer::Nobody => (
            CallOutcome::Unanswered,
            format!(
                "Permission denied by user: nobody can be asked, and this call needs approval \
                 ({})",
                why(ruling)
            ),
        ),
    };
    Ok(Prepared::Settled(Box::new(Settled::without_running(approved.call, outcome, text))))
}

/// Runs an approved call to its end, or until it is cancelled.
pub(crate) async fn run(bench: Bench<'_>, approved: Approved, teller: Teller) -> Settled {
    let has_effect = approved.has_effect();
    let Approved { tool, call, access, search_path, actions, original } = approved;
    let _turn = match writing::turn(bench, tool.as_ref(), &actions).await {
        Ok(turn) => turn,
        Err(text) => return Settled::without_running(call, CallOutcome::Denied, text),
    };
    let mut confinement = bench.parts.confinement.with_access(access);
    confinement.profile.env.extend(search_path.map(|path| ("PATH".to_owned(), path)));
    if bench.mode() == Mode::ReadOnly {
        confinement.profile.network = Network::None;
    }
    let (progress, mut lines) = mpsc::channel(64);
    let parent = Arc::new(Parent::new(bench, &call.id, &teller));
    let context = ToolContext {
        session: teller.session().clone(),
        confinement,
        cancel: bench.cancel.child_token(),
        progress,
        spill: bench.settings.spill.clone(),
        conversation: Some(Arc::clone(&parent) as Arc<dyn Any + Send + Sync>),
        view: bench.parts.policy.view(tool.spec()),
        actions: actions.clone(),
        veils: keys::veils(teller.keys()),
    };
    let started = Instant::now();
    let result = {
        let work = tool.run(&call, &context);
        let overdue = async {
            bench.cancel.cancelled().await;
            if tool.is_indivisible() {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(GRACE).await;
            parent.closed().await;
        };
        tokio::pin!(work, overdue);
        loop {
            tokio::select! {
                result = &mut work => break result,
                () = &mut overdue => break Err(ToolError::Cancelled),
                Some(text) = lines.recv() => {
                    teller.tell(What::ToolProgress { call: call.id.clone(), text }).await;
                }
            }
        }
    };
    let duration = started.elapsed();
    // What it said last is told too, though its end was noticed first.
    while let Ok(text) = lines.try_recv() {
        teller.tell(What::ToolProgress { call: call.id.clone(), text }).await;
    }
    let (outcome, output) = match result {
        Ok(output) if bench.cancel.is_cancelled() && !output.success => {
            (CallOutcome::Interrupted, output)
        }
        Ok(output) => (CallOutcome::Ran, output),
        Err(ToolError::Cancelled) => (CallOutcome::Interrupted, ToolOutput::failure("interrupted")),
        Err(ToolError::Sandbox(error @ SandboxError::Unavailable { .. })) => {
            (CallOutcome::NoSandbox, ToolOutput::failure(error.to_string()))
        }
        Err(error @ (ToolError::Input(_) | ToolError::Sandbox(_) | ToolError::Broken(_))) => {
            (CallOutcome::Ran, ToolOutput::failure(error.to_string()))
        }
    };
    Settled { call, outcome, output, duration, has_effect, actions, original }
}

/// The reasons that decided, each once; of very many the first few.
pub(crate) fn why(ruling: &Ruling) -> String {
    const TOLD: usize = 12;
    let deciding = || ruling.reasons.iter().filter(|reason| reason.decision == ruling.decision);
    let first = deciding().next().map(|reason| &reason.subject);
    let is_of_parts = deciding().any(|reason| Some(&reason.subject) != first);
    let mut told: Vec<String> = Vec::new();
    for reason in deciding() {
        let words = format!("{} ({})", reason.why, reason.origin);
        let words = if is_of_parts { format!("`{}`: {words}", part(reason)) } else { words };
        if !told.contains(&words) {
            told.push(words);
        }
    }
    if told.len() > TOLD {
        let more = told.len() - TOLD;
        told.truncate(TOLD);
        told.push(format!("and {more} more"));
    }
    if told.is_empty() { "no rule allows it".to_owned() } else { told.join("; ") }
}

/// The beginning of what a reason is about.
fn part(reason: &Reason) -> String {
    let shown = head(&reason.subject, 60);
    if shown.len() < reason.subject.len() { format!("{shown}…") } else { shown.to_owned() }
}
