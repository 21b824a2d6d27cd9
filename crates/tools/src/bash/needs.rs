//! The access that a call of `Bash` requests beyond the sandbox: hosts, or the host system itself.

use contract::action::Action;
use contract::tool::ToolError;
use serde::Deserialize;

/// The name of any host.
pub(super) const ANY_HOST: &str = "*";

/// The argument `network`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(untagged)]
pub(super) enum Network {
    #[default]
    None,
    /// True for any host.
    Any(bool),
    Hosts(Vec<String>),
}

/// The hosts that `network` names, each once, in order.
pub(super) fn hosts(network: &Network) -> Result<Vec<String>, ToolError> {
    let named = match network {
        Network::None | Network::Any(false) => return Ok(Vec::new()),
        Network::Any(true) => return Ok(vec![ANY_HOST.to_owned()]),
        Network::Hosts(named) => named,
    };
    let mut hosts: Vec<String> = Vec::new();
    for name in named {
        let host = host(name).ok_or_else(|| {
            ToolError::Input(format!("`{name}` in `network` is not the name of a host"))
        })?;
        if host == ANY_HOST {
            return Ok(vec![host]);
        }
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    Ok(hosts)
}

/// The actions that request hosts and, for a command, to leave the sandbox.
pub(super) fn actions(hosts: Vec<String>, outside: Option<&str>) -> impl Iterator<Item = Action> {
    let leave = outside.map(|command| Action::LeaveSandbox { command: command.to_owned() });
    hosts.into_iter().map(|host| Action::Connect { host }).chain(leave)
}

/// The host in a name or a URL, in lower case, with its port if it has one.
pub(super) fn host(name: &str) -> Option<String> {
    let name = name.trim();
    let after_scheme = name.split_once("://").map_or(name, |(_, rest)| rest);
    let host = after_scheme.split(['/', '?', '#']).next()?;
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let is_plain = |c: char| c.is_alphanumeric() || "-._:[]*".contains(c);
    let is_named = host == ANY_HOST || host.chars().any(char::is_alphanumeric) || host == "::";
    (is_named && host.chars().all(is_plain)).then(|| host.to_lowercase())
}
