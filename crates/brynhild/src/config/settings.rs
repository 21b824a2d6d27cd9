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
pub(crate) struct Config {
    /// Models and their names.
    pub(crate) models: Models,
    /// Where models are.
    pub(crate) providers: Providers,
    /// How a conversation goes.
    pub(crate) behavior: Behavior,
    /// What processes may reach.
    pub(crate) sandbox: Sandbox,
    /// What is written down.
    pub(crate) logging: Logging,
    /// How sessions are kept.
    pub(crate) session: Session,
    /// What is kept of files, so that changes can be undone.
    pub(crate) undo: Undo,
    /// Plugins.
    pub(crate) plugins: Plugins,
    /// Tools.
    pub(crate) tools: Tools,
    /// Agents that the model hands work to.
    pub(crate) agents: Agents,
    /// What is allowed, asked about and denied.
    pub(crate) permissions: Permissions,
    /// HTTP interfaces as tools.
    pub(crate) api: Map<String, Value>,
    /// MCP servers.
    pub(crate) mcp: Map<String, Value>,
    /// The terminal interface.
    pub(crate) ui: Ui,
    /// The key for OpenRouter.
    #[serde(deserialize_with = "secret")]
    pub(crate) openrouter_api_key: Option<Secret<String>>,
    /// Whether nothing is asked.
    pub(crate) dangerously_skip_permissions: bool,
    /// Whether processes run unconfined.
    pub(crate) dangerously_skip_sandbox: bool,
    /// Whether a home directory may be a project.
    pub(crate) allow_home_directory: bool,
    /// The log of a conversation, at this very path.
    pub(crate) log_file: Option<PathBuf>,
}

fn secret<'de, D: Deserializer<'de>>(source: D) -> Result<Option<Secret<String>>, D::Error> {
    Ok(Option::<String>::deserialize(source)?.map(Secret::new))
}

