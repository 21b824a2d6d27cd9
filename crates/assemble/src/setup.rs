//! The parts of a conversation: tools, hooks, policy, system prompt, and the services behind them.

mod reload;
mod swappable;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::approvals::Renewable;
use ::audit::decisions::Audited;
use ::mcp::Servers;
use agent::conversation::{Beginning, Conversation, Share};
use agent::registry::Registry;
use agent::settings::{Execution, Parts, Renewal, Settings};
use args::ChatArgs;
use contract::hook::Hook;
use contract::jobs::Jobs;
use contract::log::Log;
use contract::policy::Approvals;
use contract::prompt_lines::PromptLines;
use contract::provider::Delivery;
use contract::snapshots::Snapshots;
use contract::tool::Tool;
use plugins::claude::AgentFile;
use plugins::commands::SESSION;
use plugins::hooks::{Ledger, Lifecycle};
use python_host::{Host, Missing};
use sessions::snapshots::SessionSnapshots;
use tools::prompt_facts::PromptFacts;
use tools::skill_grants::Grants;
use tools::tool_search::{self, FoundTools};

use crate::answering_model::AnsweringModel;
use crate::assembly::Assembly;
use crate::exit::Problem;
use crate::fallback::fallback;
use crate::hooks::{self, HookAgentInputs, HookAgents, HookInputs};
use crate::knowledge::Knowledge;
use crate::output;
use crate::role::{self, OpenRole, persona};
use crate::run_context::RunContext;
use crate::session_choice::{ChosenSession, SessionStorage};
use crate::{
    answering_model, audit, builtin_tools, confinement, effort, knowledge, mcp, permissions,
    plugin_env, settings, skill_grants, skills, subagents, undo,
};
pub use reload::Reload;
use reload::{CurrentState, WatchedFiles};
use swappable::{ForeignPlugins, Swappable};

/// The parts of a conversation before it is opened.
pub struct Setup {
    pub registry: Registry,
    pub grants: Grants,
    pub role: Option<Arc<OpenRole>>,
    pub background: BackgroundServices,
    settings: Settings,
    hooks: Vec<Arc<dyn Hook>>,
    inputs: SetupInputs,
    /// The files as they were before the parts were created.
    seen: Option<WatchedFiles>,
    renewal: Option<Arc<Reload>>,
}

/// The parts that serve the calls of other agents.
pub struct Offer {
    pub answering: Option<Arc<AnsweringModel>>,
    pub policy: Arc<dyn Approvals>,
    pub registry: Registry,
    pub hooks: Vec<Arc<dyn Hook>>,
    pub background: BackgroundServices,
}

/// The parts of a conversation that run in the background and must be ended.
#[derive(Clone)]
pub struct BackgroundServices {
    lifecycle: Lifecycle,
    host: Option<Host>,
    mcp: Swappable<Servers>,
    foreign: ForeignPlugins,
    role: Swappable<OpenRole>,
    ledger: Arc<Ledger>,
}

impl BackgroundServices {
    /// Ends them within seconds, whatever a plugin does.
    pub async fn close(&self) {
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
        let foreign = self.foreign.all();
        futures::future::join_all(foreign.iter().map(|dialect| dialect.shutdown())).await;
    }

    /// The role that the conversation plays.
    pub fn role(&self) -> Option<Arc<OpenRole>> {
        self.role.present()
    }

    /// The MCP servers of the conversation and of its role.
    pub fn servers(&self) -> Vec<Arc<Servers>> {
        let role = self.role.present();
        let of_role = role.iter().flat_map(|role| role.servers().to_vec());
        of_role.chain(self.mcp.present()).collect()
    }

    /// The number of MCP servers that are starting.
    pub fn starting(&self) -> usize {
        self.mcp.present().map_or(0, |servers| servers.starting().len())
    }

    /// Limits all services to what the mode allows.
    pub fn set_mode(&self, mode: contract::policy::Mode) {
        self.ledger.set_mode(mode);
        if let Some(host) = &self.host {
            host.set_mode(mode);
        }
        for dialect in self.foreign.all() {
            dialect.set_mode(mode);
        }
    }
}

