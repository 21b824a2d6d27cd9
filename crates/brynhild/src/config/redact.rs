//! Takes secrets out of what is shown.

use serde_json::Value;

use super::node::{Content, Node};

/// What stands in the place of a secret.
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
    "authorization",
    "cookie",
    "credential",
    "credentials",
    "headers",
];

/// Last words of names that say where a secret is, not what it is.
const POINTERS: &[&str] = &["env", "path", "file"];

const SECRET_STARTS: &[&str] = &["sk-", "ghp_", "github_pat_", "xoxb-", "Bearer ", "Basic "];

/// Whether a key of this name holds a secret.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let points = words.len() > 1 && words.last().is_some_and(|word| POINTERS.contains(word));
    !points && words.iter().any(|word| SECRET_WORDS.contains(word))
}

/// The tree without its secrets.
pub(crate) fn redact(node: &Node) -> Node {
    let mut node = node.clone();
    clear(&mut node, false);
    node
}

fn clear(node: &mut Node, is_hidden: bool) {
    match &mut node.content {
        Content::Map(entries) => {
            for (name, node) in entries {
                let hidden = is_hidden || is_secret(name);
                clear(node, hidden);
            }
        }
        Content::List(items) => items.iter_mut().for_each(|item| clear(item, is_hidden)),
        Content::Scalar(Value::Null | Value::Bool(_)) => {}
        Content::Scalar(value) if is_hidden => *value = Value::from(REDACTED),
        Content::Scalar(Value::String(text)) => {
            if SECRET_STARTS.iter().any(|start| text.starts_with(start)) {
                *text = REDACTED.into();
            } else if let Some(cleared) = without_login(text) {
                *text = cleared;
            }
        }
        Content::Scalar(_) => {}
    }
}

/// An address without the login in it; none where it has none.
pub(crate) fn without_login(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (_, host) = rest[..end].rsplit_once('@')?;
    Some(format!("{scheme}://{REDACTED}@{host}{}", &rest[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::node::{Layer, Origin};
    use serde_json::json;

    #[test]
    fn names_that_hold_secrets_are_told_from_names_that_point_at_them() {
        for name in ["openrouter_api_key", "API-KEY", "X-Auth-Token", "password", "Authorization"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["api_key_env", "credentials_path", "max_tokens", "keyboard", "model"] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn secrets_are_taken_out_at_any_depth() {
        let tree = json!({
            "openrouter_api_key": "sk-1",
            "providers": {"instances": {"a": {
                "base_url": "https://me:pass@host/v1?x=1",
                "api_key_env": "MY_KEY",
                "headers": {"X-Custom": "abc"},
                "api_key": null,
            }}},
            "mcp": {"s": {"env": {"GITHUB_TOKEN": "t"}, "args": ["sk-abc"], "secret": [1, true]}},
        });
        let node = Node::from_value(tree, &Origin::layer(Layer::User));
        assert_eq!(
            redact(&node).to_value(),
            json!({
                "openrouter_api_key": "[redacted]",
                "providers": {"instances": {"a": {
                    "base_url": "https://[redacted]@host/v1?x=1",
                    "api_key_env": "MY_KEY",
                    "headers": {"X-Custom": "[redacted]"},
                    "api_key": null,
                }}},
                "mcp": {"s": {
                    "env": {"GITHUB_TOKEN": "[redacted]"},
                    "args": ["[redacted]"],
                    "secret": ["[redacted]", true],
                }},
            })
        );
    }
}
