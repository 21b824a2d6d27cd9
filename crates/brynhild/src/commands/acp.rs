//! `acp`: an editor holds conversations over the Agent Client Protocol.

use std::cell::OnceCell;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use ::acp::host::{Commands, Conversation, Expansion, Failure, Host, Opened, SessionEntry, Wanted};
use ::acp::wire::{Choice, Code, Command, Hint, McpServer, Pair};
use ::mcp::config::{Scope, Source};
use ::tui::host::{Answer, Leave};
use agent::conversation::Conversation as Talk;
use args::{ChatArgs, Global};
use async_trait::async_trait;
use contract::event::{Event, Input};
use contract::id::{SessionId, Timestamp};
use contract::policy::Mode;
use line_ui::tee::BackgroundLog;
use serde_json::{Map, Value, json};
use sessions::store::Store;
use sessions::summary::Summary;
use tokio::sync::mpsc;

use super::{chat, interactive, trust};
use crate::assemble::assembly::Assembly;
use crate::assemble::run_context::RunContext;
use crate::assemble::session_choice::SessionStorage;
use crate::assemble::{answering_model, model_cache, provider_choice};
use crate::exit::{Exit, Outcome, Problem};
use crate::frontends::tui::{self, Requests, TurnState};
use crate::output;
use crate::signals::Signals;

/// Commands that only a terminal can carry out.
const OF_TERMINALS: [&str; 8] =
    ["theme", "copy", "quit", "resume", "new", "rewind", "fork", "login"];

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

    /// The assembly of a session in its directory.
    fn assembly(&self, wanted: &Wanted) -> Result<Assembly, Problem> {
        if !wanted.cwd.is_dir() {
            return Err(Problem::misuse(format!("{} is no directory", wanted.cwd.display())));
        }
        let session = wanted.session.as_ref().map(ToString::to_string);
        let (continue_last, fork, resume) = (false, false, None);
        let global = Global { continue_last, fork, resume, session, ..self.global.clone() };
        let mut run = RunContext::read_at(global, &wanted.cwd)?;
        for warning in &run.loaded.warnings {
            output::warning(&warning.to_string());
        }
        trust::check_and_warn(&run)?;
        run.session_mode = wanted.mode;
        if !run.config().session.auto_save {
            let name = format!("unsaved-{}", Timestamp::now().0.as_microsecond());
            run.global.session.get_or_insert(name);
        }
        let assembly = Assembly::new(run);
        if !wanted.servers.is_empty() {
            assembly.services.editor_servers.get_or_init(|| source(&wanted.servers));
        }
        Ok(assembly)
    }
}

/// The servers of an editor as a document like those of the user. It grants them nothing.
fn source(servers: &[McpServer]) -> Source {
    let pairs = |pairs: &[Pair]| -> Map<String, Value> {
        pairs.iter().map(|pair| (pair.name.clone(), pair.value.as_str().into())).collect()
    };
    let entry = |server: &McpServer| match server {
        McpServer::Program { command, args, env, .. } => {
            json!({"command": command, "args": args, "env": pairs(env)})
        }
        McpServer::Address { url, headers, .. } => {
            json!({"type": "http", "url": url, "headers": pairs(headers)})
        }
    };
    let entries = servers.iter().map(|server| (server.name().to_owned(), entry(server)));
    let document = json!({"mcpServers": entries.collect::<Map<_, _>>()});
    Source { origin: "the editor".to_owned(), scope: Scope::User, document }
}

