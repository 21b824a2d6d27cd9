//! `plugin install`, `update` and `remove`, with a lock file; `plugin marketplace`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use plugin_kit::content::{self, Content};
use plugin_kit::installable;
use plugin_kit::lock::{Lock, LockedPlugin};
use plugin_kit::marketplace::{KnownMarketplaces, Marketplace};
use plugin_kit::source::{Source, UnknownSource, is_name, repository_name};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::fetch::{self, Fetched};
use super::packages;
use super::servers::{self, OnChange};
use crate::args::{MarketplaceCommand, PluginInstallArgs};
use crate::assemble::assembly::Assembly;
use crate::assemble::run_context::RunContext;
use crate::commands::confirmed;
use crate::exit::{Exit, Outcome, Problem};
use crate::output;

/// A plugin that is ready to be put into its place.
struct Staged {
    name: String,
    /// Its place below the directory of the configuration.
    place: PathBuf,
    directory: PathBuf,
    content: Content,
    revision: Option<String>,
    _scratch: TempDir,
}

pub(super) async fn install(assembly: &Assembly, args: &PluginInstallArgs) -> Outcome {
    if args.frozen {
        return install_frozen(assembly).await;
    }
    let Some(text) = &args.source else {
        return Err(Problem::misuse("no plugin is named").hint(UnknownSource::HINT));
    };
    let source = Source::parse(text, &assembly.environment.cwd)
        .map_err(|error| Problem::misuse(error.to_string()).hint(UnknownSource::HINT))?;
    install_one(assembly, source, None).await
}

/// Installs a plugin, or shows what would change and asks. `known` is its name if it is installed.
async fn install_one(assembly: &Assembly, source: Source, known: Option<&str>) -> Outcome {
    if let Source::Pip(package) = &source {
        return packages::install(assembly, package).await;
    }
    let staged = stage(assembly, &source, None).await?;
    let Staged { name, place, content, .. } = &staged;
    let config_dir = assembly.config_dir()?;
    let target = config_dir.join(place);
    let mut lock = Lock::read(config_dir)?;
    if known.is_none() && target.exists() && !lock.plugins.contains_key(name) {
        let text = format!("{} exists and was not installed by this command", target.display());
        return Err(Problem::misuse(text).hint("move it away, then try again"));
    }
    let before = if target.exists() { content::content(&target)? } else { Content::new() };
    let changes = content::changes(&before, content);
    let data = json!({"name": name, "directory": target, "source": source.to_string(),
        "revision": staged.revision, "changed_files": changes.len()});
    if changes.is_empty() {
        record(&mut lock, config_dir, source, &staged)?;
        servers::review(assembly, name, known.map(|_| OnChange::Ask)).await?;
        return assembly.report(&data, format!("{name} is up to date."));
    }
    if !before.is_empty() {
        let lines = changes.iter().map(|(sign, path)| format!("{sign} {}\n", path.display()));
        output::text(lines.collect::<String>())?;
        let question = format!("Replace {name} by this version?");
        if !confirmed(assembly, &question)? {
            return Err(Problem::new(Exit::PermissionNeeded, format!("{name} stays as it is"))
                .hint("pass `--yes` to replace it without a question"));
        }
    }
    content::replace(&staged.directory, &target)?;
    record(&mut lock, config_dir, source, &staged)?;
    servers::review(assembly, name, known.map(|_| OnChange::Ask)).await?;
    output::hint(&format!("`brynhild plugin show {name}` shows what it adds"));
    let files = staged.content.len();
    assembly.report(&data, format!("Installed {name} in {} (files: {files})", target.display()))
}

