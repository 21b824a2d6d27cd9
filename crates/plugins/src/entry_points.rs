//! Plugins that are installed packages: found by the metadata that installers leave beside them.
//! No Python is run, and no code of a package is read.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use ::files::foreign::{self, Boundary};
use formats::percent;
use serde::{Deserialize, Serialize};

use crate::index::Index;
use crate::plugin::{EntryPoint, Manifest, Package, Place, Plugin, PluginSettings};
use crate::words::Words;

pub(crate) const GROUPS: Words = Words(
    "brynhild.plugins brynhild.tools brynhild.providers brynhild.hooks brynhild.skills \
     brynhild.commands brynhild.rules brynhild.profiles",
);

/// The group by which packages bring tool types for roles of InitRunner.
pub(crate) const TOOL_TYPES_GROUP: &str = "initrunner.tools";

/// The directory below that of the configuration with an environment for each installed package.
pub const PLUGIN_PACKAGES: &str = "plugin-packages";

const ENTRIES_LIMIT: usize = 20_000;

const FILE_LIMIT: usize = 256 * 1024;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installed {
    pub package: Package,
    pub root: PathBuf,
    pub summary: String,
}

/// The environment of an installed package that a file is in.
pub(crate) fn installed_environment(path: &Path) -> Option<PathBuf> {
    let is_environment = |directory: &&Path| {
        directory.parent().and_then(Path::file_name).is_some_and(|it| it == PLUGIN_PACKAGES)
    };
    path.ancestors().find(is_environment).map(Path::to_owned)
}

/// The directories of packages in the environments of installed packages.
pub(crate) fn installed_sites(config_dir: &Path) -> Vec<PathBuf> {
    let below = |directory: PathBuf| foreign::entries(&directory, ENTRIES_LIMIT).map(|it| it.0);
    let environments = below(config_dir.join(PLUGIN_PACKAGES)).unwrap_or_default();
    let libraries = environments.into_iter().filter_map(|it| below(it.join("lib")).ok()).flatten();
    libraries.map(|it| it.join("site-packages")).filter(|it| it.is_dir()).collect()
}

/// The packages with something for Brynhild, each name once: the first, as for Python itself.
pub fn packages(sites: &[PathBuf], index: &mut Index) -> Vec<Installed> {
    let of_ours = |group: &str| GROUPS.has(group);
    let found = all(sites, index).into_iter().filter_map(|(_, it)| it.only(of_ours));
    found.flat_map(Installed::plugins).collect()
}

/// Like [`packages`] for a group of another system, each with the directory that it is in.
pub(crate) fn guests(
    sites: &[PathBuf],
    index: &mut Index,
    group: &str,
) -> Vec<(PathBuf, Installed)> {
    let of_it = |other: &str| other == group;
    let found = all(sites, index).into_iter();
    found.filter_map(|(site, it)| Some((site, it.only(of_it)?))).collect()
}

impl Installed {
    fn only(mut self, counts: impl Fn(&str) -> bool) -> Option<Self> {
        self.package.entry_points.retain(|point| counts(&point.group));
        (!self.package.entry_points.is_empty()).then_some(self)
    }

    /// One for each plugin that a package says it is. The first has all else that it offers.
    fn plugins(self) -> Vec<Self> {
        let is_plugin = |point: &EntryPoint| point.group == "brynhild.plugins";
        let points = self.package.entry_points.iter().filter(|point| is_plugin(point));
        let others: Vec<EntryPoint> = points.skip(1).cloned().collect();
        let mut first = self;
        first.package.entry_points.retain(|point| !others.contains(point));
        let rest = others.into_iter().map(|point| {
            let mut other = first.clone();
            other.package.entry_points = vec![point];
            other
        });
        let rest: Vec<Self> = rest.collect();
        std::iter::once(first).chain(rest).collect()
    }
}

fn all(sites: &[PathBuf], index: &mut Index) -> Vec<(PathBuf, Installed)> {
    let mut packages: Vec<(PathBuf, Installed)> = Vec::new();
    for site in sites {
        let Ok(found) = rustix::fs::stat(site) else {
            continue;
        };
        for installed in index.site(site, &found, || scan(site)) {
            let name = normal(&installed.package.name);
            if !packages.iter().any(|(_, other)| normal(&other.package.name) == name) {
                packages.push((site.clone(), installed));
            }
        }
    }
    packages
}

/// The plugin that a package is. `is_taken` tells of names that other plugins have: one that only
/// brings providers takes no plugin's place.
pub fn plugin(installed: Installed, is_taken: impl Fn(&str) -> bool) -> Plugin {
    let Installed { package, root, summary } = installed;
    let of = |group: &str| {
        let points = package.entry_points.iter().filter(move |point| point.group == group);
        points.map(|point| point.name.clone()).collect::<Vec<String>>()
    };
    let own = normal(&package.name);
    let first = |group: &str| of(group).into_iter().next();
    let name = match first("brynhild.plugins") {
        Some(name) => name,
        None if package.is_only_providers() => {
            first("brynhild.providers").filter(|name| !is_taken(name)).unwrap_or(own)
        }
        None => own,
    };
    let manifest = Manifest {
        name,
        version: package.version.clone(),
        description: summary,
        commands: of("brynhild.commands"),
        tools: of("brynhild.tools"),
        hooks: !of("brynhild.hooks").is_empty(),
        skills: of("brynhild.skills"),
        providers: of("brynhild.providers"),
        rules: of("brynhild.rules"),
        ..Manifest::default()
    };
    Plugin {
        manifest,
        root,
        place: Place::EntryPoint,
        enabled: true,
        trusted: true,
        settings: PluginSettings::default(),
        package: Some(package),
    }
}