/// The tools and hooks in use. Rebuilt when a file they were loaded from changes.
struct ToolsAndHooks {
    registry: Registry,
    grants: Grants,
    hooks: Vec<Arc<dyn Hook>>,
    lifecycle: Lifecycle,
    system: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Audience {
    /// A model, whose prompt has to stay small.
    Model,
    Person,
    Others,
}

#[derive(Clone)]
struct SetupInputs {
    root: PathBuf,
    answering: Option<Arc<AnsweringModel>>,
    policy: Arc<Renewable>,
    offers_tools: bool,
    audience: Audience,
    ledger: Arc<Ledger>,
    mcp: Swappable<Servers>,
    foreign: ForeignPlugins,
    role: Swappable<OpenRole>,
    agent: Option<Arc<AgentFile>>,
    found: FoundTools,
    facts: PromptFacts,
}

impl SetupInputs {
    fn judge(&self) -> Arc<dyn Approvals> {
        Arc::clone(&self.policy) as Arc<dyn Approvals>
    }

    fn knowledge(&self, assembly: &Assembly) -> Knowledge {
        let is_asked = self.audience == Audience::Model && self.role.present().is_none();
        let rules = is_asked.then(|| knowledge::rules(assembly, &self.root));
        let rules = rules.map(|found| plugins::rules::prompt_block(&found.rules));
        let servers = self.mcp.present().filter(|_| is_asked && self.offers_tools);
        let told = servers.map(|mcp| mcp.instructions()).unwrap_or_default();
        let blocks = rules.into_iter().chain([told]).filter(|block| !block.is_empty());
        let rules = blocks.collect::<Vec<_>>().join("\n\n");
        let skills = skills::find(assembly, &self.root);
        Knowledge { rules, skills, facts: self.facts.clone() }
    }
}

fn in_mode(mode: contract::policy::Mode) -> Arc<Ledger> {
    let ledger = Arc::<Ledger>::default();
    ledger.set_mode(mode);
    ledger
}

impl Setup {
    /// Creates the parts for a model, and calls the load hooks of plugins.
    pub async fn new(
        assembly: &Assembly,
        args: &ChatArgs,
        root: &Path,
        answering: &Arc<AnsweringModel>,
    ) -> Result<Self, Problem> {
        let offers_tools = !args.no_tools && answering.profile.supports_tools;
        let audience = (Audience::Model, offers_tools);
        let mut setup = Self::made(assembly, root, Some(answering), audience, None).await?;
        if args.no_stream {
            setup.settings.request.delivery = Delivery::Whole;
        }
        if args.dry_run {
            setup.settings.execution = Execution::Dry;
        }
        if args.require_finish || assembly.config().behavior.require_finish {
            if setup.registry.get("Finish").is_none() {
                let text = "`--require-finish` needs the Finish tool, which is off";
                return Err(Problem::misuse(text));
            }
            setup.settings.required_finish = Some("Finish".to_owned());
        }
        Ok(setup)
    }

    /// Lifts the round limit of an interactive session, unless one is configured.
    pub fn lift_round_limit(&mut self, run: &RunContext) {
        let is_set = run.is_configured(&["behavior", "max_tool_rounds"]);
        if self.settings.rounds.name == settings::ROUNDS_KEY && !is_set {
            self.settings.rounds.most = u32::MAX;
        }
    }

    pub fn add_hook(&mut self, hook: Arc<dyn Hook>) {
        self.hooks.push(hook);
    }

    /// Creates the parts for one call of a tool by the user.
    pub async fn for_single_call(
        assembly: &Assembly,
        root: &Path,
        tool: &str,
    ) -> Result<Self, Problem> {
        Self::made(assembly, root, None, (Audience::Person, true), Some(tool)).await
    }

    /// Creates the parts for calls of other agents. Only delegating to an agent needs a model, and
    /// no role delegates.
    pub async fn for_others(assembly: &Assembly, root: &Path) -> Result<Self, Problem> {
        let answering = match assembly.role {
            Some(_) => None,
            None => answering_model::answering(assembly).await.ok().map(Arc::new),
        };
        Self::made(assembly, root, answering.as_ref(), (Audience::Others, true), None).await
    }

