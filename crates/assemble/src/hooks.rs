//! The hooks of this run: where they are defined, and what they need to run.

mod changed_guards;
mod hook_agents;
pub mod models;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::sandbox::Sandbox;
use plugins::hooks::{
    Ask, HookHost, Ledger, Loaded, Notice, Offered, ProjectFile, Reported, Settings, Sources,
};
use plugins::plugin::Plugin;
use plugins::problem::Problem as Fault;

use crate::answering_model::AnsweringModel;
use crate::assembly::Assembly;
use crate::assembly::workers;
use crate::model_names;
use crate::run_context::RunContext;
pub(crate) use hook_agents::{HookAgentInputs, HookAgents};
pub(crate) use models::Models;

/// What hooks need from their conversation.
pub struct HookInputs<'a> {
    pub root: &'a Path,
    pub sandbox: Arc<dyn Sandbox>,
    pub answering: Option<&'a AnsweringModel>,
    pub ledger: Arc<Ledger>,
    pub notice: Notice,
}

/// Finds all hooks. Starts nothing.
pub fn load(assembly: &Assembly, needs: &HookInputs<'_>) -> Loaded {
    let models = needs.answering.map(|answering| Arc::new(Models::new(answering)));
    let settings = || Settings {
        host: HookHost {
            reported: needs.ledger.reported.clone(),
            ..host(assembly, needs.root, Arc::clone(&needs.sandbox), Arc::clone(&needs.notice))
        },
        mode: assembly.mode(),
        config_dir: assembly.loaded.config_dir.clone(),
        python: assembly.python().ok().map(|python| Arc::clone(python.python.host())),
        ask: models.clone().map(|models| models as Arc<dyn Ask>),
        ledger: Arc::clone(&needs.ledger),
    };
    let (sources, fault) = sources(assembly, needs.root);
    let mut loaded = plugins::hooks::load(sources, settings());
    loaded.problems.extend(fault);
    if let Some(stale) = assembly.trust.stale().filter(|_| !assembly.global.safe) {
        loaded.hooks.extend(changed_guards::load(assembly, stale, settings));
    }
    if let (Some(models), Some(answering)) = (models, needs.answering) {
        let named = loaded.listing.iter().filter_map(|hook| hook.model.as_deref());
        let spelled = |name: &str| model_names::spelled(assembly, name, &answering.choice);
        models.learn(named.map(|name| (name.to_owned(), spelled(name))));
    }
    loaded
}

pub(crate) fn host(
    assembly: &Assembly,
    root: &Path,
    sandbox: Arc<dyn Sandbox>,
    notice: Notice,
) -> HookHost {
    HookHost {
        sandbox,
        is_confined: !assembly.is_unconfined(),
        surroundings: workers::surroundings(assembly),
        profile: crate::confinement::command_profile(assembly, root),
        data: plugin_data(assembly),
        notice,
        reported: Reported::default(),
        trust: assembly.trust.trust_check(),
    }
}

pub(crate) fn plugin_data(run: &RunContext) -> PathBuf {
    let own = run.loaded.config_dir.as_ref();
    own.unwrap_or(&run.environment.temp).join(setup::user_files::PLUGIN_DATA)
}

/// The hook definitions, and the project files that are not used because they are untrusted.
fn sources<'a>(assembly: &'a Assembly, root: &Path) -> (Sources<'a>, Option<Fault>) {
    if assembly.global.safe {
        let sources = Sources { global: None, project: None, plugins: &[], offers: Vec::new() };
        return (sources, None);
    }
    let (project, fault) = project(assembly, root);
    let set = assembly.plugins();
    let offers = set.offers().iter().flat_map(|offer| {
        offer.hooks.iter().map(|item| Offered {
            plugin: offer.plugin.clone(),
            name: offer.entry_point(item).to_owned(),
            config: item.get("config").unwrap_or(item).clone(),
        })
    });
    let sources = Sources {
        global: assembly.loaded.config_dir.as_ref().map(|dir| dir.join(setup::user_files::HOOKS)),
        project,
        plugins: &set.plugins,
        offers: offers.collect(),
    };
    (sources, fault)
}

fn project(run: &RunContext, root: &Path) -> (Option<ProjectFile>, Option<Fault>) {
    let path = root.join(trust::HOOKS);
    let Some(trusted) = run.trust.trusted().filter(|_| run.has_project()) else {
        return (None, None);
    };
    match trusted.bytes(&path) {
        Some(bytes) => (Some(ProjectFile { path, bytes: bytes.to_owned() }), None),
        None if path.symlink_metadata().is_ok() => {
            let what = "this is not a regular file of the project, so that none of its hooks runs";
            (None, Some(Fault::new(&path, what, "put a copy in the place of the link")))
        }
        None => (None, None),
    }
}

/// The files that may define hooks.
pub fn files(assembly: &Assembly, root: &Path) -> Vec<PathBuf> {
    let global = assembly.loaded.config_dir.as_ref().map(|dir| dir.join(setup::user_files::HOOKS));
    let project = assembly.has_project().then(|| root.join(trust::HOOKS));
    let has_file = |plugin: &&Plugin| plugin.manifest.hooks && plugin.package.is_none();
    let plugins = assembly.plugins().active().filter(has_file).map(|it| it.root.join("hooks.yaml"));
    global.into_iter().chain(project).chain(plugins).collect()
}
