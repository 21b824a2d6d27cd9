//! What a server offered when the user last agreed to it. It is kept in a file that a start reads;
//! what tells a later list from it is kept elsewhere, so that to lose the file is to lose words only.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use contract::text::visible;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};

use crate::private_file;

/// The form of the file.
const FORMAT: u32 = 1;

/// What a server offers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Catalog {
    /// The revision of the protocol that was agreed on.
    pub(crate) protocol: String,
    /// The server's name for itself, with its version.
    pub(crate) server: String,
    /// What it tells the model of itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) instructions: String,
    /// Its tools.
    pub(crate) tools: Vec<ToolEntry>,
    /// Names of tools that can be run as a task only: these are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tasks: Vec<String>,
    /// Its prompts.
    pub(crate) prompts: Vec<PromptEntry>,
    /// Whether it has resources.
    pub(crate) resources: bool,
    /// Why it could not be asked, where it could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<Trouble>,
}

/// A catalog as its file has it.
#[derive(Serialize)]
struct CachedCatalog<'a> {
    format: u32,
    #[serde(flatten)]
    catalog: &'a Catalog,
}

/// Which version wrote a file.
#[derive(Deserialize)]
struct Version {
    format: u32,
}

impl Version {
    /// That of a file. It stands first, so that the rest is read once and by whom it concerns.
    fn of(bytes: &[u8]) -> serde_json::Result<u32> {
        if bytes.starts_with(format!("{{\"format\":{FORMAT},").as_bytes()) {
            return Ok(FORMAT);
        }
        serde_json::from_slice(bytes).map(|version: Self| version.format)
    }
}

/// A failed attempt to learn what a server offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trouble {
    /// What happened.
    pub(crate) message: String,
    /// When, in seconds since 1970.
    pub(crate) at: i64,
}

/// A tool as its server describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ToolEntry {
    /// Its name.
    pub(crate) name: String,
    /// Its name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// What it does.
    pub(crate) description: String,
    /// The schema of its arguments.
    pub(crate) input_schema: Map<String, Value>,
    /// What the server says of its effects: hints that grant nothing.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) hints: Hints,
}

/// What a server says of a tool's effects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Hints {
    /// It changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) read_only: Option<bool>,
    /// It may destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) destructive: Option<bool>,
    /// It may be called again without a further effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) idempotent: Option<bool>,
    /// It talks to the outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) open_world: Option<bool>,
}

/// Whether there is nothing to keep of a value.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Hints {
    /// The hints that are given, one a line, as the protocol calls them.
    fn in_words(self) -> String {
        let named = [
            ("readOnlyHint", self.read_only),
            ("destructiveHint", self.destructive),
            ("idempotentHint", self.idempotent),
            ("openWorldHint", self.open_world),
        ];
        let given = named.into_iter().filter_map(|(name, hint)| Some(format!("{name}: {}", hint?)));
        given.collect::<Vec<_>>().join("\n")
    }
}

/// A prompt as its server describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PromptEntry {
    /// Its name.
    pub(crate) name: String,
    /// What it is for.
    pub(crate) description: String,
    /// Its arguments, in order.
    pub(crate) arguments: Vec<ArgumentEntry>,
}

/// An argument of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ArgumentEntry {
    /// Its name.
    pub(crate) name: String,
    /// What it means.
    pub(crate) description: String,
    /// Whether the prompt needs it.
    pub(crate) required: bool,
}

/// What is different from what the user agreed to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// A tool that was not there.
    Added(ToolEntry),
    /// A tool that reads otherwise.
    Altered { was: ToolEntry, is: ToolEntry },
    /// The same where nobody knows any more how it read.
    Reworded(ToolEntry),
    /// What the server tells the model of itself reads otherwise.
    Instructions { was: String, is: String },
}

/// The key of a change of the instructions: no tool has it.
const INSTRUCTIONS: &str = "(instructions)";

