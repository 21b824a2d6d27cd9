//! Markdown as a terminal shows it, all at once. Nothing in it can steer the terminal.

use std::fmt::Write as _;

use anstyle::Style;
use contract::text::visible;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use unicode_width::UnicodeWidthStr;

use crate::frontends::style::{Palette, paint};

/// Markdown as a terminal of `width` columns shows it.
pub(super) fn render(markdown: &str, width: usize, palette: Palette) -> String {
    if markdown.trim().is_empty() {
        return String::new();
    }
    let parser = Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH);
    let mut page = Page::new(width, palette);
    for event in parser {
        page.take(event);
    }
    page.out
}

/// What has been rendered, and where we are in it.
struct Page {
    out: String,
    width: usize,
    palette: Palette,
    line: Vec<(Style, String)>,
    styles: Vec<Style>,
    lists: Vec<Option<u64>>,
    quotes: usize,
    marker: Option<String>,
    code: Option<String>,
    link: Option<String>,
    rows: Vec<Vec<String>>,
}

impl Page {
    fn new(width: usize, palette: Palette) -> Self {
        Self {
            out: String::new(),
            width: width.max(20),
            palette,
            line: Vec::new(),
            styles: Vec::new(),
            lists: Vec::new(),
            quotes: 0,
            marker: None,
            code: None,
            link: None,
            rows: Vec::new(),
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text) => self.text(&text),
            Event::Code(text) => self.styled(self.palette.code, &text),
            Event::SoftBreak => self.text(" "),
            Event::HardBreak => self.flush_line(),
            Event::Rule => {
                let rule = "─".repeat(self.width.min(60));
                let _ = writeln!(self.out, "{}\n", paint(self.palette.soft, &rule));
            }
            Event::FootnoteReference(_) | Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.styles.push(self.palette.heading);
                if level <= HeadingLevel::H2 {
                    self.text("▌ ");
                }
            }
            Tag::Strong => self.styles.push(self.palette.strong),
            Tag::Emphasis => self.styles.push(self.palette.emphasis),
            Tag::Strikethrough => self.styles.push(self.palette.soft),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some(dest_url.into_string());
                self.styles.push(self.palette.link);
            }
            Tag::List(first) => {
                self.flush_line();
                self.lists.push(first);
            }
            Tag::Item => {
                self.flush_line();
                self.marker = Some(match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    Some(None) | None => "• ".to_owned(),
                });
            }
            Tag::BlockQuote(_) => self.quotes += 1,
            Tag::CodeBlock(kind) => {
                self.flush_line();
                if let CodeBlockKind::Fenced(language) = kind {
                    self.out.push_str(&language_line(&language, self.palette));
                }
                self.code = Some(String::new());
            }
            Tag::TableRow | Tag::TableHead => self.rows.push(Vec::new()),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::Heading(_) => {
                if matches!(tag, TagEnd::Heading(_)) {
                    self.styles.pop();
                }
                self.flush_line();
                if self.lists.is_empty() {
                    self.out.push('\n');
                }
            }
            TagEnd::Strong | TagEnd::Emphasis | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                if let Some(target) = self.link.take() {
                    self.styled(self.palette.soft, &format!(" ({target})"));
                }
            }
            TagEnd::Item => self.flush_line(),
            TagEnd::List(_) => {
                self.flush_line();
                self.lists.pop();
                if self.lists.is_empty() {
                    self.out.push('\n');
                }
            }
            TagEnd::BlockQuote(_) => self.quotes = self.quotes.saturating_sub(1),
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::TableCell => {
                let cell: String = self.line.drain(..).map(|(_, text)| text).collect();
                if let Some(row) = self.rows.last_mut() {
                    row.push(cell);
                }
            }
            TagEnd::Table => self.end_table(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(code) = &mut self.code {
            code.push_str(text);
        } else {
            let style = self.styles.last().copied().unwrap_or_default();
            self.styled(style, text);
        }
    }

    fn styled(&mut self, style: Style, text: &str) {
        self.line.push((style, visible(text).into_owned()));
    }

    fn end_code(&mut self) {
        for line in self.code.take().unwrap_or_default().lines() {
            self.out.push_str(&code_line(line, self.palette));
        }
        self.out.push('\n');
    }

    fn end_table(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max()
        };
        let widths: Vec<usize> = (0..columns).map(|column| widest(column).unwrap_or(0)).collect();
        for (number, row) in rows.iter().enumerate() {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.width())))
                .collect();
            let style = if number == 0 { self.palette.strong } else { Style::new() };
            let _ = writeln!(self.out, "{}", paint(style, cells.join("  ").trim_end()));
            if number == 0 {
                let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                let _ = writeln!(self.out, "{}", paint(self.palette.soft, &rules.join("  ")));
            }
        }
        self.out.push('\n');
    }

    /// Ends the line: wraps it to the width, behind the quote bars and the list's marker.
    fn flush_line(&mut self) {
        let words = std::mem::take(&mut self.line);
        if words.iter().all(|(_, text)| text.trim().is_empty()) && self.marker.is_none() {
            return;
        }
        let bars = paint(self.palette.soft, &"│ ".repeat(self.quotes));
        let indent = "  ".repeat(self.lists.len().saturating_sub(1));
        let marker = self.marker.take();
        let hanging = " ".repeat(
            marker
                .as_ref()
                .map_or_else(|| if self.lists.is_empty() { 0 } else { 2 }, |marker| marker.width()),
        );
        let room =
            self.width.saturating_sub(2 * self.quotes + indent.width() + hanging.width()).max(10);
        for (number, line) in wrap(&words, room).iter().enumerate() {
            let lead = match &marker {
                Some(marker) if number == 0 => marker.as_str(),
                _ => hanging.as_str(),
            };
            let bars = if self.quotes == 0 { "" } else { bars.as_str() };
            let _ = writeln!(self.out, "{bars}{indent}{lead}{line}");
        }
    }
}

