//! Checks one layer against the table of known keys and brings its values into their one form.

use contract::text::{closest, visible};
use serde_json::Value;

use crate::expansion::Expansion;
use crate::merge::merge;
use crate::origin::{Content, Joining, Node, Origin};
use crate::redact::REDACTED;
use crate::report::{Report, shown_path};
use crate::schema::{Kind, Named, Others, ROOT, Section, key_elsewhere, switch};

/// Checks a whole layer. Returns none for one that says nothing or is not a map.
pub(crate) fn check(
    mut layer: Node,
    expansion: Expansion<'_>,
    report: &mut Report,
) -> Option<Node> {
    if layer.is_null() {
        return None;
    }
    if !matches!(layer.content, Content::Map(_)) {
        let found = python_type(&layer);
        let blame = Origin { line: None, ..layer.place.clone() }.blame();
        report.problems.push(format!("{blame}config must be a YAML mapping (dict), got {found}"));
        return None;
    }
    let mut checker = Checker { expansion, report, path: Vec::new() };
    if let Content::Map(entries) = &mut layer.content {
        rename_key_variable(entries);
        checker.move_instances(entries);
        checker.section(entries, &ROOT);
    }
    layer.place.joining = Joining::Merge;
    Some(layer)
}

/// `OPENROUTER_API_KEY` is accepted in a file under its name in the environment.
fn rename_key_variable(entries: &mut [(String, Node)]) {
    let is_taken = entries.iter().any(|(name, _)| name == "openrouter_api_key");
    if let Some((name, _)) = entries.iter_mut().find(|(name, _)| name == "OPENROUTER_API_KEY")
        && !is_taken
    {
        *name = "openrouter_api_key".into();
    }
}

/// The word for a value's type that scripts look for.
fn python_type(node: &Node) -> &'static str {
    match &node.content {
        Content::List(_) => "list",
        Content::Map(_) => "dict",
        Content::Scalar(Value::Bool(_)) => "bool",
        Content::Scalar(Value::Number(number)) if number.is_f64() => "float",
        Content::Scalar(Value::Number(_)) => "int",
        Content::Scalar(_) => "str",
    }
}

/// Whether an entry stays in its layer.
#[derive(Clone, Copy, PartialEq)]
enum Verdict {
    Keep,
    Drop,
}

struct Checker<'a> {
    expansion: Expansion<'a>,
    report: &'a mut Report,
    path: Vec<String>,
}

