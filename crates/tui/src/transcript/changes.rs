//! Changes of files that a command shows: whose they are, and line by line what an edit would show.

use crate::diff;
use crate::host::Changed;
use crate::text::{Leads, Piece, Row, wrap};
use crate::theme::{Role, Theme};

pub(super) fn rows(changes: &[Changed], width: usize, theme: &Theme) -> Vec<Row> {
    let lead: Vec<Piece> = vec![(theme.style(Role::Border), "┊ ".to_owned())];
    let mut rows = Vec::new();
    for Changed { words, path, unified } in changes {
        for line in words.lines() {
            let words = line.trim_start();
            let indent = (theme.style(Role::Text), line[..line.len() - words.len()].to_owned());
            let leads = Leads::same(lead.iter().cloned().chain([indent]).collect());
            let role = if words.len() == line.len() { Role::Strong } else { Role::Text };
            rows.extend(wrap(&words_of(words, role, theme), width, &leads));
        }
        rows.extend(diff::rows(diff::body(unified), path, theme, width, &lead));
    }
    rows
}

/// A line of words, in which counts of lines have their colors.
fn words_of(line: &str, role: Role, theme: &Theme) -> Vec<Piece> {
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

/// What somebody who copies them wants.
pub(super) fn text(changes: &[Changed]) -> String {
    changes.iter().flat_map(|it| [it.words.trim_end(), "\n", &it.unified]).collect()
}
