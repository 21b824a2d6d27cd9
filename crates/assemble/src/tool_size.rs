//! The size of a plugin's tools in the listings of plugins.

use std::sync::Arc;

use contract::tool::Tool;
use plugins::open_plugins::Listed;
use tools::tool_search;

/// Adds the size of a plugin's tools: those whose source it is, or that it lists.
pub fn weighed(mut listed: Listed, tools: &[Arc<dyn Tool>]) -> Listed {
    let specs = tools.iter().map(|tool| tool.spec());
    let own = specs.filter(|it| it.source == listed.name || listed.tools.contains(&it.name));
    let tokens: usize = own.map(|spec| tool_search::tokens(&spec)).sum();
    listed.tool_tokens = (tokens > 0).then_some(tokens);
    listed
}
