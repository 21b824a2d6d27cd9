//! What all workers share: the settings, the payload, the interpreters.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use contract::policy::Mode;
use contract::python::{PythonFacts, PythonPlugin, SharedPlugin};
use contract::text::visible;

use crate::cache::{Cache, Key};
use crate::description::LeftOut;
use crate::hash::short_hash;
use crate::interpreter::{self, Interpreter, Seen};
use crate::settings::{Missing, Settings};
use crate::undeclared::{self, Undeclared};
use crate::{payload, venv};

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
pub(crate) struct HostState {
    pub(crate) settings: Settings,
    pub(crate) cache: Cache,
    pub(crate) undeclared: Undeclared,
    mode: Mutex<Mode>,
    payload: OnceLock<Result<PathBuf, String>>,
    shared: tokio::sync::Mutex<Option<Seen>>,
    has_changed_tool: AtomicBool,
    /// The plugins that may run, by adapter; none for an adapter of which nobody has said.
    active: Mutex<BTreeMap<String, BTreeSet<String>>>,
    /// The plugins whose user knows what to grant them.
    advised: Mutex<BTreeSet<String>>,
    /// The plugins that run without the packages they declare for the moment.
    bare: Mutex<BTreeSet<String>>,
    /// Packages that plugins get with their first call.
    expected: Mutex<BTreeMap<String, Vec<String>>>,
    /// Files that are not loaded, by their plugins.
    left_out: Mutex<BTreeMap<String, LeftOut>>,
}

