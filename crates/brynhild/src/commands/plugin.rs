//! `plugin`: creates, lists, shows and checks plugins, and switches them on and off.

mod bench;
mod check;
pub(crate) mod dev;
pub(super) mod host;
mod new;
mod parts;
mod servers;
mod testing;
use std::path::{Path, PathBuf};

use args::{Global, MarketplaceCommand, PluginCommand};
use assemble::assembly::{Assembly, workers};
use assemble::exit::{Exit, Outcome, Problem};
use assemble::run_context::RunContext;
use assemble::{mcp, output, plugin_env, tool_size};
use host::KitHost;
use plugin_kit::host::Host as _;
use plugin_kit::install;
use plugins::manifest::{self, Validation};
use plugins::open_plugins::Listed;
use plugins::plugin::{Place, Plugin, PluginState, ReportLine};
use plugins::problem::Problem as Fault;
use plugins::state;
use serde_json::{Map, Value, json};
use tools::tool_search;

use super::{grant, print_problems, role, shortened, text};
use crate::frontends::plugin_switch::{Switch, not_found, switch};

pub(crate) async fn run(assembly: &Assembly, command: &PluginCommand) -> Outcome {
    match command {
        PluginCommand::New(args) => new::run(assembly, args),
        PluginCommand::Test(args) => testing::run(assembly, args).await,
        PluginCommand::Bench { directory } => Box::pin(bench::run(assembly, directory)).await,
        PluginCommand::Dev(args) => dev::run(assembly, args).await,
        PluginCommand::Install(_)
        | PluginCommand::Update { .. }
        | PluginCommand::Remove { .. }
        | PluginCommand::Marketplace(_) => {
            install(&KitHost::new(assembly)?, command).await?;
            Ok(Exit::Done)
        }
        PluginCommand::List => list(assembly, &foreign(assembly).await?),
        PluginCommand::Show { name } => {
            let foreign = foreign(assembly).await;
            let shown = foreign.and_then(|foreign| show(assembly, name, &foreign));
            // Of a plugin that is not there, any problem may be the cause.
            assembly.release_problems(|_| true);
            shown
        }
        PluginCommand::Validate { path } => validate(assembly, path).await,
        PluginCommand::Check { path } => check::run(assembly, path).await,
        PluginCommand::Grant(args) => grant::plugin(assembly, args),
        PluginCommand::Paths => paths(assembly),
        PluginCommand::Enable { name } => switch(assembly, name, Switch::On),
        PluginCommand::Disable { name } => switch(assembly, name, Switch::Off),
    }
}

async fn install(host: &KitHost<'_>, command: &PluginCommand) -> Result<(), Problem> {
    match command {
        PluginCommand::Install(args) if args.frozen => install::install_frozen(host).await,
        PluginCommand::Install(args) => install::install(host, args.source.as_deref()).await,
        PluginCommand::Update { name } => install::update(host, name.as_deref()).await,
        PluginCommand::Remove { name } => install::remove(host, name),
        PluginCommand::Marketplace(command) => match command {
            MarketplaceCommand::Add { source } => install::add_marketplace(host, source).await,
            MarketplaceCommand::Update { name } => {
                install::update_marketplaces(host, name.as_deref()).await
            }
            MarketplaceCommand::Remove { name } => install::remove_marketplace(host, name),
            MarketplaceCommand::List => {
                let rows = install::listed_plugins(host)?;
                let data = |[plugin, description, source]: &[String; 3]| json!({"plugin": plugin, "description": description, "marketplace": source});
                let data: Vec<Value> = rows.iter().map(data).collect();
                Ok(host.report(&data.into(), &output::table(rows))?)
            }
        },
        _ => Ok(()),
    }
}

async fn foreign(assembly: &Assembly) -> Result<Vec<Listed>, Problem> {
    let dialects = plugin_env::open(assembly).await?;
    let mut listed: Vec<Listed> = Vec::new();
    for dialect in &dialects {
        let tools = dialect.tools();
        listed.extend(dialect.listing().into_iter().map(|it| tool_size::weighed(it, &tools)));
    }
    futures::future::join_all(dialects.iter().map(|dialect| dialect.shutdown())).await;
    listed.extend(plugins::dialects::unopened(&assembly.plugin_env()));
    listed.extend(mcp::listing(assembly)?);
    Ok(listed)
}

