//! Shows the difference of two texts, or the start of one, in few lines.

use contract::text::visible;
use similar::{ChangeTag, TextDiff};

const LINES: usize = 30;
const COLUMNS: usize = 120;
const CONTEXT: usize = 2;

/// The lines around the first difference: `-` was expected, `+` was sent.
pub(super) fn difference(expected: &str, sent: &str) -> String {
    if expected.trim_end_matches('\n') == sent.trim_end_matches('\n') {
        return String::from(
            "they differ only in the line breaks at the end; in YAML, `|-` leaves out the last one",
        );
    }
    let expected: Vec<&str> = expected.lines().collect();
    let sent: Vec<&str> = sent.lines().collect();
    let equal = expected.iter().zip(&sent).take_while(|(expected, sent)| expected == sent).count();
    let column = match (expected.get(equal), sent.get(equal)) {
        (Some(expected), Some(sent)) => common_prefix(expected, sent),
        _ => 0,
    };
    let skipped = equal.saturating_sub(CONTEXT);
    let part = |lines: &[&str]| {
        let shown = lines.iter().skip(skipped).take(LINES);
        shown.map(|line| window(line, column)).collect::<Vec<String>>()
    };
    let (old, new) = (part(&expected), part(&sent));
    let old: Vec<&str> = old.iter().map(String::as_str).collect();
    let new: Vec<&str> = new.iter().map(String::as_str).collect();
    let mut shown = vec![String::from("- expected"), String::from("+ sent")];
    if skipped > 0 {
        shown.push(format!("  … {skipped} equal lines before"));
    }
    for change in TextDiff::from_slices(&old, &new).iter_all_changes() {
        let sign = match change.tag() {
            ChangeTag::Equal => ' ',
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        };
        shown.push(format!("{sign} {}", change.value()).trim_end().to_owned());
    }
    let beyond = |lines: &[&str]| lines.len().saturating_sub(skipped + LINES);
    let (more_expected, more_sent) = (beyond(&expected), beyond(&sent));
    if more_expected + more_sent > 0 {
        shown.push(format!("  … {more_expected} more lines expected, {more_sent} more sent"));
    }
    shown.join("\n")
}

/// The start of a text, each line after `mark`.
pub(super) fn excerpt(text: &str, mark: &str) -> String {
    if text.is_empty() {
        return format!("{mark}(nothing)");
    }
    let mut shown: Vec<String> =
        text.lines().take(LINES).map(|line| format!("{mark}{}", window(line, 0))).collect();
    let more = text.lines().count().saturating_sub(LINES);
    if more > 0 {
        shown.push(format!("{mark}… {more} more lines"));
    }
    shown.join("\n")
}

/// The line of `text` that is most similar to the first line of `wanted`, if one is similar.
pub(super) fn closest_line<'a>(wanted: &str, text: &'a str) -> Option<&'a str> {
    let wanted = wanted.lines().next()?;
    let short = |line: &&str| line.len() <= 4 * wanted.len().max(20);
    let lines: Vec<&str> = text.lines().take(500).filter(short).collect();
    similar::get_close_matches(wanted, &lines, 1, 0.6).first().copied()
}

/// The part of a line around `column`.
fn window(line: &str, column: usize) -> String {
    let length = line.chars().count();
    if length <= COLUMNS {
        return visible(line).into_owned();
    }
    let from = column.saturating_sub(COLUMNS / 3).min(length.saturating_sub(COLUMNS));
    let kept: String = line.chars().skip(from).take(COLUMNS).collect();
    let before = if from > 0 { "…" } else { "" };
    let after = if from + COLUMNS < length { "…" } else { "" };
    format!("{before}{}{after}", visible(&kept))
}

fn common_prefix(left: &str, right: &str) -> usize {
    let pairs = left.chars().zip(right.chars());
    pairs.take_while(|(left, right)| left == right).count()
}
