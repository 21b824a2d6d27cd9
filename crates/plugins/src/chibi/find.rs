//! Which files of a directory are plugins: executables `NAME`, and `NAME/NAME`. Runs nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ::files::foreign::Refusal;

use crate::directories::{Directories, Kind, file_type};
use crate::plugin::{Manifest, Place, Plugin, PluginSettings};
use crate::problem::{Problem, shown};

const ENTRIES_LIMIT: usize = 10_000;

/// Names that mark a directory as a plugin of another system.
const OTHERS: [&str; 6] =
    [".claude-plugin", "SKILL.md", "plugin.json", "plugin.yaml", "plugin.yml", "tool.py"];

/// Names that mark a directory in which not every executable is a plugin.
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

/// A plugin before anything of it has run. Its `root` is the file, or the directory of `NAME/NAME`.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub plugin: Plugin,
    /// Canonical.
    pub executable: PathBuf,
    pub directory: PathBuf,
}

#[derive(Debug, Default)]
pub struct Search {
    pub candidates: Vec<Candidate>,
    pub problems: Vec<Problem>,
}

/// Finds the plugins of a directory, or the plugin whose own directory it is.
pub fn find(directory: &Path, place: Place, directories: &Directories) -> Search {
    let mut search = Search::default();
    let Ok(directory) = fs::canonicalize(directory) else { return search };
    if directories.has_any(&directory, &OTHERS) {
        return search;
    }
    if let Some(executable) = own_executable(directories, &directory) {
        search.take(&directory, &executable, (&directory, place), directories);
        return search;
    }
    if place == Place::Flag && directories.has_any(&directory, &SOURCES) {
        return search;
    }
    let Ok((entries, _)) = directories.entries(&directory, ENTRIES_LIMIT) else { return search };
    let mut bare = Vec::new();
    for entry in entries {
        bare.extend(search.entry(&entry, (&directory, place), directories));
    }
    // In a directory that holds none of these plugins, other directories are somebody else's.
    if !search.candidates.is_empty() {
        search.problems.extend(bare.iter().map(|directory| without_executable(directory)));
    }
    search
}

impl Search {
    /// Takes an entry where it is a plugin. Returns a directory that has no executable at all.
    fn entry(
        &mut self,
        entry: &Path,
        within: (&Path, Place),
        directories: &Directories,
    ) -> Option<PathBuf> {
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(['.', '_']) || name.ends_with(".disabled") {
            return None;
        }
        if directories.kind(entry) != Some(Kind::Directory) && is_executable(directories, entry) {
            self.take(entry, entry, within, directories);
            return None;
        }
        if !directories.is_directory(entry) {
            self.refuse_odd(entry, directories);
            return None;
        }
        if directories.has_any(entry, &OTHERS) {
            return None;
        }
        if let Some(executable) = own_executable(directories, entry) {
            self.take(entry, &executable, within, directories);
            return None;
        }
        if self.refuse_odd(&entry.join(entry.file_name()?), directories) {
            return None;
        }
        if directories.has_any(entry, &SOURCES) {
            return None;
        }
        if has_executable(directories, entry) {
            self.problems.push(without_executable(entry));
            return None;
        }
        Some(entry.to_owned())
    }

    /// Reports a pipe, a socket or a device in place of an executable; returns true if it is one.
    fn refuse_odd(&mut self, place: &Path, directories: &Directories) -> bool {
        let is_odd = directories.look(place).is_some_and(|found| {
            let kind = file_type(&found);
            !kind.is_file() && !kind.is_dir() && found.st_mode & 0o111 != 0
        });
        if is_odd {
            self.problems.push(Problem::unreadable(place, Refusal::NotRegular));
        }
        is_odd
    }

    fn take(
        &mut self,
        root: &Path,
        executable: &Path,
        (directory, place): (&Path, Place),
        directories: &Directories,
    ) {
        let executable = match canonical(directories, directory, executable) {
            Ok(target) if target.starts_with(directory) => target,
            Ok(target) => {
                let what = format!(
                    "this symlink points outside the plugin directory, to {}, and is not followed",
                    shown(&target)
                );
                let hint = "put a copy in its place, or name its target in \
                            `plugins.search_paths`";
                return self.problems.push(Problem::new(root, what, hint));
            }
            Err(error) => {
                let problem = Problem::unreadable(root, error);
                return self.problems.push(problem);
            }
        };
        let file = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let root = if root == directory || directories.is_directory(root) {
            canonical(directories, directory, root).unwrap_or_else(|_| root.to_path_buf())
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
        self.candidates.push(Candidate { plugin, executable, directory: directory.to_path_buf() });
    }
}

fn without_executable(directory: &Path) -> Problem {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let what = format!("there is no executable `{name}` in this directory of a plugin");
    let hint = "call the executable like its directory, or put `.disabled` after the name of the directory";
    Problem::new(directory, what, hint)
}

/// A path beneath a directory that is canonical, canonical itself: only links have to be followed.
fn canonical(directories: &Directories, directory: &Path, path: &Path) -> io::Result<PathBuf> {
    match (path.parent(), path.file_name()) {
        _ if path == directory => Ok(path.to_path_buf()),
        (Some(around), Some(name)) if path.starts_with(directory) => {
            directories.resolved(&canonical(directories, directory, around)?.join(name))
        }
        _ => fs::canonicalize(path),
    }
}

fn short_name(file: &str) -> &str {
    match file.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && ENDINGS.contains(&ending) => stem,
        _ => file,
    }
}

fn own_executable(directories: &Directories, directory: &Path) -> Option<PathBuf> {
    let executable = directory.join(directory.file_name()?);
    is_executable(directories, &executable).then_some(executable)
}

fn is_executable(directories: &Directories, file: &Path) -> bool {
    let found = directories.look(file);
    found.is_some_and(|found| file_type(&found).is_file() && found.st_mode & 0o111 != 0)
}

fn has_executable(directories: &Directories, directory: &Path) -> bool {
    let Ok((entries, _)) = directories.entries(directory, ENTRIES_LIMIT) else { return false };
    entries.iter().any(|entry| is_executable(directories, entry))
}
