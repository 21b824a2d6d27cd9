//! Many tools of plugins and servers behind one: the model searches, and what it finds is offered
//! from then on. Built-in tools are never kept back.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use contract::message::ToolCall;
use contract::policy::Action;
use contract::tool::{BUILTIN, Recovery, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde_json::{Value, json};

/// The tool's name.
const NAME: &str = "ToolSearch";
/// Sources that are no plugin and no server: what comes from there is always offered.
const NOBODY: [&str; 3] = [BUILTIN, "mcp", "role"];
/// How many tools a search returns where nothing is said.
const USUAL: usize = 5;
/// How many it returns at most.
const MOST: usize = 20;
/// How many bytes of names the model reads before it searches.
const NAMES: usize = 4096;
/// Bytes that are about one token.
const BYTES_PER_TOKEN: usize = 4;

/// When tools are kept from the model until it searches for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deferral {
    /// Above so many tools.
    pub tools: usize,
    /// Above so many bytes of descriptions and schemas.
    pub bytes: usize,
}

/// The tools that a model has searched for and found, by name. Clones share them.
#[derive(Clone, Default)]
pub struct Found(Arc<Mutex<BTreeSet<String>>>);

impl Found {
    fn has(&self, name: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }

    fn add(&self, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
    }
}

/// About how many tokens a request spends on telling the model of a tool.
pub fn tokens(spec: &ToolSpec) -> usize {
    size(spec).div_ceil(BYTES_PER_TOKEN)
}

fn size(spec: &ToolSpec) -> usize {
    let mut schema = Counted(0);
    // What only counts does not fail, and the keys of a schema are texts.
    let _ = serde_json::to_writer(&mut schema, &*spec.input_schema);
    spec.name.len() + spec.description.len() + schema.0
}

/// Counts bytes and keeps none.
struct Counted(usize);

impl io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The same tools, those of plugins and servers behind a search where they are more than the model
/// should read in each request. All of one plugin go together, those that take most first.
pub fn behind_search(
    tools: Vec<Arc<dyn Tool>>,
    deferral: Deferral,
    found: &Found,
) -> Vec<Arc<dyn Tool>> {
    let hidden = most_costly(&tools, deferral);
    if hidden.is_empty() {
        return tools;
    }
    let mut taken = BTreeSet::new();
    let mut kept_back = Vec::new();
    let mut all = Vec::with_capacity(tools.len() + 1);
    for tool in tools {
        let spec = tool.spec();
        // Of two with one name the first counts.
        let is_first = taken.insert(spec.name.clone());
        if is_first && tool.is_offered() && hidden.contains(&spec.source) {
            let is_offered = AtomicBool::new(found.has(&spec.name));
            let tool = Arc::new(Deferred { tool, is_offered });
            kept_back.push(Arc::clone(&tool));
            all.push(tool as Arc<dyn Tool>);
        } else {
            all.push(tool);
        }
    }
    all.push(Arc::new(ToolSearch::new(kept_back, found.clone())));
    all
}

/// The plugins and servers whose tools are not offered at once.
fn most_costly(tools: &[Arc<dyn Tool>], deferral: Deferral) -> BTreeSet<String> {
    let mut groups: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let offered = tools.iter().filter(|tool| tool.is_offered()).map(|tool| tool.spec());
    for spec in offered.filter(|spec| !NOBODY.contains(&spec.source.as_str())) {
        let (bytes, count) = groups.entry(&spec.source).or_default();
        *bytes += size(spec);
        *count += 1;
    }
    let mut count: usize = groups.values().map(|(_, count)| count).sum();
    let mut bytes: usize = groups.values().map(|(bytes, _)| bytes).sum();
    let mut groups: Vec<(&str, (usize, usize))> = groups.into_iter().collect();
    groups.sort_by_key(|(_, (bytes, _))| std::cmp::Reverse(*bytes));
    let mut hidden = BTreeSet::new();
    for (source, (own_bytes, own_count)) in groups {
        if count <= deferral.tools && bytes <= deferral.bytes {
            break;
        }
        hidden.insert(source.to_owned());
        count -= own_count;
        bytes -= own_bytes;
    }
    hidden
}

/// A tool that the model is not told of before it was found.
struct Deferred {
    tool: Arc<dyn Tool>,
    is_offered: AtomicBool,
}

#[async_trait]
impl Tool for Deferred {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn inner(&self) -> Option<&Arc<dyn Tool>> {
        Some(&self.tool)
    }

    fn around(&self, tool: Arc<dyn Tool>) -> Option<Arc<dyn Tool>> {
        // It is renewed for a call, and what is called is kept back no longer.
        Some(tool)
    }

    fn actions(&self, args: &Value) -> Result<Vec<Action>, ToolError> {
        self.tool.actions(args)
    }

    fn is_offered(&self) -> bool {
        self.is_offered.load(Ordering::Relaxed) && self.tool.is_offered()
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.tool.run(call, context).await
    }
}

/// Finds tools that are not offered yet.
struct ToolSearch {
    tools: Vec<Arc<Deferred>>,
    found: Found,
    spec: ToolSpec,
}

impl ToolSearch {
    fn new(tools: Vec<Arc<Deferred>>, found: Found) -> Self {
        let spec = ToolSpec {
            name: NAME.to_owned(),
            description: described(&tools),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "Words for what is needed"},
                    "limit": {"type": "integer", "minimum": 1, "maximum": MOST},
                },
                "required": ["query"],
            })
            .into(),
            version: String::from("1.0.0"),
            categories: vec![String::from("tools")],
            requires_permission: false,
            risk_level: Risk::ReadOnly,
            recovery_policy: Recovery::Allow,
            parallel: true,
            source: BUILTIN.to_owned(),
        };
        Self { tools, found, spec }
    }

    fn find(&self, query: &str, limit: usize) -> Vec<&Arc<Deferred>> {
        if let Some(names) = query.strip_prefix("select:") {
            let names: Vec<&str> = names.split(',').map(str::trim).collect();
            let is_named = |tool: &&Arc<Deferred>| names.contains(&tool.spec().name.as_str());
            return self.tools.iter().filter(is_named).take(MOST).collect();
        }
        let query = query.to_lowercase();
        let words: Vec<&str> = query
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.chars().count() > 1)
            .collect();
        let mut found: Vec<(usize, &Arc<Deferred>)> = self
            .tools
            .iter()
            .map(|tool| (score(tool.spec(), &words), tool))
            .filter(|(score, _)| *score > 0)
            .collect();
        found.sort_by(|(a, x), (b, y)| b.cmp(a).then(x.spec().name.cmp(&y.spec().name)));
        found.into_iter().take(limit).map(|(_, tool)| tool).collect()
    }
}

/// What the model reads of what it could find: whose tools there are, and as many of their names as
/// a request should hold.
fn described(tools: &[Arc<Deferred>]) -> String {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for spec in tools.iter().map(|tool| tool.spec()) {
        let owner = spec.source.strip_prefix("mcp:").unwrap_or(&spec.source);
        groups.entry(owner).or_default().push(&spec.name);
    }
    let mut text = String::from(
        "Finds further tools by what they do and makes them callable. Only whose they are and some \
         of their names stand here; search before you conclude that something cannot be done. A \
         query of `select:NAME,NAME` takes tools by their exact names.\nThere are tools of:",
    );
    let room = NAMES / groups.len().max(1);
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

/// How well a tool fits words: its name counts most, then whose it is and its description, then its
/// arguments.
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
            let spec = tool.spec();
            tool.is_offered.store(true, Ordering::Relaxed);
            self.found.add(&spec.name);
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

#[cfg(test)]
mod tests;
