//! Plugins of chibi in the directories of plugins, and in chibi's own.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;

use super::{Dialect, Named};
use crate::chibi::{Candidate, NAME, Plugins, Settings, find};
use crate::discovery::Trust;
use crate::env::PluginEnv;
use crate::open_plugins::OpenPlugins;
use crate::plugin::Place;
use crate::problem::Problem;

pub(super) struct Chibi;

#[async_trait]
impl Dialect for Chibi {
    fn named(&self, env: &PluginEnv<'_>) -> Vec<Named> {
        let (candidates, _) = found(env);
        let named = candidates.iter().map(|it| Named::plugin(&it.plugin, NAME));
        named.map(|it| Named { version: String::new(), ..it }).collect()
    }

    async fn open(&self, env: &PluginEnv<'_>) -> Option<Arc<dyn OpenPlugins>> {
        let (candidates, problems) = found(env);
        env.report_all(&problems);
        if candidates.is_empty() {
            return None;
        }
        let mode = env.program.mode();
        let plugins = Plugins::open(candidates, settings(env)?, mode, env.directories()).await;
        env.report_all(&plugins.problems);
        if plugins.hears_of_agents() {
            plugins.learn_agents(env.program.agents());
        }
        Some(Arc::new(plugins))
    }
}

fn found(env: &PluginEnv<'_>) -> (Vec<Candidate>, Vec<Problem>) {
    let mut by_name: BTreeMap<String, Candidate> = BTreeMap::new();
    let mut problems = Vec::new();
    let own = own_directory(env).map(|directory| (directory, Place::Configured));
    for (directory, place) in own.into_iter().chain(env.plugin_directories()) {
        let search = find(&directory, place, env.directories());
        problems.extend(search.problems);
        let mut told = false;
        for mut candidate in search.candidates {
            match trust(env, &candidate) {
                Trust::Given => {}
                Trust::Missing => candidate.plugin.trusted = false,
                Trust::Refused { what, hint } => {
                    candidate.plugin.trusted = false;
                    if !told {
                        problems.push(Problem::new(&directory, what, hint));
                    }
                    told = place != Place::Project;
                }
            }
            let name = candidate.plugin.name().to_owned();
            // An untrusted plugin replaces no other.
            if candidate.plugin.trusted || !by_name.contains_key(&name) {
                by_name.insert(name, candidate);
            }
        }
    }
    let mut candidates: Vec<Candidate> = by_name.into_values().collect();
    let plugins = candidates.iter_mut().map(|candidate| &mut candidate.plugin);
    problems.extend(env.configure(NAME, &env.switches(), plugins));
    (candidates, problems)
}

/// A plugin is trusted by itself, or with a directory of the project that was trusted as a whole.
fn trust(env: &PluginEnv<'_>, candidate: &Candidate) -> Trust {
    let (directory, root, place) =
        (&candidate.directory, &candidate.plugin.root, candidate.plugin.place);
    let is_inside = env.root.is_some_and(|workspace| directory.starts_with(workspace));
    if place == Place::Project || !is_inside {
        return env.program.trust(root, place);
    }
    let whole = env.program.trust(directory, place);
    if whole == Trust::Given || root == directory || !root.is_dir() {
        return whole;
    }
    match env.program.trust(root, place) {
        Trust::Given => Trust::Given,
        Trust::Missing | Trust::Refused { .. } => whole,
    }
}

/// chibi's own directory of plugins, if `plugins.chibi.home` is on.
pub fn own_directory(env: &PluginEnv<'_>) -> Option<PathBuf> {
    let entry = env.program.entry(NAME)?;
    (entry.own.get("home") == Some(&true.into())).then(|| home(env).join("plugins"))
}

fn home(env: &PluginEnv<'_>) -> PathBuf {
    let usual = || env.home.map(PathBuf::from).unwrap_or_default().join(".chibi");
    env.variable("CHIBI_HOME").map_or_else(usual, |named| env.cwd.join(named))
}

fn settings(env: &PluginEnv<'_>) -> Option<Settings> {
    let runtime = env.program.runtime()?;
    Some(Settings {
        schema_cache: runtime.cache_dir.join("cache/chibi.json"),
        data: runtime.cache_dir.join("plugin-data"),
        sandbox: runtime.hooks.sandbox,
        surroundings: runtime.hooks.surroundings,
        home: home(env),
        is_verbose: env.settings.is_verbose,
        is_confined: runtime.hooks.is_confined,
        on_output: runtime.on_output,
        console: runtime.console,
    })
}
