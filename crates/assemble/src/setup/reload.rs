//! Reloads changed plugins, hooks, skills, rules, servers, settings and permissions during a
//! conversation. A project's files are checked for trust again, by their bytes.

use std::path::PathBuf;
use std::sync::Arc;

use agent::settings::{Change, Renewal, Renewed};
use args::Global;
use async_trait::async_trait;
use contract::event::{EventKind, Level};
use contract::policy::Approvals;
use contract::tool::ToolSpec;
use plugins::dialects::{PROJECT_PATHS, USER_SKILLS, chibi};
use python_host::Host;
use setup::user_files as own;
use tools::fingerprint::{Fingerprint, Places};
use tools::skill_grants::Grants;

use super::{Audience, SetupInputs, ToolsAndHooks};
use crate::assembly::{Assembly, SharedServices};
use crate::environment::Environment;
use crate::exit::Problem;
use crate::output;
use crate::role::{self, OpenRole};
use crate::run_context::RunContext;
use crate::{mcp, permissions};

#[rustfmt::skip]
const OWN: &[&str] = &[
    own::AGENTS, own::COMMANDS, own::HOOK_SCRIPTS, own::HOOKS, own::MCP_SERVERS, own::PERMISSIONS,
    own::PLUGINS, own::PLUGIN_STATES, own::PROFILES, own::RULES, own::SKILLS, own::TRUST,
];
/// A project's extensions, from its root; its rules are added to these.
const PROJECT: &[&str] = &[".brynhild", ".mcp.json"];

/// Finds changed files between turns and replaces the parts that they affect.
pub struct Reload {
    global: Global,
    environment: Environment,
    inputs: SetupInputs,
    host: Option<Host>,
    services: Arc<SharedServices>,
    state: tokio::sync::Mutex<State>,
}

struct State {
    seen: WatchedFiles,
    present: CurrentState,
    /// The change to report at the next turn.
    change: Option<Change>,
    /// The trust warning that was reported, and the one to report at the next turn.
    told: Option<String>,
    untold: Vec<String>,
}

/// The parts after the last change.
#[derive(Clone)]
pub struct CurrentState {
    /// None if nothing has changed since the start.
    pub assembly: Option<Arc<Assembly>>,
    pub tools: Vec<Arc<ToolSpec>>,
    pub grants: Grants,
    pub policy: Arc<dyn Approvals>,
}

#[derive(Clone)]
pub(super) struct WatchedFiles {
    places: Places,
    print: Fingerprint,
}

impl Reload {
    /// Watches the files that `assembly` was created from.
    pub(super) fn new(
        assembly: &Assembly,
        inputs: SetupInputs,
        seen: WatchedFiles,
        present: CurrentState,
    ) -> Self {
        let host = assembly.known_workers().map(|workers| workers.host().clone());
        let told = assembly.trust.warning();
        let state = State { seen, present, change: None, told, untold: Vec::new() };
        let state = tokio::sync::Mutex::new(state);
        let (global, environment) = (assembly.global.clone(), assembly.environment.clone());
        let services = Arc::clone(&assembly.services);
        Self { global, environment, inputs, host, services, state }
    }

    /// The current state. A change that cannot be used is reported.
    pub async fn present(&self) -> CurrentState {
        let mut state = self.state.lock().await;
        if let Err(problem) = self.look(&mut state).await {
            output::warning(&unused(&problem));
        }
        state.present.clone()
    }

    async fn look(&self, state: &mut State) -> Result<(), Problem> {
        let print = Fingerprint::of(&state.seen.places);
        let has_changed = print != state.seen.print;
        let has_refreshed = || self.host.as_ref().is_some_and(Host::take_changed_tool);
        let has_other_servers = match self.inputs.mcp.present() {
            Some(mcp) => mcp.refresh().await,
            None => false,
        };
        if has_changed || has_refreshed() || has_other_servers {
            let role = self.inputs.role.present();
            let role = role.filter(|role| print.differs_at(&state.seen.print, &role.files));
            self.remake(state, role).await?;
        }
        Ok(())
    }

