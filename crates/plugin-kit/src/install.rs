//! Installs, updates and removes plugins, with a lock file, and adds marketplaces.

mod fetch;
mod packages;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::content::{self, Content};
use crate::host::{Host, HostError as _, OnChange};
use crate::installable;
use crate::lock::{Lock, LockedPlugin};
use crate::marketplace::{KnownMarketplaces, Marketplace};
use crate::source::{Source, UnknownSource, is_name, repository_name};
use fetch::Fetched;

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

/// Installs the plugin that `text` names.
pub async fn install<H: Host>(host: &H, text: Option<&str>) -> Result<(), H::Error> {
    let misuse = |text: String| H::Error::misuse(text).hint(UnknownSource::HINT.to_owned());
    let text = text.ok_or_else(|| misuse("no plugin is named".to_owned()))?;
    let source = Source::parse(text, host.cwd()).map_err(|error| misuse(error.to_string()))?;
    install_one(host, source, None).await
}

/// Installs a plugin, or shows what would change and asks. `known` is its name if it is installed.
async fn install_one<H: Host>(
    host: &H,
    source: Source,
    known: Option<&str>,
) -> Result<(), H::Error> {
    if let Source::Pip(package) = &source {
        return packages::install(host, package).await;
    }
    let staged = stage(host, &source, None).await?;
    let Staged { name, place, content, .. } = &staged;
    let config_dir = host.config_dir();
    let target = config_dir.join(place);
    let mut lock = Lock::read(config_dir)?;
    if known.is_none() && target.exists() && !lock.plugins.contains_key(name) {
        let text = format!("{} exists and was not installed by this command", target.display());
        return Err(H::Error::misuse(text).hint("move it away, then try again".to_owned()));
    }
    let before = if target.exists() { content::content(&target)? } else { Content::new() };
    let changes = content::changes(&before, content);
    let data = json!({"name": name, "directory": target, "source": source.to_string(),
        "revision": staged.revision, "changed_files": changes.len()});
    if changes.is_empty() {
        record(&mut lock, config_dir, source, &staged)?;
        host.review_servers(name, known.map(|_| OnChange::Ask)).await?;
        return Ok(host.report(&data, &format!("{name} is up to date."))?);
    }
    if !before.is_empty() {
        let lines = changes.iter().map(|(sign, path)| format!("{sign} {}\n", path.display()));
        host.show(&lines.collect::<String>())?;
        let question = format!("Replace {name} by this version?");
        if !host.confirm(&question)? {
            return Err(H::Error::declined(format!("{name} stays as it is"))
                .hint("pass `--yes` to replace it without a question".to_owned()));
        }
    }
    content::replace(&staged.directory, &target)?;
    record(&mut lock, config_dir, source, &staged)?;
    host.review_servers(name, known.map(|_| OnChange::Ask)).await?;
    host.hint(&format!("`brynhild plugin show {name}` shows what it adds"));
    let files = staged.content.len();
    let text = format!("Installed {name} in {} (files: {files})", target.display());
    Ok(host.report(&data, &text)?)
}

