//! The input of a hook of `hooks.yaml`: JSON on its standard input, and environment variables.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use contract::hook::{HookContext, Notification};
use contract::text;
use contract::tool::ToolOutput;
use serde_json::{Map, Value, json};

use super::event::Event;
use super::moment::Occurrence;

/// Environment variables of a hook, after `BRYNHILD_`, and the fields that they repeat.
pub(crate) const VARIABLES: [(&str, &str); 14] = [
    ("EVENT", "event"),
    ("SESSION_ID", "session_id"),
    ("CWD", "cwd"),
    ("AGENT", "agent"),
    ("PLUGIN_NAME", "plugin_name"),
    ("PLUGIN_PATH", "plugin_path"),
    ("TOOL_NAME", "tool"),
    ("TOOL_INPUT", "tool_input"),
    ("TOOL_OUTPUT", "tool_result/output"),
    ("TOOL_SUCCESS", "tool_result/success"),
    ("MESSAGE", "message"),
    ("RESPONSE", "response"),
    ("ERROR", "error"),
    ("ERROR_TYPE", "error_type"),
];

/// Bytes of one variable. A system lets none be longer than 128 kB.
const VARIABLE_LIMIT: usize = 100_000;

const CUT: &str = "[cut here: the whole value is in the JSON on standard input]";

#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) event: Event,
    fields: Map<String, Value>,
}

impl Context {
    pub(crate) fn new(event: Event, session: &str, cwd: &Path) -> Self {
        let mut context = Self { event, fields: Map::new() };
        context.set("event", event.name());
        context.set("session_id", session);
        context.set("cwd", cwd.to_string_lossy());
        context
    }

    fn of_hook(event: Event, hook_context: &HookContext) -> Self {
        let mut context = Self::new(event, hook_context.session.as_str(), &hook_context.cwd);
        if let Some(within) = &hook_context.within {
            context.set("agent", within.agent.as_str());
            context.set("agent_id", within.call.as_str());
        }
        context
    }

    #[must_use]
    pub(crate) fn of_plugin(mut self, name: &str, root: &Path) -> Self {
        self.set("plugin_name", name);
        self.set("plugin_path", root.to_string_lossy());
        self
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.fields.insert(name.to_owned(), value.into());
    }

    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.set(name, value);
        self
    }

    /// The input of hooks of an event for an occurrence; none if it is another event.
    pub(crate) fn of_occurrence(
        event: Event,
        hook_context: &HookContext,
        what: Occurrence<'_>,
    ) -> Option<Self> {
        let context = Self::of_hook(event, hook_context);
        Some(match (event, what) {
            (Event::SessionStart, Occurrence::Notification(Notification::SessionStarted))
            | (Event::SessionEnd, Occurrence::Notification(Notification::SessionEnded)) => context,
            (Event::Error, Occurrence::Notification(Notification::Failed { error, kind })) => {
                context.with("error", error.as_str()).with("error_type", kind.as_str())
            }
            (Event::UserPromptSubmit, Occurrence::Prompt(text))
            | (Event::PreMessage, Occurrence::Message(text)) => context.with("message", text),
            (Event::PostMessage, Occurrence::ModelReply { prompt, reply }) => {
                context.with("message", prompt).with("response", reply)
            }
            (Event::PreToolUse, Occurrence::Call(call)) => {
                context.with("tool", call.tool).with("tool_input", call.args.clone())
            }
            (Event::PostToolUse, Occurrence::CallResult(result)) => {
                let ToolOutput { success, output, error, .. } = result.output;
                context
                    .with("tool", result.call.tool)
                    .with("tool_input", result.call.args.clone())
                    .with("tool_result", tool_result(*success, output, error.as_deref()))
            }
            (Event::ContextBuild, Occurrence::SystemPrompt(base)) => {
                context.with("base_system_prompt", base).with("injections_so_far", json!([]))
            }
            (Event::PreCompact, Occurrence::Compaction(history)) => {
                context.with("compaction_strategy", json!(history.strategy))
            }
            _ => return None,
        })
    }

    pub(crate) fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    pub(crate) fn json(&self) -> Vec<u8> {
        serde_json::to_vec(&self.fields).unwrap_or_default()
    }

    pub(crate) fn variables(&self) -> BTreeMap<String, String> {
        let value = |path: &str| match path.split_once('/') {
            Some((outer, inner)) => self.fields.get(outer)?.get(inner),
            None => self.fields.get(path),
        };
        VARIABLES
            .iter()
            .filter_map(|(name, path)| {
                let text = match value(path)? {
                    Value::Null => return None,
                    Value::String(text) => text.clone(),
                    Value::Bool(truth) => truth.to_string(),
                    other => ascii_json(other),
                };
                Some((format!("BRYNHILD_{name}"), fitted(text)))
            })
            .collect()
    }
}

pub(crate) fn tool_result(success: bool, output: &str, error: Option<&str>) -> Value {
    json!({"success": success, "output": output, "error": error})
}

fn ascii_json(value: &Value) -> String {
    let mut out = String::new();
    for c in value.to_string().chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}

fn fitted(mut value: String) -> String {
    // No program can be given one.
    value.retain(|c| c != '\0');
    if value.len() > VARIABLE_LIMIT {
        value.truncate(text::head(&value, VARIABLE_LIMIT).len());
        value.push_str(CUT);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context() -> Context {
        Context::new(Event::PreToolUse, "s", Path::new("/p"))
    }

    #[test]
    fn environment_has_only_known_values() {
        let context = context()
            .of_plugin("tidy", Path::new("/plugins/tidy"))
            .with("tool", "Bash")
            .with("tool_input", json!({"command": "écho 🦀", "n": 1}));
        let variables = context.variables();
        let shown: Vec<String> =
            variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            shown,
            [
                "BRYNHILD_CWD=/p",
                "BRYNHILD_EVENT=pre_tool_use",
                "BRYNHILD_PLUGIN_NAME=tidy",
                "BRYNHILD_PLUGIN_PATH=/plugins/tidy",
                "BRYNHILD_SESSION_ID=s",
                "BRYNHILD_TOOL_INPUT={\"command\":\"\\u00e9cho \\ud83e\\udd80\",\"n\":1}",
                "BRYNHILD_TOOL_NAME=Bash",
            ]
        );
    }

    #[test]
    fn long_value_is_cut_in_the_environment_only() {
        let long = "é".repeat(200_000);
        let context = context().with("message", long.as_str());
        let variable = &context.variables()["BRYNHILD_MESSAGE"];
        assert!(variable.len() < 128 * 1024 && variable.ends_with(CUT));
        let told: Value = serde_json::from_slice(&context.json()).unwrap();
        assert_eq!(told["message"], long);
    }

    #[test]
    fn environment_variable_has_no_nul() {
        let context = context().with("message", "a\0b");
        assert_eq!(context.variables()["BRYNHILD_MESSAGE"], "ab");
    }
}
