//! Everything a conversation is made of: tools, hooks, policy, system prompt, and what runs behind
//! them until it ends.

mod fingerprint;
mod reload;
mod renewable;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ::mcp::Servers;
use agent::conversation::{Beginning, Conversation, Share};
use agent::registry::Registry;
use agent::settings::{Execution, Parts, Renewal, Settings};
use contract::hook::Hook;
use contract::jobs::Jobs;
use contract::log::Log;
use contract::policy::Approvals;
use contract::prompt_lines::PromptLines;
use contract::provider::Delivery;
use contract::snapshots::Snapshots;
use contract::tool::Tool;
use plugins::claude::AgentFile;
use plugins::hooks::{Ledger, Lifecycle};
use python_host::{Host, Missing};
use sessions::snapshots::SessionSnapshots;
use tools::tool_search::{self, FoundTools};

use crate::args::ChatArgs;
use crate::assemble::assembly::Assembly;
use crate::assemble::audit;
use crate::assemble::dialects::{self, Dialect};
use crate::assemble::fallback::fallback;
use crate::assemble::hooks::{self, HookAgentDeps, HookAgents, Needs};
use crate::assemble::mcp;
use crate::assemble::permissions;
use crate::assemble::plugin_set::wishes;
use crate::assemble::prompt_facts::PromptFacts;
use crate::assemble::role::{self, Opened, persona};
use crate::assemble::run_context::RunContext;
use crate::assemble::session_choice::Chosen;
use crate::assemble::skill_grants::Grants;
use crate::assemble::subagents;
use crate::assemble::undo;
use crate::assemble::{self, Knowledge, Mind};
use crate::exit::Problem;
use crate::output;
pub(crate) use reload::Reload;
use reload::{Present, Seen};
use renewable::Renewable;

/// The parts of a conversation before it is opened.
pub(crate) struct Setup {
    /// The tools.
    pub(crate) registry: Registry,
    /// What active skills let run.
    pub(crate) grants: Grants,
    /// The role that is played.
    pub(crate) role: Option<Arc<Opened>>,
    /// What must be ended after the conversation.
    pub(crate) backstage: Backstage,
    settings: Settings,
    hooks: Vec<Arc<dyn Hook>>,
    needed: Needed,
    /// What everything was made from, where that was looked at before it was made.
    seen: Option<Seen>,
    renewal: Option<Arc<Reload>>,
}

/// What calls of other agents go through.
pub(crate) struct Offer {
    /// Who answers where work is handed to an agent.
    pub(crate) mind: Option<Arc<Mind>>,
    /// Judges calls, whatever rules it goes by at the moment.
    pub(crate) policy: Arc<dyn Approvals>,
    /// The tools, until something changes.
    pub(crate) registry: Registry,
    /// The hooks, until something changes.
    pub(crate) hooks: Vec<Arc<dyn Hook>>,
    /// What must be ended afterwards.
    pub(crate) backstage: Backstage,
}

/// What runs behind a conversation.
#[derive(Clone)]
pub(crate) struct Backstage {
    lifecycle: Lifecycle,
    host: Option<Host>,
    mcp: Slot<Servers>,
    guests: Guests,
    role: Slot<Opened>,
    ledger: Arc<Ledger>,
}

impl Backstage {
    /// Ends it. Takes seconds at most, whatever a plugin does.
    pub(crate) async fn close(&self) {
        self.lifecycle.shutdown().await;
        if let Some(host) = &self.host {
            host.shutdown().await;
        }
        if let Some(mcp) = self.mcp.present() {
            mcp.shutdown().await;
        }
        if let Some(role) = self.role.present() {
            role.shutdown().await;
        }
        let guests = self.guests.all();
        futures::future::join_all(guests.iter().map(|dialect| dialect.shutdown())).await;
    }

    /// The role that is played.
    pub(crate) fn role(&self) -> Option<Arc<Opened>> {
        self.role.present()
    }

    /// The servers of the conversation, and those of its role.
    pub(crate) fn servers(&self) -> Vec<Arc<Servers>> {
        let role = self.role.present();
        let of_role = role.iter().flat_map(|role| role.servers().to_vec());
        of_role.chain(self.mcp.present()).collect()
    }

    /// How many MCP servers are being started.
    pub(crate) fn starting(&self) -> usize {
        self.mcp.present().map_or(0, |servers| servers.starting().len())
    }

