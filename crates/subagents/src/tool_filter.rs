//! The tools that an agent gets, out of those of its parent.

use std::collections::BTreeSet;
use std::sync::Arc;

use contract::hook::Hook;
use contract::text::closest;
use contract::tool::Tool;

use crate::scoped::{ScopeGuard, Scoping};

/// The tools that an agent's file names.
#[derive(Clone, Copy)]
pub struct Selection<'a> {
    /// None means all.
    pub tools: Option<&'a [String]>,
    pub disallowed: &'a [String],
}

pub struct Narrowed {
    pub tools: Vec<Arc<dyn Tool>>,
    /// Limits tools as the file says; none if it does not.
    pub guard: Option<Arc<dyn Hook>>,
    /// Tools that the file names, which need no search.
    pub named: BTreeSet<String>,
    pub missing: Vec<String>,
}

/// The tools that an agent's file selects. An entry in parentheses limits its tool to that.
pub fn narrowed(at_hand: &[Arc<dyn Tool>], file: Selection<'_>, scoping: &Scoping<'_>) -> Narrowed {
    let is_named = |tool: &Arc<dyn Tool>, names: &[String]| {
        names.iter().any(|name| fits(base(name), &tool.spec().name))
    };
    // A misspelled name must not grant a tool that was meant to be withheld.
    let is_kept_back = |tool: &Arc<dyn Tool>| {
        let (name, names) = (tool.spec().name.to_lowercase(), file.disallowed.iter());
        is_named(tool, file.disallowed)
            || names.map(|it| it.to_lowercase()).any(|it| fits(base(&it), &name))
    };
    let wanted = |tool: &&Arc<dyn Tool>| {
        file.tools.is_none_or(|names| is_named(tool, names)) && !is_kept_back(tool)
    };
    let has = |name: &str| at_hand.iter().any(|tool| fits(base(name), &tool.spec().name));
    let missing =
        file.tools.unwrap_or_default().iter().filter(|name| !has(name)).cloned().collect();
    let tools: Vec<_> = at_hand.iter().filter(wanted).cloned().collect();
    let (mut guard, mut named) = (ScopeGuard::default(), BTreeSet::new());
    for spec in tools.iter().map(|tool| tool.spec()) {
        let entries = file.tools.unwrap_or_default().iter();
        let own: Vec<&str> =
            entries.filter(|it| fits(base(it), &spec.name)).map(String::as_str).collect();
        if own.iter().any(|entry| base(entry) != "*") {
            named.insert(spec.name.clone());
        }
        if !own.is_empty() && own.iter().all(|entry| entry.contains('(')) {
            guard.add(spec, &own, scoping);
        }
    }
    Narrowed { tools, guard: guard.hook(), named, missing }
}

/// Warnings about names to withhold that no tool has: they withhold nothing.
/// `built_in` are the names of tools that may not be at hand.
pub fn unknown_exclusions(
    at_hand: &[Arc<dyn Tool>],
    file: Selection<'_>,
    built_in: &[&str],
) -> Vec<String> {
    let own = built_in.iter().copied().filter(|name| !name.starts_with('_'));
    let known = at_hand.iter().map(|it| it.spec().name.clone());
    let known: Vec<String> = known.chain(own.map(str::to_owned)).collect();
    let is_known = |name: &str| {
        let lower = name.to_lowercase();
        let fits = |tool: &String| fits(name, tool) || fits(&lower, &tool.to_lowercase());
        lower.starts_with("mcp__") || known.iter().any(fits)
    };
    let names = file.disallowed.iter().map(|entry| base(entry));
    let told = names.filter(|name| !is_known(name)).map(|name| {
        let near = closest(name, known.iter().map(String::as_str));
        let near = near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
        format!("there is no tool `{name}` to exclude with `disallowedTools`{near}")
    });
    told.collect()
}

/// The tool name of an entry, without parentheses.
fn base(entry: &str) -> &str {
    entry.split_once('(').map_or(entry, |(name, _)| name).trim()
}

/// Returns true if a name in a file means a tool. Other programs use other names for some.
fn fits(name: &str, tool: &str) -> bool {
    let name = match name {
        "*" => return true,
        "Agent" => "Task",
        "Skill" => "LearnSkill",
        "LS" => "Inspect",
        "MultiEdit" => "Edit",
        name => name,
    };
    let is_of_server = || {
        let server = name.strip_suffix("__*").unwrap_or(name);
        let is_server = server.strip_prefix("mcp__").is_some_and(|rest| !rest.contains("__"));
        is_server && tool.strip_prefix(server).is_some_and(|rest| rest.starts_with("__"))
    };
    name == tool || is_of_server()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_select_tools_servers_and_foreign_names() {
        assert!(fits("Read", "Read") && !fits("Read", "Reader") && fits("*", "Write"));
        assert!(fits(base("Bash(git *)"), "Bash"));
        assert!(fits("Agent", "Task") && fits("Skill", "LearnSkill"));
        assert!(fits("mcp__db", "mcp__db__query") && fits("mcp__db__*", "mcp__db__query"));
        assert!(!fits("mcp__db", "mcp__dbx__query") && !fits("mcp__", "mcp__db__query"));
        assert!(fits("mcp__db__query", "mcp__db__query"));
        assert!(!fits("mcp__db__query", "mcp__db__query_all"));
    }
}
