//! Whole blocks of Markdown as rows.

use std::ops::Range;

use pulldown_cmark::{
    CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd, TextMergeStream,
};
use ratatui_core::style::Style;

use super::CodeRows;
use super::table::{self, Table};
use crate::link::Link;
use crate::text::{Leads, Piece, Row, columns, narrow, prose, wrap};
use crate::theme::{Role, Theme};

pub(super) fn render(markdown: &str, width: usize, theme: &Theme) -> Vec<Row> {
    if markdown.trim().is_empty() {
        return Vec::new();
    }
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES;
    let mut page = Page::new(width, theme);
    let parser = Parser::new_ext(markdown, options);
    let definitions = parser.reference_definitions().iter().map(|(_, it)| it.span.clone());
    let mut definitions: Vec<Range<usize>> = definitions.collect();
    definitions.sort_by_key(|span| span.start);
    for event in TextMergeStream::new(parser) {
        page.take(event);
    }
    page.flush();
    // Where a link is used that these define may be far away: they are text of their own.
    for (number, span) in definitions.into_iter().enumerate() {
        if number == 0 {
            page.block();
        }
        page.text(markdown[span].trim());
        page.flush();
    }
    while page.rows.last().is_some_and(|row| *row == Row::gap()) {
        page.rows.pop();
    }
    let Page { mut rows, links, .. } = page;
    for row in rows.iter_mut().filter(|_| !links.is_empty()) {
        let spans = &row.line.spans;
        let is_here =
            |link: &&Link| spans.iter().any(|span| span.style.underline_color == Some(link.number));
        row.links = links.iter().filter(is_here).cloned().collect();
    }
    rows
}

/// The row above a block of code that names its language, behind `lead`; none where it has none.
pub(super) fn code_head(language: &str, lead: &[Piece], theme: &Theme) -> Option<Row> {
    let word = (theme.style(Role::Soft), language.split_whitespace().next()?.to_owned());
    Some(Row::decoration(&[lead, &[word]].concat()))
}

/// Something that others stand in, and what it draws at their left.
enum Container {
    Quote,
    Item {
        /// Until it is drawn.
        marker: Option<String>,
        indent: usize,
    },
}

struct Page<'a> {
    theme: &'a Theme,
    width: usize,
    rows: Vec<Row>,
    line: Vec<Piece>,
    styles: Vec<Style>,
    containers: Vec<Container>,
    lists: Vec<Option<u64>>,
    code: Option<(String, String)>,
    link: Option<(String, usize)>,
    links: Vec<Link>,
    table: Option<Table>,
    heading: Option<HeadingLevel>,
}

