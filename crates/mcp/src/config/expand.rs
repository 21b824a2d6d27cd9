//! Variables in texts of configuration files: `${NAME}` and `${NAME:-default}`, in one pass.

use std::collections::BTreeMap;

/// Puts variables in place of their names. A text with one that is not set and has no default is
/// an error that names it. What a variable holds is not looked at again.
pub fn expand(text: &str, variables: &BTreeMap<String, String>) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, after) = rest.split_at(start);
        let Some(end) = after.find('}') else { break };
        let inner = &after[2..end];
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        expanded.push_str(before);
        let is_name = !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if is_name {
            let value = variables.get(name).filter(|value| !value.is_empty() || default.is_none());
            match (value, default) {
                (Some(value), _) => expanded.push_str(value),
                (None, Some(default)) => expanded.push_str(default),
                (None, None) => return Err(format!("variable `{name}` is not set")),
            }
        } else {
            expanded.push_str(&after[..=end]);
        }
        rest = &after[end + 1..];
    }
    expanded.push_str(rest);
    Ok(expanded)
}