impl Change {
    /// What it is about: a tool, or the instructions.
    fn key(&self) -> String {
        match self {
            Self::Added(entry) | Self::Reworded(entry) | Self::Altered { is: entry, .. } => {
                entry.name.clone()
            }
            Self::Instructions { .. } => INSTRUCTIONS.to_owned(),
        }
    }

    /// What is agreed to by taking it.
    pub(crate) fn offer(&self) -> Offer {
        match self {
            Self::Added(entry) | Self::Reworded(entry) | Self::Altered { is: entry, .. } => {
                Offer { tools: BTreeMap::from([hashed(entry)]), instructions: None }
            }
            Self::Instructions { is, .. } => {
                Offer { tools: BTreeMap::new(), instructions: Some(hash(&is.as_str().into())) }
            }
        }
    }

    /// The change in words for a user.
    pub(crate) fn describe(&self, server: &str) -> String {
        match self {
            Self::Added(entry) => format!(
                "MCP server `{server}` offers this tool since you agreed to its list:\n{}",
                visible(&shown(entry))
            ),
            Self::Altered { was, is } => format!(
                "MCP server `{server}` has changed this tool since you agreed to it:\n{}",
                visible(&difference(&shown(was), &shown(is)))
            ),
            Self::Reworded(entry) => format!(
                "MCP server `{server}` has changed this tool since you agreed to it. What it said \
                 then is lost; it says now:\n{}",
                visible(&shown(entry))
            ),
            Self::Instructions { was, is } => format!(
                "MCP server `{server}` tells the model something else since you agreed to it:\n{}",
                visible(&difference(&format!("{was}\n"), &format!("{is}\n")))
            ),
        }
    }
}

/// A tool as people read it.
fn shown(entry: &ToolEntry) -> String {
    let schema = serde_json::to_string_pretty(&sorted(&Value::Object(entry.input_schema.clone())));
    let title = entry.title.as_deref().unwrap_or_default();
    let hints = entry.hints.in_words();
    format!("{title}\n{}\n{}\n{hints}\n", entry.description, schema.unwrap_or_default())
        .trim()
        .to_owned()
        + "\n"
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

/// What tells what a server offers from anything else: hashes of its words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Offer {
    tools: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
}

impl Offer {
    /// Takes in another one, whose word counts.
    pub(crate) fn extend(&mut self, other: Self) {
        self.tools.extend(other.tools);
        self.instructions = other.instructions.or(self.instructions.take());
    }

    fn has(&self, tool: &ToolEntry) -> bool {
        let (name, hash) = hashed(tool);
        self.tools.get(&name) == Some(&hash)
    }

    fn tells(&self, instructions: &str) -> bool {
        self.instructions.as_ref() == Some(&hash(&instructions.into()))
    }
}

/// A tool's name with the hash of all that is said of it. What is hashed has a form of its own: it must
/// stay the same however entries are kept.
fn hashed(tool: &ToolEntry) -> (String, String) {
    let ToolEntry { name, title, description, input_schema, hints } = tool;
    let Hints { read_only, destructive, idempotent, open_world } = hints;
    let hints = [read_only, destructive, idempotent, open_world];
    let words = serde_json::json!([name, title, description, input_schema, hints]);
    (name.clone(), hash(&words))
}

impl Catalog {
    /// What tells it from any other.
    pub(crate) fn offer(&self) -> Offer {
        Offer {
            tools: self.tools.iter().map(hashed).collect(),
            instructions: Some(hash(&self.instructions.as_str().into())),
        }
    }

