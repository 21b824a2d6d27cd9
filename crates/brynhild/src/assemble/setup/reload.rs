//! Picks up what has changed outside while a conversation goes on: plugins, hooks, skills, rules,
//! servers, settings, permissions. What a project brings is trusted anew, by its bytes.

use std::path::PathBuf;
use std::sync::Arc;

use ::mcp::ClientRegistry;
use agent::settings::{Change, Renewal, Renewed};
use async_trait::async_trait;
use contract::event::{EventKind, Level};
use contract::policy::Approvals;
use contract::sandbox::Sandbox;
use contract::tool::ToolSpec;
use plugins::claude::Expansions;
use plugins::directories::Directories;
use python_host::Host;

use super::fingerprint::{Fingerprint, Places};
use super::{Audience, Needed, Outfit};
use crate::args::Global;
use crate::assemble::dialects::chibi;
use crate::assemble::mcp;
use crate::assemble::permissions;
use crate::assemble::plugin_set;
use crate::assemble::role::{self, Opened};
use crate::assemble::skill_grants::Grants;
use crate::assemble::trust::process_check::TrustedRoots;
use crate::assemble::world::World;
use crate::environment::Environment;
use crate::exit::Problem;
use crate::output;

/// Where the user's own extensions lie, from the directory of the configuration.
const OWN: &[&str] = &[
    "agents",
    "commands",
    "hooks",
    "hooks.yaml",
    "mcp.json",
    "permissions.jsonl",
    "plugins",
    "plugins.yaml",
    "profiles",
    "rules",
    "skills",
    "trust.jsonl",
];
/// Where a project's lie, from its root; its rules come to these.
const PROJECT: &[&str] = &[".brynhild", ".agents/skills", ".claude", ".mcp.json"];

/// Looks for changes before a turn.
pub(crate) struct Reload {
    global: Global,
    environment: Environment,
    needed: Needed,
    kept: Kept,
    state: tokio::sync::Mutex<State>,
}

/// What was seen last, and what was made of it.
struct State {
    seen: Seen,
    present: Present,
    /// What the next turn is to be told.
    change: Option<Change>,
    /// What was said of the project's trust, and what is to be said at the next turn.
    told: Option<String>,
    untold: Vec<String>,
}

/// What holds at this moment, for whoever reads lines beside a conversation.
#[derive(Clone)]
pub(crate) struct Present {
    /// What everything was made from; none where nothing has changed since the start.
    pub(crate) world: Option<Arc<World>>,
    /// The tools.
    pub(crate) tools: Vec<Arc<ToolSpec>>,
    /// What active skills let run.
    pub(crate) grants: Grants,
    /// What judges calls, whatever rules it goes by at the moment.
    pub(crate) policy: Arc<dyn Approvals>,
}

/// What outlives a change.
struct Kept {
    host: Option<Host>,
    sandbox: Option<Arc<dyn Sandbox>>,
    trusted_roots: Arc<TrustedRoots>,
    directories: Arc<Directories>,
    expansions: Arc<Expansions>,
    clients: Option<Arc<ClientRegistry>>,
    jobs: Arc<tools::jobs::Jobs>,
}

/// What was seen last.
#[derive(Clone)]
pub(super) struct Seen {
    places: Places,
    print: Fingerprint,
}

impl Reload {
    /// Watches what `world` was made from, as it was seen then.
    pub(super) fn new(world: &World, needed: Needed, seen: Seen, present: Present) -> Self {
        let kept = Kept {
            host: world.known_workers().map(|workers| workers.host().clone()),
            sandbox: world.made.sandbox.get().cloned(),
            trusted_roots: Arc::clone(world.trusted_roots()),
            directories: Arc::clone(world.directories()),
            expansions: Arc::clone(world.expansions()),
            clients: world.made.clients.get().cloned(),
            jobs: Arc::clone(world.jobs()),
        };
        let told = world.trust.warning(&world.loaded);
        let state = State { seen, present, change: None, told, untold: Vec::new() };
        let state = tokio::sync::Mutex::new(state);
        let (global, environment) = (world.global.clone(), world.environment.clone());
        Self { global, environment, needed, kept, state }
    }

    /// What holds at this moment. What has changed and cannot be used is told.
    pub(crate) async fn present(&self) -> Present {
        let mut state = self.state.lock().await;
        if let Err(problem) = self.look(&mut state).await {
            output::warning(&unused(&problem));
        }
        state.present.clone()
    }

    /// Makes everything anew where something has changed.
    async fn look(&self, state: &mut State) -> Result<(), Problem> {
        let print = Fingerprint::of(&state.seen.places);
        let has_changed = print != state.seen.print;
        let has_refreshed = || {
            let host = self.kept.host.as_ref();
            host.is_some_and(Host::take_changed_tool)
        };
        let has_other_servers = match self.needed.mcp.present() {
            Some(mcp) => mcp.refresh().await,
            None => false,
        };
        if has_changed || has_refreshed() || has_other_servers {
            let role = self.needed.role.present();
            let role = role.filter(|role| print.differs_at(&state.seen.print, &role.files));
            self.remake(state, role).await?;
        }
        Ok(())
    }

