//! The order of a tool call. It is the security model, so it stands here and nowhere else:
//! look up, check against the schema, state the actions, judge, ask hooks, judge again what they
//! changed, ask the user where the ruling says so (all calls of a reply together), judge again when
//! a call's turn comes, run confined, let hooks revise the result, shorten what the model reads.

mod asking;
mod running;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use contract::action::Action;
use contract::event::{CallOutcome, EventKind, Level};
use contract::hook::{CallView, Notification};
use contract::message::ToolCall;
use contract::policy::{Decision, Reason, Ruling};
use contract::sandbox::Access;
use contract::snapshots::Effect;
use contract::tool::{BUILTIN, Obstacle, Plan, Risk, Tool, ToolError, ToolOutput};
use serde_json::Value;

use crate::hooks::{Advised, Doubt};
use crate::journal::{Journal, Logged};
use crate::keys::Keys;
use crate::settings::{Execution, Questions, Settings};
use crate::truncate::{Shown, truncate};
use crate::turn_context::{TurnContext, blocking};

pub(crate) use asking::{Question, ask, ask_all, why};
pub(crate) use running::run;

/// The changes that the earlier calls of a reply may make.
#[derive(Clone, Debug, Default)]
pub(crate) struct EarlierChanges {
    files: Vec<PathBuf>,
    is_unknown: bool,
}

impl EarlierChanges {
    pub(crate) fn unknown() -> Self {
        Self { is_unknown: true, files: Vec::new() }
    }

    pub(crate) fn add(&mut self, call: &Prepared) {
        let approved = match call {
            Prepared::Approved(approved) => approved,
            Prepared::Question(question) => question.approved(),
            Prepared::Settled(_) => return,
        };
        for action in approved.actions.iter().filter(|_| approved.has_effect()) {
            match action {
                Action::Write { path, .. } => self.files.push(path.clone()),
                Action::Read { .. } => {}
                Action::Run { .. }
                | Action::Connect { .. }
                | Action::LeaveSandbox { .. }
                | Action::Opaque { .. } => self.is_unknown = true,
            }
        }
        self.is_unknown |= approved.actions.is_empty() && approved.has_effect();
    }

    /// Returns true if they may change how a call with these actions goes.
    pub(crate) fn concern(&self, actions: &[Action]) -> bool {
        let is_written = |action: &Action| match action {
            Action::Read { path } | Action::Write { path, .. } => self.files.contains(path),
            Action::Run { .. }
            | Action::Connect { .. }
            | Action::LeaveSandbox { .. }
            | Action::Opaque { .. } => !self.files.is_empty(),
        };
        self.is_unknown || actions.iter().any(is_written)
    }
}

/// A call that may run. Only [`prepare`] makes one.
pub(crate) struct Approved {
    tool: Arc<dyn Tool>,
    call: ToolCall,
    actions: Vec<Action>,
    access: Access,
    /// The arguments of the model, if hooks changed them.
    original: Option<Value>,
    /// True if the user was asked and agreed.
    is_answered: bool,
    extras: Extras,
}

/// Additions to the sandbox of a call's processes.
#[derive(Default)]
pub(crate) struct Extras {
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) read: Vec<PathBuf>,
}

impl Approved {
    fn has_effect(&self) -> bool {
        let only_looks = self.tool.spec().risk_level == Risk::ReadOnly;
        self.access != Access::ReadOnly || !only_looks || self.tool.spec().traits.may_write
    }
}

pub(crate) struct Settled {
    pub(crate) call: ToolCall,
    pub(crate) outcome: CallOutcome,
    pub(crate) output: ToolOutput,
    duration: Duration,
    pub(crate) has_effect: bool,
    actions: Vec<Action>,
    original: Option<Value>,
}

pub(crate) enum Prepared {
    Approved(Box<Approved>),
    Settled(Box<Settled>),
    Question(Box<Question>),
}

impl Prepared {
    pub(crate) fn is_unanswered(&self) -> bool {
        matches!(self, Self::Settled(settled) if settled.outcome == CallOutcome::Unanswered)
    }

    /// Returns true if it will run and may change something: the intent must be on disk before that.
    pub(crate) fn has_effect(&self) -> bool {
        match self {
            Self::Approved(approved) => approved.has_effect(),
            Self::Settled(_) | Self::Question(_) => false,
        }
    }

