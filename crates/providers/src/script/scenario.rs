//! The types of a scenario file. `read` reads and checks a file.

use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};

use regex::Regex;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor, value};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The replies of a model in a conversation.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The file, for messages.
    #[serde(skip)]
    pub file: String,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub description: String,
    pub(super) turns: Vec<Turn>,
    #[serde(default)]
    pub(super) when_exhausted: WhenExhausted,
}

impl Scenario {
    /// The number of requests that it answers, error turns included.
    pub fn length(&self) -> u64 {
        let repeats = self.turns.iter().map(|turn| turn.repeat.get());
        repeats.map(u64::from).sum()
    }
}

/// The answer to a request after the last turn.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WhenExhausted {
    /// A failure that says how many turns there are.
    #[default]
    Error,
    /// The last turn, again and again.
    RepeatLast,
    Text(String),
}

/// The answer to one request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Turn {
    /// The line in the file.
    #[serde(skip)]
    pub(super) line: usize,
    #[serde(default)]
    pub(super) expect: Expect,
    pub(super) thinking: Option<String>,
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) tool_calls: Vec<Call>,
    #[serde(default)]
    pub(super) delay_ms: u64,
    pub(super) chunk: Option<NonZeroUsize>,
    pub(super) usage: Option<TurnUsage>,
    pub(super) stop_reason: Option<String>,
    pub(super) error: Option<Fault>,
    #[serde(default = "once")]
    pub(super) repeat: NonZeroU32,
}

fn once() -> NonZeroU32 {
    NonZeroU32::MIN
}

/// A tool call the model makes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) input: Option<Value>,
    pub(super) input_text: Option<String>,
    pub(super) id: Option<String>,
}

/// The usage that a turn reports.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TurnUsage {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cached: Option<u64>,
    pub(super) cost: Option<f64>,
}

/// A failure in place of a reply.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fault {
    pub(super) kind: FaultKind,
    pub(super) message: Option<String>,
    pub(super) retry_after_ms: Option<u64>,
    pub(super) after_text: Option<String>,
}

/// The failures a scenario can play.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FaultKind {
    RateLimited,
    Unavailable,
    Auth,
    Payment,
    NotFound,
    TooLong,
    Rejected,
    Unreachable,
    Idle,
    Cut,
    Garbled,
}

/// The conditions on a request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Expect {
    pub(super) last_user: Option<TextMatch>,
    pub(super) system: Option<TextMatch>,
    pub(super) tools: Option<ToolsMatch>,
    pub(super) tool_results: Option<Vec<ResultMatch>>,
    pub(super) messages: Option<usize>,
}

/// The conditions on a text.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct TextMatch {
    pub(super) equals: Option<String>,
    pub(super) contains: OneOrMany,
    pub(super) matches: Option<Pattern>,
    pub(super) not_contains: OneOrMany,
}

impl TextMatch {
    /// Returns true if there is no condition.
    pub(super) fn is_empty(&self) -> bool {
        self.equals.is_none()
            && self.contains.0.is_empty()
            && self.matches.is_none()
            && self.not_contains.0.is_empty()
    }
}

/// The conditions on the names of the offered tools.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolsMatch {
    pub(super) equals: Option<Vec<String>>,
    pub(super) contains: Vec<String>,
    pub(super) not_contains: Vec<String>,
}

impl<'de> Deserialize<'de> for ToolsMatch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = ToolsMatch;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of tool names, or `equals`, `contains` and `not_contains`")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, names: A) -> Result<ToolsMatch, A::Error> {
                let names = value::SeqAccessDeserializer::new(names);
                Ok(ToolsMatch { contains: Vec::deserialize(names)?, ..ToolsMatch::default() })
            }
            fn visit_map<A: MapAccess<'de>>(self, forms: A) -> Result<ToolsMatch, A::Error> {
                let forms = Forms::deserialize(value::MapAccessDeserializer::new(forms))?;
                Ok(ToolsMatch {
                    equals: forms.equals,
                    contains: forms.contains.0,
                    not_contains: forms.not_contains.0,
                })
            }
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Forms {
            equals: Option<Vec<String>>,
            #[serde(default)]
            contains: OneOrMany,
            #[serde(default)]
            not_contains: OneOrMany,
        }
        deserializer.deserialize_any(Names)
    }
}

/// The conditions on one tool result.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "FlatResultMatch")]
pub(super) struct ResultMatch {
    pub(super) name: Option<String>,
    pub(super) is_error: Option<bool>,
    pub(super) content: TextMatch,
}

/// A [`ResultMatch`] as it is written: the conditions on the text are beside the name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FlatResultMatch {
    name: Option<String>,
    is_error: Option<bool>,
    equals: Option<String>,
    #[serde(default)]
    contains: OneOrMany,
    matches: Option<Pattern>,
    #[serde(default)]
    not_contains: OneOrMany,
}

impl From<FlatResultMatch> for ResultMatch {
    fn from(flat: FlatResultMatch) -> Self {
        Self {
            name: flat.name,
            is_error: flat.is_error,
            content: TextMatch {
                equals: flat.equals,
                contains: flat.contains,
                matches: flat.matches,
                not_contains: flat.not_contains,
            },
        }
    }
}

/// A string, or a list of strings.
#[derive(Clone, Debug, Default)]
pub(super) struct OneOrMany(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;
        impl<'de> Visitor<'de> for Texts {
            type Value = OneOrMany;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of strings")
            }
            fn visit_str<E>(self, text: &str) -> Result<OneOrMany, E> {
                Ok(OneOrMany(vec![text.to_owned()]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, texts: A) -> Result<OneOrMany, A::Error> {
                let texts = value::SeqAccessDeserializer::new(texts);
                Vec::deserialize(texts).map(OneOrMany)
            }
        }
        deserializer.deserialize_any(Texts)
    }
}

/// A valid regular expression.
#[derive(Clone, Debug)]
pub(super) struct Pattern(pub(super) Regex);

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let regex = Regex::new(&text).map_err(|error| {
            let cause = error.to_string();
            let cause = cause.lines().last().unwrap_or_default();
            let cause = cause.trim_start_matches("error: ");
            D::Error::custom(format!("`{text}` is not a valid regular expression: {cause}"))
        })?;
        Ok(Self(regex))
    }
}
