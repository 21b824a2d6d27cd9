//! HTML as Markdown or plain text, in one pass, however broken it is. Fetches nothing.

mod tokens;
mod writer;

#[cfg(test)]
mod tests;

use reqwest::Url;

pub(crate) use tokens::{Token, Tokens};
use writer::Writer;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Markdown,
    Text,
}

const HIDDEN: [&str; 12] = [
    "script", "style", "noscript", "template", "svg", "head", "iframe", "object", "canvas",
    "select", "datalist", "dialog",
];

#[rustfmt::skip]
const PARAGRAPHS: [&str; 18] = [
    "p", "ul", "ol", "dl", "pre", "table", "blockquote", "figure", "h1", "h2", "h3", "h4", "h5",
    "h6", "article", "section", "form", "fieldset",
];

#[rustfmt::skip]
const LINES: [&str; 17] = [
    "div", "li", "tr", "dt", "dd", "header", "footer", "main", "nav", "aside", "address", "caption",
    "figcaption", "summary", "details", "option", "body",
];

/// How deep lists and quotations are shown one within the other.
const DEEPEST: usize = 20;

pub(crate) fn looks_like(text: &str) -> bool {
    let beginning: String = text.trim_start().chars().take(200).collect();
    let beginning = beginning.to_lowercase();
    beginning.starts_with("<!doctype html") || beginning.contains("<html")
}

