//! The Python behind tools of InitRunner roles: where tool types are found, and what the user
//! says of a role. What is installed is listed without running it; a role has its own run, confined.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::policy::Mode;
use contract::sandbox::Network;
use contract::tool::Tool;
use plugins::discovery::Trust;
use plugins::entry_points::{self, Surroundings};
use plugins::index::Index;
use plugins::initrunner::builtin::Granted;
use plugins::initrunner::custom::{self, Depth, RolePython, Wanted};
use plugins::initrunner::registry::{self, Maker, Point, TypeFile, Types};
use plugins::initrunner::role::{Finding, Role, Severity, ToolEntry};
use plugins::initrunner::said::Said;
use plugins::manifest;
use plugins::plugin::PluginSettings;

use super::{Listed, Named};
use crate::assemble::assembly::Assembly;
use crate::assemble::plugin_set;
use crate::assemble::run_context::RunContext;
use crate::exit::Problem;
use crate::output;

const NAME: &str = "initrunner";

/// The Python of a role, loaded as far as it could be.
#[derive(Default)]
pub(crate) struct Loaded {
    python: Option<RolePython>,
    /// The numbers of entries among those that are Python, by their numbers among all.
    numbers: BTreeMap<usize, usize>,
    /// What there is to say about the entries.
    pub(crate) findings: Vec<Finding>,
}

/// Whether the tools of an entry are Python.
pub(crate) fn is_python(assembly: &Assembly, role: &Role, entry: &ToolEntry) -> bool {
    match registry::maker(entry) {
        Maker::BuiltIn => false,
        Maker::Python => true,
        Maker::PythonIfBrought => types(assembly, role).brings(&entry.kind),
    }
}

impl Loaded {
    /// Ends what runs, for whoever only wanted to know.
    pub(crate) async fn close(&self) {
        if let Some(python) = &self.python {
            python.close().await;
        }
    }

    /// The files and directories that it was loaded from.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        self.python.iter().flat_map(RolePython::files)
    }

    /// What the configuration of an entry says of itself, by its number among all.
    pub(crate) fn summary(&self, index: usize) -> Option<&str> {
        self.python.as_ref()?.summary(*self.numbers.get(&index)?)
    }

    /// The tools of an entry, by its number among all.
    pub(crate) fn tools(&self, index: usize) -> Vec<Arc<dyn Tool>> {
        let python = self.python.as_ref().zip(self.numbers.get(&index));
        python.map(|(python, number)| python.tools(*number)).unwrap_or_default()
    }
}

/// What is wrong with an entry that is Python, as far as that is told without running anything.
pub(crate) fn check(
    assembly: &Assembly,
    role: &Role,
    (place, entry): (&str, &ToolEntry),
) -> Vec<Finding> {
    let finding = |severity, message| Finding { severity, path: place.to_owned(), message };
    if assembly.global.safe {
        let what = "with `--safe` no Python runs, so it is left out".to_owned();
        return vec![finding(Severity::Warning, what)];
    }
    if entry.kind == "custom" {
        return custom::check(role, entry, place);
    }
    let missing = types(assembly, role).missing(&entry.kind);
    missing.map(|what| finding(Severity::Error, what)).into_iter().collect()
}

/// Whether those who only look may have the Python of a role run: it does not lie in the project,
/// the user trusts its bytes, or all of it belongs to packages that the user has installed.
pub(crate) fn may_run(assembly: &Assembly, role: &Role, entries: &[&ToolEntry]) -> bool {
    if is_trusted(assembly, role) {
        return true;
    }
    let files = Types { points: Vec::new(), files: Types::of_files(role.directory()) };
    let is_own = |entry: &&ToolEntry| entry.kind == "custom" || files.has_file(&entry.kind);
    !has_venv(role) && !entries.iter().any(is_own)
}

/// Returns true if a role is the user's own, is in the directory of the role file that the command
/// names, or belongs to a trusted project. Files in a repository came with it.
pub(crate) fn is_trusted(assembly: &Assembly, role: &Role) -> bool {
    let directory = role.directory();
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let named = assembly.global.role_file.as_ref().map(|file| assembly.environment.cwd.join(file));
    let named = named.and_then(|file| file.canonicalize().ok());
    let is_named = named.is_some_and(|named| {
        let parent = if named.is_dir() { Some(named.as_path()) } else { named.parent() };
        parent.is_some_and(|parent| directory.starts_with(parent))
    });
    let is_own = own_directories(assembly).any(|own| directory.starts_with(own));
    if is_named || is_own {
        return true;
    }
    let project = assembly.root().ok().filter(|root| directory.starts_with(root));
    if project.is_some_and(|root| directory.starts_with(root.join(".brynhild"))) {
        return assembly.trust.is_trusted_for(&[&directory], assembly.trusted_roots());
    }
    let is_cloned =
        directory.ancestors().any(|above| above.join(".git").symlink_metadata().is_ok());
    project.is_none() && !is_cloned
}

