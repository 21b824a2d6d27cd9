//! Runs roles for test suites, autonomous runs, and roles of several agents.

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent::conversation::Conversation;
use args::ChatArgs;
use assemble::answering_model::AnsweringModel;
use assemble::assembly::Assembly;
use assemble::exit::{Exit, Problem};
use assemble::hooks::models::Models;
use assemble::output;
use assemble::role::{self, OpenRole};
use assemble::session_choice::SessionStorage;
use assemble::setup::BackgroundServices;
use assemble::signals::Signals;
use async_trait::async_trait;
use contract::event::Input;
use contract::id::{CallId, SessionId};
use initrunner::host::{RoleConversation, RoleRun, RoleRunner};
use initrunner::role::Role;
use initrunner::task::RunScope;
use line_ui::tee::{LeveledLog, Tee};
use line_ui::turn;
use line_ui::verdict::Verdict;
use plugins::hooks::Ask as _;
use serde_json::Value;
use server::host::Earlier;
use tokio::sync::OnceCell;

use super::approvals;
use super::chat::OpenConversation;
use super::earlier_messages;
use super::role::RoleResult;
use crate::frontends::{self, View};

pub(super) struct Runner<'a> {
    assembly: &'a Assembly,
    /// The model of the run itself, which answers [`RoleRunner::ask`].
    answering: OnceCell<Arc<AnsweringModel>>,
    /// Set when a signal stops the run: no further conversation is opened.
    pub(super) is_stopped: Cell<bool>,
    /// The reason of the runs that it opens, as the record of runs names it.
    pub(super) trigger_type: Option<&'static str>,
}

impl<'a> Runner<'a> {
    pub(super) fn new(assembly: &'a Assembly) -> Self {
        Self {
            assembly,
            answering: OnceCell::new(),
            is_stopped: Cell::new(false),
            trigger_type: None,
        }
    }

    pub(super) async fn answering(&self) -> Result<&Arc<AnsweringModel>, Problem> {
        let open =
            || async { Ok(Arc::new(assemble::answering_model::answering(self.assembly).await?)) };
        self.answering.get_or_try_init(open).await
    }

    /// Opens a conversation with the role that the run was started with.
    pub(super) async fn open_chosen(&self) -> Result<Box<dyn RoleConversation>, Problem> {
        let assembly = self.assembly.separate();
        OpenRun::open(&assembly, Arc::clone(self.answering().await?)).await
    }

    /// Opens a conversation with that role which shows its work and is saved.
    pub(super) async fn open_shown(&self) -> Result<OpenRun, Problem> {
        let (chat, answering) = (ChatArgs::default(), Arc::clone(self.answering().await?));
        let mut opened = OpenRun::new(self.assembly, &chat, answering, Vec::new()).await?;
        opened.log = super::chat::log(self.assembly, &chat)?;
        opened.may_pause = true;
        let has_schema = opened.role.as_ref().is_some_and(|role| role.output.is_some());
        if !self.assembly.wants_json() && !has_schema {
            let is_verbose = self.assembly.global.verbose;
            opened.view = super::chat::view(self.assembly, is_verbose, opened.storage, Value::Null);
        }
        Ok(opened)
    }
}

#[async_trait(?Send)]
impl RoleRunner for Runner<'_> {
    async fn open(&self, role: Role) -> Result<Box<dyn RoleConversation>, String> {
        if self.is_stopped.get() {
            return Err(String::from("interrupted"));
        }
        let mut assembly = self.assembly.separate();
        let opened = async {
            role::choose_read(&mut assembly, role)?;
            if let Some(chosen) = &mut assembly.role {
                chosen.trigger_type = self.trigger_type;
            }
            let answering = Arc::new(assemble::answering_model::answering(&assembly).await?);
            OpenRun::open(&assembly, answering).await
        };
        opened.await.map_err(|problem: Problem| problem.message())
    }

    async fn ask(&self, model: Option<&str>, prompt: &str) -> Result<String, String> {
        let answering = self.answering().await.map_err(|problem| problem.message())?;
        let own = format!("{}:", answering.provider.name());
        let model = model.and_then(|model| model.strip_prefix(&own));
        Models::new(answering).ask(model, prompt).await
    }
}

pub(super) struct OpenRun {
    pub(super) id: SessionId,
    conversation: Conversation,
    background: BackgroundServices,
    pub(super) role: Option<Arc<OpenRole>>,
    storage: SessionStorage,
    pub(super) view: Box<dyn View>,
    log: Option<LeveledLog>,
    last: Option<Verdict>,
    /// True if it pauses at calls that nobody can approve now.
    pub(super) may_pause: bool,
    pub(super) waiting: Vec<(CallId, String, Value)>,
    /// The decisions about calls that waited before the first prompt.
    pub(super) decided: approvals::Decided,
    /// Stops the next turn; signals of the program if there are none.
    pub(super) signals: Option<Box<dyn turn::Signals>>,
}

