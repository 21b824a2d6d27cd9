//! The program behind `mcp serve`: each call of another agent runs as a conversation of its own.

use std::path::Path;
use std::sync::Arc;

use ::mcp::ClientRegistry;
use ::mcp::frontend::Frontend;
use ::mcp::serve::Backend;
use ::mcp::serve::host::{CallConversation, CommandEntry, Commands, Host, Offer, PromptNames};
use agent::conversation::Conversation;
use agent::registry::Registry;
use agent::session::Listeners;
use agent::settings::{Renewal, Renewed};
use args::Global;
use assemble::assembly::Assembly;
use assemble::environment::Environment;
use assemble::exit::Problem;
use assemble::fallback::fallback;
use assemble::mcp::terminal::Terminal;
use assemble::output;
use assemble::run_context::RunContext;
use assemble::setup::{self, BackgroundServices, Reload, Setup};
use assemble::side_conversation::SideConversation;
use async_trait::async_trait;
use contract::event::{Event, EventKind, Input, Level};
use contract::hook::{Hook, HookContext};
use contract::id::SessionId;
use contract::log::LogError;
use contract::tool::Tool;
use plugins::commands::Command;
use sessions::unsaved::Unsaved;
use tokio::sync::mpsc;

use crate::frontends::slash;

pub(crate) struct ServingHost {
    /// The conversation of a call, without its hooks and session.
    aside: SideConversation,
    global: Global,
    environment: Environment,
    reload: Arc<Reload>,
    background: BackgroundServices,
    terminal: Terminal,
}

impl ServingHost {
    /// Makes all tools available, or those of the role if one was chosen.
    pub(crate) async fn backend(
        assembly: &Assembly,
        root: &Path,
        clients: &Arc<ClientRegistry>,
    ) -> Result<(Backend, BackgroundServices), Problem> {
        let mut setup = Setup::for_others(assembly, root).await?;
        let reload = setup.watch(assembly);
        let setup::Offer { answering, policy, registry, hooks, background } = setup.into_offer();
        let host = Self {
            aside: SideConversation {
                settings: assemble::settings::conversation_settings(
                    assembly,
                    root,
                    answering.as_deref(),
                    String::new(),
                ),
                answering,
                policy,
                hooks: Vec::new(),
                confinement: assemble::confinement::confinement(assembly, root)?,
                session: SessionId::parse("mcp-serve")?,
                fallback: Some(fallback(assembly, None)?),
            },
            global: assembly.global.clone(),
            environment: assembly.environment.clone(),
            reload,
            background: background.clone(),
            terminal: Terminal::new(assembly),
        };
        let offer = host.offer(&registry, hooks, host.texts()?);
        Ok((Backend::new(Arc::new(host), offer, Arc::clone(clients))?, background))
    }

    fn texts(&self) -> Result<Texts, Problem> {
        let assembly =
            Assembly::new(RunContext::again(self.global.clone(), self.environment.clone())?);
        let skills = match self.background.role() {
            Some(_) => Vec::new(),
            None => assemble::skills::find(&assembly, assembly.root()?),
        };
        let skills = skills.into_iter().map(|skill| {
            let references = plugins::skills::references(&skill);
            (skill, references)
        });
        let skills = skills.collect();
        let commands = slash::Offer::new(&assembly);
        commands.report();
        Ok((Arc::new(CommandSet { assembly, commands }), skills))
    }

    fn offer(
        &self,
        registry: &Registry,
        hooks: Vec<Arc<dyn Hook>>,
        (commands, skills): Texts,
    ) -> Offer {
        let has_role = self.background.role().is_some();
        Offer {
            specs: registry.specs(),
            tools: registry.tools().cloned().collect(),
            hooks,
            commands,
            skills,
            servers: self.background.servers(),
            prompt_names: if has_role { PromptNames::Own } else { PromptNames::Command },
        }
    }

    fn listeners(&self, offer: &Offer, session: &SessionId) -> Listeners {
        let cwd = self.aside.settings.cwd.clone();
        Listeners {
            hooks: offer.hooks.clone(),
            context: HookContext { session: session.clone(), cwd, within: None },
            log: Arc::new(Unsaved),
        }
    }
}

type Texts = (Arc<dyn Commands>, Vec<(contract::skill::Skill, Vec<std::path::PathBuf>)>);

fn warn_of(events: Result<Vec<Arc<Event>>, LogError>) {
    let events = events.unwrap_or_else(|error| {
        output::warning(&error.to_string());
        Vec::new()
    });
    for event in events {
        if let EventKind::Notice { level: Level::Warning | Level::Error, text, .. } = &event.kind {
            output::warning(text);
        }
    }
}

#[async_trait]
impl Host for ServingHost {
    async fn renew(&self, before: &Offer) -> Option<Offer> {
        let Renewed { change, notices } = self.reload.renew().await;
        for notice in &notices {
            if let EventKind::Notice { text, .. } = notice {
                output::warning(text);
            }
        }
        let change = change?;
        let texts = self.texts().unwrap_or_else(|problem| {
            output::warning(&format!("changed commands are not used: {}", problem.message()));
            (Arc::clone(&before.commands), before.skills.clone())
        });
        Some(self.offer(&change.registry, change.hooks, texts))
    }

    fn open(
        &self,
        offer: &Offer,
        session: &SessionId,
        tools: Vec<Arc<dyn Tool>>,
    ) -> Box<dyn CallConversation> {
        if let Some(role) = self.background.role() {
            // The limit is for a run, and each call is a run.
            role.allowance.renew();
        }
        let (hooks, session) = (offer.hooks.clone(), session.clone());
        let aside = SideConversation { hooks, session, ..self.aside.clone() };
        Box::new(OpenCall(aside.open(tools, aside.settings.clone())))
    }

    async fn begin_session(&self, offer: &Offer, session: &SessionId) {
        warn_of(self.listeners(offer, session).greet().await);
    }

    async fn end_session(&self, offer: &Offer, session: &SessionId) {
        warn_of(self.listeners(offer, session).part().await);
    }

    fn question(&self, asked: &Event) -> String {
        tui::question::about(asked, None, &|_, text| text.to_owned()).trim().to_owned()
    }

    fn frontend(&self) -> &dyn Frontend {
        &self.terminal
    }
}

struct OpenCall(Conversation);

#[async_trait]
impl CallConversation for OpenCall {
    fn inputs(&self) -> &mpsc::Sender<Input> {
        &self.0.inputs
    }

    async fn next_event(&mut self) -> Option<Arc<Event>> {
        self.0.events.recv().await
    }

    async fn finish(self: Box<Self>) {
        self.0.finish().await;
    }
}

struct CommandSet {
    assembly: Assembly,
    commands: slash::Offer,
}

impl CommandSet {
    fn entry(&self, command: &Command) -> CommandEntry {
        CommandEntry {
            name: self.commands.table.shortest(command),
            description: command.description.clone(),
            usage: command.args.clone(),
        }
    }
}

impl Commands for CommandSet {
    fn list(&self) -> Vec<CommandEntry> {
        self.commands.table.commands().iter().map(|command| self.entry(command)).collect()
    }

    fn find(&self, name: &str) -> Option<CommandEntry> {
        self.commands.table.find(name).map(|command| self.entry(command))
    }

    fn render(&self, name: &str, arguments: &str) -> Option<String> {
        self.commands.rendered(&self.assembly, name, arguments)
    }
}
