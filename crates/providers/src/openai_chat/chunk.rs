//! The pieces of a chat completion. Reading them is lenient: a field of an
//! unexpected type is empty, never an error, because every server bends this format a little.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// One event of a stream, or a whole reply.
#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    pub(super) usage: Option<Value>,
    /// The usage of one vendor.
    pub(super) x_groq: Option<Value>,
    pub(super) error: Option<Value>,
}

/// One of the answers; only one is requested.
#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    pub(super) index: Option<u64>,
    /// The usage of some vendors.
    pub(super) usage: Option<Value>,
    #[serde(borrow)]
    pub(super) delta: Option<Piece<'a>>,
    #[serde(borrow)]
    pub(super) message: Option<Piece<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<Text<'a>>,
}

/// The part of an answer in this chunk.
#[derive(Deserialize)]
pub(super) struct Piece<'a> {
    #[serde(borrow)]
    pub(super) content: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) refusal: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) reasoning: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) reasoning_content: Option<Text<'a>>,
    pub(super) reasoning_details: Option<Value>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<CallPiece<'a>>>,
    /// A single call in the older format.
    #[serde(borrow)]
    pub(super) function_call: Option<FunctionPiece<'a>>,
}

/// A piece of a tool call.
#[derive(Default, Deserialize)]
pub(super) struct CallPiece<'a> {
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) function: Option<FunctionPiece<'a>>,
    pub(super) extra_content: Option<Value>,
}

/// The function of a call.
#[derive(Deserialize)]
pub(super) struct FunctionPiece<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// Text, given as a string or as a list of parts.
#[derive(Default)]
pub(super) struct Text<'a> {
    pub(super) text: Cow<'a, str>,
    /// Reasoning among the parts.
    pub(super) thinking: String,
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("text")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text { text: Cow::Borrowed(text), thinking: String::new() })
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Text<'de>, E> {
        self.visit_string(text.to_owned())
    }

    fn visit_string<E: serde::de::Error>(self, text: String) -> Result<Text<'de>, E> {
        Ok(Text { text: Cow::Owned(text), thinking: String::new() })
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Text<'de>, E> {
        self.visit_string(number.to_string())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Text<'de>, E> {
        Ok(Text::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Text<'de>, E> {
        Ok(Text::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Text<'de>, E> {
        Ok(Text::default())
    }

    fn visit_unit<E>(self) -> Result<Text<'de>, E> {
        Ok(Text::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text<'de>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Text::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Text<'de>, A::Error> {
        let mut words = String::new();
        let mut thinking = String::new();
        while let Some(part) = parts.next_element::<Value>()? {
            words.push_str(part.get("text").and_then(Value::as_str).unwrap_or_default());
            match part.get("thinking") {
                Some(Value::String(text)) => thinking.push_str(text),
                Some(Value::Array(items)) => {
                    thinking.extend(items.iter().filter_map(|item| item.get("text")?.as_str()));
                }
                _ => {}
            }
        }
        Ok(Text { text: Cow::Owned(words), thinking })
    }
}

/// The text of a field that may be missing.
pub(super) fn words<'t>(text: Option<&'t Text<'_>>) -> &'t str {
    text.map(|text| text.text.as_ref()).unwrap_or_default()
}
