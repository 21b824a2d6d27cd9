//! What the interactive interface wants of the program: lists, files, commands, what is kept.
//! Shows nothing itself; `tui` does.

mod clipboard;
mod inquiries;
mod keeps;
mod lists;

use std::cell::{Cell, RefCell};
use std::io;
use std::path::Path;
use std::sync::Arc;

use ::tui::host::{
    Answer, Changed, Confinement, Facts, Health, Host, Inquiry, Leave, Picks, Request,
};
use ::tui::keymap::Action;
use async_trait::async_trait;
use contract::event::{Event, EventKind, Input, Level};
use contract::id::SessionId;
use contract::message::Usage;
use contract::policy::Mode;
use contract::sandbox::Network;
use sessions::snapshots::{SessionSnapshots, UndoRequest};

use super::View;
use super::tee::Tee;
use super::verdict::Verdict;
use crate::assemble::Mind;
use crate::dialects;
use crate::exit::Problem;
use crate::mcp;
use crate::permissions::remembered;
use crate::session_choice::Keeping;
use crate::setup::{Backstage, Reload};
use crate::slash::{self, Control, Expansion};
use crate::undo::{self, Detail};
use crate::world::World;

pub(crate) use inquiries::Inquiries;
pub(crate) use keeps::Keeps;

/// A conversation that is shown, seen from the program.
pub(crate) struct Desk<'a> {
    pub(crate) world: &'a World,
    pub(crate) mind: &'a Arc<Mind>,
    pub(crate) watch: Arc<Reload>,
    pub(crate) backstage: Backstage,
    pub(crate) snapshots: Option<Arc<SessionSnapshots>>,
    pub(crate) id: SessionId,
    pub(crate) keeping: Keeping,
    pub(crate) tee: RefCell<Tee<'a>>,
    pub(crate) usage: RefCell<Usage>,
    pub(crate) mode: Cell<Mode>,
    /// Whether there is anything to go on with.
    pub(crate) has_begun: Cell<bool>,
    /// Whether a turn is going on.
    pub(crate) is_at_work: Cell<bool>,
    /// What servers ask.
    pub(crate) inquiries: &'a Inquiries,
}

/// A view that shows nothing: the interface does.
pub(crate) struct Unseen;

#[async_trait(?Send)]
impl View for Unseen {
    fn event(&mut self, _: &Event) -> io::Result<()> {
        Ok(())
    }

    async fn ask(&mut self, asked: &[Arc<Event>]) -> io::Result<Vec<contract::event::Answer>> {
        Ok(vec![contract::event::Answer::Nobody; asked.len()])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn close(&mut self, _: &Verdict) -> io::Result<()> {
        Ok(())
    }
}

/// The host while nothing is open yet: only what is kept can be had.
pub(crate) struct Lobby<'a> {
    pub(crate) world: &'a World,
}

#[async_trait(?Send)]
impl Host for Lobby<'_> {
    async fn answer(&self, request: Request) -> Answer {
        kept(self.world, request).await.unwrap_or(Answer::Done)
    }

    async fn edit(&self, text: &str) -> Result<String, String> {
        keeps::edit(self.world, text).await.map_err(|problem| problem.message())
    }

    fn witness(&self, _: &Event) {}

    async fn inquiry(&self) -> Inquiry {
        std::future::pending().await
    }
}

/// What can be had whether a conversation is open or not.
async fn kept(world: &World, request: Request) -> Option<Answer> {
    let keeps = Keeps::new(world);
    Some(match request {
        Request::History => Answer::History(keeps.history()),
        Request::Draft => Answer::Draft(keeps.draft()),
        Request::Remember(text) => done(keeps.remember(text).await),
        Request::SaveDraft(text) => done(keeps.save_draft(text).await),
        Request::Copy(text) => {
            clipboard::put(world, text).await;
            Answer::Done
        }
        Request::Keep { theme } => done(keeps.keep_theme(theme).await),
        Request::Themes => {
            let (themes, problems) = lists::themes(world);
            Answer::Themes(themes, problems.into_iter().map(|(_, problem)| problem).collect())
        }
        Request::Files => lists::files(world.place().to_owned()).await,
        Request::Commands => Answer::Commands(lists::commands(world)),
        _ => return None,
    })
}

