//! The configuration as the rest of the program reads it. Values are checked before they get here.

use std::collections::BTreeMap;
use std::path::PathBuf;

use contract::policy::Mode;
use contract::secret::Secret;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// All settings.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Config {
    /// Models and their names.
    pub models: Models,
    /// Where models are.
    pub providers: Providers,
    /// How a conversation goes.
    pub behavior: Behavior,
    /// What processes may reach.
    pub sandbox: Sandbox,
    /// What is written down.
    pub logging: Logging,
    /// How sessions are kept.
    pub session: Session,
    /// What is kept of files, so that changes can be undone.
    pub undo: Undo,
    /// Plugins.
    pub plugins: Plugins,
    /// Tools.
    pub tools: Tools,
    /// Agents that the model hands work to.
    pub agents: Agents,
    /// What is allowed, asked about and denied.
    pub permissions: Permissions,
    /// HTTP interfaces as tools.
    pub api: Map<String, Value>,
    /// MCP servers.
    pub mcp: Map<String, Value>,
    /// The terminal interface.
    pub ui: Ui,
    /// The key for OpenRouter.
    #[serde(deserialize_with = "secret")]
    pub openrouter_api_key: Option<Secret<String>>,
    /// Whether nothing is asked.
    pub dangerously_skip_permissions: bool,
    /// Whether processes run unconfined.
    pub dangerously_skip_sandbox: bool,
    /// Whether a home directory may be a project.
    pub allow_home_directory: bool,
    /// The log of a conversation, at this very path.
    pub log_file: Option<PathBuf>,
}

fn secret<'de, D: Deserializer<'de>>(source: D) -> Result<Option<Secret<String>>, D::Error> {
    Ok(Option::<String>::deserialize(source)?.map(Secret::new))
}

/// Models and their names.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Models {
    /// The model that is used when none is named.
    pub default: String,
    /// Short names.
    pub aliases: BTreeMap<String, String>,
    /// Models that stand first in lists.
    pub favorites: BTreeMap<String, Favorite>,
    /// What is known of models, by canonical name.
    pub registry: BTreeMap<String, RegisteredModel>,
}

impl Default for Models {
    fn default() -> Self {
        Self {
            default: "openai/gpt-oss-120b".into(),
            aliases: BTreeMap::new(),
            favorites: BTreeMap::new(),
            registry: BTreeMap::new(),
        }
    }
}

/// Whether a model stands first in lists.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Favorite {
    /// In short.
    Short(bool),
    /// With notes of the user's own.
    Long {
        /// Whether it counts.
        #[serde(default = "yes")]
        enabled: bool,
        /// The notes.
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
}

impl Favorite {
    /// Whether it counts.
    pub fn is_enabled(&self) -> bool {
        match self {
            Self::Short(is_enabled) | Self::Long { enabled: is_enabled, .. } => *is_enabled,
        }
    }
}

fn yes() -> bool {
    true
}

/// What is known of a model.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct RegisteredModel {
    /// Its canonical name: the key it stands under.
    pub canonical_id: String,
    /// Its name at each provider.
    pub bindings: BTreeMap<String, Binding>,
    /// What it is.
    pub descriptor: Option<Descriptor>,
    /// Other names.
    pub aliases: Map<String, Value>,
    /// How sure this is: `curated`, `matched` or `synthetic`.
    pub confidence: Option<String>,
    /// Anything else.
    pub notes: Option<String>,
}

impl RegisteredModel {
    /// The binding for the first of these providers that has one.
    pub fn binding(&self, providers: [&str; 2]) -> Option<&Binding> {
        providers.iter().find_map(|provider| self.bindings.get(*provider))
    }
}

/// A model at one provider.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(from = "BindingForm")]
pub struct Binding {
    /// The provider's name for it; the canonical one where none.
    pub model_id: Option<String>,
    /// The context window there.
    pub max_context: Option<u64>,
    /// Prices, as written.
    pub pricing_tiers: Value,
    /// Other names there.
    pub alternatives: Vec<String>,
    /// Anything else.
    pub extra: Map<String, Value>,
}

impl Binding {
    /// Whether the provider knows the model by this name; `canonical` is its name where none is
    /// written.
    pub fn is_called(&self, name: &str, canonical: &str) -> bool {
        self.model_id.as_deref().unwrap_or(canonical) == name
            || self.alternatives.iter().any(|alternative| alternative == name)
    }

    /// Dollars for a million tokens of input and of output.
    pub fn prices(&self) -> Option<(f64, f64)> {
        self.price("input").zip(self.price("output"))
    }