    async fn remake(&self, state: &mut State, role: Option<Arc<OpenRole>>) -> Result<(), Problem> {
        let mut assembly = RunContext::again(self.global.clone(), self.environment.clone())?;
        assembly.session_mode = self.inputs.ledger.mode();
        let mut assembly = Assembly::with_services(assembly, Arc::clone(&self.services));
        assembly.directories().again();
        let seen = WatchedFiles::of(&assembly, &self.inputs);
        if let Some(host) = &self.host {
            assembly.adopt(host.clone()).await?;
        }
        state.seen = seen;
        let told = assembly.trust.warning();
        if told != state.told {
            state.untold.extend(told.clone());
            state.told = told;
        }
        if let Some(before) = role {
            let role = role::again(&mut assembly, self.inputs.answering.as_ref(), &before).await?;
            self.inputs.role.put(Some(role));
            before.shutdown().await;
            state.seen = WatchedFiles::of(&assembly, &self.inputs);
        }
        // New rules apply at once, however long the rest takes.
        self.inputs.policy.renew(permissions::policy(&assembly, &self.inputs.root)?);
        let is_role_all =
            self.inputs.audience == Audience::Others && self.inputs.role.present().is_some();
        if self.inputs.offers_tools && !is_role_all {
            let mcp = mcp::renewed(&assembly, self.inputs.mcp.present()).await?;
            self.inputs.mcp.put(mcp);
        }
        self.inputs.foreign.find(&assembly, self.inputs.answering.as_deref()).await?;
        let tools_and_hooks = ToolsAndHooks::new(&assembly, &self.inputs).await?;
        tools_and_hooks.grants.renew(&state.present.grants);
        // A plugin that is no longer trusted must not run, not even to shut down.
        let may_end =
            |name: &str| assembly.plugins().get(name).is_some_and(|plugin| plugin.trusted);
        tools_and_hooks.lifecycle.part(may_end).await;
        tools_and_hooks.lifecycle.start().await;
        state.present = CurrentState {
            assembly: Some(Arc::new(assembly)),
            tools: tools_and_hooks.registry.specs().to_vec(),
            grants: tools_and_hooks.grants.clone(),
            policy: self.inputs.judge(),
        };
        let ToolsAndHooks { registry, hooks, system, .. } = tools_and_hooks;
        state.change = Some(Change { registry, hooks, system });
        Ok(())
    }
}

fn unused(problem: &Problem) -> String {
    format!("changes are not used: {}", problem.message())
}

#[async_trait]
impl Renewal for Reload {
    fn is_due(&self) -> bool {
        self.host.as_ref().is_some_and(Host::has_changed_tool)
    }

    async fn renew(&self) -> Renewed {
        let mut state = self.state.lock().await;
        let looked = self.look(&mut state).await;
        let change = state.change.take();
        let warning =
            |text, hint| EventKind::Notice { level: Level::Warning, text, hint, topic: None };
        let untold = std::mem::take(&mut state.untold).into_iter();
        let mut notices: Vec<EventKind> = untold.map(|text| warning(text, None)).collect();
        notices.extend(looked.err().map(|problem| warning(unused(&problem), problem.hint)));
        Renewed { change, notices }
    }
}

impl WatchedFiles {
    pub(super) fn of(assembly: &Assembly, inputs: &SetupInputs) -> Self {
        let places = places(assembly, inputs);
        let print = Fingerprint::of(&places);
        Self { places, print }
    }
}

fn places(assembly: &Assembly, inputs: &SetupInputs) -> Places {
    let config_dir = assembly.loaded.config_dir.iter();
    let mut whole: Vec<PathBuf> =
        config_dir.flat_map(|dir| OWN.iter().map(|name| dir.join(name))).collect();
    whole.extend(assembly.layer_files());
    if assembly.has_project() {
        let root = &inputs.root;
        whole.extend(PROJECT.iter().chain(PROJECT_PATHS).map(|name| root.join(name)));
        whole.extend(plugins::rules::project_files(root, &assembly.environment.cwd));
    }
    let home = assembly.environment.home.iter();
    whole.extend(home.flat_map(|home| USER_SKILLS.iter().map(|it| home.join(it))));
    let named = assembly.environment.variable("BRYNHILD_SKILL_PATH").unwrap_or_default();
    whole.extend(std::env::split_paths(named).filter(|path| !path.as_os_str().is_empty()));
    let env = assembly.plugin_env();
    whole.extend(env.plugin_directories().into_iter().map(|(directory, _)| directory));
    whole.extend(chibi::own_directory(&env));
    whole.extend(inputs.role.present().iter().flat_map(|role| role.files.clone()));
    // An installed package is described by its metadata, and may have its code elsewhere.
    let with_code = assembly.plugins().plugins.iter().filter(|it| !it.is_among_others());
    whole.extend(with_code.map(|plugin| plugin.root.clone()));
    Places { whole, surface: env.sites().to_vec() }
}
