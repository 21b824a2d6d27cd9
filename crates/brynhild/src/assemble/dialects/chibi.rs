//! Plugins in the manner of chibi: where they are looked for, which of them count, and what the
//! person says of each.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use contract::hook::Hook;
use contract::policy::Mode;
use contract::sandbox::ChannelEnds;
use contract::tool::Tool;
use plugins::chibi::{Agent, Agents, Candidate, Console, Plugins, Settings, find};
use plugins::discovery::Trust;
use plugins::initrunner::role;
use plugins::plugin::Place;
use plugins::problem::Problem as Fault;
use rustix::fs::OFlags;
use tokio::io::AsyncWrite;
use tokio::net::unix::pipe::{Receiver, Sender};

use super::{Dialect, Listed, Named};
use crate::args::OutputFormat;
use crate::assemble;
use crate::assemble::assembly::Assembly;
use crate::assemble::plugin_set;
use crate::assemble::run_context::RunContext;
use crate::assemble::subagents::{AgentList, Kind, PLAIN};
use crate::assemble::workers;
use crate::exit::Problem;
use crate::output;
use crate::output::status_line::{self, StatusLinePause};

const NAME: &str = "chibi";

/// The plugins of chibi.
struct Chibi(Plugins);

/// Finds them. Runs those of which nothing is kept. None where there are none.
pub(super) async fn open(assembly: &Assembly) -> Result<Option<Arc<dyn Dialect>>, Problem> {
    if assembly.global.safe {
        return Ok(None);
    }
    let (candidates, problems) = found(assembly);
    report(&problems);
    if candidates.is_empty() {
        return Ok(None);
    }
    let open =
        Plugins::open(candidates, settings(assembly)?, assembly.mode(), assembly.directories());
    let plugins = open.await;
    report(&plugins.problems);
    if plugins.hears_of_agents() {
        plugins.learn_agents(agents(assembly));
    }
    Ok(Some(Arc::new(Chibi(plugins))))
}

/// All of them, without running any.
pub(super) fn named(assembly: &Assembly) -> Vec<Named> {
    let (candidates, _) = found(assembly);
    candidates
        .iter()
        .map(|it| Named { version: String::new(), ..Named::plugin(&it.plugin, NAME) })
        .collect()
}

fn report(problems: &[Fault]) {
    for problem in problems {
        output::warning(&format!("{problem} ({})", problem.hint));
    }
}

/// The plugins by name; of two with one name the later counts.
fn found(assembly: &Assembly) -> (Vec<Candidate>, Vec<Fault>) {
    let mut by_name: BTreeMap<String, Candidate> = BTreeMap::new();
    let mut problems = Vec::new();
    for (directory, place) in places(assembly) {
        let search = find(&directory, place, assembly.directories());
        problems.extend(search.problems);
        let mut told = false;
        for mut candidate in search.candidates {
            match trust(assembly, &candidate) {
                Trust::Given => {}
                Trust::Missing => candidate.plugin.trusted = false,
                Trust::Refused { what, hint } => {
                    candidate.plugin.trusted = false;
                    if !told {
                        problems.push(Fault::new(&directory, what, hint));
                    }
                    told = place != Place::Project;
                }
            }
            let name = candidate.plugin.name().to_owned();
            // What is not trusted takes nobody's place.
            if candidate.plugin.trusted || !by_name.contains_key(&name) {
                by_name.insert(name, candidate);
            }
        }
    }
    let mut candidates: Vec<Candidate> = by_name.into_values().collect();
    let plugins = candidates.iter_mut().map(|candidate| &mut candidate.plugin);
    problems.extend(plugin_set::configure(assembly, NAME, plugins));
    (candidates, problems)
}

/// Whether a plugin may be used: trusted by itself, or with a directory of the project that was trusted
/// as a whole.
fn trust(assembly: &Assembly, candidate: &Candidate) -> Trust {
    let (directory, root, place) =
        (&candidate.directory, &candidate.plugin.root, candidate.plugin.place);
    let is_inside = assembly.root().is_ok_and(|workspace| directory.starts_with(workspace));
    if place == Place::Project || !is_inside {
        return plugin_set::trust(assembly, root, place);
    }
    let whole = plugin_set::trust(assembly, directory, place);
    if whole == Trust::Given || root == directory || !root.is_dir() {
        return whole;
    }
    match plugin_set::trust(assembly, root, place) {
        Trust::Given => Trust::Given,
        Trust::Missing | Trust::Refused { .. } => whole,
    }
}

