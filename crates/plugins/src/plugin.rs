//! A plugin as it was found: what its manifest says, where it lies, what the user grants it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use contract::sandbox::{Hosts, Network};
use formats::shell::{quote, quote_path};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The contents of `plugin.yaml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Manifest {
    pub name: String,
    pub version: String,
    pub description: String,
    pub author: String,
    pub license: String,
    pub commands: Vec<String>,
    /// The tools it declares; any one makes every file in `tools/` count.
    pub tools: Vec<String>,
    /// The HTTP interfaces that it declares among its tools, as they are written.
    pub apis: Vec<Value>,
    pub hooks: bool,
    /// True if it says outright that a `hooks.yaml` beside it does not count.
    pub hooks_off: bool,
    pub skills: Vec<String>,
    /// The providers it declares; any one makes every file in `providers/` count.
    pub providers: Vec<String>,
    pub rules: Vec<String>,
    pub brynhild_version: String,
    /// Python packages that it needs, as `pip` writes them.
    pub dependencies: Vec<String>,
    pub sandbox: Permissions,
    /// The system it is written for. No manifest says it.
    #[serde(skip)]
    pub dialect: Dialect,
}

impl Manifest {
    /// The parts that it declares, for people.
    pub fn parts(&self) -> Vec<String> {
        let lists = [
            ("tools", &self.tools),
            ("providers", &self.providers),
            ("commands", &self.commands),
            ("skills", &self.skills),
            ("rules", &self.rules),
        ];
        let lists = lists.iter().filter(|(_, names)| !names.is_empty());
        let mut parts: Vec<String> =
            lists.map(|(kind, names)| format!("{kind}: {}", names.join(", "))).collect();
        if !self.apis.is_empty() {
            parts.push(format!("HTTP interfaces: {}", self.apis.len()));
        }
        parts.extend(self.hooks.then(|| "hooks".to_owned()));
        parts
    }
}

/// The system that a plugin in Python is written for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Our own; `tools` names what a manifest declares.
    #[default]
    Brynhild,
    /// LMAO; `tools` names files.
    Lmao,
    /// InitRunner: the Python of one role; `tools` names the files and directories that it depends on.
    InitRunner,
}

impl Dialect {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Brynhild => "brynhild",
            Self::Lmao => "lmao",
            Self::InitRunner => "initrunner",
        }
    }
}

/// Permissions beyond the least: to read the workspace and its directory, and to write its data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Permissions {
    pub network: NetworkPermission,
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    pub env: Vec<String>,
    /// Programs to run that lie outside the system's directories.
    pub exec: Vec<String>,
}

impl Permissions {
    pub fn kinds(&self) -> Vec<&'static str> {
        let kinds = [
            ("env", !self.env.is_empty()),
            ("exec", !self.exec.is_empty()),
            ("network", self.network != NetworkPermission::None),
            ("read", !self.read.is_empty()),
            ("write", !self.write.is_empty()),
        ];
        kinds.into_iter().filter(|(_, is_asked)| *is_asked).map(|(kind, _)| kind).collect()
    }

    /// The command that grants these to the plugin `name`, beside what it has.
    pub fn grant_command(&self, name: &str) -> String {
        let mut flags = Vec::new();
        match &self.network {
            NetworkPermission::None => {}
            NetworkPermission::All => flags.push("--network".to_owned()),
            NetworkPermission::Hosts(hosts) => {
                flags.extend(hosts.iter().map(|host| format!("--host {host}")));
            }
        }
        let paths = [("read", &self.read), ("write", &self.write)];
        for (flag, paths) in paths {
            flags.extend(
                paths
                    .iter()
                    .map(|path| format!("--{flag} {}", quote_path(&path.display().to_string()))),
            );
        }
        for (flag, names) in [("env", &self.env), ("exec", &self.exec)] {
            flags.extend(names.iter().map(|name| format!("--{flag} {}", quote(name))));
        }
        format!("brynhild plugin grant {} {}", quote(name), flags.join(" "))
    }
}

/// How much of the network. Written as `false`, `true` or a list of hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "NetworkForm", into = "NetworkForm")]
pub enum NetworkPermission {
    #[default]
    None,
    All,
    Hosts(Vec<String>),
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum NetworkForm {
    Switch(bool),
    Hosts(Vec<String>),
}

impl NetworkPermission {
    /// The network of a process of the plugin `name` that was granted this.
    pub fn granted(&self, name: &str) -> Network {
        match self {
            Self::None => Network::None,
            Self::All => Network::Host,
            Self::Hosts(names) => Network::Hosts(Hosts {
                names: names.clone(),
                key: format!("plugins.{name}.sandbox.network"),
            }),
        }
    }
}

impl From<NetworkForm> for NetworkPermission {
    fn from(form: NetworkForm) -> Self {
        match form {
            NetworkForm::Switch(false) => Self::None,
            NetworkForm::Switch(true) => Self::All,
            NetworkForm::Hosts(hosts) if hosts.is_empty() => Self::None,
            NetworkForm::Hosts(hosts) => Self::Hosts(hosts),
        }
    }
}

impl From<NetworkPermission> for NetworkForm {
    fn from(permission: NetworkPermission) -> Self {
        match permission {
            NetworkPermission::None => Self::Switch(false),
            NetworkPermission::All => Self::Switch(true),
            NetworkPermission::Hosts(hosts) => Self::Hosts(hosts),
        }
    }
}

/// Where a plugin was found. Later ones win over earlier ones of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    Global,
    Configured,
    Environment,
    Project,
    EntryPoint,
    Flag,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Plugin {
    pub manifest: Manifest,
    /// Its directory; the package's directory for one that was installed.
    pub root: PathBuf,
    pub place: Place,
    pub enabled: bool,
    /// False for the bytes of a project that the user has not trusted.
    pub trusted: bool,
    pub settings: PluginSettings,
    pub package: Option<Package>,
}

/// The state of a plugin that can be switched on and off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PluginState {
    Enabled,
    #[default]
    Disabled,
    Untrusted,
    /// It has a mistake.
    Rejected,
}

impl PluginState {
    pub fn of(is_trusted: bool, is_enabled: bool) -> Self {
        match (is_trusted, is_enabled) {
            (false, _) => Self::Untrusted,
            (true, true) => Self::Enabled,
            (true, false) => Self::Disabled,
        }
    }

    /// The state as one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
            Self::Untrusted => "untrusted",
            Self::Rejected => "rejected",
        }
    }
}

impl Plugin {
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// Returns true if it is switched on and its bytes may be used.
    pub fn is_active(&self) -> bool {
        self.enabled && self.trusted
    }

    /// Returns true if its package has no directory of its own among the other packages.
    pub fn is_among_others(&self) -> bool {
        let name = self.root.file_name().unwrap_or_default().to_string_lossy();
        self.package.is_some() && name.ends_with("-packages")
    }

    pub fn state(&self) -> PluginState {
        PluginState::of(self.trusted, self.enabled)
    }

    /// Returns true if it brings Python for the host to run.
    pub fn has_python(&self) -> bool {
        let manifest = &self.manifest;
        self.package.is_some() || !manifest.tools.is_empty() || !manifest.providers.is_empty()
    }

    /// The directory that symlinks may not leave: a project's plugin is only what was trusted.
    pub(crate) fn boundary(&self) -> Option<&Path> {
        (self.place == Place::Project).then_some(&self.root)
    }

    /// `directory`, `entry_point`, or `entry_point_provider` for a package with nothing but providers.
    pub fn source(&self) -> &'static str {
        match &self.package {
            None => "directory",
            Some(package) if package.is_only_providers() => "entry_point_provider",
            Some(_) => "entry_point",
        }
    }

    /// As `plugin list --json` shows it.
    pub fn to_json(&self) -> Value {
        let manifest = &self.manifest;
        let package = self.package.as_ref();
        json!({
            "name": manifest.name,
            "version": manifest.version,
            "description": manifest.description,
            "author": manifest.author,
            "license": manifest.license,
            "path": match package {
                Some(_) => String::from("<entry-point>"),
                None => self.root.display().to_string(),
            },
            "enabled": self.enabled,
            "trusted": self.trusted,
            "source": self.source(),
            "place": self.place,
            "package_name": package.map(|package| &package.name),
            "package_version": package.map(|package| &package.version),
            "commands": manifest.commands,
            "tools": manifest.tools,
            "apis": manifest.apis.iter().map(|api| &api["name"]).collect::<Vec<_>>(),
            "hooks": manifest.hooks,
            "skills": manifest.skills,
            "providers": manifest.providers,
            "rules": manifest.rules,
            "dependencies": manifest.dependencies,
            "sandbox": manifest.sandbox,
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct PluginSettings {
    /// How long one call may take; none for the usual time.
    pub timeout: Option<Duration>,
    pub grants: Permissions,
    /// All other keys: the plugin's own settings.
    pub own: Map<String, Value>,
}

impl PluginSettings {
    /// The variable in which processes of a plugin find what the user set for it, as JSON.
    pub(crate) fn variable(&self) -> Option<(String, String)> {
        let own = serde_json::to_string(&self.own).ok().filter(|_| !self.own.is_empty())?;
        Some(("BRYNHILD_PLUGIN_SETTINGS".to_owned(), own))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    pub name: String,
    pub version: String,
    pub entry_points: Vec<EntryPoint>,
}

impl Package {
    /// Returns true if all it has for Brynhild are providers.
    pub fn is_only_providers(&self) -> bool {
        self.entry_points.iter().all(|point| point.group == "brynhild.providers")
    }
}

/// A name under which a package offers an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryPoint {
    pub group: String,
    pub name: String,
    /// Where the object is: `module:attribute`.
    pub object: String,
}

/// A line about a part of a plugin.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum ReportLine {
    Note(String),
    /// The part is not used, for the reason that the line tells.
    Ignored(String),
}

impl ReportLine {
    pub fn as_str(&self) -> &str {
        let (Self::Note(text) | Self::Ignored(text)) = self;
        text
    }
}
