//! Deserializes a tree. Errors have the line of the value that does not fit.

use serde::de::value::{
    BorrowedStrDeserializer, MapAccessDeserializer, MapDeserializer, SeqDeserializer,
};
use serde::de::{
    DeserializeOwned, Deserializer, Error, Expected, IntoDeserializer, MapAccess, Unexpected,
    Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use super::Malformed;
use super::tree::{Content, Tree};

impl Error for Malformed {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
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
        Self { message, word: word.to_owned(), known, ..Self::default() }
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        Self { message: format!("unknown key `{key}`"), ..Self::unknown_variant(key, known) }
    }

    fn missing_field(key: &'static str) -> Self {
        Self::custom(format_args!("the key `{key}` is missing; add it"))
    }
}

impl Tree {
    /// Deserializes a type from the tree.
    pub fn to_type<T: DeserializeOwned>(&self) -> Result<T, Malformed> {
        T::deserialize(self)
    }

    fn visit<'de, V: Visitor<'de>>(&'de self, visitor: V) -> Result<V::Value, Malformed> {
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
            Content::Map(_) => visitor.visit_map(self.map()),
        }
    }

    fn map(&self) -> impl MapAccess<'_, Error = Malformed> {
        MapDeserializer::new(self.entries().iter().map(|(name, node)| (name.as_str(), node)))
    }

    /// Adds the line, if it is missing: that of a key that is not known, else of this node.
    fn locate(&self, error: Malformed) -> Malformed {
        match error.line {
            0 => Malformed { line: self.get(&error.word).unwrap_or(self).place.line, ..error },
            _ => error,
        }
    }
}

impl<'de> Deserializer<'de> for &'de Tree {
    type Error = Malformed;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        self.visit(visitor).map_err(|error| self.locate(error))
    }

    /// A number or truth value is accepted as the text that was written.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        match &self.place.source {
            Some(source) if !self.is_null() => visitor.visit_borrowed_str(source),
            Some(_) | None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        let chosen = match (self.text(), self.entries()) {
            (Some(word), _) => visitor.visit_enum(BorrowedStrDeserializer::new(word)),
            (None, [_]) => visitor.visit_enum(MapAccessDeserializer::new(self.map())),
            (None, _) => self.visit(visitor),
        };
        chosen.map_err(|error| self.locate(error))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Malformed> for &'de Tree {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}