/// The directory of plugins of chibi's own, where the user says that it counts.
pub(crate) fn own_directory(run: &RunContext) -> Option<PathBuf> {
    wants_home(run).then(|| home(run).join("plugins"))
}

/// Where they are looked for: in every directory of plugins, and in chibi's own where the user says
/// so.
fn places(assembly: &Assembly) -> Vec<(PathBuf, Place)> {
    let mut places = Vec::new();
    places.extend(own_directory(assembly).map(|directory| (directory, Place::Configured)));
    places.extend(plugin_set::directories(assembly));
    places
}

/// Whether `plugins.chibi.home` is on.
fn wants_home(run: &RunContext) -> bool {
    let own = run.config().plugins.each.get(NAME).map(|entry| &entry.own);
    own.and_then(|own| own.get("home")) == Some(&true.into())
}

/// The directory that chibi keeps its files in.
fn home(run: &RunContext) -> PathBuf {
    let environment = &run.environment;
    let usual = || environment.home.clone().unwrap_or_default().join(".chibi");
    environment.variable("CHIBI_HOME").map_or_else(usual, |named| environment.cwd.join(named))
}

/// Which agents work can be handed to.
fn agents(assembly: &Assembly) -> Agents {
    let list = AgentList::find(assembly);
    let models = &assembly.config().models;
    let configured = assembly.is_configured(&["models", "default"]).then(|| models.default.clone());
    let usual = assembly.global.model.clone().or(configured);
    Arc::new(move |name| {
        let (instructions, model) = match &list.get(name.unwrap_or(PLAIN))?.kind {
            Kind::Plain => (None, None),
            Kind::File(file) => (Some(file.body.clone()), file.model.clone()),
            Kind::Role(file) => {
                let role = role::read(file).role?;
                (Some(role.prompt), role.model.name)
            }
        };
        Some(Agent { instructions, model: model.or_else(|| usual.clone()) })
    })
}

fn settings(assembly: &Assembly) -> Result<Settings, Problem> {
    let directory = assembly.cache_dir()?;
    Ok(Settings {
        kept: directory.join("cache/chibi.json"),
        data: directory.join("plugin-data"),
        sandbox: assemble::confinement::sandbox(assembly)?,
        surroundings: workers::surroundings(assembly),
        home: home(assembly),
        is_verbose: assembly.config().behavior.verbose,
        is_confined: !assembly.is_unconfined(),
        on_output: Arc::new(output::plugin),
        console: has_person(assembly).then(|| Arc::new(terminal) as Console),
    })
}

/// Whether somebody sits at a terminal and reads what is said there.
fn has_person(run: &RunContext) -> bool {
    let terminal = run.environment.terminal;
    let is_text = run.format() == OutputFormat::Text;
    terminal.stdin && terminal.stderr && is_text && !status_line::is_full_screen()
}

/// The terminal of this program, opened so that nobody waits in vain for what is typed there.
fn terminal() -> io::Result<ChannelEnds> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open("/dev/tty")?;
    let reader = Receiver::from_file_unchecked(file.try_clone()?)?;
    let writer = Asking { writer: Sender::from_file_unchecked(file)?, status_line: None };
    Ok(ChannelEnds { reader: Box::new(reader), writer: Box::new(writer) })
}

/// The terminal as a plugin writes to it. From its first word on nothing else moves there.
struct Asking {
    writer: Sender,
    status_line: Option<StatusLinePause>,
}

impl AsyncWrite for Asking {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.status_line.get_or_insert_with(StatusLinePause::new);
        Pin::new(&mut self.writer).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(context)
    }
}

#[async_trait]
impl Dialect for Chibi {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.0.tools()
    }

    fn hooks(&self) -> Vec<Arc<dyn Hook>> {
        self.0.hooks()
    }

    fn project_guards(&self) -> Vec<(String, String)> {
        self.0.project_guards()
    }

    fn listing(&self) -> Vec<Listed> {
        let listed = self.0.listing().into_iter().map(|listed| Listed {
            name: listed.name,
            dialect: NAME,
            path: listed.path.display().to_string(),
            enabled: listed.enabled,
            trusted: Some(listed.trusted),
            report: listed.report,
            ..Listed::default()
        });
        listed.collect()
    }

    fn set_mode(&self, mode: Mode) {
        self.0.set_mode(mode);
    }

    async fn shutdown(&self) {
        // A call's process ends with the call.
    }
}
