//! Where a paragraph that goes on and on can be split: at the end of a row, outside of emphasis, code
//! and links, so that both parts come to the rows that the whole would.

use super::{SPLIT_BYTES, is_item, page};
use crate::text::Row;
use crate::theme::Theme;

const MAX_TRIES: usize = 8;

/// Characters that may be markup.
const MARKS: [char; 9] = ['*', '_', '`', '[', ']', '<', '&', '\\', '~'];

/// The end of a full row in the middle of a long paragraph, with the rows up to there.
pub(super) fn whole_rows(text: &str, width: usize, theme: &Theme) -> Option<(usize, Vec<Row>)> {
    if text.len() < 2 * SPLIT_BYTES || !is_prose(text) {
        return None;
    }
    let ends: Vec<usize> = ends(text).collect();
    let last = *ends.last()?;
    let mut rows = page::render(&text[..last], width, theme);
    let is_plain = !text[..last].contains(MARKS);
    let mut end = last;
    for count in (1..rows.len()).rev().take(MAX_TRIES) {
        // The words of a row tell where it begins, unless marks that are not seen stand among them.
        let words = rows[count].line.to_string().split_whitespace().count();
        end = start_of_words(&text[..end], words)?.checked_sub(1)?;
        if ends.binary_search(&end).is_err() {
            continue;
        }
        if is_plain {
            // Nothing in it could reach over the end of a row.
            rows.truncate(count);
            return Some((end + 1, rows));
        }
        let full = page::render(&text[..end], width, theme);
        if full[..] == rows[..count] {
            return Some((end + 1, full));
        }
    }
    None
}

/// Where the last words of a text begin.
fn start_of_words(text: &str, count: usize) -> Option<usize> {
    let mut rest = text;
    for _ in 0..count {
        let word = rest.trim_end();
        rest = &word[..word.rfind(char::is_whitespace).map_or(0, |at| at + 1)];
    }
    Some(rest.len()).filter(|at| *at > 0)
}

/// Returns true if a text begins with a paragraph and has nothing in it that could be markup of a
/// block.
fn is_prose(text: &str) -> bool {
    text[..boundary(text, 2 * SPLIT_BYTES)].lines().all(|line| {
        let first = line.chars().next();
        first.is_some_and(|c| c.is_alphanumeric() || "\"'(*_`[".contains(c))
            && !is_item(line)
            && !line.contains(['|', '\\', '<', '&'])
    })
}

/// Blanks outside of everything that has a beginning and an end.
fn ends(text: &str) -> impl Iterator<Item = usize> {
    let limit = boundary(text, 2 * SPLIT_BYTES);
    // Emphasis, code and links: how many marks are open; bold has two on either side.
    let mut open = [0_u32; 4];
    let mut last = ' ';
    let letters = text[..limit].char_indices().zip(text.chars().skip(1));
    letters.filter_map(move |((at, letter), next)| {
        let before = std::mem::replace(&mut last, letter);
        let is_doubled = before == letter;
        match letter {
            '*' | '_' if is_doubled => last = ' ',
            '*' => open[0] ^= 1,
            '_' => open[1] ^= 1,
            '`' => open[2] ^= 1,
            '[' => open[3] += 1,
            ']' => open[3] = open[3].saturating_sub(1),
            // Blanks before the end of a line may break it for good.
            '\n' if before == ' ' => {}
            ' ' | '\n' if open == [0; 4] && next.is_alphabetic() => return Some(at),
            _ => {}
        }
        None
    })
}

fn boundary(text: &str, most: usize) -> usize {
    contract::text::head(text, most).len()
}
