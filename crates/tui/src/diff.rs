//! A unified diff in color, with line numbers. Nothing of it is left out.

use std::ops::Range;

use ratatui_core::style::Style;

use crate::highlight::Highlighter;
use crate::slice::{Breaks, Slice, slices};
use crate::text::{Joint, Leads, Piece, Row, columns, fold};
use crate::theme::{Role, Theme};

/// A part of a diff, with what must be known of the lines above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) slice: Slice,
    numbers: Numbers,
    digits: usize,
    /// The role of the line that it begins in the middle of.
    within: Option<Role>,
}

/// A diff in parts that can be laid out one by one, for rows of so many columns behind `lead`.
pub(crate) fn spans(unified: &str, width: usize, lead: &[Piece]) -> Vec<Span> {
    let digits = digits(unified);
    let used: usize = lead.iter().map(|(_, text)| columns(text)).sum();
    let room = width.saturating_sub(used + digits + 1).max(1);
    let mut numbers = Numbers::default();
    let mut role = Role::Soft;
    let mut spans = Vec::new();
    for slice in slices(unified, Breaks::Columns(room)) {
        let within = (slice.joint != Joint::Line).then_some(role);
        spans.push(Span { slice, numbers, digits, within });
        for line in slice.of(unified).lines().skip(usize::from(within.is_some())) {
            (role, _) = numbers.step(line);
        }
    }
    spans
}

/// The rows of a diff of the file `path`, each behind `lead`.
pub(crate) fn rows(
    unified: &str,
    path: &str,
    theme: &Theme,
    width: usize,
    lead: &[Piece],
) -> Vec<Row> {
    let (slice, numbers) = (Slice::whole(unified), Numbers::default());
    let span = Span { slice, numbers, digits: digits(unified), within: None };
    span.rows((unified, path), theme, width, lead)
}

impl Span {
    /// Its rows, each behind `lead`. A comment that a line above has begun is not known here.
    pub(crate) fn rows(
        &self,
        (unified, path): (&str, &str),
        theme: &Theme,
        width: usize,
        lead: &[Piece],
    ) -> Vec<Row> {
        let mut rows = Vec::new();
        let Self { slice, mut numbers, digits, mut within } = *self;
        let mut highlighters = [Highlighter::for_path(path), Highlighter::for_path(path)];
        let marks = changed_words(slice.of(unified), within.is_some());
        let soft = theme.style(Role::Soft);
        let blank: Vec<Piece> =
            lead.iter().cloned().chain([(soft, " ".repeat(digits + 1))]).collect();
        for (line, mark) in slice.of(unified).lines().zip(marks) {
            let goes_on = within.take();
            let (role, number) = goes_on.map_or_else(|| numbers.step(line), |role| (role, None));
            let [new, old] = &mut highlighters;
            let style = theme.style(role);
            let pieces = match role {
                Role::Text | Role::Added | Role::Removed
                    if role == Role::Text || style.bg.is_some() =>
                {
                    // The first column says what was added and removed.
                    let (column, code) = line.split_at(usize::from(goes_on.is_none()));
                    let highlighter = if role == Role::Removed { old } else { new };
                    let code = highlighter.line(code, theme).into_iter().map(|(own, text)| {
                        let plain = own == theme.style(Role::Code) && role != Role::Text;
                        (if plain { style } else { Style { bg: style.bg, ..own } }, text)
                    });
                    [(style, column.to_owned())].into_iter().chain(code).collect()
                }
                _ => vec![(style, line.to_owned())],
            };
            let pieces = match (role, mark) {
                (Role::Added, Some(words)) => marked(pieces, &words, theme.style(Role::AddedWord)),
                (Role::Removed, Some(words)) => {
                    marked(pieces, &words, theme.style(Role::RemovedWord))
                }
                _ => pieces,
            };
            let number = number.map_or_else(String::new, |number| number.to_string());
            let gutter = (soft, format!("{number:>digits$} "));
            let leads = Leads {
                first: lead.iter().cloned().chain([gutter]).collect(),
                rest: blank.clone(),
            };
            let mut folded = fold(&pieces, width, &leads);
            if let (Some(first), true) = (folded.first_mut(), goes_on.is_some()) {
                first.joint = slice.joint;
            }
            rows.extend(folded);
        }
        rows
    }
}

