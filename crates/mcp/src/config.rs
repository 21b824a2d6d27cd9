//! Servers as configuration files describe them: the usual `mcpServers` shape, with or without the
//! wrapper, and the spellings of other clients. Only reads; nothing is started here.

pub(crate) mod command_line;
mod entry;
mod expand;
mod floating;
pub mod foreign;
pub(crate) mod interpreters;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use contract::sandbox::Network;
use contract::secret::Secret;
use serde_json::{Map, Value};

use crate::name;

pub use command_line::{Command, CommandLine, CommandReader, Stands, UNKNOWN};
pub use expand::expand;
pub use floating::{Floating, floating_entry};

/// Where a server's description comes from. It decides whose word it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The user's own files.
    User,
    /// A plugin.
    Plugin(String),
    /// The project's file, which the user has trusted.
    Project,
}

impl Scope {
    /// The scope as one word or two.
    pub fn label(&self) -> String {
        match self {
            Self::User => "user".to_owned(),
            Self::Plugin(name) => format!("plugin {name}"),
            Self::Project => "project".to_owned(),
        }
    }
}

/// A server as configured.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// Whose word it is.
    pub scope: Scope,
    /// The file it stands in, for people.
    pub origin: String,
    /// How it is reached.
    pub transport: Transport,
    /// Its command line or address as written, variables not replaced.
    pub shown: String,
    /// Whether it is switched on.
    pub enabled: bool,
    /// How long it may take to start and say what it offers.
    pub start_timeout: Duration,
    /// How long one call may take.
    pub call_timeout: Duration,
    /// Which of its tools count.
    pub filter: Filter,
    /// What the user grants it.
    pub grants: Grants,
    /// The package of which it takes whatever version is newest; none where the user wants that.
    pub floating: Option<Floating>,
    /// What identifies this description: a hash of it as written.
    pub digest: String,
}

/// What is shorter is no key, and could stand in anything.
const SHORTEST_KEY: usize = 8;

impl Server {
    /// A text without the keys that the server gets: the values of its variables and headers. What
    /// it says may repeat them.
    pub fn without_keys(&self, text: &str) -> String {
        let given = match &self.transport {
            Transport::Stdio(program) => &program.env,
            Transport::Http(address) => &address.headers,
        };
        let values = given.values().map(|value| value.expose().as_str());
        // Of `Bearer key` the key alone is one too; a path is none, and messages need it.
        let keys = values.flat_map(|value| [Some(value), value.rsplit_once(' ').map(|it| it.1)]);
        let mut text = text.to_owned();
        for key in keys.flatten() {
            if key.len() >= SHORTEST_KEY && !key.starts_with(['/', '~']) && text.contains(key) {
                text = text.replace(key, "[redacted]");
            }
        }
        text
    }
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// A program that speaks on its standard streams.
    Stdio(Program),
    /// An address.
    Http(Address),
}

/// A program to start.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its variables.
    pub env: BTreeMap<String, Secret<String>>,
    /// Variables that it gets from the user's environment.
    pub inherited: Vec<String>,
    /// Where it runs; the workspace where none.
    pub cwd: Option<PathBuf>,
}

/// An address to talk to.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// The address.
    pub url: String,
    /// Headers of every request.
    pub headers: BTreeMap<String, Secret<String>>,
}

impl Address {
    /// The host with its port, as rules name it.
    pub fn host(&self) -> String {
        let rest = self.url.split_once("://").map_or(self.url.as_str(), |(_, rest)| rest);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        authority.rsplit('@').next().unwrap_or_default().to_owned()
    }
}

/// Which tools of a server count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// These alone, where any are named.
    pub only: Option<Vec<String>>,
    /// Not these.
    pub without: Vec<String>,
}

impl Filter {
    /// Whether a tool counts.
    pub fn admits(&self, tool: &str) -> bool {
        let is_named = |names: &[String]| names.iter().any(|name| name == tool);
        self.only.as_deref().is_none_or(is_named) && !is_named(&self.without)
    }
}

