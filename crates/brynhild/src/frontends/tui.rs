//! The host of the interactive interface: lists, files, commands, stored state. Requests run on
//! their own threads, so that none blocks the interface.

mod clipboard;
mod editor;
mod lists;
use std::cell::RefCell;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::tui::host::{
    Answer, Confinement, Facts, FileChange, Health, Host, Inquiry, Leave, Picks, Request,
};
pub(crate) use ::tui::inquiries::Inquiries;
use ::tui::keymap::Action;
pub(crate) use ::tui::requests::RequestOrder;
use ::tui::requests::off_thread;
use ::tui::slash::panel;
use ::tui::store::InterfaceStore;
use async_trait::async_trait;
use contract::event::{Direction, Event, EventKind, Input, Level};
use contract::id::SessionId;
use contract::message::Usage;
use contract::policy::Mode;
use contract::provider::ReasoningLevel;
use contract::sandbox::Network;
use line_ui::tee::BackgroundLog;
use plugins::dialects;
use plugins::open_plugins::Listed;
use server::host::Reachable;
use sessions::earlier::{self, UserMessage};
use sessions::snapshots::{SessionSnapshots, UndoReport, UndoRequest};
use tools::git_branch;

use crate::frontends::export::export_conversation;
use crate::frontends::plugin_switch::{Switch, switch};
use crate::frontends::slash::{self, Control, Expansion, RewindFiles};

use assemble::answering_model::{self, AnsweringModel};
use assemble::assembly::Assembly;
use assemble::exit::Problem;
use assemble::permissions::remembered;
use assemble::run_context::RunContext;
use assemble::session_choice::SessionStorage;
use assemble::setup::{BackgroundServices, Reload};
use assemble::undo::{self, Detail};
use assemble::{effort, mcp, rewind, themes};
pub(crate) use lists::commands;

/// Commands with words that change a session, which its server carries out.
const CHANGES: [&str; 3] = ["model", "effort", "rename"];

pub(crate) struct ConversationHost<'a> {
    pub(crate) requests: Arc<Requests>,
    pub(crate) log: Option<BackgroundLog>,
    pub(crate) unsaved: RefCell<Option<Vec<Event>>>,
    pub(crate) inquiries: &'a Inquiries,
    pub(crate) order: RequestOrder,
}

/// Answers the requests of the interface about a conversation. Blocks.
pub(crate) struct Requests {
    pub(crate) assembly: Arc<Assembly>,
    pub(crate) answering: Arc<AnsweringModel>,
    pub(crate) watch: Arc<Reload>,
    pub(crate) background: BackgroundServices,
    pub(crate) snapshots: Option<Arc<SessionSnapshots>>,
    pub(crate) id: SessionId,
    pub(crate) storage: SessionStorage,
    /// The server of another program that has the session.
    pub(crate) joined: Option<Reachable>,
    pub(crate) state: Mutex<TurnState>,
}

#[derive(Clone, Default)]
pub(crate) struct TurnState {
    pub(crate) usage: Usage,
    pub(crate) mode: Mode,
    /// True if there is anything to continue.
    pub(crate) has_begun: bool,
    pub(crate) is_busy: bool,
}

/// The host while no conversation is open: only stored state is available.
pub(crate) struct StartupHost {
    pub(crate) assembly: Arc<Assembly>,
    pub(crate) order: RequestOrder,
}

#[async_trait(?Send)]
impl Host for StartupHost {
    async fn answer(&self, request: Request) -> Answer {
        let assembly = Arc::clone(&self.assembly);
        let turn = self.order.turn(&request).await;
        off_thread(turn, move || async move { stored(&assembly, request).unwrap_or(Answer::Done) })
            .await
    }

    async fn edit(&self, text: &str) -> Result<String, String> {
        editor::edit(&self.assembly, text).await.map_err(|problem| problem.message())
    }

    fn observe(&self, _: &Arc<Event>) {}

    async fn inquiry(&self) -> Inquiry {
        std::future::pending().await
    }
}

