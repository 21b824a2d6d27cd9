//! Where plugins are found, and which of two with one name counts. Reads names of directories and
//! manifests; of a project that is not trusted it reads the names of directories alone.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ::files::foreign::Refusal;

use crate::chibi;
use crate::directories::{Directories, Kind};
use crate::index::Index;
use crate::initrunner::registry::Types;
use crate::lmao;
use crate::manifest::{self, FILE, Read};
use crate::plugin::{Manifest, Place, Plugin, PluginSettings};
use crate::problem::{Problem, shown};

const ENTRIES_LIMIT: usize = 10_000;

/// Sub-directories by which a directory without a manifest can be told to be meant as a plugin.
const PARTS: [&str; 3] = ["skills", "commands", "profiles"];

/// The plugins, and their problems.
#[derive(Clone, Debug, Default)]
pub struct FoundPlugins {
    /// The plugins, sorted by name, each name once; all of them enabled.
    pub plugins: Vec<Plugin>,
    pub problems: Vec<Problem>,
    pub notes: Vec<Problem>,
}

/// Decides if a directory's files may be used; the path is canonical.
pub type IsTrusted<'a> = dyn Fn(&Path, Place) -> Trust + 'a;

/// The answer to the question if a plugin's bytes may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    Given,
    /// They may not, and the reason is known.
    Missing,
    Refused {
        what: String,
        hint: String,
    },
}

/// Finds the plugins in some directories, of which the later one wins.
pub fn discover(
    places: &[(PathBuf, Place)],
    (directories, index): (&Directories, &mut Index),
    is_trusted: &IsTrusted<'_>,
) -> FoundPlugins {
    let (by_name, found) = (BTreeMap::new(), FoundPlugins::default());
    let mut search = Search { directories, index, is_trusted, by_name, found };
    for (directory, place) in places {
        match place {
            Place::Global | Place::Project | Place::EntryPoint => search.parent(directory, *place),
            Place::Configured | Place::Environment | Place::Flag => search.named(directory, *place),
        }
    }
    search.found.plugins = search.by_name.into_values().collect();
    search.found
}

struct Search<'a, 'b> {
    directories: &'a Directories,
    index: &'a mut Index,
    is_trusted: &'a IsTrusted<'b>,
    by_name: BTreeMap<String, Plugin>,
    found: FoundPlugins,
}

impl Search<'_, '_> {
    fn report(&mut self, path: &Path, what: impl AsRef<str>, hint: impl AsRef<str>) {
        self.found.problems.push(Problem::new(path, what, hint));
    }

    /// A directory that somebody named: a plugin's own, or one with plugins in it.
    fn named(&mut self, directory: &Path, place: Place) {
        let Ok(directory) = fs::canonicalize(directory) else {
            let hint = match place {
                Place::Configured => "correct or remove it in `plugins.search_paths`",
                Place::Environment => "correct or remove it in `BRYNHILD_PLUGIN_PATH`",
                Place::Global | Place::Project | Place::EntryPoint | Place::Flag => {
                    "correct the directory behind `--plugin-dir`"
                }
            };
            return self.report(directory, "this directory for plugins does not exist", hint);
        };
        if self.directories.look(&directory.join(FILE)).is_some() {
            return self.plugin(directory, place);
        }
        let before = self.by_name.len() + self.found.problems.len();
        self.parent(&directory, place);
        let is_empty = before == self.by_name.len() + self.found.problems.len();
        if is_empty && place == Place::Flag {
            self.without_manifest(directory);
        }
    }

    fn parent(&mut self, directory: &Path, place: Place) {
        let directory = &fs::canonicalize(directory).unwrap_or_else(|_| directory.to_path_buf());
        let listing = match self.directories.listing(directory) {
            Ok(listing) => listing,
            Err(error) => {
                let problem = Problem::unreadable(directory, error);
                return self.found.problems.push(problem);
            }
        };
        if listing.is_cut || listing.entries.len() > ENTRIES_LIMIT {
            let what = format!("only {ENTRIES_LIMIT} entries of this directory were looked at");
            self.report(directory, what, "keep nothing but plugins in it");
        }
        let entries = listing.entries.iter().take(ENTRIES_LIMIT);
        for entry in entries.filter(|entry| matches!(entry.kind, Kind::Directory | Kind::Link)) {
            self.entry(&directory.join(&entry.name), place);
        }
    }

