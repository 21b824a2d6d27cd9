//! The output of `config show` and `config path`, without secrets.

use std::collections::BTreeSet;

use anstyle::Style;
use serde_json::{Map, Value, json};

use crate::emit;
use crate::load::{LayerFile, Loaded};
use crate::origin::{Content, Layer, Node, Origin, shown};
use crate::redact::redact;

/// The usual column of comments.
const COMMENT_COLUMN: usize = 60;

/// How the configuration is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As YAML, which is a configuration file again.
    Yaml,
    /// As JSON.
    Json,
}

/// The origins in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// Values alone.
    Hidden,
    /// Every value with its layer, file and line; comments in YAML are aligned up to this column.
    Shown {
        /// The column; a usual one if none.
        width: Option<usize>,
        /// The style of the comments.
        style: Style,
    },
}

/// A section that does not exist.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("Unknown section: {}", contract::text::visible(name))]
pub struct UnknownSection {
    /// The name that was given.
    pub name: String,
    /// The names there are.
    pub known: Vec<String>,
}

/// The text of `config show`, for all sections or one.
pub fn show(
    loaded: &Loaded,
    form: Form,
    provenance: Provenance,
    section: Option<&str>,
) -> Result<String, UnknownSection> {
    let mut tree = redact(&loaded.tree);
    if let (Some(name), Content::Map(entries)) = (section, &mut tree.content) {
        let known = entries.iter().map(|(name, _)| name.clone()).collect();
        entries.retain(|(key, _)| key == name);
        if entries.is_empty() {
            return Err(UnknownSection { name: name.to_owned(), known });
        }
    }
    Ok(match (form, provenance) {
        (Form::Yaml, Provenance::Hidden) => {
            let lines = emit::lines(&tree).into_iter();
            lines.map(|line| line.text + "\n").collect()
        }
        (Form::Yaml, Provenance::Shown { width, style }) => {
            legend(loaded, &tree, style) + &commented(&tree, width.unwrap_or(COMMENT_COLUMN), style)
        }
        (Form::Json, Provenance::Hidden) => format!("{:#}\n", tree.to_value()),
        (Form::Json, Provenance::Shown { .. }) => {
            let mut origins = Map::new();
            collect(&tree, "", &mut origins);
            let both = json!({"config": tree.to_value(), "provenance": origins});
            format!("{both:#}\n")
        }
    })
}

/// The text of `config path`: one row for each layer that can be a file.
pub fn paths(files: &[LayerFile]) -> String {
    let row = |file: &LayerFile| {
        let mark = if file.is_found { '✓' } else { '✗' };
        let path = match (&file.path, file.layer) {
            (Some(path), _) => shown(path),
            (None, Layer::Builtin) => "(in the program)".into(),
            (None, Layer::Site) => "(BRYNHILD_SITE_CONFIG is not set)".into(),
            (None, Layer::Deployment) => "(BRYNHILD_DEPLOYMENT_CONFIG is not set)".into(),
            (None, _) => "(not read)".into(),
        };
        format!("{mark} {}: {path}\n", file.layer.title())
    };
    files.iter().map(row).collect()
}

/// The layers that the shown values come from, strongest first.
fn legend(loaded: &Loaded, tree: &Node, style: Style) -> String {
    let mut layers = BTreeSet::new();
    gather(tree, &mut layers);
    let rows = layers.iter().rev().map(|layer| {
        let label = format!("[{}]", layer.label());
        let file = loaded.files.iter().find(|file| file.layer == *layer);
        let place = match (layer, file.and_then(|file| file.path.as_deref())) {
            (_, Some(path)) => shown(path),
            (Layer::Builtin, None) => "in the program".into(),
            (Layer::Flag, None) => "command line".into(),
            (_, None) => "environment variables".into(),
        };
        format!("{style}# {label:<12} {place}{style:#}\n")
    });
    let rows: String = rows.collect();
    format!("{style}# Where the values come from, strongest first:{style:#}\n{rows}\n")
}

/// Collects the layers that the values in a tree come from.
fn gather(node: &Node, layers: &mut BTreeSet<Layer>) {
    if node.children().next().is_none() {
        layers.insert(node.place.layer);
    }
    node.children().for_each(|child| gather(child, layers));
}

fn commented(tree: &Node, width: usize, style: Style) -> String {
    let lines = emit::lines(tree);
    let length = |text: &str| text.chars().count();
    let column = lines
        .iter()
        .map(|line| length(&line.text))
        .filter(|length| *length <= width)
        .max()
        .unwrap_or(0);
    let comment = |line: &emit::Line<'_>| {
        let gap = " ".repeat(column.saturating_sub(length(&line.text)) + 2);
        format!("{}{gap}{style}# {}{style:#}\n", line.text, mark(line.node))
    };
    lines.iter().map(comment).collect()
}

/// The mark of a value's origin; `[merged]` for one whose parts come from several layers.
fn mark(node: &Node) -> String {
    let mut layers = BTreeSet::new();
    gather(node, &mut layers);
    if layers.len() > 1 {
        return "[merged]".into();
    }
    let origin = &node.place;
    let layer = layers.first().copied().unwrap_or(origin.layer);
    let label = layer.label();
    match (origin.line, &origin.variable) {
        // A map that a lower layer began, and whose parts a higher one has replaced.
        _ if layer != origin.layer => format!("[{label}]"),
        (Some(line), Some(variable)) => format!("[{label}:{line}] {variable}"),
        (Some(line), None) => format!("[{label}:{line}]"),
        (None, Some(variable)) => format!("[{label}] {variable}"),
        (None, None) => format!("[{label}]"),
    }
}

fn collect(node: &Node, path: &str, origins: &mut Map<String, Value>) {
    if node.children().next().is_none() {
        origins.insert(path.to_owned(), described(&node.place));
    }
    let items = node.items().iter().enumerate().map(|(index, node)| (index.to_string(), node));
    let entries = node.entries().iter().map(|(name, node)| (name.clone(), node));
    for (name, child) in items.chain(entries) {
        let path = if path.is_empty() { name } else { format!("{path}.{name}") };
        collect(child, &path, origins);
    }
}

fn described(origin: &Origin) -> Value {
    json!({
        "layer": origin.layer.label(),
        "file": origin.file.as_deref().map(shown),
        "line": origin.line,
        "variable": origin.variable.as_deref(),
    })
}
