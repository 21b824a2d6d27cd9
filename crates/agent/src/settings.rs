//! What a conversation is made of.

use std::path::PathBuf;
use std::sync::Arc;

use contract::log::Log;
use contract::message::Usage;
use contract::policy::{Mode, Policy};
use contract::provider::{Delivery, Provider};
use contract::sandbox::Confinement;

use crate::registry::Registry;
use crate::retry::Retry;

/// The parts that a conversation uses.
pub struct Parts {
    /// Answers requests; none for running single tools.
    pub provider: Option<Arc<dyn Provider>>,
    /// The tools.
    pub registry: Registry,
    /// Judges calls.
    pub policy: Arc<dyn Policy>,
    /// Starts processes.
    pub confinement: Confinement,
    /// Keeps events.
    pub log: Arc<dyn Log>,
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
    /// Rounds of tool calls before a turn is stopped.
    pub max_tool_rounds: u32,
    /// The tool that a turn must end with, where one is required.
    pub required_finish: Option<String>,
    /// Whether tools run or are only named.
    pub execution: Execution,
    /// Whether calls of one reply may run together.
    pub parallel_tools: bool,
    /// A folder for output too large for the model.
    pub spill: PathBuf,
    /// How failed requests are repeated.
    pub retry: Retry,
    /// The folder the conversation works in.
    pub cwd: PathBuf,
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
    pub reasoning_level: String,
    /// How past reasoning is sent back.
    pub reasoning_format: String,
    /// Further fields of the body.
    pub params: std::collections::BTreeMap<String, serde_json::Value>,
    /// Whether replies come in pieces or whole.
    pub delivery: Delivery,
    /// US dollars for a million tokens in and out, for providers that do not tell the cost.
    pub prices: Option<Prices>,
}

/// What tokens cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// US dollars for a million input tokens.
    pub input: f64,
    /// US dollars for a million output tokens.
    pub output: f64,
}

impl Prices {
    /// What a reply with this usage costs.
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    pub fn of(self, usage: &Usage) -> f64 {
        (usage.input_tokens as f64 * self.input + usage.output_tokens as f64 * self.output) / 1e6
    }
}

/// Whether tools run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// They run.
    Real,
    /// They are judged and named, and do not run.
    Dry,
}
