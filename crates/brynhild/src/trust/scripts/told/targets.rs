//! Files that a `package.json` names otherwise than by the letters of their names: to Node.js they are addresses, and
//! JSON has escapes of its own. What the search looks for is the text as it stands there.

use serde_json::Value;

use super::languages::is_spelled;

/// Keys whose values say what is loaded.
const KEYS: [&str; 6] = ["bin", "browser", "exports", "imports", "main", "module"];

/// Each such value with its key.
pub(super) fn spelled_targets(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let package: Value = serde_json::from_str(&text).unwrap_or_default();
    let mut found = Vec::new();
    for key in KEYS {
        let mut left = vec![&package[key]];
        while let Some(value) = left.pop() {
            match value {
                Value::String(target) if is_spelled(target) || !text.contains(target.as_str()) => {
                    found.push(format!("{key}: {target}"));
                }
                Value::Array(values) => left.extend(values),
                Value::Object(values) => left.extend(values.values()),
                _ => {}
            }
        }
    }
    found
}
