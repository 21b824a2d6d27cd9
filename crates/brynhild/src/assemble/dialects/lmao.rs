//! Plugins written for LMAO: where they are looked for, which of them count, and what the user
//! says of each.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use contract::hook::Hook;
use contract::tool::Tool;
use plugins::discovery::Trust;
use plugins::lmao::{Conditions, Directory, Lmao, find, member};
use plugins::plugin::{Place, Plugin};
use plugins::problem::Problem as Fault;

use python_host::Host;

use super::{Dialect, Listed, Named};
use crate::args::OutputFormat;
use crate::assemble::assembly::Assembly;
use crate::assemble::plugin_set;
use crate::assemble::run_context::RunContext;
use crate::assemble::workers;
use crate::exit::Problem;
use crate::output;

const NAME: &str = "lmao";

/// The plugins of LMAO.
struct Found {
    lmao: Lmao,
    host: Host,
    /// All of them, those that are off or not trusted included.
    all: Vec<Plugin>,
}

/// Finds them. Runs those of which nothing is kept. None where there are none.
pub(super) async fn open(assembly: &Assembly) -> Result<Option<Arc<dyn Dialect>>, Problem> {
    if assembly.global.safe {
        return Ok(None);
    }
    let (mut directories, problems) = configured(assembly);
    report(&problems);
    let all: Vec<Plugin> =
        directories.iter().flat_map(|directory| directory.members.clone()).collect();
    if all.is_empty() {
        return Ok(None);
    }
    for directory in &mut directories {
        directory.members.retain(Plugin::is_active);
    }
    let python = assembly.python()?;
    let lmao = Lmao::open(python.python.clone(), directories, conditions(assembly)?).await;
    report(lmao.problems());
    Ok(Some(Arc::new(Found { lmao, host: python.host.clone(), all })))
}

/// All of them, without running any.
pub(super) fn named(assembly: &Assembly) -> Vec<Named> {
    let (directories, _) = configured(assembly);
    let members = directories.iter().flat_map(|directory| &directory.members);
    members.map(|it| Named { version: String::new(), ..Named::plugin(it, NAME) }).collect()
}

/// The plugin directories, with what the user says of each plugin.
fn configured(assembly: &Assembly) -> (Vec<Directory>, Vec<Fault>) {
    let mut problems = Vec::new();
    let mut directories = directories(assembly, &mut problems);
    let members = directories.iter_mut().flat_map(|directory| &mut directory.members);
    problems.extend(plugin_set::configure(assembly, NAME, members));
    (directories, problems)
}

fn report<'a>(problems: impl IntoIterator<Item = &'a Fault>) {
    for problem in problems {
        output::warning(&format!("{problem} ({})", problem.hint));
    }
}

/// The plugin directories in the order in which they count, each file once.
fn directories(assembly: &Assembly, problems: &mut Vec<Fault>) -> Vec<Directory> {
    let mut seen = BTreeSet::new();
    let mut directories = Vec::new();
    for (directory, place) in plugin_set::directories(assembly) {
        let Ok(path) = directory.canonicalize() else { continue };
        let mut members = Vec::new();
        for candidate in find(&path, assembly.directories()) {
            if seen.insert(candidate.file.clone()) {
                let mut plugin = member(&candidate, place);
                plugin.trusted = is_trusted(assembly, (&path, &plugin.root), place, problems);
                members.push(plugin);
            }
        }
        if !members.is_empty() {
            directories.push(Directory { path, place, members });
        }
    }
    directories
}

/// Whether a plugin's directory may be used: with the whole directory, or by itself.
fn is_trusted(
    assembly: &Assembly,
    (container, directory): (&Path, &Path),
    place: Place,
    problems: &mut Vec<Fault>,
) -> bool {
    if place != Place::Project
        && directory.starts_with(container)
        && plugin_set::trust(assembly, container, place) == Trust::Given
    {
        return true;
    }
    match plugin_set::trust(assembly, directory, place) {
        Trust::Given => true,
        Trust::Missing => false,
        Trust::Refused { what, hint } => {
            problems.push(Fault::new(directory, what, hint));
            false
        }
    }
}

fn conditions(run: &RunContext) -> Result<Conditions, Problem> {
    let terminal = run.environment.terminal;
    Ok(Conditions {
        workspace: workspace(run),
        home: run.environment.home.clone(),
        approves_all: run.global.yes,
        is_headless: !(terminal.stdin && terminal.stderr)
            && run.format() != OutputFormat::StreamJson,
        is_verbose: run.config().behavior.verbose,
        state: workers::state(run)?,
    })
}

fn workspace(run: &RunContext) -> PathBuf {
    let place = run.place();
    place.canonicalize().unwrap_or_else(|_| place.to_owned())
}

#[async_trait]
impl Dialect for Found {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.lmao.tools()
    }

    fn hooks(&self) -> Vec<Arc<dyn Hook>> {
        self.lmao.hooks()
    }

    fn project_guards(&self) -> Vec<(String, String)> {
        self.lmao.project_guards()
    }

    fn listing(&self) -> Vec<Listed> {
        let listed = self.all.iter().map(|plugin| {
            let mut report = Vec::new();
            if !plugin.trusted {
                report.push(String::from("ignored: it is not trusted"));
            }
            for file in &plugin.manifest.tools {
                report.extend(self.lmao.report(Path::new(file)));
            }
            Listed {
                name: plugin.name().to_owned(),
                dialect: NAME,
                path: plugin.root.display().to_string(),
                enabled: plugin.is_active(),
                trusted: Some(plugin.trusted),
                report,
                ..Listed::default()
            }
        });
        listed.collect()
    }

    async fn shutdown(&self) {
        self.host.shutdown().await;
    }
}
