//! Markdown as a tree of few tags, from which the page makes elements. Raw HTML stays text.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use serde_json::{Map, Value, json};

/// Nested elements at most; deeper ones are flattened.
const DEPTH: usize = 32;

struct Element {
    tag: &'static str,
    attribute: Option<(&'static str, String)>,
    children: Vec<Value>,
}

impl Element {
    fn new(tag: &'static str) -> Self {
        Self { tag, attribute: None, children: Vec::new() }
    }

    fn into_node(self) -> Value {
        let mut node = Map::from_iter([("t".to_owned(), self.tag.into())]);
        if let Some((name, value)) = self.attribute {
            node.insert(name.to_owned(), value.into());
        }
        node.insert("c".to_owned(), self.children.into());
        node.into()
    }
}

/// The nodes of a text.
pub(crate) fn tree(text: &str) -> Vec<Value> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut stack = vec![Element::new("root")];
    // Ends of elements that have no node of their own.
    let mut skipped = 0_usize;
    let mut is_head = false;
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Start(tag) => {
                if matches!(tag, Tag::TableHead) {
                    is_head = true;
                }
                match element(&tag, is_head).filter(|_| stack.len() < DEPTH && skipped == 0) {
                    Some(element) => stack.push(element),
                    None => skipped += 1,
                }
            }
            Event::End(tag) => {
                if matches!(tag, TagEnd::TableHead) {
                    is_head = false;
                }
                if skipped > 0 {
                    skipped -= 1;
                } else if stack.len() > 1
                    && let Some(done) = stack.pop()
                {
                    add(&mut stack, done.into_node());
                }
            }
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                add_text(&mut stack, &text);
            }
            Event::Code(code) => add(&mut stack, json!({"t": "code", "c": [code.as_ref()]})),
            Event::SoftBreak => add_text(&mut stack, "\n"),
            Event::HardBreak => add(&mut stack, json!({"t": "br", "c": []})),
            Event::Rule => add(&mut stack, json!({"t": "hr", "c": []})),
            Event::TaskListMarker(_)
            | Event::FootnoteReference(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_) => {}
        }
    }
    while stack.len() > 1
        && let Some(done) = stack.pop()
    {
        add(&mut stack, done.into_node());
    }
    stack.pop().map(|root| root.children).unwrap_or_default()
}

fn add(stack: &mut [Element], node: Value) {
    if let Some(last) = stack.last_mut() {
        last.children.push(node);
    }
}

fn add_text(stack: &mut [Element], text: &str) {
    let Some(last) = stack.last_mut() else { return };
    if let Some(Value::String(before)) = last.children.last_mut() {
        before.push_str(text);
    } else {
        last.children.push(text.into());
    }
}

fn element(tag: &Tag<'_>, is_head: bool) -> Option<Element> {
    Some(match tag {
        Tag::Paragraph => Element::new("p"),
        Tag::Heading { level, .. } => Element::new(match level {
            HeadingLevel::H1 => "h1",
            HeadingLevel::H2 => "h2",
            HeadingLevel::H3 => "h3",
            HeadingLevel::H4 => "h4",
            HeadingLevel::H5 => "h5",
            HeadingLevel::H6 => "h6",
        }),
        Tag::BlockQuote(_) => Element::new("blockquote"),
        Tag::CodeBlock(kind) => {
            let language = match kind {
                pulldown_cmark::CodeBlockKind::Fenced(words) => {
                    words.split([' ', ',']).next().unwrap_or_default().to_owned()
                }
                pulldown_cmark::CodeBlockKind::Indented => String::new(),
            };
            let attribute = Some(("lang", language)).filter(|(_, it)| !it.is_empty());
            Element { attribute, ..Element::new("pre") }
        }
        Tag::List(Some(_)) => Element::new("ol"),
        Tag::List(None) => Element::new("ul"),
        Tag::Item => Element::new("li"),
        Tag::Table(_) => Element::new("table"),
        Tag::TableHead | Tag::TableRow => Element::new("tr"),
        Tag::TableCell => Element::new(if is_head { "th" } else { "td" }),
        Tag::Emphasis => Element::new("em"),
        Tag::Strong => Element::new("strong"),
        Tag::Strikethrough => Element::new("del"),
        Tag::Link { dest_url, .. } => {
            let attribute = is_safe(dest_url).then(|| ("href", dest_url.to_string()));
            Element { attribute, ..Element::new("a") }
        }
        // An image would be fetched; its description is text.
        _ => return None,
    })
}

/// Returns true for links that cannot run anything.
fn is_safe(url: &str) -> bool {
    let lower = url.to_ascii_lowercase();
    ["http://", "https://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme))
        && !url.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_a_tree_of_known_tags() {
        let tree = tree("# A *b*\n\n- `c`\n\n```rust x\nlet d;\n```\n\n|e|\n|-|\n|f|\n");
        assert_eq!(
            json!(tree),
            json!([
                {"t": "h1", "c": ["A ", {"t": "em", "c": ["b"]}]},
                {"t": "ul", "c": [{"t": "li", "c": [{"t": "code", "c": ["c"]}]}]},
                {"t": "pre", "lang": "rust", "c": ["let d;\n"]},
                {"t": "table", "c": [
                    {"t": "tr", "c": [{"t": "th", "c": ["e"]}]},
                    {"t": "tr", "c": [{"t": "td", "c": ["f"]}]},
                ]},
            ])
        );
    }

    #[test]
    fn html_is_text_and_unsafe_links_have_no_target() {
        let shown = json!(tree(
            "<img src=x onerror=alert(1)> [a](javascript:alert(1)) [b](data:text/html,x) \
             [c](https://example.org) ![d](http://x/y.png)"
        ));
        let text = shown.to_string();
        assert!(text.contains("<img src=x onerror=alert(1)>"), "{text}");
        assert_eq!(text.matches("href").count(), 1, "{text}");
        assert!(!text.contains("javascript") && !text.contains("y.png"), "{text}");
    }

    #[test]
    fn deep_nesting_is_flattened() {
        let depth = json!(tree(&">".repeat(10_000))).to_string().matches("blockquote").count();
        assert!(depth < DEPTH);
    }
}
