//! The questions for permission hooks, in chibi's words: a plugin does not know our tools by name.

use std::net::IpAddr;
use std::path::Path;

use contract::action::Action;
use contract::hook::CallView;
use formats::address;
use reqwest::Url;
use serde_json::{Value, json};

/// The questions of a permission point about a call, in chibi's words if chibi has the tool too, else
/// by the actions of the call. Empty if the point is about something else.
pub(crate) fn questions(point: &str, call: CallView<'_>, workspace: &Path) -> Vec<Value> {
    if let Some(known) = question(point, call, workspace) {
        return vec![known];
    }
    let is_outside = |path: &Path| !path.starts_with(workspace);
    let of_action = |action: &Action| match (point, action) {
        ("pre_file_read", Action::Read { path }) if is_outside(path) => {
            Some(json!({"tool_name": call.tool, "path": path}))
        }
        ("pre_file_write", Action::Write { path, .. }) => Some(json!({
            "tool_name": call.tool, "path": path, "content": call.args.get("content"),
        })),
        ("pre_shell_exec", Action::Run { command, .. }) => {
            Some(json!({"tool_name": call.tool, "command": command}))
        }
        ("pre_fetch_url", Action::Connect { host }) => {
            let url = call.args.get("url").and_then(Value::as_str);
            let url = url.map_or_else(|| format!("http://{host}"), str::to_owned);
            let why = sensitive(&url).or_else(|| sensitive(&format!("http://{host}")))?;
            Some(json!({
                "tool_name": call.tool, "url": url, "safety": "sensitive", "reason": why,
            }))
        }
        _ => None,
    };
    call.actions.iter().filter_map(of_action).collect()
}

pub(crate) fn written(actions: &[Action]) -> impl Iterator<Item = &Path> {
    actions.iter().filter_map(|action| match action {
        Action::Write { path, .. } => Some(path.as_path()),
        _ => None,
    })
}

fn question(point: &str, call: CallView<'_>, workspace: &Path) -> Option<Value> {
    let text = |key: &str| call.args.get(key).and_then(Value::as_str);
    match point {
        "pre_file_read" => {
            let (name, path) = match call.tool {
                "Read" => ("file_head", text("file_path")?),
                "Grep" => ("grep_files", text("path")?),
                "Glob" => ("glob_files", text("path")?),
                "Inspect" => ("dir_list", text("path")?),
                _ => return None,
            };
            let path = workspace.join(path);
            let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
            // What lies in the project is read without a question.
            let is_outside = !real.starts_with(workspace);
            is_outside.then(|| json!({"tool_name": name, "path": real}))
        }
        "pre_file_write" => match call.tool {
            "Write" => Some(json!({
                "tool_name": "write_file", "path": text("file_path")?, "content": text("content"),
            })),
            "Edit" => Some(json!({
                "tool_name": "file_edit", "path": text("file_path")?, "content": text("new_string"),
                "operation": "replace_string",
            })),
            _ => None,
        },
        "pre_shell_exec" if call.tool == "Bash" => {
            Some(json!({"tool_name": "shell_exec", "command": text("command")?}))
        }
        "pre_fetch_url" => {
            let url = text("url")?;
            let why = sensitive(url)?;
            Some(json!({
                "tool_name": call.tool, "url": url, "safety": "sensitive", "reason": why,
            }))
        }
        _ => None,
    }
}

/// The reason of an answer that refuses, if it does. Both protocols count: `denied`, and
/// `approved`, of which the latter can refuse but not lift what our own rules ask for.
pub(crate) fn refusal(answer: &Value) -> Option<String> {
    let is = |key: &str, value: bool| answer.get(key).and_then(Value::as_bool) == Some(value);
    if !is("denied", true) && !is("approved", false) {
        return None;
    }
    let reason = ["reason", "message"].into_iter().find_map(|key| answer.get(key)?.as_str());
    Some(reason.unwrap_or("denied by plugin").to_owned())
}

fn sensitive(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let host = url.host_str()?;
    let kind = match address::parse(host) {
        None if host == "localhost" || host.ends_with(".localhost") => "loopback address",
        Some(ip) if ip.is_loopback() || ip.is_unspecified() => "loopback address",
        Some(IpAddr::V4(ip)) if ip.is_link_local() => "link-local address",
        Some(IpAddr::V6(ip)) if ip.is_unicast_link_local() => "link-local address",
        Some(_) if address::is_local(host) => "private network address",
        Some(IpAddr::V6(ip)) if ip.to_ipv4_mapped().is_some() => "mapped address",
        None | Some(_) => return None,
    };
    Some(kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_private_addresses_are_sensitive() {
        for url in [
            "http://localhost:8/x",
            "http://u@127.0.0.1/",
            "ws://LocalHost/",
            "https://[::1]/",
            "http://10.1.2.3",
        ] {
            assert!(sensitive(url).is_some(), "{url}");
        }
        for url in ["https://example.org/localhost", "http://8.8.8.8/", "nonsense"] {
            assert!(sensitive(url).is_none(), "{url}");
        }
    }

    #[test]
    fn gate_answers_refuse_and_never_allow() {
        assert_eq!(refusal(&json!({"denied": true})).unwrap(), "denied by plugin");
        assert_eq!(refusal(&json!({"approved": false, "reason": "no"})).unwrap(), "no");
        for answer in [json!({"approved": true}), json!({"denied": false}), json!("denied")] {
            assert_eq!(refusal(&answer), None, "{answer}");
        }
    }
}