    async fn made(
        assembly: &Assembly,
        root: &Path,
        answering: Option<&Arc<AnsweringModel>>,
        (audience, offers_tools): (Audience, bool),
        tool: Option<&str>,
    ) -> Result<Self, Problem> {
        let profile = || confinement::command_profile(assembly, root);
        let profile = (!assembly.is_unconfined()).then(profile);
        let inputs = SetupInputs {
            root: root.to_owned(),
            answering: answering.cloned(),
            policy: Arc::new(Renewable::new(permissions::policy(assembly, root)?)),
            offers_tools,
            audience,
            ledger: in_mode(assembly.mode()),
            mcp: Swappable::new(None),
            foreign: ForeignPlugins::default(),
            role: Swappable::new(role::open(assembly, answering).await?),
            agent: assembly.agent.clone(),
            found: FoundTools::default(),
            facts: PromptFacts::new(root, assembly.mode(), profile),
        };
        let role = inputs.role.present();
        if let (Some(role), Some(answering)) = (&role, answering) {
            role.set_model(answering);
        }
        // A file that is added while servers start is a change.
        let seen = mcp::is_used(assembly).then(|| WatchedFiles::of(assembly, &inputs));
        // A role has all tools that other agents are offered.
        let has_servers = offers_tools && !(audience == Audience::Others && role.is_some());
        inputs.mcp.put(servers(assembly, answering, (audience, has_servers), tool).await?);
        inputs.foreign.find(assembly, answering.map(AsRef::as_ref)).await?;
        let tools_and_hooks = ToolsAndHooks::new(assembly, &inputs).await?;
        plugin_env::tell_requested_access(assembly);
        let system = tools_and_hooks.system.clone();
        let mut settings =
            settings::conversation_settings(assembly, root, answering.map(AsRef::as_ref), system);
        if let Some(level) = answering.and_then(|it| effort::chosen_for(assembly, it)) {
            settings.request.reasoning_level = level;
        }
        if let Some(role) = &role {
            role.tighten(&mut settings);
        }
        if let Some(file) = &inputs.agent {
            subagents::tighten(&mut settings, file);
        }
        let background = BackgroundServices {
            lifecycle: tools_and_hooks.lifecycle.clone(),
            host: assembly.known_workers().map(|workers| workers.host().clone()),
            mcp: inputs.mcp.clone(),
            foreign: inputs.foreign.clone(),
            role: inputs.role.clone(),
            ledger: Arc::clone(&inputs.ledger),
        };
        background.lifecycle.start().await;
        Ok(Self {
            registry: tools_and_hooks.registry,
            grants: tools_and_hooks.grants,
            role,
            hooks: tools_and_hooks.hooks,
            settings,
            inputs,
            seen,
            renewal: None,
            background,
        })
    }

    /// Watches for changes between turns. The result has the current state.
    pub fn watch(&mut self, assembly: &Assembly) -> Arc<Reload> {
        let present = CurrentState {
            assembly: None,
            tools: self.registry.specs().to_vec(),
            grants: self.grants.clone(),
            policy: self.inputs.judge(),
        };
        let seen = self.seen.take().unwrap_or_else(|| WatchedFiles::of(assembly, &self.inputs));
        let reload = Arc::new(Reload::new(assembly, self.inputs.clone(), seen, present));
        self.renewal = Some(Arc::clone(&reload));
        reload
    }

    /// The parts for calls that arrive without a conversation.
    pub fn into_offer(self) -> Offer {
        Offer {
            answering: self.inputs.answering.clone(),
            policy: self.inputs.judge(),
            registry: self.registry,
            hooks: self.hooks,
            background: self.background,
        }
    }

