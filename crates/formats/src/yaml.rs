//! The one reader of YAML, and so of JSON: a tree in which every value has its line. Bounded in
//! depth and size, aliases included. `typed` deserializes a tree.

pub mod tree;
pub mod typed;

use std::collections::{HashMap, HashSet};
use std::fmt;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};
use serde_json::Value;

use tree::{Content, Node, Position, Tree};

/// The deepest nesting of a file.
const DEPTH_LIMIT: usize = 64;

/// The largest number of values in a file, each use of an alias included.
const VALUE_LIMIT: usize = 20_000;

/// How a file is read. By default truth values are `true` and `false`, as in YAML 1.2, a key that is
/// repeated in its mapping is an error, and tags are ignored.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Makes `yes`, `no`, `on`, `off`, `y` and `n` truth values too, as in YAML 1.1.
    pub yes_no: bool,
    /// Accepts repeated keys. A mapping has all of them; as a value it has the last.
    pub repeated_keys: bool,
    /// The tags that a value may have beside those of YAML itself.
    pub tags: Option<&'static [&'static str]>,
}

/// The options for files that PyYAML was the first to read.
pub const YES_NO: Options = Options { yes_no: true, repeated_keys: false, tags: None };

/// Reasons why a text is not YAML or does not fit its type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Malformed {
    pub message: String,
    /// From 1.
    pub line: usize,
    /// From 1; 0 if the text is YAML and does not fit its type.
    pub column: usize,
    /// The key or value that is not known, if that is the reason.
    pub word: String,
    /// The words that are accepted instead.
    pub known: &'static [&'static str],
}

impl Malformed {
    fn at(place: Marker, message: impl Into<String>) -> Self {
        let (line, column) = (place.line(), place.col() + 1);
        Self { message: message.into(), line, column, ..Self::default() }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at line {}", self.message, self.line)
    }
}

impl std::error::Error for Malformed {}

/// Reads a text of one document. An empty one is null.
pub fn parse(text: &str, options: Options) -> Result<Tree, Malformed> {
    let parser = Parser::new_from_str(text);
    let mut loader = Loader { text, parser, options, anchors: HashMap::new(), values: 0 };
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
    let start = Position { line: 1, ..Position::default() };
    Ok(document.unwrap_or_else(|| Node::from_value(Value::Null, &start)))
}

/// Reads a text of one document as data without lines.
pub fn value(text: &str) -> Result<Value, Malformed> {
    Ok(parse(text, Options::default())?.to_value())
}

/// Returns the value of an unquoted scalar.
pub fn resolve(text: &str, options: Options) -> Value {
    let is_word = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ if options.yes_no && is_word(&["yes", "on", "y"]) => Value::Bool(true),
        _ if options.yes_no && is_word(&["no", "off", "n"]) => Value::Bool(false),
        _ => number(text).unwrap_or_else(|| Value::String(text.to_owned())),
    }
}

fn number(text: &str) -> Option<Value> {
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            return i64::from_str_radix(digits, radix).ok().map(Value::from);
        }
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = digits.strip_prefix('.').unwrap_or(digits);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let whole = text.parse::<i64>().map(Value::from);
    let whole = whole.or_else(|_| text.parse::<u64>().map(Value::from));
    whole.ok().or_else(|| text.parse().ok().filter(|it: &f64| it.is_finite()).map(Value::from))
}

struct Loader<'a> {
    text: &'a str,
    parser: Parser<'a, StrInput<'a>>,
    options: Options,
    anchors: HashMap<usize, Tree>,
    values: usize,
}

impl<'a> Loader<'a> {
    fn next(&mut self) -> Result<Option<(Event<'a>, Span)>, Malformed> {
        let malformed = |error: ScanError| Malformed::at(*error.marker(), error.info());
        self.parser.next_event().transpose().map_err(malformed)
    }

