//! Tool types of InitRunner's roles, and the Python of a role, which runs confined.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use contract::policy::Mode;
use contract::python::PythonHost;
use contract::sandbox::Network;
use contract::tool::Tool;

use super::{Dialect, Named};
use crate::discovery::Trust;
use crate::env::PluginEnv;
use crate::index::Index;
use crate::initrunner::custom::{self, Depth, RolePython, Wanted};
use crate::initrunner::registry::{self, Maker, Point, TypeFile, Types};
use crate::initrunner::{Entry, EntryProblem, RoleFacts, kind};
use crate::learned::LearnedTexts;
use crate::manifest;
use crate::open_plugins::Listed;
use crate::plugin::{PluginSettings, ReportLine};

const NAME: &str = "initrunner";

const LONGEST_DESCRIPTION: usize = 500;

pub(super) struct InitRunner;

#[async_trait]
impl Dialect for InitRunner {
    fn named(&self, env: &PluginEnv<'_>) -> Vec<Named> {
        let switches = env.switches();
        let named = installed(env, env.sites()).into_iter().map(|point| {
            let is_off = env.is_off(&switches, NAME, &point.name);
            let (version, description) = (point.version, point.summary);
            Named { version, description, ..Named::switched(NAME, point.name, is_off) }
        });
        named.collect()
    }

    fn unopened(&self, env: &PluginEnv<'_>) -> Vec<Listed> {
        let switches = env.switches();
        let mut listing = Vec::new();
        let mut list = |name: &str, path: &Path, enabled, report| {
            let (name, path) = (name.to_owned(), path.display().to_string());
            let listed = Listed { name, dialect: NAME, path, enabled, report, ..Listed::default() };
            listing.push(listed);
        };
        for point in installed(env, env.sites()) {
            let Point { name, package, version, summary, .. } = &point;
            let about = if summary.is_empty() { String::new() } else { format!(": {summary}") };
            let kind = format!("tool type `{name}` of {package} {version}{about}");
            let origin = format!("it comes from {}", point.object);
            let report = [kind, origin].map(ReportLine::Note).into();
            list(name, &point.root, !env.is_off(&switches, NAME, name), report);
        }
        for file in files_of_directories(env) {
            for kind in &file.kinds {
                let line = ReportLine::Note(format!("tool type `{kind}` of a single file"));
                list(kind, &file.path, true, vec![line]);
            }
        }
        listing
    }

    fn is_in_directories(&self) -> bool {
        false
    }
}

#[derive(Default)]
pub struct Loaded {
    python: Option<RolePython>,
    /// The numbers of entries among those that are Python, by their numbers among all.
    numbers: BTreeMap<usize, usize>,
    pub findings: Vec<EntryProblem>,
}

/// Returns true if the tools of an entry are Python.
pub fn is_python(env: &PluginEnv<'_>, role: &RoleFacts<'_>, entry: &Entry) -> bool {
    match registry::maker(entry) {
        Maker::BuiltIn => false,
        Maker::Python => true,
        Maker::PythonIfBrought => types(env, role).brings(kind(entry)),
    }
}

impl Loaded {
    pub async fn close(&self) {
        if let Some(python) = &self.python {
            python.close().await;
        }
    }

    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.python.iter().flat_map(RolePython::files)
    }

    pub fn summary(&self, index: usize) -> Option<&str> {
        self.python.as_ref()?.summary(*self.numbers.get(&index)?)
    }

    pub fn tools(&self, index: usize) -> Vec<Arc<dyn Tool>> {
        let python = self.python.as_ref().zip(self.numbers.get(&index));
        python.map(|(python, number)| python.tools(*number)).unwrap_or_default()
    }
}

pub fn check(
    env: &PluginEnv<'_>,
    role: &RoleFacts<'_>,
    (place, entry): (&str, &Entry),
) -> Vec<EntryProblem> {
    let problem = |is_error, message| EntryProblem { place: place.to_owned(), message, is_error };
    if env.is_safe {
        let what = "with `--safe` no Python runs, so it is left out".to_owned();
        return vec![problem(false, what)];
    }
    if kind(entry) == "custom" {
        return custom::check(role, entry, place);
    }
    let missing = types(env, role).missing(kind(entry));
    missing.map(|what| problem(true, what)).into_iter().collect()
}

/// Returns true if a command that only looks may run the Python of a role: it is not in the project,
/// the user trusts its bytes, or all of it belongs to packages that the user has installed.
pub fn may_run(env: &PluginEnv<'_>, role: &RoleFacts<'_>, entries: &[&Entry]) -> bool {
    if is_trusted(env, role) {
        return true;
    }
    let files = Types { points: Vec::new(), files: Types::of_files(role.directory()) };
    let is_own = |entry: &&Entry| kind(entry) == "custom" || files.has_file(kind(entry));
    !has_venv(role) && !entries.iter().any(is_own)
}