fn list(assembly: &Assembly, foreign: &[Listed]) -> Outcome {
    let set = assembly.plugins();
    let own = set.plugins.iter().map(|plugin| Ok(set.shown(plugin)));
    let rows = own.chain(foreign.iter().map(serde_json::to_value));
    let rows: Vec<Value> = rows.collect::<Result<_, _>>()?;
    if assembly.wants_json() {
        let enabled = rows.iter().filter(|row| row["enabled"] == true).count();
        let problems = |faults: &[Fault]| {
            let data = |it: &Fault| json!({"path": it.path.display().to_string(), "what": it.what, "hint": it.hint});
            faults.iter().map(data).collect::<Vec<Value>>()
        };
        output::json(&json!({
            "plugins": rows,
            "enabled_count": enabled,
            "disabled_count": rows.len() - enabled,
            "problems": problems(&set.problems),
            "notes": problems(&set.notes),
        }))?;
        return Ok(Exit::Done);
    }
    if rows.is_empty() {
        output::line("No plugins were found.")?;
        output::hint("`brynhild plugin paths` shows where they are looked for");
    }
    let states = set.plugins.iter().map(Plugin::state).chain(foreign.iter().map(Listed::state));
    let cells = |(row, state): (&Value, PluginState)| {
        let state = state.as_str();
        let [place, dialect] = ["place", "dialect"].map(|key| text(row, key));
        let mut about = text(row, "description");
        if about.is_empty() {
            about = row["report"][0].as_str().unwrap_or_default();
        }
        let system = if dialect.is_empty() { "brynhild" } else { dialect };
        [text(row, "name"), text(row, "version"), state, system, place, &*shortened(about, 70)]
            .map(str::to_owned)
    };
    let titles = ["NAME", "VERSION", "STATE", "SYSTEM", "FOUND IN", "DESCRIPTION"];
    let titles = (!rows.is_empty()).then(|| titles.map(str::to_owned));
    output::text(output::table(titles.into_iter().chain(rows.iter().zip(states).map(cells))))?;
    for note in &set.notes {
        output::hint(&format!("{note} ({})", note.hint));
    }
    Ok(Exit::Done)
}

fn show(assembly: &Assembly, name: &str, foreign: &[Listed]) -> Outcome {
    let (system, plain) = state::split(name);
    let is_meant = |other: &&Listed| {
        other.name == plain && system.is_none_or(|system| system == other.dialect)
    };
    let own = system.is_none_or(|system| system == plugins::plugin_set::OWN);
    let own = assembly.plugins().get(plain).filter(|_| own);
    let mut others = foreign.iter().filter(is_meant);
    let release = |root: &Path| {
        let is_of_plugin = in_plugins(assembly, foreign);
        assembly.release_problems(|path| path.starts_with(root) || !is_of_plugin(path));
    };
    if let Some(plugin) = own {
        release(&plugin.root);
        show_own(assembly, plugin)?;
    } else if let Some(other) = others.next() {
        release(Path::new(&other.path));
        show_foreign(assembly, other)?;
    } else {
        return Err(not_found(assembly, name));
    }
    for other in others {
        output::hint(&format!("`brynhild plugin show {}:{plain}` shows another", other.dialect));
    }
    Ok(Exit::Done)
}