    /// The next event within a collection. At the end of the text, the error names an open bracket.
    fn expect(&mut self, collection: Span) -> Result<(Event<'a>, Span), Malformed> {
        let end = || Malformed::at(collection.start, "the text ends in here");
        self.next().and_then(|event| event.ok_or_else(end)).map_err(|error| {
            let bracket = self.text.chars().nth(collection.start.index());
            let is_at_end = error.line > self.text.trim_end().lines().count();
            match bracket.filter(|it| is_at_end && matches!(it, '[' | '{')) {
                Some(it) => {
                    Malformed::at(collection.start, format!("the bracket `{it}` is never closed"))
                }
                None => error,
            }
        })
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Tree, Malformed> {
        self.count(1, span)?;
        if depth > DEPTH_LIMIT {
            return Err(Malformed::at(span.start, "nested too deeply"));
        }
        let mut position = Position { line: span.start.line(), ..Position::default() };
        let (content, anchor, tag) = match event {
            Event::Alias(anchor) => return self.alias(anchor, span),
            Event::Scalar(text, style, anchor, tag) => {
                let is_text =
                    tag.as_ref().is_some_and(|it| it.is_yaml_core_schema() && it.suffix == "str");
                let value = if style == ScalarStyle::Plain && !is_text {
                    resolve(&text, self.options)
                } else {
                    Value::String(text.clone().into_owned())
                };
                position.source = (!value.is_string()).then(|| text.into());
                (Content::Scalar(value), anchor, tag)
            }
            Event::SequenceStart(anchor, tag) => (self.list(span, depth)?, anchor, tag),
            Event::MappingStart(anchor, tag) => (self.map(span, depth)?, anchor, tag),
            _ => return Err(Malformed::at(span.start, "a value is missing")),
        };
        position.tag = self.tag(tag.as_deref(), span)?;
        let node = Node { content, place: position };
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<Tree, Malformed> {
        let Some(mut node) = self.anchors.get(&anchor).cloned() else {
            return Err(Malformed::at(span.start, "an alias is inside its own anchor"));
        };
        self.count(size(&node), span)?;
        node.place.line = span.start.line();
        Ok(node)
    }

    fn count(&mut self, more: usize, span: Span) -> Result<(), Malformed> {
        self.values += more;
        if self.values > VALUE_LIMIT {
            return Err(Malformed::at(span.start, format!("more than {VALUE_LIMIT} values")));
        }
        Ok(())
    }

    fn list(&mut self, span: Span, depth: usize) -> Result<Content<Position>, Malformed> {
        let mut items = Vec::new();
        loop {
            match self.expect(span)? {
                (Event::SequenceEnd, _) => return Ok(Content::List(items)),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, collection: Span, depth: usize) -> Result<Content<Position>, Malformed> {
        let mut entries: Vec<(String, Tree)> = Vec::new();
        let (mut names, mut inherited) = (HashSet::new(), Vec::new());
        loop {
            let (event, span) = self.expect(collection)?;
            if event == Event::MappingEnd {
                break;
            }
            let Event::Scalar(name, style, ..) = event else {
                return Err(Malformed::at(span.start, "a key must be plain text"));
            };
            let (event, value_span) = self.expect(collection)?;
            let mut value = self.node(event, value_span, depth + 1)?;
            value.place.line = span.start.line();
            if name == "<<" && style == ScalarStyle::Plain {
                inherited.push(value);
                continue;
            }
            let is_new = names.insert(name.clone());
            if !is_new && !self.options.repeated_keys {
                return Err(Malformed::at(span.start, format!("duplicate key {name}")));
            }
            entries.push((name.into_owned(), value));
        }
        for node in inherited {
            inherit(&mut entries, node);
        }
        Ok(Content::Map(entries))
    }

    fn tag(&self, tag: Option<&Tag>, span: Span) -> Result<Option<Box<str>>, Malformed> {
        let (Some(tag), Some(known)) = (tag, self.options.tags) else { return Ok(None) };
        match tag.to_string() {
            _ if tag.is_yaml_core_schema() => Ok(None),
            tag if known.contains(&tag.as_str()) => Ok(Some(tag.into())),
            tag => {
                let known = known.join(" and ");
                let message = format!("unknown tag {tag}, the tags are {known}");
                Err(Malformed::at(span.start, message))
            }
        }
    }
}

/// Adds the entries that a merge key (`<<`) names, below those of the mapping itself.
fn inherit(entries: &mut Vec<(String, Tree)>, node: Tree) {
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

/// The number of values in a tree. Long texts count as several.
fn size(node: &Tree) -> usize {
    1 + node.text().map_or(0, str::len) / 64 + node.children().map(size).sum::<usize>()
}

#[cfg(test)]
mod tests;
