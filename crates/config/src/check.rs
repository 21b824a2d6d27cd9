//! Checks one layer against the table of known keys and normalizes its values.

use contract::text::closest;
use serde_json::Value;

use crate::expansion::Expansion;
use crate::merge::merge;
use crate::origin::{Content, Joining, Node, Origin};
use crate::redact::REDACTED;
use crate::report::{Report, shown_path, shown_value};
use crate::schema::{NamedEntries, OtherKeys, ROOT, Section, ValueKind, key_elsewhere, switch};

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

struct Checker<'a> {
    expansion: Expansion<'a>,
    report: &'a mut Report,
    path: Vec<String>,
}

impl Checker<'_> {
    /// Moves the instances that stand directly under `providers` to `providers.instances`.
    fn move_instances(&mut self, entries: &mut [(String, Node)]) {
        let Some((_, providers)) = entries.iter_mut().find(|(name, _)| name == "providers") else {
            return;
        };
        let Content::Map(entries) = &mut providers.content else {
            return;
        };
        let (mut rest, others): (Vec<_>, Vec<_>) = std::mem::take(entries)
            .into_iter()
            .partition(|(name, _)| matches!(name.as_str(), "default" | "instances"));
        let (moved, wrong): (Vec<_>, Vec<_>) = others.into_iter().partition(|(_, node)| {
            matches!(node.content, Content::Map(_)) || node.place.joining == Joining::Delete
        });
        for (name, node) in wrong {
            self.path = vec!["providers".into(), name.clone()];
            self.unknown(&node, &name, ["default", "instances"].into_iter());
            self.path.clear();
        }
        let instances = rest.iter_mut().find(|(name, _)| name == "instances");
        let origin = Origin { joining: Joining::Merge, ..providers.place.clone() };
        let moved =
            (!moved.is_empty()).then(|| Node { content: Content::Map(moved), place: origin });
        match (moved, instances) {
            (Some(moved), Some((_, instances))) if instances.place.joining == Joining::Merge => {
                let above = std::mem::replace(instances, moved);
                merge(instances, above);
            }
            (Some(moved), None) => rest.push(("instances".into(), moved)),
            (_, _) => {}
        }
        *entries = rest;
    }

    /// Checks the entries of a mapping; takes those out for which `check` returns false.
    fn entries(
        &mut self,
        entries: &mut Vec<(String, Node)>,
        check: impl Fn(&mut Self, &str, &mut Node) -> bool,
    ) {
        entries.retain_mut(|(name, node)| {
            self.path.push(name.clone());
            let is_kept = node.place.joining == Joining::Delete || check(self, name, node);
            self.path.pop();
            is_kept
        });
    }

    fn section(&mut self, entries: &mut Vec<(String, Node)>, section: &'static Section) {
        self.entries(entries, |checker, name, node| {
            if let Some(key) = section.key(name) {
                return checker.value(node, &key.kind);
            }
            match &section.others {
                OtherKeys::Unknown => {
                    checker.unknown(node, name, section.names());
                    true
                }
                OtherKeys::Extra(_) => {
                    checker.near_miss(node, name, section.names());
                    checker.value(node, &ValueKind::Anything)
                }
                OtherKeys::Named(named) => checker.named(name, node, named),
            }
        });
    }

    fn named(&mut self, name: &str, node: &mut Node, named: &'static NamedEntries) -> bool {
        let spelled = named.spelling.iter().find(|known| known.eq_ignore_ascii_case(name));
        if let Some(known) = spelled.filter(|known| **known != name) {
            let path = shown_path(&self.path);
            let text =
                format!("`{path}` counts for `{known}` where it forbids, and for nothing else");
            self.report.warn(&node.place, text, Some(format!("write `{known}`")));
        }
        self.value(node, named.kind)
    }

    fn unknown(&mut self, node: &Node, name: &str, known: impl Iterator<Item = &'static str>) {
        let likely = closest(name, known).map(str::to_owned).or_else(|| key_elsewhere(name));
        let text = format!("unknown key `{}`", shown_path(&self.path));
        self.report.warn(&node.place, text, likely.map(|it| format!("did you mean `{it}`?")));
    }

    fn near_miss(&mut self, node: &Node, name: &str, known: impl Iterator<Item = &'static str>) {
        if let Some(likely) = closest(name, known) {
            let text = format!("`{}` looks like a typo", shown_path(&self.path));
            self.report.warn(&node.place, text, Some(format!("did you mean `{likely}`?")));
        }
    }

    /// Checks and normalizes a value. Returns false if it does not stay in its layer.
    fn value(&mut self, node: &mut Node, kind: &'static ValueKind) -> bool {
        if node.text() == Some(REDACTED) {
            let text = format!("`{}` is a redacted secret and is ignored", shown_path(&self.path));
            self.report.warn(&node.place, text, None);
            return false;
        }
        let is_null = node.is_null();
        let content = match (kind, &mut node.content) {
            (ValueKind::Maybe(_) | ValueKind::Anything | ValueKind::Prices, _) if is_null => {
                return true;
            }
            // A section whose lines are all commented out sets nothing.
            (ValueKind::Section(_), _) if is_null => return false,
            (ValueKind::Each(_), _) if is_null => {
                node.place.joining = Joining::Replace;
                Some(Content::Map(Vec::new()))
            }
            (ValueKind::List | ValueKind::Texts | ValueKind::Paths, _) if is_null => {
                Some(Content::List(Vec::new()))
            }
            (ValueKind::Anything, _) | (ValueKind::List, Content::List(_)) => return true,
            (ValueKind::Prices, _) => {
                let Some(wrong) = negative(node) else { return true };
                self.wrong(wrong, kind);
                return false;
            }
            (
                ValueKind::Section(section) | ValueKind::ShortOr(_, section),
                Content::Map(entries),
            ) => {
                self.section(entries, section);
                return true;
            }
            (ValueKind::Each(named), Content::Map(entries)) => {
                self.entries(entries, |checker, name, node| checker.named(name, node, named));
                return true;
            }
            (ValueKind::ShortOr(short, _), _) if !is_null => return self.value(node, short),
            (ValueKind::Maybe(kind), _) => return self.value(node, kind),
            (ValueKind::Texts | ValueKind::Paths, Content::List(items)) => self.texts(items, kind),
            (ValueKind::Paths, Content::Scalar(value)) => self.split_paths(value, &node.place),
            (_, Content::Scalar(value)) => self.scalar(value, kind).map(Content::Scalar),
            (_, Content::List(_) | Content::Map(_)) => None,
        };
        let Some(content) = content else {
            self.wrong(node, kind);
            return false;
        };
        node.content = content;
        true
    }

    /// Reports a value that is not of its kind.
    fn wrong(&mut self, node: &Node, kind: &ValueKind) {
        let is_json = node.place.variable.is_some() && kind.is_compound();
        let form = if is_json { ", written as JSON" } else { "" };
        self.report.problems.push(format!(
            "{}{} is {}, expected {}{form}",
            node.place.blame(),
            shown_path(&self.path),
            shown_value(node, &self.path),
            expected(kind, node),
        ));
    }

    /// The one form of a scalar; none if it is of another kind.
    fn scalar(&self, value: &Value, kind: &ValueKind) -> Option<Value> {
        Some(match kind {
            ValueKind::Switch => Value::Bool(switch(value)?),
            ValueKind::Count { least, most } => {
                let text = || value.as_str()?.trim().parse().ok();
                let count = value.as_i64().or_else(text)?;
                Value::from((*least..=*most).contains(&count).then_some(count)?)
            }
            ValueKind::Text => Value::from(value.as_str()?),
            ValueKind::Path => Value::from(self.expansion.expand(value.as_str()?)),
            ValueKind::Choice(words) => {
                let text = value.as_str()?;
                Value::from(*words.iter().find(|word| word.eq_ignore_ascii_case(text))?)
            }
            ValueKind::Template(words) => {
                let text = value.as_str()?;
                let mut names = text.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
                Value::from(names.all(|(name, _)| words.contains(&name)).then_some(text)?)
            }
            _ => return None,
        })
    }

    /// A list of texts, or of paths.
    fn texts(&self, items: &[Node], kind: &ValueKind) -> Option<Content> {
        let text = |item: &Node| {
            let text = item.text()?;
            let is_path = matches!(kind, ValueKind::Paths);
            let text = if is_path { self.expansion.expand(text) } else { text.to_owned() };
            Some(Node::from_value(Value::from(text), &item.place))
        };
        items.iter().map(text).collect::<Option<_>>().map(Content::List)
    }

    /// Paths in one text, as JSON or separated by colons.
    fn split_paths(&self, value: &Value, origin: &Origin) -> Option<Content> {
        let text = value.as_str()?;
        let texts: Vec<String> = if text.trim_start().starts_with('[') {
            serde_json::from_str(text).ok()?
        } else {
            text.split(':').filter(|part| !part.is_empty()).map(str::to_owned).collect()
        };
        let paths = texts.iter().map(|text| Value::from(self.expansion.expand(text)));
        Some(Node::from_value(paths.collect(), origin).content)
    }
}

