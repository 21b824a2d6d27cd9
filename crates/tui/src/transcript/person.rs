//! What the person said, as rows: a bar at the left, a long text closed to its beginning.

use crate::text::{Leads, Row, wrap};
use crate::theme::{Role, Theme};

/// Lines that are shown of a long text.
const SHOWN: usize = 12;

/// Whether a text is so long that it is closed at first.
pub(super) fn is_long(text: &str) -> bool {
    text.lines().nth(SHOWN + 2).is_some()
}

pub(super) fn rows(text: &str, is_open: bool, width: usize, theme: &Theme) -> Vec<Row> {
    let style = theme.style(Role::Person);
    let lead = vec![(style, "┃ ".to_owned())];
    let is_cut = is_long(text) && !is_open;
    let count = if is_cut { SHOWN } else { usize::MAX };
    let leads = Leads::same(lead.clone());
    let body = theme.style(Role::Text);
    let line = |line: &str| wrap(&[(body, line.to_owned())], width, &leads);
    let mut rows: Vec<Row> = text.trim_end().lines().take(count).flat_map(line).collect();
    if is_cut {
        let hidden = text.lines().count() - SHOWN;
        let mut more = lead;
        more.push((theme.style(Role::Soft), format!("… {hidden} more lines")));
        rows.push(Row::decoration(&more));
    }
    rows
}