/// The stored state of the interface. A read-only run stores nothing.
pub(crate) fn interface_store(run: &RunContext) -> InterfaceStore {
    let directory = run.writable_config_dir().filter(|_| !run.global.safe);
    InterfaceStore::new(directory.map(|dir| dir.join("interface")), run.place())
}

/// Answers a request that needs no conversation; none for any other.
fn stored(assembly: &Assembly, request: Request) -> Option<Answer> {
    let request = match interface_store(assembly).answer(request) {
        Ok(answer) => return Some(answer),
        Err(other) => other,
    };
    Some(match request {
        Request::Copy(text) => {
            clipboard::put(assembly, &text);
            Answer::Done
        }
        Request::Themes => {
            let (themes, problems) = themes::themes(assembly);
            Answer::Themes(themes, problems.into_iter().map(|(_, problem)| problem).collect())
        }
        Request::Files => lists::files(assembly.place()),
        Request::Commands => Answer::Commands(lists::commands(assembly)),
        _ => return None,
    })
}

/// The line editor of the plain front end, with the history and completions of the interface.
pub(crate) fn line_editor(assembly: &Assembly) -> ::tui::line::Editor {
    let mut editor = ::tui::line::Editor::new(interface_store(assembly).history());
    let root = assembly.place().to_owned();
    let known = ["model", "skill", "undo", "redo"];
    let known = known.map(|command| (command, lists::known_arguments(assembly, command)));
    let (store, here) = (assembly.store().ok(), assembly.place().display().to_string());
    let arguments = move |command: &str| {
        let sessions = || lists::listed_sessions(store.as_ref()?, &here, None).ok();
        match command {
            "resume" => sessions().unwrap_or_default(),
            command => {
                let found = known.iter().find(|(name, _)| *name == command);
                found.map(|(_, items)| items.clone()).unwrap_or_default()
            }
        }
    };
    editor.offer(lists::commands(assembly), arguments, move || lists::walk(&root));
    editor
}

fn noted(what: EventKind) -> Answer {
    Answer::send(Input::Record(what))
}

pub(crate) fn notice_of(problem: &Problem) -> Answer {
    Answer::Tell { level: Level::Error, text: problem.message(), hint: problem.hint.clone() }
}

#[async_trait(?Send)]
impl Host for ConversationHost<'_> {
    async fn answer(&self, request: Request) -> Answer {
        let request = match request {
            Request::Reply { id, text } => {
                self.inquiries.reply(id, text);
                return Answer::Done;
            }
            request => request,
        };
        let requests = Arc::clone(&self.requests);
        // Only a command can export them.
        let is_command = matches!(request, Request::Command(_));
        let unsaved = if is_command { self.unsaved.borrow().clone() } else { None };
        let turn = self.order.turn(&request).await;
        off_thread(turn, move || async move {
            let answered = requests.answer(request, unsaved.as_deref()).await;
            answered.unwrap_or_else(|problem| notice_of(&problem))
        })
        .await
    }

    async fn edit(&self, text: &str) -> Result<String, String> {
        editor::edit(&self.requests.assembly, text).await.map_err(|problem| problem.message())
    }

    fn observe(&self, event: &Arc<Event>) {
        self.requests.observe(event);
        self.record(event);
    }

    async fn inquiry(&self) -> Inquiry {
        self.inquiries.next().await
    }
}

impl ConversationHost<'_> {
    pub(crate) fn record(&self, event: &Arc<Event>) {
        if let Some(log) = &self.log {
            log.record(event);
        }
        if let Some(unsaved) = self.unsaved.borrow_mut().as_mut().filter(|_| event.kind.is_kept()) {
            unsaved.push(event.as_ref().clone());
        }
    }
}

