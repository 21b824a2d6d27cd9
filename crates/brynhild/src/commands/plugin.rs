//! `plugin`: lists, shows and checks plugins, and switches them on and off.

mod parts;

use std::path::Path;

use contract::text::{head, visible};
use plugins::manifest;
use plugins::open_plugins::Listed;
use plugins::plugin::Place;
use plugins::plugin::Plugin;
use plugins::problem::Problem as Fault;
use plugins::state;
use serde_json::{Value, json};
use tools::tool_search;

use crate::args::PluginCommand;
use crate::assemble::assembly::Assembly;
use crate::assemble::mcp;
use crate::assemble::plugin_env;
use crate::assemble::run_context::RunContext;
use crate::exit::{Exit, Outcome, Problem};
use crate::frontends::plugin_switch::{Switch, not_found, switch};
use crate::output;

/// Runs a `plugin` command.
pub(crate) async fn run(assembly: &Assembly, command: &PluginCommand) -> Outcome {
    match command {
        PluginCommand::List => list(assembly, &foreign(assembly).await?),
        PluginCommand::Show { name } => show(assembly, name, &foreign(assembly).await?),
        PluginCommand::Validate { path } => validate(assembly, path).await,
        PluginCommand::Paths => paths(assembly),
        PluginCommand::Enable { name } => switch(assembly, name, Switch::On),
        PluginCommand::Disable { name } => switch(assembly, name, Switch::Off),
    }
}

/// The plugins of other systems, and the servers.
async fn foreign(assembly: &Assembly) -> Result<Vec<Listed>, Problem> {
    let dialects = plugin_env::open(assembly).await?;
    let mut listed: Vec<Listed> = Vec::new();
    for dialect in &dialects {
        let tools = dialect.tools();
        listed.extend(dialect.listing().into_iter().map(|it| plugin_env::weighed(it, &tools)));
    }
    futures::future::join_all(dialects.iter().map(|dialect| dialect.shutdown())).await;
    listed.extend(plugins::dialects::unopened(&assembly.plugin_env()));
    listed.extend(mcp::listing(assembly)?);
    Ok(listed)
}

