//! The catalog of a server: its tools, prompts and instructions as the user last agreed to them. It is
//! cached in a file that every start reads. The hashes that tell a changed catalog are pinned
//! elsewhere, so a lost cache is not a consent.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use contract::text::visible;
use files::private::{self, Durability};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use similar::{ChangeTag, TextDiff};

/// The catalog of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Catalog {
    /// The revision of the protocol.
    pub(crate) protocol: String,
    /// The server's name for itself, with its version.
    pub(crate) server: String,
    /// The server's instructions for the model.
    pub(crate) instructions: String,
    pub(crate) tools: Vec<ToolEntry>,
    /// Names of tools that can be run as a task only: these are left out.
    pub(crate) tasks: Vec<String>,
    pub(crate) prompts: Vec<PromptEntry>,
    /// True if the server has resources.
    pub(crate) resources: bool,
    /// The failure to fetch the catalog, which is then empty.
    pub(crate) failure: Option<CatalogFailure>,
}

/// A failed attempt to fetch the catalog of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CatalogFailure {
    pub(crate) message: String,
    /// Seconds since 1970.
    pub(crate) at: i64,
}

/// A tool as its server describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ToolEntry {
    pub(crate) name: String,
    /// The name for display.
    pub(crate) title: Option<String>,
    pub(crate) description: String,
    /// The schema of its arguments.
    pub(crate) input_schema: Map<String, Value>,
    pub(crate) hints: ToolHints,
}

/// The server's hints on a tool's effects. They grant nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ToolHints {
    pub(crate) read_only: Option<bool>,
    pub(crate) destructive: Option<bool>,
    pub(crate) idempotent: Option<bool>,
    /// True if it reaches the outside world.
    pub(crate) open_world: Option<bool>,
}

impl ToolHints {
    /// The hints that are set, one a line, by their names in the protocol.
    fn lines(self) -> String {
        let named = [
            ("readOnlyHint", self.read_only),
            ("destructiveHint", self.destructive),
            ("idempotentHint", self.idempotent),
            ("openWorldHint", self.open_world),
        ];
        let set = named.into_iter().filter_map(|(name, hint)| Some(format!("{name}: {}", hint?)));
        set.collect::<Vec<_>>().join("\n")
    }
}

/// A prompt as its server describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PromptEntry {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) arguments: Vec<ArgumentEntry>,
}

/// An argument of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ArgumentEntry {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) required: bool,
}

/// A difference to the approved catalog.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// A new tool.
    Added(ToolEntry),
    /// A tool with another description, schema or hints.
    Altered { was: ToolEntry, is: ToolEntry },
    /// An altered tool whose former description is lost.
    Reworded(ToolEntry),
    /// Other instructions.
    Instructions { was: String, is: String },
}

/// The key of a change of the instructions: no tool has this name.
const INSTRUCTIONS: &str = "(instructions)";

impl Change {
    /// The changed tool. None if the instructions have changed.
    fn tool(&self) -> Option<&ToolEntry> {
        match self {
            Self::Added(tool) | Self::Reworded(tool) | Self::Altered { is: tool, .. } => Some(tool),
            Self::Instructions { .. } => None,
        }
    }

    /// The name of the tool, or a key for the instructions.
    fn key(&self) -> String {
        self.tool().map_or(INSTRUCTIONS, |tool| &tool.name).to_owned()
    }

    /// The hashes that consent to the change pins.
    pub(crate) fn hashes(&self) -> CatalogHashes {
        let instructions = match self {
            Self::Instructions { is, .. } => Some(hash(is.as_str().into())),
            _ => None,
        };
        CatalogHashes { tools: self.tool().into_iter().map(tool_hash).collect(), instructions }
    }

    /// The change in words for the user.
    pub(crate) fn describe(&self, server: &str) -> String {
        let (sentence, text) = match self {
            Self::Added(tool) => ("offers this tool since you agreed to its list:", shown(tool)),
            Self::Altered { was, is } => (
                "has changed this tool since you accepted it:",
                difference(&shown(was), &shown(is)),
            ),
            Self::Reworded(tool) => (
                "has changed this tool since you accepted it. The old description is lost; the new \
                 one:",
                shown(tool),
            ),
            Self::Instructions { was, is } => (
                "tells the model something else since you accepted it:",
                difference(&format!("{was}\n"), &format!("{is}\n")),
            ),
        };
        format!("MCP server `{server}` {sentence}\n{}", visible(&text))
    }
}

/// A tool as the user reads it.
fn shown(tool: &ToolEntry) -> String {
    let mut schema = Value::Object(tool.input_schema.clone());
    schema.sort_all_objects();
    let title = tool.title.as_deref().unwrap_or_default();
    let text = format!("{title}\n{}\n{schema:#}\n{}", tool.description, tool.hints.lines());
    text.trim().to_owned() + "\n"
}