/// Tells if a path is a part of some plugin.
pub(super) fn in_plugins(assembly: &Assembly, foreign: &[Listed]) -> impl Fn(&Path) -> bool {
    let places = assembly.plugin_env().plugin_directories().into_iter().map(|(place, _)| place);
    let roots = foreign.iter().map(|it| PathBuf::from(&it.path));
    let roots: Vec<PathBuf> = places.chain(roots.filter(|root| root.is_absolute())).collect();
    move |path| roots.iter().any(|root| path.starts_with(root))
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
    let tokens = known.as_ref().map(|(_, tokens)| *tokens);
    if let Some((names, _)) = known {
        shown["tools"] = names.into();
    }
    let words = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        Value::Bool(is_true) => String::from(if *is_true { "yes" } else { "no" }),
        Value::Null => String::new(),
        Value::Number(_) | Value::Object(_) => value.to_string(),
    };
    let fields = shown.as_object().into_iter().flatten();
    output::text(output::fields(fields.map(|(key, value)| (key.as_str(), words(value)))))?;
    print_tokens(tokens)?;
    if let Some((_, hint)) = assembly.plugin_env().undecided_request(plugin) {
        output::hint(&hint);
    }
    if !plugin.trusted {
        output::hint("nothing of it is used before you trust it: `brynhild trust`");
    }
    Ok(Exit::Done)
}

/// The tools that a plugin is known to have, and about how many tokens of a request they take.
/// Runs nothing of the plugin, so there are none before it was first loaded.
fn known_tools(
    assembly: &Assembly,
    plugin: &Plugin,
) -> Result<Option<(Vec<String>, usize)>, Problem> {
    if !plugin.is_active() {
        return Ok(None);
    }
    let python = assembly.python()?;
    let described = python.host.described(&python.plugins([plugin])).pop().flatten();
    let described = described.filter(|described| !described.offer.tools.is_empty());
    Ok(described.map(|described| {
        let tools = python.host.tools(&python.python.plugin(plugin), &described.offer);
        let names = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        (names, tools.iter().map(|tool| tool_search::tokens(&tool.spec())).sum())
    }))
}

fn print_tokens(tokens: Option<usize>) -> std::io::Result<()> {
    let line = |tokens| format!("what the model reads of its tools: about {tokens} tokens");
    tokens.map_or(Ok(()), |tokens| output::line(line(tokens)))
}

fn show_foreign(run: &RunContext, plugin: &Listed) -> Outcome {
    let enabled = match plugin.state() {
        PluginState::Untrusted => "no (untrusted)",
        PluginState::Enabled => "yes",
        PluginState::Disabled | PluginState::Rejected => "no",
    };
    let fields = [
        ("name", plugin.name.as_str()),
        ("version", &plugin.version),
        ("description", &plugin.description),
        ("dialect", plugin.dialect),
        ("path", &plugin.path),
        ("enabled", enabled),
    ];
    let fields = output::fields(fields.map(|(key, value)| (key, value.to_owned())));
    let report: Vec<&str> = plugin.report.iter().map(ReportLine::as_str).collect();
    run.report(plugin, fields + &report.join("\n"))?;
    print_tokens(plugin.tool_tokens.filter(|_| !run.wants_json()))?;
    Ok(Exit::Done)
}

/// The plugins at a path that was named, after a check.
pub(super) enum Examined {
    Own(Box<Validation>),
    Foreign(Vec<Listed>),
}

pub(super) async fn examine(assembly: &Assembly, path: &Path) -> Result<Examined, Problem> {
    let mut directory = assembly.environment.cwd.join(path);
    if !directory.exists()
        && let Some(plugin) = path.to_str().and_then(|name| assembly.plugins().get(name))
    {
        directory.clone_from(&plugin.root);
    }
    let foreign = foreign_plugins(assembly, path, &directory).await?;
    if !foreign.is_empty() {
        return Ok(Examined::Foreign(foreign));
    }
    let mut validation = manifest::validate(&directory);
    let root = directory.parent().filter(|_| directory.is_file()).unwrap_or(&directory);
    if validation.manifest.is_some() {
        parts::check(assembly, &root.canonicalize()?, &mut validation).await?;
    }
    Ok(Examined::Own(Box::new(validation)))
}

