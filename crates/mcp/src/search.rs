//! Many tools behind one: the model searches, and what it finds is offered from then on.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use contract::message::ToolCall;
use contract::policy::Action;
use contract::tool::{Recovery, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use crate::tool::McpTool;

/// The tool's name.
const NAME: &str = "ToolSearch";
/// How many tools a search returns where nothing is said.
const USUAL: usize = 5;
/// How many it returns at most.
const MOST: usize = 20;

/// Finds tools that are not offered yet.
pub(crate) struct ToolSearch {
    tools: Vec<Arc<McpTool>>,
    found: Arc<Mutex<BTreeSet<String>>>,
    spec: ToolSpec,
}

impl ToolSearch {
    /// Keeps these tools from the model until they are searched for, as far as they are not among
    /// those `found` before.
    pub(crate) fn new(tools: Vec<Arc<McpTool>>, found: Arc<Mutex<BTreeSet<String>>>) -> Self {
        let known = found.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for tool in &tools {
            if !known.contains(&tool.spec().name) {
                tool.defer();
            }
            *counts.entry(tool.spec().source.trim_start_matches("mcp:")).or_default() += 1;
        }
        let mut description = String::from(
            "Finds further tools by what they do and makes them callable. Only their servers are \
             listed here; search before you conclude that something cannot be done. A query of \
             `select:NAME,NAME` takes tools by their exact names.\nServers:",
        );
        for (server, count) in counts {
            // Writing to a string cannot fail.
            let _ = write!(description, " {server} ({count}),");
        }
        let spec = ToolSpec {
            name: NAME.to_owned(),
            description: description.trim_end_matches(',').to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "Words for what is needed"},
                    "limit": {"type": "integer", "minimum": 1, "maximum": MOST},
                },
                "required": ["query"],
            }),
            version: String::new(),
            categories: vec!["mcp".to_owned()],
            requires_permission: false,
            risk_level: Risk::ReadOnly,
            recovery_policy: Recovery::Allow,
            parallel: true,
            source: "mcp".to_owned(),
        };
        Self { tools, found, spec }
    }

    fn find(&self, query: &str, limit: usize) -> Vec<&Arc<McpTool>> {
        if let Some(names) = query.strip_prefix("select:") {
            let names: Vec<&str> = names.split(',').map(str::trim).collect();
            let is_named = |tool: &&Arc<McpTool>| names.contains(&tool.spec().name.as_str());
            return self.tools.iter().filter(is_named).take(MOST).collect();
        }
        let query = query.to_lowercase();
        let words: Vec<&str> = query
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.chars().count() > 1)
            .collect();
        let mut found: Vec<(usize, &Arc<McpTool>)> = self
            .tools
            .iter()
            .map(|tool| (score(tool.spec(), &words), tool))
            .filter(|(score, _)| *score > 0)
            .collect();
        found.sort_by(|(a, x), (b, y)| b.cmp(a).then(x.spec().name.cmp(&y.spec().name)));
        found.into_iter().take(limit).map(|(_, tool)| tool).collect()
    }
}

/// How well a tool fits words: its name counts most, then its description, then its arguments.
fn score(spec: &ToolSpec, words: &[&str]) -> usize {
    let name = spec.name.to_lowercase();
    let parts: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).collect();
    let description = spec.description.to_lowercase();
    let arguments = spec.input_schema.get("properties").map(Value::to_string).unwrap_or_default();
    let arguments = arguments.to_lowercase();
    let of = |word: &&str| {
        let word = *word;
        if parts.contains(&word) {
            10
        } else if name.contains(word) {
            6
        } else if description.contains(word) {
            3
        } else {
            usize::from(arguments.contains(word))
        }
    };
    words.iter().map(of).sum()
}

#[async_trait]
impl Tool for ToolSearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions(&self, _args: &Value) -> Result<Vec<Action>, ToolError> {
        Ok(Vec::new())
    }

    async fn run(&self, call: &ToolCall, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let query = call.args.get("query").and_then(Value::as_str).unwrap_or_default();
        let limit = call.args.get("limit").and_then(Value::as_u64);
        let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(USUAL).min(MOST);
        let found = self.find(query.trim(), limit);
        if found.is_empty() {
            return Ok(ToolOutput::success("No tool fits. Try other words, or fewer."));
        }
        let mut rows = Vec::with_capacity(found.len());
        for tool in found {
            tool.offer();
            let spec = tool.spec();
            let mut known = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(spec.name.clone());
            rows.push(json!({
                "name": spec.name,
                "description": spec.description,
                "input_schema": spec.input_schema,
            }));
        }
        let text = serde_json::to_string_pretty(&rows).unwrap_or_default();
        Ok(ToolOutput::success(format!("These tools can be called from here on:\n{text}")))
    }
}