    pub fn open(
        self,
        assembly: &Assembly,
        root: &Path,
        answering: Option<&AnsweringModel>,
        Opening { log, beginning, snapshots }: Opening,
    ) -> Result<Conversation, Problem> {
        let parts = Parts {
            provider: answering.map(|answering| Arc::clone(&answering.provider)),
            registry: Arc::new(self.registry),
            hooks: self.hooks,
            policy: self.inputs.judge(),
            confinement: confinement::confinement(assembly, root)?,
            log: match &assembly.loaded.config_dir {
                Some(directory) => Arc::new(Audited::new(log, audit::open(directory), root)),
                None => log,
            },
            keys: answering.map(AnsweringModel::keys).unwrap_or_default(),
            fallback: Some(fallback(assembly, snapshots.clone())?),
            snapshots: snapshots.map(|keeper| keeper as Arc<dyn Snapshots>),
            renewal: self.renewal.map(|reload| reload as Arc<dyn Renewal>),
            lines: Some(Arc::clone(assembly.expansions()) as Arc<dyn PromptLines>),
            jobs: Some(Arc::clone(assembly.jobs()) as Arc<dyn Jobs>),
        };
        Ok(Conversation::open(parts, self.settings, beginning))
    }
}

/// The log and the beginning of a conversation.
pub struct Opening {
    pub log: Arc<dyn Log>,
    pub beginning: Beginning,
    pub snapshots: Option<Arc<SessionSnapshots>>,
}

/// Returns the beginning of a conversation in a session.
pub fn beginning(assembly: &Assembly, root: &Path, chosen: ChosenSession) -> Opening {
    let snapshots = undo::saved_snapshots(assembly, root, &chosen);
    let saved = (chosen.storage == SessionStorage::Saved).then_some(&chosen.id);
    let audited = role::stores::audited(assembly, saved, Arc::clone(&chosen.log));
    let ChosenSession { id, history, notices, .. } = chosen;
    let beginning = Beginning { session: id, history, notices, share: Share::Whole };
    Opening { log: audited, beginning, snapshots }
}

impl ToolsAndHooks {
    async fn new(assembly: &Assembly, inputs: &SetupInputs) -> Result<Self, Problem> {
        let root = &inputs.root;
        let workers = assembly.workers(Missing::Install).await?;
        let sandbox = assembly.sandbox()?;
        let knowledge = Arc::new(inputs.knowledge(assembly));
        let skills = &knowledge.skills;
        let grants = skill_grants::grants(assembly, skills, inputs.judge());
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        let role = inputs.role.present();
        if let Some(role) = &role {
            tools.clone_from(&role.tools);
        } else if inputs.offers_tools {
            let activation =
                (inputs.audience != Audience::Others).then(|| grants.activation(SESSION));
            tools = builtin_tools::enabled(assembly, root, skills.clone(), activation);
            if inputs.answering.is_some() || inputs.audience == Audience::Person {
                let answering = inputs.answering.as_ref();
                tools.extend(subagents::tool(assembly, root, answering, &knowledge));
            }
            tools.extend(workers.tools(assembly));
            tools.extend(inputs.foreign.present().iter().flat_map(|dialect| dialect.tools()));
            let of_servers = |servers: &Arc<Servers>| match inputs.audience {
                Audience::Model => servers.tools(),
                Audience::Person | Audience::Others => servers.tools_with_content(),
            };
            tools.extend(inputs.mcp.present().iter().flat_map(of_servers));
        }
        let (mut is_hidden, mut guard) = (None, None);
        if inputs.audience == Audience::Model {
            let limits = mcp::deferral(assembly);
            (tools, is_hidden) = tool_search::behind_search(tools, limits, &inputs.found);
        }
        let mut own_words = role.as_ref().map(|role| role.system.clone());
        if let Some(file) = &inputs.agent {
            let (answering, offered) = (inputs.answering.as_ref(), (tools, is_hidden));
            let agent = persona::with_agent(assembly, answering, file, offered, &knowledge);
            (tools, is_hidden, guard) = (agent.tools, agent.is_hidden, agent.guard);
            own_words = Some(agent.system);
        }
        if role.is_none() {
            // The order must not depend on which server answers first, for the cache of the provider.
            tools.sort_by(|one, other| one.spec().name.cmp(&other.spec().name));
        }
        let registry = builtin_tools::registry(tools, is_hidden);
        let needs = HookInputs {
            root,
            sandbox,
            answering: inputs.answering.as_deref(),
            ledger: Arc::clone(&inputs.ledger),
            notice: Arc::new(|text| output::warning(&text)),
        };
        let hooks = hooks::load(assembly, &needs);
        output::problems(&hooks.problems);
        let mut asked: Vec<_> = guard.into_iter().chain(hooks.hooks).collect();
        asked.extend(inputs.foreign.present().iter().flat_map(|dialect| dialect.hooks()));
        if inputs.audience != Audience::Others {
            asked.extend(role.iter().flat_map(|role| role.hooks()));
        }
        load_hook_agents(assembly, inputs, &registry, &asked)?;
        let asks = inputs.answering.as_deref().filter(|_| inputs.audience == Audience::Model);
        let system = asks.map(|answering| {
            let usual =
                || settings::system_prompt((assembly, root), answering, &registry, &knowledge);
            let global = &assembly.global;
            let system = global.system_prompt.clone().or(own_words).unwrap_or_else(usual);
            match &global.append_system_prompt {
                Some(text) => format!("{system}\n\n{text}"),
                None => system,
            }
        });
        let (lifecycle, system) = (hooks.lifecycle, system.unwrap_or_default());
        Ok(Self { registry, grants, hooks: asked, lifecycle, system })
    }
}

fn load_hook_agents(
    assembly: &Assembly,
    inputs: &SetupInputs,
    registry: &Registry,
    hooks: &[Arc<dyn Hook>],
) -> Result<(), Problem> {
    let make = || {
        let (answering, links) = (inputs.answering.as_ref(), inputs.mcp.clone());
        let (tools, policy) = (registry.tools().cloned().collect(), inputs.judge());
        let servers = Arc::new(move || links.present()) as _;
        HookAgents::new(assembly, HookAgentInputs { answering, tools, servers, policy, hooks })
    };
    for plugins in inputs.foreign.present().iter().filter(|it| it.needs_services()) {
        plugins.set_services(Arc::new(make()?));
    }
    Ok(())
}

/// Which tools are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolListing {
    /// All tools: nothing of an untrusted project runs.
    List,
    One,
}