impl<'a> Page<'a> {
    fn new(width: usize, theme: &'a Theme) -> Self {
        Self {
            theme,
            width,
            rows: Vec::new(),
            line: Vec::new(),
            styles: vec![theme.style(Role::Text)],
            containers: Vec::new(),
            lists: Vec::new(),
            code: None,
            link: None,
            links: Vec::new(),
            table: None,
            heading: None,
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
            Event::Code(text) => {
                let style = self.theme.style(Role::Code);
                let underline_color = self.styles.last().and_then(|it| it.underline_color);
                self.styled(Style { underline_color, ..style }, &text);
            }
            Event::SoftBreak => self.text(" "),
            Event::HardBreak => self.flush(),
            Event::Rule => {
                self.block();
                let rule = "─".repeat(self.width.min(60));
                self.rows.push(Row::decoration(&[(self.theme.style(Role::Border), rule)]));
            }
            Event::TaskListMarker(is_done) => self.text(if is_done { "☑ " } else { "☐ " }),
            Event::FootnoteReference(name) => self.text(&format!("[^{name}]")),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.block(),
            Tag::Heading { level, .. } => {
                self.block();
                self.heading = Some(level);
                self.push_style(Role::Heading);
            }
            Tag::Strong => self.push_style(Role::Strong),
            Tag::Emphasis => self.push_style(Role::Emphasis),
            Tag::Strikethrough => self.push_style(Role::Soft),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.push_style(Role::Link);
                if let Some(style) = self.styles.pop() {
                    let marked = self.marked(style, &dest_url);
                    self.styles.push(marked);
                }
                self.link = Some((dest_url.into_string(), self.line.len()));
            }
            Tag::List(first) => {
                self.flush();
                if self.lists.is_empty() {
                    self.block();
                }
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::FootnoteDefinition(name) => {
                self.block();
                let marker = prose(&format!("[^{name}]: "));
                let indent = columns(&marker);
                self.containers.push(Container::Item { marker: Some(marker), indent });
            }
            Tag::BlockQuote(_) => {
                self.block();
                self.containers.push(Container::Quote);
            }
            Tag::CodeBlock(kind) => {
                self.block();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => prose(&language),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::Table(alignments) => {
                self.block();
                self.table = Some(Table::new(alignments));
            }
            Tag::TableRow | Tag::TableHead => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.flush();
                self.heading = None;
                self.styles.pop();
            }
            TagEnd::Strong | TagEnd::Emphasis | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                self.end_link();
            }
            TagEnd::Item | TagEnd::FootnoteDefinition => {
                self.flush();
                if let Some(Container::Item { marker: Some(_), .. }) = self.containers.last() {
                    self.line.push((Style::new(), String::new()));
                    self.flush();
                }
                self.containers.pop();
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.containers.pop();
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.line);
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Table => self.end_table(),
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            _ => {}
        }
    }

    fn push_style(&mut self, role: Role) {
        let base = self.styles.last().copied().unwrap_or_default();
        self.styles.push(base.patch(self.theme.style(role)));
    }

    fn text(&mut self, text: &str) {
        if let Some((_, code)) = &mut self.code {
            code.push_str(text);
        } else {
            let style = self.styles.last().copied().unwrap_or_default();
            let mut rest = text;
            while let Some((at, length)) = address(rest).filter(|_| self.link.is_none()) {
                self.styled(style, &rest[..at]);
                let words = &rest[at..at + length];
                let link = self.marked(style.patch(self.theme.style(Role::Link)), words);
                self.styled(link, words);
                rest = &rest[at + length..];
            }
            self.styled(style, rest);
        }
    }

    /// The style of words that lead somewhere.
    fn marked(&mut self, style: Style, target: &str) -> Style {
        let Some(link) = Link::to(target) else { return style };
        let style = link.mark(style);
        if !self.links.contains(&link) {
            self.links.push(link);
        }
        style
    }

    /// Adds words. They are made safe here again: what was harmless as it came may have stood for
    /// something else.
    fn styled(&mut self, style: Style, text: &str) {
        self.line.push((style, prose(text)));
    }

    /// Names where a link leads, unless its words do.
    fn end_link(&mut self) {
        let Some((target, from)) = self.link.take() else { return };
        let words: String = self.line.iter().skip(from).map(|(_, text)| text.as_str()).collect();
        let is_said = words == target || target.strip_prefix("mailto:") == Some(&words);
        if !is_said && !target.is_empty() {
            let soft = self.theme.style(Role::Soft);
            let marked = self.marked(soft, &target);
            self.styled(soft, " (");
            self.styled(marked, &target);
            self.styled(soft, ")");
        }
    }

    fn item(&mut self) {
        self.flush();
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number = number.saturating_add(1);
                format!("{}. ", *number - 1)
            }
            Some(None) | None => "• ".to_owned(),
        };
        let indent = columns(&marker);
        self.containers.push(Container::Item { marker: Some(marker), indent });
    }

    /// Begins a block: after a gap, unless it is the first thing in what it stands in.
    fn block(&mut self) {
        self.flush();
        let is_first = match self.containers.last() {
            Some(Container::Item { marker, .. }) => marker.is_some(),
            Some(Container::Quote) | None => self.rows.is_empty(),
        };
        let is_tight = self.rows.last().is_none_or(|row| row.line.spans.is_empty());
        if !is_first && !is_tight {
            self.rows.push(Row::gap());
        }
    }

    /// The pieces at the left of the first row and of the others.
    fn leads(&mut self) -> Leads {
        let mut leads = Leads::default();
        let border = self.theme.style(Role::Border);
        for container in &mut self.containers {
            let (first, rest) = match container {
                Container::Quote => ("│ ".to_owned(), "│ ".to_owned()),
                Container::Item { marker, indent } => {
                    let blank = " ".repeat(*indent);
                    (marker.take().unwrap_or_else(|| blank.clone()), blank)
                }
            };
            leads.first.push((border, first));
            leads.rest.push((border, rest));
        }
        // The bar grows thinner from level to level.
        let bar = match self.heading {
            Some(HeadingLevel::H1) => "█ ",
            Some(HeadingLevel::H2) => "▌ ",
            Some(HeadingLevel::H3) => "▎ ",
            Some(HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6) | None => "",
        };
        if !bar.is_empty() {
            let style = self.theme.style(Role::Heading);
            leads.first.push((style, bar.to_owned()));
            leads.rest.push((style, bar.to_owned()));
        }
        leads
    }

    fn flush(&mut self) {
        if self.line.is_empty() || self.table.is_some() {
            return;
        }
        let line = std::mem::take(&mut self.line);
        let number = self.number();
        let leads = self.leads();
        let first = self.rows.len();
        self.rows.extend(wrap(&line, self.width, &leads));
        // The number of an item is text, and no decoration.
        if let Some(row) = self.rows.get_mut(first) {
            row.lead = row.lead.saturating_sub(number);
        }
    }

    /// Columns of the number that stands before the next row.
    fn number(&self) -> u16 {
        match self.containers.last() {
            Some(Container::Item { marker: Some(marker), .. })
                if self.heading.is_none() && !marker.starts_with('•') =>
            {
                narrow(columns(marker))
            }
            Some(_) | None => 0,
        }
    }

    fn end_code(&mut self) {
        let Some((language, code)) = self.code.take() else { return };
        let leads = self.leads();
        self.rows.extend(code_head(&language, &leads.first, self.theme));
        let mut lines = CodeRows::new(&language, leads.rest);
        for line in code.lines() {
            self.rows.extend(lines.rows(line, self.width, self.theme));
        }
    }

    fn end_table(&mut self) {
        let Some(table) = self.table.take() else { return };
        let leads = self.leads();
        self.rows.extend(table::rows(&table, self.width, self.theme, &leads));
    }
}

