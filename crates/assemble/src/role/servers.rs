//! The MCP servers of a role. Their tools have the names that the servers give them, as the role's
//! prompt expects, and a server starts when something needs it.

use std::sync::Arc;

use ::mcp::Servers;
use ::mcp::config::{ConfigProblem, ParsedServers, Scope, Server, Source, Transport};
use contract::action::Action;
use contract::policy::{Decision, Mode};
use contract::tool::{Recovery, Risk, ToolSpec, Traits};
use initrunner::role::{Role, ToolEntry};
use serde_json::{Map, Value, json};

use super::tools::{self, Brought};
use crate::assembly::Assembly;
use crate::exit::Problem;
use crate::mcp;
use crate::output;
use crate::permissions;

const SAME: [&str; 6] = ["command", "args", "env", "cwd", "url", "headers"];

/// The keys of an entry that count, and those that are known and do nothing here.
const KEYS: [&str; 13] = [
    "transport",
    "command",
    "args",
    "url",
    "tool_filter",
    "tool_exclude",
    "headers",
    "env",
    "cwd",
    "tool_prefix",
    "timeout_seconds",
    "timeout",
    "max_retries",
];

pub(super) struct Described {
    server: Server,
    prefix: Option<String>,
    pub(super) problems: Vec<String>,
}

/// Reads an entry. An error says why there is no server.
pub(super) fn described(
    assembly: &Assembly,
    role: &Role,
    (place, entry): (&str, &ToolEntry),
) -> Result<Described, String> {
    let fields = &entry.fields;
    let mut problems = Vec::new();
    let usual = ["type", "permissions", "approval", "defer"];
    let unknown: Vec<&str> = fields
        .keys()
        .map(String::as_str)
        .filter(|key| !KEYS.contains(key) && !usual.contains(key))
        .collect();
    if !unknown.is_empty() {
        let text = format!("Unknown keys for tool 'mcp': ['{}']", unknown.join("', '"));
        if !role.is_enveloped {
            return Err(text);
        }
        problems.push(text);
    }
    let document = document(fields)?;
    let name = server_name(role, place);
    let came_along = super::came_with_project(assembly, role);
    let source = Source {
        origin: role.file.display().to_string(),
        scope: if came_along { Scope::Project } else { Scope::User },
        document: json!({"mcpServers": {name.as_str(): document}}),
    };
    let mut sources = mcp::own_sources(assembly);
    sources.push(source);
    let nothing = std::collections::BTreeMap::new();
    // A file that came with a project does not decide where a key goes.
    let variables = if came_along { &nothing } else { &assembly.environment.variables };
    let ParsedServers { servers, problems: found } = ::mcp::config::read(&sources, variables);
    let is_own = |problem: &&ConfigProblem| problem.server.as_deref() == Some(name.as_str());
    let said: Vec<String> = found.iter().filter(is_own).map(ConfigProblem::sentence).collect();
    let Some(server) = servers.into_iter().find(|server| server.name == name) else {
        let why = if came_along {
            " (the role belongs to an untrusted project, so it gets no variables)"
        } else {
            ""
        };
        return Err(format!("the server {}{why}", said.join("; ")));
    };
    problems.extend(said.iter().map(|text| format!("the server {text}")));
    let unpinned = server.unpinned.iter();
    problems.extend(unpinned.map(|package| format!("the server {}", package.describe())));
    let prefix = fields.get("tool_prefix").and_then(Value::as_str);
    let prefix = prefix.filter(|prefix| !prefix.is_empty()).map(str::to_owned);
    Ok(Described { server, prefix, problems })
}

fn server_name(role: &Role, place: &str) -> String {
    let digits: String = place.chars().filter(char::is_ascii_digit).collect();
    format!("{}-{digits}", role.name)
}

