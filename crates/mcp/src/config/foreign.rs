//! Files of other clients, as they are taken over: JSON with comments, and their ways to name a
//! variable. What cannot be said here is told, not left as it is.

use serde_json::Value;

use super::entry::{GRANTS, ignored};

/// Reads JSON that may hold comments and commas after a last item.
pub fn lenient_json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text)
        .or_else(|_| serde_json::from_str(&stripped(text)))
        .map_err(|error| error.to_string())
}

/// JSON without comments and without commas that nothing follows.
fn stripped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '"' => {
                let length = string_length(rest);
                out.push_str(&rest[..length]);
                length
            }
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            ']' | '}' => {
                let end = out.trim_end().len();
                if out[..end].ends_with(',') {
                    out.remove(end - 1);
                }
                out.push(c);
                1
            }
            c => {
                out.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    out
}

/// The length of the string that a text begins with, quotes included.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// An entry with `{env:NAME}` and `$NAME` written as `${NAME}`. The error says what has no way to be
/// said here.
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

/// A server's entry as it is taken over: without the keys that count for nothing here, and without
/// those by which only the user can let a server do more. With what is said of these.
pub fn taken_over(name: &str, entry: &Value) -> (Value, Vec<String>) {
    let Value::Object(fields) = entry else { return (entry.clone(), Vec::new()) };
    let mut told = Vec::new();
    let mut kept = fields.clone();
    kept.retain(|key, _| {
        let left_out = ignored(key).or_else(|| claimed(name, key));
        let counts = left_out.is_none();
        told.extend(left_out);
        counts
    });
    (Value::Object(kept), told)
}

/// What is said of a key by which a file would grant its own server something.
fn claimed(name: &str, key: &str) -> Option<String> {
    let instead = match key {
        _ if !GRANTS.contains(&key) => return None,
        "sandbox" => format!(
            "your own `mcp.servers.{name}.sandbox` grants something, or `--allow-network`, \
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
    let mut out = String::with_capacity(text.len() + 2);
    let mut rest = text;
    while let Some(at) = rest.find(['$', '{']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(behind) = rest.strip_prefix("${userHome}") {
            out.push_str("${HOME}");
            rest = behind;
            continue;
        }
        // Some write `${env:NAME}` where others write `{env:NAME}`.
        let braced = rest.strip_prefix('$').unwrap_or(rest).strip_prefix("{env:");
        if let Some((inner, behind)) = braced.and_then(|inner| inner.split_once('}'))
            && !inner.is_empty()
        {
            let name = inner.split_once(":-").map_or(inner, |(name, _)| name);
            if name.is_empty() || name_length(name) < name.len() {
                return Err(format!("`{{env:{inner}}}` names no variable; put it into one"));
            }
            out.extend(["${", inner, "}"]);
            rest = behind;
            continue;
        }
        if let Some(inner) = placeholder(rest) {
            let what = match inner.strip_prefix("input:") {
                Some(_) => "asks for",
                None => "knows",
            };
            return Err(format!(
                "`${{{inner}}}` is something that its client {what}; put it into a variable"
            ));
        }
        let plain = rest.strip_prefix('$').map(|inner| inner.split_at(name_length(inner)));
        match plain {
            Some((name, behind)) if !name.is_empty() => {
                out.extend(["${", name, "}"]);
                rest = behind;
            }
            _ => {
                // What follows a `$` stays with it, as in `${NAME}`.
                let length = if rest.starts_with("${") { 2 } else { 1 };
                out.push_str(&rest[..length]);
                rest = &rest[length..];
            }
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// What a text begins with that other clients fill in themselves, as in `${input:key}`. Shells write
/// `:` behind a name too, but no word behind that.
fn placeholder(text: &str) -> Option<&str> {
    let (inner, _) = text.strip_prefix("${")?.split_once('}')?;
    let (kind, what) = inner.split_once(':')?;
    let is_word = |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic());
    (is_word(kind) && name_length(kind) == kind.len() && is_word(what)).then_some(inner)
}

/// How long the name of a variable is that a text begins with.
fn name_length(text: &str) -> usize {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return 0;
    }
    text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_last_commas_do_no_harm() {
        let text = r#"{ // one
            "a": "http://x // no comment", /* two
            */ "b": [1, 2, /* three */ ], "c": "q\\\"//",
        }"#;
        let wanted = json!({"a": "http://x // no comment", "b": [1, 2], "c": "q\\\"//"});
        assert_eq!(lenient_json(text), Ok(wanted));
        assert!(lenient_json("{a: 1}").is_err() && lenient_json("{\"a\": 1").is_err());
    }

    #[test]
    fn variables_are_spelled_one_way() {
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
    fn keys_that_count_for_nothing_are_told_once_and_not_kept() {
        let entry = json!({"command": "a", "trust": true, "gallery": 1});
        let (kept, told) = taken_over("s", &entry);
        assert_eq!(kept, json!({"command": "a"}));
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains("`trust`") && told[0].contains("permission rules"), "{told:?}");
    }

    #[test]
    fn nothing_is_granted_by_a_file_of_others() {
        let entry = json!({"command": "a", "sandbox": {"network": true}, "unpinned": true});
        let (kept, told) = taken_over("s", &entry);
        assert_eq!(kept, json!({"command": "a"}));
        assert!(told[0].contains("`mcp.servers.s.sandbox`"), "{told:?}");
        assert!(told[1].contains("`--unpinned`"), "{told:?}");
    }
}
