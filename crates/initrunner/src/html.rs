//! HTML as Markdown or as plain text. Fetches nothing.

#[cfg(test)]
mod tests;

use std::rc::Rc;

use htmd::HtmlToMarkdown;
use htmd::options::{BulletListMarker, HrStyle, Options};
use html5ever::tendril::TendrilSink as _;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{Node, NodeData, RcDom};
use reqwest::Url;

/// The parser's time is quadratic in the depth of a page, and the converter is recursive.
const MAX_DEPTH: usize = 150;
/// Bytes between two checks of the depth.
const CHUNK: usize = 256;
const CUT: &str = "\n\n[the rest of the page is nested too deeply]";

const HIDDEN: [&str; 12] = [
    "script", "style", "noscript", "template", "svg", "head", "iframe", "object", "canvas",
    "select", "datalist", "dialog",
];

pub(crate) fn looks_like(text: &str) -> bool {
    let beginning: String = text.trim_start().chars().take(200).collect();
    let beginning = beginning.to_lowercase();
    beginning.starts_with("<!doctype html") || beginning.contains("<html")
}

/// The text of a piece of HTML, in one line.
pub(crate) fn plain(markup: &str) -> String {
    let mut text = String::new();
    each_node(&parse(markup).0, |node| {
        if let NodeData::Text { contents } = &node.data {
            text.push_str(&contents.borrow());
        }
    });
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A page as Markdown. Links are resolved against the page's own address, if it has one.
pub fn markdown(page: &str, base: Option<&Url>) -> String {
    let (tree, cut) = parse(page);
    each_node(&tree, |node| {
        if let NodeData::Element { attrs, .. } = &node.data {
            attrs.borrow_mut().retain_mut(|attribute| {
                if !["href", "src"].contains(&&*attribute.name.local) {
                    return true;
                }
                let url = absolute(&attribute.value, base);
                url.is_some_and(|url| {
                    attribute.value = url.as_str().into();
                    true
                })
            });
        }
    });
    let options = Options {
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        hr_style: HrStyle::Dashes,
        ..Options::default()
    };
    let converter = HtmlToMarkdown::builder().options(options).skip_tags(HIDDEN.to_vec()).build();
    converter.tree_to_markdown(&tree).replace('\u{a0}', " ") + cut
}

fn absolute(target: &str, base: Option<&Url>) -> Option<Url> {
    let target = Some(target.trim()).filter(|it| !it.is_empty() && !it.starts_with('#'))?;
    let url = Url::options().base_url(base).parse(target).ok()?;
    ["http", "https", "mailto"].contains(&url.scheme()).then_some(url)
}

/// Parses a page up to the place where it is nested too deeply, and says so for its reader.
fn parse(page: &str) -> (Rc<Node>, &'static str) {
    let mut parser = parse_document(RcDom::default(), ParseOpts::default());
    let mut rest = page;
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(rest.floor_char_boundary(CHUNK));
        parser.process(chunk.into());
        rest = after;
        let mut last = Some(Rc::clone(&parser.tokenizer.sink.sink.document));
        for _ in 0..MAX_DEPTH {
            last = last.and_then(|node| node.children.borrow().last().cloned());
        }
        if last.is_some() {
            return (parser.finish().document, CUT);
        }
    }
    (parser.finish().document, "")
}

fn each_node(root: &Rc<Node>, mut visit: impl FnMut(&Node)) {
    let mut pending = vec![Rc::clone(root)];
    while let Some(node) = pending.pop() {
        visit(&node);
        pending.extend(node.children.borrow().iter().rev().map(Rc::clone));
    }
}