/// Fetches a plugin and copies it beside its place.
async fn stage(
    assembly: &Assembly,
    source: &Source,
    revision: Option<&str>,
) -> Result<Staged, Problem> {
    let (fetched, manifest) = match source {
        Source::Marketplace { plugin, marketplace } => {
            listed(assembly, (plugin, marketplace), revision).await?
        }
        _ => (fetch::fetch(assembly, source, revision).await?, None),
    };
    let scratch = fetch::scratch(assembly)?;
    let directory = scratch.path().join("plugin");
    let left_out = content::copy(&fetched.directory, &directory)?;
    if !left_out.is_empty() {
        let names: Vec<String> = left_out.iter().map(|it| it.display().to_string()).collect();
        output::warning(&format!("symlinks are not installed: {}", names.join(", ")));
    }
    if let Some(manifest) = manifest {
        let file = directory.join(".claude-plugin/plugin.json");
        if file.exists() {
            output::warning("its own plugin.json is replaced by the entry of the marketplace");
        }
        fs::create_dir_all(directory.join(".claude-plugin"))?;
        fs::write(file, serde_json::to_string_pretty(&manifest)? + "\n")?;
    }
    let fallback = fetched.directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let fallback = match source {
        Source::Marketplace { plugin, .. } => plugin.clone(),
        Source::Git { url, .. } => repository_name(url),
        _ => fallback,
    };
    let (name, place) = installable::recognize(&directory, &fallback).map_err(Problem::failed)?;
    let content = content::content(&directory)?;
    Ok(Staged { name, place, directory, content, revision: fetched.revision, _scratch: scratch })
}

fn record(lock: &mut Lock, config_dir: &Path, source: Source, staged: &Staged) -> io::Result<()> {
    let locked = LockedPlugin {
        source,
        revision: staged.revision.clone(),
        directory: staged.place.clone(),
        content: content::hash(&staged.content),
        packages: Vec::new(),
        servers: lock.plugins.remove(&staged.name).map(|it| it.servers).unwrap_or_default(),
    };
    lock.plugins.insert(staged.name.clone(), locked);
    lock.write(config_dir)
}

/// Installs what the lock file names, and fails if anything differs from it.
async fn install_frozen(assembly: &Assembly) -> Outcome {
    let config_dir = assembly.config_dir()?;
    let lock = Lock::read(config_dir)?;
    for (name, locked) in &lock.plugins {
        if let Source::Pip(_) = &locked.source {
            packages::install_frozen(assembly, name, locked).await?;
            continue;
        }
        let target = config_dir.join(&locked.directory);
        if target.exists() {
            check(name, &locked.content, &content::content(&target)?)?;
        } else {
            let staged = stage(assembly, &locked.source, locked.revision.as_deref()).await?;
            check(name, &locked.content, &staged.content)?;
            content::replace(&staged.directory, &target)?;
        }
        if !locked.servers.is_empty() {
            servers::review(assembly, name, Some(OnChange::Refuse)).await?;
        }
    }
    let count = lock.plugins.len();
    assembly.report(&json!({"plugins": count}), "What is installed matches plugins.lock.")
}

fn check(name: &str, locked: &str, content: &Content) -> Result<(), Problem> {
    if content::hash(content) == locked {
        return Ok(());
    }
    Err(Problem::failed(format!("{name} differs from plugins.lock"))
        .hint(format!("`brynhild plugin update {name}` shows what changed and updates the lock")))
}

pub(super) async fn update(assembly: &Assembly, name: Option<&str>) -> Outcome {
    let lock = Lock::read(assembly.config_dir()?)?;
    if let Some(name) = name.filter(|name| !lock.plugins.contains_key(*name)) {
        return Err(not_installed(name));
    }
    for (known, locked) in lock.plugins {
        if name.is_none_or(|name| name == known) {
            install_one(assembly, locked.source, Some(&known)).await?;
        }
    }
    Ok(Exit::Done)
}

fn not_installed(name: &str) -> Problem {
    Problem::misuse(format!("{name} was not installed by `brynhild plugin install`"))
        .hint("`brynhild plugin list` lists all plugins")
}

pub(super) fn remove(run: &RunContext, name: &str) -> Outcome {
    let config_dir = run.config_dir()?;
    let mut lock = Lock::read(config_dir)?;
    let locked = lock.plugins.remove(name).ok_or_else(|| not_installed(name))?;
    let target = config_dir.join(&locked.directory);
    if !confirmed(run, &format!("Delete {}?", target.display()))? {
        return Err(Problem::new(Exit::PermissionNeeded, format!("{name} stays installed"))
            .hint("pass `--yes` to remove it without a question"));
    }
    match fs::remove_dir_all(&target) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => lock.write(config_dir)?,
    }
    run.report(&json!({"removed": name}), format!("Removed {name}."))
}

