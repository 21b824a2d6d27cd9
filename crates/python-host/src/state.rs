//! The state that all workers share: settings, payload, interpreters, and notes about plugins.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use contract::policy::Mode;
use contract::python::{PythonFacts, PythonPlugin, SharedPlugin};
use contract::text::visible;

use crate::adapter::Adapter;
use crate::cache::{Cache, Key};
use crate::description::{Answer, SkippedFiles};
use crate::hash::short_hash;
use crate::interpreter::{self, Interpreter, KnownInterpreter};
use crate::settings::Settings;
use crate::{payload, venv};

/// An interpreter for a plugin.
pub(crate) struct ChosenInterpreter {
    pub(crate) seen: KnownInterpreter,
    /// Packages that the plugin declares and that are not installed.
    pub(crate) missing: Vec<String>,
}

/// The state that all workers share.
pub(crate) struct HostState {
    pub(crate) settings: Settings,
    pub(crate) cache: Cache,
    mode: Mutex<Mode>,
    payload: OnceLock<Result<PathBuf, String>>,
    shared: tokio::sync::Mutex<Option<KnownInterpreter>>,
    has_changed_tool: AtomicBool,
    /// The plugins that may run, by adapter; none for an adapter of which nobody has said.
    active: Mutex<BTreeMap<String, BTreeSet<String>>>,
    /// The plugins whose user knows what to grant them.
    advised: Mutex<BTreeSet<String>>,
    /// The plugins that get the packages of the lists in their directories with their first call.
    expected: Mutex<BTreeSet<String>>,
    /// Files that are not loaded, by their plugins.
    left_out: Mutex<BTreeMap<String, SkippedFiles>>,
}

