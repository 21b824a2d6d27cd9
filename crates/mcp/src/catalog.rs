//! What a server offered when the person last agreed to it. It is kept in a file, which is both
//! the list that a start reads and the pin that a later list is compared with.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use contract::text::visible;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};

/// The form of the file.
const FORMAT: u32 = 1;
/// The most that is read of such a file.
const LARGEST: u64 = 16 << 20;

/// What a server offers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Catalog {
    /// The revision of the protocol that was agreed on.
    pub protocol: String,
    /// The server's name for itself, with its version.
    pub server: String,
    /// What it tells the model of itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub instructions: String,
    /// Its tools.
    pub tools: Vec<ToolEntry>,
    /// Its prompts.
    pub prompts: Vec<PromptEntry>,
    /// Whether it has resources.
    pub resources: bool,
    /// Why it could not be asked, where it could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Trouble>,
}

/// A catalog as its file has it.
#[derive(Serialize)]
struct Kept<'a> {
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
pub struct Trouble {
    /// What happened.
    pub message: String,
    /// When, in seconds since 1970.
    pub at: i64,
}

/// A tool as its server describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolEntry {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it does.
    pub description: String,
    /// The schema of its arguments.
    pub input_schema: Map<String, Value>,
    /// What the server says of its effects: hints that grant nothing.
    pub hints: Hints,
}

/// What a server says of a tool's effects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may destroy something.
    pub destructive: Option<bool>,
    /// It may be called again without a further effect.
    pub idempotent: Option<bool>,
    /// It talks to the outside.
    pub open_world: Option<bool>,
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
pub struct PromptEntry {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its arguments, in order.
    pub arguments: Vec<ArgumentEntry>,
}

/// An argument of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArgumentEntry {
    /// Its name.
    pub name: String,
    /// What it means.
    pub description: String,
    /// Whether the prompt needs it.
    pub required: bool,
}

/// What is different from what the person agreed to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// A tool that was not there.
    Added(ToolEntry),
    /// A tool that reads otherwise.
    Altered { was: ToolEntry, is: ToolEntry },
    /// What the server tells the model of itself reads otherwise.
    Instructions { was: String, is: String },
}

/// The key of a change of the instructions: no tool has it.
const INSTRUCTIONS: &str = "(instructions)";

impl Change {
    /// What it is about: a tool, or the instructions.
    fn key(&self) -> String {
        match self {
            Self::Added(entry) | Self::Altered { is: entry, .. } => entry.name.clone(),
            Self::Instructions { .. } => INSTRUCTIONS.to_owned(),
        }
    }

    /// The change in words for a person.
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

impl Catalog {
    /// Compares what a server offers with what the person agreed to.
    pub(crate) fn changes(&self, fresh: &Self) -> BTreeMap<String, Change> {
        let known = |name: &str| self.tools.iter().find(|tool| tool.name == name);
        let changes = fresh.tools.iter().filter_map(|tool| match known(&tool.name) {
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
            Change::Added(entry) | Change::Altered { is: entry, .. } => entry.clone(),
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
    pub fn digest(&self) -> String {
        let read = serde_json::json!([self.tools, self.instructions]);
        digest(&read)
    }
}

/// A hash of a value that does not depend on the order of keys.
pub(crate) fn digest(value: &Value) -> String {
    blake3::hash(sorted(value).to_string().as_bytes()).to_hex()[..16].to_owned()
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

/// The file of one server's catalog.
#[derive(Clone, Debug)]
pub(crate) struct Shelf {
    path: PathBuf,
}

impl Shelf {
    /// The file for a server whose name for tools is `prefix`, as described by `digest`.
    pub(crate) fn new(folder: &Path, prefix: &str, digest: &str) -> Self {
        Self { path: folder.join(format!("{prefix}-{digest}.json")) }
    }

    /// What is kept; none where nothing is. What is there and cannot be used is an error: somebody
    /// agreed to something.
    pub(crate) fn read(&self) -> io::Result<Option<Catalog>> {
        use std::io::Read;
        let file = match fs::File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        // One read where it would be ten: there may be many servers, and all are read at every start.
        let length = file.metadata()?.len().min(LARGEST);
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default() + 1);
        file.take(LARGEST).read_to_end(&mut bytes)?;
        if Version::of(&bytes)? != FORMAT {
            return Err(io::Error::other("it is of another version"));
        }
        Ok(Some(serde_json::from_slice(&bytes)?))
    }

    /// Why what is kept cannot be read.
    pub(crate) fn describe(&self, error: &io::Error) -> String {
        format!("{}: {error}", self.path.display())
    }

    /// Keeps a catalog.
    pub(crate) fn write(&self, catalog: &Catalog) -> io::Result<()> {
        let kept = Kept { format: FORMAT, catalog };
        replace(&self.path, &serde_json::to_vec(&kept)?)
    }

    /// Forgets what is kept.
    pub(crate) fn forget(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }
}

/// Puts bytes in place of a file of the person's: a reader sees the old or the new, whole.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let draft = path.with_extension(format!("{}.draft", std::process::id()));
    let mut file =
        fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&draft)?;
    file.write_all(bytes)?;
    // After a crash too: half of what a person agreed to is worth nothing.
    file.sync_all()?;
    fs::rename(&draft, path)?;
    fs::File::open(folder)?.sync_all()
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
        let changes = was.changes(&is);
        assert_eq!(changes.keys().collect::<Vec<_>>(), ["a", "c"]);
        let text = changes["a"].describe("s");
        assert!(text.contains("- Adds.") && text.contains("+ Adds!"), "{text}");
        assert!(matches!(changes["c"], Change::Added(_)));
        assert_ne!(was.digest(), is.digest());
        assert!(was.changes(&was).is_empty());
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
        let changes = was.changes(&told("Be long."));
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
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf::new(&folder.path().join("mcp"), "s", "0");
        assert_eq!(shelf.read().unwrap(), None);
        let catalog = Catalog { tools: vec![tool("a", "")], ..Catalog::default() };
        shelf.write(&catalog).unwrap();
        assert_eq!(shelf.read().unwrap(), Some(catalog));
        fs::write(&shelf.path, "{").unwrap();
        assert!(shelf.read().is_err());
        fs::write(&shelf.path, "{\"format\": 0}").unwrap();
        assert!(shelf.read().is_err());
        shelf.forget().unwrap();
        shelf.forget().unwrap();
    }
}
