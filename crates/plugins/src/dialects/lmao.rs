//! Plugins of LMAO in the directories of plugins.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;

use super::{Dialect, Named};
use crate::discovery::Trust;
use crate::env::PluginEnv;
use crate::lmao::{Conditions, Directory, Lmao, find, member};
use crate::open_plugins::OpenPlugins;
use crate::plugin::Place;
use crate::problem::Problem;

const NAME: &str = "lmao";

pub(super) struct LmaoDialect;

#[async_trait]
impl Dialect for LmaoDialect {
    fn named(&self, env: &PluginEnv<'_>) -> Vec<Named> {
        let (directories, _) = configured(env);
        let members = directories.iter().flat_map(|directory| &directory.members);
        members.map(|it| Named { version: String::new(), ..Named::plugin(it, NAME) }).collect()
    }

    async fn open(&self, env: &PluginEnv<'_>) -> Option<Arc<dyn OpenPlugins>> {
        let (directories, problems) = configured(env);
        env.report_all(&problems);
        if directories.is_empty() {
            return None;
        }
        let runtime = env.program.runtime()?;
        let place = env.workspace();
        let conditions = Conditions {
            workspace: place.canonicalize().unwrap_or_else(|_| place.to_owned()),
            home: env.home.map(Path::to_owned),
            approves_all: env.settings.approves_all,
            is_headless: env.settings.is_headless,
            is_verbose: env.settings.is_verbose,
            state: runtime.cache_dir.join("cache/python-host"),
        };
        let lmao = Lmao::open(runtime.python, directories, conditions).await;
        env.report_all(lmao.problems());
        Some(Arc::new(lmao))
    }
}

fn configured(env: &PluginEnv<'_>) -> (Vec<Directory>, Vec<Problem>) {
    let mut problems = Vec::new();
    let mut directories = directories(env, &mut problems);
    let members = directories.iter_mut().flat_map(|directory| &mut directory.members);
    problems.extend(env.configure(NAME, &env.switches(), members));
    (directories, problems)
}

/// The plugin directories in the order in which they count, each file once.
fn directories(env: &PluginEnv<'_>, problems: &mut Vec<Problem>) -> Vec<Directory> {
    let mut seen = BTreeSet::new();
    let mut directories = Vec::new();
    for (directory, place) in env.plugin_directories() {
        let Ok(path) = directory.canonicalize() else { continue };
        let mut members = Vec::new();
        for candidate in find(&path, env.directories()) {
            if seen.insert(candidate.file.clone()) {
                let mut plugin = member(&candidate, place);
                plugin.trusted = is_trusted(env, (&path, &plugin.root), place, problems);
                members.push(plugin);
            }
        }
        if !members.is_empty() {
            directories.push(Directory { path, place, members });
        }
    }
    directories
}

/// A plugin's directory is trusted with the whole directory, or by itself.
fn is_trusted(
    env: &PluginEnv<'_>,
    (container, directory): (&Path, &Path),
    place: Place,
    problems: &mut Vec<Problem>,
) -> bool {
    if place != Place::Project
        && directory.starts_with(container)
        && env.program.trust(container, place) == Trust::Given
    {
        return true;
    }
    match env.program.trust(directory, place) {
        Trust::Given => true,
        Trust::Missing => false,
        Trust::Refused { what, hint } => {
            problems.push(Problem::new(directory, what, hint));
            false
        }
    }
}