/// The bytes of each line that differ from its counterpart, where as many lines were added as were
/// removed. The first line may be the rest of one.
fn changed_words(text: &str, starts_within: bool) -> Vec<Option<Range<usize>>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut marks = vec![None; lines.len()];
    let run = |from: usize, mark: char| {
        lines[from..].iter().take_while(|line| line.starts_with(mark)).count()
    };
    let mut at = usize::from(starts_within);
    while at < lines.len() {
        let removed = run(at, '-');
        let added = run(at + removed, '+');
        if removed == added {
            for (old, new) in (at..at + removed).zip(at + removed..) {
                if let Some((first, second)) = differing(&lines[old][1..], &lines[new][1..]) {
                    (marks[old], marks[new]) = (Some(first), Some(second));
                }
            }
        }
        at += (removed + added).max(1);
    }
    marks
}

/// The differing words of two lines, as places behind their first column; none if too little is
/// equal to be worth marking.
fn differing(old: &str, new: &str) -> Option<(Range<usize>, Range<usize>)> {
    const MAX_LINE: usize = 1000;
    if old.len().max(new.len()) > MAX_LINE {
        return None;
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let equal = old.chars().zip(new.chars()).take_while(|(a, b)| a == b);
    let start: usize = equal.map(|(c, _)| c.len_utf8()).sum();
    let splits = |text: &str, at: usize| text[at..].starts_with(is_word);
    let start = if splits(old, start) || splits(new, start) {
        start
            - old[..start]
                .chars()
                .rev()
                .take_while(|c| is_word(*c))
                .map(char::len_utf8)
                .sum::<usize>()
    } else {
        start
    };
    let (a, b) = (&old[start..], &new[start..]);
    let equal = a.chars().rev().zip(b.chars().rev()).take_while(|(a, b)| a == b);
    let end: usize = equal.map(|(c, _)| c.len_utf8()).sum();
    let splits = |text: &str| text[..text.len() - end].ends_with(is_word);
    let end = if splits(a) || splits(b) {
        let tail = &a[a.len() - end..];
        end - tail.chars().take_while(|c| is_word(*c)).map(char::len_utf8).sum::<usize>()
    } else {
        end
    };
    let shared = old[..start].trim().len() + a[a.len() - end..].trim().len();
    let range = |text: &str| start + 1..text.len() - end + 1;
    (shared * 4 > old.len().max(new.len())).then(|| (range(old), range(new)))
}

/// Pieces with another style for some of their bytes.
fn marked(pieces: Vec<Piece>, bytes: &Range<usize>, style: Style) -> Vec<Piece> {
    let mut all = Vec::with_capacity(pieces.len() + 2);
    let mut start = 0;
    for (own, text) in pieces {
        let cut = |at: usize| at.saturating_sub(start).min(text.len());
        let (from, to) = (cut(bytes.start), cut(bytes.end));
        let parts = [(own, &text[..from]), (style, &text[from..to]), (own, &text[to..])];
        all.extend(
            parts.into_iter().filter(|it| !it.1.is_empty()).map(|(it, s)| (it, s.to_owned())),
        );
        start += text.len();
    }
    all
}

/// A diff without the lines that name its file.
pub(crate) fn body(unified: &str) -> &str {
    let heads =
        unified.lines().take(2).filter(|line| line.starts_with("--- ") || line.starts_with("+++ "));
    let skipped: usize = heads.map(|line| line.len() + 1).sum();
    unified.get(skipped..).unwrap_or_default()
}

/// Lines that a diff adds and removes.
pub(crate) fn counts(unified: &str) -> (usize, usize) {
    let mut numbers = Numbers::default();
    let (mut added, mut removed) = (0, 0);
    for line in unified.lines() {
        match numbers.step(line).0 {
            Role::Added => added += 1,
            Role::Removed => removed += 1,
            _ => {}
        }
    }
    (added, removed)
}

fn digits(unified: &str) -> usize {
    let (mut last, mut count) = (0, 0_usize);
    for line in unified.lines() {
        count += 1;
        if line.starts_with("@@") {
            let Numbers { old, new, .. } = Numbers::of(line);
            last = old.max(new).max(last);
        }
    }
    let most = if last == 0 { 1 } else { last.saturating_add(count) };
    most.to_string().len()
}

/// The next line before and after the change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Numbers {
    old: usize,
    new: usize,
    /// Lines of this place that are still to come, before and after the change.
    left: (usize, usize),
}

impl Numbers {
    /// Those that `@@ -3,5 +3,6 @@` names.
    fn of(line: &str) -> Self {
        let after = |mark: char| line.find(mark).map_or("", |at| &line[at + 1..]);
        let number = |text: &str| {
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            text[..end].parse().ok()
        };
        let count = |text: &str| {
            let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
            rest.strip_prefix(',').and_then(number).unwrap_or(1)
        };
        let [old, new] = [after('-'), after('+')];
        Self {
            old: number(old).unwrap_or(0),
            new: number(new).unwrap_or(0),
            left: (count(old), count(new)),
        }
    }

