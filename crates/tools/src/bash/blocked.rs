//! Recognizes in the result of a command which accesses the sandbox blocked, and names the call that
//! would request them. Pure: it reads the output only.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use contract::sandbox::{Access, Blocked, Network, Profile};
use files::protected::protected;
use serde_json::{Map, Value, json};

use super::needs;

/// The last bytes of the output that are searched.
const SEARCHED: usize = 64 << 10;
const MAX_NAMED: usize = 5;
/// Programs print these before the host that they could not resolve.
const RESOLVER_ERRORS: [&str; 10] = [
    "Could not resolve host: ",
    "Could not resolve hostname ",
    "getaddrinfo ENOTFOUND ",
    "getaddrinfo EAI_AGAIN ",
    "unable to resolve host address ",
    "could not translate host name ",
    "Failed to resolve ",
    "failed to lookup address for ",
    "dial tcp: lookup ",
    "Failed to connect to ",
];
/// The resolver's own error, in lines that name the host in another form.
const RESOLVER_FAILURES: [&str; 2] =
    ["Temporary failure in name resolution", "nodename nor servname provided"];
/// Names of this machine.
const LOCAL: [&str; 4] = ["localhost", "127.0.0.1", "::1", "0.0.0.0"];
/// Errors of a connection that nothing accepted.
const REFUSED: [&str; 4] =
    ["onnection refused", "ECONNREFUSED", "Couldn't connect to server", "Failed to connect to "];
/// Errors of programs that need the Docker socket.
const DOCKER: [&str; 3] =
    ["Cannot connect to the Docker daemon", "docker.sock", "failed to connect to the docker API"];

/// Errors of `ssh`, which needs the keys in the home directory.
const SSH: [&str; 2] = ["ssh: Could not resolve hostname ", "ssh: connect to host "];
/// Programs that look at processes or sockets of the host, with an error or a result that shows
/// that the sandbox has none.
const HOST_PROGRAMS: [&str; 8] =
    ["kill", "pkill", "killall", "lsof", "ss", "netstat", "systemctl", "journalctl"];
/// Sockets of database servers.
const SOCKETS: [&str; 2] = [".s.PGSQL", "mysqld.sock"];

/// Words of errors about a file that could not be written.
const WRITING: [&str; 8] =
    ["create", "touch", "remove", "writing", "write", "mkdir", "move", "overwrite"];

/// The result of a command.
pub(super) struct Outcome<'a> {
    /// The sandbox that the command ran in.
    pub(super) profile: &'a Profile,
    /// The hosts that the call requested.
    pub(super) requested: &'a [String],
    /// The requests that the sandbox saw and refused.
    pub(super) refused: &'a [Blocked],
    /// Standard error, or all output of a command that failed.
    pub(super) text: &'a str,
    /// The command, if it failed.
    pub(super) failed: Option<&'a str>,
}

/// One line that names the blocked accesses and the call that requests them; none if none were.
pub(super) fn hint(outcome: &Outcome<'_>) -> Option<String> {
    if outcome.profile.access == Access::Host {
        return None;
    }
    let (hosts, direct) = hosts(outcome);
    let outside = outside(outcome);
    let mut named = [hosts.as_slice(), &direct, &outside].concat();
    if named.is_empty() {
        return None;
    }
    if named.len() > MAX_NAMED {
        named.truncate(MAX_NAMED);
        named.push("more".to_owned());
    }
    let mut call = Map::new();
    if !direct.is_empty() && outside.is_empty() {
        call.insert("network".to_owned(), json!(true));
    } else if outside.is_empty() {
        let known = outcome.requested.iter().filter(|host| !hosts.contains(host));
        call.insert("network".to_owned(), known.chain(&hosts).cloned().collect());
    } else {
        call.insert("outside".to_owned(), json!(true));
    }
    call.insert("reason".to_owned(), json!("…"));
    let call = Value::Object(call);
    Some(format!("The sandbox blocked {}: call Bash again with {call}", named.join(", ")))
}

/// The lines of the last part of the output.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut start = text.len().saturating_sub(SEARCHED);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text[start..].lines()
}

/// The hosts that the command could not reach, and the connections to granted hosts that a program
/// tried without the proxy.
fn hosts(outcome: &Outcome<'_>) -> (Vec<String>, Vec<String>) {
    let granted: &[String] = match &outcome.profile.network {
        Network::Host => return (Vec::new(), Vec::new()),
        Network::Hosts(hosts) => &hosts.names,
        Network::None => &[],
    };
    let refused = outcome.refused.iter().filter_map(|blocked| match blocked {
        Blocked::Host(host, port) if contract::sandbox::is_usual_port(host, *port) => {
            Some(host.to_lowercase())
        }
        Blocked::Host(host, port) => Some(format!("{}:{port}", host.to_lowercase())),
        Blocked::Write(_) => None,
    });
    let is_ssh = |line: &&str| SSH.iter().any(|error| line.contains(error));
    let named = lines(outcome.text).filter(|line| !is_ssh(line)).filter_map(unresolved);
    let (mut hosts, mut direct) = (Vec::new(), Vec::new());
    for host in refused.chain(named) {
        let name = |granted: &String| granted.split(':').next() == Some(host.as_str());
        if granted.contains(&host) || granted.iter().any(name) {
            direct.push(format!("a connection to {host} without the proxy"));
        } else {
            hosts.push(host);
        }
    }
    for list in [&mut hosts, &mut direct] {
        let mut seen = HashSet::new();
        list.retain(|it: &String| seen.insert(it.clone()));
    }
    (hosts, direct)
}

