//! Turns plugins on and off, for `plugin enable` and the plugin picker.

use assemble::assembly::Assembly;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::{audit, output};
use contract::text::{closest, visible};
use files::private;
use plugins::dialects::Named;
use plugins::env::state_file;
use plugins::plugin::PluginState;
use plugins::state::{self, State};
use serde_json::json;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Switch {
    On,
    Off,
}

pub(crate) fn switch(assembly: &Assembly, name: &str, to: Switch) -> Outcome {
    let (system, plain) = state::split(name);
    let is_meant = |it: &Named| it.name == plain && system.is_none_or(|system| system == it.system);
    let meant: Vec<Named> = assembly.named_plugins().into_iter().filter(is_meant).collect();
    if meant.is_empty() {
        return Err(not_found(assembly, name));
    }
    let is_changed = write(assembly, name, to, &meant)?;
    let still_off = still_off(assembly, name, &meant).filter(|_| to == Switch::On);
    let outcome = if to == Switch::On { "enabled" } else { "disabled" };
    if is_changed {
        let what = format!("plugin {outcome}");
        audit::open(assembly.config_dir()?).note_or_warn(&what, name, None);
    }
    if assembly.wants_json() {
        let enabled = to == Switch::On && still_off.is_none();
        output::json(&json!({"plugin": name, "enabled": enabled, "changed": is_changed}))?;
    } else if is_changed {
        output::line(visible(&format!("Plugin '{name}' {outcome}.")))?;
    } else if still_off.is_some() {
        output::line(visible(&format!("Plugin '{name}' is {}.", how(&meant))))?;
    } else {
        output::line(visible(&format!("Plugin '{name}' is already {outcome}.")))?;
    }
    if let Some(place) = still_off {
        output::warning(&format!("it stays off, because {place}"));
    }
    if meant.len() > 1 {
        let systems: Vec<&str> = meant.iter().map(|it| it.system).collect();
        let first = systems.first().copied().unwrap_or_default();
        output::hint(&format!(
            "the name is ambiguous ({}); `{first}:{plain}` means one of them",
            systems.join(", ")
        ));
    }
    Ok(Exit::Done)
}

/// The states of the plugins with this name, which may differ.
pub(crate) fn how(meant: &[Named]) -> String {
    let mut states: Vec<&str> = meant.iter().map(|it| it.state.as_str()).collect();
    states.dedup();
    states.join(", ")
}

/// Stores the switch. Returns true if that changes anything.
pub(crate) fn write(
    assembly: &Assembly,
    name: &str,
    to: Switch,
    meant: &[Named],
) -> Result<bool, Problem> {
    let file = state_file(assembly.config_dir()?);
    let cannot = |error: std::io::Error| {
        Problem::failed(format!("cannot write {}: {error}", file.display()))
    };
    let _lock = private::lock(&file).map_err(cannot)?;
    // A file that cannot be parsed is left as it is.
    let mut state = State::read(&file)
        .map_err(|problem| Problem::misuse(problem.to_string()).hint(problem.hint))?;
    let is_changed = match to {
        Switch::Off => state.disable(name),
        Switch::On => {
            let was_off = state.enable(name);
            // A plugin that is off by default is on only if the file says so.
            let sleeps = |it: &Named| it.state == PluginState::Disabled && it.sleeps;
            let wakes = !was_off && meant.iter().any(sleeps);
            let wakes = wakes && assembly.plugin_env().off_switch(state::split(name).1).is_none();
            (wakes && state.enabled.insert(name.to_owned())) || was_off
        }
    };
    if is_changed {
        private::replace(&file, state.to_yaml().as_bytes(), private::Durability::Synced)
            .map_err(cannot)?;
    }
    Ok(is_changed)
}

/// The reason why a plugin stays off that was switched on.
pub(crate) fn still_off(assembly: &Assembly, name: &str, meant: &[Named]) -> Option<String> {
    let (system, plain) = state::split(name);
    if let Some(place) = assembly.plugin_env().off_switch(plain) {
        return Some(format!("of {place}"));
    }
    if system.is_some_and(|system| assembly.plugin_env().switches().is_off(system, plain)) {
        return Some(format!("`{plain}` is off for all; `brynhild plugin enable {plain}`"));
    }
    meant.iter().find_map(|it| it.held_off.clone())
}

pub(crate) fn not_found(assembly: &Assembly, name: &str) -> Problem {
    let words = if assembly.wants_json() {
        format!("Plugin not found: {name}")
    } else {
        format!("Plugin '{name}' not found")
    };
    let named = assembly.named_plugins();
    let known = named.iter().map(|it| it.name.as_str());
    let hint = match closest(state::split(name).1, known) {
        Some(near) => format!("did you mean `{near}`? `brynhild plugin list` lists all plugins"),
        None => String::from("`brynhild plugin list` lists all plugins"),
    };
    Problem::failed(words).hint(hint)
}