pub(super) async fn marketplace(assembly: &Assembly, command: &MarketplaceCommand) -> Outcome {
    let config_dir = assembly.config_dir()?;
    let mut known = KnownMarketplaces::read(config_dir)?;
    match command {
        MarketplaceCommand::Add { source } => {
            let source = Source::parse(source, &assembly.environment.cwd).ok().filter(is_place);
            let source = source
                .ok_or_else(|| Problem::misuse("a marketplace is a directory or a git address"))?;
            let (name, count) = add(assembly, &source).await?;
            known.0.insert(name.clone(), source);
            known.write(config_dir)?;
            output::hint(&format!("`brynhild plugin install NAME@{name}` installs a plugin"));
            let text = format!("Added {name} (plugins: {count}).");
            assembly.report(&json!({"name": name, "plugins": count}), text)
        }
        MarketplaceCommand::List => list(assembly, &known),
        MarketplaceCommand::Update { name } => {
            for (own, source) in &known.0 {
                if name.as_ref().is_none_or(|name| name == own) {
                    add(assembly, source).await?;
                }
            }
            assembly.report(&json!({"updated": true}), "Updated.")
        }
        MarketplaceCommand::Remove { name } => {
            if known.0.remove(name).is_none() {
                return Err(unknown_marketplace(name, &known));
            }
            let clone = KnownMarketplaces::clone_directory(config_dir, name);
            if clone.exists() {
                fs::remove_dir_all(clone)?;
            }
            known.write(config_dir)?;
            assembly.report(&json!({"removed": name}), format!("Removed {name}."))
        }
    }
}

fn is_place(source: &Source) -> bool {
    matches!(source, Source::Directory(_) | Source::Git { .. })
}

/// Reads a marketplace, and keeps a copy if it is a repository.
async fn add(assembly: &Assembly, source: &Source) -> Result<(String, usize), Problem> {
    let Fetched { directory, scratch, .. } = fetch::fetch(assembly, source, None).await?;
    let marketplace = Marketplace::read(&directory).map_err(Problem::misuse)?;
    if scratch.is_some() {
        let copy = KnownMarketplaces::clone_directory(assembly.config_dir()?, &marketplace.name);
        if copy.exists() {
            fs::remove_dir_all(&copy)?;
        }
        if let Some(parent) = copy.parent() {
            files::private::make_directory(parent)?;
        }
        fs::rename(&directory, copy)?;
    }
    let count = marketplace.names().count();
    Ok((marketplace.name, count))
}

fn unknown_marketplace(name: &str, known: &KnownMarketplaces) -> Problem {
    let names: Vec<&str> = known.0.keys().map(String::as_str).collect();
    let hint = match names.as_slice() {
        [] => "`brynhild plugin marketplace add PATH|GIT-URL` adds one".to_owned(),
        names => format!("there are {}", names.join(", ")),
    };
    Problem::misuse(format!("there is no marketplace {name}")).hint(hint)
}

/// The directory of a marketplace that was added.
fn directory(run: &RunContext, name: &str) -> Result<PathBuf, Problem> {
    let config_dir = run.config_dir()?;
    let known = KnownMarketplaces::read(config_dir)?;
    match known.0.get(name) {
        Some(Source::Directory(path)) => Ok(path.clone()),
        Some(_) if is_name(name) => Ok(KnownMarketplaces::clone_directory(config_dir, name)),
        _ => Err(unknown_marketplace(name, &known)),
    }
}

fn list(run: &RunContext, known: &KnownMarketplaces) -> Outcome {
    let mut rows = Vec::new();
    for (name, source) in &known.0 {
        match Marketplace::read(&directory(run, name)?) {
            Ok(marketplace) => rows.extend(marketplace.names().map(|(plugin, description)| {
                [format!("{plugin}@{name}"), description.to_owned(), source.to_string()]
            })),
            Err(why) => output::warning(&why),
        }
    }
    let data: Vec<Value> = rows
        .iter()
        .map(|[plugin, description, source]| {
            json!({"plugin": plugin, "description": description, "marketplace": source})
        })
        .collect();
    run.report(&data, output::table(rows))
}

/// Fetches a plugin of a marketplace, with the manifest that its entry defines.
async fn listed(
    assembly: &Assembly,
    (plugin, marketplace): (&str, &str),
    revision: Option<&str>,
) -> Result<(Fetched, Option<Map<String, Value>>), Problem> {
    let directory = directory(assembly, marketplace)?;
    let marketplace = Marketplace::read(&directory).map_err(Problem::failed)?;
    let entry = marketplace.entry(plugin, &directory).map_err(Problem::misuse)?;
    let fetched = fetch::fetch(assembly, &entry.source, revision).await?;
    Ok((fetched, entry.manifest))
}