/// The directories in which the user keeps roles.
fn own_directories(run: &RunContext) -> impl Iterator<Item = PathBuf> {
    let home = run.environment.home.as_ref().map(|home| home.join(".initrunner/roles"));
    let directories = run.loaded.config_dir.clone().into_iter().chain(home);
    directories.filter_map(|directory| directory.canonicalize().ok())
}

/// Says which variables the entries of a role name that it does not get before it is trusted.
pub(crate) fn tell_withheld(run: &RunContext, role: &Role, entries: &[&ToolEntry]) {
    let variables = set_variables(run, entries);
    if !variables.is_empty() {
        tell_untrusted(
            role,
            &format!("`${{{}}}` stays as it is written", variables.join("}`, `${")),
        );
    }
}

/// The variables that entries name and that have a value.
fn set_variables(run: &RunContext, entries: &[&ToolEntry]) -> Vec<String> {
    let named = custom::variables(entries).into_iter();
    named.filter(|name| run.environment.variable(name).is_some()).collect()
}

fn tell_untrusted(role: &Role, what: &str) {
    let (name, directory) = (&role.name, role.directory().display());
    output::warning(&format!("the role {name} came with a project that is not trusted: {what}"));
    output::hint(&format!("name a role file in {directory} on the command line to trust it"));
}

/// Whether an interpreter lies beside a role.
pub(crate) fn has_venv(role: &Role) -> bool {
    [".venv", "venv"].iter().any(|name| role.directory().join(name).symlink_metadata().is_ok())
}

/// Loads the entries of a role that are Python: from what is kept, else by a confined worker, which
/// goes as far as it is told.
pub(crate) async fn load(
    assembly: &Assembly,
    role: &Role,
    entries: &[&ToolEntry],
    depth: Depth,
) -> Result<Loaded, Problem> {
    let is_python = |entry: &ToolEntry| is_python(assembly, role, entry);
    let own: Vec<(usize, &ToolEntry)> =
        entries.iter().copied().enumerate().filter(|(_, entry)| is_python(entry)).collect();
    if own.is_empty() || assembly.global.safe {
        return Ok(Loaded::default());
    }
    let mut loaded = Loaded::default();
    let mut wanted = Wanted {
        role,
        entries: own.iter().map(|(_, entry)| *entry).collect(),
        types: Types::default(),
        sites: Vec::new(),
        depth,
    };
    if wanted.entries.iter().any(|entry| entry.kind != "custom") {
        wanted.types = types(assembly, role);
        wanted.sites = wanted.types.points.iter().map(|point| point.site.clone()).collect();
        wanted.sites.dedup();
    }
    let settings = match depth {
        Depth::Run => settings(assembly, &wanted),
        Depth::Look => PluginSettings::default(),
    };
    let plugin = custom::plugin(&wanted, settings);
    let points = std::mem::take(&mut wanted.types.points);
    let python = RolePython::open(&assembly.python()?.python, plugin).await;
    for (number, (index, entry)) in own.into_iter().enumerate() {
        let place = crate::assemble::role::place(index);
        loaded.findings.extend(python.findings(number, entry, &place));
        loaded.numbers.insert(index, number);
    }
    if depth == Depth::Run && !python.said().is_empty() {
        said(assembly).learn(&points, python.said());
    }
    loaded.python = Some(python);
    Ok(loaded)
}

/// What the user's configuration says of a role. A file that came with a project has a name that
/// somebody else chose: it gets nothing by it before the user trusts its directory.
fn settings(assembly: &Assembly, wanted: &Wanted<'_>) -> PluginSettings {
    let role = wanted.role;
    let mut plugin = custom::plugin(wanted, PluginSettings::default());
    plugin.settings = PluginSettings::default();
    for problem in plugin_set::configure(assembly, NAME, std::iter::once(&mut plugin)) {
        output::warning(&format!("{problem} ({})", problem.hint));
    }
    let mut settings = plugin.settings;
    if is_trusted(assembly, role) {
        settings.grants.env.extend(set_variables(assembly, &wanted.entries));
        settings.grants.env.sort();
        settings.grants.env.dedup();
        return settings;
    }
    let name = &role.name;
    if settings.grants == PluginSettings::default().grants {
        tell_withheld(assembly, role, &wanted.entries);
    } else {
        tell_untrusted(role, &format!("what `plugins.{name}.sandbox` grants does not count"));
    }
    PluginSettings { timeout: settings.timeout, ..PluginSettings::default() }
}