fn difference(was: &str, is: &str) -> String {
    let diff = TextDiff::from_lines(was, is);
    let lines = diff.iter_all_changes().filter_map(|change| match change.tag() {
        ChangeTag::Delete => Some(format!("- {}", change.value())),
        ChangeTag::Insert => Some(format!("+ {}", change.value())),
        ChangeTag::Equal => None,
    });
    lines.collect()
}

/// The hashes of the parts of a catalog.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CatalogHashes {
    tools: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
}

impl CatalogHashes {
    /// Adds others, in place of those for the same parts.
    pub(crate) fn extend(&mut self, other: Self) {
        self.tools.extend(other.tools);
        self.instructions = other.instructions.or(self.instructions.take());
    }

    fn has_tool(&self, tool: &ToolEntry) -> bool {
        let (name, hash) = tool_hash(tool);
        self.tools.get(&name) == Some(&hash)
    }

    fn has_instructions(&self, instructions: &str) -> bool {
        self.instructions.as_ref() == Some(&hash(instructions.into()))
    }
}

/// A tool's name with the hash of its whole description. The hashed form is its own, so that it stays
/// the same however the entry is serialized.
fn tool_hash(tool: &ToolEntry) -> (String, String) {
    let ToolEntry { name, title, description, input_schema, hints } = tool;
    let ToolHints { read_only, destructive, idempotent, open_world } = hints;
    let hints = [read_only, destructive, idempotent, open_world];
    (name.clone(), hash(json!([name, title, description, input_schema, hints])))
}

impl Catalog {
    pub(crate) fn hashes(&self) -> CatalogHashes {
        CatalogHashes {
            tools: self.tools.iter().map(tool_hash).collect(),
            instructions: Some(hash(self.instructions.as_str().into())),
        }
    }

    /// The approved parts of this cached catalog and of a fresh one. Tools that are gone are left out.
    pub(crate) fn approved(mut self, fresh: &Self, hashes: &CatalogHashes) -> Self {
        let is_offered = |name: &str| fresh.tools.iter().any(|tool| tool.name == name);
        self.tools.retain(|tool| hashes.has_tool(tool) && is_offered(&tool.name));
        for tool in fresh.tools.iter().filter(|tool| hashes.has_tool(tool)) {
            if !self.tools.iter().any(|known| known.name == tool.name) {
                self.tools.push(tool.clone());
            }
        }
        if !hashes.has_instructions(&self.instructions) {
            let fresh = Some(&fresh.instructions).filter(|it| hashes.has_instructions(it));
            self.instructions = fresh.cloned().unwrap_or_default();
        }
        self
    }

    /// The differences of a fresh catalog to this one, whose text may be known in part only: `hashes`
    /// has all of it.
    pub(crate) fn changes(&self, fresh: &Self, hashes: &CatalogHashes) -> BTreeMap<String, Change> {
        let known = |name: &str| self.tools.iter().find(|tool| tool.name == name);
        let changes = fresh.tools.iter().filter_map(|tool| match known(&tool.name) {
            None if hashes.tools.contains_key(&tool.name) => Some(Change::Reworded(tool.clone())),
            None => Some(Change::Added(tool.clone())),
            Some(was) if was != tool => {
                Some(Change::Altered { was: was.clone(), is: tool.clone() })
            }
            Some(_) => None,
        });
        let (was, is) = (&self.instructions, &fresh.instructions);
        let instructions =
            (was != is).then(|| Change::Instructions { was: was.clone(), is: is.clone() });
        changes.chain(instructions).map(|change| (change.key(), change)).collect()
    }

    /// Applies a change.
    pub(crate) fn apply(&mut self, change: &Change) {
        if let Change::Instructions { is, .. } = change {
            self.instructions.clone_from(is);
        }
        let Some(changed) = change.tool() else { return };
        match self.tools.iter_mut().find(|tool| tool.name == changed.name) {
            Some(tool) => tool.clone_from(changed),
            None => self.tools.push(changed.clone()),
        }
    }

    /// A short hash of everything that the model reads.
    pub(crate) fn digest(&self) -> String {
        digest(json!([self.tools, self.instructions]))
    }
}

/// A hash of a value that does not depend on the order of keys.
fn hash(mut value: Value) -> String {
    value.sort_all_objects();
    blake3::hash(value.to_string().as_bytes()).to_hex().to_string()
}

/// A short hash, for names.
pub(crate) fn digest(value: Value) -> String {
    hash(value)[..16].to_owned()
}

/// The cache file of one server's catalog.
#[derive(Clone, Debug)]
pub(crate) struct CatalogFile {
    path: PathBuf,
}

impl CatalogFile {
    /// The file for a server whose name for tools is `prefix`, as configured by `digest`.
    pub(crate) fn new(directory: &Path, prefix: &str, digest: &str) -> Self {
        Self { path: directory.join(format!("{prefix}-{digest}.json")) }
    }

    /// The cached catalog. None if there is none that can be used: the server is asked again then.
    pub(crate) fn read(&self) -> Option<Catalog> {
        serde_json::from_slice(&private::read(&self.path).ok()??).ok()
    }

