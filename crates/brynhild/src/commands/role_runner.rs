//! Runs roles without showing them: for test suites and for roles of several agents.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use agent::conversation::Conversation;
use async_trait::async_trait;
use contract::event::Input;
use initrunner::host::{RoleConversation, RoleRun, RoleRunner};
use initrunner::role::Role;
use plugins::hooks::Ask as _;
use tokio::sync::OnceCell;

use super::chat::OpenConversation;
use super::role::RoleResult;
use crate::args::ChatArgs;
use crate::assemble;
use crate::assemble::answering_model::AnsweringModel;
use crate::assemble::assembly::Assembly;
use crate::assemble::hooks::models::Models;
use crate::assemble::role::{self, OpenRole};
use crate::assemble::setup::BackgroundServices;
use crate::exit::{Exit, Problem};
use crate::frontends;
use crate::frontends::quiet::Quiet;

pub(super) struct Runner<'a> {
    assembly: &'a Assembly,
    /// The model of the run itself, which answers [`RoleRunner::ask`].
    answering: OnceCell<Arc<AnsweringModel>>,
    /// Set when a signal stops the run: no further conversation is opened.
    pub(super) is_stopped: Cell<bool>,
}

impl<'a> Runner<'a> {
    pub(super) fn new(assembly: &'a Assembly) -> Self {
        Self { assembly, answering: OnceCell::new(), is_stopped: Cell::new(false) }
    }

    async fn answering(&self) -> Result<&Arc<AnsweringModel>, Problem> {
        let open =
            || async { Ok(Arc::new(assemble::answering_model::answering(self.assembly).await?)) };
        self.answering.get_or_try_init(open).await
    }

    /// Opens a conversation with the role that the run was started with.
    pub(super) async fn open_chosen(&self) -> Result<Box<dyn RoleConversation>, Problem> {
        let assembly = self.separate();
        OpenRun::open(&assembly, Arc::clone(self.answering().await?)).await
    }

    /// A copy of the run with plugins and a Python host of its own, which end with the conversation.
    fn separate(&self) -> Assembly {
        let services = Arc::new(self.assembly.services.in_same_sandbox());
        Assembly::with_services(self.assembly.clone().into_run(), services)
    }
}

#[async_trait(?Send)]
impl RoleRunner for Runner<'_> {
    async fn open(&self, role: Role) -> Result<Box<dyn RoleConversation>, String> {
        if self.is_stopped.get() {
            return Err(String::from("interrupted"));
        }
        let mut assembly = self.separate();
        let opened = async {
            role::choose_read(&mut assembly, role)?;
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

struct OpenRun {
    conversation: Conversation,
    background: BackgroundServices,
    role: Option<Arc<OpenRole>>,
    view: Quiet,
}

impl OpenRun {
    async fn open(
        assembly: &Assembly,
        answering: Arc<AnsweringModel>,
    ) -> Result<Box<dyn RoleConversation>, Problem> {
        let chat = ChatArgs { no_save: true, ..ChatArgs::default() };
        let opened = OpenConversation::open(assembly, &chat, answering, |_, _| ()).await?;
        let OpenConversation { conversation, background, role, .. } = opened.0;
        Ok(Box::new(Self { conversation, background, role, view: Quiet::new(assembly) }))
    }
}

#[async_trait(?Send)]
impl RoleConversation for OpenRun {
    async fn run(&mut self, prompt: &str) -> RoleRun {
        let started = Instant::now();
        let input = Some(Input::Prompt(prompt.to_owned()));
        let verdict = match frontends::show(&mut self.conversation, input, &mut self.view, None)
            .await
        {
            Ok(verdict) => verdict,
            Err(error) => return RoleRun { error: Some(error.to_string()), ..RoleRun::default() },
        };
        let result = RoleResult::new(&verdict, self.role.as_deref());
        let failed = || format!("the run ended with exit code {}", result.exit.code());
        let error =
            (result.exit != Exit::Done).then(|| result.error.clone().unwrap_or_else(failed));
        let usage = &verdict.usage;
        RoleRun {
            output: result.output,
            error,
            calls: verdict.calls.iter().map(|it| (it.name.clone(), it.args.clone())).collect(),
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            reasoning_tokens: usage.reasoning_tokens.unwrap_or_default(),
            duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            is_dry: false,
            is_interrupted: result.exit.is_signal(),
        }
    }

    async fn close(self: Box<Self>) {
        let Self { conversation, background, mut view, .. } = *self;
        frontends::part(conversation, &mut view, false).await;
        background.close().await;
    }
}
