//! `serve`: browsers and programs hold conversations over HTTP.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ::server::host::{
    Command, Commands, Conversation, Expansion, Failure, Holder, Host, Listed, Logs, Opened,
    Reachable, Take, Wanted,
};
use ::server::share::{Shared, Sharing};
use ::server::{Address, Options, Token};
use ::tui::host::Item;
use args::{Global, ServeArgs};
use assemble::exit::{Exit, Outcome, Problem};
use assemble::run_context::RunContext;
use assemble::signals::Signals;
use assemble::undo::{self, Detail};
use assemble::{answering_model, audit, model_cache, output, role, session_choice};
use async_trait::async_trait;
use contract::event::{Direction, Event, EventKind, Input};
use contract::id::{Seq, SessionId};
use contract::policy::Mode;
use serde_json::Value;
use sessions::earlier;
use sessions::export::{Export, Thinking};
use sessions::store::Store;
use sessions::summary::Summary;
use tokio::sync::{Notify, mpsc};

use super::earlier_messages;
use super::live::{self, Live, Talk};
use crate::frontends::tui::Requests;

/// Files that are looked through for the completion of a name.
const FILES: usize = 100_000;

pub(super) async fn run(global: Global, args: ServeArgs) -> Outcome {
    let run = RunContext::without_project(global.clone())?;
    let options = options(&run, &args)?;
    let store = run.store()?;
    let host = Rc::new(ServerHost { global, run, store, link: None });
    until_signal(&args.listen, |stopped| {
        ::server::serve(host, options, stopped, |place, _| {
            output::hint(&format!("serving at {place}; ctrl-c ends it"));
        })
    })
    .await
}

/// Serves at an address until a signal comes, and ends in order then.
pub(super) async fn until_signal<F: Future<Output = io::Result<()>>>(
    address: &str,
    serve: impl FnOnce(Pin<Box<dyn Future<Output = ()>>>) -> F,
) -> Outcome {
    let mut signals = Signals::new()?;
    let (stop, mut exit) = (Rc::new(Notify::new()), Exit::Done);
    let stopping = Rc::clone(&stop);
    let serving = serve(Box::pin(async move { stopping.notified().await }));
    tokio::pin!(serving);
    let served = tokio::select! {
        served = &mut serving => served,
        signal = signals.next() => {
            exit = signal;
            stop.notify_one();
            serving.await
        }
    };
    served.map(|()| exit).map_err(|error| cannot_listen(address, &error))
}

fn cannot_listen(address: &str, error: &io::Error) -> Problem {
    Problem::misuse(format!("cannot listen at {address}: {error}"))
}

/// Starts a server that opens the sessions which this program shares.
pub(super) async fn share(
    global: &Global,
    address: Option<String>,
) -> Result<Sharing<Problem>, Problem> {
    let global = global.clone();
    let serving = move |shared: Shared| {
        super::asynchronously(async move {
            let run = RunContext::without_project(global.clone())?;
            let args = ServeArgs::at(address);
            let (options, store) = (options(&run, &args)?, run.store()?);
            let link = Some(Arc::clone(&shared.link));
            let host = Rc::new(ServerHost { global, run, store, link });
            let served = shared.serve(host, options).await;
            served.map_err(|error| cannot_listen(&args.listen, &error))
        })
    };
    let started = Sharing::start(serving).await;
    started.map_err(|problem| problem.hint("`/serve 127.0.0.1:0` chooses a free port"))
}

fn options(run: &RunContext, args: &ServeArgs) -> Result<Options, Problem> {
    let is_proxied = args.behind_proxy.is_some();
    let address = Address::parse(&args.listen, &run.environment.cwd, is_proxied);
    let token = |named: &String| Token::parse(named, |name| run.environment.variable(name));
    let tokens: Result<_, Failure> = args.token_env.iter().map(token).collect();
    let project = |path: &PathBuf| {
        let path = run.environment.cwd.join(path);
        let wrong = |error| Problem::misuse(format!("cannot read {}: {error}", path.display()));
        path.canonicalize().map_err(wrong)
    };
    let projects: Vec<PathBuf> = args.project.iter().map(project).collect::<Result<_, _>>()?;
    Ok(Options {
        address: address.map_err(misused)?,
        public: args.behind_proxy.clone(),
        tokens: tokens.map_err(misused)?,
        state: Some(run.config_dir()?.join(::setup::user_files::SERVER)),
        cwd: projects.first().unwrap_or(&run.environment.cwd).clone(),
        projects,
        opens_page: args.open,
        question_limit: Duration::from_secs(args.question_timeout),
        openings: None,
        version: env!("CARGO_PKG_VERSION"),
    })
}

