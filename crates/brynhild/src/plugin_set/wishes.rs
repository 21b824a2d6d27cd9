//! What plugins ask for and nobody has decided on, in words for the person. Grants nothing.

use plugins::plugin::{Plugin, Wishes};
use serde_json::{Map, Value};

use crate::output;
use crate::world::World;

/// Tells of every plugin that counts and asks for something that the configuration is silent on.
pub(crate) fn tell(world: &World) {
    for plugin in world.plugins().active() {
        if let Some(open) = open(world, plugin) {
            output::warning(&open.what);
            output::hint(&open.hint);
        }
    }
}

/// A wish that nobody has decided on.
pub(crate) struct Open {
    what: String,
    /// What to write, and where.
    pub(crate) hint: String,
}

/// What a plugin asks for, unless the configuration has a word on it.
pub(crate) fn open(world: &World, plugin: &Plugin) -> Option<Open> {
    if plugin.manifest.sandbox == Wishes::default() {
        return None;
    }
    let name = plugin.name();
    let entry = world.config().plugins.each.get(name);
    if entry.is_some_and(|entry| !entry.sandbox.is_null()) {
        return None;
    }
    let asked = serde_json::to_value(&plugin.manifest.sandbox).ok()?;
    let is_something = |value: &Value| match value {
        Value::Bool(asks) => *asks,
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    let asked: Map<String, Value> =
        asked.as_object()?.clone().into_iter().filter(|(_, value)| is_something(value)).collect();
    if asked.is_empty() {
        return None;
    }
    let kinds: Vec<&str> = asked.keys().map(String::as_str).collect();
    let what =
        format!("plugin {name} asks for more than it is granted (sandbox: {})", kinds.join(", "));
    let file = world.loaded.config_dir.as_ref().map(|folder| folder.join("config.yaml"));
    let place = file.map_or_else(|| "your configuration".into(), |it| it.display().to_string());
    let asked = Value::Object(asked);
    let hint = format!(
        "`plugins: {{{name}: {{sandbox: {asked}}}}}` in {place} grants it, `sandbox: {{}}` there \
         refuses it for good"
    );
    Some(Open { what, hint })
}
