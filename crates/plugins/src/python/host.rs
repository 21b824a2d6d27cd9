//! What all workers share: the settings, the payload, the interpreters.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use contract::policy::Mode;
use contract::tool::Tool;

use super::cache::{Cache, Key};
use super::description::LeftOut;
use super::interpreter::{self, Interpreter, Seen};
use super::undeclared::Undeclared;
use super::{HostSettings, Missing, payload, undeclared, venv};
use crate::confine::home_among;
use crate::fingerprint::{Fingerprint, environment_hash, is_among_others, settings_hash};
use crate::hash::short_hash;
use crate::plugin::{Dialect, Plugin};
use crate::remedy;

/// Why a plugin has no interpreter.
pub(crate) enum Unready {
    /// There is none that works; what to do is among the words.
    Failed(String),
    /// These packages are not installed yet.
    NotInstalled(Vec<String>),
}

/// An interpreter for a plugin.
pub(crate) struct Chosen {
    pub(crate) seen: Seen,
    /// Packages that the plugin lists and may do without.
    pub(crate) missing: Vec<String>,
}

/// What all workers share.
pub(crate) struct Host {
    pub(crate) settings: HostSettings,
    pub(crate) cache: Cache,
    pub(crate) undeclared: Undeclared,
    mode: Mutex<Mode>,
    payload: OnceLock<Result<PathBuf, String>>,
    shared: tokio::sync::Mutex<Option<Seen>>,
    refreshed: Mutex<Vec<Arc<dyn Tool>>>,
    /// The plugins of our own that count at the moment, by name; none where nobody has said.
    active: Mutex<Option<BTreeSet<String>>>,
    /// The plugins whose user knows what to grant them.
    advised: Mutex<BTreeSet<String>>,
    /// The plugins that run without the packages they declare for the moment.
    bare: Mutex<BTreeSet<PathBuf>>,
    /// Packages that plugins get with their first call.
    expected: Mutex<BTreeMap<PathBuf, Vec<String>>>,
    /// Files that are not loaded, by their plugins: several may share a directory.
    left_out: Mutex<BTreeMap<Owner, LeftOut>>,
}

impl Host {
    pub(crate) fn new(settings: HostSettings) -> Self {
        Self {
            cache: Cache::new(
                &settings.state.join("descriptions"),
                &environment_hash(&settings.surroundings),
            ),
            undeclared: Undeclared::new(settings.state.join("undeclared.json")),
            mode: Mutex::new(settings.mode),
            payload: OnceLock::new(),
            shared: tokio::sync::Mutex::new(None),
            refreshed: Mutex::default(),
            active: Mutex::default(),
            advised: Mutex::default(),
            bare: Mutex::default(),
            expected: Mutex::default(),
            left_out: Mutex::default(),
            settings,
        }
    }

    /// What the description of a plugin depends on, and a hash of what its running process does.
    pub(crate) fn key(
        &self,
        plugin: &Plugin,
        interpreter: &Seen,
        files: &Fingerprint,
    ) -> (Key, String) {
        let surroundings = &self.settings.surroundings;
        // A role's tool types may come from any package.
        let needs_packages =
            is_among_others(plugin) || plugin.settings.own.contains_key("entry_points");
        let packages = if needs_packages { &interpreter.packages } else { "" };
        let base =
            [&interpreter.identity, packages, &settings_hash(plugin, surroundings)].join("\n");
        let hash = |files: &str| short_hash(format!("{base}\n{files}").as_bytes());
        let key = Key {
            plugin: plugin_key(plugin),
            hash: hash(&files.description),
            packages: interpreter.packages.clone(),
            search_path: surroundings.env.get("PATH").cloned().unwrap_or_default(),
        };
        (key, hash(&files.process))
    }

    /// Takes note of the plugins of our own that count from now on.
    pub(crate) fn set_active(&self, plugins: &[&Plugin]) {
        let names = plugins.iter().map(|plugin| plugin.name().to_owned()).collect();
        *self.active.lock().unwrap_or_else(PoisonError::into_inner) = Some(names);
    }