    /// The words that the user agreed to, of those that were kept and of those that are said now. What
    /// is offered no longer is none of them.
    pub(crate) fn agreed(mut self, fresh: &Self, offer: &Offer) -> Self {
        let is_offered = |name: &str| fresh.tools.iter().any(|tool| tool.name == name);
        self.tools.retain(|tool| offer.has(tool) && is_offered(&tool.name));
        for tool in fresh.tools.iter().filter(|tool| offer.has(tool)) {
            if !self.tools.iter().any(|known| known.name == tool.name) {
                self.tools.push(tool.clone());
            }
        }
        if !offer.tells(&self.instructions) {
            let said = Some(&fresh.instructions).filter(|said| offer.tells(said));
            self.instructions = said.cloned().unwrap_or_default();
        }
        self
    }

    /// Compares what a server offers with what the user agreed to, as far as it is known how that
    /// read: `offer` knows of more.
    pub(crate) fn changes(&self, fresh: &Self, offer: &Offer) -> BTreeMap<String, Change> {
        let known = |name: &str| self.tools.iter().find(|tool| tool.name == name);
        let changes = fresh.tools.iter().filter_map(|tool| match known(&tool.name) {
            None if offer.tools.contains_key(&tool.name) => Some(Change::Reworded(tool.clone())),
            None => Some(Change::Added(tool.clone())),
            Some(was) if was != tool => {
                Some(Change::Altered { was: was.clone(), is: tool.clone() })
            }
            Some(_) => None,
        });
        let told = (self.instructions != fresh.instructions).then(|| Change::Instructions {
            was: self.instructions.clone(),
            is: fresh.instructions.clone(),
        });
        changes.chain(told).map(|change| (change.key(), change)).collect()
    }

    /// Takes a change.
    pub(crate) fn accept(&mut self, change: &Change) {
        let entry = match change {
            Change::Added(entry) | Change::Reworded(entry) | Change::Altered { is: entry, .. } => {
                entry.clone()
            }
            Change::Instructions { is, .. } => {
                self.instructions.clone_from(is);
                return;
            }
        };
        match self.tools.iter_mut().find(|tool| tool.name == entry.name) {
            Some(tool) => *tool = entry,
            None => self.tools.push(entry),
        }
    }

    /// A hash over everything that the model would read.
    pub(crate) fn digest(&self) -> String {
        let read = serde_json::json!([self.tools, self.instructions]);
        digest(&read)
    }
}

/// A hash of a value that does not depend on the order of keys.
fn hash(value: &Value) -> String {
    blake3::hash(sorted(value).to_string().as_bytes()).to_hex().to_string()
}