impl Requests {
    pub(crate) fn state(&self) -> MutexGuard<'_, TurnState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn observe(&self, event: &Event) {
        let mut state = self.state();
        match &event.kind {
            EventKind::TurnStarted { .. } => (state.has_begun, state.is_busy) = (true, true),
            EventKind::TurnFinished { usage, .. } => {
                state.usage.add(usage);
                state.is_busy = event.within.is_some();
            }
            EventKind::Configured { mode, .. } => state.mode = *mode,
            _ => {}
        }
    }

    async fn present_assembly(&self) -> Arc<Assembly> {
        self.watch.present().await.assembly.unwrap_or_else(|| Arc::clone(&self.assembly))
    }

    async fn answer(&self, request: Request, unsaved: Option<&[Event]>) -> Result<Answer, Problem> {
        Ok(match request {
            Request::Command(line) => match self.joined_command(&line).await? {
                // The server shows it to everybody.
                Some(_) => Answer::Done,
                None => self.command(&line, unsaved).await?,
            },
            Request::Models => lists::first_models(&self.assembly, &self.answering),
            Request::ModelsOf(provider) => lists::models_of(&self.assembly, &provider).await?,
            Request::Sessions => {
                Answer::Items(Picks::Sessions, lists::sessions(&self.assembly, &self.id)?)
            }
            Request::Messages => {
                let messages = earlier::messages(&self.assembly.store()?, self.saved_id()?)?;
                Answer::messages(messages.into_iter().map(|message| message.text))
            }
            Request::Arguments(command) => {
                let assembly = self.present_assembly().await;
                lists::arguments(&assembly, command, &self.id).await
            }
            Request::Preview(id) => lists::preview(&self.assembly, &id)?,
            Request::Plugins => lists::plugins(self.present_assembly().await.as_ref()),
            Request::Commands => {
                Answer::Commands(lists::commands(self.present_assembly().await.as_ref()))
            }
            Request::Switch { plugin, on } => {
                // Its output is shown like anything that is printed.
                switch(&self.assembly, &plugin, if on { Switch::On } else { Switch::Off })?;
                Answer::Done
            }
            Request::Permissions => {
                let present = self.watch.present().await;
                lists::permissions(&self.assembly, &present.policy.session())?
            }
            Request::Forget(rule) => {
                let present = self.watch.present().await;
                let policy = Some(present.policy.as_ref());
                Answer::Show(remembered::revoke(&self.assembly, policy, &rule)?)
            }
            Request::Facts => {
                let effort = effort::in_use(&self.assembly, &self.answering);
                Answer::Several(vec![Answer::Facts(self.facts().await), Answer::Effort(effort)])
            }
            other => stored(&self.assembly, other).unwrap_or(Answer::Done),
        })
    }

    pub(crate) async fn command(
        &self,
        line: &str,
        unsaved: Option<&[Event]>,
    ) -> Result<Answer, Problem> {
        let as_it_is = || Ok(Answer::send(Input::Prompt { text: line.to_owned() }));
        if let Some(call) = ::tui::user_command::call(line) {
            return Ok(Answer::send(Input::Call(call)));
        }
        let Some(slash) = slash::parse(line) else { return as_it_is() };
        if let Some(shown) = self.joined_command(line).await? {
            return Ok(Answer::Show(shown));
        }
        if let Some(action) = panel(slash).filter(|_| slash.rest.is_empty()) {
            return Ok(Answer::Start(action));
        }
        match self.expanded(slash).await? {
            Expansion::AsIs => as_it_is(),
            Expansion::Prompt { text, .. } => Ok(Answer::send(Input::Prompt { text })),
            Expansion::Show(text) => Ok(Answer::Show(text)),
            Expansion::Control(control) => self.control(control, unsaved),
        }
    }

    /// Says what a command means, and activates the skill that it names.
    pub(crate) async fn expanded(&self, slash: slash::Slash<'_>) -> Result<Expansion, Problem> {
        let present = self.watch.present().await;
        let assembly = present.assembly.as_deref().unwrap_or(&self.assembly);
        if let Some(text) = mcp::prompt(assembly, slash.name, slash.rest).await? {
            return Ok(Expansion::Prompt { text, skill: None });
        }
        let TurnState { usage, mode, .. } = self.state().clone();
        let session = (self.storage == SessionStorage::Saved).then_some(&self.id);
        let policy = Some(present.policy.as_ref());
        let answering = Some(self.answering.as_ref());
        let tools = &present.tools;
        let facts = || slash::Facts { tools, usage: &usage, session, mode, answering, policy };
        let expansion = slash::expand(assembly, slash, facts).await?;
        if let Expansion::Prompt { skill: Some(skill), .. } = &expansion {
            present.grants.activate(&skill.name);
        }
        Ok(expansion)
    }

    /// Has the server of a joined session carry out a command that changes the session. Returns its
    /// text; none for any other command.
    pub(crate) async fn joined_command(&self, line: &str) -> Result<Option<String>, Problem> {
        let (Some(server), Some(slash)) = (&self.joined, slash::parse(line)) else {
            return Ok(None);
        };
        let is_change = CHANGES.iter().any(|name| slash.name.eq_ignore_ascii_case(name));
        let restores = ["undo", "redo"].iter().any(|name| slash.name.eq_ignore_ascii_case(name));
        if !(restores || is_change && !slash.rest.is_empty()) {
            return Ok(None);
        }
        if slash.rest == "next" {
            return Err(Problem::misuse(
                "the server that has this session cannot tell the next effort",
            )
            .hint("`/effort LEVEL` changes it"));
        }
        let shown = server::attach::command(server, &self.id, line).await;
        shown.map(Some).map_err(Problem::misuse)
    }

    /// Carries out a command, as far as that needs no front end. `unsaved` are the events of a
    /// session that is not saved.
    pub(crate) fn control(
        &self,
        control: Control,
        unsaved: Option<&[Event]>,
    ) -> Result<Answer, Problem> {
        Ok(match control {
            Control::Clear => Answer::send(Input::Clear),
            Control::Compact { instructions } => Answer::send(Input::Compact { instructions }),
            Control::Mode(mode) => {
                let text = format!("Mode {}: {}", mode.as_str(), mode.summary());
                let tell = Answer::Tell { level: Level::Info, text, hint: None };
                Answer::Several(vec![tell, self.change_mode(mode)])
            }
            Control::Effort(level) => self.effort(level),
            // Without a name they open a panel.
            Control::Model(None) | Control::Theme(None) => Answer::Done,
            Control::Theme(Some(name)) => match themes::theme(&self.assembly, &name) {
                Some(theme) => Answer::Theme(theme.name),
                None => {
                    return Err(Problem::misuse(format!("there is no theme `{name}`"))
                        .hint("`/theme` lists the themes"));
                }
            },
            Control::Model(Some(name)) => {
                self.can_go_on("/model")?;
                let current = &self.answering.choice.candidate;
                let (provider, model) = answering_model::switched(&self.assembly, current, &name);
                Answer::Leave(Leave::Model { provider, model })
            }
            Control::Resume(id) => {
                let found = self.assembly.store()?.resolve(&id).map_err(|error| {
                    Problem::misuse(error.to_string()).hint("`/resume` lists the sessions")
                })?;
                Answer::Leave(Leave::Session(found.to_string()))
            }
            Control::Restore { .. } | Control::Rewind { .. } | Control::Fork(_)
                if self.state().is_busy =>
            {
                return Err(Problem::misuse("the model is still working")
                    .hint("interrupt it, or wait for the end of the turn"));
            }
            Control::Fresh => Answer::Leave(Leave::Fresh),
            Control::Rewind { message, files } => self.rewind(message, files)?,
            Control::Fork(message) => {
                let (store, id) = (self.assembly.store()?, self.saved_id()?);
                let copy = match message {
                    Some(number) => self.message(number)?.copy_after(&store, id)?,
                    None => earlier::copy(&store, id, None)?,
                };
                Answer::Leave(Leave::Session(copy.to_string()))
            }
            Control::Restore { direction, turns, is_forced } => {
                let wanted = undo::request(turns, is_forced, false);
                let (report, events) = self.restore(direction, wanted)?;
                let mut answers = vec![Answer::Show(report.to_string())];
                answers.extend(events.into_iter().map(noted));
                Answer::Several(answers)
            }
            Control::Copy => Answer::Start(Action::Copy),
            Control::Serve(address) => {
                self.can_be_served()?;
                Answer::Leave(Leave::Serve(address))
            }
            Control::Rename(title) => {
                self.saved_id()?;
                let text = format!("The title is now {title}.");
                let tell = Answer::Tell { level: Level::Info, text, hint: None };
                let record = Answer::send(Input::Record(EventKind::Titled { title }));
                Answer::Several(vec![tell, record])
            }
            Control::Changes { turns, detail } => Answer::Changes(self.changes(turns, detail)?),
            Control::Export(path) => {
                let path = path.unwrap_or_else(|| format!("{}.md", self.id).into());
                let path = self.assembly.environment.cwd.join(path);
                export_conversation(&self.assembly, &self.id, unsaved, (&path, None))?;
                Answer::Show(format!("Written: {}", path.display()))
            }
            Control::Quit => Answer::Leave(Leave::Quit),
        })
    }

    /// Changes the mode. Returns the input for the conversation.
    pub(crate) fn change_mode(&self, mode: Mode) -> Answer {
        self.state().mode = mode;
        self.background.set_mode(mode);
        Answer::send(Input::Mode { mode })
    }

    /// Changes the reasoning effort. The next one is shown in the status line only.
    fn effort(&self, level: Option<ReasoningLevel>) -> Answer {
        let (assembly, answering) = (&self.assembly, &self.answering);
        let is_named = level.is_some();
        let level = level.unwrap_or_else(|| effort::next(assembly, answering));
        let (text, input) = effort::change(assembly, answering, level);
        let tell = Answer::Tell { level: Level::Info, text, hint: None };
        let tell = (is_named || input.is_none()).then_some(tell);
        let shown = Answer::Effort(effort::in_use(assembly, answering));
        Answer::Several(tell.into_iter().chain(input.map(Answer::send)).chain([shown]).collect())
    }

    fn saved_id(&self) -> Result<&SessionId, Problem> {
        rewind::saved((self.storage == SessionStorage::Saved).then_some(&self.id))
    }

    /// Undoes or redoes changes of files. Returns the events to record in the session.
    pub(crate) fn restore(
        &self,
        direction: Direction,
        wanted: UndoRequest,
    ) -> Result<(UndoReport, Vec<EventKind>), Problem> {
        let store = self.assembly.store()?;
        let history = || Ok(store.history(&self.id)?);
        let mut events = Vec::new();
        let report = undo::restore(self.keeper()?, history, (direction, wanted), &mut |what| {
            events.push(what);
            Ok(())
        })?;
        Ok((report, events))
    }

    /// Continues before a message of the user, with its text to edit.
    fn rewind(&self, number: usize, files: RewindFiles) -> Result<Answer, Problem> {
        let message = self.message(number)?;
        let mut answers = Vec::new();
        let mut note = String::from("Rewound");
        if let Some((report, events)) = self.undo_since(&message, files)? {
            answers.extend(events.into_iter().map(noted));
            let (done, kept) = (report.files.len(), report.kept.len());
            note = format!("Rewound · files restored: {done}");
            if kept > 0 {
                note = format!("{note}, not restored (changed since): {kept}");
            }
        }
        let leave = self.copy_before(&message)?;
        answers.push(Answer::Write { text: message.text, note });
        answers.push(Answer::Leave(leave));
        Ok(Answer::Several(answers))
    }

    /// A message of the user, by its number.
    pub(crate) fn message(&self, number: usize) -> Result<UserMessage, Problem> {
        rewind::message(&self.assembly.store()?, self.saved_id()?, number)
    }

    /// Undoes the changes of files since a message, if that is wanted and there are any.
    pub(crate) fn undo_since(
        &self,
        message: &UserMessage,
        files: RewindFiles,
    ) -> Result<Option<(UndoReport, Vec<EventKind>)>, Problem> {
        let turns = match files {
            RewindFiles::Undo => message.turns_since(&self.assembly.store()?.history(&self.id)?),
            RewindFiles::Stay => 0,
        };
        let wanted = undo::request(turns, false, false);
        (turns > 0).then(|| self.restore(Direction::Undo, wanted)).transpose()
    }

    /// Copies the session up to a message, to continue there.
    pub(crate) fn copy_before(&self, message: &UserMessage) -> Result<Leave, Problem> {
        let copy = message.copy_before(&self.assembly.store()?, self.saved_id()?)?;
        Ok(copy.map_or(Leave::Fresh, |copy| Leave::Session(copy.to_string())))
    }

    fn keeper(&self) -> Result<&Arc<SessionSnapshots>, Problem> {
        self.snapshots.as_ref().ok_or_else(|| {
            Problem::misuse("undo is not available in this conversation")
                .hint("it needs a saved session and `undo.enabled: true`")
        })
    }

    fn changes(&self, turns: Option<u32>, detail: Detail) -> Result<Vec<FileChange>, Problem> {
        let history = self.assembly.store()?.history(&self.id)?;
        undo::parts(self.keeper()?, history.last_turns(turns), detail)
    }

    /// Refuses to lose an unsaved conversation.
    fn can_go_on(&self, command: &str) -> Result<(), Problem> {
        if self.state().has_begun && self.storage == SessionStorage::Unsaved {
            let what = format!("`{command}` would discard this conversation, which is not saved");
            return Err(Problem::misuse(what).hint("restart with the model you want"));
        }
        Ok(())
    }

    /// Refuses to share a conversation that a server cannot open.
    fn can_be_served(&self) -> Result<(), Problem> {
        if self.assembly.role.is_some() {
            return Err(Problem::misuse("a session that plays a role cannot be shared")
                .hint("`brynhild run ROLE.yaml --serve` serves a role"));
        }
        match self.storage {
            SessionStorage::Saved => Ok(()),
            SessionStorage::Joined => Err(Problem::misuse("a server has this session already")),
            SessionStorage::Unsaved => Err(Problem::misuse("a server keeps its sessions")
                .hint("restart with `session.auto_save: true`")),
        }
    }

    async fn facts(&self) -> Facts {
        let place = self.assembly.place();
        let present = self.watch.present().await;
        let foreign = present.tools.iter().filter(|spec| spec.source != "builtin");
        Facts {
            project: self.assembly.root().ok().map(Path::to_owned),
            directory: self.assembly.shown_path(place),
            branch: git_branch::branch(place),
            recent: if self.state().has_begun {
                Vec::new()
            } else {
                lists::recent_sessions(&self.assembly, &self.id)
            },
            confinement: confinement(&self.assembly),
            context_window: self.answering.known.context_window_of(&self.answering.model),
            parts: self.health(present.assembly.as_deref().unwrap_or(&self.assembly)),
            sources: foreign.map(|spec| (spec.name.clone(), spec.source.clone())).collect(),
            session: self.id.to_string(),
        }
    }

    fn health(&self, assembly: &Assembly) -> Health {
        let set = assembly.plugins();
        let listed = mcp::listing(assembly).unwrap_or_default();
        let failed = |listed: &Listed| listed.failure.is_some();
        Health {
            plugins: dialects::active(&assembly.plugin_env()),
            servers: listed.iter().filter(|listed| listed.enabled).count(),
            starting: self.background.starting(),
            failed: set.failures().count() + listed.iter().filter(|listed| failed(listed)).count(),
        }
    }
}

/// The sandbox that commands run in.
pub(crate) fn confinement(run: &RunContext) -> Confinement {
    if run.is_unconfined() {
        return Confinement::None;
    }
    let has_network = run.config().sandbox.allow_network;
    Confinement::Sandboxed(if has_network { Network::Host } else { Network::None })
}