#[async_trait(?Send)]
impl Host for EditorHost {
    async fn open(&self, wanted: Wanted) -> Result<Opened, Failure> {
        let mut assembly = self.assembly(&wanted).map_err(refused)?;
        let chosen = provider_choice::choose(&assembly).await;
        let chosen = chosen.map_err(|problem| Failure {
            code: Code::AuthenticationRequired,
            ..refused(problem)
        })?;
        if let Some(name) = &wanted.model {
            let (provider, model) = answering_model::switched(&assembly, &chosen.candidate, name);
            (assembly.global.provider, assembly.global.model) = (Some(provider), Some(model));
        }
        let opened = interactive::open(&assembly).await.map_err(refused)?;
        open(assembly, opened).map_err(refused)
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

fn open(assembly: Assembly, opened: interactive::Opened) -> Result<Opened, Problem> {
    let (
        chat::OpenConversation {
            answering, conversation, background, snapshots, id, storage, ..
        },
        (watch, history),
    ) = opened;
    let (mode, model) = (assembly.mode(), answering.model.clone());
    let bound = if assembly.global.safe { Some(Mode::ReadOnly) } else { assembly.loaded.max_mode };
    let listed = model_cache::last(&assembly, &answering.choice.candidate).unwrap_or_default();
    let mut names: Vec<String> = listed.into_iter().map(|model| model.id).collect();
    // Another model means another conversation, which goes on only if this one is saved.
    names.retain(|name| *name != model && storage == SessionStorage::Saved);
    names.insert(0, model.clone());
    let log = chat::log(&assembly, &ChatArgs::default())?.map(BackgroundLog::start);
    let context_size = answering.known.context_window_of(&model);
    let state = TurnState { mode, has_begun: !history.is_empty(), ..TurnState::default() };
    let (assembly, state, own) = (Arc::new(assembly), Mutex::new(state), id.clone());
    let requests =
        Requests { assembly, answering, watch, background, snapshots, id: own, storage, state };
    let requests = Arc::new(requests);
    let choice = |name: String| Choice { value: name.clone(), name, description: None };
    Ok(Opened {
        id,
        history,
        conversation: Box::new(Editor { talk: conversation, requests: Arc::clone(&requests), log }),
        commands: Rc::new(EditorCommands(requests)),
        mode,
        modes: Mode::ALL.into_iter().filter(|it| bound.is_none_or(|bound| *it <= bound)).collect(),
        models: names.into_iter().map(choice).collect(),
        model,
        context_size,
    })
}

struct Editor {
    talk: Talk,
    requests: Arc<Requests>,
    log: Option<BackgroundLog>,
}

#[async_trait(?Send)]
impl Conversation for Editor {
    fn inputs(&self) -> &mpsc::Sender<Input> {
        &self.talk.inputs
    }

    async fn next_event(&mut self) -> Option<Arc<Event>> {
        let event = self.talk.events.recv().await?;
        self.requests.witness(&event);
        if let Some(log) = &self.log {
            log.record(&event);
        }
        Some(event)
    }

    fn set_mode(&self, mode: Mode) {
        self.requests.background.set_mode(mode);
    }

    async fn finish(self: Box<Self>) {
        let last = self.talk.finish().await;
        if let Some(log) = self.log {
            for event in &last {
                log.record(event);
            }
            log.close().await;
        }
        self.requests.background.close().await;
    }
}

struct EditorCommands(Arc<Requests>);

#[async_trait(?Send)]
impl Commands for EditorCommands {
    fn list(&self) -> Vec<Command> {
        let all = tui::commands(&self.0.assembly).into_iter();
        let mine = all.filter(|it| !OF_TERMINALS.contains(&it.value.as_str()));
        let input = |hint: String| (!hint.is_empty()).then_some(Hint { hint });
        mine.map(|it| Command { name: it.value, description: it.label, input: input(it.detail) })
            .collect()
    }

    async fn expand(&self, text: &str, mode: Mode) -> Result<Expansion, Failure> {
        self.0.state().mode = mode;
        let answers = match self.0.command(text, None).await.map_err(refused)? {
            Answer::Several(answers) => answers,
            answer => vec![answer],
        };
        let (mut lines, mut inputs) = (Vec::new(), Vec::new());
        for answer in answers {
            match answer {
                Answer::Show(text) | Answer::Tell { text, .. } => lines.push(text),
                Answer::Changes(changes) => {
                    let shown = |it: ::tui::host::FileChange| it.heading() + &it.unified;
                    lines.push(changes.into_iter().map(shown).collect());
                }
                Answer::Send(input) => match *input {
                    Input::Mode { mode } => return Ok(Expansion::Mode(mode)),
                    Input::Record(_) | Input::Effort(_) => inputs.push(*input),
                    _ => return Ok(Expansion::Work(input)),
                },
                Answer::Leave(Leave::Model { provider, model }) => {
                    return Ok(Expansion::Model(format!("{provider}/{model}")));
                }
                Answer::Start(_) | Answer::Leave(_) | Answer::Theme(_) | Answer::Write { .. } => {
                    let text = "this command is for the terminal (`brynhild --resume ID`)";
                    return Err(refused(Problem::misuse(text)));
                }
                _ => {}
            }
        }
        Ok(Expansion::Show { text: lines.join("\n"), inputs })
    }
}