/// A short one, for names.
pub(crate) fn digest(value: &Value) -> String {
    hash(value)[..16].to_owned()
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Object(object) => {
            let mut keys: Vec<&String> = object.keys().collect();
            keys.sort();
            let entries = keys.into_iter().map(|key| (key.clone(), sorted(&object[key])));
            Value::Object(entries.collect())
        }
        other => other.clone(),
    }
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
        let bytes = private_file::read(&self.path).ok()??;
        let is_known = Version::of(&bytes).is_ok_and(|format| format == FORMAT);
        is_known.then(|| serde_json::from_slice(&bytes).ok())?
    }

    /// Caches a catalog.
    pub(crate) fn write(&self, catalog: &Catalog) -> io::Result<()> {
        let bytes = serde_json::to_vec(&CachedCatalog { format: FORMAT, catalog })?;
        let _lock = private_file::lock(&self.path)?;
        private_file::replace(&self.path, &bytes)
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
    fn one_character_of_a_description_is_a_change() {
        let was = Catalog { tools: vec![tool("a", "Adds."), tool("b", "")], ..Catalog::default() };
        let is = Catalog {
            tools: vec![tool("a", "Adds!"), tool("b", ""), tool("c", "")],
            ..Catalog::default()
        };
        let changes = was.changes(&is, &Offer::default());
        assert_eq!(changes.keys().collect::<Vec<_>>(), ["a", "c"]);
        let text = changes["a"].describe("s");
        assert!(text.contains("- Adds.") && text.contains("+ Adds!"), "{text}");
        assert!(matches!(changes["c"], Change::Added(_)));
        assert_ne!(was.digest(), is.digest());
        assert!(was.changes(&was, &Offer::default()).is_empty());
    }

    #[test]
    fn hints_are_shown_in_the_words_of_the_protocol() {
        let hinted = |read_only| ToolEntry {
            hints: Hints { read_only, ..Hints::default() },
            ..tool("a", "Adds.")
        };
        let change = Change::Altered { was: hinted(Some(true)), is: hinted(None) };
        let text = change.describe("s");
        assert!(text.ends_with("- readOnlyHint: true\n"), "{text}");
    }

    #[test]
    fn so_is_one_of_the_instructions() {
        let told = |text: &str| Catalog { instructions: text.into(), ..Catalog::default() };
        let mut was = told("Be brief.");
        let changes = was.changes(&told("Be long."), &Offer::default());
        let change = &changes[INSTRUCTIONS];
        assert!(change.describe("s").contains("+ Be long."), "{}", change.describe("s"));
        was.accept(change);
        assert_eq!(was, told("Be long."));
    }

    #[test]
    fn the_order_of_keys_changes_no_hash() {
        assert_eq!(digest(&json!({"a": 1, "b": {"c": 2, "d": 3}})), {
            digest(&json!({"b": {"d": 3, "c": 2}, "a": 1}))
        });
    }

    #[test]
    fn a_catalog_is_kept_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let shelf = CatalogFile::new(&directory.path().join("mcp"), "s", "0");
        assert_eq!(shelf.read(), None);
        let catalog = Catalog { tools: vec![tool("a", "")], ..Catalog::default() };
        shelf.write(&catalog).unwrap();
        assert_eq!(shelf.read(), Some(catalog));
        for broken in ["", "{", "{\"format\": 0}", "{\"format\":1,\"tools\":5}"] {
            std::fs::write(&shelf.path, broken).unwrap();
            assert_eq!(shelf.read(), None, "{broken}");
        }
    }

    #[test]
    fn hashes_know_what_was_agreed_to_where_the_words_are_lost() {
        let agreed = Catalog {
            tools: vec![tool("a", "Adds."), tool("b", "Is.")],
            instructions: "Be brief.".into(),
            ..Catalog::default()
        };
        let offer = agreed.offer();
        let lost = || Catalog::default().agreed(&agreed, &offer);
        assert_eq!(lost(), agreed);
        assert!(lost().changes(&agreed, &offer).is_empty());
        let fresh = Catalog {
            tools: vec![tool("a", "Adds!"), tool("b", "Is."), tool("c", "")],
            instructions: "Be long.".into(),
            ..Catalog::default()
        };
        let changes = Catalog::default().agreed(&fresh, &offer).changes(&fresh, &offer);
        assert_eq!(changes.keys().collect::<Vec<_>>(), [INSTRUCTIONS, "a", "c"]);
        assert!(matches!(changes["a"], Change::Reworded(_)));
        assert!(matches!(changes["c"], Change::Added(_)));
        let changes = agreed.clone().agreed(&fresh, &offer).changes(&fresh, &offer);
        assert!(matches!(changes["a"], Change::Altered { .. }));
        let mut all = offer;
        for change in changes.values() {
            all.extend(change.offer());
        }
        assert_eq!(all, fresh.offer());
        // What is gone is offered no longer, and asks nothing where it comes back as it was.
        let less = Catalog { tools: vec![tool("b", "Is.")], ..agreed.clone() };
        let gone = agreed.clone().agreed(&less, &agreed.offer());
        assert_eq!(gone.tools, less.tools);
        assert!(gone.agreed(&agreed, &agreed.offer()).changes(&agreed, &agreed.offer()).is_empty());
        // Words that nobody agreed to are not those of a list that was put in the place of another.
        let put = fresh.clone().agreed(&agreed, &agreed.offer());
        assert_eq!(put.offer(), agreed.offer());
    }
}