impl HostState {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            cache: Cache::new(&settings.state.join("descriptions"), &settings.environment),
            mode: Mutex::new(settings.mode),
            payload: OnceLock::new(),
            shared: tokio::sync::Mutex::new(None),
            has_changed_tool: AtomicBool::default(),
            active: Mutex::default(),
            advised: Mutex::default(),
            expected: Mutex::default(),
            left_out: Mutex::default(),
            settings,
        }
    }

    /// The key of a plugin's description, and a hash of what its running process depends on.
    pub(crate) fn key(
        &self,
        plugin: &PythonFacts,
        interpreter: &KnownInterpreter,
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

    /// Checks that a plugin may still run; returns the reason if not.
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

    /// The setting that allows what `words` say the sandbox refused. The user hears it once for each
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

    /// The directory of the payload; written at the first use.
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

    pub(crate) fn has_changed_tool(&self) -> bool {
        self.has_changed_tool.load(Ordering::Relaxed)
    }

    /// Returns true if a tool changed since the last time.
    pub(crate) fn take_changed_tool(&self) -> bool {
        self.has_changed_tool.swap(false, Ordering::Relaxed)
    }

    /// The interpreter for a plugin without further packages: an environment, or the shared one.
    pub(crate) async fn interpreter(
        &self,
        plugin: &PythonFacts,
    ) -> Result<ChosenInterpreter, String> {
        let ready = |interpreter| ChosenInterpreter {
            seen: KnownInterpreter::new(interpreter),
            missing: Vec::new(),
        };
        if let Some(venv) = &plugin.venv {
            return interpreter::of_venv(venv).map(ready);
        }
        let seen = self.shared().await?;
        let missing = venv::declared(plugin)?;
        let place = venv::place(&self.settings, plugin, &missing, &seen.interpreter);
        if !missing.is_empty() && venv::is_finished(&place) {
            return interpreter::of_venv(&place).map(ready);
        }
        Ok(ChosenInterpreter { seen, missing })
    }

    /// The interpreter for calls of a plugin; installs the packages that it needs.
    pub(crate) async fn interpreter_for_calls(
        &self,
        plugin: &PythonFacts,
    ) -> Result<Interpreter, String> {
        let ChosenInterpreter { seen, missing } = self.interpreter(plugin).await?;
        if missing.is_empty() || !self.needs_packages(plugin) {
            return Ok(seen.interpreter);
        }
        self.install(plugin, &missing).await
    }

    /// Returns true if a plugin is not called without the packages that it declares.
    pub(crate) fn needs_packages(&self, plugin: &PythonFacts) -> bool {
        !plugin.requirements.0.is_empty() || locked(&self.expected).contains(&plugin_key(plugin))
    }

    /// Has a plugin get the packages of its lists when it is first called, or not.
    pub(crate) fn expect(&self, plugin: &PythonFacts, is_expected: bool) {
        let mut expected = locked(&self.expected);
        if is_expected {
            expected.insert(plugin_key(plugin));
        } else if !expected.is_empty() {
            expected.remove(&plugin_key(plugin));
        }
    }

    /// Keeps the description of a plugin. Returns a hash of what its running process depends on.
    pub(crate) fn keep(
        &self,
        adapter: &Adapter,
        (plugin, interpreter, files): (&PythonFacts, &KnownInterpreter, &[String; 2]),
        answer: &Answer,
    ) -> String {
        let (key, process) = self.key(plugin, interpreter, files);
        // A role does not run without one of its modules, and may do so a moment later.
        if answer.left_out.is_some() && adapter.loads_whole {
            self.cache.put_for_now(key, answer);
        } else {
            self.cache.put(key, answer);
        }
        process
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
    pub(crate) fn leave_out_only(&self, plugin: &PythonFacts, files: SkippedFiles) {
        let mut left_out = locked(&self.left_out);
        if !files.files.is_empty() {
            left_out.insert(plugin_key(plugin), files);
        } else if !left_out.is_empty() {
            left_out.remove(&plugin_key(plugin));
        }
    }

    /// The files that they do not load, each with how it ended a process.
    pub(crate) fn left_out(&self, plugin: &PythonFacts) -> SkippedFiles {
        let left_out = locked(&self.left_out);
        left_out.get(&plugin_key(plugin)).cloned().unwrap_or_default()
    }

    /// Makes a plugin's venv.
    pub(crate) async fn install(
        &self,
        plugin: &PythonFacts,
        packages: &[String],
    ) -> Result<Interpreter, String> {
        let base = self.shared().await?.interpreter;
        venv::make(&self.settings, plugin, packages, &base).await.map_err(|why| {
            format!("its packages ({}) could not be installed:\n{why}", packages.join(", "))
        })
    }

    /// The interpreter for a plugin as far as it is known without starting anything.
    pub(crate) fn known_interpreter<'a>(
        &self,
        plugin: &PythonFacts,
        shared: Option<&'a KnownInterpreter>,
    ) -> Option<Cow<'a, KnownInterpreter>> {
        let own = |venv: &Path| {
            interpreter::of_venv(venv).ok().map(KnownInterpreter::new).map(Cow::Owned)
        };
        if let Some(venv) = &plugin.venv {
            return own(venv);
        }
        let base = shared?;
        let packages = venv::declared(plugin).ok()?;
        if packages.is_empty() {
            return Some(Cow::Borrowed(base));
        }
        let place = venv::place(&self.settings, plugin, &packages, &base.interpreter);
        if venv::is_finished(&place) { own(&place) } else { Some(Cow::Borrowed(base)) }
    }

    /// The interpreter that is configured or found, as far as it is known.
    pub(crate) fn known_shared(&self) -> Option<KnownInterpreter> {
        if let Ok(memory) = self.shared.try_lock()
            && let Some(seen) = &*memory
        {
            // Packages may have been installed since.
            return Some(KnownInterpreter::new(seen.interpreter.clone()));
        }
        let program = interpreter::shared_program(&self.settings).ok()?;
        let place = payload::place(&self.settings.state);
        interpreter::known(&self.settings, &place, &program).map(KnownInterpreter::new)
    }

    /// The interpreter that is configured or found.
    pub(crate) async fn shared(&self) -> Result<KnownInterpreter, String> {
        let mut memory = self.shared.lock().await;
        if let Some(seen) = &*memory {
            return Ok(seen.clone());
        }
        let payload = self.payload()?;
        let found = interpreter::shared(&self.settings, &payload).await?;
        Ok(memory.insert(KnownInterpreter::new(found)).clone())
    }
}

/// Names a plugin: several may share a directory, and several may share a name.
pub(crate) fn plugin_key(plugin: &PythonFacts) -> String {
    format!("{} {}", plugin.name, plugin.root.display())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
