//! `plugin grant` and `mcp grant`: write grants into the user's configuration, after a yes.

use args::{GrantArgs, McpScope};
use assemble::assembly::Assembly;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::{mcp, output};
use contract::text::closest;
use files::private;
use plugin_kit::grants::{Change, Receiver};
use serde_json::{Value, json};

use super::plugin::host::KitHost;
use crate::frontends::plugin_switch::not_found;

pub(super) fn plugin(assembly: &Assembly, args: &GrantArgs) -> Outcome {
    let name = &args.name;
    let is_known = assembly.named_plugins().iter().any(|it| it.name == *name);
    let manifest = assembly.plugins().get(name).map(|plugin| &plugin.manifest.sandbox);
    let change = match of_flags(args) {
        None if !is_known => return Err(not_found(assembly, name)),
        None => Change::Add(manifest.map(serde_json::to_value).transpose()?.unwrap_or_default()),
        Some(change) => change,
    };
    if !is_known {
        output::warning(&format!(
            "no plugin is called {name}; the grant is for a role of that name"
        ));
    }
    let path = vec!["plugins", name, "sandbox"];
    let receiver = Receiver { kind: "plugin", name, path, other: Value::Null };
    receiver.change(&KitHost::new(assembly)?, &change)?;
    Ok(Exit::Done)
}

pub(super) fn server(assembly: &Assembly, args: &GrantArgs) -> Outcome {
    let name = &args.name;
    // A plugin's servers have the grants of the plugin.
    if let Some((plugin_name, _)) = name.strip_prefix("plugin:").and_then(|it| it.split_once(':')) {
        return plugin(assembly, &GrantArgs { name: plugin_name.to_owned(), ..args.clone() });
    }
    let servers = mcp::discover(assembly).servers;
    if !servers.iter().any(|server| server.name == *name) {
        let near = closest(name, servers.iter().map(|server| server.name.as_str()));
        let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        return Err(Problem::failed(format!("there is no server {name}"))
            .hint(format!("{near}`brynhild mcp list` shows all")));
    }
    let change = of_flags(args).unwrap_or(Change::Add(Value::Null));
    let path = vec!["mcp", "servers", name, "sandbox"];
    // Grants that `mcp add` wrote.
    let servers = private::read(&mcp::file(assembly, McpScope::User)?)?.unwrap_or_default();
    let servers: Value = serde_json::from_slice(&servers).unwrap_or_default();
    let wrapped = &servers["mcpServers"][name]["sandbox"];
    let other = if wrapped.is_null() { &servers[name]["sandbox"] } else { wrapped }.clone();
    let receiver = Receiver { kind: "server", name, path, other };
    receiver.change(&KitHost::new(assembly)?, &change)?;
    Ok(Exit::Done)
}

/// The change that flags name; none without flags.
fn of_flags(args: &GrantArgs) -> Option<Change> {
    let GrantArgs { network, host, read, write, env, exec, none, .. } = args;
    if *none {
        return Some(Change::TakeBack);
    }
    let is_empty = [host, read, write, env, exec].iter().all(|list| list.is_empty());
    let network = if *network { json!(true) } else { json!(host) };
    let is_named = network == true || !is_empty;
    let named = json!({"network": network, "read": read, "write": write, "env": env, "exec": exec});
    is_named.then_some(Change::Add(named))
}
