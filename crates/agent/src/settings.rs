//! What a conversation is made of.

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
use contract::provider::{Delivery, Model, Provider, ReasoningLevel};
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
    /// The tools.
    pub registry: Arc<Registry>,
    /// Are asked at moments of the conversation, in this order.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// Judges calls.
    pub policy: Arc<dyn Approvals>,
    /// Starts processes.
    pub confinement: Confinement,
    /// Keeps events.
    pub log: Arc<dyn Log>,
    /// Keys that nothing which is kept, told or sent may hold.
    pub keys: Vec<Secret<String>>,
    /// Keeps what calls change, so that it can be undone.
    pub snapshots: Option<Arc<dyn Snapshots>>,
    /// Looks for changes of what extends the program, before each turn but the first.
    pub renewal: Option<Arc<dyn Renewal>>,
    /// Knows the shell lines in prompts.
    pub lines: Option<Arc<dyn PromptLines>>,
    /// The background commands of the session.
    pub jobs: Option<Arc<dyn Jobs>>,
    /// Why the mode `normal` works like `ask` at the moment: the sandbox or undo cannot do its job.
    pub fallback: Option<Arc<dyn Fn() -> Option<String> + Send + Sync>>,
}

impl Parts {
    /// Who answers, and how; none without a provider.
    pub(crate) fn configured(&self, settings: &Settings, system: &str) -> Option<EventKind> {
        self.provider.as_ref().map(|provider| EventKind::Configured {
            provider: provider.name().to_owned(),
            model: settings.request.model.clone(),
            mode: settings.mode,
            system: system.to_owned(),
        })
    }
}

/// Looks for changes of what extends the program.
#[async_trait]
pub trait Renewal: Send + Sync {
    /// What is different since it was last asked.
    async fn renew(&self) -> Renewed;
}

/// What a look for changes came to.
#[derive(Default)]
pub struct Renewed {
    /// What is different; none where nothing is.
    pub change: Option<Change>,
    /// Things to tell.
    pub notices: Vec<EventKind>,
}

/// What takes the place of what a conversation was made of.
pub struct Change {
    /// The tools.
    pub registry: Registry,
    /// The hooks.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// The system prompt.
    pub system: String,
}

/// How a conversation goes.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What requests say.
    pub request: RequestSettings,
    /// How much freedom tools have.
    pub mode: Mode,
    /// The system prompt.
    pub system: String,
    /// Requests of a turn before it is stopped.
    pub rounds: Bound<u32>,
    /// The tool that a turn must end with, where one is required.
    pub required_finish: Option<String>,
    /// Whether tools run or are only named.
    pub execution: Execution,
    /// Whether calls of one reply may run together.
    pub parallel_tools: bool,
    /// A directory for output too large for the model.
    pub spill: PathBuf,
    /// How failed requests are repeated.
    pub retry: Retry,
    /// How calls are recovered that the model only wrote down; none where they are not.
    pub recovery: Option<RecoverySettings>,
    /// Identical calls or errors that count as going in circles; none where nobody counts.
    pub stuck_after: Option<u32>,
    /// Calls of one reply that are run, at most.
    pub max_calls: Option<usize>,
    /// What the conversation may cost.
    pub budget: Budget,
    /// Whether what would be asked about is approved without asking.
    pub approves_all: bool,
    /// What becomes of what a user would be asked about.
    pub questions: Questions,
    /// The directory the conversation works in.
    pub cwd: PathBuf,
}

/// A limit with the flag or the key that sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound<T> {
    /// So much.
    pub most: T,
    /// What the user wrote to set it.
    pub name: &'static str,
}

impl<T: PartialOrd> Bound<T> {
    /// A limit that `name` sets.
    pub fn new(most: T, name: &'static str) -> Self {
        Self { most, name }
    }