/// Models and their names.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub(crate) struct Models {
    /// The model that is used when none is named.
    pub(crate) default: String,
    /// Short names.
    pub(crate) aliases: BTreeMap<String, String>,
    /// Models that stand first in lists.
    pub(crate) favorites: BTreeMap<String, Favorite>,
    /// What is known of models, by canonical name.
    pub(crate) registry: BTreeMap<String, RegisteredModel>,
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
pub(crate) enum Favorite {
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
    pub(crate) fn is_enabled(&self) -> bool {
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
pub(crate) struct RegisteredModel {
    /// Its canonical name: the key it stands under.
    pub(crate) canonical_id: String,
    /// Its name at each provider.
    pub(crate) bindings: BTreeMap<String, Binding>,
    /// What it is.
    pub(crate) descriptor: Option<Descriptor>,
    /// Other names.
    pub(crate) aliases: Map<String, Value>,
    /// How sure this is: `curated`, `matched` or `synthetic`.
    pub(crate) confidence: Option<String>,
    /// Anything else.
    pub(crate) notes: Option<String>,
}

impl RegisteredModel {
    /// The binding for the first of these providers that has one.
    pub(crate) fn binding(&self, providers: [&str; 2]) -> Option<&Binding> {
        providers.iter().find_map(|provider| self.bindings.get(*provider))
    }
}

/// A model at one provider.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(from = "BindingForm")]
pub(crate) struct Binding {
    /// The provider's name for it; the canonical one where none.
    pub(crate) model_id: Option<String>,
    /// The context window there.
    pub(crate) max_context: Option<u64>,
    /// Prices, as written.
    pub(crate) pricing_tiers: Value,
    /// Other names there.
    pub(crate) alternatives: Vec<String>,
    /// Anything else.
    pub(crate) extra: Map<String, Value>,
}

impl Binding {
    /// Whether the provider knows the model by this name; `canonical` is its name where none is
    /// written.
    pub(crate) fn is_called(&self, name: &str, canonical: &str) -> bool {
        self.model_id.as_deref().unwrap_or(canonical) == name
            || self.alternatives.iter().any(|alternative| alternative == name)
    }

    /// Dollars for a million tokens of input and of output.
    pub(crate) fn prices(&self) -> Option<(f64, f64)> {
        self.price("input").zip(self.price("output"))
    }

    /// Dollars for a million tokens of a kind: `input`, `output`, `cache_read`, `cache_write`.
    pub(crate) fn price(&self, kind: &str) -> Option<f64> {
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
pub(crate) struct Descriptor {
    /// Its family.
    pub(crate) family: String,
    /// The generation within the family.
    pub(crate) series: Option<String>,
    /// Its parameters, as written.
    pub(crate) size: Value,
    /// The parameters that work at once, as written.
    pub(crate) active_size: Value,
    /// `dense` or `moe`.
    pub(crate) architecture: Option<String>,
    /// Its context window, in tokens.
    pub(crate) context_size: Option<u64>,
    /// The variant within the series.
    pub(crate) variant: Option<String>,
    /// Anything else.
    pub(crate) extra: Map<String, Value>,
}

/// Where models are.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub(crate) struct Providers {
    /// The instance or kind that is used when none is named.
    pub(crate) default: String,
    /// The instances by name.
    pub(crate) instances: BTreeMap<String, Instance>,
}

impl Default for Providers {
    fn default() -> Self {
        Self { default: "openrouter".into(), instances: BTreeMap::new() }
    }
}

/// A server, or an account on one.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Instance {
    /// What kind of server: `openai`, `openrouter`, `anthropic`, `ollama`, `script`, a plugin's.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// Whether it may be chosen.
    #[serde(default = "yes")]
    pub(crate) enabled: bool,
    /// Its address.
    #[serde(default)]
    pub(crate) base_url: Option<String>,
    /// Seconds that its list of models is kept.
    #[serde(default = "an_hour")]
    pub(crate) cache_ttl: u64,
    /// The model that is used when none is named.
    #[serde(default)]
    pub(crate) default_model: Option<String>,
    /// The variable that holds its key.
    #[serde(default)]
    pub(crate) api_key_env: Option<String>,
    /// The file that holds its credentials.
    #[serde(default)]
    pub(crate) credentials_path: Option<String>,
    /// Further headers of each request.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    /// Everything else that was written; a plugin's provider reads it.
    #[serde(flatten)]
    pub(crate) extra: Map<String, Value>,
}

fn an_hour() -> u64 {
    3600
}

/// How a conversation goes.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "the fields are a published file format")]
pub(crate) struct Behavior {
    /// Upper bound on a reply, in tokens.
    pub(crate) max_tokens: u64,
    /// Upper bound on rounds of tool calls in one turn; an interactive session has none by default.
    pub(crate) max_tool_rounds: u32,
    /// How much freedom tools have.
    pub(crate) mode: Mode,
    /// What is printed.
    pub(crate) output_format: OutputFormat,
    /// How past reasoning is sent back.
    pub(crate) reasoning_format: String,
    /// How hard to think.
    pub(crate) reasoning_level: String,
    /// Whether only `Finish` ends a turn.
    pub(crate) require_finish: bool,
    /// Whether the cost is shown.
    pub(crate) show_cost: bool,
    /// Whether reasoning is shown.
    pub(crate) show_thinking: bool,
    /// Whether more is said.
    pub(crate) verbose: bool,
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
pub(crate) enum OutputFormat {
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
pub(crate) struct Sandbox {
    /// Whether they are confined.
    pub(crate) enabled: bool,
    /// Whether they have a network.
    pub(crate) allow_network: bool,
    /// Further paths that they may write.
    pub(crate) allowed_paths: Vec<PathBuf>,
    /// Further paths that they may read.
    pub(crate) read_paths: Vec<PathBuf>,
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
pub(crate) struct Logging {
    /// Whether conversations are logged.
    pub(crate) enabled: bool,
    /// The directory; the usual one where none.
    pub(crate) dir: Option<PathBuf>,
    /// How much is logged.
    pub(crate) level: String,
    /// Whether the directory is closed to others.
    pub(crate) private: bool,
    /// Whether requests and replies are logged as sent.
    pub(crate) raw_payloads: bool,
}

impl Default for Logging {
    fn default() -> Self {
        Self { enabled: true, dir: None, level: "info".into(), private: true, raw_payloads: false }
    }
}

/// How sessions are kept.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub(crate) struct Session {
    /// Whether they are kept.
    pub(crate) auto_save: bool,
    /// How many are listed.
    pub(crate) history_limit: u64,
}

impl Default for Session {
    fn default() -> Self {
        Self { auto_save: true, history_limit: 100 }
    }
}

/// What is kept of files, so that changes can be undone.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub(crate) struct Undo {
    /// Whether anything is kept.
    pub(crate) enabled: bool,
    /// Megabytes of the largest file that is kept.
    pub(crate) max_file_mb: u64,
    /// Megabytes that are kept for one workspace.
    pub(crate) max_total_mb: u64,
}

impl Default for Undo {
    fn default() -> Self {
        Self { enabled: true, max_file_mb: 16, max_total_mb: 1024 }
    }
}

/// Plugins.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Plugins {
    /// Further directories of plugins.
    pub(crate) search_paths: Vec<PathBuf>,
    /// Which are on and off, by name.
    pub(crate) enabled: BTreeMap<String, bool>,
    /// The interpreter for plugins without one of their own.
    pub(crate) python: Option<PathBuf>,
    /// The settings of each, by name.
    #[serde(flatten)]
    pub(crate) each: BTreeMap<String, Plugin>,
}

/// The settings of one plugin.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Plugin {
    /// Whether it is on; it is where nothing is said.
    pub(crate) enabled: Option<bool>,
    /// Seconds for one call.
    pub(crate) timeout: Option<u64>,
    /// What it is granted, as written.
    pub(crate) sandbox: Value,
    /// Everything else that was written; the plugin reads it.
    #[serde(flatten)]
    pub(crate) own: Map<String, Value>,
}

/// Tools.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Tools {
    /// Which are off, by name; `__builtin__` stands for all built-in ones.
    pub(crate) disabled: BTreeMap<String, bool>,
    /// The settings of each, by name.
    #[serde(flatten)]
    pub(crate) each: BTreeMap<String, Tool>,
}