/// Fetches a plugin and copies it beside its place.
async fn stage<H: Host>(
    host: &H,
    source: &Source,
    revision: Option<&str>,
) -> Result<Staged, H::Error> {
    let (fetched, manifest) = match source {
        Source::Marketplace { plugin, marketplace } => {
            listed(host, (plugin, marketplace), revision).await?
        }
        _ => (fetch::fetch(host, source, revision).await?, None),
    };
    let scratch = scratch(host)?;
    let directory = scratch.path().join("plugin");
    let left_out = content::copy(&fetched.directory, &directory)?;
    if !left_out.is_empty() {
        let names: Vec<String> = left_out.iter().map(|it| it.display().to_string()).collect();
        host.warn(&format!("symlinks are not installed: {}", names.join(", ")));
    }
    if let Some(manifest) = manifest {
        let file = directory.join(".claude-plugin/plugin.json");
        if file.exists() {
            host.warn("its own plugin.json is replaced by the entry of the marketplace");
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
    let (name, place) = installable::recognize(&directory, &fallback).map_err(H::Error::failed)?;
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
pub async fn install_frozen<H: Host>(host: &H) -> Result<(), H::Error> {
    let config_dir = host.config_dir();
    let lock = Lock::read(config_dir)?;
    if lock.plugins.is_empty() {
        let text = format!("{}/plugins.lock is missing or empty", config_dir.display());
        return Err(H::Error::misuse(text).hint("copy the lock file to this path".to_owned()));
    }
    for (name, locked) in &lock.plugins {
        if let Source::Pip(_) = &locked.source {
            packages::install_frozen(host, name, locked).await?;
            continue;
        }
        let target = config_dir.join(&locked.directory);
        if target.exists() {
            check::<H>(name, &locked.content, &content::content(&target)?)?;
        } else {
            let staged = stage(host, &locked.source, locked.revision.as_deref()).await?;
            check::<H>(name, &locked.content, &staged.content)?;
            content::replace(&staged.directory, &target)?;
        }
        if !locked.servers.is_empty() {
            host.review_servers(name, Some(OnChange::Refuse)).await?;
        }
    }
    let count = lock.plugins.len();
    Ok(host.report(&json!({"plugins": count}), "What is installed matches plugins.lock.")?)
}

fn check<H: Host>(name: &str, locked: &str, content: &Content) -> Result<(), H::Error> {
    if content::hash(content) == locked {
        return Ok(());
    }
    Err(H::Error::failed(format!("{name} differs from plugins.lock"))
        .hint(format!("`brynhild plugin update {name}` shows what changed and updates the lock")))
}

/// Updates one plugin, or all.
pub async fn update<H: Host>(host: &H, name: Option<&str>) -> Result<(), H::Error> {
    let lock = Lock::read(host.config_dir())?;
    if let Some(name) = name.filter(|name| !lock.plugins.contains_key(*name)) {
        return Err(not_installed::<H>(name));
    }
    for (known, locked) in lock.plugins {
        if name.is_none_or(|name| name == known) {
            install_one(host, locked.source, Some(&known)).await?;
        }
    }
    Ok(())
}

fn not_installed<H: Host>(name: &str) -> H::Error {
    H::Error::misuse(format!("{name} was not installed by `brynhild plugin install`"))
        .hint("`brynhild plugin list` lists all plugins".to_owned())
}

pub fn remove<H: Host>(host: &H, name: &str) -> Result<(), H::Error> {
    let config_dir = host.config_dir();
    let mut lock = Lock::read(config_dir)?;
    let locked = lock.plugins.remove(name).ok_or_else(|| not_installed::<H>(name))?;
    let target = config_dir.join(&locked.directory);
    if !host.confirm(&format!("Delete {}?", target.display()))? {
        return Err(H::Error::declined(format!("{name} stays installed"))
            .hint("pass `--yes` to remove it without a question".to_owned()));
    }
    match fs::remove_dir_all(&target) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => lock.write(config_dir)?,
    }
    Ok(host.report(&json!({"removed": name}), &format!("Removed {name}."))?)
}

pub async fn add_marketplace<H: Host>(host: &H, source: &str) -> Result<(), H::Error> {
    let is_place = |it: &Source| matches!(it, Source::Directory(_) | Source::Git { .. });
    let source = Source::parse(source, host.cwd()).ok().filter(is_place);
    let wrong = || H::Error::misuse("a marketplace is a directory or a git address".to_owned());
    let source = source.ok_or_else(wrong)?;
    let mut known = KnownMarketplaces::read(host.config_dir())?;
    let (name, count) = add(host, &source).await?;
    known.0.insert(name.clone(), source);
    known.write(host.config_dir())?;
    host.hint(&format!("`brynhild plugin install NAME@{name}` installs a plugin"));
    let text = format!("Added {name} (plugins: {count}).");
    Ok(host.report(&json!({"name": name, "plugins": count}), &text)?)
}

/// Reads one marketplace again, or all.
pub async fn update_marketplaces<H: Host>(host: &H, name: Option<&str>) -> Result<(), H::Error> {
    for (own, source) in &KnownMarketplaces::read(host.config_dir())?.0 {
        if name.is_none_or(|name| name == own) {
            add(host, source).await?;
        }
    }
    Ok(host.report(&json!({"updated": true}), "Updated.")?)
}

pub fn remove_marketplace<H: Host>(host: &H, name: &str) -> Result<(), H::Error> {
    let mut known = KnownMarketplaces::read(host.config_dir())?;
    if known.0.remove(name).is_none() {
        return Err(unknown_marketplace::<H>(name, &known));
    }
    let clone = KnownMarketplaces::clone_directory(host.config_dir(), name);
    if clone.exists() {
        fs::remove_dir_all(clone)?;
    }
    known.write(host.config_dir())?;
    Ok(host.report(&json!({"removed": name}), &format!("Removed {name}."))?)
}

/// Reads a marketplace, and keeps a copy if it is a repository.
async fn add<H: Host>(host: &H, source: &Source) -> Result<(String, usize), H::Error> {
    let Fetched { directory, scratch, .. } = fetch::fetch(host, source, None).await?;
    let marketplace = Marketplace::read(&directory).map_err(H::Error::misuse)?;
    if scratch.is_some() {
        let copy = KnownMarketplaces::clone_directory(host.config_dir(), &marketplace.name);
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

fn unknown_marketplace<H: Host>(name: &str, known: &KnownMarketplaces) -> H::Error {
    let names: Vec<&str> = known.0.keys().map(String::as_str).collect();
    let hint = match names.as_slice() {
        [] => "`brynhild plugin marketplace add PATH|GIT-URL` adds one".to_owned(),
        names => format!("there are {}", names.join(", ")),
    };
    H::Error::misuse(format!("there is no marketplace {name}")).hint(hint)
}

/// The directory of a marketplace that was added.
fn directory<H: Host>(host: &H, name: &str) -> Result<PathBuf, H::Error> {
    let config_dir = host.config_dir();
    let known = KnownMarketplaces::read(config_dir)?;
    match known.0.get(name) {
        Some(Source::Directory(path)) => Ok(path.clone()),
        Some(_) if is_name(name) => Ok(KnownMarketplaces::clone_directory(config_dir, name)),
        _ => Err(unknown_marketplace::<H>(name, &known)),
    }
}

/// The plugins of all marketplaces: name, description and source of the marketplace.
pub fn listed_plugins<H: Host>(host: &H) -> Result<Vec<[String; 3]>, H::Error> {
    let mut rows = Vec::new();
    for (name, source) in &KnownMarketplaces::read(host.config_dir())?.0 {
        match Marketplace::read(&directory(host, name)?) {
            Ok(marketplace) => rows.extend(marketplace.names().map(|(plugin, description)| {
                [format!("{plugin}@{name}"), description.to_owned(), source.to_string()]
            })),
            Err(why) => host.warn(&why),
        }
    }
    Ok(rows)
}

/// Fetches a plugin of a marketplace, with the manifest that its entry defines.
async fn listed<H: Host>(
    host: &H,
    (plugin, marketplace): (&str, &str),
    revision: Option<&str>,
) -> Result<(Fetched, Option<Map<String, Value>>), H::Error> {
    let directory = directory(host, marketplace)?;
    let marketplace = Marketplace::read(&directory).map_err(H::Error::failed)?;
    let entry = marketplace.entry(plugin, &directory).map_err(H::Error::misuse)?;
    let fetched = fetch::fetch(host, &entry.source, revision).await?;
    Ok((fetched, entry.manifest))
}

/// A directory for one fetch, on the file system of the configuration.
pub fn scratch(host: &impl Host) -> io::Result<TempDir> {
    let parent = host.config_dir().join("cache");
    files::private::make_directory(&parent)?;
    tempfile::Builder::new().prefix("fetch-").tempdir_in(parent)
}