    /// Has everything that runs do no more than the mode lets it.
    pub(crate) fn set_mode(&self, mode: contract::policy::Mode) {
        self.ledger.set_mode(mode);
        if let Some(host) = &self.host {
            host.set_mode(mode);
        }
        for dialect in self.guests.all() {
            dialect.set_mode(mode);
        }
    }
}

/// Tools and hooks of one moment; they are made anew when a file behind them changes.
struct Outfit {
    registry: Registry,
    grants: Grants,
    hooks: Vec<Arc<dyn Hook>>,
    lifecycle: Lifecycle,
    system: String,
}

/// Who calls the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Audience {
    /// A model, whose prompt has to stay small.
    Model,
    /// A user who names one.
    Person,
    /// Other agents, which are no part of the conversation.
    Others,
}

/// What an outfit is made from.
#[derive(Clone)]
struct Needed {
    root: PathBuf,
    mind: Option<Arc<Mind>>,
    policy: Arc<Renewable>,
    offers_tools: bool,
    audience: Audience,
    ledger: Arc<Ledger>,
    mcp: Slot<Servers>,
    guests: Guests,
    role: Slot<Opened>,
    /// The agent that answers, where a file describes it.
    agent: Option<Arc<AgentFile>>,
    /// What the model has searched for and found.
    found: FoundTools,
    /// Facts about sandbox and machine, as they were at the start.
    facts: PromptFacts,
}

impl Needed {
    /// The policy, whatever rules it goes by at the moment.
    fn judge(&self) -> Arc<dyn Approvals> {
        Arc::clone(&self.policy) as Arc<dyn Approvals>
    }

    /// What the model is told beside its task; a role brings what it needs of that itself.
    fn knowledge(&self, assembly: &Assembly) -> Knowledge {
        let is_asked = self.audience == Audience::Model && self.role.present().is_none();
        let rules = is_asked.then(|| assemble::rules(assembly, &self.root));
        let rules = rules.map(|found| plugins::rules::prompt_block(&found.rules));
        let servers = self.mcp.present().filter(|_| is_asked && self.offers_tools);
        let told = servers.map(|mcp| mcp.instructions()).unwrap_or_default();
        let blocks = rules.into_iter().chain([told]).filter(|block| !block.is_empty());
        let rules = blocks.collect::<Vec<_>>().join("\n\n");
        let skills = assemble::skills(assembly, &self.root);
        Knowledge { rules, skills, facts: self.facts.clone() }
    }
}

/// The servers or the role of a conversation, where there are any; others may take their place
/// between turns.
struct Slot<T>(Arc<Mutex<Option<Arc<T>>>>);

impl<T> Slot<T> {
    fn new(first: Option<Arc<T>>) -> Self {
        Self(Arc::new(Mutex::new(first)))
    }

    fn present(&self) -> Option<Arc<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn put(&self, next: Option<Arc<T>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = next;
    }
}

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// The plugins of other systems, as they were found: at the start, and after each change.
#[derive(Clone, Default)]
struct Guests(Arc<Mutex<Vec<Company>>>);

/// The plugins of other systems at one time.
type Company = Vec<Arc<dyn Dialect>>;

impl Guests {
    /// Finds them.
    async fn find(&self, assembly: &Assembly, mind: Option<&Mind>) -> Result<(), Problem> {
        let found = dialects::open(assembly).await?;
        let guards: Vec<_> = found.iter().flat_map(|it| it.project_guards()).collect();
        if let Err(problem) = assembly.trust.note_guards(&guards) {
            output::warning(&problem);
        }
        if let Some(mind) = mind {
            for dialect in &found {
                dialect.set_mind(mind);
            }
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(found);
        Ok(())
    }

    /// Those that count.
    fn present(&self) -> Company {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        found.last().cloned().unwrap_or_default()
    }

    /// All that were ever found; something of them may still run.
    fn all(&self) -> Company {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).concat()
    }
}

/// What hooks remember of a conversation that begins in a mode.
fn in_mode(mode: contract::policy::Mode) -> Arc<Ledger> {
    let ledger = Arc::<Ledger>::default();
    ledger.set_mode(mode);
    ledger
}

