//! `acp`: an editor holds conversations over the Agent Client Protocol.

use std::cell::OnceCell;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::rc::Rc;
use std::sync::Arc;

use ::acp::host::{Commands, Conversation, Expansion, Failure, Host, Opened, SessionEntry, Wanted};
use ::acp::wire::{Choice, Code, Command, Hint};
use ::mcp::config::{Scope, Source};
use ::tui::host::Item;
use args::Global;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::run_context::RunContext;
use assemble::signals::Signals;
use assemble::{output, provider_choice};
use async_trait::async_trait;
use contract::event::{Event, Input};
use contract::id::SessionId;
use contract::policy::Mode;
use sessions::store::Store;
use sessions::summary::Summary;
use tokio::sync::mpsc;

use super::live::{self, Live, Talk};
use crate::frontends::tui::Requests;

pub(super) async fn run(global: Global) -> Outcome {
    let mut signals = Signals::new()?;
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    // Nothing else may read the protocol, and what anything prints must not get into it.
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    let (input, output) = (tokio::fs::File::from_std(input), tokio::fs::File::from_std(output));
    let serving = ::acp::serve(
        Rc::new(EditorHost { global, store: OnceCell::new() }),
        env!("CARGO_PKG_VERSION"),
        input,
        output,
    );
    tokio::select! {
        served = serving => served.map(|()| Exit::Done).map_err(Problem::from),
        exit = signals.next() => Ok(exit),
    }
}

struct EditorHost {
    global: Global,
    store: OnceCell<Store>,
}

fn refused(problem: Problem) -> Failure {
    let code = match problem.exit {
        Exit::Misuse => Code::InvalidParams,
        _ => Code::Internal,
    };
    Failure { code, message: problem.message(), hint: problem.hint }
}

impl EditorHost {
    fn store(&self) -> Result<&Store, Problem> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let store = RunContext::without_project(self.global.clone())?.store()?;
        Ok(self.store.get_or_init(|| store))
    }
}

#[async_trait(?Send)]
impl Host for EditorHost {
    async fn open(&self, wanted: Wanted) -> Result<Opened, Failure> {
        let Wanted { session, cwd, servers, model, mode } = wanted;
        let assembly = live::assembly(&self.global, &cwd, session.as_ref(), mode);
        let assembly = assembly.map_err(refused)?;
        if !servers.is_empty() {
            let document = ::acp::wire::document(&servers);
            let origin = "the editor".to_owned();
            let source = Source { origin, scope: Scope::User, document };
            assembly.services.editor_servers.get_or_init(|| source);
        }
        let chosen = provider_choice::choose(&assembly).await;
        chosen.map_err(|problem| Failure {
            code: Code::AuthenticationRequired,
            ..refused(problem)
        })?;
        let live = Live::open(assembly, model.as_deref(), None).await.map_err(refused)?;
        let Live { id, history, talk, mode, modes, model, models, context_size, .. } = live;
        let commands = Rc::new(EditorCommands(Arc::clone(&talk.requests)));
        let conversation = Box::new(talk);
        let choice = |name: String| Choice { value: name.clone(), name, description: None };
        let models = models.into_iter().map(choice).collect();
        Ok(Opened { id, history, conversation, commands, mode, modes, model, models, context_size })
    }

    fn list(&self) -> Result<Vec<SessionEntry>, Failure> {
        let entry = |it: Summary| SessionEntry {
            title: Some(it.label()).filter(|label| !label.is_empty()),
            id: it.id,
            cwd: it.cwd,
            updated_at: it.updated_at,
        };
        let listed = self.store().and_then(|store| Ok(store.list()?)).map_err(refused)?;
        Ok(listed.into_iter().map(entry).collect())
    }

    fn exists(&self, session: &SessionId) -> bool {
        self.store().is_ok_and(|store| store.exists(session))
    }

    fn delete(&self, session: &SessionId) -> Result<(), Failure> {
        self.store().and_then(|store| Ok(store.delete(session)?)).map_err(refused)
    }

    fn warn(&self, text: &str) {
        output::warning(text);
    }
}

#[async_trait(?Send)]
impl Conversation for Talk {
    fn inputs(&self) -> &mpsc::Sender<Input> {
        &self.conversation.inputs
    }

    async fn next_event(&mut self) -> Option<Arc<Event>> {
        self.next().await
    }

    fn set_mode(&self, mode: Mode) {
        self.requests.background.set_mode(mode);
    }

    async fn finish(self: Box<Self>) {
        self.end().await;
    }
}

struct EditorCommands(Arc<Requests>);

#[async_trait(?Send)]
impl Commands for EditorCommands {
    fn list(&self) -> Vec<Command> {
        let input = |hint: String| (!hint.is_empty()).then_some(Hint { hint });
        let command =
            |it: Item| Command { name: it.value, description: it.label, input: input(it.detail) };
        live::commands(&self.0.assembly).map(command).collect()
    }

    async fn expand(&self, text: &str, mode: Mode) -> Result<Expansion, Failure> {
        live::typed(&self.0, text, mode).await.map_err(refused)
    }
}
