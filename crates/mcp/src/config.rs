//! Servers as configuration files describe them: the usual `mcpServers` shape, with or without the
//! wrapper, and the spellings of other clients. Only reads; nothing is started here.

mod discovery;
mod entry;
mod expand;
mod file;
pub mod foreign;
#[cfg(test)]
mod tests;
mod unpinned;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use contract::sandbox::Network;
use contract::secret::Secret;
use serde_json::{Map, Value};

use crate::tool_name;
use entry::EntryError;

pub use discovery::{ConfigPlaces, DiscoveredServers, ServerPolicy, configures_servers};
pub use file::{EditError, FileKind, edit_file, read_file};
pub use unpinned::{UnpinnedPackage, unpinned_package};

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
    /// The package without a fixed version that it runs; none if the user wants it so.
    pub unpinned: Option<UnpinnedPackage>,
    /// What identifies this description: a hash of it as written.
    pub digest: String,
}

/// What is shorter is no key, and could stand in anything.
const SHORTEST_KEY: usize = 8;

impl Server {
    /// A text without the keys that the server gets: the values of its variables and headers. What
    /// it says may repeat them.
    pub fn redact(&self, text: &str) -> String {
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

    /// The host with its port, the default one if none is written.
    pub(crate) fn host_and_port(&self) -> String {
        let mut host = self.host();
        if !host.rsplit(']').next().is_some_and(|rest| rest.contains(':')) {
            host += if self.url.starts_with("https:") { ":443" } else { ":80" };
        }
        host
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

/// The servers of documents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedServers {
    /// The servers, each name once, in the order of their names.
    pub servers: Vec<Server>,
    /// The parts of the documents that are not used.
    pub problems: Vec<ConfigProblem>,
}

/// A part of a document that is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The file, for people.
    pub origin: String,
    /// The server; none for the whole document.
    pub server: Option<String>,
    /// The part that is not used.
    pub kind: ProblemKind,
    /// The reason, a sentence about the server or the document.
    pub reason: String,
}

/// The part of a document that is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// A key or a value.
    Ignored,
    /// The whole server or document.
    LeftOut,
    /// The whole server, since an environment variable is not set.
    UnsetVariable,
}

impl ConfigProblem {
    /// The message without the file.
    pub fn message(&self) -> String {
        match &self.server {
            Some(name) => format!("server `{name}` {}", self.sentence()),
            None => self.reason.clone(),
        }
    }

    /// The message without its subject.
    pub fn sentence(&self) -> String {
        match self.kind {
            ProblemKind::Ignored => self.reason.clone(),
            ProblemKind::LeftOut | ProblemKind::UnsetVariable => {
                format!("is left out: {}", self.reason)
            }
        }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.message())
    }
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
/// one that stands before it.
pub fn read(sources: &[Source], variables: &BTreeMap<String, String>) -> ParsedServers {
    let mut parsed = ParsedServers::default();
    let grants = grants_alone(sources);
    for source in sources {
        let entries = match entries(&source.document) {
            Ok(entries) => entries,
            Err(reason) => {
                let (origin, kind) = (source.origin.clone(), ProblemKind::LeftOut);
                parsed.problems.push(ConfigProblem { origin, server: None, kind, reason });
                continue;
            }
        };
        for (name, value) in entries {
            if source.scope != Scope::User || !entry::is_grant_alone(&value) {
                parsed.add(source, (&name, &value), variables);
            }
        }
    }
    for server in &mut parsed.servers {
        let Some((source, entry)) = grants.get(&server.name) else { continue };
        if let Some(value) = entry.get("sandbox") {
            let mut ignored = Vec::new();
            server.grants = entry::grants(&server.name, value, &mut ignored);
            parsed.problems.extend(ignored.into_iter().map(|reason| ConfigProblem {
                origin: source.origin.clone(),
                server: Some(server.name.clone()),
                kind: ProblemKind::Ignored,
                reason,
            }));
        }
        if entry::is_unpinned(entry) {
            server.unpinned = None;
        }
    }
    parsed.servers.sort_by(|a, b| a.name.cmp(&b.name));
    parsed
}

/// The user's grants to servers that are configured elsewhere, by name.
fn grants_alone(sources: &[Source]) -> BTreeMap<String, (&Source, Value)> {
    let own = sources.iter().filter(|source| source.scope == Scope::User);
    own.filter_map(|source| Some((source, entries(&source.document).ok()?)))
        .flat_map(|(source, entries)| entries.into_iter().map(move |it| (it.0, (source, it.1))))
        .filter(|(_, (_, value))| entry::is_grant_alone(value))
        .collect()
}

impl ParsedServers {
    fn add(
        &mut self,
        source: &Source,
        (name, value): (&str, &Value),
        variables: &BTreeMap<String, String>,
    ) {
        let mut ignored = Vec::new();
        let left_out = match self.parse(source, (name, value), variables, &mut ignored) {
            Ok(server) => {
                self.servers.push(server);
                None
            }
            Err(EntryError::Invalid(reason)) => Some((ProblemKind::LeftOut, reason)),
            Err(EntryError::UnsetVariable(variable)) => {
                let reason = format!("variable `{variable}` is not set");
                Some((ProblemKind::UnsetVariable, reason))
            }
        };
        let ignored = ignored.into_iter().map(|reason| (ProblemKind::Ignored, reason));
        self.problems.extend(ignored.chain(left_out).map(|(kind, reason)| ConfigProblem {
            origin: source.origin.clone(),
            server: Some(name.to_owned()),
            kind,
            reason,
        }));
    }

    fn parse(
        &self,
        source: &Source,
        (name, value): (&str, &Value),
        variables: &BTreeMap<String, String>,
        ignored: &mut Vec<String>,
    ) -> Result<Server, EntryError> {
        let prefix = tool_name::prefix(name).ok_or("a name holds letters or digits")?;
        let is_taken = |it: &&Server| tool_name::prefix(&it.name).as_deref() == Some(&prefix);
        if let Some(taken) = self.servers.iter().find(is_taken) {
            let (origin, name) = (&taken.origin, &taken.name);
            return Err(format!("{origin} has a server `{name}`").into());
        }
        entry::server(source, (name, value), variables, ignored)
    }
}