pub(super) fn misused(failure: Failure) -> Problem {
    Problem { hint: failure.hint, ..Problem::misuse(failure.message) }
}

pub(super) struct ServerHost {
    global: Global,
    run: RunContext,
    store: Store,
    /// Takes the first link, if a terminal shows it.
    link: Option<Arc<OnceLock<String>>>,
}

fn refused(problem: impl Into<Problem>) -> Failure {
    let problem = problem.into();
    Failure::of(problem.message(), problem.hint, problem.exit == Exit::Misuse)
}

#[async_trait(?Send)]
impl Host for ServerHost {
    async fn open(&self, wanted: Wanted, reachable: &Reachable) -> Result<Opened, Failure> {
        let Wanted { mut session, cwd, model, mode, role, fork, system, unsaved } = wanted;
        if let (Some(origin), Some(seq)) = (&session, fork) {
            let copy = earlier::free_name(&self.store, origin).map_err(refused)?;
            // A copy plays the role of its origin.
            let seq =
                session_choice::role_of(&self.store, origin).map_or(seq, |(at, _)| at.max(seq));
            self.store.fork(origin, &copy, Some(seq)).map_err(refused)?;
            session = Some(copy);
        }
        let mut global = self.global.clone();
        global.append_system_prompt = system.or(global.append_system_prompt);
        let assembly = live::assembly(&global, &cwd, session.as_ref(), mode);
        let mut assembly = assembly.map_err(refused)?;
        if let Some(name) = role {
            role::record::choose_offered(&mut assembly, &name).map_err(refused)?;
        }
        let is_saved = unsaved.is_none();
        let unsaved = unsaved.zip(session).map(|(messages, id)| {
            earlier_messages::events(&id, cwd.display().to_string(), messages)
        });
        if is_saved && !assembly.config().session.auto_save {
            let problem = Problem::misuse("a server keeps its sessions")
                .hint("set `session.auto_save: true`");
            return Err(refused(problem));
        }
        let live = Live::open(assembly, model.as_deref(), unsaved).await.map_err(refused)?;
        let Live { id, talk, mode, modes, provider, model, models, context_size, .. } = live;
        if is_saved && reachable.socket.is_absolute() {
            let server = (reachable.socket.clone(), reachable.token.clone());
            self.store.announce(&id, server, &cwd).map_err(refused)?;
        }
        let commands = Rc::new(TypedCommands(Arc::clone(&talk.requests)));
        let conversation = Box::new(talk);
        Ok(Opened {
            id,
            conversation,
            commands,
            mode,
            modes,
            model,
            provider,
            models,
            context_size,
        })
    }

    fn logs(&self) -> Arc<dyn Logs> {
        Arc::new(StoredLogs(self.store.clone()))
    }

    fn list(&self) -> Result<Vec<Listed>, Failure> {
        let listed = |it: Summary| Listed {
            title: it.label(),
            id: it.id,
            cwd: it.cwd,
            updated_at: it.updated_at,
        };
        let mut all: Vec<Listed> =
            self.store.list().map_err(refused)?.into_iter().map(listed).collect();
        // A session without an event is listed if a server has it open.
        let known: HashSet<SessionId> = all.iter().map(|it| it.id.clone()).collect();
        let ids = self.store.ids().map_err(refused)?;
        for id in ids.into_iter().filter(|id| !known.contains(id)) {
            let holder = self.store.holder(&id).unwrap_or_default();
            if let (Some(cwd), Some(updated_at)) = (holder.cwd, holder.since) {
                let (title, cwd) = (String::new(), cwd.display().to_string());
                all.insert(0, Listed { id, cwd, title, updated_at });
            }
        }
        Ok(all)
    }

    fn exists(&self, session: &SessionId) -> bool {
        self.store.exists(session)
    }

    fn holder(&self, session: &SessionId) -> Option<Holder> {
        let server = self.store.holder(session)?.server;
        let reachable = server.map(|(socket, token)| Reachable { socket, token });
        Some(Holder { reachable })
    }

    fn delete(&self, session: &SessionId) -> Result<(), Failure> {
        self.store.delete(session).map_err(refused)
    }

