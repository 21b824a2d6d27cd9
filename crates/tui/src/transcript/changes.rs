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
        Part::Description(at) => changes
            .get(at)
            .map_or_else(Vec::new, |it| description_rows(&it.description, width, theme)),
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

fn description_rows(words: &str, width: usize, theme: &Theme) -> Vec<Row> {
    let mut rows = Vec::new();
    for line in words.lines() {
        let words = line.trim_start();
        let indent = (theme.style(Role::Text), line[..line.len() - words.len()].to_owned());
        let leads = Leads::same(bar(theme).into_iter().chain([indent]).collect());
        let role = if words.len() == line.len() { Role::Strong } else { Role::Text };
        rows.extend(wrap(&counted_pieces(words, role, theme), width, &leads));
    }
    rows
}

/// The text of a part to be searched; none if it is little.
pub(super) fn part_text(changes: &[FileChange], part: Part, more: usize) -> Option<&str> {
    let Part::Change(at, span) = part else { return None };
    changes.get(at).map(|it| span.slice.and_on(diff::body(&it.unified), more))
}

/// A line of words, in which counts of lines have their colors.
fn counted_pieces(line: &str, role: Role, theme: &Theme) -> Vec<Piece> {
    let style = theme.style(role);
    let counts = line.strip_suffix(')').and_then(|line| line.rsplit_once(" (+"));
    match counts.and_then(|(before, counts)| Some((before, counts.split_once(" -")?))) {
        Some((before, (added, removed))) => vec![
            (style, format!("{before} (")),
            (theme.style(Role::Added), format!("+{added}")),
            (style, " ".to_owned()),
            (theme.style(Role::Removed), format!("-{removed}")),
            (style, ")".to_owned()),
        ],
        None => vec![(style, line.to_owned())],
    }
}

pub(super) fn text(changes: &[FileChange]) -> String {
    changes.iter().flat_map(|it| [it.description.trim_end(), "\n", &it.unified]).collect()
}