impl HostState {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            cache: Cache::new(&settings.state.join("descriptions"), &settings.environment),
            undeclared: Undeclared::new(settings.state.join("undeclared.json")),
            mode: Mutex::new(settings.mode),
            payload: OnceLock::new(),
            shared: tokio::sync::Mutex::new(None),
            has_changed_tool: AtomicBool::default(),
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
        plugin: &PythonFacts,
        interpreter: &Seen,
        [description, process]: &[String; 2],
    ) -> (Key, String) {
        let packages = if plugin.needs_packages { &interpreter.packages } else { "" };
        let base = [&interpreter.identity, packages, &plugin.identity].join("\n");
        let hash = |files: &str| short_hash(format!("{base}\n{files}").as_bytes());
        let path = self.settings.surroundings.env.get("PATH");
        let key = Key {
            plugin: plugin_key(plugin),
            hash: hash(description),
            packages: interpreter.packages.clone(),
            search_path: path.cloned().unwrap_or_default(),
        };
        (key, hash(process))
    }

    /// Takes note of the plugins of an adapter that may run from now on.
    pub(crate) fn set_active(&self, adapter: &str, plugins: &[SharedPlugin]) {
        let names = plugins.iter().map(|plugin| plugin.facts().name.clone()).collect();
        locked(&self.active).insert(adapter.to_owned(), names);
    }

    /// Checks that a plugin may still run; why not, for whoever held on to something of it.
    pub(crate) fn admit(&self, plugin: &PythonFacts) -> Result<(), String> {
        let active = locked(&self.active);
        if active.get(plugin.adapter).is_none_or(|names| names.contains(&plugin.name)) {
            return Ok(());
        }
        Err(format!(
            "the plugin `{}` is switched off, not trusted or not there any more (`brynhild plugin \
             list` and `brynhild trust` tell)",
            plugin.name
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
        *locked(&self.mode) = mode;
    }

    /// The mode that is in force.
    pub(crate) fn exact_mode(&self) -> Mode {
        *locked(&self.mode)
    }

    /// What would let a plugin do what `words` say it could not, told to the user once for each
    /// `source`.
    pub(crate) fn advice(
        &self,
        plugin: &dyn PythonPlugin,
        source: &str,
        words: &str,
    ) -> Option<String> {
        let advice = plugin.advice(words, self.exact_mode())?;
        if locked(&self.advised).insert(source.to_owned()) {
            (self.settings.on_output)(source, &visible(&advice));
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

    /// Takes note that a tool describes itself in another way than before.
    pub(crate) fn note_changed_tool(&self) {
        self.has_changed_tool.store(true, Ordering::Relaxed);
    }

    /// Returns true if a tool changed since the last time.
    pub(crate) fn take_changed_tool(&self) -> bool {
        self.has_changed_tool.swap(false, Ordering::Relaxed)
    }

    /// The interpreter for a plugin; makes its venv where that is wanted.
    pub(crate) async fn interpreter(
        &self,
        plugin: &PythonFacts,
        missing: Missing,
    ) -> Result<Chosen, Unready> {
        let chosen = |interpreter| Chosen { seen: Seen::new(interpreter), missing: Vec::new() };
        if let Some(venv) = &plugin.venv {
            return interpreter::of_venv(venv).map(chosen).map_err(Unready::Failed);
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
        if plugin.requirements.0.is_empty() {
            return Ok(Chosen { seen: base, missing: packages });
        }
        match missing {
            Missing::Install => self.install(plugin, &packages).await.map(chosen),
            Missing::Report => Err(Unready::NotInstalled(packages)),
        }
    }

    /// The packages that a plugin declares, and those it was found to need, sorted.
    pub(crate) fn packages(&self, plugin: &PythonFacts) -> Result<Vec<String>, String> {
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
        plugin: &PythonFacts,
        chosen: &Chosen,
        modules: &[String],
    ) -> Vec<String> {
        let environment = chosen.seen.interpreter.environment();
        let is_theirs = environment.is_some_and(|it| !it.starts_with(&self.settings.state));
        let mut sites = chosen.seen.interpreter.sites.iter();
        if is_theirs || sites.any(|site| plugin.root.starts_with(site)) {
            Vec::new()
        } else {
            undeclared::packages(modules)
        }
    }

    /// Has a plugin run without the packages that it declares, or no longer.
    pub(crate) fn set_bare(&self, plugin: &PythonFacts, is_bare: bool) {
        let mut bare = locked(&self.bare);
        if is_bare {
            bare.insert(plugin_key(plugin));
        } else {
            bare.remove(&plugin_key(plugin));
        }
    }

    fn is_bare(&self, plugin: &PythonFacts) -> bool {
        locked(&self.bare).contains(&plugin_key(plugin))
    }

    /// Has a plugin get packages beside those it declares when it is first called.
    pub(crate) fn expect(&self, plugin: &PythonFacts, packages: Vec<String>) {
        if packages.is_empty() {
            return;
        }
        let mut expected = locked(&self.expected);
        expected.insert(plugin_key(plugin), packages);
    }

    /// Has processes of a plugin load a file no more, nor any behind it where it is the last to be
    /// tried.
    pub(crate) fn leave_out(
        &self,
        plugin: &PythonFacts,
        (file, fate): (String, String),
        is_last: bool,
    ) {
        let mut left_out = locked(&self.left_out);
        let of_plugin = left_out.entry(plugin_key(plugin)).or_default();
        if is_last {
            of_plugin.last = Some(file.clone());
        }
        of_plugin.files.insert(file, fate);
    }

    /// Has them load all but these.
    pub(crate) fn leave_out_only(&self, plugin: &PythonFacts, files: LeftOut) {
        let mut left_out = locked(&self.left_out);
        if !files.files.is_empty() {
            left_out.insert(plugin_key(plugin), files);
        } else if !left_out.is_empty() {
            left_out.remove(&plugin_key(plugin));
        }
    }

    /// The files that they do not load, each with how it ended a process.
    pub(crate) fn left_out(&self, plugin: &PythonFacts) -> LeftOut {
        let left_out = locked(&self.left_out);
        left_out.get(&plugin_key(plugin)).cloned().unwrap_or_default()
    }

    /// Gives a plugin what it is to get with its first call.
    pub(crate) async fn supply_expected(&self, plugin: &PythonFacts) {
        let expected = || locked(&self.expected);
        let packages = expected().remove(&plugin_key(plugin));
        if let Some(packages) = packages
            && self.supply(plugin, &packages).await.is_err()
        {
            let what = format!("{} could not be installed", packages.join(", "));
            (self.settings.on_progress)(&plugin.name, &what);
        }
    }

    /// Gives a plugin packages beside those it declares.
    pub(crate) async fn supply(
        &self,
        plugin: &PythonFacts,
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
        plugin: &PythonFacts,
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
        plugin: &PythonFacts,
        shared: Option<&'a Seen>,
    ) -> Option<Cow<'a, Seen>> {
        let own = |venv: &Path| interpreter::of_venv(venv).ok().map(Seen::new).map(Cow::Owned);
        if let Some(venv) = &plugin.venv {
            return own(venv);
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

/// Names a plugin: several may share a directory, and several may share a name.
pub(crate) fn plugin_key(plugin: &PythonFacts) -> String {
    format!("{} {}", plugin.name, plugin.root.display())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
