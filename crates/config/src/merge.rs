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
    layer: Node,
    max_mode: &mut Option<Node>,
    report: &mut Report,
) {
    let is_managed = layer.place.layer.is_managed();
    let mut retained = growing_lists(tree);
    for (path, items) in &mut retained {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let grows = layer.find(&path).is_some_and(|it| it.place.joining == Joining::Merge);
        items.retain(|it| grows || it.place.layer.is_managed());
    }
    merge(tree, layer);
    for (path, items) in retained.into_iter().filter(|(_, items)| !items.is_empty()) {
        prepend(entry(tree, &path), items);
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
    *entry(tree, &["behavior".into(), "mode".into()]) = limit.clone();
}

/// The paths and items of the lists in a tree that only grow.
fn growing_lists(tree: &Node) -> Vec<(Vec<String>, Vec<Node>)> {
    let rules = GROWING_RULES.map(|list| vec!["permissions", list]);
    let tools = tree.get("tools").map(Node::entries).unwrap_or_default();
    let blocked = tools.iter().map(|(name, _)| vec!["tools", name, "blocked_commands"]);
    let lists = rules.into_iter().chain(blocked).map(|path| {
        let items = tree.find(&path).map(Node::items).unwrap_or_default();
        (path.into_iter().map(str::to_owned).collect(), items.to_vec())
    });
    lists.collect()
}

/// The node at a path, made if there is none.
fn entry<'a>(node: &'a mut Node, path: &[String]) -> &'a mut Node {
    let Some((name, rest)) = path.split_first() else { return node };
    if !matches!(node.content, Content::Map(_)) {
        node.content = Content::Map(Vec::new());
    }
    let origin = node.place.clone();
    let Content::Map(entries) = &mut node.content else { unreachable!("it was made a map") };
    let at = entries.iter().position(|(key, _)| key == name).unwrap_or_else(|| {
        let list = Node { content: Content::List(Vec::new()), place: origin };
        entries.push((name.clone(), list));
        entries.len() - 1
    });
    entry(&mut entries[at].1, rest)
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