async fn validate(assembly: &Assembly, path: &Path) -> Outcome {
    if let Some(file) = testing::role_file(&assembly.environment.cwd.join(path)) {
        let global = Global { role_file: Some(file.clone()), ..assembly.global.clone() };
        let there = RunContext::again(global, assembly.environment.clone())?;
        return role::validate(&Assembly::new(there), &file).await;
    }
    let shown = path.display().to_string();
    let Validation { errors, warnings, manifest } = match examine(assembly, path).await? {
        Examined::Own(validation) => *validation,
        Examined::Foreign(plugins) => return validate_foreign(assembly, &shown, &plugins),
    };
    let texts = |faults: &[Fault]| faults.iter().map(|it| it.what.clone()).collect::<Vec<_>>();
    let data = json!({
        "path": shown,
        "valid": errors.is_empty(),
        "warnings": texts(&warnings),
        "error": errors.first().map(ToString::to_string),
        "errors": texts(&errors),
    });
    if !assembly.wants_json() {
        print_problems(&errors);
        output::problems(&warnings);
    }
    let words = manifest
        .filter(|_| errors.is_empty())
        .map(|manifest| format!("{shown} is the plugin {} {}.", manifest.name, manifest.version));
    assembly.report(&data, words.unwrap_or_default())?;
    Ok(if errors.is_empty() { Exit::Done } else { Exit::Failed })
}

/// The plugins of other systems of a name, or in a directory without a manifest of ours.
async fn foreign_plugins(
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
        Some(parent) if directory.is_file() => vec![parent.to_owned()],
        _ => vec![directory.clone()],
    };
    let there = Assembly::new(RunContext::again(global, assembly.environment.clone())?);
    there.use_python(workers::quiet_host(&there)?);
    let mut listed = foreign(&there).await?;
    listed.retain(|it| Path::new(&it.path).starts_with(&directory));
    Ok(listed)
}

fn ignored(plugins: &[Listed]) -> impl Iterator<Item = &ReportLine> {
    let is_ignored = |line: &&ReportLine| matches!(line, ReportLine::Ignored(_));
    plugins.iter().flat_map(|it| &it.report).filter(is_ignored)
}

fn validate_foreign(run: &RunContext, path: &str, plugins: &[Listed]) -> Outcome {
    let errors: Vec<&str> = plugins.iter().filter_map(|it| it.failure.as_deref()).collect();
    let warnings: Vec<&ReportLine> = ignored(plugins).collect();
    let data = json!({
        "path": path,
        "valid": errors.is_empty(),
        "warnings": warnings,
        "error": errors.first(),
        "errors": errors,
        "plugins": plugins,
    });
    let mut lines = Vec::new();
    for Listed { name, dialect, path, failure, report, .. } in plugins {
        match failure {
            Some(why) if !run.wants_json() => output::error(&format!("{path}: {why}")),
            Some(_) => {}
            None => {
                lines.push(format!("{path} is the plugin {name} of {dialect}."));
                lines.extend(report.iter().map(|line| line.as_str().to_owned()));
            }
        }
    }
    run.report(&data, lines.join("\n"))?;
    Ok(if errors.is_empty() { Exit::Done } else { Exit::Failed })
}

/// The searched directories with their origin, in order of precedence.
fn search_paths(assembly: &Assembly) -> Vec<(PathBuf, &'static str)> {
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
    let variables: Map<String, Value> = [
        "BRYNHILD_PLUGIN_PATH",
        "BRYNHILD_ENABLED_PLUGINS",
        "BRYNHILD_DISABLE_ENTRY_POINT_PLUGINS",
    ]
    .into_iter()
    .map(|name| (name.to_owned(), json!(assembly.environment.variable(name))))
    .collect();
    let data = |(path, source): &(PathBuf, &str)| json!({"path": path.display().to_string(), "exists": path.is_dir(), "source": source});
    let data: Vec<Value> = paths.iter().map(data).collect();
    let row = |(path, source): &(PathBuf, &str)| {
        let exists = if path.is_dir() { "" } else { "(not there)" };
        [(*source).to_owned(), path.display().to_string(), exists.to_owned()]
    };
    let words = output::table(paths.iter().map(row));
    assembly.report(&json!({"search_paths": data, "env_vars": variables}), words)
}