/// The line above a block of code that names its language; nothing where it has none.
pub(super) fn language_line(language: &str, palette: Palette) -> String {
    if language.is_empty() {
        return String::new();
    }
    format!("  {}\n", paint(palette.soft, &visible(language)))
}

/// A line of a block of code.
pub(super) fn code_line(line: &str, palette: Palette) -> String {
    format!("  {} {}\n", paint(palette.soft, "│"), paint(palette.code, &visible(line)))
}

/// Breaks styled text into lines of at most `room` columns, at spaces. A word that is longer
/// keeps its line to itself; the terminal breaks it.
fn wrap(pieces: &[(Style, String)], room: usize) -> Vec<String> {
    let mut lines = Lines { room, ..Lines::default() };
    for (style, text) in pieces {
        for (number, part) in text.split(' ').enumerate() {
            if number > 0 {
                lines.end_word();
                lines.spaces += 1;
            }
            if !part.is_empty() {
                lines.word.push((*style, part));
            }
        }
    }
    lines.end_word();
    lines.done.push(lines.line);
    lines.done
}

/// Lines on the way to being full.
#[derive(Default)]
struct Lines<'a> {
    room: usize,
    done: Vec<String>,
    line: String,
    used: usize,
    spaces: usize,
    /// The word that has begun: punctuation after bold text belongs to it.
    word: Vec<(Style, &'a str)>,
}

impl Lines<'_> {
    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let columns: usize = self.word.iter().map(|(_, part)| part.width()).sum();
        let spaces = std::mem::take(&mut self.spaces);
        if self.used > 0 && self.used + spaces + columns > self.room {
            self.done.push(std::mem::take(&mut self.line));
            self.used = 0;
        }
        if self.used > 0 {
            self.line.push_str(&" ".repeat(spaces));
            self.used += spaces;
        }
        for (style, part) in self.word.drain(..) {
            self.line.push_str(&paint(style, part));
        }
        self.used += columns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Theme;

    fn plain(markdown: &str) -> String {
        render(markdown, 40, Palette::plain())
    }

    #[test]
    fn lists_are_marked_and_wrapped_under_their_text() {
        let text = plain("- a word that is long enough to be wrapped twice\n  1. inner\n");
        assert_eq!(text, "• a word that is long enough to be\n  wrapped twice\n  1. inner\n\n");
    }

    #[test]
    fn a_line_is_never_wider_than_the_terminal_and_keeps_its_punctuation() {
        let text = plain("aaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbb **ccc**, *d  e*");
        assert_eq!(text, "aaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbb\nccc, d  e\n\n");
        let styled = render("*one two three four*", 20, Palette::themed(Theme::Sixteen));
        assert!(!styled.contains(" \x1b[0m\n"), "no blank ends a full line: {styled:?}");
    }

    #[test]
    fn tables_are_aligned() {
        let text = plain("| a | bb |\n|---|---|\n| ccc | d |\n");
        assert_eq!(text, "a    bb\n───  ──\nccc  d\n\n");
    }

    #[test]
    fn control_characters_never_reach_the_terminal() {
        let text = plain("a\x1b[2Jb `c\x1b]0;x\x07`\n\n```\n\x1b[31m\n```\n");
        assert!(!text.contains('\x1b'), "{text:?}");
    }
}
