//! What the person said, as rows: a bar at the left, a long text closed to its beginning.

use crate::text::{Leads, Row, counted, wrap};
use crate::theme::{Role, Theme};

/// Lines that are shown of a long text.
const SHOWN: usize = 12;
/// Bytes of them at most.
const SHOWN_BYTES: usize = 4 * 1024;
/// Rows that it comes to, about.
pub(super) const CLOSED: usize = SHOWN + 2;

/// Whether a text is so long that it is closed at first.
pub(super) fn is_long(text: &str) -> bool {
    text.len() > 2 * SHOWN_BYTES || text.lines().nth(SHOWN + 2).is_some()
}

pub(super) fn rows(text: &str, is_open: bool, width: usize, theme: &Theme) -> Vec<Row> {
    let style = theme.style(Role::Person);
    let lead = vec![(style, "┃ ".to_owned())];
    let text = text.trim_end();
    let is_cut = is_long(text) && !is_open;
    let shown = if is_cut { beginning(text) } else { text };
    let leads = Leads::same(lead.clone());
    let body = theme.style(Role::Text);
    let line = |line: &str| wrap(&[(body, line.to_owned())], width, &leads);
    let mut rows: Vec<Row> = shown.lines().flat_map(line).collect();
    if is_cut {
        let hidden = &text[shown.len()..];
        let count = match hidden.trim_start_matches('\n').lines().count() {
            lines if lines > 1 || hidden.starts_with('\n') => {
                counted(lines, "more line", "more lines")
            }
            _ => counted(hidden.chars().count(), "more letter", "more letters"),
        };
        let mut more = lead;
        more.push((theme.style(Role::Soft), format!("… {count}")));
        rows.push(Row::decoration(&more));
    }
    rows
}

/// What is shown of a long text: a few lines, and of them no more than a few rows.
fn beginning(text: &str) -> &str {
    let lines = text.match_indices('\n').nth(SHOWN - 1).map_or(text.len(), |(at, _)| at);
    contract::text::head(&text[..lines], SHOWN_BYTES)
}