fn done(result: Result<(), Problem>) -> Answer {
    result.map_or_else(|problem| told(&problem), |()| Answer::Done)
}

/// What reads lines on a terminal: with the keys, history and completions of the interface.
pub(crate) fn line_editor(world: &World) -> ::tui::line::Editor {
    let mut editor = ::tui::line::Editor::new(Keeps::new(world).history());
    let root = world.place().to_owned();
    editor.offer(lists::commands(world), move || lists::walk(&root));
    let known = ["model", "skill", "undo", "redo"];
    let known = known.map(|command| (command, lists::known_arguments(world, command)));
    let (store, here) = (world.store().ok(), world.place().display().to_string());
    editor.offer_arguments(move |command| {
        let sessions = || lists::listed_sessions(store.as_ref()?, &here, None).ok();
        match command {
            "resume" => sessions().unwrap_or_default(),
            command => {
                let found = known.iter().find(|(name, _)| *name == command);
                found.map(|(_, items)| items.clone()).unwrap_or_default()
            }
        }
    });
    editor
}

/// A theme by its name: a built-in one, the user's own, or a plugin's.
pub(crate) fn theme(world: &World, name: &str) -> Option<::tui::theme::Theme> {
    let named = |theme: &::tui::theme::Theme| theme.name == name;
    let built_in = || ::tui::theme::Theme::built_in().into_iter().find(named);
    let others = || lists::themes(world).0.into_iter().find(named);
    lists::own_theme(world, name).or_else(built_in).or_else(others)
}

/// What is wrong with the name of the theme in the configuration, if anything is.
pub(crate) fn missing_theme(world: &World) -> Option<String> {
    let name = &world.config().ui.theme.0;
    if theme(world, name).is_some() {
        return None;
    }
    let broken = lists::themes(world).1.into_iter().find(|(theme, _)| theme == name);
    let missing = || format!("there is no theme `{name}` (ui.theme)");
    Some(broken.map_or_else(missing, |(_, problem)| problem))
}

/// A problem as the interface tells it.
pub(crate) fn told(problem: &Problem) -> Answer {
    Answer::Tell { level: Level::Error, text: problem.message(), hint: problem.hint.clone() }
}

#[async_trait(?Send)]
impl Host for Desk<'_> {
    async fn answer(&self, request: Request) -> Answer {
        let answered = match request {
            Request::Command(line) => self.command(&line).await,
            Request::Models => {
                let models = lists::models(self.world, &self.mind.model).await;
                models.map(|models| Answer::Items(Picks::Models, models))
            }
            Request::Sessions => {
                let sessions = lists::sessions(self.world, &self.id);
                sessions.map(|sessions| Answer::Items(Picks::Sessions, sessions))
            }
            Request::Arguments(command) => {
                let present = self.watch.present().await;
                let world = present.world.as_deref().unwrap_or(self.world);
                Ok(lists::arguments(world, command, (&self.id, &self.mind.model)).await)
            }
            Request::Preview(id) => lists::preview(self.world, &id),
            Request::Plugins => {
                let present = self.watch.present().await;
                Ok(lists::plugins(present.world.as_deref().unwrap_or(self.world)))
            }
            Request::Commands => {
                let present = self.watch.present().await;
                let world = present.world.as_deref().unwrap_or(self.world);
                Ok(Answer::Commands(lists::commands(world)))
            }
            Request::Switch { plugin, on } => lists::switch(self.world, &plugin, on),
            Request::Permissions => {
                let present = self.watch.present().await;
                lists::permissions(self.world, &present.policy.session())
            }
            Request::Forget(rule) => {
                let present = self.watch.present().await;
                let told = remembered::revoke(self.world, Some(present.policy.as_ref()), &rule);
                told.map(Answer::Show)
            }
            Request::Facts => Ok(Answer::Facts(self.facts().await)),
            Request::Reply { id, words } => {
                self.inquiries.reply(id, words);
                Ok(Answer::Done)
            }
            other => return kept(self.world, other).await.unwrap_or(Answer::Done),
        };
        answered.unwrap_or_else(|problem| told(&problem))
    }

    async fn edit(&self, text: &str) -> Result<String, String> {
        keeps::edit(self.world, text).await.map_err(|problem| problem.message())
    }

    fn witness(&self, event: &Event) {
        match &event.kind {
            EventKind::TurnStarted { .. } => {
                self.has_begun.set(true);
                self.is_at_work.set(true);
            }
            EventKind::TurnFinished { usage, .. } => {
                self.usage.borrow_mut().add(usage);
                self.is_at_work.set(event.within.is_some());
            }
            EventKind::Configured { mode, .. } => self.mode.set(*mode),
            _ => {}
        }
        // It shows nothing, so nothing can fail.
        let _ = self.tee.borrow_mut().event(event);
    }

    async fn inquiry(&self) -> Inquiry {
        self.inquiries.next().await
    }
}

