//! `plugin`: lists, shows and checks plugins, and switches them on and off.

use std::path::Path;

use contract::text::{head, visible};
use plugins::manifest;
use plugins::plugin::Plugin;
use plugins::problem::Problem as Fault;
use plugins::state::State;
use serde_json::{Value, json};

use crate::args::PluginCommand;
use crate::dialects;
use crate::exit::{Exit, Outcome, Problem};
use crate::output;
use crate::plugin_set::{self, off_switch, state_file, wishes};
use crate::private_file;
use crate::world::World;

/// Runs a `plugin` command.
pub(crate) async fn run(world: &World, command: &PluginCommand) -> Outcome {
    match command {
        PluginCommand::List => list(world, &foreign(world).await?),
        PluginCommand::Show { name } => show(world, name, &foreign(world).await?),
        PluginCommand::Validate { path } => validate(world, path),
        PluginCommand::Paths => paths(world),
        PluginCommand::Enable { name } => switch(world, name, Switch::On),
        PluginCommand::Disable { name } => switch(world, name, Switch::Off),
    }
}

/// The plugins of other systems.
async fn foreign(world: &World) -> Result<Vec<dialects::Listed>, Problem> {
    let dialects = dialects::open(world).await?;
    let listed = dialects.iter().flat_map(|dialect| dialect.listing()).collect();
    futures::future::join_all(dialects.iter().map(|dialect| dialect.shutdown())).await;
    Ok(listed)
}

fn list(world: &World, foreign: &[dialects::Listed]) -> Outcome {
    let set = world.plugins();
    if world.wants_json() {
        let own = set.plugins.iter().map(|plugin| Ok(set.shown(plugin)));
        let rows = own.chain(foreign.iter().map(serde_json::to_value));
        let rows: Vec<Value> = rows.collect::<Result<_, _>>()?;
        let enabled = rows.iter().filter(|row| row["enabled"] == true).count();
        let tell = |faults: &[Fault]| faults.iter().map(described).collect::<Vec<Value>>();
        output::json(&json!({
            "plugins": rows,
            "enabled_count": enabled,
            "disabled_count": rows.len() - enabled,
            "problems": tell(&set.problems),
            "notes": tell(&set.notes),
        }))?;
        return Ok(Exit::Done);
    }
    if set.plugins.is_empty() && foreign.is_empty() {
        output::line("No plugins were found.")?;
        output::hint("`brynhild plugin paths` shows where they are looked for");
    }
    let row = |plugin: &Plugin| {
        let shown = set.shown(plugin);
        let text = |key: &str| shown[key].as_str().unwrap_or_default().to_owned();
        let description = head(&text("description"), 70).to_owned();
        vec![text("name"), text("version"), state(plugin).to_owned(), place(plugin), description]
    };
    let mut rows: Vec<Vec<String>> = set.plugins.iter().map(row).collect();
    rows.extend(foreign.iter().map(|it| {
        let state = if it.enabled { "enabled" } else { "disabled" };
        let about = it.report.first().map_or("", |line| head(line, 70));
        [&it.name, "", state, it.dialect, about].map(str::to_owned).to_vec()
    }));
    if !rows.is_empty() {
        output::line(output::table(&rows).trim_end())?;
    }
    for note in &set.notes {
        output::hint(&format!("{note} ({})", note.hint));
    }
    Ok(Exit::Done)
}

fn state(plugin: &Plugin) -> &'static str {
    match (plugin.trusted, plugin.enabled) {
        (false, _) => "untrusted",
        (true, true) => "enabled",
        (true, false) => "disabled",
    }
}

fn place(plugin: &Plugin) -> String {
    serde_json::to_value(plugin.place)
        .ok()
        .and_then(|place| place.as_str().map(str::to_owned))
        .unwrap_or_default()
}

fn described(fault: &Fault) -> Value {
    json!({"path": fault.path.display().to_string(), "what": fault.what, "hint": fault.hint})
}

fn found<'a>(world: &'a World, name: &str) -> Result<&'a Plugin, Problem> {
    world.plugins().get(name).ok_or_else(|| {
        let words = if world.wants_json() {
            format!("Plugin not found: {name}")
        } else {
            format!("Plugin '{name}' not found")
        };
        Problem::failed(words).hint("`brynhild plugin list` shows all")
    })
}

fn show(world: &World, name: &str, foreign: &[dialects::Listed]) -> Outcome {
    if world.plugins().get(name).is_none()
        && let Some(other) = foreign.iter().find(|other| other.name == name)
    {
        return show_foreign(world, other);
    }
    let plugin = found(world, name)?;
    let shown = world.plugins().shown(plugin);
    if world.wants_json() {
        output::json(&shown)?;
        return Ok(Exit::Done);
    }
    let Value::Object(fields) = &shown else {
        return Ok(Exit::Done);
    };
    for (key, value) in fields {
        let words = match value {
            Value::String(text) => text.clone(),
            Value::Array(items) => {
                let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
                texts.join(", ")
            }
            Value::Bool(true) => String::from("yes"),
            Value::Bool(false) => String::from("no"),
            Value::Null => String::new(),
            Value::Number(_) | Value::Object(_) => value.to_string(),
        };
        if !words.is_empty() {
            output::line(format_args!("{key}: {}", visible(&words)))?;
        }
    }
    if let Some(open) = wishes::open(world, plugin) {
        output::hint(&open.hint);
    }
    if !plugin.trusted {
        output::hint("nothing of it is used before you trust it: `brynhild trust`");
    }
    Ok(Exit::Done)
}

