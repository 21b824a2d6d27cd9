//! What plugins ask for and nobody has decided on, in words for the user. Grants nothing.

use plugins::plugin::{NetworkWish, Plugin, Wishes};

use crate::assemble::assembly::Assembly;
use crate::assemble::run_context::RunContext;
use crate::output;

/// Tells of every plugin that counts and asks for something that the configuration is silent on.
pub(crate) fn tell(assembly: &Assembly) {
    for plugin in assembly.plugins().active() {
        if let Some(open) = open(assembly, plugin) {
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
pub(crate) fn open(run: &RunContext, plugin: &Plugin) -> Option<Open> {
    if plugin.manifest.sandbox == Wishes::default() {
        return None;
    }
    let name = plugin.name();
    let entry = run.config().plugins.each.get(name);
    if entry.is_some_and(|entry| !entry.sandbox.is_null()) {
        return None;
    }
    let asked = &plugin.manifest.sandbox;
    let setting = asked.setting(name)?;
    let kinds = [
        ("env", !asked.env.is_empty()),
        ("exec", !asked.exec.is_empty()),
        ("network", asked.network != NetworkWish::None),
        ("read", !asked.read.is_empty()),
        ("write", !asked.write.is_empty()),
    ];
    let kinds: Vec<&str> =
        kinds.into_iter().filter(|(_, is_asked)| *is_asked).map(|(kind, _)| kind).collect();
    let what =
        format!("plugin {name} asks for more than it is granted (sandbox: {})", kinds.join(", "));
    let file = run.loaded.config_dir.as_ref().map(|directory| directory.join("config.yaml"));
    let place = file.map_or_else(|| "your configuration".into(), |it| it.display().to_string());
    let hint =
        format!("`{setting}` in {place} grants it, `sandbox: {{}}` there refuses it for good");
    Some(Open { what, hint })
}
