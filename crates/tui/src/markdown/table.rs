//! Tables: columns as wide as their cells where there is room, narrower and wrapped where not, and
//! one below the other where nothing else fits.

use pulldown_cmark::Alignment;

use crate::text::{BAR, Leads, OF_FRAME, Piece, Row, columns, wrap};
use crate::theme::{Role, Theme};

const GAP_WIDTH: usize = 3;
const MIN_COLUMN_WIDTH: usize = 4;

/// A table as it was read; the first row is the head.
pub(super) struct Table {
    alignments: Vec<Alignment>,
    pub(super) rows: Vec<Vec<Vec<Piece>>>,
}

impl Table {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Self { alignments, rows: Vec::new() }
    }
}

pub(super) fn rows(table: &Table, width: usize, theme: &Theme, leads: &Leads) -> Vec<Row> {
    let count = table.rows.iter().map(Vec::len).max().unwrap_or(0);
    let used: usize = leads.rest.iter().map(|(_, text)| columns(text)).sum();
    let room = width.saturating_sub(used);
    let between = GAP_WIDTH * count.saturating_sub(1);
    if count == 0 {
        return Vec::new();
    }
    if room < between + MIN_COLUMN_WIDTH * count {
        return stacked(table, width, theme, leads);
    }
    let widths = fitted(natural(table, count), room - between);
    let mut out = Vec::new();
    for (number, row) in table.rows.iter().enumerate() {
        lines(row, number == 0, &Columns { table, widths: &widths, theme, leads }, &mut out);
        if number == 0 {
            let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            let mut pieces = leads.rest.clone();
            pieces.push((theme.style(Role::Border), rules.join("─┼─")));
            out.push(Row::decoration(&pieces));
        }
    }
    out
}

struct Columns<'a> {
    table: &'a Table,
    widths: &'a [usize],
    theme: &'a Theme,
    leads: &'a Leads,
}

/// One row of the table, as many rows of the screen as its longest cell takes.
fn lines(row: &[Vec<Piece>], is_head: bool, shape: &Columns<'_>, out: &mut Vec<Row>) {
    let strong = shape.theme.style(Role::Strong);
    let cells: Vec<Vec<Row>> = shape
        .widths
        .iter()
        .enumerate()
        .map(|(column, width)| {
            let mut cell = row.get(column).cloned().unwrap_or_default();
            if is_head {
                for (style, _) in &mut cell {
                    *style = style.patch(strong);
                }
            }
            wrap(&cell, *width, &Leads::default())
        })
        .collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(1);
    for at in 0..height {
        let mut pieces = Vec::new();
        for (column, (cell, width)) in cells.iter().zip(shape.widths).enumerate() {
            if column > 0 {
                let bar = shape.theme.style(Role::Border).add_modifier(OF_FRAME);
                pieces.push((bar, format!(" {BAR} ")));
            }
            let line = cell.get(at).map(|row| row.line.clone()).unwrap_or_default();
            let free = width.saturating_sub(line.width());
            let (before, after) = match shape.table.alignments.get(column) {
                Some(Alignment::Right) => (free, 0),
                Some(Alignment::Center) => (free / 2, free - free / 2),
                _ => (0, free),
            };
            let is_last = column + 1 == shape.widths.len();
            let free = ratatui_core::style::Style::new().add_modifier(OF_FRAME);
            let blank = |count: usize| (free, " ".repeat(count));
            pieces.push(blank(before));
            pieces
                .extend(line.spans.into_iter().map(|span| (span.style, span.content.into_owned())));
            if !is_last {
                pieces.push(blank(after));
            }
        }
        let lead = if out.is_empty() { &shape.leads.first } else { &shape.leads.rest };
        out.push(Row::new(lead, pieces, crate::text::Joint::Line));
    }
}

fn natural(table: &Table, count: usize) -> Vec<usize> {
    let cell = |cell: &Vec<Piece>| cell.iter().map(|(_, text)| columns(text)).sum::<usize>();
    let widest =
        |column: usize| table.rows.iter().filter_map(|row| row.get(column)).map(cell).max();
    (0..count).map(|column| widest(column).unwrap_or(0).max(1)).collect()
}

/// Takes from the widest columns until all fit.
fn fitted(mut widths: Vec<usize>, room: usize) -> Vec<usize> {
    let mut excess = widths.iter().sum::<usize>().saturating_sub(room);
    while excess > 0 {
        let Some(widest) = widths.iter_mut().max() else { break };
        if *widest <= MIN_COLUMN_WIDTH {
            break;
        }
        *widest -= 1;
        excess -= 1;
    }
    widths
}

/// Cell below cell, each behind its head.
fn stacked(table: &Table, width: usize, theme: &Theme, leads: &Leads) -> Vec<Row> {
    let mut out = Vec::new();
    let Some((head, body)) = table.rows.split_first() else { return out };
    for (number, row) in body.iter().enumerate() {
        if number > 0 {
            out.push(Row::gap());
        }
        for (cell, name) in row.iter().zip(head) {
            let mut pieces: Vec<Piece> = name.clone();
            for (style, _) in &mut pieces {
                *style = theme.style(Role::Strong);
            }
            pieces.push((theme.style(Role::Soft), ": ".to_owned()));
            pieces.extend(cell.iter().cloned());
            out.extend(wrap(&pieces, width, leads));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::page::render;
    use crate::theme::Theme;

    fn shown(markdown: &str, width: usize) -> Vec<String> {
        let theme = Theme::built_in().swap_remove(3);
        render(markdown, width, &theme).iter().map(|row| row.line.to_string()).collect()
    }

    #[test]
    fn columns_are_aligned() {
        let text = "| a | bb |\n|---|--:|\n| ccc | d |\n";
        assert_eq!(shown(text, 40), ["a   │ bb", "────┼───", "ccc │  d"]);
    }

    #[test]
    fn wide_cells_wrap_and_no_row_is_too_wide() {
        let text = "| name | about |\n|---|---|\n| x | a long text about many things |\n";
        let rows = shown(text, 22);
        assert!(rows.iter().all(|row| row.chars().count() <= 22), "{rows:?}");
        assert!(rows.len() > 3, "{rows:?}");
    }

    #[test]
    fn narrow_tables_stack_their_cells() {
        let text = "| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n";
        assert_eq!(shown(text, 12), ["a: 1", "b: 2", "c: 3"]);
    }
}
