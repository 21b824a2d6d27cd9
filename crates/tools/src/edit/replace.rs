//! Replaces text within text, whatever its line endings are. Pure.

use similar::TextDiff;

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Occurrences {
    /// Exactly one; more are an error.
    One,
    All,
}

/// Replaces `old` in `content` by `new`. Returns the result and how often it replaced. A line feed
/// in `old` matches either line ending; one in `new` becomes the line ending of its surroundings.
pub(super) fn replace(
    content: &str,
    old: &str,
    new: &str,
    occurrences: Occurrences,
) -> Result<(String, usize), String> {
    let lines = Lines::new(content);
    let (old, new) = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
    let found: Vec<_> = lines.text.match_indices(&old).map(|(at, _)| at).collect();
    match (found.len(), occurrences) {
        (0, _) => return Err(not_found(&lines.text, &old)),
        (2.., Occurrences::One) => {
            let count = found.len();
            return Err(format!(
                "old_string found {count} times, must be unique (or use replace_all)"
            ));
        }
        _ => {}
    }
    let with_returns = new.replace('\n', "\r\n");
    let mut result = String::with_capacity(content.len() + new.len());
    let mut copied = 0;
    for &at in &found {
        let (from, to) = (lines.original(at), lines.original(at + old.len()));
        result.push_str(&content[copied..from]);
        result.push_str(if lines.returns_at(&content[from..to]) { &with_returns } else { &new });
        copied = to;
    }
    result.push_str(&content[copied..]);
    Ok((result, found.len()))
}

/// A text with line feeds only, and the positions of carriage returns before them.
struct Lines {
    text: String,
    /// The positions in `text` of line feeds that had a carriage return.
    returns: Vec<usize>,
    /// True if most lines had one.
    mostly: bool,
}

impl Lines {
    fn new(content: &str) -> Self {
        let mut text = String::with_capacity(content.len());
        let mut returns = Vec::new();
        for piece in content.split_inclusive('\n') {
            if let Some(line) = piece.strip_suffix("\r\n") {
                text.push_str(line);
                returns.push(text.len());
                text.push('\n');
            } else {
                text.push_str(piece);
            }
        }
        let feeds = text.matches('\n').count();
        Self { text, mostly: returns.len() * 2 > feeds, returns }
    }

    /// The position in the original of a position in `text`.
    fn original(&self, at: usize) -> usize {
        at + self.returns.partition_point(|&feed| feed < at)
    }

    /// Returns true if lines that replace `piece` end with a carriage return.
    fn returns_at(&self, piece: &str) -> bool {
        match piece.find('\n') {
            Some(end) => piece[..end].ends_with('\r'),
            None => self.mostly,
        }
    }
}

const MAX_COMPARED_LINES: usize = 20_000;
const MAX_COMPARED: usize = 200;
const LIKENESS: f32 = 0.6;

fn not_found(text: &str, old: &str) -> String {
    let message = "old_string not found in file";
    let Some(wanted) = old.lines().find(|line| !line.trim().is_empty()) else {
        return message.to_owned();
    };
    match nearest(text, wanted) {
        Some((number, line)) if line == wanted => {
            format!("{message}\nIts first line is line {number}; the lines after it differ")
        }
        Some((number, line)) => {
            let shown: String = line.chars().take(MAX_COMPARED).collect();
            format!("{message}\nThe nearest line is {number}: {shown}")
        }
        None => message.to_owned(),
    }
}

/// The line most like `wanted`, with its number.
fn nearest<'a>(text: &'a str, wanted: &str) -> Option<(usize, &'a str)> {
    let lines = || text.lines().take(MAX_COMPARED_LINES).zip(1..);
    let same = |&(line, _): &(&str, usize)| line.trim() == wanted.trim();
    if let Some((line, number)) = lines().find(same) {
        return Some((number, line));
    }
    let length = wanted.trim().len();
    if length > MAX_COMPARED {
        return None;
    }
    let mut best = None;
    let mut likeness = LIKENESS;
    for (line, number) in lines() {
        let candidate = line.trim();
        if candidate.len() > 2 * length || candidate.len() * 2 < length {
            continue;
        }
        let ratio = TextDiff::from_chars(candidate, wanted.trim()).ratio();
        if ratio > likeness {
            likeness = ratio;
            best = Some((number, line));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(content: &str, old: &str, new: &str) -> String {
        replace(content, old, new, Occurrences::One).unwrap().0
    }

    #[test]
    fn replace_keeps_line_endings() {
        assert_eq!(one("a\r\nb\r\nc", "a\nb", "x\ny\nz"), "x\r\ny\r\nz\r\nc");
        assert_eq!(one("a\r\nb\r\n", "b", "x\ny"), "a\r\nx\r\ny\r\n");
        assert_eq!(one("a\nb\n", "a\r\nb", "x\r\ny"), "x\ny\n");
        assert_eq!(one("a\r\nb\nc\n", "b\nc", "x\ny"), "a\r\nx\ny\n");
        assert_eq!(one("a\r\nb\nc\n", "a\nb", "x\ny"), "x\r\ny\nc\n");
        assert_eq!(one("a\r\nb\r\n", "\nb", "\nx"), "a\r\nx\r\n");
        assert_eq!(one("a\r\n\r\nb", "a\n", ""), "\r\nb");
        assert_eq!(one("lone\rreturn\n", "lone\rreturn", "x"), "x\n");
    }

    #[test]
    fn ambiguous_text_is_refused_without_replace_all() {
        let error = replace("é é é", "é", "e", Occurrences::One).unwrap_err();
        let expected = "old_string found 3 times, must be unique (or use replace_all)";
        assert_eq!(error, expected);
        let (text, count) = replace("é é é", "é", "e", Occurrences::All).unwrap();
        assert_eq!((text.as_str(), count), ("e e e", 3));
    }

    #[test]
    fn missing_text_names_the_nearest_line() {
        let miss =
            |content: &str, old: &str| replace(content, old, "x", Occurrences::One).unwrap_err();
        let start = "old_string not found in file";
        let message = miss("a\n    let value = 1;\n", "let valeu = 1;");
        assert_eq!(message, format!("{start}\nThe nearest line is 2:     let value = 1;"));
        let message = miss("a\n\tb\n", "    b");
        assert_eq!(message, format!("{start}\nThe nearest line is 2: \tb"));
        let message = miss("a\nb\n", "b\nc");
        let rest = "Its first line is line 2; the lines after it differ";
        assert_eq!(message, format!("{start}\n{rest}"));
        assert_eq!(miss("entirely\nother\n", "zzz"), start);
    }
}
