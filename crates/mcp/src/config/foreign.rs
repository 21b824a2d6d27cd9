//! The import of other clients' files: JSON with comments, and their spellings of variables. What has
//! no counterpart here is reported.

use regex::{Captures, Regex};
use serde_json::Value;

use super::entry::{GRANT_KEYS, ignored};
use super::expand::is_name;

/// Variables as other clients write them. A client fills in `${input:key}` and the like itself; shells
/// write `:` behind a name too, but no word behind that.
const SPELLINGS: &str = r"(?x) \$\{userHome\} | \$?\{env:(?<env>[^}]+)\}
    | \$\{(?<client>[A-Za-z][A-Za-z0-9_]*:[A-Za-z][^}]*)\} | \$(?<name>[A-Za-z_][A-Za-z0-9_]*)";

/// Reads JSON with comments and trailing commas.
pub fn lenient_json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text)
        .or_else(|_| serde_json::from_str(&stripped(text)))
        .map_err(|error| error.to_string())
}

/// JSON without comments and trailing commas. Strings stay as they are.
fn stripped(text: &str) -> String {
    const COMMENTS: &str = r#"(?s)("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/"#;
    const TRAILING_COMMAS: &str = r#"(?s)("(?:\\.|[^"\\])*")|,(\s*[\]}])"#;
    let replace = |text: &str, pattern: &str, by: &str| match Regex::new(pattern) {
        Ok(pattern) => pattern.replace_all(text, by).into_owned(),
        Err(_) => text.to_owned(),
    };
    replace(&replace(text, COMMENTS, "$1"), TRAILING_COMMAS, "$1$2")
}

/// An entry with `{env:NAME}` and `$NAME` written as `${NAME}`. The error names what has no
/// counterpart here.
pub fn translated(entry: &Value) -> Result<Value, String> {
    Ok(match entry {
        Value::String(text) => Value::String(respelled(text)?),
        Value::Array(items) => {
            Value::Array(items.iter().map(translated).collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| Ok((key.clone(), translated(value)?));
            Value::Object(fields.iter().map(field).collect::<Result<_, String>>()?)
        }
        other => other.clone(),
    })
}

/// The entry of a server without the keys that are ignored here, and without grants, which only the
/// user can make; with messages about these.
pub fn imported(name: &str, entry: &Value) -> (Value, Vec<String>) {
    let Value::Object(fields) = entry else { return (entry.clone(), Vec::new()) };
    let mut messages = Vec::new();
    let mut fields = fields.clone();
    fields.retain(|key, _| {
        let message = ignored(key).or_else(|| grant_message(name, key));
        let stays = message.is_none();
        messages.extend(message);
        stays
    });
    (Value::Object(fields), messages)
}

/// The message about a key by which a file would grant its own server something.
fn grant_message(name: &str, key: &str) -> Option<String> {
    let instead = match key {
        _ if !GRANT_KEYS.contains(&key) => return None,
        "sandbox" => format!(
            "`brynhild mcp grant {name}` grants something, or `--allow-network`, \
             `--allow-read` and `--allow-write` of `mcp add`"
        ),
        _ => format!("your own `mcp.servers.{name}.{key}` says so, or `--{key}`"),
    };
    Some(format!("has `{key}`, which is not taken over: {instead}"))
}

fn respelled(text: &str) -> Result<String, String> {
    if text.contains("{file:") {
        return Err(format!("`{text}` names a file whose text is meant; put it into a variable"));
    }
    if text.contains("$(") {
        return Err(format!(
            "`{text}` names a command whose output is meant; put it into a variable"
        ));
    }
    let spellings = Regex::new(SPELLINGS).map_err(|error| error.to_string())?;
    for found in spellings.captures_iter(text) {
        if let Some(inner) = found.name("env").map(|it| it.as_str())
            && !is_name(inner.split_once(":-").map_or(inner, |(name, _)| name))
        {
            return Err(format!("`{{env:{inner}}}` names no variable; put it into one"));
        }
        if let Some(inner) = found.name("client").map(|it| it.as_str()) {
            let what = if inner.starts_with("input:") { "asks for" } else { "knows" };
            return Err(format!(
                "`${{{inner}}}` is something that its client {what}; put it into a variable"
            ));
        }
    }
    let respelled = |found: &Captures<'_>| {
        let name = found.name("env").or(found.name("name"));
        format!("${{{}}}", name.map_or("HOME", |name| name.as_str()))
    };
    Ok(spellings.replace_all(text, respelled).into_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_removed() {
        let text = r#"{ // one
            "a": "http://x // no comment", /* two
            */ "b": [1, 2, /* three */ ], "c": "q\\\"//",
        }"#;
        let wanted = json!({"a": "http://x // no comment", "b": [1, 2], "c": "q\\\"//"});
        assert_eq!(lenient_json(text), Ok(wanted));
        assert!(lenient_json("{a: 1}").is_err() && lenient_json("{\"a\": 1").is_err());
    }

    #[test]
    fn environment_references_get_one_spelling() {
        let entry = json!({"headers": {"A": "Bearer {env:TOK}", "B": "x $TOK-$OTHER_1", "C": "${TOK:-d}"},
            "args": ["$5", "{x}", "a$", "{env:}", "${env:TOK}", "${userHome}/x"], "n": 1});
        let wanted = json!({"headers": {"A": "Bearer ${TOK}", "B": "x ${TOK}-${OTHER_1}", "C": "${TOK:-d}"},
            "args": ["$5", "{x}", "a$", "{env:}", "${TOK}", "${HOME}/x"], "n": 1});
        assert_eq!(translated(&entry), Ok(wanted));
        assert!(translated(&json!({"k": "{file:~/key}"})).unwrap_err().contains("~/key"));
        assert!(translated(&json!(["$(pass show key)"])).is_err());
        assert!(translated(&json!("${input:key}")).unwrap_err().contains("asks for"));
        assert_eq!(translated(&json!("${env:TOK:-none}")), Ok(json!("${TOK:-none}")));
        assert_eq!(translated(&json!("{env:TOK:-none}")), Ok(json!("${TOK:-none}")));
        for text in ["${env:MY-KEY}", "a{env:MY-KEY}", "${config:a.b}", "${command:pick}"] {
            assert!(translated(&json!(text)).unwrap_err().contains("into"), "{text}");
        }
    }

    #[test]
    fn ignored_keys_are_reported_and_removed() {
        let entry = json!({"command": "a", "trust": true, "gallery": 1});
        let (entry, messages) = imported("s", &entry);
        assert_eq!(entry, json!({"command": "a"}));
        assert_eq!(messages.len(), 2, "{messages:?}");
        assert!(
            messages[0].contains("`trust`") && messages[0].contains("permission rules"),
            "{messages:?}"
        );
    }

    #[test]
    fn imported_file_grants_nothing() {
        let entry = json!({"command": "a", "sandbox": {"network": true}, "unpinned": true});
        let (entry, messages) = imported("s", &entry);
        assert_eq!(entry, json!({"command": "a"}));
        assert!(messages[0].contains("`brynhild mcp grant s`"), "{messages:?}");
        assert!(messages[1].contains("`--unpinned`"), "{messages:?}");
    }
}
