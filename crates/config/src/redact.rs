//! Takes secrets out of what is shown.

use serde_json::Value;

use crate::origin::{Content, Layer, Node, Origin};

/// The text shown in place of a secret.
pub(crate) const REDACTED: &str = "[redacted]";

const SECRET_WORDS: &[&str] = &[
    "key",
    "apikey",
    "auth",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "pass",
    "pat",
    "jwt",
    "dsn",
    "webhook",
    "authorization",
    "cookie",
    "credential",
    "credentials",
    "headers",
];

/// Last words of names that say where a secret is, not what it is.
const POINTERS: &[&str] = &["env", "path", "file"];

const SECRET_STARTS: &[&str] = &["sk-", "ghp_", "github_pat_", "xoxb-", "Bearer ", "Basic "];

/// Returns true if a key of this name holds a secret.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let points = words.len() > 1 && words.last().is_some_and(|word| POINTERS.contains(word));
    let is_one = |word: &str| {
        SECRET_WORDS.contains(&word) || word.ends_with("password") || word.ends_with("passwd")
    };
    // `PWD` alone is a directory.
    let is_short = words.len() > 1 && words.last() == Some(&"pwd");
    !points && (is_short || words.iter().any(|word| is_one(word)))
}

/// The tree without its secrets.
pub(crate) fn redact(node: &Node) -> Node {
    let mut node = node.clone();
    clear(&mut node, Holds::Anything, &mut Vec::new());
    node
}

/// The secrets of a tree.
pub(crate) fn secrets(node: &Node) -> Vec<String> {
    let mut taken = Vec::new();
    clear(&mut node.clone(), Holds::Anything, &mut taken);
    taken
}

/// Every secret in a file of settings.
pub fn secrets_in(value: Value) -> Vec<String> {
    secrets(&Node::from_value(value, &Origin::layer(Layer::User)))
}

/// A part of a tree by the names that lead to it.
#[derive(Clone, Copy, PartialEq)]
enum Holds {
    /// Values of any kind.
    Anything,
    /// Values of environment variables. Any of them may be a key, unless it names another variable.
    Variables,
    /// Secrets.
    Secrets,
}

/// Takes secrets out of a tree.
fn clear(node: &mut Node, holds: Holds, taken: &mut Vec<String>) {
    match &mut node.content {
        Content::Map(entries) => {
            for (name, node) in entries {
                let is_env = name == "env" && matches!(node.content, Content::Map(_));
                let holds = match holds {
                    Holds::Secrets => Holds::Secrets,
                    _ if is_secret(name) => Holds::Secrets,
                    Holds::Anything if is_env => Holds::Variables,
                    other => other,
                };
                clear(node, holds, taken);
            }
        }
        Content::List(items) => {
            let mut follows = false;
            for item in items {
                let leads = item.text().is_some_and(announces_secret);
                clear(item, if follows { Holds::Secrets } else { holds }, taken);
                follows = leads;
            }
        }
        Content::Scalar(Value::Null | Value::Bool(_)) => {}
        Content::Scalar(value) if holds == Holds::Secrets => {
            if let Value::String(text) = value {
                taken.push(std::mem::take(text));
            }
            *value = Value::from(REDACTED);
        }
        Content::Scalar(Value::String(text)) => {
            clear_text(text, taken);
            if holds == Holds::Variables && !text.starts_with('$') {
                REDACTED.clone_into(text);
            }
        }
        Content::Scalar(_) => {}
    }
}

/// Returns true if a word of a command line says that the next one is a secret: `--token`.
fn announces_secret(word: &str) -> bool {
    word.starts_with('-') && !word.contains('=') && is_secret(word)
}

/// Takes secrets out of a text: a key as it is, `--token=x`, `Authorization: x`, or an address with
/// a login or a key in it.
fn clear_text(text: &mut String, taken: &mut Vec<String>) {
    if SECRET_STARTS.iter().any(|start| text.starts_with(start)) {
        taken.push(std::mem::replace(text, REDACTED.into()));
        return;
    }
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    for mark in ["=", ": "] {
        if let Some((name, value)) = text.split_once(mark)
            && is_name(name)
            && is_secret(name)
            && !value.is_empty()
        {
            taken.push(value.trim().to_owned());
            *text = format!("{name}{mark}{REDACTED}");
            return;
        }
    }
    if let Some(cleared) = cleared_address(text, taken) {
        *text = cleared;
    }
}