    /// Caches a catalog.
    pub(crate) fn write(&self, catalog: &Catalog) -> io::Result<()> {
        let _lock = private::lock(&self.path)?;
        private::replace(&self.path, &serde_json::to_vec(catalog)?, Durability::Synced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(name: &str, description: &str) -> ToolEntry {
        let Value::Object(input_schema) = json!({"b": 1, "a": 2}) else { unreachable!() };
        ToolEntry {
            name: name.into(),
            description: description.into(),
            input_schema,
            ..ToolEntry::default()
        }
    }

    #[test]
    fn description_that_differs_in_one_character_is_a_change() {
        let was = Catalog { tools: vec![tool("a", "Adds."), tool("b", "")], ..Catalog::default() };
        let is = Catalog {
            tools: vec![tool("a", "Adds!"), tool("b", ""), tool("c", "")],
            ..Catalog::default()
        };
        let changes = was.changes(&is, &CatalogHashes::default());
        assert_eq!(changes.keys().collect::<Vec<_>>(), ["a", "c"]);
        let text = changes["a"].describe("s");
        assert!(text.contains("- Adds.") && text.contains("+ Adds!"), "{text}");
        assert!(matches!(changes["c"], Change::Added(_)));
        assert_ne!(was.digest(), is.digest());
        assert!(was.changes(&was, &CatalogHashes::default()).is_empty());
    }

    #[test]
    fn change_names_hints_as_the_protocol_does() {
        let hinted = |read_only| ToolEntry {
            hints: ToolHints { read_only, ..ToolHints::default() },
            ..tool("a", "Adds.")
        };
        let change = Change::Altered { was: hinted(Some(true)), is: hinted(None) };
        let text = change.describe("s");
        assert!(text.ends_with("- readOnlyHint: true\n"), "{text}");
    }

    #[test]
    fn other_instructions_are_a_change() {
        let told = |text: &str| Catalog { instructions: text.into(), ..Catalog::default() };
        let mut was = told("Be brief.");
        let changes = was.changes(&told("Be long."), &CatalogHashes::default());
        let change = &changes[INSTRUCTIONS];
        assert!(change.describe("s").contains("+ Be long."), "{}", change.describe("s"));
        was.apply(change);
        assert_eq!(was, told("Be long."));
    }

    #[test]
    fn hash_does_not_depend_on_the_order_of_keys() {
        assert_eq!(digest(json!({"a": 1, "b": {"c": 2, "d": 3}})), {
            digest(json!({"b": {"d": 3, "c": 2}, "a": 1}))
        });
    }

    #[test]
    fn broken_cache_file_is_ignored() {
        let directory = tempfile::tempdir().unwrap();
        let file = CatalogFile::new(&directory.path().join("mcp"), "s", "0");
        assert_eq!(file.read(), None);
        let catalog = Catalog { tools: vec![tool("a", "")], ..Catalog::default() };
        file.write(&catalog).unwrap();
        assert_eq!(file.read(), Some(catalog));
        for broken in ["", "{", "{\"format\": 0}", "{\"tools\":5}"] {
            std::fs::write(&file.path, broken).unwrap();
            assert_eq!(file.read(), None, "{broken}");
        }
    }

    #[test]
    fn changes_are_found_by_hashes_if_the_cache_is_lost() {
        let agreed = Catalog {
            tools: vec![tool("a", "Adds."), tool("b", "Is.")],
            instructions: "Be brief.".into(),
            ..Catalog::default()
        };
        let hashes = agreed.hashes();
        let lost = || Catalog::default().approved(&agreed, &hashes);
        assert_eq!(lost(), agreed);
        assert!(lost().changes(&agreed, &hashes).is_empty());
        let fresh = Catalog {
            tools: vec![tool("a", "Adds!"), tool("b", "Is."), tool("c", "")],
            instructions: "Be long.".into(),
            ..Catalog::default()
        };
        let changes = Catalog::default().approved(&fresh, &hashes).changes(&fresh, &hashes);
        assert_eq!(changes.keys().collect::<Vec<_>>(), [INSTRUCTIONS, "a", "c"]);
        assert!(matches!(changes["a"], Change::Reworded(_)));
        assert!(matches!(changes["c"], Change::Added(_)));
        let changes = agreed.clone().approved(&fresh, &hashes).changes(&fresh, &hashes);
        assert!(matches!(changes["a"], Change::Altered { .. }));
        let mut all = hashes;
        for change in changes.values() {
            all.extend(change.hashes());
        }
        assert_eq!(all, fresh.hashes());
        // A tool that is gone is not offered; if it comes back unchanged, nobody is asked.
        let less = Catalog { tools: vec![tool("b", "Is.")], ..agreed.clone() };
        let gone = agreed.clone().approved(&less, &agreed.hashes());
        assert_eq!(gone.tools, less.tools);
        assert!(
            gone.approved(&agreed, &agreed.hashes()).changes(&agreed, &agreed.hashes()).is_empty()
        );
        // A cache that was exchanged for another one is not approved.
        let put = fresh.clone().approved(&agreed, &agreed.hashes());
        assert_eq!(put.hashes(), agreed.hashes());
    }
}