    /// Dollars for a million tokens of a kind: `input`, `output`, `cache_read`, `cache_write`.
    pub fn price(&self, kind: &str) -> Option<f64> {
        let tier = match &self.pricing_tiers {
            Value::Array(tiers) => tiers.first()?,
            tier => tier,
        };
        tier.get(kind).and_then(Value::as_f64)
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum BindingForm {
    Short(String),
    Long {
        model_id: Option<String>,
        max_context: Option<u64>,
        #[serde(default)]
        pricing_tiers: Value,
        #[serde(default)]
        alternatives: Vec<String>,
        #[serde(default)]
        extra: Map<String, Value>,
    },
}

impl From<BindingForm> for Binding {
    fn from(form: BindingForm) -> Self {
        match form {
            BindingForm::Short(model_id) => Self { model_id: Some(model_id), ..Self::default() },
            BindingForm::Long { model_id, max_context, pricing_tiers, alternatives, extra } => {
                Self { model_id, max_context, pricing_tiers, alternatives, extra }
            }
        }
    }
}

/// What a model is.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Descriptor {
    /// Its family.
    pub family: String,
    /// The generation within the family.
    pub series: Option<String>,
    /// Its parameters, as written.
    pub size: Value,
    /// The parameters that work at once, as written.
    pub active_size: Value,
    /// `dense` or `moe`.
    pub architecture: Option<String>,
    /// Its context window, in tokens.
    pub context_size: Option<u64>,
    /// The variant within the series.
    pub variant: Option<String>,
    /// Anything else.
    pub extra: Map<String, Value>,
}

/// Where models are.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Providers {
    /// The instance or kind that is used when none is named.
    pub default: String,
    /// The instances by name.
    pub instances: BTreeMap<String, Instance>,
}

impl Default for Providers {
    fn default() -> Self {
        Self { default: "openrouter".into(), instances: BTreeMap::new() }
    }
}

/// A server, or an account on one.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Instance {
    /// What kind of server: `openai`, `openrouter`, `anthropic`, `ollama`, `script`, a plugin's.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it may be chosen.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Its address.
    #[serde(default)]
    pub base_url: Option<String>,
    /// Seconds that its list of models is kept.
    #[serde(default = "an_hour")]
    pub cache_ttl: u64,
    /// The model that is used when none is named.
    #[serde(default)]
    pub default_model: Option<String>,
    /// The variable that holds its key.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// The file that holds its credentials.
    #[serde(default)]
    pub credentials_path: Option<String>,
    /// Further headers of each request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Everything else that was written; a plugin's provider reads it.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

fn an_hour() -> u64 {
    3600
}

/// How a conversation goes.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "the fields are a published file format")]
pub struct Behavior {
    /// Upper bound on a reply, in tokens.
    pub max_tokens: u64,
    /// Upper bound on rounds of tool calls in one turn; an interactive session has none by default.
    pub max_tool_rounds: u32,
    /// How much freedom tools have.
    pub mode: Mode,
    /// What is printed.
    pub output_format: OutputFormat,
    /// How past reasoning is sent back.
    pub reasoning_format: String,
    /// How hard to think.
    pub reasoning_level: String,
    /// Whether only `Finish` ends a turn.
    pub require_finish: bool,
    /// Whether the cost is shown.
    pub show_cost: bool,
    /// Whether reasoning is shown.
    pub show_thinking: bool,
    /// Whether more is said.
    pub verbose: bool,
}

impl Default for Behavior {
    fn default() -> Self {
        Self {
            max_tokens: 8192,
            max_tool_rounds: 500,
            mode: Mode::Normal,
            output_format: OutputFormat::Text,
            reasoning_format: "auto".into(),
            reasoning_level: "auto".into(),
            require_finish: false,
            show_cost: false,
            show_thinking: false,
            verbose: false,
        }
    }
}

/// What is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputFormat {
    /// Words for people.
    #[default]
    Text,
    /// One JSON object at the end.
    Json,
    /// One JSON object for every event.
    #[serde(alias = "stream")]
    StreamJson,
}

/// What processes may reach.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Sandbox {
    /// Whether they are confined.
    pub enabled: bool,
    /// Whether they have a network.
    pub allow_network: bool,
    /// Further paths that they may write.
    pub allowed_paths: Vec<PathBuf>,
    /// Further paths that they may read.
    pub read_paths: Vec<PathBuf>,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self {
            enabled: true,
            allow_network: false,
            allowed_paths: Vec::new(),
            read_paths: Vec::new(),
        }
    }
}

/// What is written down.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Logging {
    /// Whether conversations are logged.
    pub enabled: bool,
    /// The directory; the usual one where none.
    pub dir: Option<PathBuf>,
    /// How much is logged.
    pub level: String,
    /// Whether the directory is closed to others.
    pub private: bool,
    /// Whether requests and replies are logged as sent.
    pub raw_payloads: bool,
}

impl Default for Logging {
    fn default() -> Self {
        Self { enabled: true, dir: None, level: "info".into(), private: true, raw_payloads: false }
    }
}

/// How sessions are kept.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Session {
    /// Whether they are kept.
    pub auto_save: bool,
    /// How many are listed.
    pub history_limit: u64,
}

