//! Variables in texts of configuration files: `${NAME}` and `${NAME:-default}`, in one pass.

use std::collections::BTreeMap;

/// Replaces the environment variables of a text by their values, which are not expanded again. The
/// error is the name of a variable that is not set and has no default.
pub(super) fn expand(text: &str, variables: &BTreeMap<String, String>) -> Result<String, String> {
    replaced(text, |_, name, default| {
        let value = variables.get(name).filter(|value| !value.is_empty() || default.is_none());
        let value = value.map(String::as_str).or(default);
        value.map(str::to_owned).ok_or_else(|| name.to_owned())
    })
}

/// Replaces the variables that have a default by it.
pub(super) fn with_defaults(text: &str) -> String {
    let expanded = replaced(text, |whole, _, default| {
        Ok::<_, std::convert::Infallible>(default.unwrap_or(whole).to_owned())
    });
    let Ok(text) = expanded;
    text
}

/// A text with each variable replaced; `value` gets the variable as written, its name and default.
fn replaced<E>(
    text: &str,
    mut value: impl FnMut(&str, &str, Option<&str>) -> Result<String, E>,
) -> Result<String, E> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, after) = rest.split_at(start);
        let Some(end) = after.find('}') else { break };
        let (whole, behind) = after.split_at(end + 1);
        let inner = &after[2..end];
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        out.push_str(before);
        if is_name(name) {
            out.push_str(&value(whole, name, default)?);
        } else {
            out.push_str(whole);
        }
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

/// Returns true if a text can be the name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
