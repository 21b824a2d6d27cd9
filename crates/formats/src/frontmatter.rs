//! The YAML block between two `---` lines at the head of a Markdown file.
//!
//! The first line is `---` with nothing but blanks behind it, and the block ends at the first
//! line that begins with `---`, whatever follows on that line: it belongs to the body.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::yaml::{self, Malformed, Options, YES_NO};

/// Keys whose values are plain words in files for Claude Code, whatever they begin with.
const PLAIN_KEYS: [&str; 5] =
    ["argument-hint", "description", "when_to_use", "allowed-tools", "paths"];

/// The treatment of a block that is not quite YAML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    Strict,
    /// One repair is tried: values that need quotes get them, and the last of two equal keys holds.
    Lenient,
}

/// A file, taken apart.
#[derive(Debug)]
pub struct Document<'a> {
    pub keys: Map<String, Value>,
    pub body: &'a str,
    /// The error that was repaired, if there was one.
    pub repaired: Option<Error>,
    /// The text of the front matter.
    pub block: &'a str,
}

const REPEATED_KEYS: Options = Options { repeated_keys: true, ..YES_NO };

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub what: String,
    pub hint: &'static str,
}

impl Document<'_> {
    /// `line N: ` for the line of the file where a key stands, or nothing.
    pub fn place_of(&self, key: &str) -> String {
        self.block
            .lines()
            .position(|line| {
                line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'))
            })
            .map_or_else(String::new, |index| format!("line {}: ", index + 2))
    }
}

/// Reads a file's front matter.
pub fn parse(text: &str, reading: Reading) -> Result<Document<'_>, Error> {
    parse_known(text, reading, |_| None)
}

/// Like [`parse`]; `known` has the keys of front matter that was read before, by its text.
pub fn parse_known(
    text: &str,
    reading: Reading,
    known: impl FnOnce(&str) -> Option<Map<String, Value>>,
) -> Result<Document<'_>, Error> {
    let (block, body) = split(text)?;
    if let Some(keys) = known(block) {
        return Ok(Document { keys, body, repaired: None, block });
    }
    let (value, repaired) = match (read_yaml(block, YES_NO), reading) {
        (Ok(value), _) => (value, None),
        (Err(error), Reading::Strict) => return Err(in_block(&error)),
        (Err(error), Reading::Lenient) => {
            let error = in_block(&error);
            match read_yaml(&quote_plain_values(block), REPEATED_KEYS) {
                Ok(value) => (value, Some(error)),
                Err(_) => return Err(error),
            }
        }
    };
    match value {
        Value::Object(keys) => Ok(Document { keys, body, repaired, block }),
        Value::Null => Err(empty()),
        _ => Err(Error {
            what: "line 2: the front matter is not a mapping".into(),
            hint: "write `key: value` lines between the two `---` lines",
        }),
    }
}

/// Reads the keys and the body of a file as Claude Code does: front matter may be missing or empty,
/// and values that are plain words need no quotes.
pub fn parse_optional(text: &str) -> Result<(Map<String, Value>, String), Error> {
    let first = text.lines().next().unwrap_or_default();
    if first.trim_end() != "---" {
        return Ok((Map::new(), text.trim().to_owned()));
    }
    if let Some(body) = without_keys(text) {
        return Ok((Map::new(), body));
    }
    let read = |text: &str| {
        parse(text, Reading::Lenient).map(|document| (document.keys, document.body.to_owned()))
    };
    read(text).or_else(|error| read(&with_quotes(text)).map_err(|_| error))
}

fn without_keys(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('\n')?;
    let (block, body) = match rest.strip_prefix("---") {
        Some(body) => ("", body),
        None => rest.split_once("\n---")?,
    };
    block.trim().is_empty().then(|| body.trim().to_owned())
}