    /// Whether a plugin still counts; why not, for whoever held on to something of it.
    pub(crate) fn admit(&self, plugin: &Plugin) -> Result<(), String> {
        let active = self.active.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = |active: &BTreeSet<String>| active.contains(plugin.name());
        if plugin.manifest.dialect != Dialect::Brynhild || active.as_ref().is_none_or(counts) {
            return Ok(());
        }
        Err(format!(
            "the plugin `{}` is switched off, not trusted or not there any more (`brynhild plugin \
             list` and `brynhild trust` tell)",
            plugin.name()
        ))
    }

    /// The mode, as far as workers differ by it.
    pub(crate) fn mode(&self) -> Mode {
        match self.exact_mode() {
            Mode::ReadOnly => Mode::ReadOnly,
            Mode::Ask | Mode::Normal | Mode::Yolo => Mode::Normal,
        }
    }

    pub(crate) fn set_mode(&self, mode: Mode) {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner) = mode;
    }

    /// The mode that is in force.
    pub(crate) fn exact_mode(&self) -> Mode {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What would let a plugin do what `words` say it could not, told to the user once; `served`
    /// is the plugin as its worker knows it.
    pub(crate) fn advice(&self, plugin: &Plugin, served: &Plugin, words: &str) -> Option<String> {
        if !self.settings.is_confined || plugin.manifest.dialect == Dialect::InitRunner {
            return None;
        }
        let around = remedy::Around {
            surroundings: &self.settings.surroundings,
            home: Some(home_among(&self.data(served))),
            opens_workspace: served.settings.grants.write.iter().any(|path| path == Path::new(".")),
            mode: self.exact_mode(),
        };
        let advice = remedy::remedy(plugin, &around, words)?;
        let mut advised = self.advised.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = advised.insert(plugin.name().to_owned());
        drop(advised);
        if is_first {
            (self.settings.on_output)(plugin.name(), &contract::text::visible(&advice));
        }
        Some(advice)
    }

    /// Where the payload lies; written at the first use.
    pub(crate) fn payload(&self) -> Result<PathBuf, String> {
        let state = &self.settings.state;
        let unpack = || {
            payload::unpack(state)
                .map_err(|error| format!("cannot write to {}: {error}", state.display()))
        };
        self.payload.get_or_init(unpack).clone()
    }

    /// Where a plugin keeps what is its own.
    pub(crate) fn data(&self, plugin: &Plugin) -> PathBuf {
        match plugin.manifest.dialect {
            Dialect::Brynhild | Dialect::Lmao => self.settings.data.join(plugin.name()),
            // Anybody may give a role a name; what is kept belongs to the one in that directory.
            Dialect::InitRunner => {
                let root = plugin.root.as_os_str().as_encoded_bytes();
                let name = format!("{}-{}", plugin.name(), &short_hash(root)[..16]);
                self.settings.data.join("roles").join(name)
            }
        }
    }

    /// Notes a tool that describes itself in another way than before.
    pub(crate) fn refresh(&self, tool: Arc<dyn Tool>) {
        let mut refreshed = self.refreshed.lock().unwrap_or_else(PoisonError::into_inner);
        refreshed.retain(|other| {
            let (other, tool) = (other.spec(), tool.spec());
            (&other.source, &other.name) != (&tool.source, &tool.name)
        });
        refreshed.push(tool);
    }

    /// The tools that were noted since the last time.
    pub(crate) fn take_refreshed(&self) -> Vec<Arc<dyn Tool>> {
        std::mem::take(&mut self.refreshed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The interpreter for a plugin; makes its venv where that is wanted.
    pub(crate) async fn interpreter(
        &self,
        plugin: &Plugin,
        missing: Missing,
    ) -> Result<Chosen, Unready> {
        let chosen = |interpreter| Chosen { seen: Seen::new(interpreter), missing: Vec::new() };
        if let Some(venv) = own_venv(plugin) {
            return interpreter::of_venv(&venv).map(chosen).map_err(Unready::Failed);
        }
        let base = self.shared().await.map_err(Unready::Failed)?;
        let packages = self.packages(plugin).map_err(Unready::Failed)?;
        if packages.is_empty() || self.is_bare(plugin) {
            return Ok(Chosen { seen: base, missing: packages });
        }
        let place = venv::place(&self.settings, plugin, &packages, &base.interpreter);
        if venv::is_finished(&place) {
            return interpreter::of_venv(&place).map(chosen).map_err(Unready::Failed);
        }
        // A list beside the manifest may be for those who develop the plugin.
        if plugin.manifest.dependencies.is_empty() {
            return Ok(Chosen { seen: base, missing: packages });
        }
        match missing {
            Missing::Install => self.install(plugin, &packages).await.map(chosen),
            Missing::Report => Err(Unready::NotInstalled(packages)),
        }
    }

    /// The packages that a plugin declares, and those it was found to need, sorted.
    pub(crate) fn packages(&self, plugin: &Plugin) -> Result<Vec<String>, String> {
        let mut all = venv::declared(plugin)?;
        all.extend(self.undeclared.of(plugin));
        all.sort();
        all.dedup();
        Ok(all)
    }

    /// The packages that bring these modules, where a plugin can be given them beside what it declares:
    /// an environment of its author's or of the user's has what they put into it.
    pub(crate) fn lacking(
        &self,
        plugin: &Plugin,
        chosen: &Chosen,
        modules: &[String],
    ) -> Vec<String> {
        let environment = chosen.seen.interpreter.environment();
        let is_theirs = environment.is_some_and(|it| !it.starts_with(&self.settings.state));
        let is_fixed = is_theirs || plugin.package.is_some();
        if is_fixed { Vec::new() } else { undeclared::packages(modules) }
    }

    /// Has a plugin run without the packages that it declares, or no longer.
    pub(crate) fn set_bare(&self, plugin: &Plugin, is_bare: bool) {
        let mut bare = self.bare.lock().unwrap_or_else(PoisonError::into_inner);
        if is_bare {
            bare.insert(plugin.root.clone());
        } else {
            bare.remove(&plugin.root);
        }
    }

    fn is_bare(&self, plugin: &Plugin) -> bool {
        self.bare.lock().unwrap_or_else(PoisonError::into_inner).contains(&plugin.root)
    }

    /// Has a plugin get packages beside those it declares when it is first called.
    pub(crate) fn expect(&self, plugin: &Plugin, packages: Vec<String>) {
        if packages.is_empty() {
            return;
        }
        let mut expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        expected.insert(plugin.root.clone(), packages);
    }

    /// Has processes of a plugin load a file no more, nor any behind it where it is the last to be
    /// tried.
    pub(crate) fn leave_out(&self, plugin: &Plugin, (file, fate): (String, String), is_last: bool) {
        let mut left_out = self.left_out.lock().unwrap_or_else(PoisonError::into_inner);
        let of_plugin = left_out.entry(owner(plugin)).or_default();
        if is_last {
            of_plugin.last = Some(file.clone());
        }
        of_plugin.files.insert(file, fate);
    }

    /// Has them load all but these.
    pub(crate) fn leave_out_only(&self, plugin: &Plugin, files: LeftOut) {
        let mut left_out = self.left_out.lock().unwrap_or_else(PoisonError::into_inner);
        if !files.files.is_empty() {
            left_out.insert(owner(plugin), files);
        } else if !left_out.is_empty() {
            left_out.remove(&owner(plugin));
        }
    }

    /// The files that they do not load, each with how it ended a process.
    pub(crate) fn left_out(&self, plugin: &Plugin) -> LeftOut {
        let left_out = self.left_out.lock().unwrap_or_else(PoisonError::into_inner);
        left_out.get(&owner(plugin)).cloned().unwrap_or_default()
    }

    /// Gives a plugin what it is to get with its first call.
    pub(crate) async fn supply_expected(&self, plugin: &Plugin) {
        let expected = || self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        let packages = expected().remove(&plugin.root);
        if let Some(packages) = packages
            && self.supply(plugin, &packages).await.is_err()
        {
            let what = format!("{} could not be installed", packages.join(", "));
            (self.settings.on_progress)(plugin.name(), &what);
        }
    }

    /// Gives a plugin packages beside those it declares.
    pub(crate) async fn supply(
        &self,
        plugin: &Plugin,
        packages: &[String],
    ) -> Result<Interpreter, Unready> {
        let mut wanted = self.undeclared.of(plugin);
        wanted.extend_from_slice(packages);
        wanted.sort();
        wanted.dedup();
        let mut all = venv::declared(plugin).map_err(Unready::Failed)?;
        all.extend_from_slice(&wanted);
        all.sort();
        all.dedup();
        let made = self.install(plugin, &all).await;
        self.undeclared.keep(plugin, &wanted, made.is_ok());
        made
    }

    /// Makes a plugin's venv.
    pub(crate) async fn install(
        &self,
        plugin: &Plugin,
        packages: &[String],
    ) -> Result<Interpreter, Unready> {
        let base = self.shared().await.map_err(Unready::Failed)?.interpreter;
        venv::make(&self.settings, plugin, packages, &base).await.map_err(|why| {
            let names = packages.join(", ");
            Unready::Failed(format!("its packages ({names}) could not be installed:\n{why}"))
        })
    }

    /// The interpreter for a plugin as far as it is known without starting anything.
    pub(crate) fn known_interpreter<'a>(
        &self,
        plugin: &Plugin,
        files: &Fingerprint,
        shared: Option<&'a Seen>,
    ) -> Option<Cow<'a, Seen>> {
        let own = |venv: &Path| interpreter::of_venv(venv).ok().map(Seen::new).map(Cow::Owned);
        let is_plain = files.is_plain && plugin.manifest.dependencies.is_empty();
        if is_plain && self.undeclared.of(plugin).is_empty() {
            return shared.map(Cow::Borrowed);
        }
        if let Some(venv) = own_venv(plugin) {
            return own(&venv);
        }
        let base = shared?;
        let packages = self.packages(plugin).ok()?;
        if packages.is_empty() {
            return Some(Cow::Borrowed(base));
        }
        let place = venv::place(&self.settings, plugin, &packages, &base.interpreter);
        if venv::is_finished(&place) {
            return own(&place);
        }
        Some(Cow::Borrowed(base))
    }

    /// The interpreter that is configured or found, as far as it is known.
    pub(crate) fn known_shared(&self) -> Option<Seen> {
        if let Ok(memory) = self.shared.try_lock()
            && let Some(seen) = &*memory
        {
            // Packages may have been installed since.
            return Some(Seen::new(seen.interpreter.clone()));
        }
        let program = interpreter::shared_program(&self.settings).ok()?;
        let place = payload::place(&self.settings.state);
        interpreter::known(&self.settings, &place, &program).map(Seen::new)
    }

    /// The interpreter that is configured or found.
    pub(crate) async fn shared(&self) -> Result<Seen, String> {
        let mut memory = self.shared.lock().await;
        if let Some(seen) = &*memory {
            return Ok(seen.clone());
        }
        let payload = self.payload()?;
        let found = interpreter::shared(&self.settings, &payload).await?;
        Ok(memory.insert(Seen::new(found)).clone())
    }
}

/// Names a plugin in the cache.
pub(crate) fn plugin_key(plugin: &Plugin) -> String {
    format!("{} {}", plugin.name(), plugin.root.display())
}

/// A plugin by its directory and its files there.
type Owner = (PathBuf, Vec<String>);

fn owner(plugin: &Plugin) -> Owner {
    (plugin.root.clone(), plugin.manifest.tools.clone())
}

/// The venv in a plugin's own directory.
fn own_venv(plugin: &Plugin) -> Option<PathBuf> {
    if plugin.package.is_some() {
        return None;
    }
    interpreter::own_venv(&plugin.root)
}
