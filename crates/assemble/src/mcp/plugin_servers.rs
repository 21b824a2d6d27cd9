//! MCP servers that plugins describe in files.

use std::collections::BTreeMap;

use ::mcp::config::{self, ConfigProblem, ProblemKind, Scope, Server, Source};
use contract::sandbox::Network;
use plugins::dialects::Loaded;
use plugins::plugin::Plugin;
use serde_json::{Map, Value, json};

use super::variables;
use crate::assembly::Assembly;
use crate::output;

/// The documents of plugins that describe servers.
pub(super) fn sources(assembly: &Assembly) -> Vec<Source> {
    let described = assembly.loaded_plugins().filter_map(Loaded::described_servers);
    described.map(|(plugin, servers)| source(plugin, servers)).collect()
}

fn source(plugin: &Plugin, servers: &Map<String, Value>) -> Source {
    let full = |(name, entry): (&String, &Value)| (full_name(plugin, name), entry.clone());
    let servers: Map<String, Value> = servers.iter().map(full).collect();
    Source {
        origin: plugin.root.display().to_string(),
        scope: Scope::Plugin(plugin.name().to_owned()),
        document: json!({"mcpServers": servers}),
    }
}

/// The name by which everything else knows a server of a plugin.
fn full_name(plugin: &Plugin, server: &str) -> String {
    format!("plugin:{}:{server}", plugin.name())
}

/// The faults of the servers that a plugin describes, by their names.
pub(crate) fn faults(
    assembly: &Assembly,
    plugin: &Plugin,
    servers: &Map<String, Value>,
) -> BTreeMap<String, String> {
    let found = config::read(&[source(plugin, servers)], &variables(assembly));
    let fault = |name: &String| {
        let full = full_name(plugin, name);
        if found.servers.iter().any(|server| server.name == full) {
            return None;
        }
        let is_why = |problem: &&ConfigProblem| {
            problem.server.as_deref() == Some(&full) && problem.kind != ProblemKind::Ignored
        };
        let why = found.problems.iter().find(is_why).map(|problem| problem.reason.as_str());
        Some((name.clone(), why.unwrap_or("it is not a path").to_owned()))
    };
    servers.keys().filter_map(fault).collect()
}

/// Gives a server of a plugin the plugin's directory, data and grants.
pub(super) fn equip(assembly: &Assembly, server: &mut Server) {
    let Scope::Plugin(name) = &server.scope else { return };
    let Some(plugin) =
        assembly.loaded_plugins().filter_map(|it| it.plugin.as_ref()).find(|it| it.name() == name)
    else {
        return;
    };
    let data = assembly.plugin_env().plugin_data().join(name);
    if let Err(error) = std::fs::create_dir_all(&data) {
        output::warning(&format!("cannot make {}: {error}", data.display()));
    }
    let granted = &plugin.settings.grants;
    let grants = &mut server.grants;
    if grants.network == Network::None {
        grants.network = granted.network.granted(name);
    }
    grants.read.push(plugin.root.clone());
    grants.read.extend(granted.read.iter().cloned());
    grants.write.push(data);
    grants.write.extend(granted.write.iter().cloned());
    grants.env.extend(granted.env.iter().cloned());
}
