//! Changes of files that a command shows: whose they are, and line by line what an edit would show.

use super::parts::Part;
use crate::diff;
use crate::host::FileChange;
use crate::text::{Leads, Piece, Row, wrap};
use crate::theme::{Role, Theme};

pub(super) fn parts(changes: &[FileChange], width: usize, theme: &Theme) -> Vec<Part> {
    let lead = bar(theme);
    let mut parts = Vec::new();
    for (at, change) in changes.iter().enumerate() {
        parts.push(Part::Description(at));
        let spans = diff::spans(diff::body(&change.unified), width, &lead);
        parts.extend(spans.into_iter().map(|span| Part::Change(at, span)));
    }
    parts
}

pub(super) fn rows(changes: &[FileChange], part: Part, width: usize, theme: &Theme) -> Vec<Row> {
    let lead = bar(theme);
    match part {
        Part::Description(at) => {
            changes.get(at).map_or_else(Vec::new, |it| heading_rows(it, width, theme))
        }
        Part::Change(at, span) => changes.get(at).map_or_else(Vec::new, |it| {
            span.rows((diff::body(&it.unified), &it.path), theme, width, &lead)
        }),
        _ => {
            let parts = self::parts(changes, width, theme).into_iter();
            parts.flat_map(|part| rows(changes, part, width, theme)).collect()
        }
    }
}

fn bar(theme: &Theme) -> Vec<Piece> {
    vec![(theme.style(Role::Border), "┊ ".to_owned())]
}

fn heading_rows(change: &FileChange, width: usize, theme: &Theme) -> Vec<Row> {
    let words = change.description.trim_start();
    let indent = change.description[..change.description.len() - words.len()].to_owned();
    let leads = bar(theme).into_iter().chain([(theme.style(Role::Text), indent.clone())]);
    let style = theme.style(if indent.is_empty() { Role::Strong } else { Role::Text });
    let mut pieces = vec![(style, words.to_owned())];
    if let Some((added, removed)) = change.counts {
        pieces.extend([
            (style, " (".to_owned()),
            (theme.style(Role::Added), format!("+{added}")),
            (style, " ".to_owned()),
            (theme.style(Role::Removed), format!("-{removed}")),
            (style, ")".to_owned()),
        ]);
    }
    wrap(&pieces, width, &Leads::same(leads.collect()))
}

/// The text of a part to be searched; none if it is little.
pub(super) fn part_text(changes: &[FileChange], part: Part, more: usize) -> Option<&str> {
    let Part::Change(at, span) = part else { return None };
    changes.get(at).map(|it| span.slice.and_on(diff::body(&it.unified), more))
}

pub(super) fn text(changes: &[FileChange]) -> String {
    changes.iter().map(|it| it.heading() + &it.unified).collect()
}
