//! Finds the servers of a run in all files that configure some: the user's own first, so that nobody
//! else can take one of their names. Only reads.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::file::{parse_file, read_file};
use super::{Address, Scope, Server, Source, Transport, read};

/// Keys of the section `mcp` that are settings and no servers.
const SETTINGS: [&str; 5] =
    ["servers", "defer_above", "defer_bytes", "client_metadata_url", "start_wait_sec"];

/// The places that configure servers.
pub struct ConfigPlaces<'a> {
    /// The section `mcp` of the configuration.
    pub section: &'a Map<String, Value>,
    /// Returns true if the value at this path of the configuration was set by the user.
    pub is_own: &'a dyn Fn(&[&str]) -> bool,
    /// The user's `mcp.json`.
    pub own_file: Option<PathBuf>,
    /// The project's `.mcp.json` with its trusted content.
    pub project_file: Option<(PathBuf, &'a [u8])>,
    /// The documents of plugins.
    pub plugins: Vec<Source>,
}

/// The decisions of the rest of the program about servers.
pub struct ServerPolicy<'a> {
    /// The rule that denies a host (`name:port`), if there is one.
    pub denied_host: &'a dyn Fn(&str) -> Option<String>,
    /// Returns true if the user has switched off the server of this name.
    pub is_off: &'a dyn Fn(&str) -> bool,
    /// Completes a server: the grants of its plugin, and a command line without secrets.
    pub complete: &'a dyn Fn(&mut Server),
    /// Returns true if clients reach ourselves at this address: such a server is left out.
    pub is_own_address: &'a dyn Fn(&Address) -> bool,
}

/// The servers of a run.
#[derive(Default)]
pub struct DiscoveredServers {
    /// The servers, in the order of their names.
    pub servers: Vec<Server>,
    /// Messages about servers and keys that are ignored, and about unpinned packages.
    pub warnings: Vec<String>,
}

/// Returns true if a section `mcp` configures a server.
pub fn configures_servers(section: &Map<String, Value>) -> bool {
    section.iter().any(|(key, value)| match key.as_str() {
        "servers" => value.as_object().is_some_and(|servers| !servers.is_empty()),
        key => !SETTINGS.contains(&key),
    })
}

impl ConfigPlaces<'_> {
    /// The documents of the user's own. A file that cannot be read is skipped.
    pub fn own_sources(&self) -> Vec<Source> {
        let [own, _] = self.section_sources();
        [Some(own), self.own_file_source().ok().flatten()].into_iter().flatten().collect()
    }

    /// Reads all servers.
    pub fn discover(
        self,
        variables: &BTreeMap<String, String>,
        policy: &ServerPolicy<'_>,
    ) -> DiscoveredServers {
        let (own_file, project) = (self.own_file_source(), self.project_source());
        let unreadable = [&own_file, &project].into_iter().filter_map(|it| it.as_ref().err());
        let unreadable: Vec<String> = unreadable.cloned().collect();
        let [own, of_project] = self.section_sources();
        let sources = [Ok(Some(own)), own_file, Ok(Some(of_project)), project];
        let sources = sources.into_iter().filter_map(|source| source.ok().flatten());
        let sources: Vec<Source> = sources.chain(self.plugins).collect();
        let parsed = read(&sources, variables);
        let warnings = parsed.problems.iter().map(ToString::to_string).collect();
        let mut found = DiscoveredServers { servers: parsed.servers, warnings };
        found.servers.retain(|server| match &server.transport {
            Transport::Http(address) => !(policy.is_own_address)(address),
            Transport::Stdio(_) => true,
        });
        found.leave_out_denied(policy.denied_host);
        for server in &mut found.servers {
            (policy.complete)(server);
            server.enabled &= !(policy.is_off)(&server.name);
        }
        found.warnings.extend(unreadable);
        let unpinned: Vec<String> = found.servers.iter().filter_map(unpinned_warning).collect();
        found.warnings.extend(unpinned);
        found
    }

    fn own_file_source(&self) -> Result<Option<Source>, String> {
        let Some(path) = &self.own_file else { return Ok(None) };
        let document = read_file(path)?;
        let origin = path.display().to_string();
        Ok(document.map(|document| Source { origin, scope: Scope::User, document }))
    }

    fn project_source(&self) -> Result<Option<Source>, String> {
        let Some((path, bytes)) = &self.project_file else { return Ok(None) };
        let document = parse_file(path, bytes)?;
        let origin = path.display().to_string();
        Ok(Some(Source { origin, scope: Scope::Project, document }))
    }

    /// The servers of the configuration: those that are the user's own in every part, and the others.
    fn section_sources(&self) -> [Source; 2] {
        let (mut own, mut others) = (Map::new(), Map::new());
        let mut sort = |path: &[&str], name: &str, value: &Value| {
            let is_own = self.is_own_throughout(&mut path.to_vec(), value);
            let entries = if is_own { &mut own } else { &mut others };
            entries.insert(name.to_owned(), value.clone());
        };
        for (key, value) in self.section {
            match (key.as_str(), value) {
                ("servers", Value::Object(servers)) => {
                    for (name, value) in servers {
                        sort(&["mcp", "servers", name], name, value);
                    }
                }
                (name, value) if !SETTINGS.contains(&name) => sort(&["mcp", name], name, value),
                _ => {}
            }
        }
        let source = |origin: &str, scope, entries| Source {
            origin: origin.to_owned(),
            scope,
            document: json!({"mcpServers": Value::Object(entries)}),
        };
        [
            source("config.yaml", Scope::User, own),
            source(".brynhild/config.yaml", Scope::Project, others),
        ]
    }

    fn is_own_throughout<'a>(&self, path: &mut Vec<&'a str>, value: &'a Value) -> bool {
        (self.is_own)(path)
            && value.as_object().into_iter().flatten().all(|(key, value)| {
                path.push(key);
                let is_own = self.is_own_throughout(path, value);
                path.pop();
                is_own
            })
    }
}

impl DiscoveredServers {
    /// Leaves out servers at a host that a rule denies, with a warning for each.
    fn leave_out_denied(&mut self, denied_host: &dyn Fn(&str) -> Option<String>) {
        let warnings = &mut self.warnings;
        self.servers.retain(|server| {
            let Transport::Http(address) = &server.transport else { return true };
            let rule = denied_host(&address.host_and_port());
            warnings.extend(rule.as_ref().map(|rule| {
                let name = &server.name;
                format!("MCP server `{name}` is left out: the rule `{rule}` denies its host")
            }));
            rule.is_none()
        });
    }
}

/// The warning about a server that runs whatever version of a package is newest. For a project's
/// server the trust question has said it.
fn unpinned_warning(server: &Server) -> Option<String> {
    let package = server.unpinned.as_ref()?;
    (server.enabled && server.scope != Scope::Project).then(|| {
        let (name, what) = (&server.name, package.describe());
        let key = format!("mcp.servers.{name}.unpinned");
        format!("MCP server `{name}` {what} (`{key}: true` says that you want it so)")
    })
}