    pub(crate) fn extend(&mut self, extras: Extras) {
        if let Self::Approved(approved) = self {
            approved.extras = extras;
        }
    }

    pub(crate) fn interrupt(&mut self) {
        if let Self::Approved(approved) = self {
            *self = Settled::interrupted(approved.call.clone()).into();
        }
    }

    /// The possible effect on files; none if it will not run or changes nothing.
    pub(crate) fn effect(&self) -> Option<Effect> {
        let Self::Approved(approved) = self else { return None };
        let may_write = approved.tool.spec().traits.may_write;
        let is_granted = may_write && approved.access == Access::ReadOnly;
        let access = if is_granted { Access::Workspace } else { approved.access };
        approved.has_effect().then(|| Effect { actions: approved.actions.clone(), access })
    }
}

impl From<Settled> for Prepared {
    fn from(settled: Settled) -> Self {
        Self::Settled(Box::new(settled))
    }
}

impl Settled {
    pub(crate) fn without_running(
        call: ToolCall,
        outcome: CallOutcome,
        text: impl Into<String>,
    ) -> Self {
        let (output, duration) = (ToolOutput::failure(text), Duration::ZERO);
        let (has_effect, actions, original) = (false, Vec::new(), None);
        Self { call, outcome, output, duration, has_effect, actions, original }
    }

    /// A call that the tool refuses: it cannot succeed, or a file is out of its reach.
    fn refused(call: ToolCall, error: &ToolError) -> Self {
        Self::without_running(call, refusal(error), error.to_string())
    }

    pub(crate) fn interrupted(call: ToolCall) -> Self {
        Self::without_running(call, CallOutcome::Interrupted, "interrupted: not run")
    }

