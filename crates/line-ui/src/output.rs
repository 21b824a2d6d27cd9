//! Output of commands: data on standard output, messages on standard error.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};
use std::io::{self, Write};
use std::sync::OnceLock;

use contract::event::Level;
use contract::text::{is_hidden, visible};
use serde::Serialize;

pub fn line(text: impl Display) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{text}")
}

/// Prints text with hidden characters made [`visible`]; nothing if there is none.
pub fn text(text: impl Display) -> io::Result<()> {
    match visible(text.to_string().trim_end()) {
        text if text.is_empty() => Ok(()),
        text => line(text),
    }
}

pub fn json(value: &impl Serialize) -> io::Result<()> {
    line(quiet(&serde_json::to_string_pretty(value)?))
}

/// Escapes characters in JSON that could control a terminal or deceive a reader; the value stays
/// the same.
pub fn quiet(json: &str) -> Cow<'_, str> {
    let is_loud = |c: char| is_hidden(c) && !c.is_ascii_whitespace();
    if !json.contains(is_loud) {
        return Cow::Borrowed(json);
    }
    let mut quiet = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_loud(c) {
            // Such characters are in strings only, where JSON allows this escape.
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(quiet, "\\u{unit:04x}");
            }
        } else {
            quiet.push(c);
        }
    }
    Cow::Owned(quiet)
}

/// A writer that escapes text: [`quiet`] for JSON, [`visible`] for prose.
pub struct EscapingWriter<W>(pub W, pub fn(&str) -> Cow<'_, str>);

impl<W: io::Write> io::Write for EscapingWriter<W> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        // Text is written in pieces that are valid UTF-8.
        let text = std::str::from_utf8(piece).map_err(io::Error::other)?;
        self.0.write_all(self.1(text).as_bytes())?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Shows a message elsewhere than on standard error. Returns false if it does not take it.
pub type Reporter = Box<dyn Fn(Level, &str) -> bool + Send + Sync>;

static REPORTER: OnceLock<Reporter> = OnceLock::new();

/// Offers all further messages to `reporter` first. Only the first reporter is used.
pub fn report_to(reporter: Reporter) {
    let _ = REPORTER.set(reporter);
}

/// Writes a line to standard error.
pub fn note(text: &str) {
    report(Level::Info, "", text);
}

pub fn warning(text: &str) {
    report(Level::Warning, "warning: ", text);
}

pub fn hint(text: &str) {
    report(Level::Info, "hint: ", text);
}

pub fn error(text: &str) {
    report(Level::Error, "error: ", text);
}

pub fn plugin(name: &str, text: &str) {
    note(&format!("plugin {name}: {text}"));
}

fn report(level: Level, mark: &str, text: &str) {
    if !REPORTER.get().is_some_and(|reporter| reporter(level, text)) {
        // A closed standard error is ignored.
        let _ = writeln!(io::stderr().lock(), "{mark}{}", visible(text));
    }
}

/// Aligns rows of cells in columns.
pub fn table<R>(rows: impl IntoIterator<Item = R>) -> String
where
    R: IntoIterator<Item: Into<String>>,
{
    use unicode_width::UnicodeWidthStr;
    let cells = |row: R| row.into_iter().map(Into::into).collect();
    let rows: Vec<Vec<String>> = rows.into_iter().map(cells).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let begin = text.len();
        for (cell, width) in row.iter().zip(&widths) {
            text.push_str(&visible(cell));
            text.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width()) + 2));
        }
        text.truncate(begin + text[begin..].trim_end().len());
        text.push('\n');
    }
    text
}

/// A [`table`] with a heading.
pub fn titled_table<const N: usize>(
    titles: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    table([titles.map(str::to_owned)].into_iter().chain(rows))
}

/// One line for each field that has a value.
pub fn fields<'a>(fields: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let line = |(name, value): (&str, String)| format!("{name}: {value}\n");
    fields.into_iter().filter(|(_, value)| !value.is_empty()).map(line).collect()
}