fn normal(name: &str) -> String {
    let mut normal = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '-' | '_' | '.' if normal.ends_with('-') => {}
            '-' | '_' | '.' => normal.push('-'),
            c => normal.extend(c.to_lowercase()),
        }
    }
    normal
}

fn scan(site: &Path) -> Vec<Installed> {
    let Ok((entries, _)) = foreign::entries(site, ENTRIES_LIMIT) else {
        return Vec::new();
    };
    entries.iter().filter_map(|entry| installed(site, entry)).collect()
}

fn installed(site: &Path, entry: &Path) -> Option<Installed> {
    let file_name = entry.file_name()?.to_str()?;
    let (stem, metadata) = if let Some(stem) = file_name.strip_suffix(".dist-info") {
        (stem, "METADATA")
    } else {
        (file_name.strip_suffix(".egg-info")?, "PKG-INFO")
    };
    let points = entry_points(&text(&entry.join("entry_points.txt"))?);
    if points.is_empty() {
        return None;
    }
    let headers = text(&entry.join(metadata)).unwrap_or_default();
    let header = |name: &str| {
        let lines = headers.lines().take_while(|line| !line.trim().is_empty());
        let mut values = lines.filter_map(|line| line.split_once(':'));
        let found = values.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim().to_owned())
    };
    let (name, version) = stem.split_once('-').unwrap_or((stem, "0.0.0"));
    let package = Package {
        name: header("Name").unwrap_or_else(|| name.to_owned()),
        version: header("Version").unwrap_or_else(|| version.to_owned()),
        entry_points: points,
    };
    let root = root(site, entry, &package);
    let summary = header("Summary").filter(|summary| summary != "UNKNOWN").unwrap_or_default();
    Some(Installed { package, root, summary })
}

/// The directories in which packages of the user's interpreter are developed. Only a directory that
/// is a Python project, and not a home or above one, is opened to plugins.
pub(crate) fn editable_projects(sites: &[PathBuf], home: Option<&Path>) -> Vec<PathBuf> {
    let sites = sites.iter().filter(|site| installed_environment(site).is_none());
    let entries = sites.filter_map(|site| foreign::entries(site, ENTRIES_LIMIT).ok());
    let entries = entries.flat_map(|(entries, _)| entries);
    let metadata = entries.filter(|it| it.extension().is_some_and(|it| it == "dist-info"));
    let is_project = |directory: &PathBuf| {
        let is_wide = home.is_some_and(|home| home.starts_with(directory));
        let mut marks = ["pyproject.toml", "setup.py", "setup.cfg"].iter();
        !is_wide && marks.any(|mark| directory.join(mark).is_file())
    };
    metadata.filter_map(|entry| editable_project(&entry)).filter(is_project).collect()
}

/// The directory in which a package is developed, as its metadata tells.
fn editable_project(metadata: &Path) -> Option<PathBuf> {
    let value: serde_json::Value =
        serde_json::from_str(&text(&metadata.join("direct_url.json"))?).ok()?;
    value["dir_info"]["editable"].as_bool().filter(|it| *it)?;
    let path = value["url"].as_str()?.strip_prefix("file://")?;
    Some(PathBuf::from(OsString::from_vec(percent::decode(path)))).filter(|path| path.is_dir())
}

/// Where a package's code lies: where it is developed, its own directory, or among the others.
fn root(site: &Path, entry: &Path, package: &Package) -> PathBuf {
    let own = || {
        let object = &package.entry_points.first()?.object;
        let module = object.split([':', '.', ' ']).next()?.trim();
        Some(site.join(module)).filter(|directory| directory.is_dir())
    };
    editable_project(entry).or_else(own).unwrap_or_else(|| site.to_path_buf())
}

fn entry_points(text: &str) -> Vec<EntryPoint> {
    let mut group = "";
    let mut points = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            group = name.trim();
        } else if (GROUPS.has(group) || group == TOOL_TYPES_GROUP)
            && let Some((name, object)) = line.split_once('=')
        {
            // What follows in brackets names extras, which do not change the object.
            let object = object.split('[').next().unwrap_or(object);
            points.push(EntryPoint {
                group: group.to_owned(),
                name: name.trim().to_owned(),
                object: object.trim().to_owned(),
            });
        }
    }
    points
}

fn text(path: &Path) -> Option<String> {
    foreign::read(path, Boundary::Anywhere, FILE_LIMIT).ok().map(|file| file.text)
}

#[cfg(test)]
mod tests;