/// The text of a piece of HTML, in one line.
pub(crate) fn plain(markup: &str) -> String {
    if !markup.contains(['<', '&', '\n']) {
        return markup.to_owned();
    }
    let Ok(base) = Url::parse("https://example.com") else { return markup.to_owned() };
    let text = render(markup, &base, Form::Text);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn render(page: &str, base: &Url, form: Form) -> String {
    let mut renderer = Renderer {
        form,
        base: base.clone(),
        writer: Writer::default(),
        hidden: Vec::new(),
        lists: Vec::new(),
        link: None,
        quotes: 0,
        marks: Vec::new(),
        preformatted: 0,
        cells: 0,
    };
    for token in Tokens::new(page) {
        renderer.take(token);
    }
    renderer.writer.finish()
}

struct Renderer {
    form: Form,
    base: Url,
    writer: Writer,
    hidden: Vec<String>,
    /// For each list around us the number of its next item; none where it has bullets.
    lists: Vec<Option<u64>>,
    /// Where the words of the link around us begin, and where it leads. Links hold no links.
    link: Option<(usize, Option<String>)>,
    quotes: usize,
    marks: Vec<&'static str>,
    preformatted: usize,
    cells: usize,
}

impl Renderer {
    fn take(&mut self, token: Token) {
        match token {
            Token::Text(text) if self.hidden.is_empty() => {
                if self.preformatted > 0 {
                    self.writer.verbatim(&text);
                } else {
                    self.writer.words(&text);
                }
            }
            Token::Text(_) => {}
            Token::Open { name, attributes, is_closed } => {
                if HIDDEN.contains(&name.as_str()) {
                    if !is_closed {
                        self.hidden.push(name);
                    }
                } else if self.hidden.is_empty() {
                    let attribute = |key: &str| {
                        attributes
                            .iter()
                            .find(|(name, _)| name == key)
                            .map(|(_, value)| value.as_str())
                    };
                    self.open(&name, &attribute);
                } else if name == "body" {
                    // A head that nobody closed ends here.
                    self.hidden.retain(|hidden| hidden != "head");
                }
            }
            Token::Close(name) => {
                if let Some(at) = self.hidden.iter().rposition(|hidden| *hidden == name) {
                    self.hidden.truncate(at);
                } else if self.hidden.is_empty() {
                    self.close(&name);
                }
            }
        }
    }

    fn open<'a>(&mut self, name: &str, attribute: &dyn Fn(&str) -> Option<&'a str>) {
        self.space(name);
        let is_markdown = self.form == Form::Markdown;
        match name {
            "br" => self.writer.line(),
            "hr" => {
                self.writer.paragraph();
                if is_markdown {
                    self.writer.mark("---");
                    self.writer.paragraph();
                }
            }
            "ul" | "menu" => self.lists.push(None),
            "ol" => self
                .lists
                .push(Some(attribute("start").and_then(|it| it.parse().ok()).unwrap_or(1))),
            "li" => self.item(),
            "td" | "th" => {
                if self.cells > 0 {
                    self.writer.mark(" | ");
                }
                self.cells += 1;
            }
            "tr" => self.cells = 0,
            "pre" => {
                self.preformatted += 1;
                if is_markdown {
                    self.writer.mark("```");
                    self.writer.line();
                }
            }
            "blockquote" if is_markdown => {
                self.quotes += 1;
                if self.quotes <= DEEPEST {
                    self.writer.indent("> ");
                }
            }
            "a" => {
                let target =
                    attribute("href").filter(|_| is_markdown).and_then(|it| self.whole(it));
                self.leave_link();
                self.link = Some((self.writer.length(), target));
            }
            "img" => {
                if let Some(words) = attribute("alt").map(str::trim).filter(|it| !it.is_empty()) {
                    match attribute("src").filter(|_| is_markdown).and_then(|it| self.whole(it)) {
                        Some(source) => self.writer.words(&format!(" ![{words}]({source}) ")),
                        None => self.writer.words(words),
                    }
                }
            }
            _ if is_markdown => self.emphasis(name, Edge::Begin),
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        let is_markdown = self.form == Form::Markdown;
        match name {
            "ul" | "ol" | "menu" => drop(self.lists.pop()),
            "pre" if self.preformatted > 0 => {
                self.preformatted -= 1;
                if is_markdown {
                    self.writer.line();
                    self.writer.mark("```");
                }
            }
            "blockquote" if is_markdown && self.quotes > 0 => {
                self.writer.paragraph();
                if self.quotes <= DEEPEST {
                    self.writer.outdent("> ");
                }
                self.quotes -= 1;
            }
            "a" => self.leave_link(),
            _ if is_markdown => self.emphasis(name, Edge::End),
            _ => {}
        }
        self.space(name);
    }

    fn space(&mut self, name: &str) {
        if name == "li" || (["ul", "ol"].contains(&name) && !self.lists.is_empty()) {
            self.writer.line();
        } else if PARAGRAPHS.contains(&name) {
            self.writer.paragraph();
        } else if LINES.contains(&name) {
            self.writer.line();
        }
    }

    fn item(&mut self) {
        let depth = self.lists.len().saturating_sub(1);
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            Some(None) | None => String::from("- "),
        };
        self.writer.mark(&format!("{}{mark}", "  ".repeat(depth.min(DEEPEST))));
    }

    fn leave_link(&mut self) {
        let Some((begin, target)) = self.link.take() else { return };
        if let Some(target) = target {
            self.writer.wrap(begin, "[", &format!("]({target})"));
        }
    }

    fn emphasis(&mut self, name: &str, edge: Edge) {
        let heading = match name {
            "h1" => "# ",
            "h2" => "## ",
            "h3" => "### ",
            "h4" => "#### ",
            "h5" => "##### ",
            "h6" => "###### ",
            _ => "",
        };
        let mark = match name {
            "strong" | "b" => "**",
            "em" | "i" => "*",
            "code" | "kbd" | "samp" if self.preformatted == 0 => "`",
            _ => "",
        };
        match edge {
            Edge::Begin if !heading.is_empty() => self.writer.mark(heading),
            Edge::Begin if !mark.is_empty() && self.marks.len() < DEEPEST => {
                self.marks.push(mark);
                self.writer.mark(mark);
            }
            Edge::End if !mark.is_empty() => {
                // What nobody opened needs no end.
                if let Some(at) = self.marks.iter().rposition(|open| *open == mark) {
                    self.marks.remove(at);
                    self.writer.end_mark(mark);
                }
            }
            Edge::Begin | Edge::End => {}
        }
    }

    fn whole(&self, target: &str) -> Option<String> {
        let target = target.trim();
        if target.is_empty() || target.starts_with('#') {
            return None;
        }
        let url = self.base.join(target).ok()?;
        ["http", "https", "mailto"].contains(&url.scheme()).then(|| url.to_string())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    Begin,
    End,
}
