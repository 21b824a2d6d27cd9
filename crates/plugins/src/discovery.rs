//! Where plugins are found, and which of two with one name counts. Reads names of folders and
//! manifests; of a project that is not trusted it reads the names of folders alone.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use crate::chibi;
use crate::files;
use crate::index::Index;
use crate::lmao;
use crate::manifest::{self, FILE, Read};
use crate::plugin::{Manifest, Place, Plugin, PluginSettings};
use crate::problem::{Problem, shown};

/// Entries of one folder that are looked at.
const ENTRIES_LIMIT: usize = 10_000;

/// Sub-folders by which a folder without a manifest can be told to be meant as a plugin.
const PARTS: [&str; 3] = ["skills", "commands", "profiles"];

/// Where plugins are looked for. In each list the later one wins.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The person's own folder of plugins.
    pub global: Option<PathBuf>,
    /// Folders that the configuration names: of plugins, or of one.
    pub configured: Vec<PathBuf>,
    /// Folders that the environment names: of plugins, or of one.
    pub environment: Vec<PathBuf>,
    /// The project's folder of plugins.
    pub project: Option<PathBuf>,
    /// Folders named for this run: of plugins, or of one.
    pub flag: Vec<PathBuf>,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The plugins, sorted by name, each name once; all of them enabled.
    pub plugins: Vec<Plugin>,
    /// What cannot be used, or not all of it.
    pub problems: Vec<Problem>,
    /// What authors should put right although it was understood.
    pub notes: Vec<Problem>,
}

/// Says whether what lies in a folder may be used; the path has no links in it.
pub type IsTrusted<'a> = dyn Fn(&Path, Place) -> Trust + 'a;

/// Whether a plugin's bytes may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// They may.
    Given,
    /// They may not, and everybody knows why.
    Missing,
    /// They may not, for this reason.
    Refused {
        /// Why.
        what: String,
        /// What to do about it.
        hint: String,
    },
}

/// Finds all plugins that are folders.
pub fn discover(places: &Places, index: &mut Index, is_trusted: &IsTrusted<'_>) -> Found {
    let mut search =
        Search { index, is_trusted, by_name: BTreeMap::new(), found: Found::default() };
    if let Some(folder) = &places.global {
        search.parent(folder, Place::Global);
    }
    for folder in &places.configured {
        search.named(folder, Place::Configured);
    }
    for folder in &places.environment {
        search.named(folder, Place::Environment);
    }
    if let Some(folder) = &places.project {
        search.parent(folder, Place::Project);
    }
    for folder in &places.flag {
        search.named(folder, Place::Flag);
    }
    search.found.plugins = search.by_name.into_values().collect();
    search.found
}

struct Search<'a, 'b> {
    index: &'a mut Index,
    is_trusted: &'a IsTrusted<'b>,
    by_name: BTreeMap<String, Plugin>,
    found: Found,
}

impl Search<'_, '_> {
    fn report(&mut self, path: &Path, what: impl AsRef<str>, hint: impl AsRef<str>) {
        self.found.problems.push(Problem::new(path, what, hint));
    }

    /// A folder that somebody named: a plugin's own, or one with plugins in it.
    fn named(&mut self, folder: &Path, place: Place) {
        let Ok(folder) = fs::canonicalize(folder) else {
            let hint = match place {
                Place::Configured => "correct or remove it in `plugins.search_paths`",
                Place::Environment => "correct or remove it in `BRYNHILD_PLUGIN_PATH`",
                Place::Global | Place::Project | Place::EntryPoint | Place::Flag => {
                    "correct the folder behind `--plugin-dir`"
                }
            };
            return self.report(folder, "this folder for plugins does not exist", hint);
        };
        if let Ok(found) = fs::metadata(folder.join(FILE)) {
            return self.plugin(folder, &found, place);
        }
        let before = self.by_name.len() + self.found.problems.len();
        self.parent(&folder, place);
        let is_empty = before == self.by_name.len() + self.found.problems.len();
        if is_empty && place == Place::Flag {
            self.without_manifest(folder);
        }
    }

    /// A folder with plugins in it.
    fn parent(&mut self, folder: &Path, place: Place) {
        let folder = &fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
        let (entries, more) = match files::entries(folder, ENTRIES_LIMIT) {
            Ok(listing) => listing,
            Err(error) => {
                let problem = files::Refusal::System(error).problem(folder);
                return self.found.problems.push(problem);
            }
        };
        if more {
            let what = format!("only {ENTRIES_LIMIT} entries of this folder were looked at");
            self.report(folder, what, "keep nothing but plugins in it");
        }
        for entry in entries {
            if let Ok(found) = fs::metadata(entry.join(FILE)) {
                match files::resolved(&entry) {
                    Ok(root) => self.plugin(root, &found, place),
                    Err(error) => {
                        let problem = files::Refusal::System(error).problem(&entry);
                        self.found.problems.push(problem);
                    }
                }
            } else if entry.join("plugin.yml").is_file() {
                self.report(&entry, "the manifest is called `plugin.yml`", "call it `plugin.yaml`");
            } else if fs::symlink_metadata(entry.join(FILE)).is_ok() {
                let problem = files::Refusal::Dangling.problem(&entry.join(FILE));
                self.found.problems.push(problem);
            }
        }
    }

    fn plugin(&mut self, root: PathBuf, found: &Metadata, place: Place) {
        match (self.is_trusted)(&root, place) {
            Trust::Given => {}
            Trust::Missing => return self.untrusted(root, place),
            Trust::Refused { what, hint } => {
                self.report(&root, what, hint);
                return self.untrusted(root, place);
            }
        }
        let file = root.join(FILE);
        let boundary = (place == Place::Project).then_some(root.as_path());
        let read = self.index.manifest(&file, found, || manifest::read(&root, boundary));
        let Read { manifest, problem, notes } = read;
        self.found.problems.extend(problem);
        self.found.notes.extend(notes);
        if let Some(manifest) = manifest {
            self.add(plugin(manifest, root, place));
        }
    }

    /// Lists what may not be used by the name of its folder; no byte of it is looked at, and it
    /// takes nobody's place.
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

    /// A folder named for this run that has the parts of a plugin and no manifest: its text counts.
    fn without_manifest(&mut self, root: PathBuf) {
        if crate::claude::claims(&root) {
            return;
        }
        if !PARTS.iter().any(|part| root.join(part).is_dir()) {
            let is_chibi = !chibi::find(&root, Place::Flag).candidates.is_empty();
            if is_chibi || !lmao::find(&root).is_empty() {
                return;
            }
            let hint = "name a plugin's folder, or one that holds plugins' folders";
            return self.report(&root, "there is no plugin in this folder", hint);
        }
        let folder = root.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let in_name = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = folder.chars().map(in_name).take(manifest::NAME_LIMIT).collect();
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
        let what = format!("there is no `plugin.yaml`; the folder counts as the plugin `{name}`");
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