/// Returns true if a role is the user's own, is in the directory of the role file that the command
/// names, or belongs to a trusted project. Files in a repository came with it.
pub fn is_trusted(env: &PluginEnv<'_>, role: &RoleFacts<'_>) -> bool {
    let directory = role.directory();
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let named = env.settings.role_file.map(|file| env.cwd.join(file));
    let named = named.and_then(|file| file.canonicalize().ok());
    let is_named = named.is_some_and(|named| {
        let parent = if named.is_dir() { Some(named.as_path()) } else { named.parent() };
        parent.is_some_and(|parent| directory.starts_with(parent))
    });
    let is_own = own_directories(env).any(|own| directory.starts_with(own));
    if is_named || is_own {
        return true;
    }
    let project = env.root.filter(|root| directory.starts_with(root));
    if project.is_some_and(|root| directory.starts_with(root.join(".brynhild"))) {
        return env.program.is_trusted(&directory);
    }
    let is_cloned =
        directory.ancestors().any(|above| above.join(".git").symlink_metadata().is_ok());
    project.is_none() && !is_cloned
}

fn own_directories(env: &PluginEnv<'_>) -> impl Iterator<Item = PathBuf> {
    let home = env.home.map(|home| home.join(".initrunner/roles"));
    let directories = env.config_dir.map(Path::to_owned).into_iter().chain(home);
    directories.filter_map(|directory| directory.canonicalize().ok())
}

/// Tells which variables the entries of a role name that it does not get before it is trusted.
pub fn tell_withheld(env: &PluginEnv<'_>, role: &RoleFacts<'_>, entries: &[&Entry]) {
    let variables = set_variables(env, entries);
    if !variables.is_empty() {
        let names = variables.join("}`, `${");
        tell_untrusted(env, role, &format!("`${{{names}}}` stays as it is written"));
    }
}

fn set_variables(env: &PluginEnv<'_>, entries: &[&Entry]) -> Vec<String> {
    let named = custom::variables(entries).into_iter();
    named.filter(|name| env.variable(name).is_some()).collect()
}

fn tell_untrusted(env: &PluginEnv<'_>, role: &RoleFacts<'_>, what: &str) {
    let (name, directory) = (role.name, role.directory().display());
    env.program.warn(&format!("the role {name} belongs to an untrusted project: {what}"));
    env.program.hint(&format!("name a role file in {directory} on the command line to trust it"));
}

pub fn has_venv(role: &RoleFacts<'_>) -> bool {
    [".venv", "venv"].iter().any(|name| role.directory().join(name).symlink_metadata().is_ok())
}

/// Loads the entries of a role that are Python, from the cache or by a confined worker. None if the
/// program has no means to run one.
pub async fn load(
    env: &PluginEnv<'_>,
    role: &RoleFacts<'_>,
    entries: &[&Entry],
    depth: Depth,
) -> Option<Loaded> {
    let is_python = |entry: &Entry| is_python(env, role, entry);
    let own: Vec<(usize, &Entry)> =
        entries.iter().copied().enumerate().filter(|(_, entry)| is_python(entry)).collect();
    if own.is_empty() || env.is_safe {
        return Some(Loaded::default());
    }
    let mut loaded = Loaded::default();
    let mut wanted = Wanted {
        role,
        entries: own.iter().map(|(_, entry)| *entry).collect(),
        types: Types::default(),
        sites: Vec::new(),
        depth,
    };
    if wanted.entries.iter().any(|entry| kind(entry) != "custom") {
        wanted.types = types(env, role);
        wanted.sites = wanted.types.points.iter().map(|point| point.site.clone()).collect();
        wanted.sites.dedup();
    }
    let settings = match depth {
        Depth::Run => settings(env, &wanted),
        Depth::Look => PluginSettings::default(),
    };
    let plugin = custom::plugin(&wanted, settings);
    let points = std::mem::take(&mut wanted.types.points);
    let python = RolePython::open(&env.program.runtime()?.python, plugin).await;
    for (number, (index, entry)) in own.into_iter().enumerate() {
        let place = entry_place(index);
        loaded.findings.extend(python.findings(number, entry, &place));
        loaded.numbers.insert(index, number);
    }
    if depth == Depth::Run && !python.said().is_empty() {
        descriptions(env).learn(points.iter().filter_map(|it| described(it, python.said())));
    }
    loaded.python = Some(python);
    Some(loaded)
}

/// The user's settings of a role. A file that came with a project has a name that somebody else
/// chose: it gets nothing by it before the user trusts its directory.
fn settings(env: &PluginEnv<'_>, wanted: &Wanted<'_>) -> PluginSettings {
    let role = wanted.role;
    let mut plugin = custom::plugin(wanted, PluginSettings::default());
    plugin.settings = PluginSettings::default();
    let problems = env.configure(NAME, &env.switches(), [&mut plugin]);
    env.report_all(&problems);
    let mut settings = plugin.settings;
    if is_trusted(env, role) {
        settings.grants.env.extend(set_variables(env, &wanted.entries));
        settings.grants.env.sort();
        settings.grants.env.dedup();
        return settings;
    }
    let name = role.name;
    if settings.grants == PluginSettings::default().grants {
        tell_withheld(env, role, &wanted.entries);
    } else {
        tell_untrusted(env, role, &format!("what `plugins.{name}.sandbox` grants does not count"));
    }
    PluginSettings { timeout: settings.timeout, ..PluginSettings::default() }
}