    fn entry(&mut self, entry: &Path, place: Place) {
        let file = entry.join(FILE);
        if self.directories.look(&file).is_some() {
            match self.directories.resolved(entry) {
                Ok(root) => self.plugin(root, place),
                Err(error) => {
                    let problem = Problem::unreadable(entry, error);
                    self.found.problems.push(problem);
                }
            }
        } else if self.directories.is_file(&entry.join("plugin.yml")) {
            self.report(entry, "the manifest is called `plugin.yml`", "call it `plugin.yaml`");
        } else if self.directories.has(&file) {
            self.found.problems.push(Problem::unreadable(&file, Refusal::Dangling));
        }
    }

    fn plugin(&mut self, root: PathBuf, place: Place) {
        match (self.is_trusted)(&root, place) {
            Trust::Given => {}
            Trust::Missing => return self.untrusted(root, place),
            Trust::Refused { what, hint } => {
                self.report(&root, what, hint);
                return self.untrusted(root, place);
            }
        }
        let file = root.join(FILE);
        let read = match (place, self.directories.look(&file)) {
            // Of a project only what is there at this moment counts.
            (Place::Project, _) | (_, None) => {
                manifest::read(&root, (place == Place::Project).then_some(&root))
            }
            (_, Some(found)) => self.index.manifest(&file, &found, || manifest::read(&root, None)),
        };
        let Read { manifest, problem, notes } = read;
        self.found.problems.extend(problem);
        self.found.notes.extend(notes);
        if let Some(manifest) = manifest {
            self.add(plugin(manifest, root, place));
        }
    }

    /// Lists an untrusted plugin by the name of its directory: none of its bytes is read, and it replaces
    /// no other.
    fn untrusted(&mut self, root: PathBuf, place: Place) {
        let name = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let manifest = Manifest { name: name.clone(), ..Manifest::default() };
        let plugin = Plugin { trusted: false, ..plugin(manifest, root, place) };
        self.by_name.entry(name).or_insert(plugin);
    }

    fn add(&mut self, plugin: Plugin) {
        let name = plugin.manifest.name.clone();
        if let Some(earlier) = self.by_name.get(&name)
            && earlier.trusted
            && earlier.root != plugin.root
        {
            let what = format!(
                "this plugin `{name}` takes the place of the one in {}",
                shown(&earlier.root)
            );
            let note =
                Problem::new(&plugin.root, what, "give one of them another name to have both");
            self.found.notes.push(note);
        }
        self.by_name.insert(name, plugin);
    }

    /// A directory named for this run that has the parts of a plugin and no manifest.
    fn without_manifest(&mut self, root: PathBuf) {
        if crate::claude::claims(&root, self.directories) {
            return;
        }
        if !PARTS.iter().any(|part| root.join(part).is_dir()) {
            let chibi = chibi::find(&root, Place::Flag, self.directories);
            let is_of_others = !chibi.candidates.is_empty()
                || !lmao::find(&root, self.directories).is_empty()
                || !Types::of_files(&root).is_empty();
            if is_of_others {
                return;
            }
            let hint = "name a plugin's directory, or one that holds plugins' directories";
            return self.report(&root, "there is no plugin in this directory", hint);
        }
        let directory = root.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let in_name = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = directory.chars().map(in_name).take(manifest::NAME_LIMIT).collect();
        let name = name.trim_matches('-');
        let name = if name.is_empty() { "unnamed" } else { name };
        match (self.is_trusted)(&root, Place::Flag) {
            Trust::Given => {}
            Trust::Missing => return self.untrusted(root, Place::Flag),
            Trust::Refused { what, hint } => {
                self.report(&root, what, hint);
                return self.untrusted(root, Place::Flag);
            }
        }
        let what =
            format!("there is no `plugin.yaml`; the directory is loaded as the plugin `{name}`");
        let hint = "write a `plugin.yaml` with `name` and `version`";
        self.found.notes.push(Problem::new(&root, what, hint));
        let skills: Vec<String> =
            root.join("skills").is_dir().then(|| "*".to_owned()).into_iter().collect();
        let manifest = Manifest {
            name: name.to_owned(),
            version: String::from("0.0.0"),
            skills,
            ..Manifest::default()
        };
        self.add(plugin(manifest, root, Place::Flag));
    }
}

fn plugin(manifest: Manifest, root: PathBuf, place: Place) -> Plugin {
    Plugin {
        manifest,
        root,
        place,
        enabled: true,
        trusted: true,
        settings: PluginSettings::default(),
        package: None,
    }
}

#[cfg(test)]
mod tests;