    /// Takes a lower limit of somebody else.
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

/// What every request of a conversation says.
#[derive(Clone, Debug)]
pub struct RequestSettings {
    /// The model, in the provider's own spelling.
    pub model: String,
    /// Upper bound on a reply's length.
    pub max_tokens: u64,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// How hard to think.
    pub reasoning_level: ReasoningLevel,
    /// How past reasoning is sent back.
    pub reasoning_format: String,
    /// Further fields of the body.
    pub params: std::collections::BTreeMap<String, Value>,
    /// Whether replies come in pieces or whole.
    pub delivery: Delivery,
    /// Whether the tools are sent in the provider's own form.
    pub sends_tools: bool,
    /// What is known of the model beside its name.
    pub known: Known,
}

/// What is known of a model: what the configuration says, and what its provider says once it was
/// asked, which may be in the middle of a conversation.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Tokens that it can take in, by the configuration.
    pub context_window: Option<u64>,
    /// What tokens cost, by the configuration.
    pub prices: Option<Prices>,
    /// The provider's models, once it was asked.
    pub offered: Arc<OnceLock<Vec<Model>>>,
    /// Whether nobody charges for it.
    pub is_free: bool,
}

impl Known {
    /// Tokens that the model of this name can take in, where that is known.
    pub fn context_window_of(&self, model: &str) -> Option<u64> {
        self.context_window.or_else(|| self.offered(model)?.context)
    }

    /// What tokens of the model of this name cost, for providers that do not tell the cost of a
    /// reply.
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

/// How calls are recovered from what a model wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoverySettings {
    /// Whether the model is told that it should have called the tool.
    pub tells_model: bool,
    /// Whether a call counts only after a phrase of intent.
    pub requires_intent_phrase: bool,
    /// Whether writing a call down is the way in which this model makes one.
    pub is_agreed: bool,
}

/// What a conversation may cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// From when on it counts.
    pub span: Span,
    /// US dollars.
    pub cost_usd: Option<Bound<f64>>,
    /// Tokens, both ways.
    pub tokens: Option<Bound<u64>>,
    /// Tokens that the model is sent.
    pub input_tokens: Option<Bound<u64>>,
    /// Tokens that the model writes.
    pub output_tokens: Option<Bound<u64>>,
    /// Time.
    pub time: Option<Bound<Duration>>,
}

/// From when on a budget counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Span {
    /// From the opening of the conversation.
    #[default]
    Conversation,
    /// From the beginning of the turn.
    Turn,
}

impl Budget {
    /// The limit that is reached.
    pub(crate) fn reached(&self, spent: &Usage) -> Option<Outcome> {
        let counted = [
            ("max_tokens", self.tokens, spent.total_tokens()),
            ("max_input_tokens", self.input_tokens, spent.input_tokens),
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

    /// The limit on what a conversation costs, where nobody knows what that is: what is not known
    /// does not count as nothing.
    pub(crate) fn unpriced(&self) -> Option<Outcome> {
        let Bound { most, name } = self.cost_usd?;
        let told = format!("{name} (${most}): the price of the model is not known");
        Some(limited("max_cost", most, told))
    }

    /// The limit on time.
    pub(crate) fn overdue(&self) -> Option<Outcome> {
        let Bound { most, name } = self.time?;
        let seconds = most.as_secs_f64();
        Some(limited("timeout", seconds, format!("{name} ({seconds} s)")))
    }
}

/// The end of a turn by a limit: which one in one word, and in the user's words.
pub(crate) fn limited(limit: &str, value: impl Into<Value>, told: String) -> Outcome {
    Outcome::Limited { limit: limit.to_owned(), value: value.into(), told }
}

/// What tokens cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// US dollars for a million input tokens.
    pub input: f64,
    /// US dollars for a million output tokens.
    pub output: f64,
    /// US dollars for a million input tokens that were cached; the usual price where none is told.
    pub cache_read: Option<f64>,
    /// US dollars for a million input tokens that get cached; the usual price where none is told.
    pub cache_write: Option<f64>,
}

impl Prices {
    /// What a reply with this usage costs.
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

/// What becomes of what a user would be asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Questions {
    /// A user is asked.
    Put,
    /// It does not run.
    Refused,
}

/// Whether tools run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// They run.
    Real,
    /// They are judged and named, and do not run.
    Dry,
}