impl Desk<'_> {
    /// Does what a line means that begins with `/`.
    async fn command(&self, line: &str) -> Result<Answer, Problem> {
        let as_it_is = || Ok(Answer::send(Input::Prompt(line.to_owned())));
        let Some(slash) = slash::parse(line) else { return as_it_is() };
        if let Some(action) = panel(slash).filter(|_| slash.rest.is_empty()) {
            return Ok(Answer::Start(action));
        }
        let present = self.watch.present().await;
        let world = present.world.as_deref().unwrap_or(self.world);
        let usage = self.usage.borrow().clone();
        let session = (self.keeping == Keeping::Kept).then_some(&self.id);
        let mode = self.mode.get();
        let policy = Some(present.policy.as_ref());
        let facts = || slash::Facts { tools: &present.tools, usage: &usage, session, mode, policy };
        let expansion = match mcp::prompt(world, slash.name, slash.rest).await? {
            Some(text) => Expansion::Prompt { text, skill: None },
            None => slash::expand(world, slash, facts).await?,
        };
        match expansion {
            Expansion::AsIs => as_it_is(),
            Expansion::Prompt { text, skill } => {
                if let Some(skill) = skill {
                    present.grants.activate(&skill.name);
                }
                Ok(Answer::send(Input::Prompt(text)))
            }
            Expansion::Show(text) => Ok(Answer::Show(text)),
            Expansion::Control(control) => self.control(control),
        }
    }

    fn control(&self, control: Control) -> Result<Answer, Problem> {
        Ok(match control {
            Control::Clear => Answer::send(Input::Clear),
            Control::Compact { instructions } => Answer::send(Input::Compact { instructions }),
            Control::Mode(mode) => {
                self.mode.set(mode);
                self.backstage.set_mode(mode);
                let text = format!("Mode {}: {}", mode.as_str(), mode.summary());
                let tell = Answer::Tell { level: Level::Info, text, hint: None };
                Answer::Several(vec![tell, Answer::send(Input::Mode(mode))])
            }
            // Without a name they open a panel.
            Control::Model(None) | Control::Theme(None) => Answer::Done,
            Control::Theme(Some(name)) => match theme(self.world, &name) {
                Some(theme) => Answer::Theme(theme.name),
                None => {
                    return Err(Problem::misuse(format!("there is no theme `{name}`"))
                        .hint("`/theme` lists those that there are"));
                }
            },
            Control::Model(Some(name)) => {
                self.can_go_on("/model")?;
                Answer::Leave(Leave::Model(name))
            }
            Control::Resume(id) => {
                let found = self.world.store()?.resolve(&id).map_err(|error| {
                    Problem::misuse(error.to_string()).hint("`/resume` lists the sessions")
                })?;
                Answer::Leave(Leave::Session(found.to_string()))
            }
            Control::Restore { .. } if self.is_at_work.get() => {
                return Err(Problem::misuse("files are not taken back while the model is at work")
                    .hint("stop it, or wait for the end of the turn"));
            }
            Control::Restore { direction, turns, on_conflict } => {
                let wanted = UndoRequest { turns, on_conflict, is_dry: false };
                let store = self.world.store()?;
                let history = || Ok(store.history(&self.id)?);
                let mut events = Vec::new();
                let keeper = self.keeper()?;
                let report = undo::restore(keeper, history, (direction, wanted), &mut |what| {
                    events.push(what);
                    Ok(())
                })?;
                let mut answers = vec![Answer::Show(undo::told(&report))];
                answers.extend(events.into_iter().map(|what| Answer::send(Input::Record(what))));
                Answer::Several(answers)
            }
            Control::Changes { turns, detail } => Answer::Changes(self.changes(turns, detail)?),
            Control::Export(path) => {
                let path = path.unwrap_or_else(|| format!("{}.md", self.id).into());
                let path = self.world.environment.cwd.join(path);
                let tee = self.tee.borrow();
                let place = (path.as_path(), None);
                crate::commands::session::export_talk(self.world, &self.id, tee.kept(), place)?;
                Answer::Show(format!("Written: {}", path.display()))
            }
            Control::Quit => Answer::Leave(Leave::Quit),
        })
    }

    fn keeper(&self) -> Result<&Arc<SessionSnapshots>, Problem> {
        self.snapshots.as_ref().ok_or_else(|| {
            Problem::misuse("what files held is not kept in this conversation")
                .hint("it is where sessions are kept and `undo.enabled` is true")
        })
    }

    fn changes(&self, turns: Option<u32>, detail: Detail) -> Result<Vec<Changed>, Problem> {
        let history = self.world.store()?.history(&self.id)?;
        let parts = undo::parts(self.keeper()?, undo::last(&history, turns), detail)?;
        let changed = |undo::Part { words, path, unified }| Changed { words, path, unified };
        Ok(parts.into_iter().map(changed).collect())
    }

    /// Refuses to lose a conversation that is not kept.
    fn can_go_on(&self, command: &str) -> Result<(), Problem> {
        if self.has_begun.get() && self.keeping == Keeping::Unsaved {
            let what = format!("`{command}` would lose this conversation, which is not kept");
            return Err(Problem::misuse(what).hint("start again with the model you want"));
        }
        Ok(())
    }

    async fn facts(&self) -> Facts {
        let project = self.world.root().ok().map(Path::to_owned);
        let has_network = self.world.config().sandbox.allow_network;
        let present = self.watch.present().await;
        let foreign = present.tools.iter().filter(|spec| spec.source != "builtin");
        Facts {
            project,
            confinement: if self.world.is_unconfined() {
                Confinement::None
            } else {
                Confinement::Sandboxed(if has_network { Network::Host } else { Network::None })
            },
            context_window: self.mind.known.context_window_of(&self.mind.model),
            parts: self.health(present.world.as_deref().unwrap_or(self.world)),
            sources: foreign.map(|spec| (spec.name.clone(), spec.source.clone())).collect(),
            session: self.id.to_string(),
        }
    }

    fn health(&self, world: &World) -> Health {
        let set = world.plugins();
        let listed = mcp::listing(world).unwrap_or_default();
        let failed = |listed: &dialects::Listed| listed.failure.is_some();
        Health {
            plugins: dialects::active(world),
            servers: listed.iter().filter(|listed| listed.enabled).count(),
            starting: self.backstage.starting(),
            failed: set.failures().count() + listed.iter().filter(|listed| failed(listed)).count(),
        }
    }
}

/// The panel that shows what a command lists elsewhere.
fn panel(slash: slash::Slash<'_>) -> Option<Action> {
    match slash::builtin(slash.name)?.name {
        "model" => Some(Action::Models),
        "theme" => Some(Action::Themes),
        "resume" => Some(Action::Sessions),
        "plugins" => Some(Action::Plugins),
        "permissions" => Some(Action::Permissions),
        _ => None,
    }
}

/// A directory's name for a file, by its path.
fn name_of(path: &Path) -> String {
    blake3::hash(path.as_os_str().as_encoded_bytes()).to_hex()[..16].to_owned()
}
