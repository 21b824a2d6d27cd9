//! Variables in texts of configuration files: `${NAME}` and `${NAME:-default}`, in one pass.

use std::collections::BTreeMap;

/// Replaces the environment variables of a text by their values, which are not expanded again. The
/// error is the name of a variable that is not set and has no default.
pub(super) fn expand(text: &str, variables: &BTreeMap<String, String>) -> Result<String, String> {
    replaced(text, |name, default| {
        let value = variables.get(name).filter(|value| !value.is_empty() || default.is_none());
        let value = value.map(String::as_str).or(default);
        value.map(str::to_owned).ok_or_else(|| name.to_owned())
    })
}

/// How a variable begins in [`with_defaults`], until a `}`: no shell puts anything in its place.
pub(super) const VARIABLE: &str = "%{";

/// Puts defaults in place of the variables that have one, and a mark for the others, whose values
/// will be there before any shell sees the text.
pub(super) fn with_defaults(text: &str) -> String {
    let kept = replaced(text, |name, default| {
        let value = default.map_or_else(|| format!("{VARIABLE}{name}}}"), str::to_owned);
        Ok::<_, std::convert::Infallible>(value)
    });
    let Ok(text) = kept;
    text
}

/// A text with something else in place of each variable: made of its name and its default.
fn replaced<E>(
    text: &str,
    mut value: impl FnMut(&str, Option<&str>) -> Result<String, E>,
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
            out.push_str(&value(name, default)?);
        } else {
            out.push_str(whole);
        }
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

/// Whether a text can be the name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
