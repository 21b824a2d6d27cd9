//! The output of a command as rows: line by line behind a bar.

use super::parts::Part;
use crate::slice::{Breaks, Slice, slices};
use crate::text::{Leads, Piece, Row, columns, fold, line_rows, narrow, wrap};
use crate::theme::{Role, Theme};

const BAR: &str = "┊ ";

pub(super) fn parts(text: &str, width: usize) -> Vec<Part> {
    let room = width.saturating_sub(columns(BAR)).max(1);
    slices(text.trim_end(), Breaks::Columns(room)).into_iter().map(Part::Text).collect()
}

pub(super) fn rows(text: &str, part: Part, width: usize, theme: &Theme) -> Vec<Row> {
    let text = text.trim_end();
    let slice = if let Part::Text(slice) = part { slice } else { Slice::whole(text) };
    line_rows(slice.of(text), slice.joint, |line| break_line(line, width, theme))
}

fn break_line(line: &str, width: usize, theme: &Theme) -> Vec<Row> {
    let style = theme.style(Role::Text);
    let bar: Piece = (theme.style(Role::Border), BAR.to_owned());
    let room = width.saturating_sub(columns(BAR));
    let is_long = columns(line) > room;
    // What does not fit goes on below where its column begins, if that leaves room for it.
    let at = column(line, room / 2).filter(|_| is_long).unwrap_or(0);
    let (head, rest) = line.split_at(at);
    if !is_long || rest.is_empty() {
        return fold(&[(style, line.to_owned())], width, &Leads::same(vec![bar]));
    }
    let indent = (style, " ".repeat(columns(head)));
    let leads =
        Leads { first: vec![bar.clone(), (style, head.to_owned())], rest: vec![bar, indent] };
    let mut rows = wrap(&[(style, rest.to_owned())], width, &leads);
    // The head is text, and no decoration.
    if let Some(first) = rows.first_mut() {
        first.lead = narrow(columns(BAR));
    }
    rows
}

/// Where the last column of a line begins, in bytes, if that is not too far to the right: after
/// several blanks, or after those that it begins with.
fn column(line: &str, most: usize) -> Option<usize> {
    let inner = line.len() - line.trim_start().len();
    let mut ends = line.rmatch_indices("  ").map(|(at, blanks)| at + blanks.len());
    // Among blanks no column begins, and those before it would be lost.
    let last = ends.find(|at| columns(&line[..*at]) <= most && !line[*at..].starts_with(' '));
    Some(last.unwrap_or(inner).max(inner)).filter(|at| *at > 0 && *at <= most)
}