impl OpenRun {
    async fn open(
        assembly: &Assembly,
        answering: Arc<AnsweringModel>,
    ) -> Result<Box<dyn RoleConversation>, Problem> {
        let chat = ChatArgs { no_save: true, ..ChatArgs::default() };
        Ok(Box::new(Self::new(assembly, &chat, answering, Vec::new()).await?))
    }

    /// Opens a conversation that begins with a history.
    pub(super) async fn new(
        assembly: &Assembly,
        chat: &ChatArgs,
        answering: Arc<AnsweringModel>,
        history: Vec<Earlier>,
    ) -> Result<Self, Problem> {
        let cwd = assembly.root()?.display().to_string();
        let opening = OpenConversation::open(assembly, chat, answering, |_, chosen| {
            let events = earlier_messages::events(&chosen.id, cwd, history);
            chosen.history.extend(events.clone());
            chosen.log.append(&events)
        });
        let (opened, appended) = opening.await?;
        appended?;
        let OpenConversation { id, conversation, background, role, storage, .. } = opened;
        let view = Box::new(frontends::quiet(assembly));
        let (log, last, may_pause, waiting) = (None, None, false, Vec::new());
        Ok(Self {
            id,
            conversation,
            background,
            role,
            storage,
            view,
            log,
            last,
            may_pause,
            waiting,
            decided: Vec::new(),
            signals: None,
        })
    }

    pub(super) async fn show(&mut self, input: Input) -> io::Result<Verdict> {
        let (view, log) = (self.view.as_mut(), self.log.take());
        let decided = std::mem::take(&mut self.decided);
        let role = self.role.as_deref().filter(|_| self.may_pause);
        let approvals = role.map(|role| approvals::of_role(role, decided));
        let mut tee = Tee { view, log, kept: None, approvals };
        let Conversation { events, inputs, .. } = &mut self.conversation;
        let ends = turn::Conversation { events, inputs };
        let mut signals = match self.signals.take() {
            Some(signals) => signals,
            None => Box::new(Signals::new()?),
        };
        let shown = turn::show(ends, Some(input), &mut tee, None, signals.as_mut()).await;
        self.log = tee.log;
        self.waiting = tee.approvals.map(|it| it.waiting).unwrap_or_default();
        shown
    }
}

#[async_trait(?Send)]
impl RoleConversation for OpenRun {
    async fn run(&mut self, prompt: &str) -> RoleRun {
        let started = Instant::now();
        let verdict = match self.show(Input::Prompt { text: prompt.to_owned() }).await {
            Ok(verdict) => verdict,
            Err(error) => {
                let (error, exit_code) = (Some(error.to_string()), Exit::Failed.code());
                return RoleRun { error, exit_code, ..RoleRun::default() };
            }
        };
        let result = RoleResult::new(&verdict, self.role.as_deref());
        let is_paused = !self.waiting.is_empty();
        let failed = || format!("the run ended with exit code {}", result.exit.code());
        let error = (result.exit != Exit::Done && !is_paused)
            .then(|| result.error.clone().unwrap_or_else(failed));
        let usage = &verdict.usage;
        let run = RoleRun {
            output: result.output,
            error,
            calls: verdict.calls.iter().map(|it| (it.name.clone(), it.args.clone())).collect(),
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            reasoning_tokens: usage.reasoning_tokens.unwrap_or_default(),
            duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            is_dry: false,
            is_interrupted: result.exit.is_signal() && !is_paused,
            is_paused,
            exit_code: result.exit.code(),
        };
        self.last = Some(verdict);
        run
    }

    async fn compact(&mut self) -> Result<(), String> {
        let input = Input::Compact { instructions: None };
        let verdict = self.show(input).await.map_err(|error| error.to_string())?;
        if verdict.errors.is_empty() { Ok(()) } else { Err(verdict.errors.join("; ")) }
    }

    fn scope(&self) -> RunScope {
        self.role.as_ref().map(|role| role.run.clone()).unwrap_or_default()
    }

    async fn wait(&mut self, time: Duration) -> Option<u8> {
        let mut signals = Signals::new().ok()?;
        tokio::select! {
            () = tokio::time::sleep(time) => None,
            exit = signals.next() => Some(exit.code()),
        }
    }

    async fn close(self: Box<Self>) {
        let Self { conversation, background, mut view, log, last, .. } = *self;
        let mut tee = Tee { view: view.as_mut(), log, kept: None, approvals: None };
        if let Some(verdict) = &last
            && let Err(error) = tee.close(verdict).and_then(|()| tee.flush())
        {
            output::warning(&format!("the answer cannot be shown: {error}"));
        }
        frontends::part(conversation, &mut tee, false).await;
        background.close().await;
    }
}