/// The entry in the shape that descriptions of servers have everywhere else.
fn document(fields: &Map<String, Value>) -> Result<Value, String> {
    let is_set = |value: &&Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(entries) => !entries.is_empty(),
        Value::String(text) => !text.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    };
    let mut document = Map::new();
    for key in SAME {
        if let Some(value) = fields.get(key).filter(is_set) {
            document.insert(key.to_owned(), value.clone());
        }
    }
    let transport = fields.get("transport").and_then(Value::as_str).unwrap_or("stdio");
    let (kind, needed) = match transport {
        "stdio" => ("stdio", "command"),
        "streamable-http" | "streamable_http" | "http" => ("http", "url"),
        "sse" => {
            return Err(String::from("`transport: sse` is not supported; use streamable-http"));
        }
        other => {
            return Err(format!(
                "`transport: {other}` is not known; there are stdio and streamable-http"
            ));
        }
    };
    if !document.contains_key(needed) {
        return Err(format!("`{needed}` is missing, which `transport: {transport}` needs"));
    }
    document.insert("type".to_owned(), kind.into());
    let time = ["timeout_seconds", "timeout"].iter().find_map(|key| fields.get(*key));
    if let Some(seconds) = time.and_then(Value::as_f64) {
        document.insert("tool_timeout_sec".to_owned(), json!(seconds));
    }
    let lists = [("tool_filter", "includeTools"), ("tool_exclude", "excludeTools")];
    let named: Vec<_> =
        lists.iter().filter(|(key, _)| fields.get(*key).is_some_and(|it| is_set(&it))).collect();
    if named.len() == 2 {
        return Err(String::from("`tool_filter` and `tool_exclude` exclude each other"));
    }
    for (key, name) in named {
        document.insert((*name).to_owned(), fields[*key].clone());
    }
    Ok(Value::Object(document))
}

/// A server that may be asked what it offers. One at an address that a project chose which is not trusted
/// is at no private address, and is asked about as every other host. The error says why there is none.
async fn reached(assembly: &Assembly, role: &Role, server: Server) -> Result<Servers, String> {
    let said = |problem: Problem| problem.message();
    let address = match &server.transport {
        Transport::Http(address) => Some(address.clone()),
        Transport::Stdio(_) => None,
    };
    // In read-only mode none is reached, whoever chose it.
    let is_asked = super::came_with_project(assembly, role) && assembly.mode() != Mode::ReadOnly;
    let Some(address) = address.filter(|_| is_asked) else {
        return mcp::with_servers(assembly, vec![server], None).map_err(said);
    };
    let resolver = tools::requests(assembly, role).resolver(&address.url)?;
    let (name, host) = (server.name.clone(), address.host());
    let servers = mcp::with_servers(assembly, vec![server], resolver).map_err(said)?;
    let policy = permissions::policy(assembly, assembly.root().map_err(said)?).map_err(said)?;
    let action = Action::Connect { host: host.clone() };
    let caller = caller(&name, &format!("mcp:project:{name}"), Risk::HighImpact);
    let ruling = policy.judge(&caller, &[action], assembly.mode());
    match ruling.decision {
        Decision::Allow => Ok(servers),
        Decision::Ask if servers.may_connect(&name, &host).await => Ok(servers),
        Decision::Ask => Err(format!(
            "the role belongs to an untrusted project, and nobody agreed to {host} \
             (`permissions.allow: ['Host({host})']` does)"
        )),
        Decision::Deny => {
            let why = ruling.deciding().map(|reason| reason.why.clone()).unwrap_or_default();
            Err(format!("{host}: {why}"))
        }
    }
}

/// The caller of an action that is judged before there is a tool.
pub(super) fn caller(name: &str, source: &str, risk_level: Risk) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        input_schema: json!({"type": "object"}).into(),
        version: String::new(),
        categories: Vec::new(),
        requires_permission: risk_level != Risk::ReadOnly,
        risk_level,
        recovery_policy: Recovery::Deny,
        parallel: false,
        source: source.to_owned(),
        traits: Traits::default(),
    }
}

/// Makes the tools of an entry. The server is started where it is not known yet what it offers.
pub(super) async fn open(
    assembly: &Assembly,
    role: &Role,
    (place, entry): (&str, &ToolEntry),
) -> Brought {
    let Ok(described) = described(assembly, role, (place, entry)) else {
        return Brought::default();
    };
    let servers = match reached(assembly, role, described.server).await {
        Ok(servers) => servers,
        Err(why) => {
            output::warning(&format!("{place}: the server is ignored: {why}"));
            return Brought::default();
        }
    };
    servers.fetch_catalogs().await;
    // A role has asked for tools, not for resources.
    let tools = servers.tools_by_own_name(described.prefix.as_deref());
    Brought { tools, server: Some(Arc::new(servers)) }
}