impl Tools {
    /// Has what is forbidden under a name that differs from one of these in case alone hold for the
    /// tool that was meant. What is allowed there counts for nothing.
    pub(super) fn forbid_what_was_meant(&mut self, names: &[&str]) {
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
pub(crate) struct Agents {
    /// How many conversations may be one within the other, beside the session's own.
    pub(crate) max_depth: u32,
}

impl Default for Agents {
    fn default() -> Self {
        Self { max_depth: 1 }
    }
}

/// The settings of one tool.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Tool {
    /// When a user is asked; as the tool says where none.
    pub(crate) require_approval: Option<Approval>,
    /// Commands that run without a question.
    pub(crate) allowed_commands: Vec<String>,
    /// Commands that do not run.
    pub(crate) blocked_commands: Vec<String>,
    /// The paths it may use.
    pub(crate) allowed_paths: Vec<PathBuf>,
    /// Everything else that was written.
    #[serde(flatten)]
    pub(crate) extra: Map<String, Value>,
}

/// When a user is asked about a tool's call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Approval {
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
pub(crate) struct Ui {
    /// Its colors.
    pub(crate) theme: ThemeName,
    /// Which keys edit.
    pub(crate) editing: Editing,
    /// Whether the mouse is caught.
    pub(crate) mouse: bool,
    /// Whether terminals are told where links lead.
    pub(crate) links: bool,
    /// Whether the user is called when a long run ends or asks.
    pub(crate) notify: bool,
    /// Keys of actions, each in words or in a list of words.
    pub(crate) keys: BTreeMap<String, Value>,
}

impl Ui {
    /// The keys of actions, each as a list.
    pub(crate) fn bindings(&self) -> BTreeMap<String, Vec<String>> {
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
pub(crate) enum Editing {
    /// Those of emacs.
    #[default]
    Emacs,
    /// Those of vi.
    Vim,
}

/// The name of a theme: a built-in one, or that of a file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct ThemeName(pub(crate) String);

impl Default for ThemeName {
    fn default() -> Self {
        Self("16-color".to_owned())
    }
}

/// What is allowed, asked about and denied, as written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Permissions {
    /// What runs without a question.
    pub(crate) allow: Vec<Value>,
    /// What is asked about.
    pub(crate) ask: Vec<Value>,
    /// What does not run.
    pub(crate) deny: Vec<Value>,
}
