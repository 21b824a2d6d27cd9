//! The three placeholders of a scenario: `{{last_user}}`,
//! `{{last_tool_result}}` and `{{results.N}}`. Other text in double braces stays as it is.

use serde_json::Value;

use super::read::suggestion;
use super::sent::Sent;

const KNOWN: [&str; 3] = ["last_user", "last_tool_result", "results.1"];

#[derive(Clone, Copy)]
enum Placeholder {
    LastUser,
    LastToolResult,
    Result(usize),
}

/// Fails if a placeholder in `text` is not known.
pub(super) fn check(text: &str) -> Result<(), String> {
    expand(text, |_| Ok(String::new())).map(drop)
}

/// Fails if a placeholder in the strings of `value` is not known.
pub(super) fn check_value(value: &Value) -> Result<(), String> {
    map_strings(value, &|text| check(text).map(|()| String::new())).map(drop)
}

/// `text` with its placeholders replaced.
pub(super) fn fill(text: &str, sent: &Sent<'_>) -> Result<String, String> {
    expand(text, |placeholder| look_up(placeholder, sent))
}

/// `value` with the placeholders in its strings replaced.
pub(super) fn fill_value(value: &Value, sent: &Sent<'_>) -> Result<Value, String> {
    map_strings(value, &|text| fill(text, sent))
}

fn expand(
    text: &str,
    value_of: impl Fn(Placeholder) -> Result<String, String>,
) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        let named = after.split_once("}}");
        let placeholder = named.map(|(name, _)| parse(name)).transpose()?.flatten();
        if let (Some(placeholder), Some((_, after_name))) = (placeholder, named) {
            filled.push_str(&value_of(placeholder)?);
            rest = after_name;
        } else {
            filled.push_str("{{");
            rest = after;
        }
    }
    filled.push_str(rest);
    Ok(filled)
}

fn parse(name: &str) -> Result<Option<Placeholder>, String> {
    let number = || {
        let number = name.strip_prefix("results.")?.parse::<usize>().ok()?;
        number.checked_sub(1)
    };
    match name {
        "last_user" => Ok(Some(Placeholder::LastUser)),
        "last_tool_result" => Ok(Some(Placeholder::LastToolResult)),
        _ if name.contains(['{', '\n']) => Ok(None),
        _ if name.starts_with("results") || name.starts_with("last_") => match number() {
            Some(index) => Ok(Some(Placeholder::Result(index))),
            None => Err(format!(
                "`{{{{{name}}}}}` is not a value of a scenario{}",
                suggestion(name, &KNOWN)
            )),
        },
        _ => Ok(None),
    }
}

fn look_up(placeholder: Placeholder, sent: &Sent<'_>) -> Result<String, String> {
    match placeholder {
        Placeholder::LastUser => sent
            .last_user
            .map(str::to_owned)
            .ok_or_else(|| String::from("it uses `{{last_user}}`, but no user message was sent")),
        Placeholder::LastToolResult => sent.last_tool_result.map(str::to_owned).ok_or_else(|| {
            String::from("it uses `{{last_tool_result}}`, but no tool result was sent")
        }),
        Placeholder::Result(index) => match sent.results.get(index) {
            Some(result) => Ok(result.content.to_owned()),
            None => Err(format!(
                "it uses `{{{{results.{}}}}}`, but the number of tool results since the last \
                 reply is {}",
                index + 1,
                sent.results.len()
            )),
        },
    }
}

fn map_strings(
    value: &Value,
    change: &impl Fn(&str) -> Result<String, String>,
) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => Value::String(change(text)?),
        Value::Array(items) => {
            let items = items.iter().map(|item| map_strings(item, change));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => {
            let fields =
                fields.iter().map(|(key, value)| Ok((key.clone(), map_strings(value, change)?)));
            Value::Object(fields.collect::<Result<_, String>>()?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}
