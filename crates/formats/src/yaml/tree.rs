//! A tree of values with the places where they were written: a [`Position`] in a file, or another
//! type of the reader.

use serde_json::Value;

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node<P> {
    pub content: Content<P>,
    pub place: P,
}

/// A value whose parts have places of their own.
#[derive(Clone, Debug, PartialEq)]
pub enum Content<P> {
    /// Null, a truth value, a number or text; never an array or object.
    Scalar(Value),
    List(Vec<Node<P>>),
    /// A mapping, in the order of writing.
    Map(Vec<(String, Node<P>)>),
}

/// A place in a YAML file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// From 1; 0 for a value from no file. The line of the key for an entry of a mapping.
    pub line: usize,
    /// The tag, if the reader asked for tags.
    pub tag: Option<Box<str>>,
    /// The text of a scalar that is not a string: `1.10` is the number 1.1.
    pub source: Option<Box<str>>,
}

/// A tree that was read from a file.
pub type Tree = Node<Position>;

impl<P> Node<P> {
    /// A tree of plain data, every part with the same place.
    pub fn from_value(value: Value, place: &P) -> Self
    where
        P: Clone,
    {
        let node = |value| Self::from_value(value, place);
        let content = match value {
            Value::Array(items) => Content::List(items.into_iter().map(node).collect()),
            Value::Object(entries) => {
                Content::Map(entries.into_iter().map(|(name, value)| (name, node(value))).collect())
            }
            scalar => Content::Scalar(scalar),
        };
        Self { content, place: place.clone() }
    }

    /// Returns the plain data without places.
    pub fn to_value(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::List(nodes) => nodes.iter().map(Self::to_value).collect(),
            Content::Map(entries) => {
                let entry = |(name, node): &(String, Self)| (name.clone(), node.to_value());
                Value::Object(entries.iter().map(entry).collect())
            }
        }
    }

    /// The entry of a mapping.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.entries().iter().find(|(key, _)| key == name).map(|(_, node)| node)
    }

    /// The part at a path of names and positions in lists.
    pub fn find(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, step| match &node.content {
            Content::List(items) => items.get(step.parse::<usize>().ok()?),
            Content::Map(_) | Content::Scalar(_) => node.get(step),
        })
    }

    /// The entries, if it is a mapping.
    pub fn as_map(&self) -> Option<&[(String, Self)]> {
        match &self.content {
            Content::Map(entries) => Some(entries),
            Content::Scalar(_) | Content::List(_) => None,
        }
    }

    /// The entries of a mapping; none for anything else.
    pub fn entries(&self) -> &[(String, Self)] {
        self.as_map().unwrap_or_default()
    }

    /// The items of a list; none for anything else.
    pub fn items(&self) -> &[Self] {
        match &self.content {
            Content::List(items) => items,
            Content::Scalar(_) | Content::Map(_) => &[],
        }
    }

    /// The items of a list, or the values of a mapping.
    pub fn children(&self) -> impl Iterator<Item = &Self> {
        self.items().iter().chain(self.entries().iter().map(|(_, node)| node))
    }

    /// The text, if it is text.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar(value) => value.as_str(),
            Content::List(_) | Content::Map(_) => None,
        }
    }

    /// Returns true if it is null.
    pub fn is_null(&self) -> bool {
        matches!(self.content, Content::Scalar(Value::Null))
    }
}