impl Checker<'_> {
    /// Moves names that stand directly under `providers` to where they belong.
    fn move_instances(&mut self, entries: &mut [(String, Node)]) {
        let Some((_, providers)) = entries.iter_mut().find(|(name, _)| name == "providers") else {
            return;
        };
        let origin = providers.place.clone();
        let Content::Map(entries) = &mut providers.content else {
            return;
        };
        let mut moved = Vec::new();
        let mut rest = Vec::new();
        for (name, node) in std::mem::take(entries) {
            let is_instance = !matches!(name.as_str(), "default" | "instances");
            match &node.content {
                _ if !is_instance => rest.push((name, node)),
                Content::Map(_) => moved.push((name, node)),
                _ if node.place.joining == Joining::Delete => moved.push((name, node)),
                Content::Scalar(_) | Content::List(_) => {
                    self.path = vec!["providers".into(), name.clone()];
                    self.unknown(&node, &name, &["default", "instances"]);
                    self.path.clear();
                }
            }
        }
        if !moved.is_empty() {
            let moved = Node::new(Content::Map(moved), origin);
            let instances = rest.iter_mut().find(|(name, _)| name == "instances");
            match instances {
                Some((_, instances)) if instances.place.joining == Joining::Merge => {
                    let above = std::mem::replace(instances, moved);
                    merge(instances, above);
                }
                Some(_) => {}
                None => rest.push(("instances".into(), moved)),
            }
        }
        *entries = rest;
    }

    fn section(&mut self, entries: &mut Vec<(String, Node)>, section: &'static Section) {
        entries.retain_mut(|(name, node)| {
            self.path.push(name.clone());
            let verdict = self.entry(name, node, section);
            self.path.pop();
            verdict == Verdict::Keep
        });
    }

    fn entry(&mut self, name: &str, node: &mut Node, section: &'static Section) -> Verdict {
        if node.place.joining == Joining::Delete {
            return Verdict::Keep;
        }
        if let Some(key) = section.key(name) {
            return self.value(node, &key.kind);
        }
        match &section.others {
            Others::Unknown => {
                let known: Vec<&str> = section.names().collect();
                self.unknown(node, name, &known);
                Verdict::Keep
            }
            Others::Extra(_) => {
                self.near_miss(name, node, section.names());
                self.value(node, &Kind::Anything)
            }
            Others::Named(named) => self.named(name, node, named),
        }
    }

    fn named(&mut self, name: &str, node: &mut Node, named: &'static Named) -> Verdict {
        let spelled = named.spelling.iter().find(|known| known.eq_ignore_ascii_case(name));
        if let Some(known) = spelled.filter(|known| **known != name) {
            let path = shown_path(&self.path);
            let text =
                format!("`{path}` counts for `{known}` where it forbids, and for nothing else");
            self.report.warn(&node.place, text, Some(format!("write `{known}`")));
        }
        self.value(node, named.kind)
    }

    fn unknown(&mut self, node: &Node, name: &str, known: &[&str]) {
        let suggestion =
            closest(name, known.iter().copied()).map(str::to_owned).or_else(|| key_elsewhere(name));
        let text = format!("unknown key `{}`", shown_path(&self.path));
        let hint = suggestion.map(|meant| format!("did you mean `{meant}`?"));
        self.report.warn(&node.place, text, hint);
    }

    fn near_miss<'a>(&mut self, name: &str, node: &Node, known: impl Iterator<Item = &'a str>) {
        if let Some(meant) = closest(name, known) {
            self.did_you_mean(node, meant);
        }
    }

    fn did_you_mean(&mut self, node: &Node, meant: &str) {
        let text = format!("`{}` looks like a typing error", shown_path(&self.path));
        let hint = Some(format!("did you mean `{}`?", visible(meant)));
        self.report.warn(&node.place, text, hint);
    }

    fn value(&mut self, node: &mut Node, kind: &'static Kind) -> Verdict {
        if node.is_null() {
            return self.null(node, kind);
        }
        if node.text() == Some(REDACTED) {
            let text = format!("`{}` is a redacted secret and is ignored", shown_path(&self.path));
            self.report.warn(&node.place, text, None);
            return Verdict::Drop;
        }
        match (kind, &mut node.content) {
            (Kind::Anything, _) | (Kind::List, Content::List(_)) => return Verdict::Keep,
            (Kind::Prices, _) => {
                let Some(wrong) = below_nothing(node) else { return Verdict::Keep };
                self.report.wrong(wrong, &self.path, "prices from 0 up");
                return Verdict::Drop;
            }
            (Kind::Maybe(kind), _) => return self.value(node, kind),
            (Kind::Section(section) | Kind::ShortOr(_, section), Content::Map(entries)) => {
                self.section(entries, section);
                return Verdict::Keep;
            }
            (Kind::Each(named), Content::Map(entries)) => {
                entries.retain_mut(|(name, node)| {
                    self.path.push(name.clone());
                    let verdict = match node.place.joining {
                        Joining::Delete => Verdict::Keep,
                        Joining::Merge | Joining::Replace => self.named(name, node, named),
                    };
                    self.path.pop();
                    verdict == Verdict::Keep
                });
                return Verdict::Keep;
            }
            (Kind::ShortOr(short, _), _) => return self.value(node, short),
            _ => {}
        }
        if let Some(content) = self.plain(node, kind) {
            node.content = content;
            return Verdict::Keep;
        }
        self.report.wrong(node, &self.path, &expected(kind, node));
        Verdict::Drop
    }

    fn null(&mut self, node: &mut Node, kind: &'static Kind) -> Verdict {
        match kind {
            Kind::Maybe(_) | Kind::Anything | Kind::Prices => Verdict::Keep,
            // A section whose lines are all commented out says nothing.
            Kind::Section(_) => Verdict::Drop,
            Kind::Each(_) => {
                node.content = Content::Map(Vec::new());
                node.place.joining = Joining::Replace;
                Verdict::Keep
            }
            Kind::List | Kind::Texts | Kind::Paths => {
                node.content = Content::List(Vec::new());
                Verdict::Keep
            }
            Kind::Switch
            | Kind::Count { .. }
            | Kind::Text
            | Kind::Path
            | Kind::Choice(_)
            | Kind::ShortOr(..) => {
                self.report.wrong(node, &self.path, &expected(kind, node));
                Verdict::Drop
            }
        }
    }

    /// The one form of a value that is neither null nor a map; none where it does not fit.
    fn plain(&self, node: &Node, kind: &Kind) -> Option<Content> {
        let scalar = match &node.content {
            Content::Scalar(value) => value,
            Content::List(items) => return self.texts(node, items, kind),
            Content::Map(_) => return None,
        };
        let value = match kind {
            Kind::Switch => Value::Bool(switch(scalar)?),
            Kind::Count { least, most } => {
                let count = whole(scalar)?;
                Value::from((*least..=*most).contains(&count).then_some(count)?)
            }
            Kind::Text => Value::from(scalar.as_str()?),
            Kind::Path => Value::from(self.expansion.expand(scalar.as_str()?)),
            Kind::Choice(words) => {
                let text = scalar.as_str()?;
                Value::from(*words.iter().find(|word| word.eq_ignore_ascii_case(text))?)
            }
            Kind::Paths => return self.split_paths(scalar.as_str()?, node),
            Kind::Texts
            | Kind::List
            | Kind::Anything
            | Kind::Prices
            | Kind::Maybe(_)
            | Kind::Section(_)
            | Kind::Each(_)
            | Kind::ShortOr(..) => return None,
        };
        Some(Content::Scalar(value))
    }

    fn texts(&self, node: &Node, items: &[Node], kind: &Kind) -> Option<Content> {
        let are_texts = items.iter().all(|item| item.text().is_some());
        match kind {
            Kind::Texts if are_texts => Some(node.content.clone()),
            Kind::Paths if are_texts => {
                let expanded = items.iter().map(|item| {
                    let text = self.expansion.expand(item.text().unwrap_or_default());
                    Node::new(Content::Scalar(Value::from(text)), item.place.clone())
                });
                Some(Content::List(expanded.collect()))
            }
            _ => None,
        }
    }

    fn split_paths(&self, text: &str, node: &Node) -> Option<Content> {
        let texts: Vec<String> = if text.trim_start().starts_with('[') {
            serde_json::from_str(text).ok()?
        } else {
            text.split(':').filter(|part| !part.is_empty()).map(str::to_owned).collect()
        };
        let nodes = texts.iter().map(|text| {
            let text = Value::from(self.expansion.expand(text));
            Node::new(Content::Scalar(text), node.place.clone())
        });
        Some(Content::List(nodes.collect()))
    }
}

