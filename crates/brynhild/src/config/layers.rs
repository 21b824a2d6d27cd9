//! Lays one layer over the others. Lists of rules that deny or ask only grow, and the mode of the site
//! or the deployment is an upper bound.

use contract::policy::Mode;

use super::node::{Content, Joining, Layer, Node};
use super::report::Report;

/// Lists under `permissions` that only grow.
const RULES: [&str; 2] = ["deny", "ask"];

/// Lays `layer` over `tree`.
pub(super) fn lay(tree: &mut Node, mut layer: Node, bound: &mut Option<Node>, report: &mut Report) {
    let is_managed = matches!(layer.origin.layer, Layer::Site | Layer::Deployment);
    let managed: Vec<(Vec<String>, Vec<Node>)> = growing(tree)
        .into_iter()
        .map(|path| {
            let items = items(tree, &path).iter();
            let managed = |it: &&Node| matches!(it.origin.layer, Layer::Site | Layer::Deployment);
            let items = items.filter(managed).cloned().collect();
            (path, items)
        })
        .collect();
    for path in growing(&layer) {
        let below = items(tree, &path).to_vec();
        if let Some(node) = part(&mut layer, &path).filter(|it| it.joining == Joining::Merge) {
            prepend(node, below);
        }
    }
    tree.merge(layer);
    for (path, items) in managed.into_iter().filter(|(_, items)| !items.is_empty()) {
        prepend(place(tree, &path), items);
    }
    bind_mode(tree, bound.as_ref(), report);
    if is_managed && let Some(node) = tree.find(&["behavior", "mode"]) {
        let is_own = matches!(node.origin.layer, Layer::Site | Layer::Deployment);
        *bound = is_own.then(|| node.clone());
    }
}

/// The mode that a node holds.
pub(super) fn mode(node: &Node) -> Option<Mode> {
    let text = node.text()?;
    Mode::ALL.into_iter().find(|mode| mode.as_str() == text)
}

/// Puts the bound in the place of a looser mode.
fn bind_mode(tree: &mut Node, bound: Option<&Node>, report: &mut Report) {
    let Some(bound) = bound else { return };
    let current = tree.find(&["behavior", "mode"]);
    if current.and_then(mode).is_some_and(|current| Some(current) <= mode(bound)) {
        return;
    }
    if let (Some(node), Some(most)) = (current, bound.text()) {
        let text = format!(
            "`behavior.mode: {}` is ignored: {} allows at most `{most}`",
            node.text().unwrap_or_default(),
            bound.origin
        );
        report.warn(&node.origin, text, None);
    }
    *place(tree, &["behavior".into(), "mode".into()]) = bound.clone();
}

/// The paths of the lists in a tree that only grow.
fn growing(tree: &Node) -> Vec<Vec<String>> {
    let rules = RULES.map(|list| vec!["permissions".to_owned(), list.to_owned()]);
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
    let origin = node.origin.clone();
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
