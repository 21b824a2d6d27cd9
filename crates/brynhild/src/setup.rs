//! Everything a conversation is made of: tools, hooks, policy, system prompt, and what runs behind
//! them until it ends.

mod fingerprint;
mod reload;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use agent::conversation::{Beginning, Conversation};
use agent::registry::Registry;
use agent::settings::{Execution, Parts, Renewal, Settings};
use contract::hook::Hook;
use contract::log::Log;
use contract::policy::Policy;
use contract::provider::Delivery;
use contract::tool::Tool;
use plugins::hooks::{Ledger, Lifecycle};
use plugins::python::{Hosts, Missing};

use crate::args::ChatArgs;
use crate::assemble::{self, Mind};
use crate::dialects::{self, Dialect};
use crate::exit::Problem;
use crate::hooks::{self, Needs};
use crate::mcp::{self, Mcp};
use crate::output;
use crate::permissions;
use crate::plugin_set::wishes;
use crate::role::{self, Opened};
use crate::session_choice::Chosen;
use crate::skill_grants::Grants;
use crate::world::World;
use reload::Present;
pub(crate) use reload::Reload;

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
    renewal: Option<Arc<Reload>>,
}

/// What runs behind a conversation.
#[derive(Clone)]
pub(crate) struct Backstage {
    lifecycle: Lifecycle,
    hosts: Option<Hosts>,
    mcp: Option<Arc<Mcp>>,
    guests: Guests,
    ledger: Arc<Ledger>,
}

impl Backstage {
    /// Ends it. Takes seconds at most, whatever a plugin does.
    pub(crate) async fn close(&self) {
        self.lifecycle.shutdown().await;
        if let Some(hosts) = &self.hosts {
            hosts.shutdown().await;
        }
        if let Some(mcp) = &self.mcp {
            mcp.shutdown().await;
        }
        let guests = self.guests.all();
        futures::future::join_all(guests.iter().map(|dialect| dialect.shutdown())).await;
    }