/// The host that a line of output says could not be reached.
fn unresolved(line: &str) -> Option<String> {
    let contains_any = |words: &[&str]| words.iter().any(|word| line.contains(word));
    if contains_any(&REFUSED) && contains_any(&LOCAL) {
        return Some("localhost".to_owned());
    }
    let named = RESOLVER_ERRORS.iter().find_map(|error| {
        let (_, rest) = line.split_once(error)?;
        first_host(rest)
    });
    named.or_else(|| {
        let is_failure = RESOLVER_FAILURES.iter().any(|failure| line.contains(failure));
        is_failure.then(|| {
            let quoted = line.split_once("host='").and_then(|(_, rest)| first_host(rest));
            let url = || line.split_once("://").and_then(|(_, rest)| first_host(rest));
            let leading =
                || line.split(": ").find_map(|part| first_host(part).filter(|it| it.contains('.')));
            quoted.or_else(url).or_else(leading)
        })?
    })
}

/// The host at the start of a text, without quotes and punctuation.
fn first_host(text: &str) -> Option<String> {
    let text = text.trim_start_matches(['\'', '"', '`', '‘', '“', '(', ' ']);
    let end = text.find(|c: char| !(c.is_alphanumeric() || "-._".contains(c)));
    let name = text[..end.unwrap_or(text.len())].trim_matches('.');
    needs::host(name).filter(|host| host != needs::ANY_HOST)
}

/// The things outside of the sandbox that the command needs.
fn outside(outcome: &Outcome<'_>) -> Vec<String> {
    let profile = outcome.profile;
    let mut named: Vec<String> = Vec::new();
    if lines(outcome.text).any(|line| DOCKER.iter().any(|error| line.contains(error))) {
        named.push("the Docker socket".to_owned());
    }
    if lines(outcome.text).any(|line| SSH.iter().any(|error| line.contains(error))) {
        named.push("ssh, whose keys are hidden".to_owned());
    }
    if lines(outcome.text).any(|line| SOCKETS.iter().any(|socket| line.contains(socket))) {
        named.push("a socket of the host".to_owned());
    }
    let is_missing = outcome.text.contains("not found");
    let first = outcome
        .failed
        .filter(|_| !is_missing)
        .and_then(|command| command.split_whitespace().next());
    if let Some(program) = first.filter(|it| named.is_empty() && HOST_PROGRAMS.contains(it)) {
        named.push(format!("`{program}` from processes and sockets of the host"));
    }
    if profile.access == Access::ReadOnly {
        return named;
    }
    let refused = outcome.refused.iter().filter_map(|blocked| match blocked {
        Blocked::Write(path) => Some(path.clone()),
        Blocked::Host(..) => None,
    });
    let printed = lines(outcome.text).filter_map(|line| unwritable(line, profile));
    for path in refused.chain(printed) {
        let name = format!("writing {}", path.display());
        if !named.contains(&name) {
            named.push(name);
        }
    }
    named
}

/// The file that a line of output says could not be written because of the sandbox.
fn unwritable(line: &str, profile: &Profile) -> Option<PathBuf> {
    let is_mount = line.contains("Read-only file system")
        // Git cannot rename a file onto a mount.
        || (line.contains(".git/config") && line.contains("Device or resource busy"))
        || line.contains("could not write config file");
    let is_write = WRITING.iter().any(|word| line.contains(word));
    let is_denied = is_write && line.contains("Permission denied");
    if !is_mount && !is_denied {
        return None;
    }
    let path = named_path(line)?;
    let path = profile.workspace.join(path);
    let open = std::iter::once(&profile.workspace).chain(&profile.write);
    let is_closed = open.filter_map(|open| path.strip_prefix(open).ok()).all(is_protected);
    (is_mount || (is_closed && !path.starts_with("/tmp"))).then_some(path)
}

fn is_protected(below: &Path) -> bool {
    protected(below).is_some() || below.starts_with(".git")
}

/// The path in an error such as `touch: cannot touch '/etc/x': Read-only file system`.
fn named_path(line: &str) -> Option<&str> {
    let quoted = line.split(['\'', '"', '`', '‘', '’']).nth(1).filter(|it| is_path(it));
    // `/bin/bash: line 1: .git: Read-only file system`
    let before = line.split(": Read-only").next().and_then(|it| it.rsplit(": ").next());
    let words = || line.split_whitespace().map(|word| word.trim_end_matches(':'));
    let bare = before.filter(|it| it.len() < line.len() && !it.contains(' ') && !it.is_empty());
    quoted.or(bare).or_else(|| words().rfind(|word| is_path(word)))
}

fn is_path(text: &str) -> bool {
    text.contains('/') && !text.contains("://")
}

#[cfg(test)]
mod tests;
