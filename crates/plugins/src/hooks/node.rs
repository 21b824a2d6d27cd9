//! YAML with the line of every value, so that a message can say where something stands. A value
//! of any shape is taken; what it should have been is for the reader to say.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::Spanned;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Its line, from 1; 0 where it comes from no file.
    pub(crate) line: u64,
    /// What it is.
    pub(crate) content: Content,
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// Text, a number, a truth value or nothing.
    Scalar(Value),
    /// A list.
    List(Vec<Node>),
    /// A mapping. A key that stands twice is in it twice.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// Whether there is nothing.
    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.content, Content::Scalar(Value::Null))
    }

    /// The text, if it is one.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar(Value::String(text)) => Some(text),
            Content::Scalar(_) | Content::List(_) | Content::Map(_) => None,
        }
    }

    /// The truth value, in all the ways in which YAML has written one.
    pub(crate) fn as_truth(&self) -> Option<bool> {
        match &self.content {
            Content::Scalar(Value::Bool(truth)) => Some(*truth),
            Content::Scalar(Value::String(word)) => match word.to_lowercase().as_str() {
                "true" | "yes" | "on" => Some(true),
                "false" | "no" | "off" => Some(false),
                _ => None,
            },
            Content::Scalar(_) | Content::List(_) | Content::Map(_) => None,
        }
    }

    /// The number, if it is one.
    pub(crate) fn as_number(&self) -> Option<f64> {
        match &self.content {
            Content::Scalar(Value::Number(number)) => number.as_f64(),
            Content::Scalar(_) | Content::List(_) | Content::Map(_) => None,
        }
    }

    /// The mapping, if it is one.
    pub(crate) fn as_map(&self) -> Option<&[(String, Node)]> {
        match &self.content {
            Content::Map(pairs) => Some(pairs),
            Content::Scalar(_) | Content::List(_) => None,
        }
    }

    /// What it is, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.content {
            Content::Scalar(Value::Null) => "nothing",
            Content::Scalar(Value::Bool(_)) => "a truth value",
            Content::Scalar(Value::Number(_)) => "a number",
            Content::Scalar(_) => "text",
            Content::List(_) => "a list",
            Content::Map(_) => "a mapping",
        }
    }
}

impl From<&Value> for Node {
    fn from(value: &Value) -> Self {
        let content = match value {
            Value::Array(items) => Content::List(items.iter().map(Self::from).collect()),
            Value::Object(fields) => {
                let pairs = fields.iter().map(|(key, value)| (key.clone(), Self::from(value)));
                Content::Map(pairs.collect())
            }
            scalar => Content::Scalar(scalar.clone()),
        };
        Self { line: 0, content }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Content>::deserialize(deserializer)?;
        Ok(Self { line: spanned.referenced.line(), content: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyShape)
    }
}

struct AnyShape;

impl<'de> Visitor<'de> for AnyShape {
    type Value = Content;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Content, E> {
        Ok(Content::Scalar(truth.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Content, E> {
        Ok(Content::Scalar(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Content, E> {
        Ok(Content::Scalar(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Content, E> {
        Ok(Content::Scalar(number.into()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Content, E> {
        Ok(Content::Scalar(text.into()))
    }

    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(Content::Scalar(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Content, E> {
        Ok(Content::Scalar(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Content, D::Error> {
        Content::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Content, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Content::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Content, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = fields.next_entry()? {
            pairs.push(pair);
        }
        Ok(Content::Map(pairs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    #[test]
    fn every_value_knows_its_line_and_repeated_keys_stay() {
        let text = "a: 1\nlist:\n  - name: x\n    on: yes\n  -\n    name: y\na: 2\n";
        let node: Node = yaml::read_with_repeated_keys(text).unwrap();
        let pairs = node.as_map().unwrap();
        let keys: Vec<&str> = pairs.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["a", "list", "a"]);
        let Content::List(items) = &pairs[1].1.content else { panic!("no list") };
        assert_eq!(items.iter().map(|item| item.line).collect::<Vec<_>>(), [3, 6]);
        assert_eq!(items[0].as_map().unwrap()[1].1.as_truth(), Some(true));
    }
}
