//! The parts and settings of a conversation.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use contract::event::{EventKind, Outcome};
use contract::hook::Hook;
use contract::jobs::Jobs;
use contract::log::Log;
use contract::message::Usage;
use contract::policy::{Approvals, Mode};
use contract::prompt_lines::PromptLines;
use contract::provider::{Delivery, Model, Provider, ReasoningFormat, ReasoningLevel};
use contract::sandbox::Confinement;
use contract::secret::Secret;
use contract::snapshots::Snapshots;
use serde_json::Value;

use crate::registry::Registry;
use crate::retry::Retry;

/// The parts that a conversation uses.
#[derive(Clone)]
pub struct Parts {
    /// Answers requests; none for running single tools.
    pub provider: Option<Arc<dyn Provider>>,
    pub registry: Arc<Registry>,
    /// Are asked at moments of the conversation, in this order.
    pub hooks: Vec<Arc<dyn Hook>>,
    pub policy: Arc<dyn Approvals>,
    pub confinement: Confinement,
    pub log: Arc<dyn Log>,
    /// Keys that are redacted in the log, in events and in requests.
    pub keys: Vec<Secret<String>>,
    /// Keeps what calls change, so that it can be undone.
    pub snapshots: Option<Arc<dyn Snapshots>>,
    /// Looks for changes of what extends the program, before each turn but the first.
    pub renewal: Option<Arc<dyn Renewal>>,
    /// Knows the shell lines in prompts.
    pub lines: Option<Arc<dyn PromptLines>>,
    pub jobs: Option<Arc<dyn Jobs>>,
    /// The reason why `normal` works like `ask` now: the sandbox or undo does not work.
    pub fallback: Option<Arc<dyn Fn() -> Option<String> + Send + Sync>>,
}

impl Parts {
    /// The event that names the model and the mode; none without a provider.
    pub(crate) fn configured(&self, settings: &Settings, system: &str) -> Option<EventKind> {
        let (provider, model) = self.provider.as_ref()?.answering(&settings.request.model);
        let [provider, model, system] = [provider, model, system].map(str::to_owned);
        Some(EventKind::Configured { provider, model, mode: settings.mode, system })
    }
}

/// Looks for changes of what extends the program.
#[async_trait]
pub trait Renewal: Send + Sync {
    async fn renew(&self) -> Renewed;

    /// Returns true if something has changed before the first turn.
    fn is_due(&self) -> bool;
}

/// The result of a look for changes.
#[derive(Default)]
pub struct Renewed {
    /// The new parts; none without a change.
    pub change: Option<Change>,
    pub notices: Vec<EventKind>,
}

/// New parts of a conversation.
pub struct Change {
    pub registry: Registry,
    pub hooks: Vec<Arc<dyn Hook>>,
    pub system: String,
}

/// The settings of a conversation.
#[derive(Clone, Debug)]
pub struct Settings {
    pub request: RequestSettings,
    pub mode: Mode,
    pub system: String,
    /// Requests of a turn before it is stopped.
    pub rounds: Bound<u32>,
    /// The tool that a turn must end with, where one is required.
    pub required_finish: Option<String>,
    pub execution: Execution,
    /// True if calls of one reply may run together.
    pub parallel_tools: bool,
    /// A directory for output too large for the model.
    pub spill: PathBuf,
    pub retry: Retry,
    /// The recovery of calls that the model wrote as text; none if it is off.
    pub recovery: Option<RecoverySettings>,
    /// Identical calls or errors that are a loop; none if loops are not detected.
    pub stuck_after: Option<u32>,
    /// Calls of one reply that are run, at most.
    pub max_calls: Option<usize>,
    pub budget: Budget,
    /// True if questions are answered with yes.
    pub approves_all: bool,
    pub questions: Questions,
    /// The directory the conversation works in.
    pub cwd: PathBuf,
    pub find_skill: FindSkill,
    pub compaction: CompactionSettings,
}

/// The way in which a summary replaces the history.
#[derive(Clone, Debug, Default)]
pub struct CompactionSettings {
    /// Last messages that stay, at most; none for about a third of the history.
    pub tail_messages: Option<usize>,
    /// The model that writes the summary, if it is not the conversation's.
    pub model: Option<String>,
    /// Text before the summary.
    pub prefix: String,
}

/// Finds the activation of a skill at the start of a message: its block, and the request after it.
pub type FindSkill = for<'a> fn(&'a str) -> Option<(&'a str, &'a str)>;

/// A limit with the flag or the key that sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound<T> {
    pub most: T,
    pub name: &'static str,
}

impl<T: PartialOrd> Bound<T> {
    /// A limit that `name` sets.
    pub fn new(most: T, name: &'static str) -> Self {
        Self { most, name }
    }

    /// Takes the other limit if it is lower.
    pub fn lower(&mut self, other: Self) {
        if other.most < self.most {
            *self = other;
        }
    }

    /// The lower of two limits, of which one may not be there.
    #[must_use]
    pub fn lower_of(own: Option<Self>, other: Self) -> Self {
        match own {
            Some(own) if own.most <= other.most => own,
            _ => other,
        }
    }
}