impl Default for Session {
    fn default() -> Self {
        Self { auto_save: true, history_limit: 100 }
    }
}

/// What is kept of files, so that changes can be undone.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Undo {
    /// Whether anything is kept.
    pub enabled: bool,
    /// Megabytes of the largest file that is kept.
    pub max_file_mb: u64,
    /// Megabytes that are kept for one workspace.
    pub max_total_mb: u64,
}

impl Default for Undo {
    fn default() -> Self {
        Self { enabled: true, max_file_mb: 16, max_total_mb: 1024 }
    }
}

/// Plugins.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Plugins {
    /// Further directories of plugins.
    pub search_paths: Vec<PathBuf>,
    /// Which are on and off, by name.
    pub enabled: BTreeMap<String, bool>,
    /// The interpreter for plugins without one of their own.
    pub python: Option<PathBuf>,
    /// The settings of each, by name.
    #[serde(flatten)]
    pub each: BTreeMap<String, Plugin>,
}

/// The settings of one plugin.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Plugin {
    /// Whether it is on; it is where nothing is said.
    pub enabled: Option<bool>,
    /// Seconds for one call.
    pub timeout: Option<u64>,
    /// What it is granted, as written.
    pub sandbox: Value,
    /// Everything else that was written; the plugin reads it.
    #[serde(flatten)]
    pub own: Map<String, Value>,
}

/// Tools.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Tools {
    /// Which are off, by name; `__builtin__` stands for all built-in ones.
    pub disabled: BTreeMap<String, bool>,
    /// The settings of each, by name.
    #[serde(flatten)]
    pub each: BTreeMap<String, Tool>,
}

impl Tools {
    /// Has what is forbidden under a name that differs from one of these in case alone hold for the
    /// tool that was meant. What is allowed there counts for nothing.
    pub(crate) fn forbid_by_any_case(&mut self, names: &[&str]) {
        let meant = |name: &String| {
            let same = names.iter().find(|known| known.eq_ignore_ascii_case(name));
            same.filter(|known| *known != name).map(|known| (*known).to_owned())
        };
        for (name, is_disabled) in self.disabled.clone() {
            if let Some(known) = meant(&name).filter(|_| is_disabled) {
                self.disabled.insert(known, true);
            }
        }
        for (name, tool) in self.each.clone() {
            let Some(known) = meant(&name) else { continue };
            let known = self.each.entry(known).or_default();
            known.blocked_commands.extend(tool.blocked_commands);
            if tool.require_approval == Some(Approval::Always) {
                known.require_approval = tool.require_approval;
            }
        }
    }
}

/// Agents that the model hands work to.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Agents {
    /// How many conversations may be one within the other, beside the session's own.
    pub max_depth: u32,
}

impl Default for Agents {
    fn default() -> Self {
        Self { max_depth: 1 }
    }
}

/// The settings of one tool.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Tool {
    /// When a user is asked; as the tool says where none.
    pub require_approval: Option<Approval>,
    /// Commands that run without a question.
    pub allowed_commands: Vec<String>,
    /// Commands that do not run.
    pub blocked_commands: Vec<String>,
    /// The paths it may use.
    pub allowed_paths: Vec<PathBuf>,
    /// Everything else that was written.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// When a user is asked about a tool's call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Approval {
    /// Every time.
    Always,
    /// Until the answer holds for the session.
    Once,
    /// Not at all.
    Never,
}

/// The terminal.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Ui {
    /// Its colors.
    pub theme: ThemeName,
    /// Which keys edit.
    pub editing: Editing,
    /// Whether the mouse is caught.
    pub mouse: bool,
    /// Whether terminals are told where links lead.
    pub links: bool,
    /// Whether the user is called when a long run ends or asks.
    pub notify: bool,
    /// Keys of actions, each in words or in a list of words.
    pub keys: BTreeMap<String, Value>,
}

impl Ui {
    /// The keys of actions, each as a list.
    pub fn bindings(&self) -> BTreeMap<String, Vec<String>> {
        let words = |value: &Value| match value {
            Value::Array(all) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            Value::String(word) => vec![word.clone()],
            _ => Vec::new(),
        };
        self.keys.iter().map(|(action, value)| (action.clone(), words(value))).collect()
    }
}

/// Which keys edit text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Editing {
    /// Those of emacs.
    #[default]
    Emacs,
    /// Those of vi.
    Vim,
}

/// The name of a theme: a built-in one, or that of a file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct ThemeName(pub String);

impl Default for ThemeName {
    fn default() -> Self {
        Self("16-color".to_owned())
    }
}

/// What is allowed, asked about and denied, as written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Permissions {
    /// What runs without a question.
    pub allow: Vec<Value>,
    /// What is asked about.
    pub ask: Vec<Value>,
    /// What does not run.
    pub deny: Vec<Value>,
}