/// The text with the values of [`PLAIN_KEYS`] in quotes.
fn with_quotes(text: &str) -> String {
    let mut is_head = true;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        is_head &= index == 0 || !line.starts_with("---");
        let plain = line.split_once(':').filter(|(key, value)| {
            let is_quoted = value.trim_start().starts_with(['"', '\'', '|', '>']);
            is_head && PLAIN_KEYS.contains(key) && !is_quoted && !value.trim().is_empty()
        });
        lines.push(match plain {
            Some((key, value)) => format!("{key}: '{}'", value.trim().replace('\'', "''")),
            None => line.to_owned(),
        });
    }
    lines.join("\n")
}

fn split(text: &str) -> Result<(&str, &str), Error> {
    let absent = Error {
        what: "line 1: the file does not begin with front matter".into(),
        hint: "make `---` the first line, without anything above it",
    };
    let Some((first, rest)) = text.split_once('\n') else {
        return Err(absent);
    };
    let opens = first
        .strip_prefix("---")
        .is_some_and(|blanks| blanks.trim_matches([' ', '\t', '\r']).is_empty());
    if !opens {
        return Err(absent);
    }
    match rest.split_once("\n---") {
        Some((block, _)) if block.trim().is_empty() => Err(empty()),
        Some((block, body)) => Ok((block, body.trim())),
        None if rest.starts_with("---") => Err(empty()),
        None => Err(Error {
            what: "line 1: the front matter has no end".into(),
            hint: "close it with a line `---`",
        }),
    }
}

fn empty() -> Error {
    Error {
        what: "line 2: the front matter is empty".into(),
        hint: "write `key: value` lines between the two `---` lines",
    }
}

fn read_yaml(text: &str, options: Options) -> Result<Value, Malformed> {
    yaml::parse(text, options).map(|tree| tree.to_value())
}

fn in_block(error: &Malformed) -> Error {
    Error {
        // The parser has not seen the first line of the file.
        what: format!("line {}: {}", error.line + 1, error.message),
        hint: "correct the YAML; put quotes around a value that has `: ` or `#` in it",
    }
}

/// Puts the plain values of top-level keys in quotes, together with their further lines, which need
/// not be indented. A value that begins like a list or a mapping and is none is plain: `[from] [to]`.
fn quote_plain_values(block: &str) -> String {
    let mut quoted = String::with_capacity(block.len() + 16);
    let mut lines = block.lines().peekable();
    while let Some(line) = lines.next() {
        let plain = line.split_once(": ").filter(|(key, value)| {
            let is_marked = value.trim_start().starts_with(['"', '\'', '|', '>', '&', '!', '#']);
            is_plain_key(key) && !is_marked && !value.trim().is_empty()
        });
        let Some((key, first)) = plain else {
            quoted.push_str(line);
            quoted.push('\n');
            continue;
        };
        let mut value = first.trim().to_owned();
        while let Some(more) = lines.next_if(|next| is_continuation(next)) {
            value.push(' ');
            value.push_str(more.trim());
        }
        let begins = value.starts_with(['[', '{', '*']);
        let is_structure = begins && (read_yaml(&value, YES_NO).is_ok() || !is_closed(&value));
        let _ = if is_structure {
            writeln!(quoted, "{key}: {value}")
        } else {
            writeln!(quoted, "{key}: '{}'", value.replace('\'', "''"))
        };
    }
    quoted
}

/// Returns true if a line below a plain value belongs to it: it is indented, or no key begins it.
fn is_continuation(line: &str) -> bool {
    let is_key = line.split_once(':').is_some_and(|(key, value)| {
        is_plain_key(key) && (value.is_empty() || value.starts_with([' ', '\t', '\r']))
    });
    line.starts_with([' ', '\t']) || !(is_key || line.is_empty() || line.starts_with('#'))
}

/// Returns true if each bracket that opens is closed: where one is not, more is wrong than quotes.
fn is_closed(value: &str) -> bool {
    let count = |c: char| value.matches(c).count();
    count('[') == count(']') && count('{') == count('}')
}

fn is_plain_key(key: &str) -> bool {
    let in_key = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !key.is_empty() && key.chars().all(in_key)
}

#[cfg(test)]
mod tests;