/// What the user granted a role of the network, for the programs of its built-in tools.
pub(crate) fn network(assembly: &Assembly, role: &Role) -> Granted {
    let name = &role.name;
    let is_trusted = is_trusted(assembly, role);
    let entry = assembly.config().plugins.each.get(name).filter(|_| is_trusted);
    let grants = entry.map(|entry| manifest::wishes(&entry.sandbox).0).unwrap_or_default();
    let granted = grants.network.granted(name);
    let host = assembly.python().ok().map(|python| Arc::clone(python.python.host()));
    let is_open = move || host.as_ref().is_some_and(|host| host.mode() != Mode::ReadOnly);
    let remedy = if is_trusted {
        format!("`plugins.{name}.sandbox.network: true` in the user's configuration lets it out")
    } else {
        format!("the role came with a project that is not trusted, so no grant for `{name}` counts")
    };
    Granted {
        network: Arc::new(move || if is_open() { granted.clone() } else { Network::None }),
        remedy,
    }
}

/// The tool types that a role can have beside the built-in ones.
fn types(assembly: &Assembly, role: &Role) -> Types {
    let mut files = Types::of_files(role.directory());
    files.extend(files_of_directories(assembly));
    Types { points: points(assembly, role.directory()), files }
}

/// The types that are installed where a role's Python looks, without those that are switched off.
fn points(assembly: &Assembly, directory: &Path) -> Vec<Point> {
    let state = plugin_set::state(assembly);
    let mut points = installed(assembly, &sites(assembly, directory));
    points.retain(|point| !plugin_set::is_off(assembly, &state, NAME, &point.name));
    points
}

/// The directories of packages for what lies in a directory: those of its own venv, or the usual ones.
fn sites(assembly: &Assembly, directory: &Path) -> Vec<PathBuf> {
    let venvs = [".venv", "venv"].map(|name| directory.join(name).join("bin/python"));
    let Some(python) = venvs.into_iter().find(|python| python.symlink_metadata().is_ok()) else {
        return plugin_set::sites(assembly).to_vec();
    };
    let surroundings = Surroundings {
        path: assembly.environment.variable("PATH").unwrap_or_default(),
        python_path: "",
        home: assembly.environment.home.as_deref(),
    };
    entry_points::sites(&python, surroundings)
}

fn installed(run: &RunContext, sites: &[PathBuf]) -> Vec<Point> {
    let config_dir = run.loaded.config_dir.as_deref();
    let mut index = Index::load(config_dir.map(|dir| dir.join("cache/plugins.json")));
    let mut points = Types::of_packages(sites, &mut index);
    index.save();
    let said = said(run);
    for point in &mut points {
        said.apply(point);
    }
    points
}

/// What tool types said of themselves.
fn said(run: &RunContext) -> Said {
    let config_dir = run.loaded.config_dir.as_deref();
    Said::load(config_dir.map(|dir| dir.join("cache/tool-types.json")))
}

/// The files with types in the directories of plugins, as far as they are trusted.
fn files_of_directories(assembly: &Assembly) -> Vec<TypeFile> {
    let mut files = Vec::new();
    for (directory, place) in plugin_set::directories(assembly) {
        let Ok(directory) = directory.canonicalize() else { continue };
        let found = Types::of_files(&directory);
        if !found.is_empty() && plugin_set::trust(assembly, &directory, place) == Trust::Given {
            files.extend(found);
        }
    }
    files
}

/// All tool types that are installed, without running any.
pub(super) fn named(assembly: &Assembly) -> Vec<Named> {
    let state = plugin_set::state(assembly);
    let points = installed(assembly, plugin_set::sites(assembly)).into_iter();
    let named = points.map(|point| Named {
        state: if plugin_set::is_off(assembly, &state, NAME, &point.name) {
            "disabled"
        } else {
            "enabled"
        },
        name: point.name,
        system: NAME,
        version: point.version,
        description: point.summary,
        sleeps: false,
        held_off: None,
    });
    named.collect()
}

/// The same for people, with the types of single files in the directories of plugins.
pub(crate) fn listing(assembly: &Assembly) -> Vec<Listed> {
    if assembly.global.safe {
        return Vec::new();
    }
    let state = plugin_set::state(assembly);
    let is_on = |name: &str| !plugin_set::is_off(assembly, &state, NAME, name);
    let mut listing = Vec::new();
    for point in installed(assembly, plugin_set::sites(assembly)) {
        let (package, version) = (&point.package, &point.version);
        let about =
            if point.summary.is_empty() { String::new() } else { format!(": {}", point.summary) };
        listing.push(Listed {
            enabled: is_on(&point.name),
            report: vec![
                format!("tool type `{}` of {package} {version}{about}", point.name),
                format!("it comes from {}", point.object),
            ],
            name: point.name,
            dialect: NAME,
            path: point.root.display().to_string(),
            ..Listed::default()
        });
    }
    for file in files_of_directories(assembly) {
        for kind in &file.kinds {
            listing.push(Listed {
                name: kind.clone(),
                dialect: NAME,
                path: file.path.display().to_string(),
                enabled: true,
                report: vec![format!("tool type `{kind}` of a single file")],
                ..Listed::default()
            });
        }
    }
    listing
}
