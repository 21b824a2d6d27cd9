//! One tool that searches the tools of plugins and servers if there are many. Those that it returns
//! are offered from then on. Built-in tools are always offered.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use contract::message::ToolCall;
use contract::tool::{BUILTIN, Plan, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use crate::describe;

const NAME: &str = "ToolSearch";
/// Sources that are neither plugins nor servers.
const ALWAYS_OFFERED: [&str; 3] = [BUILTIN, "mcp", "role"];
const DEFAULT_RESULTS: usize = 5;
const MAX_RESULTS: usize = 20;
/// The largest part of the description that lists names, in bytes.
const MAX_NAME_BYTES: usize = 4096;
const BYTES_PER_TOKEN: usize = 4;

/// The limits above which tools are not offered until the model searches for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deferral {
    pub tools: usize,
    /// Bytes of descriptions and schemas.
    pub bytes: usize,
}

/// The tools that a model has searched for and found, by name. Clones share them.
#[derive(Clone, Default)]
pub struct FoundTools(Arc<Mutex<BTreeSet<String>>>);

impl FoundTools {
    fn has(&self, name: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }

    fn add(&self, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
    }
}

/// Estimates how many tokens of a request describe a tool.
pub fn tokens(spec: &ToolSpec) -> usize {
    size(spec).div_ceil(BYTES_PER_TOKEN)
}

fn size(spec: &ToolSpec) -> usize {
    spec.name.len() + spec.description.len() + spec.input_schema.to_string().len()
}

/// Returns true for the name of a tool that is not offered yet.
pub type IsHidden = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Adds a search for the tools of plugins and servers if they exceed the limits. All tools of one
/// plugin are deferred together, those of the largest plugin first. Also returns which tools are
/// hidden until they are found.
pub fn behind_search(
    mut tools: Vec<Arc<dyn Tool>>,
    deferral: Deferral,
    found: &FoundTools,
) -> (Vec<Arc<dyn Tool>>, Option<IsHidden>) {
    let sources = most_costly(&tools, deferral);
    if sources.is_empty() {
        return (tools, None);
    }
    let mut names = BTreeSet::new();
    let (mut deferred, mut hidden) = (Vec::new(), BTreeSet::new());
    for tool in &tools {
        let spec = tool.spec();
        // Of two tools with one name the first is used.
        let is_first = names.insert(spec.name.clone());
        if is_first && !spec.traits.unoffered && sources.contains(&spec.source) {
            hidden.insert(spec.name.clone());
            deferred.push(Arc::clone(tool));
        }
    }
    tools.push(Arc::new(ToolSearch::new(deferred, found.clone())));
    let found = found.clone();
    (tools, Some(Arc::new(move |name: &str| hidden.contains(name) && !found.has(name))))
}

/// The plugins and servers whose tools are not offered at once.
fn most_costly(tools: &[Arc<dyn Tool>], deferral: Deferral) -> BTreeSet<String> {
    let mut groups: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let offered = tools.iter().map(|tool| tool.spec()).filter(|spec| !spec.traits.unoffered);
    for spec in offered.filter(|spec| !ALWAYS_OFFERED.contains(&spec.source.as_str())) {
        let (bytes, count) = groups.entry(spec.source.clone()).or_default();
        *bytes += size(&spec);
        *count += 1;
    }
    let mut count: usize = groups.values().map(|(_, count)| count).sum();
    let mut bytes: usize = groups.values().map(|(bytes, _)| bytes).sum();
    let mut groups: Vec<(String, (usize, usize))> = groups.into_iter().collect();
    groups.sort_by_key(|(_, (bytes, _))| std::cmp::Reverse(*bytes));
    let mut hidden = BTreeSet::new();
    for (source, (own_bytes, own_count)) in groups {
        if count <= deferral.tools && bytes <= deferral.bytes {
            break;
        }
        hidden.insert(source);
        count -= own_count;
        bytes -= own_bytes;
    }
    hidden
}

struct ToolSearch {
    tools: Vec<Arc<dyn Tool>>,
    found: FoundTools,
    spec: Arc<ToolSpec>,
}

