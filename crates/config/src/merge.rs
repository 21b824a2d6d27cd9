//! Merges layers. Lists of rules that deny or ask only grow, and the mode of the site or the
//! deployment is an upper bound.

use contract::policy::Mode;

use crate::origin::{Content, Joining, Node};
use crate::report::Report;

/// Lists under `permissions` that only grow.
const GROWING_RULES: [&str; 2] = ["deny", "ask"];

/// Puts `over` on top of a value: mappings merge, everything else replaces.
pub(crate) fn merge(node: &mut Node, over: Node) {
    match (&mut node.content, over) {
        (Content::Map(entries), Node { content: Content::Map(above), place })
            if place.joining == Joining::Merge =>
        {
            for (name, node) in above {
                merge_entry(entries, name, node);
            }
        }
        (_, over) => *node = settled(over),
    }
}

fn merge_entry(entries: &mut Vec<(String, Node)>, name: String, node: Node) {
    let position = entries.iter().position(|(key, _)| *key == name);
    match (position, node.place.joining) {
        (Some(position), Joining::Delete) => drop(entries.remove(position)),
        (None, Joining::Delete) => {}
        (Some(position), _) => merge(&mut entries[position].1, node),
        (None, _) => entries.push((name, settled(node))),
    }
}

/// The value if nothing is below it: `!delete` removes, `!replace` is itself.
fn settled(mut node: Node) -> Node {
    node.place.joining = Joining::Merge;
    if let Content::Map(entries) = &mut node.content {
        for (name, node) in std::mem::take(entries) {
            merge_entry(entries, name, node);
        }
    }
    node
}

/// Takes out the entry at a path of names.
pub(crate) fn remove(node: &mut Node, path: &[&str]) {
    let (Some((name, rest)), Content::Map(entries)) = (path.split_first(), &mut node.content)
    else {
        return;
    };
    if rest.is_empty() {
        entries.retain(|(key, _)| key != name);
    }
    for (_, node) in entries.iter_mut().filter(|(key, _)| key == name) {
        remove(node, rest);
    }
}

/// Puts a layer over the tree of the layers below it. `max_mode` is the loosest mode that the site
/// or the deployment admits.
pub(crate) fn merge_layer(
    tree: &mut Node,
    mut layer: Node,
    max_mode: &mut Option<Node>,
    report: &mut Report,
) {
    let is_managed = layer.place.layer.is_managed();
    let managed: Vec<(Vec<String>, Vec<Node>)> = growing(tree)
        .into_iter()
        .map(|path| {
            let items = items(tree, &path).iter();
            let items = items.filter(|it| it.place.layer.is_managed()).cloned().collect();
            (path, items)
        })
        .collect();
    for path in growing(&layer) {
        let below = items(tree, &path).to_vec();
        if let Some(node) = part(&mut layer, &path).filter(|it| it.place.joining == Joining::Merge)
        {
            prepend(node, below);
        }
    }
    merge(tree, layer);
    for (path, items) in managed.into_iter().filter(|(_, items)| !items.is_empty()) {
        prepend(place(tree, &path), items);
    }
    limit_mode(tree, max_mode.as_ref(), report);
    if is_managed && let Some(node) = tree.find(&["behavior", "mode"]) {
        *max_mode = node.place.layer.is_managed().then(|| node.clone());
    }
}

/// The mode that a node holds.
pub(crate) fn mode(node: &Node) -> Option<Mode> {
    let text = node.text()?;
    Mode::ALL.into_iter().find(|mode| mode.as_str() == text)
}

/// Replaces a mode that is looser than the limit.
fn limit_mode(tree: &mut Node, limit: Option<&Node>, report: &mut Report) {
    let Some(limit) = limit else { return };
    let current = tree.find(&["behavior", "mode"]);
    if current.and_then(mode).is_some_and(|current| Some(current) <= mode(limit)) {
        return;
    }
    if let (Some(node), Some(most)) = (current, limit.text()) {
        let text = format!(
            "`behavior.mode: {}` is ignored: {} allows at most `{most}`",
            node.text().unwrap_or_default(),
            limit.place
        );
        report.warn(&node.place, text, None);
    }
    *place(tree, &["behavior".into(), "mode".into()]) = limit.clone();
}

/// The paths of the lists in a tree that only grow.
fn growing(tree: &Node) -> Vec<Vec<String>> {
    let rules = GROWING_RULES.map(|list| vec!["permissions".to_owned(), list.to_owned()]);
    let tools = tree.get("tools").map(Node::entries).unwrap_or_default();
    let blocked =
        tools.iter().map(|(name, _)| ["tools", name, "blocked_commands"].map(str::to_owned).into());
    rules.into_iter().chain(blocked).collect()
}

fn items<'a>(tree: &'a Node, path: &[String]) -> &'a [Node] {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    tree.find(&path).map(Node::items).unwrap_or_default()
}

/// The node at a path, if there is one.
fn part<'a>(node: &'a mut Node, path: &[String]) -> Option<&'a mut Node> {
    let Some((name, rest)) = path.split_first() else { return Some(node) };
    let Content::Map(entries) = &mut node.content else { return None };
    let (_, child) = entries.iter_mut().find(|(key, _)| key == name)?;
    part(child, rest)
}

/// The node at a path, made if there is none.
fn place<'a>(node: &'a mut Node, path: &[String]) -> &'a mut Node {
    let Some((name, rest)) = path.split_first() else { return node };
    if !matches!(node.content, Content::Map(_)) {
        node.content = Content::Map(Vec::new());
    }
    let origin = node.place.clone();
    let Content::Map(entries) = &mut node.content else { unreachable!("it was made a map") };
    let at = entries.iter().position(|(key, _)| key == name).unwrap_or_else(|| {
        entries.push((name.clone(), Node::new(Content::List(Vec::new()), origin)));
        entries.len() - 1
    });
    place(&mut entries[at].1, rest)
}

/// Puts items before those of a list that it does not have yet.
fn prepend(node: &mut Node, mut items: Vec<Node>) {
    let own = match &mut node.content {
        Content::List(own) => std::mem::take(own),
        Content::Scalar(_) | Content::Map(_) => Vec::new(),
    };
    items.retain(|item| !own.iter().any(|other| other.to_value() == item.to_value()));
    items.extend(own);
    node.content = Content::List(items);
}