/// All known tools, for commands that list them. Starts no server, and a plugin's worker only if
/// nothing is cached.
pub async fn known_tools(assembly: &Assembly, glance: ToolListing) -> Result<Registry, Problem> {
    let role = match glance {
        ToolListing::List => role::look(assembly).await?,
        ToolListing::One => role::open(assembly, None).await?,
    };
    if let Some(role) = role {
        role.shutdown().await;
        return Ok(builtin_tools::registry(role.tools.clone(), None));
    }
    let place = assembly.place();
    let skills = skills::find(assembly, place);
    let mut tools = builtin_tools::enabled(assembly, place, skills.clone(), None);
    let knowledge = Arc::new(Knowledge { skills, ..Knowledge::default() });
    tools.extend(subagents::tool(assembly, place, None, &knowledge));
    if !assembly.global.safe {
        tools.extend(assembly.workers(Missing::Report).await?.tools(assembly));
        tools.extend(plugin_env::open(assembly).await?.iter().flat_map(|dialect| dialect.tools()));
    }
    if mcp::is_used(assembly) {
        tools.extend(mcp::open(assembly)?.tools_with_content());
    }
    Ok(builtin_tools::registry(tools, None))
}

/// The MCP servers, if any are configured. If `tool` is given, nothing else is called.
async fn servers(
    assembly: &Assembly,
    answering: Option<&Arc<AnsweringModel>>,
    (audience, is_wanted): (Audience, bool),
    tool: Option<&str>,
) -> Result<Option<Arc<Servers>>, Problem> {
    if !is_wanted || !mcp::is_used(assembly) {
        return Ok(None);
    }
    let servers = mcp::open(assembly)?;
    if let Some(answering) = answering {
        mcp::set_model(&servers, answering);
    }
    match audience {
        Audience::Model => {
            if let Err(exit) = mcp::start(assembly, &servers).await {
                servers.shutdown().await;
                return Err(Problem::new(exit, "stopped while MCP servers were starting"));
            }
        }
        // The user waits for one, or for all of them.
        Audience::Person | Audience::Others => mcp::fetch(assembly, &servers, tool).await,
    }
    Ok(Some(Arc::new(servers)))
}