impl Setup {
    /// Makes the parts for a mind, and has plugins that want to know it hear that they are loaded.
    pub(crate) async fn new(
        assembly: &Assembly,
        args: &ChatArgs,
        root: &Path,
        mind: &Arc<Mind>,
    ) -> Result<Self, Problem> {
        let offers_tools = !args.no_tools && mind.profile.supports_tools;
        let mut setup =
            Self::made(assembly, root, Some(mind), (Audience::Model, offers_tools), None).await?;
        if args.no_stream {
            setup.settings.request.delivery = Delivery::Whole;
        }
        if args.dry_run {
            setup.settings.execution = Execution::Dry;
        }
        if args.require_finish || assembly.config().behavior.require_finish {
            if setup.registry.get("Finish").is_none() {
                return Err(Problem::misuse(
                    "`--require-finish` needs the Finish tool, which is off",
                ));
            }
            setup.settings.required_finish = Some("Finish".to_owned());
        }
        Ok(setup)
    }

    /// Lifts the limit of rounds of an interactive session, if nobody set one.
    pub(crate) fn lift_round_limit(&mut self, run: &RunContext) {
        assemble::lift_round_limit(run, &mut self.settings);
    }

    /// Makes the parts for running one tool, without a model.
    pub(crate) async fn for_single_call(
        assembly: &Assembly,
        root: &Path,
        tool: &str,
    ) -> Result<Self, Problem> {
        Self::made(assembly, root, None, (Audience::Person, true), Some(tool)).await
    }

    /// Makes the parts for calls of other agents. Tools need no model; only work that is handed to an
    /// agent does, which no role does.
    pub(crate) async fn for_others(assembly: &Assembly, root: &Path) -> Result<Self, Problem> {
        let has_role = assembly.role.is_some();
        let mind = if has_role { None } else { assemble::mind(assembly).await.ok().map(Arc::new) };
        Self::made(assembly, root, mind.as_ref(), (Audience::Others, true), None).await
    }

    async fn made(
        assembly: &Assembly,
        root: &Path,
        mind: Option<&Arc<Mind>>,
        (audience, offers_tools): (Audience, bool),
        tool: Option<&str>,
    ) -> Result<Self, Problem> {
        let needed = Needed {
            root: root.to_owned(),
            mind: mind.cloned(),
            policy: Arc::new(Renewable::new(permissions::policy(assembly, root)?)),
            offers_tools,
            audience,
            ledger: in_mode(assembly.mode()),
            mcp: Slot::new(None),
            guests: Guests::default(),
            role: Slot::new(role::open(assembly, mind).await?),
            agent: assembly.agent.clone(),
            found: FoundTools::default(),
            facts: PromptFacts::of(assembly, root),
        };
        let role = needed.role.present();
        if let (Some(role), Some(mind)) = (&role, mind) {
            role.set_mind(mind);
        }
        // What is added while servers are waited for is a change.
        let seen = mcp::is_used(assembly).then(|| Seen::of(assembly, &needed));
        // A role brings all that other agents are offered.
        let has_servers = offers_tools && !(audience == Audience::Others && role.is_some());
        needed.mcp.put(servers(assembly, mind, (audience, has_servers), tool).await?);
        needed.guests.find(assembly, mind.map(AsRef::as_ref)).await?;
        let outfit = Outfit::new(assembly, &needed).await?;
        wishes::tell(assembly);
        let mut settings =
            assemble::settings(assembly, root, mind.map(AsRef::as_ref), outfit.system.clone());
        if let Some(role) = &role {
            role.tighten(&mut settings);
        }
        if let Some(file) = &needed.agent {
            subagents::tighten(&mut settings, file);
        }
        let backstage = Backstage {
            lifecycle: outfit.lifecycle.clone(),
            host: assembly.known_workers().map(|workers| workers.host().clone()),
            mcp: needed.mcp.clone(),
            guests: needed.guests.clone(),
            role: needed.role.clone(),
            ledger: Arc::clone(&needed.ledger),
        };
        backstage.lifecycle.start().await;
        Ok(Self {
            registry: outfit.registry,
            grants: outfit.grants,
            role,
            hooks: outfit.hooks,
            settings,
            needed,
            seen,
            renewal: None,
            backstage,
        })
    }