impl ToolSearch {
    fn new(tools: Vec<Arc<dyn Tool>>, found: FoundTools) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "Words for what is needed"},
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_RESULTS},
            },
            "required": ["query"],
        });
        let spec = describe::spec(NAME, &described(&tools), "tools", Risk::ReadOnly, schema);
        Self { tools, found, spec: spec.into() }
    }

    fn find(&self, query: &str, limit: usize) -> Vec<&Arc<dyn Tool>> {
        if let Some(names) = query.strip_prefix("select:") {
            let names: Vec<&str> = names.split(',').map(str::trim).collect();
            let is_named = |tool: &&Arc<dyn Tool>| names.contains(&tool.spec().name.as_str());
            return self.tools.iter().filter(is_named).take(MAX_RESULTS).collect();
        }
        let query = query.to_lowercase();
        let words: Vec<&str> = query
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.chars().count() > 1)
            .collect();
        let mut found: Vec<(usize, &Arc<dyn Tool>)> = self
            .tools
            .iter()
            .map(|tool| (score(&tool.spec(), &words), tool))
            .filter(|(score, _)| *score > 0)
            .collect();
        found.sort_by(|(a, x), (b, y)| b.cmp(a).then(x.spec().name.cmp(&y.spec().name)));
        found.into_iter().take(limit).map(|(_, tool)| tool).collect()
    }
}

/// The description: the owners of the tools, and as many names as fit.
fn described(tools: &[Arc<dyn Tool>]) -> String {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for spec in tools.iter().map(|tool| tool.spec()) {
        let owner = spec.source.strip_prefix("mcp:").unwrap_or(&spec.source);
        groups.entry(owner.to_owned()).or_default().push(spec.name.clone());
    }
    let mut text = String::from(
        "Finds further tools by what they do and makes them callable. Only whose they are and some \
         of their names stand here; search before you conclude that something cannot be done. A \
         query of `select:NAME,NAME` takes tools by their exact names.\nThere are tools of:",
    );
    let room = MAX_NAME_BYTES / groups.len().max(1);
    for (owner, names) in groups {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n- {owner} ({}):", names.len());
        let mut left = room;
        for (index, name) in names.iter().enumerate() {
            if name.len() + 2 > left {
                text.push_str(if index == 0 { " …" } else { ", …" });
                break;
            }
            left -= name.len() + 2;
            let _ = write!(text, "{} {name}", if index == 0 { "" } else { "," });
        }
    }
    text
}

/// Rates how well a tool fits words: by its name, then its owner and description, then its arguments.
fn score(spec: &ToolSpec, words: &[&str]) -> usize {
    let name = spec.name.to_lowercase();
    let parts: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).collect();
    let (owner, description) = (spec.source.to_lowercase(), spec.description.to_lowercase());
    let arguments = spec.input_schema.get("properties").map(Value::to_string).unwrap_or_default();
    let arguments = arguments.to_lowercase();
    let of = |word: &&str| {
        let word = *word;
        if parts.contains(&word) {
            10
        } else if name.contains(word) {
            6
        } else if description.contains(word) || owner.contains(word) {
            3
        } else {
            usize::from(arguments.contains(word))
        }
    };
    words.iter().map(of).sum()
}

#[async_trait]
impl Tool for ToolSearch {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, _args: &Value) -> Result<Plan, ToolError> {
        Ok(Plan::default())
    }

    async fn run(&self, call: &ToolCall, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let query = call.args.get("query").and_then(Value::as_str).unwrap_or_default();
        let limit = call.args.get("limit").and_then(Value::as_u64);
        let limit = limit
            .and_then(|limit| usize::try_from(limit).ok())
            .unwrap_or(DEFAULT_RESULTS)
            .min(MAX_RESULTS);
        let found = self.find(query.trim(), limit);
        if found.is_empty() {
            return Ok(ToolOutput::success("No matching tools. Try other words, or fewer."));
        }
        let mut rows = Vec::with_capacity(found.len());
        for tool in found {
            let spec = tool.spec();
            self.found.add(&spec.name);
            rows.push(json!({
                "name": spec.name,
                "description": spec.description,
                "input_schema": spec.input_schema,
            }));
        }
        let text = serde_json::to_string_pretty(&rows).unwrap_or_default();
        Ok(ToolOutput::success(format!("These tools can now be called:\n{text}")))
    }
}

#[cfg(test)]
mod tests;
