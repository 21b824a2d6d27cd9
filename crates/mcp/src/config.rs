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
pub use file::{EditError, FileKind, ServerFile};
pub use unpinned::{UnpinnedPackage, unpinned_package};

/// The origin of a server's configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The user's own files.
    User,
    /// The plugin of this name.
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
    pub name: String,
    pub scope: Scope,
    /// The file that configures it, for messages.
    pub origin: String,
    pub transport: Transport,
    /// Its command line or URL as written, variables not replaced.
    pub shown: String,
    pub enabled: bool,
    /// The time to start and to list its tools.
    pub start_timeout: Duration,
    pub call_timeout: Duration,
    /// Selects its tools.
    pub filter: ToolFilter,
    /// The user's grants.
    pub grants: Grants,
    /// The package without a fixed version that it runs; none if the user wants it so.
    pub unpinned: Option<UnpinnedPackage>,
    /// A hash of the configuration as written.
    pub digest: String,
}

/// A shorter value is not redacted: it could stand in any text.
const MIN_KEY_LENGTH: usize = 8;

impl Server {
    /// Removes the keys that the server gets from a text: the values of its variables and headers. The
    /// server may repeat them.
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
            if key.len() >= MIN_KEY_LENGTH && !key.starts_with(['/', '~']) && text.contains(key) {
                text = text.replace(key, "[redacted]");
            }
        }
        text
    }
}

/// The transport to a server.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// A program that speaks on its standard streams.
    Stdio(Program),
    /// Streamable HTTP.
    Http(Address),
}

/// A program to start.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    pub command: String,
    pub args: Vec<String>,
    pub env: BTreeMap<String, Secret<String>>,
    /// Names of variables that it gets from the user's environment.
    pub inherited: Vec<String>,
    /// The working directory; by default the workspace.
    pub cwd: Option<PathBuf>,
}

/// The address of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    pub url: String,
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

/// Selects the tools of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// These alone, if set.
    pub only: Option<Vec<String>>,
    pub without: Vec<String>,
}

impl ToolFilter {
    /// Returns true if a tool is selected.
    pub fn admits(&self, tool: &str) -> bool {
        let is_named = |names: &[String]| names.iter().any(|name| name == tool);
        self.only.as_deref().is_none_or(is_named) && !is_named(&self.without)
    }
}

/// The grants of the user to a server, beyond reading the workspace and writing its own data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    pub network: Network,
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    /// Names of environment variables.
    pub env: Vec<String>,
    /// Programs outside the system's directories.
    pub exec: Vec<PathBuf>,
}

/// A document that configures servers.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file, for messages.
    pub origin: String,
    pub scope: Scope,
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
    /// The file, for messages.
    pub origin: String,
    /// The server; none for the whole document.
    pub server: Option<String>,
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
    let mut entries = document.clone();
    entries.retain(|name, _| !is_setting(name));
    Ok(entries)
}

/// Reads the servers of documents. The first of a name counts, so that nobody takes the name of
/// one that stands before it.
pub fn read(sources: &[Source], variables: &BTreeMap<String, String>) -> ParsedServers {
    let mut parsed = ParsedServers::default();
    let mut grants = BTreeMap::new();
    for source in sources {
        match entries(&source.document) {
            Ok(entries) => {
                for (name, value) in entries {
                    if source.scope == Scope::User && entry::is_grant_alone(&value) {
                        grants.insert(name, (source, value));
                    } else {
                        parsed.add(source, (&name, &value), variables);
                    }
                }
            }
            Err(reason) => parsed.problem(source, None, (ProblemKind::LeftOut, reason)),
        }
    }
    for (name, (source, entry)) in grants {
        let Some(server) = parsed.servers.iter_mut().find(|it| it.name == name) else { continue };
        let mut ignored = Vec::new();
        if let Some(value) = entry.get("sandbox") {
            server.grants = entry::grants(&name, value, &mut ignored);
        }
        if entry::is_unpinned(&entry) {
            server.unpinned = None;
        }
        for reason in ignored {
            parsed.problem(source, Some(&name), (ProblemKind::Ignored, reason));
        }
    }
    parsed.servers.sort_by(|a, b| a.name.cmp(&b.name));
    parsed
}

impl ParsedServers {
    fn problem(
        &mut self,
        source: &Source,
        server: Option<&str>,
        (kind, reason): (ProblemKind, String),
    ) {
        let (origin, server) = (source.origin.clone(), server.map(str::to_owned));
        self.problems.push(ConfigProblem { origin, server, kind, reason });
    }

    fn add(
        &mut self,
        source: &Source,
        (name, value): (&str, &Value),
        variables: &BTreeMap<String, String>,
    ) {
        let mut ignored = Vec::new();
        let parsed = self.check_name(name);
        let parsed =
            parsed.and_then(|()| entry::server(source, (name, value), variables, &mut ignored));
        for reason in ignored {
            self.problem(source, Some(name), (ProblemKind::Ignored, reason));
        }
        let left_out = match parsed {
            Ok(server) => return self.servers.push(server),
            Err(EntryError::Invalid(reason)) => (ProblemKind::LeftOut, reason),
            Err(EntryError::UnsetVariable(variable)) => {
                (ProblemKind::UnsetVariable, format!("variable `{variable}` is not set"))
            }
        };
        self.problem(source, Some(name), left_out);
    }

    /// Fails if a name cannot be used, or is taken.
    fn check_name(&self, name: &str) -> Result<(), EntryError> {
        let prefix = tool_name::prefix(name).ok_or("a name holds letters or digits")?;
        let is_taken = |it: &&Server| tool_name::prefix(&it.name).as_deref() == Some(&prefix);
        self.servers.iter().find(is_taken).map_or(Ok(()), |taken| {
            let (origin, name) = (&taken.origin, &taken.name);
            Err(format!("{origin} has a server `{name}`").into())
        })
    }
}