/// What a server may do beyond the least: read the workspace, write its own data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// What it reaches of the network.
    pub network: Network,
    /// Further paths it reads.
    pub read: Vec<PathBuf>,
    /// Paths it writes.
    pub write: Vec<PathBuf>,
    /// Variables it sees.
    pub env: Vec<String>,
    /// Programs outside the system's directories that it runs.
    pub exec: Vec<PathBuf>,
}

/// A document that describes servers.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file, for people.
    pub origin: String,
    /// Whose word it is.
    pub scope: Scope,
    /// Its content.
    pub document: Value,
}

/// What was found in documents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The servers, each name once, in the order of their names.
    pub servers: Vec<Server>,
    /// What was left out or ignored, one message each.
    pub problems: Vec<String>,
}

/// The wrappers under which documents keep their servers.
const WRAPPERS: [&str; 5] = ["mcpServers", "mcp_servers", "servers", "mcp", "extensions"];

/// The entries of a document: behind one of the known wrappers, or the document itself.
pub fn entries(document: &Value) -> Result<Map<String, Value>, String> {
    let Value::Object(document) = document else {
        return Err("it is not an object".to_owned());
    };
    for wrapper in WRAPPERS {
        match document.get(wrapper) {
            Some(Value::Object(entries)) if !entry::is_entry(entries) => return Ok(entries.clone()),
            Some(Value::Object(_)) | None => {}
            Some(_) => return Err(format!("`{wrapper}` is not an object")),
        }
    }
    let is_setting = |name: &str| name.starts_with('$') || name == "inputs";
    Ok(document.iter().filter(|(name, _)| !is_setting(name)).map(own).collect())
}

fn own((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

/// Reads the servers of documents. The first of a name counts, so that nobody takes the name of
/// one that stands before it. Variables come from `variables`, command lines are read by `reader`.
pub fn read(
    sources: &[Source],
    variables: &BTreeMap<String, String>,
    reader: CommandReader,
) -> Found {
    let mut found = Found::default();
    let grants = grants_alone(sources);
    for source in sources {
        let entries = match entries(&source.document) {
            Ok(entries) => entries,
            Err(problem) => {
                found.problems.push(format!("{}: {problem}", source.origin));
                continue;
            }
        };
        for (name, value) in entries {
            if source.scope == Scope::User && entry::is_grant_alone(&value) {
                continue;
            }
            add(&mut found, source, (&name, &value), (variables, reader));
        }
    }
    for server in &mut found.servers {
        let Some(entry) = grants.get(&server.name) else { continue };
        if let Some(value) = entry.get("sandbox") {
            let mut problems = Vec::new();
            server.grants = entry::grants(&server.name, value, &mut problems);
            found.problems.extend(problems.iter().map(|text| format!("{}: {text}", server.name)));
        }
        if entry::is_unpinned(entry) {
            server.floating = None;
        }
    }
    found.servers.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// What the user grants to servers that are described elsewhere, by name.
fn grants_alone(sources: &[Source]) -> BTreeMap<String, Value> {
    let own = sources.iter().filter(|source| source.scope == Scope::User);
    own.filter_map(|source| entries(&source.document).ok())
        .flatten()
        .filter(|(_, value)| entry::is_grant_alone(value))
        .collect()
}

fn add(
    found: &mut Found,
    source: &Source,
    (name, value): (&str, &Value),
    by: (&BTreeMap<String, String>, CommandReader),
) {
    let origin = &source.origin;
    let mut say = |text: String| found.problems.push(format!("{origin}: server `{name}` {text}"));
    let Some(prefix) = name::prefix(name) else {
        return say("is left out: a name holds letters or digits".to_owned());
    };
    let taken = found.servers.iter().find(|it| name::prefix(&it.name).as_deref() == Some(&prefix));
    if let Some(taken) = taken {
        let text = format!("is left out: {} has a server `{}`", taken.origin, taken.name);
        return say(text);
    }
    let mut problems = Vec::new();
    match entry::server(source, (name, value), by, &mut problems) {
        Ok(server) => found.servers.push(server),
        Err(problem) => problems.push(format!("is left out: {problem}")),
    }
    let tell = |text: String| format!("{origin}: server `{name}` {text}");
    found.problems.extend(problems.into_iter().map(tell));
}