/// The settings of every request of a conversation.
#[derive(Clone, Debug)]
pub struct RequestSettings {
    /// The model, in the provider's own spelling.
    pub model: String,
    /// Upper bound on a reply's length.
    pub max_tokens: u64,
    pub temperature: Option<f64>,
    pub reasoning_level: ReasoningLevel,
    pub reasoning_format: ReasoningFormat,
    /// Further fields of the body.
    pub params: std::collections::BTreeMap<String, Value>,
    pub delivery: Delivery,
    /// True if the tools are sent in the provider's own form.
    pub sends_tools: bool,
    pub known: ModelFacts,
}

/// Facts about a model, from the configuration and from its provider, which may answer later.
#[derive(Clone, Debug, Default)]
pub struct ModelFacts {
    /// Tokens that it can take in, by the configuration.
    pub context_window: Option<u64>,
    /// Prices from the configuration.
    pub prices: Option<Prices>,
    /// The provider's models, once it was asked.
    pub offered: Arc<OnceLock<Vec<Model>>>,
    /// True if it costs nothing.
    pub is_free: bool,
}

impl ModelFacts {
    /// Tokens that the model of this name can take in, where that is known.
    pub fn context_window_of(&self, model: &str) -> Option<u64> {
        self.context_window.or_else(|| self.offered(model)?.context)
    }

    /// The prices of this model, for providers that do not report the cost of a reply.
    pub fn prices_of(&self, model: &str) -> Option<Prices> {
        let of_provider = || {
            let offered = self.offered(model)?;
            let (input, output) = offered.input_price.zip(offered.output_price)?;
            Some(Prices { input, output, cache_read: None, cache_write: None })
        };
        self.prices.or_else(of_provider)
    }

    fn offered(&self, model: &str) -> Option<&Model> {
        self.offered.get()?.iter().find(|offered| offered.id == model)
    }
}

/// The recovery of calls from text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoverySettings {
    /// True if the model is told that it should have called the tool.
    pub tells_model: bool,
    /// True if a call is recovered only after a phrase of intent.
    pub requires_intent_phrase: bool,
    /// True if this model makes calls by writing them as text.
    pub is_agreed: bool,
}

/// The budget of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    pub span: Span,
    pub cost_usd: Option<Bound<f64>>,
    /// Tokens, both ways.
    pub tokens: Option<Bound<u64>>,
    /// Tokens that the model is sent.
    pub input_tokens: Option<Bound<u64>>,
    /// Tokens that the model is sent in one request.
    pub request_input_tokens: Option<Bound<u64>>,
    /// Tokens that the model writes.
    pub output_tokens: Option<Bound<u64>>,
    pub time: Option<Bound<Duration>>,
}

/// The span of a budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Span {
    #[default]
    Conversation,
    Turn,
}

impl Budget {
    pub(crate) fn reached(&self, spent: &Usage, largest_input: u64) -> Option<Outcome> {
        let counted = [
            ("max_tokens", self.tokens, spent.total_tokens()),
            ("max_input_tokens", self.input_tokens, spent.input_tokens),
            ("max_request_input_tokens", self.request_input_tokens, largest_input),
            ("max_output_tokens", self.output_tokens, spent.output_tokens),
        ];
        for (word, limit, spent) in counted {
            if let Some(Bound { most, name }) = limit.filter(|limit| spent >= limit.most) {
                return Some(limited(word, most, format!("{name} ({most})")));
            }
        }
        let Bound { most, name } = self.cost_usd?;
        let is_reached = spent.cost_usd.unwrap_or(0.0) >= most;
        is_reached.then(|| limited("max_cost", most, format!("{name} (${most})")))
    }

    /// The cost limit of a model without known prices, which is not a cost of zero.
    pub(crate) fn unpriced(&self) -> Option<Outcome> {
        let Bound { most, name } = self.cost_usd?;
        let told = format!("{name} (${most}): the price of the model is not known");
        Some(limited("max_cost", most, told))
    }

    pub(crate) fn overdue(&self) -> Option<Outcome> {
        let Bound { most, name } = self.time?;
        let seconds = most.as_secs_f64();
        Some(limited("timeout", seconds, format!("{name} ({seconds} s)")))
    }
}

/// The end of a turn by a limit: its name, its value, and the text for the user.
pub(crate) fn limited(limit: &str, value: impl Into<Value>, told: String) -> Outcome {
    Outcome::Limited { limit: limit.to_owned(), value: value.into(), told }
}

/// Prices of tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// US dollars for a million input tokens.
    pub input: f64,
    /// US dollars for a million output tokens.
    pub output: f64,
    /// US dollars for a million cached input tokens; none for the usual price.
    pub cache_read: Option<f64>,
    /// US dollars for a million input tokens that get cached; none for the usual price.
    pub cache_write: Option<f64>,
}

impl Prices {
    /// The price of a reply with this usage.
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    pub fn of(self, usage: &Usage) -> f64 {
        let read = usage.cached_tokens.unwrap_or(0).min(usage.input_tokens);
        let written = usage.cache_write_tokens.unwrap_or(0).min(usage.input_tokens - read);
        let plain = usage.input_tokens - read - written;
        let parts = [
            (plain, self.input),
            (read, self.cache_read.unwrap_or(self.input)),
            (written, self.cache_write.unwrap_or(self.input)),
            (usage.output_tokens, self.output),
        ];
        parts.into_iter().map(|(tokens, price)| tokens as f64 * price).sum::<f64>() / 1e6
    }
}

/// The treatment of questions to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Questions {
    Put,
    Refused,
}

/// The execution of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    Real,
    Dry,
}
