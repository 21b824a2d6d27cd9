//! Reads YAML into a tree with line numbers. Bounded in depth and size, aliases included; knows the
//! tags `!delete` and `!replace` and refuses every other.

use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};
use serde_json::Value;

use super::node::{Content, Joining, Node, Origin};

const DEEPEST: usize = 64;
const MOST_NODES: usize = 10_000;

/// What is wrong with a text, and where.
#[derive(Debug, PartialEq)]
pub(crate) struct Malformed {
    /// What is wrong.
    pub(crate) message: String,
    /// The line, from 1.
    pub(crate) line: usize,
    /// The column, from 1.
    pub(crate) column: usize,
}

impl Malformed {
    fn at(place: Marker, message: impl Into<String>) -> Self {
        Self { message: message.into(), line: place.line(), column: place.col() + 1 }
    }
}

impl From<ScanError> for Malformed {
    fn from(error: ScanError) -> Self {
        Self::at(*error.marker(), error.info())
    }
}

/// Reads one document. An empty one is null.
pub(crate) fn parse(text: &str, origin: &Origin) -> Result<Node, Malformed> {
    let mut loader =
        Loader { parser: Parser::new_from_str(text), origin, anchors: HashMap::new(), nodes: 0 };
    let mut document = None;
    while let Some((event, span)) = loader.next()? {
        match event {
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => {}
            _ if document.is_some() => {
                return Err(Malformed::at(span.start, "a second document begins here"));
            }
            event => document = Some(loader.node(event, span, 0)?),
        }
    }
    Ok(document.unwrap_or_else(|| Node::new(Content::Scalar(Value::Null), origin.at(1))))
}

/// The value of an unquoted scalar.
pub(crate) fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(text).unwrap_or_else(|| Value::String(text.to_owned())),
    }
}

fn number(text: &str) -> Option<Value> {
    if let Some(digits) = text.strip_prefix("0x") {
        return i64::from_str_radix(digits, 16).ok().map(Value::from);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return i64::from_str_radix(digits, 8).ok().map(Value::from);
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = digits.strip_prefix('.').unwrap_or(digits);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    text.parse::<i64>().map(Value::from).or_else(|_| text.parse::<f64>().map(Value::from)).ok()
}

struct Loader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    origin: &'a Origin,
    anchors: HashMap<usize, Node>,
    nodes: usize,
}

impl<'a> Loader<'a> {
    fn next(&mut self) -> Result<Option<(Event<'a>, Span)>, Malformed> {
        Ok(self.parser.next_event().transpose()?)
    }

    fn expect(&mut self) -> Result<(Event<'a>, Span), Malformed> {
        let end = Malformed { message: "the text ends too early".into(), line: 1, column: 1 };
        self.next()?.ok_or(end)
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, Malformed> {
        self.count(1, span)?;
        if depth > DEEPEST {
            return Err(Malformed::at(span.start, "nested too deeply"));
        }
        let (content, anchor, tag) = match event {
            Event::Alias(anchor) => return self.alias(anchor, span),
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = tag.as_ref().is_some_and(|tag| is_core(tag, "str"));
                let value = if style == ScalarStyle::Plain && !is_text {
                    resolve(&text)
                } else {
                    Value::String(text.into_owned())
                };
                (Content::Scalar(value), anchor, tag)
            }
            Event::SequenceStart(anchor, tag) => (self.list(depth)?, anchor, tag),
            Event::MappingStart(anchor, tag) => (self.map(depth)?, anchor, tag),
            _ => return Err(Malformed::at(span.start, "a value is missing")),
        };
        let mut node = Node::new(content, self.origin.at(span.start.line()));
        node.joining = joining(tag.as_deref(), span)?;
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<Node, Malformed> {
        let Some(node) = self.anchors.get(&anchor).cloned() else {
            return Err(Malformed::at(span.start, "an alias stands inside its own anchor"));
        };
        self.count(size(&node), span)?;
        Ok(node)
    }

    fn count(&mut self, more: usize, span: Span) -> Result<(), Malformed> {
        self.nodes += more;
        if self.nodes > MOST_NODES {
            return Err(Malformed::at(span.start, format!("more than {MOST_NODES} values")));
        }
        Ok(())
    }

    fn list(&mut self, depth: usize) -> Result<Content, Malformed> {
        let mut items = Vec::new();
        loop {
            match self.expect()? {
                (Event::SequenceEnd, _) => return Ok(Content::List(items)),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Content, Malformed> {
        let mut entries: Vec<(String, Node)> = Vec::new();
        let mut inherited = Vec::new();
        loop {
            let (event, span) = self.expect()?;
            if event == Event::MappingEnd {
                break;
            }
            let Event::Scalar(name, style, ..) = event else {
                return Err(Malformed::at(span.start, "a key must be plain text"));
            };
            let (event, value_span) = self.expect()?;
            let mut value = self.node(event, value_span, depth + 1)?;
            value.origin = self.origin.at(span.start.line());
            if name == "<<" && style == ScalarStyle::Plain {
                inherited.push(value);
                continue;
            }
            if entries.iter().any(|(key, _)| *key == name) {
                return Err(Malformed::at(span.start, format!("the key {name} stands here twice")));
            }
            entries.push((name.into_owned(), value));
        }
        for node in inherited {
            inherit(&mut entries, node);
        }
        Ok(Content::Map(entries))
    }
}

/// Adds what a merge key (`<<`) brings, under what the map says itself.
fn inherit(entries: &mut Vec<(String, Node)>, node: Node) {
    match node.content {
        Content::Map(more) => {
            for (name, node) in more {
                if entries.iter().all(|(key, _)| *key != name) {
                    entries.push((name, node));
                }
            }
        }
        Content::List(nodes) => nodes.into_iter().for_each(|node| inherit(entries, node)),
        Content::Scalar(_) => {}
    }
}

fn size(node: &Node) -> usize {
    let inside: usize = match &node.content {
        Content::Scalar(_) => 0,
        Content::List(items) => items.iter().map(size).sum(),
        Content::Map(entries) => entries.iter().map(|(_, node)| size(node)).sum(),
    };
    inside + 1
}

fn is_core(tag: &Tag, suffix: &str) -> bool {
    tag.is_yaml_core_schema() && tag.suffix == suffix
}

fn joining(tag: Option<&Tag>, span: Span) -> Result<Joining, Malformed> {
    let Some(tag) = tag else {
        return Ok(Joining::Merge);
    };
    match (tag.handle.as_str(), tag.suffix.as_str()) {
        ("!", "delete") => Ok(Joining::Delete),
        ("!", "replace") => Ok(Joining::Replace),
        _ if tag.is_yaml_core_schema() => Ok(Joining::Merge),
        _ => Err(Malformed::at(
            span.start,
            format!("unknown tag {tag}, the tags are !delete and !replace"),
        )),
    }
}