fn list(assembly: &Assembly, foreign: &[Listed]) -> Outcome {
    let set = assembly.plugins();
    if assembly.wants_json() {
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
        let state = plugin.state().to_owned();
        vec![text("name"), text("version"), state, place(plugin), description]
    };
    let mut rows: Vec<Vec<String>> = set.plugins.iter().map(row).collect();
    rows.extend(foreign.iter().map(|it| {
        let state = it.state();
        let first = it.report.first().map_or("", String::as_str);
        let about = if it.description.is_empty() { first } else { &it.description };
        let about = head(about, 70);
        [&it.name, &it.version, state, it.dialect, about].map(str::to_owned).to_vec()
    }));
    if !rows.is_empty() {
        output::line(output::table(&rows).trim_end())?;
    }
    for note in &set.notes {
        output::hint(&format!("{note} ({})", note.hint));
    }
    Ok(Exit::Done)
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

fn show(assembly: &Assembly, name: &str, foreign: &[Listed]) -> Outcome {
    let (system, plain) = state::split(name);
    let is_meant = |other: &&Listed| {
        other.name == plain && system.is_none_or(|system| system == other.dialect)
    };
    let own = system.is_none_or(|system| system == plugins::plugin_set::OWN);
    let own = assembly.plugins().get(plain).filter(|_| own);
    let mut others = foreign.iter().filter(is_meant);
    if let Some(plugin) = own {
        show_own(assembly, plugin)?;
    } else if let Some(other) = others.next() {
        show_foreign(assembly, other)?;
    } else {
        return Err(not_found(assembly, name));
    }
    for other in others {
        output::hint(&format!("`brynhild plugin show {}:{plain}` shows another", other.dialect));
    }
    Ok(Exit::Done)
}

fn show_own(assembly: &Assembly, plugin: &Plugin) -> Outcome {
    let mut shown = assembly.plugins().shown(plugin);
    let known = known_tools(assembly, plugin)?;
    if assembly.wants_json() {
        if let Some((names, tokens)) = known {
            shown["tool_names"] = names.into();
            shown["tool_tokens"] = tokens.into();
        }
        output::json(&shown)?;
        return Ok(Exit::Done);
    }
    let weight = known.as_ref().map(|(_, tokens)| *tokens);
    if let Some((names, _)) = known {
        shown["tools"] = names.into();
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
    if let Some(tokens) = weight {
        output::line(weight_line(tokens))?;
    }
    if let Some((_, hint)) = assembly.plugin_env().undecided_request(plugin) {
        output::hint(&hint);
    }
    if !plugin.trusted {
        output::hint("nothing of it is used before you trust it: `brynhild trust`");
    }
    Ok(Exit::Done)
}

/// The tools that a plugin is known to bring, and about how many tokens of a request they take.
/// Runs nothing of it: none where it was never asked, or has none.
fn known_tools(
    assembly: &Assembly,
    plugin: &Plugin,
) -> Result<Option<(Vec<String>, usize)>, Problem> {
    if !plugin.is_active() {
        return Ok(None);
    }
    let python = assembly.python()?;
    let described = python.host.described(&python.plugins([plugin])).pop().flatten();
    let brings_some = described.filter(|described| !described.offer.tools.is_empty());
    let weighed = brings_some.map(|described| {
        let tools = python.host.tools(&python.python.plugin(plugin), &described.offer);
        let names = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        (names, tools.iter().map(|tool| tool_search::tokens(&tool.spec())).sum())
    });
    Ok(weighed)
}

fn weight_line(tokens: usize) -> String {
    format!("what the model reads of its tools: about {tokens} tokens")
}

fn show_foreign(run: &RunContext, plugin: &Listed) -> Outcome {
    if run.wants_json() {
        output::json(plugin)?;
        return Ok(Exit::Done);
    }
    let enabled = match plugin.state() {
        "untrusted" => "no (untrusted)",
        "enabled" => "yes",
        _ => "no",
    };
    let fields = [
        ("name", plugin.name.as_str()),
        ("version", &plugin.version),
        ("description", &plugin.description),
        ("dialect", plugin.dialect),
        ("path", &plugin.path),
        ("enabled", enabled),
    ];
    for (key, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
        output::line(format_args!("{key}: {}", visible(value)))?;
    }
    for line in &plugin.report {
        output::line(visible(line))?;
    }
    if let Some(tokens) = plugin.tool_tokens {
        output::line(weight_line(tokens))?;
    }
    Ok(Exit::Done)
}

async fn validate(assembly: &Assembly, path: &Path) -> Outcome {
    let mut directory = assembly.environment.cwd.join(path);
    if !directory.exists()
        && let Some(plugin) = path.to_str().and_then(|name| assembly.plugins().get(name))
    {
        directory.clone_from(&plugin.root);
    }
    let guests = guests(assembly, path, &directory).await?;
    if !guests.is_empty() {
        return validate_guests(assembly, path, &guests);
    }
    let mut validation = manifest::validate(&directory);
    let root = directory.parent().filter(|_| directory.is_file()).unwrap_or(&directory);
    if validation.manifest.is_some() {
        let root = root.canonicalize()?;
        parts::check(assembly, &root, &mut validation).await?;
    }
    let is_valid = validation.errors.is_empty();
    let exit = if is_valid { Exit::Done } else { Exit::Failed };
    if assembly.wants_json() {
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

/// The plugins of other systems that a name means, or that lie in a directory without a manifest of ours.
async fn guests(
    assembly: &Assembly,
    named: &Path,
    directory: &Path,
) -> Result<Vec<Listed>, Problem> {
    if directory.join(manifest::FILE).exists() || directory.ends_with(manifest::FILE) {
        return Ok(Vec::new());
    }
    let Ok(directory) = directory.canonicalize() else {
        let (system, name) = state::split(named.to_str().unwrap_or_default());
        let mut listed = foreign(assembly).await?;
        listed.retain(|it| it.name == name && system.is_none_or(|system| system == it.dialect));
        return Ok(listed);
    };
    let mut global = assembly.global.clone();
    global.plugin_dir = match directory.parent() {
        Some(around) if directory.is_file() => vec![around.to_owned()],
        _ => vec![directory.clone()],
    };
    let there = Assembly::new(RunContext::again(global, assembly.environment.clone())?);
    let mut listed = foreign(&there).await?;
    listed.retain(|it| Path::new(&it.path).starts_with(&directory));
    Ok(listed)
}

/// Says of plugins of other systems what there is to say.
fn validate_guests(run: &RunContext, path: &Path, guests: &[Listed]) -> Outcome {
    let is_ignored = |line: &&String| line.starts_with("ignored") || line.contains(" ignored");
    let errors: Vec<&str> = guests.iter().filter_map(|it| it.failure.as_deref()).collect();
    let exit = if errors.is_empty() { Exit::Done } else { Exit::Failed };
    if run.wants_json() {
        let warnings: Vec<&String> =
            guests.iter().flat_map(|it| &it.report).filter(is_ignored).collect();
        output::json(&json!({
            "path": path.display().to_string(),
            "valid": errors.is_empty(),
            "warnings": warnings,
            "error": errors.first(),
            "errors": errors,
            "plugins": guests,
        }))?;
        return Ok(exit);
    }
    for guest in guests {
        if let Some(why) = &guest.failure {
            output::error(&format!("{}: {why}", guest.path));
            continue;
        }
        let (system, name) = (guest.dialect, &guest.name);
        output::line(visible(&format!("{} is the plugin {name} of {system}.", guest.path)))?;
        for line in &guest.report {
            output::line(visible(line))?;
        }
    }
    Ok(exit)
}

/// The directories and the word for where each comes from, in the order in which they count.
fn search_paths(assembly: &Assembly) -> Vec<(std::path::PathBuf, &'static str)> {
    let env = assembly.plugin_env();
    let word = |place| match place {
        Place::Global => "global",
        Place::Configured => "config",
        Place::Environment => "env",
        Place::Project => "project",
        Place::EntryPoint => "entry_points",
        Place::Flag => "flag",
    };
    let mut paths = env.plugin_directories();
    paths.extend(env.sites().iter().map(|path| (path.clone(), Place::EntryPoint)));
    paths.sort_by_key(|(_, place)| *place);
    paths.into_iter().map(|(path, place)| (path, word(place))).collect()
}

fn paths(assembly: &Assembly) -> Outcome {
    let paths = search_paths(assembly);
    let variable = |name: &'static str| (name, assembly.environment.variable(name));
    let variables = [
        variable("BRYNHILD_PLUGIN_PATH"),
        variable("BRYNHILD_ENABLED_PLUGINS"),
        variable("BRYNHILD_DISABLE_ENTRY_POINT_PLUGINS"),
    ];
    if assembly.wants_json() {
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