    /// Asks hooks about the result of a call that ran; notifies them of one that did not.
    pub(crate) async fn revise(
        &mut self,
        context: TurnContext<'_>,
        journal: &mut Journal,
    ) -> Logged {
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
                return context.hooks.after_tool(journal, call, output, duration).await;
            }
            CallOutcome::NoSandbox | CallOutcome::Skipped | CallOutcome::Interrupted => {
                return Ok(());
            }
            outcome => outcome,
        };
        let (call, why) = (self.call.clone(), self.output.for_model());
        context.hooks.notify(journal, &Notification::CallRefused { call, outcome, why }).await
    }

    /// The event that tells it, and what there is to tell hooks where its output was too long.
    pub(crate) fn into_event(
        self,
        settings: &Settings,
        keys: &Keys,
    ) -> (EventKind, Option<Notification>) {
        let content = keys.hide(&self.output.for_model()).into_owned();
        let size = content.len();
        let Shown { text, stored } = truncate(content, &self.call.id, &settings.spill);
        let stored = stored.map(|path| {
            let tool = self.call.name.clone();
            Notification::OutputStored { tool, path, size, shown: text.len() }
        });
        let finished = EventKind::ToolFinished {
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

/// Takes a call as far as the permission to run, or the question about it.
pub(crate) async fn prepare(
    context: TurnContext<'_>,
    journal: &mut Journal,
    (call, doubt): (ToolCall, Option<Doubt>),
    earlier: &EarlierChanges,
) -> Logged<Prepared> {
    if context.cancel.is_cancelled() {
        return Ok(Settled::interrupted(call).into());
    }
    context.tell_fallback(journal).await?;
    let (call, judgment) = match judge(context, &call, None).await {
        _ if context.cancel.is_cancelled() => return Ok(Settled::interrupted(call).into()),
        Err(error) => return Ok(Settled::refused(call, &error).into()),
        Ok(judgment) if judgment.ruling.decision == Decision::Deny => (call, judgment),
        Ok(judgment) => match consult(context, journal, call, (judgment, doubt)).await? {
            Ok(judged) => judged,
            Err(settled) => return Ok(settled.into()),
        },
    };
    if context.cancel.is_cancelled() {
        return Ok(Settled::interrupted(call).into());
    }
    if let Some(text) = context.parts.registry.broken(&call.name) {
        let hint = "correct `input_schema` in the tool".to_owned();
        journal.notice(Level::Warning, text, Some(hint)).await?;
    }
    if let Some(text) = context.parts.registry.ignored(&call.name, &call.args) {
        journal.notice(Level::Warning, format!("{}: {text}", call.name), None).await?;
    }
    decide(context, journal, (call, judgment), earlier).await
}

async fn decide(
    context: TurnContext<'_>,
    journal: &mut Journal,
    (call, judgment): (ToolCall, Judgment),
    earlier: &EarlierChanges,
) -> Logged<Prepared> {
    let judged = judgment.event(&call);
    let Judgment { tool, actions, obstacle, ruling, original } = judgment;
    let obstacle = obstacle.filter(|_| !earlier.concern(&actions));
    if ruling.decision == Decision::Deny {
        journal.note(vec![judged]).await?;
        let text = format!("Permission denied: {}", why(&ruling));
        return Ok(Settled::without_running(call, CallOutcome::Denied, text).into());
    }
    if context.settings.execution == Execution::Dry {
        journal.note(vec![judged]).await?;
        let mut settled = Settled::without_running(call, CallOutcome::Skipped, "");
        let verb = if ruling.decision == Decision::Allow { "run" } else { "ask" };
        let text = format!("[dry run - tool not executed] would {verb}: {}", why(&ruling));
        settled.output = ToolOutput::success(text);
        return Ok(settled.into());
    }
    let access = ruling.access;
    let (is_answered, extras) = (false, Extras::default());
    let approved = Approved { tool, call, actions, access, original, is_answered, extras };
    if ruling.decision == Decision::Allow {
        journal.note(vec![judged]).await?;
        return Ok(Prepared::Approved(Box::new(approved)));
    }
    Ok(match Question::about(context, approved, (ruling, judged), obstacle).await {
        Ok(question) => Prepared::Question(Box::new(question)),
        Err((call, problem)) => Settled::refused(call, &ToolError::Input(problem)).into(),
    })
}

/// Judges an approved call again when its turn comes, because an earlier call of the reply may have
/// changed what it does. The user's answer holds for the same files, hosts and commands.
pub(crate) async fn judge_again(
    context: TurnContext<'_>,
    journal: &mut Journal,
    prepared: Prepared,
) -> Logged<Prepared> {
    let Prepared::Approved(approved) = prepared else { return Ok(prepared) };
    if context.cancel.is_cancelled() {
        return Ok(Settled::interrupted(approved.call).into());
    }
    let mut again = match judge(context, &approved.call, Some(Arc::clone(&approved.tool))).await {
        Ok(judgment) => judgment,
        Err(error) => return Ok(Settled::refused(approved.call, &error).into()),
    };
    let is_same = same_targets(&again.actions, &approved.actions);
    match again.ruling.decision {
        Decision::Deny => {}
        Decision::Ask if !(approved.is_answered && is_same) => {}
        Decision::Allow | Decision::Ask => {
            let (actions, access) = (again.actions, again.ruling.access);
            let approved = Approved { actions, access, ..*approved };
            return Ok(Prepared::Approved(Box::new(approved)));
        }
    }
    again.original = approved.original;
    let unknown = EarlierChanges::unknown();
    let decided = decide(context, journal, (approved.call, again), &unknown).await?;
    let mut decided = asking::ask_all(context, journal, vec![decided]).await?;
    Ok(decided.remove(0))
}

/// Returns true if both lists have equal targets, whatever the content of files.
fn same_targets(one: &[Action], other: &[Action]) -> bool {
    let bare = |action: &Action| match action {
        Action::Write { path, .. } => Action::Write { path: path.clone(), diff: None },
        Action::Read { .. }
        | Action::Run { .. }
        | Action::Connect { .. }
        | Action::LeaveSandbox { .. }
        | Action::Opaque { .. } => action.clone(),
    };
    one.iter().map(bare).eq(other.iter().map(bare))
}

struct Judgment {
    tool: Arc<dyn Tool>,
    actions: Vec<Action>,
    obstacle: Option<Obstacle>,
    ruling: Ruling,
    original: Option<Value>,
}

impl Judgment {
    fn event(&self, call: &ToolCall) -> EventKind {
        let source = self.tool.spec().source.clone();
        EventKind::ToolJudged {
            call: call.id.clone(),
            source: (source != BUILTIN).then_some(source),
            args: call.args.clone(),
            actions: self.actions.clone(),
            ruling: self.ruling.clone(),
        }
    }
}

/// Checks the arguments of a call and judges it. The error is for the model.
async fn judge(
    context: TurnContext<'_>,
    call: &ToolCall,
    tool: Option<Arc<dyn Tool>>,
) -> Result<Judgment, ToolError> {
    let registry = &context.parts.registry;
    registry.check(&call.name, &call.args).map_err(ToolError::Input)?;
    let Some(tool) = tool.or_else(|| registry.get(&call.name).cloned()) else {
        return Err(ToolError::Input(format!("Unknown tool: {}", call.name)));
    };
    let (policy, judged, args) =
        (Arc::clone(&context.parts.policy), Arc::clone(&tool), call.args.clone());
    let mode = context.mode();
    let caution = context.cancel.run_until_cancelled(tool.caution(call)).await.flatten();
    let ruled = blocking(move || {
        let plan = judged.actions(&args)?;
        let ruling = policy.judge(&judged.spec(), &plan.actions, mode);
        Ok::<_, ToolError>((plan, ruling))
    });
    let (Plan { actions, obstacle }, mut ruling) = ruled.await.ok_or(ToolError::Cancelled)??;
    if let Some(why) = caution {
        // No rule can have been made with this in mind.
        let (decision, origin) = (Decision::Ask, tool.spec().source.clone());
        ruling.decision = ruling.decision.max(decision);
        ruling.reasons.insert(0, Reason { decision, subject: call.name.clone(), why, origin });
    }
    Ok(Judgment { tool, actions, obstacle, ruling, original: None })
}

fn refusal(error: &ToolError) -> CallOutcome {
    match error {
        ToolError::Cancelled => CallOutcome::Interrupted,
        ToolError::Denied(_) => CallOutcome::Denied,
        ToolError::Input(_) | ToolError::Sandbox(_) | ToolError::Broken(_) => CallOutcome::Invalid,
    }
}

/// Asks hooks about a call that is not denied. They may tighten and rewrite; a rewritten call is judged.
async fn consult(
    context: TurnContext<'_>,
    journal: &mut Journal,
    mut call: ToolCall,
    (mut judgment, doubt): (Judgment, Option<Doubt>),
) -> Logged<Result<(ToolCall, Judgment), Settled>> {
    let judged = (judgment.tool.as_ref(), &*judgment.actions, judgment.ruling.decision);
    let (rewritten, ask) = match context.hooks.before_tool(journal, &call, judged).await? {
        Advised::Proceed { rewritten, ask } => (rewritten, ask),
        Advised::Answer(output) => {
            let mut settled = Settled::without_running(call, CallOutcome::Skipped, "");
            settled.output = output;
            return Ok(Err(settled));
        }
        Advised::Block { hook, reason } => {
            let doubt = Doubt { origin: format!("hook {hook}"), why: reason };
            let why = tightened(&mut judgment.ruling, Decision::Deny, &call.name, doubt);
            journal.note(vec![judgment.event(&call)]).await?;
            let settled = Settled::without_running(call, CallOutcome::Denied, why);
            return Ok(Err(settled));
        }
    };
    if let Some(args) = rewritten {
        let original = Some(std::mem::replace(&mut call.args, args));
        judgment = match judge(context, &call, Some(judgment.tool)).await {
            Ok(judgment) => Judgment { original, ..judgment },
            Err(error) => {
                let text = format!("a hook changed the arguments, and they do not fit: {error}");
                let settled = Settled::without_running(call, refusal(&error), text);
                return Ok(Err(settled));
            }
        };
    }
    if let Some(doubt) = ask.or(doubt)
        && !context.auto_approves()
    {
        tightened(&mut judgment.ruling, Decision::Ask, &call.name, doubt);
    }
    if judgment.ruling.decision == Decision::Ask && context.settings.questions == Questions::Refused
    {
        let why = "it needs approval, and this agent cannot ask".to_owned();
        let doubt = Doubt { origin: "permissionMode".to_owned(), why };
        tightened(&mut judgment.ruling, Decision::Deny, &call.name, doubt);
    }
    Ok(Ok((call, judgment)))
}

/// Adds a doubt to a ruling, which never becomes milder by it. Returns the reason.
fn tightened(ruling: &mut Ruling, decision: Decision, subject: &str, doubt: Doubt) -> String {
    ruling.decision = ruling.decision.max(decision);
    let (subject, Doubt { origin, why }) = (subject.to_owned(), doubt);
    ruling.reasons.push(Reason { decision, subject, why: why.clone(), origin });
    why
}
