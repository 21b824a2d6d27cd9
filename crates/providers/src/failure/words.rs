//! Messages and codes in the error bodies of providers.

use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::Value;

/// The message in the body of an error.
pub(super) fn of_body(body: &[u8]) -> Option<String> {
    if let Some(value) = object(body) {
        return of_error(value.get("error").unwrap_or(&value)).or_else(|| of_error(&value));
    }
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    if text.starts_with('<') {
        let title = page_title(text);
        return Some(
            title.map_or_else(|| "a web page".into(), |title| format!("a web page: {title}")),
        );
    }
    (!text.is_empty()).then(|| text.to_owned())
}

/// The code or type in the body of an error.
pub(super) fn code_of_body(body: &[u8]) -> Option<String> {
    let value = object(body)?;
    code_of(value.get("error").unwrap_or(&value))
}

/// The value of a body, or the first of a list.
fn object(body: &[u8]) -> Option<Value> {
    match serde_json::from_slice(body).ok()? {
        Value::Array(mut items) if !items.is_empty() => Some(items.swap_remove(0)),
        value => Some(value),
    }
}

/// The message in an error object or string.
pub(super) fn of_error(error: &Value) -> Option<String> {
    let found = match error {
        Value::String(text) => Some(text.clone()),
        Value::Object(fields) => ["message", "error", "detail", "title"].iter().find_map(|name| {
            match fields.get(*name)? {
                Value::String(text) if !text.is_empty() => Some(text.clone()),
                value @ (Value::Array(_) | Value::Object(_)) => Some(value.to_string()),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
            }
        }),
        _ => None,
    }?;
    // A broker's own message often says nothing; the provider's is in the metadata.
    match error.pointer("/metadata/raw").and_then(Value::as_str) {
        Some(raw) if !raw.is_empty() => Some(format!("{found}: {raw}")),
        _ => Some(found),
    }
}

/// The code or type of an error object, as text.
pub(super) fn code_of(error: &Value) -> Option<String> {
    ["code", "type", "status"].iter().find_map(|name| match error.get(*name)? {
        Value::String(text) if !text.is_empty() => Some(text.to_ascii_lowercase()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

/// Returns true if a message says that the request does not fit into the model's context.
pub(super) fn says_too_long(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    [
        "context length",
        "context_length",
        "context window",
        "context size",
        "maximum context",
        "exceed context",
        "prompt is too long",
        "input is too long",
        "too many tokens",
        "reduce the length",
        "token limit",
        "maximum prompt length",
        "maximum number of tokens allowed",
        "prompt too long",
        "`inputs` tokens",
        "range of input length",
        "exceeds max length",
    ]
    .iter()
    .any(|words| said.contains(words))
        || said.contains("token count") && said.contains("exceed")
        || said.contains("`inputs` must have less than") && said.contains("tokens")
}

/// The title of a web page.
pub(super) fn page_title(page: &str) -> Option<String> {
    let lower = page.to_ascii_lowercase();
    let start = lower.find("<title")?;
    let start = start + lower[start..].find('>')? + 1;
    let end = start + lower[start..].find("</title")?;
    let title = page[start..end].split_whitespace().collect::<Vec<_>>().join(" ");
    (!title.is_empty()).then_some(title)
}

/// The wait that a provider asks for: milliseconds, seconds, or a date.
pub(super) fn retry_after(headers: &HeaderMap, now: jiff::Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |name: &str, unit: f64| {
        let count: f64 = text(name)?.parse().ok()?;
        Duration::try_from_secs_f64(count * unit).ok()
    };
    number("retry-after-ms", 0.001).or_else(|| number("retry-after", 1.0)).or_else(|| {
        let date = jiff::fmt::rfc2822::parse(text("retry-after")?).ok()?;
        Some(Duration::try_from(date.timestamp().duration_since(now)).unwrap_or_default())
    })
}