    /// Has the conversation notice changes between its turns. What this returns tells how things
    /// stand meanwhile.
    pub(crate) fn watch(&mut self, assembly: &Assembly) -> Arc<Reload> {
        let present = Present {
            assembly: None,
            tools: self.registry.specs().to_vec(),
            grants: self.grants.clone(),
            policy: self.needed.judge(),
        };
        let seen = self.seen.take().unwrap_or_else(|| Seen::of(assembly, &self.needed));
        let reload = Arc::new(Reload::new(assembly, self.needed.clone(), seen, present));
        self.renewal = Some(Arc::clone(&reload));
        reload
    }

    /// What calls of other agents go through, at the beginning.
    pub(crate) fn into_offer(self) -> Offer {
        let Needed { mind, .. } = &self.needed;
        Offer {
            mind: mind.clone(),
            policy: self.needed.judge(),
            registry: self.registry,
            hooks: self.hooks,
            backstage: self.backstage,
        }
    }

    /// Opens a conversation.
    pub(crate) fn open(
        self,
        assembly: &Assembly,
        root: &Path,
        mind: Option<&Mind>,
        Opening { log, beginning, snapshots }: Opening,
    ) -> Result<Conversation, Problem> {
        let parts = Parts {
            provider: mind.map(|mind| Arc::clone(&mind.provider)),
            registry: Arc::new(self.registry),
            hooks: self.hooks,
            policy: self.needed.judge(),
            confinement: assemble::confinement(assembly, root)?,
            log: audit::watched(assembly, root, log),
            keys: mind.map(Mind::keys).unwrap_or_default(),
            fallback: Some(fallback(assembly, snapshots.clone())?),
            snapshots: snapshots.map(|keeper| keeper as Arc<dyn Snapshots>),
            renewal: self.renewal.map(|reload| reload as Arc<dyn Renewal>),
            lines: Some(Arc::clone(assembly.expansions()) as Arc<dyn PromptLines>),
            jobs: Some(Arc::clone(assembly.jobs()) as Arc<dyn Jobs>),
        };
        Ok(Conversation::open(parts, self.settings, beginning))
    }
}

/// The log of a conversation, its history so far, and the snapshots for undo.
pub(crate) struct Opening {
    pub(crate) log: Arc<dyn Log>,
    pub(crate) beginning: Beginning,
    pub(crate) snapshots: Option<Arc<SessionSnapshots>>,
}

/// The log and the beginning of the session that was chosen.
pub(crate) fn beginning(assembly: &Assembly, root: &Path, chosen: Chosen) -> Opening {
    let snapshots = undo::keeping(assembly, root, &chosen);
    let Chosen { id, history, notices, log, .. } = chosen;
    let beginning = Beginning { session: id, history, notices, share: Share::Whole };
    Opening { log, beginning, snapshots }
}

impl Outfit {
    async fn new(assembly: &Assembly, needed: &Needed) -> Result<Self, Problem> {
        let root = &needed.root;
        let workers = assembly.workers(Missing::Install).await?;
        let sandbox = assemble::sandbox(assembly)?;
        let knowledge = Arc::new(needed.knowledge(assembly));
        let skills = &knowledge.skills;
        let grants = Grants::new(assembly, skills, needed.judge());
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        let role = needed.role.present();
        if let Some(role) = &role {
            tools.clone_from(&role.tools);
        } else if needed.offers_tools {
            let activation = (needed.audience != Audience::Others).then(|| grants.activation());
            tools = assemble::tools(assembly, root, skills.clone(), activation);
            if needed.mind.is_some() || needed.audience == Audience::Person {
                tools.extend(subagents::tool(assembly, root, needed.mind.as_ref(), &knowledge));
            }
            tools.extend(workers.tools(assembly));
            tools.extend(needed.guests.present().iter().flat_map(|dialect| dialect.tools()));
            let of_servers = |servers: &Arc<Servers>| match needed.audience {
                Audience::Model => servers.tools(),
                Audience::Person | Audience::Others => servers.tools_with_content(),
            };
            tools.extend(needed.mcp.present().iter().flat_map(of_servers));
        }
        let (mut is_hidden, mut guard) = (None, None);
        if needed.audience == Audience::Model {
            let limits = mcp::deferral(assembly);
            (tools, is_hidden) = tool_search::behind_search(tools, limits, &needed.found);
        }
        let mut own_words = role.as_ref().map(|role| role.system.clone());
        if let Some(file) = &needed.agent {
            let dressed = persona::dressed(
                assembly,
                needed.mind.as_ref(),
                file,
                (tools, is_hidden),
                &knowledge,
            );
            (tools, is_hidden, guard) = (dressed.tools, dressed.is_hidden, dressed.guard);
            own_words = Some(dressed.system);
        }
        let registry = assemble::registry(tools, is_hidden);
        let hooks = hooks::load(
            assembly,
            &Needs {
                root,
                sandbox,
                mind: needed.mind.as_deref(),
                ledger: Arc::clone(&needed.ledger),
                notice: Arc::new(|text| output::warning(&text)),
            },
        );
        hooks::report(&hooks.problems);
        let mut asked: Vec<_> = guard.into_iter().chain(hooks.hooks).collect();
        asked.extend(needed.guests.present().iter().flat_map(|dialect| dialect.hooks()));
        if needed.audience != Audience::Others {
            asked.extend(role.iter().flat_map(|role| role.hooks()));
        }
        load_hook_agents(assembly, needed, &registry, &asked)?;
        let system =
            needed.mind.as_deref().filter(|_| needed.audience == Audience::Model).map(|mind| {
                own_words.unwrap_or_else(|| {
                    assemble::system((assembly, root), mind, &registry, &knowledge)
                })
            });
        Ok(Self {
            registry,
            grants,
            hooks: asked,
            lifecycle: hooks.lifecycle,
            system: system.unwrap_or_default(),
        })
    }
}