fn show_foreign(world: &World, plugin: &dialects::Listed) -> Outcome {
    if world.wants_json() {
        output::json(plugin)?;
        return Ok(Exit::Done);
    }
    let enabled = if plugin.enabled { "yes" } else { "no" };
    let fields = [
        ("name", plugin.name.as_str()),
        ("dialect", plugin.dialect),
        ("path", &plugin.path),
        ("enabled", enabled),
    ];
    for (key, value) in fields {
        output::line(format_args!("{key}: {}", visible(value)))?;
    }
    for line in &plugin.report {
        output::line(visible(line))?;
    }
    Ok(Exit::Done)
}

fn validate(world: &World, path: &Path) -> Outcome {
    let validation = manifest::validate(&world.environment.cwd.join(path));
    let is_valid = validation.errors.is_empty();
    let exit = if is_valid { Exit::Done } else { Exit::Failed };
    if world.wants_json() {
        let error = validation.errors.first().map(ToString::to_string);
        let texts = |faults: &[Fault]| faults.iter().map(|it| it.what.clone()).collect::<Vec<_>>();
        output::json(&json!({
            "path": path.display().to_string(),
            "valid": is_valid,
            "warnings": texts(&validation.warnings),
            "error": error,
            "errors": texts(&validation.errors),
        }))?;
        return Ok(exit);
    }
    for fault in &validation.errors {
        output::error(&fault.to_string());
        output::hint(&fault.hint);
    }
    for fault in &validation.warnings {
        output::warning(&format!("{fault} ({})", fault.hint));
    }
    if let Some(manifest) = validation.manifest.filter(|_| is_valid) {
        let (name, version) = (&manifest.name, &manifest.version);
        output::line(visible(&format!("{} is the plugin {name} {version}.", path.display())))?;
    }
    Ok(exit)
}

fn paths(world: &World) -> Outcome {
    let paths = plugin_set::search_paths(world);
    let variable = |name: &'static str| (name, world.environment.variable(name));
    let variables = [
        variable("BRYNHILD_PLUGIN_PATH"),
        variable("BRYNHILD_ENABLED_PLUGINS"),
        variable("BRYNHILD_DISABLE_ENTRY_POINT_PLUGINS"),
    ];
    if world.wants_json() {
        let row = |(path, source): &(std::path::PathBuf, &str)| json!({"path": path.display().to_string(), "exists": path.is_dir(), "source": source});
        let rows: Vec<Value> = paths.iter().map(row).collect();
        let variables: serde_json::Map<String, Value> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        output::json(&json!({"search_paths": rows, "env_vars": variables}))?;
        return Ok(Exit::Done);
    }
    let rows: Vec<Vec<String>> = paths
        .iter()
        .map(|(path, source)| {
            let exists = if path.is_dir() { "" } else { "(not there)" };
            vec![(*source).to_owned(), path.display().to_string(), exists.to_owned()]
        })
        .collect();
    output::line(output::table(&rows).trim_end())?;
    Ok(Exit::Done)
}

/// What a plugin becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Switch {
    On,
    Off,
}

fn switch(world: &World, name: &str, to: Switch) -> Outcome {
    found(world, name)?;
    let file = state_file(world.config_dir()?);
    let cannot = |error: std::io::Error| {
        Problem::failed(format!("cannot write {}: {error}", file.display()))
    };
    let _lock = private_file::lock(&file).map_err(cannot)?;
    // A file that cannot be understood is left as it is.
    let mut state = State::read(&file)
        .map_err(|problem| Problem::misuse(problem.to_string()).hint(problem.hint))?;
    let (is_changed, outcome) = match to {
        Switch::On => (state.disabled.remove(name), "enabled"),
        Switch::Off => (state.disabled.insert(name.to_owned()), "disabled"),
    };
    if is_changed {
        private_file::replace(&file, state.to_yaml().as_bytes()).map_err(cannot)?;
    }
    let still_off = off_switch(world, name).filter(|_| to == Switch::On);
    if world.wants_json() {
        let enabled = to == Switch::On && still_off.is_none();
        output::json(&json!({"plugin": name, "enabled": enabled, "changed": is_changed}))?;
    } else if is_changed {
        output::line(visible(&format!("Plugin '{name}' {outcome}.")))?;
    } else {
        output::line(visible(&format!("Plugin '{name}' is already {outcome}.")))?;
    }
    if let Some(place) = still_off {
        output::warning(&format!("it stays off, because of {place}"));
    }
    Ok(Exit::Done)
}
