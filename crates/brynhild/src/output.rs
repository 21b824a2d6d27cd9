//! What commands print: data on standard output, words about it on standard error.

use std::fmt::Display;
use std::io::{self, Write};

use contract::text::visible;
use serde::Serialize;

/// Prints a line of data.
pub(crate) fn line(text: impl Display) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{text}")
}

/// Prints a value as JSON for people and programs.
pub(crate) fn json(value: &impl Serialize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)
}

/// Prints a warning.
pub(crate) fn warning(text: &str) {
    about("warning", text);
}

/// Prints what can be done.
pub(crate) fn hint(text: &str) {
    about("hint", text);
}

/// Prints what went wrong.
pub(crate) fn error(text: &str) {
    about("error", text);
}

/// Prints what a plugin says.
pub(crate) fn plugin(name: &str, text: &str) {
    about(&format!("plugin {name}"), text);
}

fn about(kind: &str, text: &str) {
    // Where standard error is gone there is nobody left to tell.
    let _ = writeln!(io::stderr().lock(), "{kind}: {}", visible(text));
}

/// Columns of text, aligned.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    use unicode_width::UnicodeWidthStr;
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(&visible(cell));
            line.push_str(&" ".repeat(width.saturating_sub(cell.width()) + 2));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
