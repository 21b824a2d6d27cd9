//! The figures themselves, and how they add up.

use std::collections::BTreeMap;

use contract::message::Usage;
use serde::Serialize;

/// Characters of output that make a token, about.
const CHARACTERS_PER_TOKEN: u64 = 4;

/// The figures of some time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Turns that began.
    pub turns: u64,
    /// Usage by `provider/model`.
    pub models: BTreeMap<String, Spent>,
    /// Tool runs by tool.
    pub tools: BTreeMap<String, Used>,
}

/// The usage of some replies.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Spent {
    /// How many replies.
    pub replies: u64,
    /// Tokens sent, cached ones included.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Tokens of reasoning among those received.
    pub reasoning_tokens: u64,
    /// Tokens sent that the provider had cached.
    pub cache_read_tokens: u64,
    /// Tokens sent that the provider cached.
    pub cache_write_tokens: u64,
    /// US dollars, as far as they are known; none where nothing is.
    pub cost_usd: Option<f64>,
    /// Replies without a known price.
    pub unpriced_replies: u64,
    /// Their usage.
    pub unpriced: Usage,
}

/// The runs of a tool, or of all tools of a plugin.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Used {
    /// The plugin it comes from; none for a built-in one.
    pub plugin: Option<String>,
    /// How often it ran.
    pub calls: u64,
    /// How often it did not do what it was asked.
    pub failures: u64,
    /// Milliseconds of all runs.
    pub duration_ms: u64,
    /// Characters that it put into the model's context.
    pub characters: u64,
}

impl Figures {
    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        self.turns += other.turns;
        for (name, spent) in &other.models {
            self.models.entry(name.clone()).or_default().add(spent);
        }
        for (name, used) in &other.tools {
            self.tools.entry(name.clone()).or_default().add(used);
        }
    }

    /// All models together.
    pub fn spent(&self) -> Spent {
        self.models.values().fold(Spent::default(), |mut total, spent| {
            total.add(spent);
            total
        })
    }

    /// Tool runs by plugin; `builtin` are the program's own tools.
    pub fn plugins(&self) -> BTreeMap<String, Used> {
        let mut plugins: BTreeMap<String, Used> = BTreeMap::new();
        for used in self.tools.values() {
            let name = used.plugin.clone().unwrap_or_else(|| contract::tool::BUILTIN.to_owned());
            plugins.entry(name).or_default().add(used);
        }
        plugins
    }
}

impl Spent {
    /// The usage of one reply.
    pub(crate) fn of(usage: &Usage) -> Self {
        // The cost of a local server is not known, either.
        let is_unpriced = usage.cost_usd.is_none();
        Self {
            replies: 1,
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            reasoning_tokens: usage.reasoning_tokens.unwrap_or(0),
            cache_read_tokens: usage.cached_tokens.unwrap_or(0),
            cache_write_tokens: usage.cache_write_tokens.unwrap_or(0),
            cost_usd: usage.cost_usd,
            unpriced_replies: u64::from(is_unpriced),
            unpriced: if is_unpriced { usage.clone() } else { Usage::default() },
        }
    }

    /// Gives a price to the replies that had none.
    pub(crate) fn price(&mut self, cost: f64) {
        *self.cost_usd.get_or_insert(0.0) += cost;
        self.unpriced_replies = 0;
        self.unpriced = Usage::default();
    }

    /// Adds what others took.
    pub fn add(&mut self, other: &Self) {
        self.replies += other.replies;
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.reasoning_tokens += other.reasoning_tokens;
        self.cache_read_tokens += other.cache_read_tokens;
        self.cache_write_tokens += other.cache_write_tokens;
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
        };
        self.unpriced_replies += other.unpriced_replies;
        self.unpriced.add(&other.unpriced);
    }
}

impl Used {
    /// One run.
    pub(crate) fn once(
        plugin: Option<String>,
        success: bool,
        duration_ms: u64,
        content: &str,
    ) -> Self {
        let characters = content.chars().count() as u64;
        Self { plugin, calls: 1, failures: u64::from(!success), duration_ms, characters }
    }

    /// Adds other runs.
    pub fn add(&mut self, other: &Self) {
        self.plugin = other.plugin.clone().or(self.plugin.take());
        self.calls += other.calls;
        self.failures += other.failures;
        self.duration_ms += other.duration_ms;
        self.characters += other.characters;
    }

    /// Tokens that its output took in the model's context, about.
    pub fn tokens(&self) -> u64 {
        self.characters.div_ceil(CHARACTERS_PER_TOKEN)
    }
}
