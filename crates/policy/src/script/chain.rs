//! How far a text runs only as long as all before has worked.

use tree_sitter::Node;

use super::{Command, children, understood};

/// A text as its commands, and where that begins which depends on none of those before.
pub(crate) struct Chain {
    pub(crate) commands: Vec<Command>,
    /// Where that begins which may run though something before it has failed.
    pub(crate) rest: Option<usize>,
    /// Whether a statement of the text itself is put into the background.
    pub(crate) is_parallel: bool,
}

/// Reads `text` as [`read`](super::read) does.
pub(crate) fn chain(text: &str) -> Result<Chain, usize> {
    let (commands, tree) = understood(text)?;
    let parts = children(tree.root_node());
    let is_parallel = parts.iter().any(|it| it.kind() == "&");
    let mut statements = parts.iter().filter(|it| it.is_named() && it.kind() != "comment");
    let first = statements.next().and_then(|it| fallback(*it));
    let rest = first.or(statements.next().map(Node::start_byte));
    Ok(Chain { commands, rest, is_parallel })
}

/// Where that begins which runs if the start of a statement has failed.
fn fallback(node: Node<'_>) -> Option<usize> {
    children(node).into_iter().find_map(|child| match child.kind() {
        "||" => Some(child.end_byte()),
        "list" | "pipeline" | "redirected_statement" | "heredoc_redirect" | "negated_command" => {
            fallback(child)
        }
        _ => None,
    })
}