/// Where an address of the web stands in a text, and how long it is, without the marks of the
/// sentence around it.
fn address(text: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    while let Some(found) = text[from..].find("http").map(|at| at + from) {
        let scheme = ["https://", "http://"].into_iter().find(|it| text[found..].starts_with(it));
        let before = text[..found].chars().next_back();
        let Some(scheme) = scheme.filter(|_| !before.is_some_and(char::is_alphanumeric)) else {
            from = found + "http".len();
            continue;
        };
        let ends = |c: char| c.is_whitespace() || c.is_control() || "<>\"`".contains(c);
        let rest = &text[found..];
        let mut url = &rest[..rest.find(ends).unwrap_or(rest.len())];
        loop {
            let less = url.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*']);
            let is_open = |open: char, close: char| {
                less.ends_with(close) && less.matches(open).count() < less.matches(close).count()
            };
            let has_extra = is_open('(', ')') || is_open('[', ']');
            let less = if has_extra { &less[..less.len() - 1] } else { less };
            if less == url {
                break;
            }
            url = less;
        }
        if url.len() > scheme.len() {
            return Some((found, url.len()));
        }
        from = found + scheme.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(markdown: &str, width: usize) -> Vec<String> {
        let theme = Theme::built_in().swap_remove(3);
        render(markdown, width, &theme).iter().map(|row| row.line.to_string()).collect()
    }

    #[test]
    fn lists_nest_and_wrap_under_their_text() {
        let text = "- a word that is long enough\n  1. inner item\n  2. other\n- last\n";
        assert_eq!(
            shown(text, 18),
            ["• a word that is", "  long enough", "  1. inner item", "  2. other", "• last"]
        );
    }

    #[test]
    fn quotes_and_code_in_lists_are_indented() {
        let text = "> said\n> - one\n\n- x\n\n  ```rs\n  let y;\n  ```\n";
        assert_eq!(shown(text, 30), ["│ said", "", "│ • one", "", "• x", "", "  rs", "  │ let y;"]);
    }

    #[test]
    fn hyperlinks_show_their_target_once() {
        assert_eq!(shown("[a](http://b) <http://c>", 60), ["a (http://b) http://c"]);
    }

    #[test]
    fn bare_addresses_are_hyperlinks_without_punctuation() {
        let found = |text: &'static str| address(text).map(|(at, length)| &text[at..at + length]);
        for (text, wanted) in [
            ("see https://a.b/c_d?e=f#g.", Some("https://a.b/c_d?e=f#g")),
            ("(http://a.b/x_(y))!", Some("http://a.b/x_(y)")),
            ("nohttp://a.b", None),
            ("https:// and http", None),
            ("http http://é.de/ü, so", Some("http://é.de/ü")),
        ] {
            assert_eq!(found(text), wanted, "{text}");
        }
        let theme = Theme::built_in().swap_remove(0);
        let rows =
            render("see https://a.b/c_d_e, `https://code` and [https://t](https://t)", 80, &theme);
        let links: Vec<&str> = rows[0]
            .line
            .spans
            .iter()
            .filter(|span| span.style.fg == theme.style(Role::Link).fg)
            .map(|span| span.content.as_ref())
            .collect();
        assert_eq!(links.concat(), "https://a.b/c_d_ehttps://t");
    }

    #[test]
    fn escaped_control_characters_stay_visible() {
        let theme = Theme::built_in().swap_remove(0);
        let evil = "&#27;[31m&#x1b;]0;owned&#7;&#x202e;&#x9b;";
        let text = format!(
            "# {evil}\n\n{evil} *{evil}* [a {evil}](http://x/{evil} \"{evil}\") <http://y/{evil}>\n\n\
             | {evil} |\n|---|\n| {evil} |\n\n``` {evil}\ncode\n```\n\n> {evil}\n\n[^{evil}]: {evil}\n\n\
             [b{evil}]: http://z/{evil}\n"
        );
        for row in render(&text, 200, &theme) {
            let shown = row.line.to_string();
            assert!(!shown.contains(|c: char| c.is_control() || c == '\u{202e}'), "{shown:?}");
            assert!(
                row.links.iter().all(|link| link.address.bytes().all(|b| b.is_ascii_graphic()))
            );
        }
        assert!(render(evil, 80, &theme)[0].line.to_string().contains("\\u{1b}"));
    }

    #[test]
    fn reference_definitions_are_shown_as_text() {
        let text =
            "See [the docs][1].\n\n[1]: http://ref.example/path\n[b]: http://other 'Title'\n";
        assert_eq!(
            shown(text, 60),
            [
                "See the docs (http://ref.example/path).",
                "",
                "[1]: http://ref.example/path",
                "[b]: http://other 'Title'"
            ]
        );
        assert_eq!(shown("[1]: https://only.example/", 60), ["[1]: https://only.example/"]);
        assert_eq!(
            shown("A note[^a].\n\n[^a]: Important.", 60),
            ["A note[^a].", "", "[^a]: Important."]
        );
        assert_eq!(shown("[^a]: Important.", 60), ["[^a]: Important."]);
    }

    #[test]
    fn hyperlinks_add_no_width_to_rows() {
        let theme = Theme::built_in().swap_remove(0);
        let text = "[one `two`](http://a) and\n\n- https://b.c/d_e\n- [x](ftp://no)\n\n\
                    | t |\n|---|\n| [in](mailto:a@b) |\n";
        let rows = render(text, 12, &theme);
        let addresses: Vec<Vec<&str>> =
            rows.iter().map(|row| row.links.iter().map(|link| &*link.address).collect()).collect();
        let lines: Vec<String> = rows.iter().map(|row| row.line.to_string()).collect();
        assert!(rows.iter().all(|row| row.line.width() <= 12), "{lines:?}");
        assert_eq!(lines[..2], ["one two", "(http://a)"]);
        assert_eq!(addresses[..2], [["http://a"], ["http://a"]]);
        let all = addresses.concat();
        assert!(all.contains(&"https://b.c/d_e") && all.contains(&"mailto:a@b"), "{all:?}");
        assert!(!all.iter().any(|it| it.starts_with("ftp")), "{all:?}");
    }

    #[test]
    fn tasks_and_empty_items_are_shown() {
        assert_eq!(shown("- [x] done\n- [ ] open\n-\n", 30), ["• ☑ done", "• ☐ open", "• "]);
    }
}