    /// Makes everything anew, and the role where its files have changed.
    async fn remake(&self, state: &mut State, role: Option<Arc<Opened>>) -> Result<(), Problem> {
        let mut world = World::again(self.global.clone(), self.environment.clone())?;
        world.made.trusted_roots.get_or_init(|| Arc::clone(&self.kept.trusted_roots));
        if let Some(sandbox) = &self.kept.sandbox {
            world.made.sandbox.get_or_init(|| Arc::clone(sandbox));
        }
        if let Some(clients) = &self.kept.clients {
            world.made.clients.get_or_init(|| Arc::clone(clients));
        }
        if let Some(mode) = self.needed.ledger.mode() {
            world.made.mode.get_or_init(|| mode);
        }
        world.made.jobs.get_or_init(|| Arc::clone(&self.kept.jobs));
        self.kept.directories.again();
        world.made.directories.get_or_init(|| Arc::clone(&self.kept.directories));
        world.made.expansions.get_or_init(|| Arc::clone(&self.kept.expansions));
        let seen = Seen::of(&world, &self.needed);
        if let Some(host) = &self.kept.host {
            world.adopt(host.clone()).await?;
        }
        state.seen = seen;
        let told = world.trust.warning(&world.loaded);
        if told != state.told {
            state.untold.extend(told.clone());
            state.told = told;
        }
        if let Some(before) = role {
            let role = role::again(&mut world, self.needed.mind.as_ref(), &before).await?;
            self.needed.role.put(Some(role));
            before.shutdown().await;
            state.seen = Seen::of(&world, &self.needed);
        }
        // Rules hold from here on, however long the rest may take.
        let granted = self.needed.policy.renew(permissions::policy(&world, &self.needed.root)?);
        let is_role_all =
            self.needed.audience == Audience::Others && self.needed.role.present().is_some();
        if self.needed.offers_tools && !is_role_all {
            let mcp = mcp::renewed(&world, self.needed.mcp.present()).await?;
            self.needed.mcp.put(mcp);
        }
        self.needed.guests.find(&world, self.needed.mind.as_deref()).await?;
        let outfit = Outfit::new(&world, &self.needed).await?;
        for origin in granted {
            outfit.grants.renew(&origin);
        }
        // What is no longer trusted must not run, not even to say goodbye.
        let may_end = |name: &str| world.plugins().get(name).is_some_and(|plugin| plugin.trusted);
        outfit.lifecycle.part(may_end).await;
        outfit.lifecycle.start().await;
        state.present = Present {
            world: Some(Arc::new(world)),
            tools: outfit.registry.specs().to_vec(),
            grants: outfit.grants.clone(),
            policy: self.needed.judge(),
        };
        let Outfit { registry, hooks, system, .. } = outfit;
        state.change = Some(Change { registry, hooks, system });
        Ok(())
    }
}

fn unused(problem: &Problem) -> String {
    format!("what has changed is not used: {}", problem.message())
}

#[async_trait]
impl Renewal for Reload {
    async fn renew(&self) -> Renewed {
        let mut state = self.state.lock().await;
        let looked = self.look(&mut state).await;
        let change = state.change.take();
        let warning = |text, hint| EventKind::Notice { level: Level::Warning, text, hint };
        let untold = std::mem::take(&mut state.untold).into_iter();
        let mut notices: Vec<EventKind> = untold.map(|text| warning(text, None)).collect();
        notices.extend(looked.err().map(|problem| warning(unused(&problem), problem.hint)));
        Renewed { change, notices }
    }
}

impl Seen {
    /// Looks at all that `world` was made from.
    pub(super) fn of(world: &World, needed: &Needed) -> Self {
        let places = places(world, needed);
        let print = Fingerprint::of(&places);
        Self { places, print }
    }
}

fn places(world: &World, needed: &Needed) -> Places {
    let config_dir = world.loaded.config_dir.iter();
    let mut whole: Vec<PathBuf> =
        config_dir.flat_map(|dir| OWN.iter().map(|name| dir.join(name))).collect();
    whole.extend(world.layer_files());
    if world.has_project() {
        let root = &needed.root;
        whole.extend(PROJECT.iter().map(|name| root.join(name)));
        whole.extend(plugins::rules::project_files(root, &world.environment.cwd));
    }
    let home = world.environment.home.iter();
    whole
        .extend(home.flat_map(|home| [".agents/skills", ".claude/skills"].map(|it| home.join(it))));
    let named = world.environment.variable("BRYNHILD_SKILL_PATH").unwrap_or_default();
    whole.extend(std::env::split_paths(named).filter(|path| !path.as_os_str().is_empty()));
    whole.extend(plugin_set::directories(world).into_iter().map(|(directory, _)| directory));
    whole.extend(chibi::own_directory(world));
    whole.extend(needed.role.present().iter().flat_map(|role| role.files.clone()));
    // A package among others is what its metadata says, and may have its code elsewhere.
    let with_code = world.plugins().plugins.iter().filter(|it| !plugin_set::is_among_others(it));
    whole.extend(with_code.map(|plugin| plugin.root.clone()));
    Places { whole, surface: plugin_set::sites(world).to_vec() }
}
