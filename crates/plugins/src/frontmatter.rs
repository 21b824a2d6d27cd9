//! The YAML block between two `---` lines at the head of a Markdown file.
//!
//! The first line is `---` with nothing but blanks behind it, and the block ends at the first
//! line that begins with `---`, whatever follows on that line: it belongs to the body.

use std::fmt::Write as _;
use std::path::Path;

use formats::yaml::{self, Malformed, Options, YES_NO};
use serde_json::{Map, Value};

use crate::files::{self, Boundary};

mod blocks;

pub(crate) use blocks::Blocks;

pub(crate) const LIMIT: usize = 1 << 20;

/// The treatment of a block that is not quite YAML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    Strict,
    /// One repair is tried: values that need quotes get them, and the last of two equal keys holds.
    Lenient,
}

#[derive(Debug)]
pub(crate) struct Document<'a> {
    pub(crate) keys: Map<String, Value>,
    pub(crate) body: &'a str,
    pub(crate) repaired: Option<Error>,
    block: &'a str,
}

const REPEATED_KEYS: Options = Options { repeated_keys: true, ..YES_NO };

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Error {
    pub(crate) what: String,
    pub(crate) hint: &'static str,
}

impl Document<'_> {
    /// `line N: ` for the line of the file where a key stands, or nothing.
    pub(crate) fn place_of(&self, key: &str) -> String {
        self.block
            .lines()
            .position(|line| {
                line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'))
            })
            .map_or_else(String::new, |index| format!("line {}: ", index + 2))
    }
}

/// Reads the front matter and the body of a file, with a repair of what is almost YAML.
pub fn read_lenient(file: &Path) -> Result<(Map<String, Value>, String), String> {
    let text = files::read(file, Boundary::Anywhere, LIMIT)
        .map_err(|refusal| refusal.problem(file).to_string())?;
    let document = parse(&text.text, Reading::Lenient)
        .map_err(|error| format!("{}: {}", file.display(), error.what))?;
    Ok((document.keys, document.body.to_owned()))
}

pub(crate) fn parse(text: &str, reading: Reading) -> Result<Document<'_>, Error> {
    parse_known(text, reading, &mut Blocks::default())
}

/// Like [`parse`], for a block that may be in the cache.
pub(crate) fn parse_known<'a>(
    text: &'a str,
    reading: Reading,
    blocks: &mut Blocks,
) -> Result<Document<'a>, Error> {
    let (block, body) = split(text)?;
    if let Some(keys) = blocks.get(block) {
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
        Value::Object(keys) => {
            if repaired.is_none() {
                blocks.keep(block, &keys);
            }
            Ok(Document { keys, body, repaired, block })
        }
        Value::Null => Err(empty()),
        _ => Err(Error {
            what: "line 2: the front matter is not a mapping".into(),
            hint: "write `key: value` lines between the two `---` lines",
        }),
    }
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
