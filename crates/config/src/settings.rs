//! The configuration as the rest of the program reads it. Values are checked before they get here,
//! and defaults are those of `defaults.yaml`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use contract::policy::Mode;
use contract::provider::ReasoningFormat;
use contract::secret::Secret;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// All settings.
#[derive(Clone, Debug, Deserialize)]
pub struct Config {
    /// Models and their names.
    pub models: Models,
    /// Where models are.
    pub providers: Providers,
    /// How a conversation goes.
    pub behavior: Behavior,
    /// Confinement of processes.
    pub sandbox: Sandbox,
    /// Logs of conversations.
    pub logging: Logging,
    /// Stored sessions.
    pub session: Session,
    /// Snapshots of files, so that changes can be undone.
    pub undo: Undo,
    /// Plugins.
    pub plugins: Plugins,
    /// Tools.
    pub tools: Tools,
    /// Agents that the model hands work to.
    pub agents: Agents,
    /// Rules that allow, ask and deny.
    pub permissions: Permissions,
    /// HTTP interfaces as tools.
    pub api: Map<String, Value>,
    /// Web tools.
    pub web: Web,
    /// MCP servers.
    pub mcp: Map<String, Value>,
    /// The terminal interface.
    pub ui: Ui,
    /// The key for OpenRouter.
    #[serde(deserialize_with = "secret")]
    pub openrouter_api_key: Option<Secret<String>>,
    /// True if no tool call is asked about.
    pub dangerously_skip_permissions: bool,
    /// True if processes run unconfined.
    pub dangerously_skip_sandbox: bool,
    /// True if a home directory may be a project.
    pub allow_home_directory: bool,
    /// The file that the conversation is logged to.
    pub log_file: Option<PathBuf>,
}

fn secret<'de, D: Deserializer<'de>>(source: D) -> Result<Option<Secret<String>>, D::Error> {
    Ok(Option::<String>::deserialize(source)?.map(Secret::new))
}

/// Models and their names.
#[derive(Clone, Debug, Deserialize)]
pub struct Models {
    /// The model that is used when none is named.
    pub default: String,
    /// The models that answer in order if the chosen one fails: `provider/model`.
    pub fallback: Vec<String>,
    /// Short names.
    pub aliases: BTreeMap<String, String>,
    /// Models that stand first in lists.
    #[serde(deserialize_with = "switches")]
    pub favorites: BTreeMap<String, bool>,
    /// Known models, by canonical name.
    pub registry: BTreeMap<String, RegisteredModel>,
}

/// Reads switches that are mappings with `enabled` if the user has notes on them.
fn switches<'de, D: Deserializer<'de>>(source: D) -> Result<BTreeMap<String, bool>, D::Error> {
    let switches = BTreeMap::<String, Value>::deserialize(source)?.into_iter();
    let is_on = |value: &Value| *value.get("enabled").unwrap_or(value) != Value::Bool(false);
    Ok(switches.map(|(name, value)| (name, is_on(&value))).collect())
}

/// Reads bindings; one that is text is the name of the model.
fn bindings<'de, D: Deserializer<'de>>(source: D) -> Result<BTreeMap<String, Binding>, D::Error> {
    let binding = |value| match value {
        Value::String(name) => Ok(Binding { model_id: Some(name), ..Binding::default() }),
        value => serde_json::from_value(value).map_err(D::Error::custom),
    };
    let bindings = BTreeMap::<String, Value>::deserialize(source)?.into_iter();
    bindings.map(|(provider, value)| Ok((provider, binding(value)?))).collect()
}

fn yes() -> bool {
    true
}

/// A known model.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct RegisteredModel {
    /// Its canonical name: the key of the entry.
    pub canonical_id: String,
    /// Its name at each provider.
    #[serde(deserialize_with = "bindings")]
    pub bindings: BTreeMap<String, Binding>,
    /// Its description.
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
#[serde(default)]
pub struct Binding {
    /// The provider's name for it; the canonical one if none.
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
    /// Returns true if the provider knows the model by this name; `canonical` is its name if none is
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

/// The description of a model.
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
pub struct Providers {
    /// The instance or kind that is used when none is named.
    pub default: String,
    /// The instances by name.
    pub instances: BTreeMap<String, Instance>,
}

/// A server, or an account on one.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Instance {
    /// The kind of server: `openai`, `openrouter`, `anthropic`, `ollama`, `script`, a plugin's.
    #[serde(rename = "type")]
    pub kind: String,
    /// True if it may be chosen.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Its address.
    #[serde(default)]
    pub base_url: Option<String>,
    /// Seconds that its list of models is cached.
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
#[expect(clippy::struct_excessive_bools, reason = "the fields are a published file format")]
pub struct Behavior {
    /// Upper bound on a reply, in tokens.
    pub max_tokens: u64,
    /// Upper bound on rounds of tool calls in one turn; an interactive session has none by default.
    pub max_tool_rounds: u32,
    /// How much freedom tools have.
    pub mode: Mode,
    /// The form of the output.
    pub output_format: OutputFormat,
    /// How past reasoning is sent back.
    pub reasoning_format: ReasoningFormat,
    /// How hard to think.
    pub reasoning_level: String,
    /// True if only `Finish` ends a turn.
    pub require_finish: bool,
    /// True if the cost is shown.
    pub show_cost: bool,
    /// True if reasoning is shown.
    pub show_thinking: bool,
    /// True if more details are printed.
    pub verbose: bool,
}

/// The form of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputFormat {
    /// Text for users.
    #[default]
    Text,
    /// One JSON object at the end.
    Json,
    /// One JSON object for every event.
    #[serde(alias = "stream")]
    StreamJson,
}