/// The first negative number in a value.
fn negative(node: &Node) -> Option<&Node> {
    match &node.content {
        Content::Scalar(value) if value.as_f64().is_some_and(|it| it < 0.0) => Some(node),
        _ => node.children().find_map(negative),
    }
}

/// A kind in words.
fn expected(kind: &ValueKind, node: &Node) -> String {
    match kind {
        ValueKind::Switch => "true or false".into(),
        ValueKind::Count { least, most } if least == most => least.to_string(),
        ValueKind::Count { least, most: i64::MAX } => format!("a whole number from {least} up"),
        ValueKind::Count { least, most } => format!("a whole number from {least} to {most}"),
        ValueKind::Text => match &node.content {
            Content::Scalar(Value::Number(_) | Value::Bool(_)) => "text: put it in quotes".into(),
            _ => "text".into(),
        },
        ValueKind::Path => "a path".into(),
        ValueKind::Choice(words) => format!("one of {}", words.join(", ")),
        ValueKind::Template(words) => {
            format!("text with the placeholders {{{}}}", words.join("}, {"))
        }
        ValueKind::Texts => "a list of texts".into(),
        ValueKind::Paths => "a list of paths, or paths separated by colons".into(),
        ValueKind::List => "a list".into(),
        ValueKind::Anything => "any value".into(),
        ValueKind::Prices => "prices from 0 up".into(),
        ValueKind::Maybe(kind) => format!("{}, or null", expected(kind, node)),
        ValueKind::Section(_) | ValueKind::Each(_) => "a mapping".into(),
        ValueKind::ShortOr(kind, _) => format!("{}, or a mapping", expected(kind, node)),
    }
}