    /// Goes beyond a line. Says what that line is, and its number.
    fn step(&mut self, line: &str) -> (Role, Option<usize>) {
        // The names of files, unless a line that begins with two dashes was removed.
        let names_file = match line.get(..4) {
            Some("--- ") => self.left.0 == 0,
            Some("+++ ") => self.left.1 == 0,
            _ => false,
        };
        match line.as_bytes().first() {
            _ if names_file => (Role::Soft, None),
            Some(b'@') => {
                *self = Self::of(line);
                (Role::Place, None)
            }
            Some(b'+') => (Role::Added, Some(self.after())),
            Some(b'-') => (Role::Removed, Some(self.before())),
            Some(b' ') => {
                self.before();
                (Role::Text, Some(self.after()))
            }
            _ => (Role::Soft, None),
        }
    }

    fn before(&mut self) -> usize {
        self.left.0 = self.left.0.saturating_sub(1);
        next(&mut self.old)
    }

    fn after(&mut self) -> usize {
        self.left.1 = self.left.1.saturating_sub(1);
        next(&mut self.new)
    }
}

/// A number, which becomes the one after it.
fn next(number: &mut usize) -> usize {
    let this = *number;
    *number = this.saturating_add(1);
    this
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_and_none_is_missing() {
        let unified = "--- a/x.rs\n+++ b/x.rs\n@@ -9,3 +9,3 @@\n let a;\n-old\n+new\n let b;\n";
        let theme = Theme::built_in().swap_remove(3);
        let lead = [(theme.style(Role::Border), "│ ".to_owned())];
        let rows = rows(unified, "x.rs", &theme, 40, &lead);
        let lines: Vec<String> = rows.iter().map(|row| row.line.to_string()).collect();
        assert_eq!(
            lines[2..],
            ["│    @@ -9,3 +9,3 @@", "│  9  let a;", "│ 10 -old", "│ 10 +new", "│ 11  let b;"]
        );
        assert_eq!(rows[5].text(), "+new");
        assert_eq!(counts(unified), (1, 1));
    }

    #[test]
    fn lines_that_resemble_file_headers_are_lines() {
        let unified = "--- a/x.sql\n+++ b/x.sql\n@@ -1,3 +1,3 @@\n--- note\n+++ i;\n a\n b\n";
        assert_eq!(counts(unified), (1, 1));
        let rows = rows(unified, "x.sql", &Theme::unstyled(), 40, &[]);
        let lines: Vec<String> = rows.iter().map(|row| row.line.to_string()).collect();
        assert_eq!(lines[3..], ["1 --- note", "1 +++ i;", "2  a", "3  b"]);
    }

    #[test]
    fn changed_words_of_paired_lines_are_marked() {
        let theme = Theme::built_in().swap_remove(0);
        let unified = "@@ -1,2 +1,2 @@\n-let total = a + b;\n+let total = a - b;\n other\n";
        let rows = rows(unified, "x.rs", &theme, 60, &[]);
        let words = |at: usize, role: Role| {
            let is_marked = |span: &&ratatui_core::text::Span<'_>| span.style == theme.style(role);
            let spans = rows[at].line.spans.iter().filter(is_marked);
            spans.map(|span| span.content.to_string()).collect::<String>()
        };
        assert_eq!(words(1, Role::RemovedWord), "+");
        assert_eq!(words(2, Role::AddedWord), "-");
        assert!(rows[1].line.spans.iter().any(|it| it.style.bg == theme.style(Role::Removed).bg));
        assert_eq!(differing("fn a() {", "struct B;"), None, "too little is equal");
        assert_eq!(differing("old_name(x)", "new_name(x)"), Some((1..9, 1..9)));
    }

    #[test]
    fn diff_spans_have_the_rows_of_the_whole() {
        let theme = Theme::unstyled();
        let lead = [(theme.style(Role::Border), "│ ".to_owned())];
        let long = "x".repeat(40_000);
        let lines = " kept\n-old\n+new\n+another\n".repeat(2000);
        let unified =
            format!("@@ -9,3 +9,3 @@\n{lines}+{long}\n {long}\n@@ -90000 +90001 @@\n{lines}");
        let all = spans(&unified, 40, &lead);
        assert!(all.len() > 10);
        let parts = all.iter().flat_map(|it| it.rows((&unified, "a"), &theme, 40, &lead));
        assert_eq!(parts.collect::<Vec<_>>(), rows(&unified, "a", &theme, 40, &lead));
    }

    #[test]
    fn non_diff_text_is_shown() {
        let theme = Theme::built_in().swap_remove(0);
        assert_eq!(rows("just text\n", "a", &theme, 30, &[]).len(), 1);
        rows("@@ -99999999999999999999 +@@\n+é\n", "a", &theme, 3, &[]);
    }
}