/// Confinement of processes.
#[derive(Clone, Debug, Deserialize)]
pub struct Sandbox {
    /// True if they are confined.
    pub enabled: bool,
    /// True if they may use the network.
    pub allow_network: bool,
    /// Further paths that they may write.
    pub allowed_paths: Vec<PathBuf>,
    /// Further paths that they may read.
    pub read_paths: Vec<PathBuf>,
}

/// Logs of conversations.
#[derive(Clone, Debug, Deserialize)]
pub struct Logging {
    /// True if conversations are logged.
    pub enabled: bool,
    /// The directory; the usual one if none.
    pub dir: Option<PathBuf>,
    /// How much is logged.
    pub level: String,
    /// True if the directory is closed to other users.
    pub private: bool,
    /// True if requests and replies are logged as sent.
    pub raw_payloads: bool,
}

/// Stored sessions.
#[derive(Clone, Debug, Deserialize)]
pub struct Session {
    /// True if they are stored.
    pub auto_save: bool,
    /// How many are listed.
    pub history_limit: u64,
}

/// Snapshots of files, so that changes can be undone.
#[derive(Clone, Debug, Deserialize)]
pub struct Undo {
    /// True if snapshots are made.
    pub enabled: bool,
    /// Megabytes of the largest file in a snapshot.
    pub max_file_mb: u64,
    /// Megabytes of all snapshots of one workspace.
    pub max_total_mb: u64,
}

/// Plugins.
#[derive(Clone, Debug, Deserialize)]
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
    /// True if it is on; on if none.
    pub enabled: Option<bool>,
    /// Seconds for one call.
    pub timeout: Option<u64>,
    /// Its grants, as written.
    pub sandbox: Value,
    /// Everything else that was written; the plugin reads it.
    #[serde(flatten)]
    pub own: Map<String, Value>,
}

/// Tools.
#[derive(Clone, Debug, Deserialize)]
pub struct Tools {
    /// The disabled ones by name; `__builtin__` means all built-in ones.
    pub disabled: BTreeMap<String, bool>,
    /// The settings of each, by name.
    #[serde(flatten)]
    pub each: BTreeMap<String, Tool>,
}

impl Tools {
    /// Applies what is forbidden under a name that differs from one of these only in case to the tool of
    /// that name. What is allowed there is ignored.
    pub(crate) fn forbid_by_any_case(&mut self, names: &[&str]) {
        let canonical = |name: &String| {
            let same = names.iter().find(|known| known.eq_ignore_ascii_case(name));
            same.filter(|known| *known != name).map(|known| (*known).to_owned())
        };
        for (name, is_disabled) in self.disabled.clone() {
            if let Some(known) = canonical(&name).filter(|_| is_disabled) {
                self.disabled.insert(known, true);
            }
        }
        for (name, tool) in self.each.clone() {
            let Some(known) = canonical(&name) else { continue };
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
pub struct Agents {
    /// How many conversations may be one within the other, beside the session's own.
    pub max_depth: u32,
}

/// The search engine of `WebSearch`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Web {
    /// None if `WebSearch` is not offered.
    pub search: Option<String>,
    /// The environment variable with the key.
    pub search_key_env: Option<String>,
    /// The server, if it is not the engine's own.
    pub search_url: Option<String>,
}

/// The settings of one tool.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Tool {
    /// When the user is asked; the tool decides if none.
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
#[derive(Clone, Debug, Deserialize)]
pub struct Ui {
    /// Its colors.
    pub theme: ThemeName,
    /// Which keys edit.
    pub editing: Editing,
    /// True if mouse events are captured.
    pub mouse: bool,
    /// True if links are written as terminal hyperlinks.
    pub links: bool,
    /// True if the user is notified when a long run ends or asks.
    pub notify: bool,
    /// A template of the status line.
    pub status_line: Option<String>,
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

/// Rules that allow, ask and deny, as written.
#[derive(Clone, Debug, Deserialize)]
pub struct Permissions {
    /// Rules for calls that run without a question.
    pub allow: Vec<Value>,
    /// Rules for calls that are asked about.
    pub ask: Vec<Value>,
    /// Rules for calls that do not run.
    pub deny: Vec<Value>,
}