    fn changes(
        &self,
        session: &SessionId,
        cwd: &Path,
        turns: Option<u32>,
        has_diffs: bool,
    ) -> Result<Value, Failure> {
        let changes = || {
            let assembly = live::assembly(&self.global, cwd, None, None)?;
            let keeper = undo::keeper(&assembly, cwd, session)?;
            let history = self.store.history(session)?;
            let detail = if has_diffs { Detail::Lines } else { Detail::Files };
            undo::data(&keeper, history.last_turns(turns), detail)
        };
        changes().map_err(refused)
    }

    fn export(&self, session: &SessionId) -> Result<String, Failure> {
        let export = Export::of_log(&self.store, session).map_err(refused)?;
        let mut text = String::new();
        let put = &mut |piece: &str| {
            text.push_str(piece);
            Ok(())
        };
        export.markdown(None, Thinking::Collapsible, put).map_err(refused)?;
        Ok(text)
    }

    fn commands(&self, cwd: &Path) -> Result<Vec<Command>, Failure> {
        let assembly = live::assembly(&self.global, cwd, None, None).map_err(refused)?;
        let hint = |detail: String| Some(detail).filter(|detail| !detail.is_empty());
        let command =
            |it: Item| Command { name: it.value, description: it.label, hint: hint(it.detail) };
        Ok(live::commands(&assembly).map(command).collect())
    }

    async fn models(&self, cwd: &Path) -> Result<Vec<(String, String)>, Failure> {
        let assembly = live::assembly(&self.global, cwd, None, None).map_err(refused)?;
        let answering = answering_model::answering(&assembly).await;
        let answering = answering.map_err(refused)?;
        let candidate = &answering.choice.candidate;
        let listed = model_cache::last(&assembly, candidate).unwrap_or_default();
        let others = listed.into_iter().map(|model| model.id).filter(|id| *id != answering.model);
        let all = [answering.model.clone()].into_iter().chain(others);
        Ok(all.map(|model| (model, candidate.name.clone())).collect())
    }

    fn files(&self, cwd: &Path) -> Result<Vec<String>, Failure> {
        let assembly = live::assembly(&self.global, cwd, None, None).map_err(refused)?;
        Ok(tools::walk::project_files(assembly.root().map_err(refused)?, FILES))
    }

    fn refused(&self, text: &str) {
        output::note(text);
        if let Some(directory) = &self.run.loaded.config_dir {
            audit::open(directory).note_or_warn("request refused", text, None);
        }
    }

    fn offer_link(&self, url: &str) {
        match &self.link {
            None => {
                // A closed output needs no link.
                let _ = output::line(url);
            }
            Some(first) => {
                if let Err(next) = first.set(url.to_owned()) {
                    output::note(&format!("A browser logged in. The link for the next: {next}"));
                }
            }
        }
    }

    fn open_page(&self, page: &Path) {
        let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        let page = page.display().to_string();
        if let Err(error) = sandbox::feed(program, &[&page], &self.run.environment.cwd, b"") {
            output::warning(&format!("cannot open a browser: {error}"));
        }
    }
}

struct StoredLogs(Store);

impl Logs for StoredLogs {
    fn each(&self, session: &SessionId, after: Seq, take: Take<'_>) -> Result<(), Failure> {
        let read = self.0.events_while(session, |event| event.seq <= after || take(event));
        read.map_err(refused)
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

    async fn finish(self: Box<Self>) -> Vec<Arc<Event>> {
        self.end().await
    }
}

struct TypedCommands(Arc<Requests>);

#[async_trait(?Send)]
impl Commands for TypedCommands {
    async fn expand(&self, text: &str, mode: Mode) -> Result<Expansion, Failure> {
        Ok(match live::typed(&self.0, text, mode).await.map_err(refused)? {
            ::acp::host::Expansion::Work(input) => Expansion::Work(input),
            ::acp::host::Expansion::Show { text, inputs } => Expansion::Show { text, inputs },
            ::acp::host::Expansion::Mode(mode) => Expansion::Mode(mode),
            ::acp::host::Expansion::Model(model) => Expansion::Model(model),
        })
    }

    fn set_mode(&self, mode: Mode) {
        self.0.background.set_mode(mode);
    }

    async fn restore(
        &self,
        direction: Direction,
        turns: usize,
    ) -> Result<(Value, Vec<EventKind>), Failure> {
        let requests = Arc::clone(&self.0);
        let restoring = tokio::task::spawn_blocking(move || {
            requests.restore(direction, undo::request(turns, false, false))
        });
        let (report, events) = restoring.await.map_err(refused)?.map_err(refused)?;
        Ok((serde_json::to_value(&report).map_err(refused)?, events))
    }
}