    /// Has everything that runs do no more than the mode lets it.
    pub(crate) fn set_mode(&self, mode: contract::policy::Mode) {
        self.ledger.set_mode(mode);
        if let Some(hosts) = &self.hosts {
            hosts.set_mode(mode);
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

/// What an outfit is made from.
#[derive(Clone)]
struct Needed {
    root: PathBuf,
    mind: Option<Arc<Mind>>,
    policy: Arc<dyn Policy>,
    offers_tools: bool,
    ledger: Arc<Ledger>,
    mcp: Option<Arc<Mcp>>,
    guests: Guests,
    role: Option<Arc<Opened>>,
}

/// The plugins of other systems, as they were found: at the start, and after each change.
#[derive(Clone, Default)]
struct Guests(Arc<Mutex<Vec<Company>>>);

/// The plugins of other systems at one time.
type Company = Vec<Arc<dyn Dialect>>;

impl Guests {
    /// Finds them.
    async fn find(&self, world: &World) -> Result<(), Problem> {
        let found = dialects::open(world).await?;
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

impl Setup {
    /// Makes the parts for a mind, and has plugins that want to know it hear that they are loaded.
    pub(crate) async fn new(
        world: &World,
        args: &ChatArgs,
        root: &Path,
        mind: &Arc<Mind>,
    ) -> Result<Self, Problem> {
        let offers_tools = !args.no_tools && mind.profile.supports_tools;
        let mut setup = Self::made(world, root, Some(mind), offers_tools).await?;
        if args.no_stream {
            setup.settings.request.delivery = Delivery::Whole;
        }
        if args.dry_run {
            setup.settings.execution = Execution::Dry;
        }
        if args.require_finish || world.config().behavior.require_finish {
            if setup.registry.get("Finish").is_none() {
                return Err(Problem::misuse(
                    "`--require-finish` needs the Finish tool, which is off",
                ));
            }
            setup.settings.required_finish = Some("Finish".to_owned());
        }
        Ok(setup)
    }

    /// Makes the parts for running single tools, without a model.
    pub(crate) async fn for_single_calls(world: &World, root: &Path) -> Result<Self, Problem> {
        Self::made(world, root, None, true).await
    }

    async fn made(
        world: &World,
        root: &Path,
        mind: Option<&Arc<Mind>>,
        offers_tools: bool,
    ) -> Result<Self, Problem> {
        let needed = Needed {
            root: root.to_owned(),
            mind: mind.cloned(),
            policy: permissions::policy(world, root)?,
            offers_tools,
            ledger: Arc::default(),
            mcp: servers(world, mind, offers_tools).await?,
            guests: Guests::default(),
            role: role::open(world),
        };
        needed.guests.find(world).await?;
        let outfit = Outfit::new(world, &needed).await?;
        wishes::tell(world);
        let mut settings =
            assemble::settings(world, root, mind.map(AsRef::as_ref), outfit.system.clone());
        if let Some(role) = &needed.role {
            role.tighten(&mut settings);
        }
        let role = needed.role.clone();
        let backstage = Backstage {
            lifecycle: outfit.lifecycle.clone(),
            hosts: world.known_workers().map(|workers| workers.hosts().clone()),
            mcp: needed.mcp.clone(),
            guests: needed.guests.clone(),
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
            renewal: None,
            backstage,
        })
    }

    /// Has the conversation notice changes between its turns. What this returns tells how things
    /// stand meanwhile.
    pub(crate) fn watch(&mut self, world: &World) -> Arc<Reload> {
        let present = Present {
            world: None,
            tools: self.registry.specs().to_vec(),
            grants: self.grants.clone(),
        };
        let reload = Arc::new(Reload::new(world, self.needed.clone(), present));
        self.renewal = Some(Arc::clone(&reload));
        reload
    }

    /// Opens a conversation.
    pub(crate) fn open(
        self,
        world: &World,
        root: &Path,
        mind: Option<&Mind>,
        (log, beginning): (Arc<dyn Log>, Beginning),
    ) -> Result<Conversation, Problem> {
        let parts = Parts {
            provider: mind.map(|mind| Arc::clone(&mind.provider)),
            registry: self.registry,
            hooks: self.hooks,
            policy: self.needed.policy,
            confinement: assemble::confinement(world, root)?,
            log,
            renewal: self.renewal.map(|reload| reload as Arc<dyn Renewal>),
        };
        Ok(Conversation::open(parts, self.settings, beginning))
    }
}

/// The log and the beginning of the session that was chosen.
pub(crate) fn beginning(chosen: Chosen) -> (Arc<dyn Log>, Beginning) {
    let Chosen { id, history, notices, log, .. } = chosen;
    (log as Arc<dyn Log>, Beginning { session: id, history, notices })
}

impl Outfit {
    async fn new(world: &World, needed: &Needed) -> Result<Self, Problem> {
        let root = &needed.root;
        let workers = world.workers(Missing::Install).await?;
        let skills = assemble::skills(world, root);
        let grants = Grants::new(world, &skills, Arc::clone(&needed.policy));
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        if let Some(role) = &needed.role {
            tools.clone_from(&role.tools);
        } else if needed.offers_tools {
            tools = grants.watch(assemble::tools(world, root, skills.clone()));
            tools.extend(workers.tools(world));
            tools.extend(needed.guests.present().iter().flat_map(|dialect| dialect.tools()));
            tools.extend(needed.mcp.iter().flat_map(|mcp| mcp.tools()));
        }
        let registry = assemble::registry(tools);
        let mind = needed.mind.as_deref();
        let hooks = hooks::load(
            world,
            Needs {
                root,
                sandbox: assemble::sandbox(world)?,
                mind,
                ledger: Arc::clone(&needed.ledger),
                notice: Arc::new(|text| output::warning(&text)),
            },
        );
        hooks::report(&hooks.problems);
        let mut asked = hooks.hooks;
        asked.extend(needed.guests.present().iter().flat_map(|dialect| dialect.hooks()));
        let system = mind.map(|mind| match &needed.role {
            Some(role) => role.system.clone(),
            None => assemble::system(world, root, mind, &registry, &skills),
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

/// All tools as far as they are known, for commands that look at them. Starts a plugin's worker
/// only where nothing is known of it, and no server.
pub(crate) async fn known_tools(world: &World) -> Result<Registry, Problem> {
    if let Some(role) = role::open(world) {
        return Ok(assemble::registry(role.tools.clone()));
    }
    let place = world.place();
    let mut tools = assemble::tools(world, place, assemble::skills(world, place));
    if !world.global.safe {
        tools.extend(world.workers(Missing::Report).await?.tools(world));
        tools.extend(dialects::open(world).await?.iter().flat_map(|dialect| dialect.tools()));
    }
    if mcp::is_used(world) {
        tools.extend(Mcp::open(world)?.tools());
    }
    Ok(assemble::registry(tools))
}

/// The MCP servers, where any are described.
async fn servers(
    world: &World,
    mind: Option<&Arc<Mind>>,
    offers_tools: bool,
) -> Result<Option<Arc<Mcp>>, Problem> {
    if !offers_tools || !mcp::is_used(world) {
        return Ok(None);
    }
    let mcp = Mcp::open(world)?;
    mcp.learn().await;
    if let Some(mind) = mind {
        mcp.set_mind(mind);
    }
    Ok(Some(Arc::new(mcp)))
}
