//! Checks tool names in rules: warns about names that no tool has, and about lookalike letters. A
//! deny or ask rule that differs from a built-in name in case alone also gets the built-in name.

use std::borrow::Cow;

use contract::text::closest;
use serde_json::Value;

/// The names that rules may use.
pub struct KnownNames<'a> {
    /// The built-in tools. Names that begin with `_` are groups, and never suggested.
    pub tools: &'a [&'a str],
    /// Rule words that are no tools, and our tools that come with servers and plugins.
    pub words: &'a [&'a str],
    /// Shows characters that cannot be seen or look like others.
    pub unmasked: fn(&str) -> Cow<'_, str>,
    /// Returns true if a role, a plugin or a server may have a tool of any name.
    pub is_open: &'a dyn Fn() -> bool,
}

impl<'a> KnownNames<'a> {
    fn contains(&self, name: &str) -> bool {
        self.tools.contains(&name) || self.words.contains(&name) || name.starts_with("mcp__")
    }

    fn suggested(&self) -> impl Iterator<Item = &'a str> {
        let tools = self.tools.iter().filter(|tool| !tool.starts_with('_'));
        tools.chain(self.words).copied()
    }
}

/// The rules for an entry of `allow`, `ask` or `deny`: itself, and if it tightens also with the
/// intended name.
/// `warn` gets messages.
pub fn meant(
    known: &KnownNames<'_>,
    (list, entry): (&str, &Value),
    place: &str,
    warn: &dyn Fn(&str),
) -> Vec<Value> {
    let mut rules = vec![entry.clone()];
    let text = words(entry);
    let shown = (known.unmasked)(&text);
    let tell = |told: &str| warn(&format!("{place}: rule `{shown}`: {told}"));
    if shown != text {
        tell("the characters shown as `\\u{…}` cannot be seen, or only look like others");
    }
    if let Some(tool) = of_server(entry) {
        tell(&format!(
            "what a server's tool works on is not known beforehand, so that this means nothing; \
             write `{tool}`"
        ));
    }
    let Some(name) = name(entry) else { return rules };
    if known.contains(name) {
        return rules;
    }
    let same = known.suggested().find(|tool| tool.eq_ignore_ascii_case(name));
    let told = match same {
        Some(same) if list == "allow" => {
            format!("there is no tool `{name}`, so this rule has no effect; use `{same}`")
        }
        Some(same) => {
            rules.push(renamed(entry, name, same));
            format!("there is no tool `{name}`; the rule applies to `{same}`: use that name")
        }
        None => match closest(name, known.suggested()) {
            Some(close) => format!("there is no tool `{name}` (did you mean `{close}`?)"),
            None if (known.is_open)() => return rules,
            None => format!("there is no tool `{name}`, and no plugin or server provides one"),
        },
    };
    tell(&told);
    rules
}

/// The tool of an MCP server in a rule with an argument that cannot be matched.
fn of_server(entry: &Value) -> Option<&str> {
    let (tool, is_more) = match entry {
        Value::String(text) => {
            let (tool, inside) = text.split_once('(')?;
            // The form of a remembered answer.
            let is_known = inside == "*)" || inside.contains(" of MCP server ");
            (tool, !is_known)
        }
        Value::Object(fields) => {
            let is_more = fields.contains_key("path") || fields.contains_key("command");
            (fields.get("tool")?.as_str()?, is_more)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => return None,
    };
    Some(tool.trim()).filter(|tool| is_more && tool.starts_with("mcp__"))
}

/// The tool name of a rule, if it names a single one.
fn name(entry: &Value) -> Option<&str> {
    let name = match entry {
        Value::String(text) => text.split('(').next().unwrap_or(text),
        Value::Object(fields) => fields.get("tool")?.as_str()?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => return None,
    };
    let name = name.trim();
    let is_single = !name.is_empty() && !name.contains(['*', ':', '/', '.']);
    Some(name).filter(|_| is_single)
}

fn renamed(entry: &Value, name: &str, same: &str) -> Value {
    match entry {
        Value::String(text) => Value::from(text.replacen(name, same, 1)),
        other => {
            let mut other = other.clone();
            other["tool"] = Value::from(same);
            other
        }
    }
}

fn words(entry: &Value) -> String {
    entry.as_str().map_or_else(|| entry.to_string(), str::to_owned)
}
