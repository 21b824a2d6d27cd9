//! Turns a tree into Rust types by serde, with the line of whatever does not fit.

use std::fmt;
use std::slice::Iter;

use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer, SeqDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, Expected, IntoDeserializer, MapAccess,
    Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use super::tree::{Content, Tree};

/// A part of a file that does not fit its type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// The line, from 1.
    pub line: usize,
    /// The reason.
    pub message: String,
    /// The word that is not known, if that is the reason.
    pub word: String,
    /// The words that could stand there instead.
    pub known: &'static [&'static str],
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Finding {}

impl Finding {
    /// The finding at a line, unless it has one that is nearer.
    fn at(self, line: usize) -> Self {
        Self { line: if self.line == 0 { line } else { self.line }, ..self }
    }
}

impl Error for Finding {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { message: message.to_string(), ..Self::default() }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("expected {expected}, found {found}"))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_variant(word: &str, known: &'static [&'static str]) -> Self {
        let message = format!("unknown value `{word}`");
        Self { message, word: word.to_owned(), known, line: 0 }
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        Self { message: format!("unknown key `{key}`"), ..Self::unknown_variant(key, known) }
    }

    fn missing_field(key: &'static str) -> Self {
        Self::custom(format_args!("the key `{key}` is missing; add it"))
    }
}

impl Tree {
    /// Turns the tree into a type.
    pub fn to_type<T: DeserializeOwned>(&self) -> Result<T, Finding> {
        T::deserialize(self)
    }

    fn visit<'de, V: Visitor<'de>>(&'de self, visitor: V) -> Result<V::Value, Finding> {
        match &self.content {
            Content::Scalar(Value::Bool(truth)) => visitor.visit_bool(*truth),
            Content::Scalar(Value::Number(number)) => {
                match (number.as_u64(), number.as_i64(), number.as_f64()) {
                    (Some(number), _, _) => visitor.visit_u64(number),
                    (_, Some(number), _) => visitor.visit_i64(number),
                    (_, _, number) => visitor.visit_f64(number.unwrap_or_default()),
                }
            }
            Content::Scalar(Value::String(text)) => visitor.visit_borrowed_str(text),
            Content::Scalar(_) => visitor.visit_unit(),
            Content::List(items) => visitor.visit_seq(SeqDeserializer::new(items.iter())),
            Content::Map(entries) => visitor.visit_map(Entries::new(entries)),
        }
    }
}

impl<'de> Deserializer<'de> for &'de Tree {
    type Error = Finding;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Finding> {
        self.visit(visitor).map_err(|finding| finding.at(self.place.line))
    }

    /// Text is what was written, also if it looks like a number.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Finding> {
        match &self.place.source {
            Some(source) if !self.is_null() => visitor.visit_borrowed_str(source),
            Some(_) | None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Finding> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Finding> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Finding> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Finding> {
        let chosen = match &self.content {
            Content::Scalar(Value::String(word)) => {
                visitor.visit_enum(BorrowedStrDeserializer::new(word))
            }
            Content::Map(entries) if entries.len() == 1 => {
                visitor.visit_enum(MapAccessDeserializer::new(Entries::new(entries)))
            }
            Content::Scalar(_) | Content::List(_) | Content::Map(_) => self.visit(visitor),
        };
        chosen.map_err(|finding| finding.at(self.place.line))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Finding> for &'de Tree {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// The entries of a mapping that are not read yet, and the one whose value is next.
struct Entries<'de> {
    rest: Iter<'de, (String, Tree)>,
    value: Option<&'de Tree>,
}

impl<'de> Entries<'de> {
    fn new(entries: &'de [(String, Tree)]) -> Self {
        Self { rest: entries.iter(), value: None }
    }
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Finding;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Finding> {
        let Some((name, node)) = self.rest.next() else { return Ok(None) };
        self.value = Some(node);
        let key = seed.deserialize(BorrowedStrDeserializer::new(name));
        key.map(Some).map_err(|finding: Finding| finding.at(node.place.line))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Finding> {
        let value = self.value.take().ok_or_else(|| Finding::custom("a value without a key"))?;
        seed.deserialize(value).map_err(|finding| finding.at(value.place.line))
    }
}