/// The first number within a value that is below nothing.
fn below_nothing(node: &Node) -> Option<&Node> {
    match &node.content {
        Content::Scalar(value) => value.as_f64().is_some_and(|it| it < 0.0).then_some(node),
        Content::List(items) => items.iter().find_map(below_nothing),
        Content::Map(entries) => entries.iter().find_map(|(_, node)| below_nothing(node)),
    }
}

fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// What a kind needs, in words.
fn expected(kind: &Kind, node: &Node) -> String {
    match kind {
        Kind::Switch => "true or false".into(),
        Kind::Count { least, most } if least == most => least.to_string(),
        Kind::Count { least, most: i64::MAX } => format!("a whole number from {least} up"),
        Kind::Count { least, most } => format!("a whole number from {least} to {most}"),
        Kind::Text => match &node.content {
            Content::Scalar(Value::Number(_) | Value::Bool(_)) => "text: put it in quotes".into(),
            _ => "text".into(),
        },
        Kind::Path => "a path".into(),
        Kind::Choice(words) => format!("one of {}", words.join(", ")),
        Kind::Texts => "a list of texts".into(),
        Kind::Paths => "a list of paths, or paths separated by colons".into(),
        Kind::List => "a list".into(),
        Kind::Anything => "any value".into(),
        Kind::Prices => "prices from 0 up".into(),
        Kind::Maybe(kind) => format!("{}, or null", expected(kind, node)),
        Kind::Section(_) | Kind::Each(_) => "a mapping".into(),
        Kind::ShortOr(kind, _) => format!("{}, or a mapping", expected(kind, node)),
    }
}
