//! Where a paragraph that goes on and on can be split: at the end of a row, outside of emphasis, code
//! and links, so that both parts come to the rows that the whole would.

use super::{LONG, is_item, page};
use crate::text::columns;
use crate::theme::Theme;

/// Ends of rows that are tried.
const TRIES: usize = 8;

/// The end of a full row in the middle of a long paragraph.
pub(super) fn end_of_rows(text: &str, width: usize, theme: &Theme) -> Option<usize> {
    if text.len() < 2 * LONG || !is_prose(text) {
        return None;
    }
    let mut ends = ends(text);
    let first = ends.find(|at| *at >= LONG)?;
    let rows = page::render(&text[..first], width, theme);
    // Words are added until the next one begins a row. Marks that are not seen count too, so that
    // this may be told too early; then it goes on from there.
    let mut used = rows.last()?.line.width();
    let mut end = first;
    let mut tries = 0;
    for next in ends {
        used += 1 + columns(text[end..next].trim());
        if used > width {
            let (full, more) = (&text[..end], &text[..next]);
            let (full, more) = (page::render(full, width, theme), page::render(more, width, theme));
            if more.len() > full.len() && more[..full.len()] == full[..] {
                return Some(end + 1);
            }
            tries += 1;
            if tries == TRIES {
                return None;
            }
            used = more.last()?.line.width();
        }
        end = next;
    }
    None
}

/// Whether a text begins with a paragraph and has nothing in it that could make more of it.
fn is_prose(text: &str) -> bool {
    text[..boundary(text, 2 * LONG)].lines().all(|line| {
        let first = line.chars().next();
        first.is_some_and(|c| c.is_alphanumeric() || "\"'(*_`[".contains(c))
            && !is_item(line)
            && !line.contains(['|', '\\', '<', '&'])
    })
}

/// Blanks outside of everything that has a beginning and an end.
fn ends(text: &str) -> impl Iterator<Item = usize> {
    let limit = boundary(text, 2 * LONG);
    // Emphasis, code and links: how many marks are open; bold has two on either side.
    let mut open = [0_u32; 4];
    let mut last = ' ';
    let letters = text[..limit].char_indices().zip(text.chars().skip(1));
    letters.filter_map(move |((at, letter), next)| {
        let is_doubled = std::mem::replace(&mut last, letter) == letter;
        match letter {
            '*' | '_' if is_doubled => last = ' ',
            '*' => open[0] ^= 1,
            '_' => open[1] ^= 1,
            '`' => open[2] ^= 1,
            '[' => open[3] += 1,
            ']' => open[3] = open[3].saturating_sub(1),
            ' ' | '\n' if open == [0; 4] && next.is_alphabetic() => return Some(at),
            _ => {}
        }
        None
    })
}

fn boundary(text: &str, most: usize) -> usize {
    contract::text::head(text, most).len()
}
