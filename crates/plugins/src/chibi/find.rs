//! Which files of a folder are plugins: executables `NAME`, and `NAME/NAME`. Runs nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::files;
use crate::folders::{Folders, Kind};
use crate::plugin::{Manifest, Place, Plugin, PluginSettings};
use crate::problem::{Problem, shown};

/// Entries of one folder that are looked at.
const ENTRIES_LIMIT: usize = 10_000;

/// What in a folder says that it is a plugin of another system.
const OTHERS: [&str; 6] =
    [".claude-plugin", "SKILL.md", "plugin.json", "plugin.yaml", "plugin.yml", "tool.py"];

/// What in a folder says that not all of its executables are meant as plugins.
const SOURCES: [&str; 8] = [
    ".mcp.json",
    "Cargo.toml",
    "agents",
    "commands",
    "hooks",
    "package.json",
    "pyproject.toml",
    "skills",
];

/// Endings of scripts that are no part of a plugin's name.
const ENDINGS: [&str; 9] = ["bash", "js", "lua", "pl", "py", "rb", "sh", "ts", "zsh"];

/// A plugin before anything of it has run. Its `root` is the file, or the folder of `NAME/NAME`.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The plugin, on and trusted until somebody says otherwise.
    pub plugin: Plugin,
    /// What is run; no link is left in the path.
    pub executable: PathBuf,
    /// The folder of plugins that it lies in.
    pub folder: PathBuf,
}

/// What was found in a folder.
#[derive(Debug, Default)]
pub struct Search {
    /// The plugins, sorted by name.
    pub candidates: Vec<Candidate>,
    /// What was refused.
    pub problems: Vec<Problem>,
}

/// Finds the plugins of a folder, or the plugin whose own folder it is.
pub fn find(folder: &Path, place: Place, folders: &Folders) -> Search {
    let mut search = Search::default();
    let Ok(folder) = fs::canonicalize(folder) else { return search };
    if folders.has_any(&folder, &OTHERS) {
        return search;
    }
    if let Some(executable) = own_executable(folders, &folder) {
        search.take(&folder, &executable, (&folder, place), folders);
        return search;
    }
    if place == Place::Flag && folders.has_any(&folder, &SOURCES) {
        return search;
    }
    let Ok((entries, _)) = folders.entries(&folder, ENTRIES_LIMIT) else { return search };
    let mut bare = Vec::new();
    for entry in entries {
        bare.extend(search.entry(&entry, (&folder, place), folders));
    }
    // In a folder that holds none of these plugins, other folders are somebody else's.
    if !search.candidates.is_empty() {
        search.problems.extend(bare.iter().map(|folder| without_executable(folder)));
    }
    search
}

impl Search {
    /// Takes an entry where it is a plugin. Returns a folder that has no executable at all.
    fn entry(
        &mut self,
        entry: &Path,
        within: (&Path, Place),
        folders: &Folders,
    ) -> Option<PathBuf> {
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(['.', '_']) || name.ends_with(".disabled") {
            return None;
        }
        if folders.kind(entry) != Some(Kind::Folder) && is_executable(folders, entry) {
            self.take(entry, entry, within, folders);
            return None;
        }
        if !folders.is_folder(entry) {
            self.refuse_odd(entry, folders);
            return None;
        }
        if folders.has_any(entry, &OTHERS) {
            return None;
        }
        if let Some(executable) = own_executable(folders, entry) {
            self.take(entry, &executable, within, folders);
            return None;
        }
        if self.refuse_odd(&entry.join(entry.file_name()?), folders) {
            return None;
        }
        if folders.has_any(entry, &SOURCES) {
            return None;
        }
        if has_executable(folders, entry) {
            self.problems.push(without_executable(entry));
            return None;
        }
        Some(entry.to_owned())
    }

    /// Tells of a pipe, a socket or a device in the place of an executable. Whether it is one.
    fn refuse_odd(&mut self, place: &Path, folders: &Folders) -> bool {
        let is_odd = folders
            .look(place)
            .is_some_and(|found| !found.is_file() && !found.is_folder() && found.mode & 0o111 != 0);
        if is_odd {
            self.problems.push(files::Refusal::NotRegular.problem(place));
        }
        is_odd
    }

    fn take(
        &mut self,
        root: &Path,
        executable: &Path,
        (folder, place): (&Path, Place),
        folders: &Folders,
    ) {
        let executable = match canonical(folders, folder, executable) {
            Ok(target) if target.starts_with(folder) => target,
            Ok(target) => {
                let what = format!(
                    "this link leads out of the folder of plugins, to {}, and is not followed",
                    shown(&target)
                );
                let hint = "put a copy in its place, or name the folder that it leads to in \
                            `plugins.search_paths`";
                return self.problems.push(Problem::new(root, what, hint));
            }
            Err(error) => {
                let problem = files::Refusal::System(error).problem(root);
                return self.problems.push(problem);
            }
        };
        let file = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let root = if root == folder || folders.is_folder(root) {
            canonical(folders, folder, root).unwrap_or_else(|_| root.to_path_buf())
        } else {
            executable.clone()
        };
        let taken = |name: &str| self.candidates.iter().any(|one| one.plugin.name() == name);
        let short = short_name(&file);
        let name = if taken(short) { file.clone() } else { short.to_owned() };
        let manifest = Manifest { name, version: "0.0.0".to_owned(), ..Manifest::default() };
        let plugin = Plugin {
            manifest,
            root,
            place,
            enabled: true,
            trusted: true,
            settings: PluginSettings::default(),
            package: None,
        };
        self.candidates.push(Candidate { plugin, executable, folder: folder.to_path_buf() });
    }
}

fn without_executable(folder: &Path) -> Problem {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let what = format!("there is no executable `{name}` in this folder of a plugin");
    let hint =
        "call the executable like its folder, or put `.disabled` after the name of the folder";
    Problem::new(folder, what, hint)
}

/// A path beneath a folder that is canonical, canonical itself: only links have to be followed.
fn canonical(folders: &Folders, folder: &Path, path: &Path) -> io::Result<PathBuf> {
    match (path.parent(), path.file_name()) {
        _ if path == folder => Ok(path.to_path_buf()),
        (Some(around), Some(name)) if path.starts_with(folder) => {
            folders.resolved(&canonical(folders, folder, around)?.join(name))
        }
        _ => fs::canonicalize(path),
    }
}

/// A file's name without the ending of a script.
fn short_name(file: &str) -> &str {
    match file.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && ENDINGS.contains(&ending) => stem,
        _ => file,
    }
}

/// The executable of a plugin with a folder of its own.
fn own_executable(folders: &Folders, folder: &Path) -> Option<PathBuf> {
    let executable = folder.join(folder.file_name()?);
    is_executable(folders, &executable).then_some(executable)
}

fn is_executable(folders: &Folders, file: &Path) -> bool {
    folders.look(file).is_some_and(|found| found.is_file() && found.mode & 0o111 != 0)
}

fn has_executable(folders: &Folders, folder: &Path) -> bool {
    let Ok((entries, _)) = folders.entries(folder, ENTRIES_LIMIT) else { return false };
    entries.iter().any(|entry| is_executable(folders, entry))
}
