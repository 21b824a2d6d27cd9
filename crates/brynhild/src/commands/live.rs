//! Conversations that editors, browsers and programs hold: opened by a directory, with the slash
//! commands of the terminal.

use std::path::Path;
use std::sync::Arc;

use ::acp::host::Expansion;
use ::tui::host::{Answer, Item, Leave};
use agent::conversation::Conversation;
use args::{ChatArgs, Global};
use assemble::assembly::Assembly;
use assemble::exit::Problem;
use assemble::run_context::RunContext;
use assemble::session_choice::SessionStorage;
use assemble::{answering_model, model_cache, output, provider_choice, role};
use contract::event::{Event, Input};
use contract::id::{SessionId, Timestamp};
use contract::policy::Mode;
use line_ui::tee::BackgroundLog;

use super::{chat, interactive, trust};
use crate::frontends::tui::{self, Requests};

/// Commands that only a terminal can carry out.
const OF_TERMINALS: [&str; 9] =
    ["theme", "copy", "quit", "resume", "new", "rewind", "fork", "login", "serve"];

/// The assembly of a session in its directory.
pub(super) fn assembly(
    global: &Global,
    cwd: &Path,
    session: Option<&SessionId>,
    mode: Option<Mode>,
) -> Result<Assembly, Problem> {
    if !cwd.is_dir() {
        return Err(Problem::misuse(format!("{} is no directory", cwd.display())));
    }
    let session = session.map(ToString::to_string);
    let (continue_last, fork, resume) = (false, false, None);
    let global = Global { continue_last, fork, resume, session, ..global.clone() };
    let mut run = RunContext::read_at(global, cwd)?;
    for warning in &run.loaded.warnings {
        output::warning(&warning.to_string());
    }
    trust::check_and_warn(&run)?;
    let bound = run.loaded.max_mode.unwrap_or(Mode::Yolo);
    run.session_mode = mode.map(|mode| mode.min(bound));
    if !run.config().session.auto_save {
        let name = format!("unsaved-{}", Timestamp::now().0.as_microsecond());
        run.global.session.get_or_insert(name);
    }
    let mut assembly = Assembly::new(run);
    role::record::resume(&mut assembly)?;
    Ok(assembly)
}

/// A conversation with what its front end shows of it.
pub(super) struct Live {
    pub(super) id: SessionId,
    /// Its earlier events.
    pub(super) history: Vec<Event>,
    pub(super) talk: Talk,
    pub(super) mode: Mode,
    /// The modes that may be chosen.
    pub(super) modes: Vec<Mode>,
    pub(super) provider: String,
    pub(super) model: String,
    /// The models that may be chosen.
    pub(super) models: Vec<String>,
    pub(super) context_size: Option<u64>,
}

pub(super) struct Talk {
    pub(super) conversation: Conversation,
    pub(super) requests: Arc<Requests>,
    log: Option<BackgroundLog>,
}

impl Live {
    /// Opens the session of an assembly, or one that is not saved and begins with `before`.
    pub(super) async fn open(
        mut assembly: Assembly,
        named: Option<&str>,
        before: Option<Vec<Event>>,
    ) -> Result<Self, Problem> {
        let chosen = provider_choice::choose(&assembly).await?;
        if let Some(name) = named {
            let (provider, model) = answering_model::switched(&assembly, &chosen.candidate, name);
            (assembly.global.provider, assembly.global.model) = (Some(provider), Some(model));
        }
        let (opened, (watch, history)) = interactive::open(&assembly, before).await?;
        let (mode, storage, id) = (opened.mode, opened.storage, opened.id.clone());
        let answering = Arc::clone(&opened.answering);
        let model = answering.model.clone();
        let bound =
            if assembly.global.safe { Some(Mode::ReadOnly) } else { assembly.loaded.max_mode };
        let listed = model_cache::last(&assembly, &answering.choice.candidate).unwrap_or_default();
        let mut models: Vec<String> = listed.into_iter().map(|model| model.id).collect();
        // Another model means another conversation, which goes on only if this one is saved.
        models.retain(|name| *name != model && storage == SessionStorage::Saved);
        models.insert(0, model.clone());
        let log = chat::log(&assembly, &ChatArgs::default())?.map(BackgroundLog::start);
        let context_size = answering.known.context_window_of(&model);
        let provider = answering.choice.candidate.name.clone();
        let (conversation, requests) =
            opened.into_parts(Arc::new(assembly), watch, !history.is_empty());
        let talk = Talk { conversation, requests: Arc::new(requests), log };
        let is_allowed = |it: &Mode| bound.is_none_or(|bound| *it <= bound);
        Ok(Self {
            modes: Mode::ALL.into_iter().filter(is_allowed).collect(),
            id,
            history,
            talk,
            mode,
            provider,
            model,
            models,
            context_size,
        })
    }
}

impl Talk {
    pub(super) async fn next(&mut self) -> Option<Arc<Event>> {
        let event = self.conversation.events.recv().await?;
        self.requests.observe(&event);
        if let Some(log) = &self.log {
            log.record(&event);
        }
        Some(event)
    }

    /// Ends the conversation in order. Returns what still happened.
    pub(super) async fn end(self: Box<Self>) -> Vec<Arc<Event>> {
        let Self { conversation, requests, log } = *self;
        let last = conversation.finish().await;
        if let Some(log) = log {
            for event in &last {
                log.record(event);
            }
            log.close().await;
        }
        requests.background.close().await;
        last
    }
}

/// The slash commands that need no terminal.
pub(super) fn commands(assembly: &Assembly) -> impl Iterator<Item = Item> {
    let all = tui::commands(assembly).into_iter();
    all.filter(|it| !OF_TERMINALS.contains(&it.value.as_str()))
}

/// Says what typed text means.
pub(super) async fn typed(
    requests: &Requests,
    text: &str,
    mode: Mode,
) -> Result<Expansion, Problem> {
    requests.state().mode = mode;
    let answers = match requests.command(text, None).await? {
        Answer::Several(answers) => answers,
        answer => vec![answer],
    };
    let (mut lines, mut inputs) = (Vec::new(), Vec::new());
    for answer in answers {
        match answer {
            Answer::Show(text) | Answer::Tell { text, .. } => lines.push(text),
            Answer::Changes(changes) => {
                lines.push(changes.iter().map(::tui::host::FileChange::text).collect());
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
                return Err(Problem::misuse(text));
            }
            _ => {}
        }
    }
    Ok(Expansion::Show { text: lines.join("\n"), inputs })
}
