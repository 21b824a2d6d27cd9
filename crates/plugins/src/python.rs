//! The Python of plugins, as its host sees it: adapter, files and grants. Runs nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::files::surroundings::Surroundings;
use contract::policy::Mode;
use contract::python::{PythonFacts, PythonHost, PythonPlugin, SharedPlugin};
use contract::sandbox::Profile;
use serde_json::{Map, Value, json};

use crate::confine::{granted, home_among};
use crate::directories::Directories;
use crate::entry_points::{editable_projects, installed_environment};
use crate::fingerprint::{self, files_of, identity};
use crate::hash::short_hash;
use crate::plugin::{Dialect, Plugin};
use crate::remedy::{Around, remedy};

/// The Python of plugins. Clones share the host.
#[derive(Clone)]
pub struct Python {
    host: Arc<dyn PythonHost>,
    settings: Arc<Settings>,
}

/// The settings for the Python of all plugins.
pub struct Settings {
    pub data: PathBuf,
    /// True if the sandbox confines workers; one that it does not has the user's home.
    pub is_confined: bool,
    pub surroundings: Surroundings,
    pub directories: Arc<Directories>,
    /// The directories of packages of the interpreter that plugins share.
    pub sites: Vec<PathBuf>,
}

impl Python {
    pub fn new(host: Arc<dyn PythonHost>, settings: Settings) -> Self {
        Self { host, settings: Arc::new(settings) }
    }

    pub fn host(&self) -> &Arc<dyn PythonHost> {
        &self.host
    }

    pub fn plugin(&self, plugin: &Plugin) -> SharedPlugin {
        self.owned(plugin, plugin)
    }

    /// The Python of `plugin`, in which `owner` is one of several that a worker serves.
    pub(crate) fn owned(&self, plugin: &Plugin, owner: &Plugin) -> SharedPlugin {
        let facts = facts(plugin, &self.settings);
        let (plugin, settings) = (plugin.clone(), Arc::clone(&self.settings));
        Arc::new(PluginPython { facts, plugin, owner: owner.clone(), settings })
    }
}

pub fn environment_hash(surroundings: &Surroundings) -> String {
    fingerprint::environment_hash(surroundings)
}

struct PluginPython {
    facts: PythonFacts,
    plugin: Plugin,
    owner: Plugin,
    settings: Arc<Settings>,
}

impl PythonPlugin for PluginPython {
    fn facts(&self) -> &PythonFacts {
        &self.facts
    }

    fn initialize(&self) -> Map<String, Value> {
        let (facts, manifest) = (&self.facts, &self.plugin.manifest);
        let package = self.plugin.package.as_ref();
        let files: &[String] = match manifest.dialect {
            Dialect::Brynhild | Dialect::InitRunner => &[],
            Dialect::Lmao => &manifest.tools,
        };
        let home = self.settings.is_confined.then(|| home_among(&facts.data));
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let plugin = json!({
            "name": facts.name,
            "version": manifest.version,
            "root": text(&facts.root),
            "data": text(&facts.data),
            "tools": package.is_none() && !manifest.tools.is_empty(),
            "files": files,
            "providers": package.is_none() && !manifest.providers.is_empty(),
            "entry_points": package.map_or(&[][..], |package| &package.entry_points),
            "package": package.map(|it| json!({"name": it.name, "version": it.version})),
        });
        Map::from_iter([
            ("plugin".to_owned(), plugin),
            ("settings".to_owned(), Value::Object(self.plugin.settings.own.clone())),
            ("home".to_owned(), home.as_deref().map(text).into()),
        ])
    }

    fn profile(&self, mode: Mode) -> (Profile, Vec<String>) {
        let surroundings = &self.settings.surroundings;
        let (mut profile, problems) = granted(&self.plugin, surroundings, &self.facts.data, mode);
        // What lies in a plugin's own venv must not open other directories to it.
        if self.facts.venv.is_none() {
            let home = surroundings.home.as_deref();
            profile.read.extend(editable_projects(&self.settings.sites, home));
        }
        let words = problems.iter().map(|problem| format!("{}; {}", problem.what, problem.hint));
        (profile, words.collect())
    }

    fn files(&self) -> Option<[String; 2]> {
        files_of(&self.plugin, &self.settings.directories)
    }

    fn advice(&self, failure: &str, mode: Mode) -> Option<String> {
        if !self.settings.is_confined || self.plugin.manifest.dialect == Dialect::InitRunner {
            return None;
        }
        let around = Around {
            surroundings: &self.settings.surroundings,
            home: Some(home_among(&self.facts.data)),
            opens_workspace: opens_workspace(&self.plugin),
            mode,
        };
        remedy(&self.owner, &around, failure)
    }
}

fn facts(plugin: &Plugin, around: &Settings) -> PythonFacts {
    let (manifest, settings) = (&plugin.manifest, &plugin.settings);
    // What a package needs was installed with it; what lies beside a role may be a project's.
    let may_list = plugin.package.is_none() && manifest.dialect != Dialect::InitRunner;
    let root = &plugin.root;
    let present = |names: [&str; 2]| names.map(|name| root.join(name)).into_iter();
    let lists = present(["requirements.txt", "pyproject.toml"]);
    let lists = lists.filter(|list| may_list && around.directories.has(list));
    let venv = || {
        let mut venvs = present([".venv", "venv"]).filter(|venv| around.directories.has(venv));
        venvs.find(|venv| is_venv(venv))
    };
    PythonFacts {
        name: manifest.name.clone(),
        // A directory may have two workers: one that may write the workspace, and one that may not.
        worker: match manifest.dialect {
            Dialect::Lmao if opens_workspace(plugin) => "writing",
            Dialect::Brynhild | Dialect::Lmao | Dialect::InitRunner => "",
        },
        root: root.clone(),
        data: data(plugin, &around.data),
        adapter: manifest.dialect.as_str(),
        requirements: (
            if may_list { manifest.dependencies.clone() } else { Vec::new() },
            lists.collect(),
        ),
        venv: match plugin.package {
            None => venv(),
            Some(_) => installed_environment(root),
        },
        // A role's tool types may come from any package.
        needs_packages: plugin.is_among_others() || settings.own.contains_key("entry_points"),
        timeout: settings.timeout,
        may_write: !settings.grants.write.is_empty(),
        network: settings.grants.network.granted(&manifest.name),
        identity: identity(plugin, &around.surroundings),
    }
}

fn data(plugin: &Plugin, base: &Path) -> PathBuf {
    match plugin.manifest.dialect {
        Dialect::Brynhild | Dialect::Lmao => base.join(plugin.name()),
        // Anybody may give a role a name; what is kept belongs to the one in that directory.
        Dialect::InitRunner => {
            let root = plugin.root.as_os_str().as_encoded_bytes();
            base.join("roles").join(format!("{}-{}", plugin.name(), &short_hash(root)[..16]))
        }
    }
}

fn is_venv(directory: &Path) -> bool {
    directory.join("pyvenv.cfg").is_file()
        && directory.join("bin/python").symlink_metadata().is_ok()
}

fn opens_workspace(plugin: &Plugin) -> bool {
    plugin.settings.grants.write.iter().any(|path| path == Path::new("."))
}
