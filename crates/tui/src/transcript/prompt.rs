//! A prompt of the user as rows: a bar at the left, a long text closed to its beginning.

use crate::slice::Slice;
use crate::text::{Piece, Row, counted, wrapped};
use crate::theme::{Role, Theme};

const MAX_LINES: usize = 12;
const MAX_BYTES: usize = 4 * 1024;
pub(super) const CLOSED_ROWS: usize = MAX_LINES + 2;

pub(super) fn is_long(text: &str) -> bool {
    text.len() > 2 * MAX_BYTES || text.lines().nth(MAX_LINES + 2).is_some()
}

pub(super) fn rows(text: &str, slice: Slice, width: usize, theme: &Theme) -> Vec<Row> {
    wrapped(slice.of(text.trim_end()), slice.joint, theme.style(Role::Text), (width, &bar(theme)))
}

/// The rows of a text that is closed where it is long.
pub(super) fn closed(text: &str, width: usize, theme: &Theme) -> Vec<Row> {
    let text = text.trim_end();
    if !is_long(text) {
        return rows(text, Slice::whole(text), width, theme);
    }
    let shown = beginning(text);
    let mut rows = rows(shown, Slice::whole(shown), width, theme);
    let hidden = &text[shown.len()..];
    let count = match hidden.trim_start_matches('\n').lines().count() {
        lines if lines > 1 || hidden.starts_with('\n') => counted(lines, "more line", "more lines"),
        _ => counted(hidden.chars().count(), "more letter", "more letters"),
    };
    let more = (theme.style(Role::Soft), format!("… {count}"));
    rows.push(Row::decoration(&[bar(theme), more]));
    rows
}

fn bar(theme: &Theme) -> Piece {
    (theme.style(Role::Person), "┃ ".to_owned())
}

/// The beginning of a long text: a few lines, and of them no more than a few rows.
fn beginning(text: &str) -> &str {
    let lines = text.match_indices('\n').nth(MAX_LINES - 1).map_or(text.len(), |(at, _)| at);
    contract::text::head(&text[..lines], MAX_BYTES)
}