/// A command line without the secrets in it.
pub fn without_keys(line: &str) -> String {
    let mut follows = false;
    let words = line.split(' ').map(|word| {
        let mut shown = if follows { REDACTED.to_owned() } else { word.to_owned() };
        follows = announces_secret(word);
        clear_text(&mut shown, &mut Vec::new());
        shown
    });
    words.collect::<Vec<_>>().join(" ")
}

/// An address without the login and the keys in it; none if it has none.
pub fn without_login(address: &str) -> Option<String> {
    cleared_address(address, &mut Vec::new())
}

fn cleared_address(address: &str, taken: &mut Vec<String>) -> Option<String> {
    let known = taken.len();
    let (scheme, rest) = address.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    let host = match host.rsplit_once('@') {
        Some((login, host)) => {
            taken.push(login.split_once(':').map_or(login, |(_, password)| password).to_owned());
            format!("{REDACTED}@{host}")
        }
        None => host.to_owned(),
    };
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let pairs: Vec<String> = query
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) if is_secret(name) && !value.is_empty() => {
                taken.push(value.to_owned());
                format!("{name}={REDACTED}")
            }
            _ => pair.to_owned(),
        })
        .collect();
    let mark = if query.is_empty() { "" } else { "?" };
    let cleared = || format!("{scheme}://{host}{path}{mark}{}", pairs.join("&"));
    (taken.len() > known).then(cleared)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secret_names_are_distinguished_from_locations() {
        for name in [
            "openrouter_api_key",
            "API-KEY",
            "X-Auth-Token",
            "password",
            "Authorization",
            "PGPASSWORD",
            "MYSQL_PWD",
            "DB_PASS",
            "GH_PAT",
            "CI_JOB_JWT",
            "SLACK_WEBHOOK_URL",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "api_key_env",
            "credentials_path",
            "max_tokens",
            "keyboard",
            "model",
            "PWD",
            "OLDPWD",
            "PATH",
            "bypass",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn secrets_are_redacted_at_any_depth() {
        let tree = json!({
            "openrouter_api_key": "sk-1",
            "providers": {"instances": {"a": {
                "base_url": "https://me:pass@host/v1?x=1&key=k",
                "api_key_env": "MY_KEY",
                "headers": {"X-Custom": "abc"},
                "api_key": null,
            }}},
            "mcp": {"s": {"env": {"GITHUB_TOKEN": "t", "TOK": "x", "REF": "${OTHER}"}, "args": ["sk-abc", "--token=t", "--api-key", "k", "Authorization: Bearer b", "https://h", "Bash(secret:*)"], "secret": [1, true]}},
        });
        let node = Node::from_value(tree, &Origin::layer(Layer::User));
        assert_eq!(
            redact(&node).to_value(),
            json!({
                "openrouter_api_key": "[redacted]",
                "providers": {"instances": {"a": {
                    "base_url": "https://[redacted]@host/v1?x=1&key=[redacted]",
                    "api_key_env": "MY_KEY",
                    "headers": {"X-Custom": "[redacted]"},
                    "api_key": null,
                }}},
                "mcp": {"s": {
                    "env": {"GITHUB_TOKEN": "[redacted]", "TOK": "[redacted]", "REF": "${OTHER}"},
                    "args": [
                        "[redacted]",
                        "--token=[redacted]",
                        "--api-key",
                        "[redacted]",
                        "Authorization: [redacted]",
                        "https://h",
                        "Bash(secret:*)",
                    ],
                    "secret": ["[redacted]", true],
                }},
            })
        );
    }

    #[test]
    fn command_line_is_shown_without_its_keys() {
        let shown = without_keys("npx server --token abc --port=80 https://u:p@h/x?token=q");
        assert_eq!(
            shown,
            "npx server --token [redacted] --port=80 https://[redacted]@h/x?token=[redacted]"
        );
    }
}