/// The network that the user granted a role for the programs of its tools.
pub struct GrantedNetwork {
    /// The network at this moment: in read-only mode there is none.
    pub network: Arc<dyn Fn() -> Network + Send + Sync>,
    /// The advice that would let its programs out.
    pub remedy: String,
}

pub fn network(
    env: &PluginEnv<'_>,
    role: &RoleFacts<'_>,
    host: Option<Arc<dyn PythonHost>>,
) -> GrantedNetwork {
    let name = role.name;
    let is_trusted = is_trusted(env, role);
    let entry = env.program.entry(name).filter(|_| is_trusted);
    let grants = entry.map(|entry| manifest::permissions(entry.sandbox).0).unwrap_or_default();
    let granted = grants.network.granted(name);
    let is_open = move || host.as_ref().is_some_and(|host| host.mode() != Mode::ReadOnly);
    let remedy = if is_trusted {
        format!("the user can grant it with `brynhild plugin grant {name} --network`")
    } else {
        format!("the role belongs to an untrusted project, so no grant for `{name}` counts")
    };
    GrantedNetwork {
        network: Arc::new(move || if is_open() { granted.clone() } else { Network::None }),
        remedy,
    }
}

pub fn entry_place(index: usize) -> String {
    format!("tools[{index}]")
}

fn types(env: &PluginEnv<'_>, role: &RoleFacts<'_>) -> Types {
    let mut files = Types::of_files(role.directory());
    files.extend(files_of_directories(env));
    Types { points: points(env, role.directory()), files }
}

/// The installed types that a role's Python finds, without those that are switched off.
fn points(env: &PluginEnv<'_>, directory: &Path) -> Vec<Point> {
    let state = env.switches();
    let mut points = installed(env, &sites(env, directory));
    points.retain(|point| !env.is_off(&state, NAME, &point.name));
    points
}

/// The directories of packages for files in a directory: those of its own venv, or the usual ones.
fn sites(env: &PluginEnv<'_>, directory: &Path) -> Vec<PathBuf> {
    let venvs = [".venv", "venv"].map(|name| directory.join(name).join("bin/python"));
    let Some(python) = venvs.into_iter().find(|python| python.symlink_metadata().is_ok()) else {
        return env.sites().to_vec();
    };
    env.program.sites(&python)
}

fn installed(env: &PluginEnv<'_>, sites: &[PathBuf]) -> Vec<Point> {
    let mut index = Index::load(env.config_dir.map(|dir| dir.join("cache/plugins.json")));
    let mut points = Types::of_packages(sites, &mut index);
    index.save();
    let descriptions = descriptions(env);
    for point in &mut points {
        if let Some(description) = descriptions.get(&description_key(point)) {
            description.clone_into(&mut point.summary);
        }
    }
    points
}

fn descriptions(env: &PluginEnv<'_>) -> LearnedTexts {
    LearnedTexts::load(env.config_dir, "tool-types.json")
}

fn description_key(point: &Point) -> String {
    format!("{} {} {}", point.package, point.version, point.object)
}

/// The description that a type gave of itself, in one line.
fn described(point: &Point, said: &BTreeMap<String, String>) -> Option<(String, String)> {
    let text = said.get(&point.object).filter(|text| !text.trim().is_empty())?;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = contract::text::visible(contract::text::head(&line, LONGEST_DESCRIPTION));
    Some((description_key(point), line.into_owned()))
}

fn files_of_directories(env: &PluginEnv<'_>) -> Vec<TypeFile> {
    let mut files = Vec::new();
    for (directory, place) in env.plugin_directories() {
        let Ok(directory) = directory.canonicalize() else { continue };
        let found = Types::of_files(&directory);
        if !found.is_empty() && env.program.trust(&directory, place) == Trust::Given {
            files.extend(found);
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn description_of_a_type_is_kept_per_package_version() {
        let directory = tempfile::tempdir().unwrap();
        let texts = || LearnedTexts::load(Some(directory.path()), "types.json");
        let point = |version: &str| Point {
            name: "slack".into(),
            object: "s:make".into(),
            package: "p".into(),
            version: version.into(),
            summary: "a package".into(),
            root: PathBuf::new(),
            site: PathBuf::new(),
        };
        let said = BTreeMap::from([("s:make".to_owned(), "Send\n  messages".to_owned())]);
        texts().learn(described(&point("1"), &said));
        assert_eq!(texts().get(&description_key(&point("1"))), Some("Send messages"));
        assert_eq!(texts().get(&description_key(&point("2"))), None);
        let blank = BTreeMap::from([("s:make".to_owned(), " ".to_owned())]);
        assert_eq!(described(&point("1"), &blank), None);
    }
}