/// Loads the agents that hooks need.
fn load_hook_agents(
    assembly: &Assembly,
    needed: &Needed,
    registry: &Registry,
    hooks: &[Arc<dyn Hook>],
) -> Result<(), Problem> {
    let make = || {
        let links = needed.mcp.clone();
        let deps = HookAgentDeps {
            mind: needed.mind.as_ref(),
            tools: registry.tools().cloned().collect(),
            servers: Arc::new(move || links.present()),
            policy: needed.judge(),
            hooks,
        };
        HookAgents::new(assembly, deps)
    };
    needed.guests.present().iter().try_for_each(|dialect| dialect.load_hook_agents(&make))
}

/// What a look at tools is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Glance {
    /// All of them: nothing runs that the project brings and the user has not trusted.
    List,
    /// One that the user names, of a role that they name.
    One,
}

/// All tools as far as they are known, for commands that look at them. Starts a plugin's worker
/// only where nothing is known of it, and no server.
pub(crate) async fn known_tools(assembly: &Assembly, glance: Glance) -> Result<Registry, Problem> {
    let role = match glance {
        Glance::List => role::look(assembly).await?,
        Glance::One => role::open(assembly, None).await?,
    };
    if let Some(role) = role {
        role.shutdown().await;
        return Ok(assemble::registry(role.tools.clone(), None));
    }
    let place = assembly.place();
    let skills = assemble::skills(assembly, place);
    let mut tools = assemble::tools(assembly, place, skills.clone(), None);
    let knowledge = Arc::new(Knowledge { skills, ..Knowledge::default() });
    tools.extend(subagents::tool(assembly, place, None, &knowledge));
    if !assembly.global.safe {
        tools.extend(assembly.workers(Missing::Report).await?.tools(assembly));
        tools.extend(dialects::open(assembly).await?.iter().flat_map(|dialect| dialect.tools()));
    }
    if mcp::is_used(assembly) {
        tools.extend(mcp::open(assembly)?.tools_with_content());
    }
    Ok(assemble::registry(tools, None))
}

/// The MCP servers, where any are described. Of `tool` it is known that nothing else is called.
async fn servers(
    assembly: &Assembly,
    mind: Option<&Arc<Mind>>,
    (audience, is_wanted): (Audience, bool),
    tool: Option<&str>,
) -> Result<Option<Arc<Servers>>, Problem> {
    if !is_wanted || !mcp::is_used(assembly) {
        return Ok(None);
    }
    let servers = mcp::open(assembly)?;
    if let Some(mind) = mind {
        mcp::set_model(&servers, mind);
    }
    match audience {
        Audience::Model => {
            if let Err(exit) = mcp::start(assembly, &servers).await {
                servers.shutdown().await;
                return Err(Problem::new(exit, "stopped while MCP servers were starting"));
            }
        }
        // Somebody waits for the one, or for all of them.
        Audience::Person | Audience::Others => mcp::fetch(assembly, &servers, tool).await,
    }
    Ok(Some(Arc::new(servers)))
}
