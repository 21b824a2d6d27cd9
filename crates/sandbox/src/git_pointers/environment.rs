//! Files of a workspace that the shell of its user loads before each prompt, by direnv or mise: each
//! looks at its own file only, and runs whatever that names.

mod shell;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::shell::{Loading, WILDCARDS};
use super::{MOST_PATHS, Search, is_file};
use crate::contents;

/// What the user's shell loads before each prompt.
const ENVIRONMENT: &str = ".envrc";
const MISE: [&str; 6] = [
    "mise.toml",
    ".mise.toml",
    "mise.local.toml",
    ".mise.local.toml",
    ".mise/config.toml",
    ".config/mise/config.toml",
];
/// Where mise looks for settings besides its own names.
const MISE_PLACES: [&str; 2] = [".config/mise", "mise/config.toml"];
/// What in the settings of mise can start a task by itself, or hide where the tasks begin and end.
const STARTERS: [&str; 5] = ["hooks", "exec", "watch_files", "\"\"\"", "'''"];
/// Where mise looks for tasks that are files, besides folders that are protected anyway.
const MISE_TASKS: [&str; 3] = ["mise-tasks", ".mise-tasks", "mise/tasks"];
/// So many names in one folder are compared with patterns.
const MOST_NAMES: usize = 50_000;
/// So much may all that take: a name that fits is worth this many others.
const MOST_COMPARED: usize = 1_000_000;
const FITTING: usize = 10;

impl Search<'_> {
    /// Adds what the shell loads besides names that are protected anyway.
    pub(super) fn environment(&mut self) {
        self.load(&self.root.join(ENVIRONMENT));
        let texts = MISE.map(|file| self.text(&self.root.join(file)).unwrap_or_default());
        let texts = texts.map(|text| String::from_utf8_lossy(&text).into_owned());
        // One file may start the tasks of another.
        let is_started = texts.iter().any(|text| starts_tasks(text));
        for text in texts {
            self.load_mise(&text, is_started);
        }
        for place in MISE_PLACES {
            self.place(place);
        }
    }

    /// Adds a place where something is looked for, if it is there.
    fn place(&mut self, name: &str) {
        let place = self.root.join(name);
        if self.is_missing_in(&place) || place.symlink_metadata().is_ok() {
            self.found.extend(self.beneath(&place));
        }
    }

    /// What a file that the user's shell loads makes it load or run in turn.
    fn load(&mut self, file: &Path) {
        let Some(text) = self.text(file) else { return };
        let text = String::from_utf8_lossy(&text);
        if file.extension().is_some_and(|it| it == "toml") {
            self.load_mise(&text, starts_tasks(&text));
            return;
        }
        // Direnv goes to the folder of what it sources.
        let folder = file.parent().unwrap_or(self.root);
        let loading = Loading::of(&text);
        self.is_cut |= loading.is_cut;
        let sourced = self.meant(&loading.sourced, folder);
        self.load_each(&loading.text, folder, &|path| is_shell(path) || sourced.contains(path));
        let listed = self.meant(&loading.listed, folder);
        self.found.extend(listed.into_iter().filter(|path| path.is_dir()));
        for pattern in &loading.patterns {
            self.load_pattern(pattern, folder);
        }
    }

    /// What settings of mise name; of tasks where something starts them by itself.
    fn load_mise(&mut self, text: &str, is_started: bool) {
        if is_started {
            for place in MISE_TASKS {
                self.place(place);
            }
            for place in included_tasks(text) {
                self.included(place);
            }
        }
        self.load_each(&loading_in_mise(text, is_started), self.root, &is_shell);
    }

    /// Adds a folder of tasks, or a file of them and what these run.
    fn included(&mut self, name: &str) {
        // What stands before is a template, usually for the folder of the settings.
        let name = name.rsplit_once("}}/").map_or(name, |(_, name)| name);
        for path in self.spelled(name, self.root) {
            if name.contains(WILDCARDS) {
                self.load_pattern(name, self.root);
            } else if path.is_dir() || is_file(&path) || self.is_missing_in(&path) {
                self.found.extend(self.beneath(&path));
            }
            let text = self.beneath(&path).and_then(|path| self.text(&path)).unwrap_or_default();
            let text = loading_in_mise(&String::from_utf8_lossy(&text), true);
            self.load_each(&text, self.root, &is_shell);
        }
    }

    /// Whether a file that counts although it is not there lies in a folder, or is it.
    fn is_missing_in(&self, folder: &Path) -> bool {
        self.missing_in(folder).next().is_some()
    }

    /// Those that lie in a folder, or are it.
    fn missing_in(&self, folder: &Path) -> impl Iterator<Item = &Path> {
        let missing = self.missing.into_iter().flatten().map(PathBuf::as_path);
        missing.filter(move |missing| missing.starts_with(folder))
    }

    /// Adds the files that a text names, and what those lead to that a shell reads.
    fn load_each(&mut self, text: &str, folder: &Path, is_read: &dyn Fn(&Path) -> bool) {
        for path in self.meant(text, folder) {
            if path.is_dir() && is_read(&path) {
                self.load(&path.join(ENVIRONMENT));
            } else if is_file(&path) || self.is_missing(&path) {
                self.found.insert(path.clone());
                if is_read(&path) {
                    self.load(&path);
                }
            }
        }
    }

    /// Adds the folder that a pattern looks through, with all that is or comes there; of one in which
    /// everything lies what the pattern stands for.
    fn load_pattern(&mut self, pattern: &str, base: &Path) {
        let parts: Vec<&str> = pattern.split('/').collect();
        let fixed = parts.iter().take_while(|part| !part.contains(WILDCARDS)).count();
        let (fixed, parts) = parts.split_at(fixed);
        let fixed = fixed.join("/");
        let parts: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
        let places = [self.root, base].map(|place| self.spelled(&fixed, place));
        for folder in places.into_iter().flatten().collect::<BTreeSet<_>>() {
            self.seen += 1;
            if self.seen > MOST_PATHS {
                return;
            }
            if folder != base && folder != self.root {
                let Some(folder) = self.beneath(&folder) else { continue };
                self.found.insert(folder);
            }
            self.load_matching(&parts, &folder);
        }
    }

    /// Adds the files that the parts of a pattern stand for in a folder.
    fn load_matching(&mut self, parts: &[&str], folder: &Path) {
        let Some((part, rest)) = parts.split_first() else { return };
        let is_pattern = part.contains(WILDCARDS);
        let names = if is_pattern { self.names_in(folder) } else { vec![part.into()].into() };
        // A text that is no shell's names nothing.
        let is_any = part.trim_matches(WILDCARDS).is_empty();
        for name in names.iter().filter(|name| could_match(part, &name.to_string_lossy())) {
            self.compared += FITTING;
            if self.compared > MOST_COMPARED {
                self.is_cut = true;
                return;
            }
            let path = folder.join(name);
            if !rest.is_empty() {
                if path.is_dir() || self.is_missing_in(&path) {
                    self.load_matching(rest, &path);
                }
            } else if is_file(&path) || self.is_missing(&path) {
                let place = self.beneath(&path);
                let is_new = |it: &PathBuf| !it.ancestors().any(|it| self.found.contains(it));
                if let Some(place) = place.filter(is_new) {
                    self.found.insert(place);
                }
                if !is_any || is_shell(&path) {
                    self.load(&path);
                }
            }
        }
    }

    /// The names in a folder, with what counts although it is not there; none where too many were compared.
    fn names_in(&mut self, folder: &Path) -> Arc<[OsString]> {
        let known = self.names.get(folder).map(Arc::clone);
        let names = known.unwrap_or_else(|| {
            let listing = contents::list(folder, MOST_NAMES).known().unwrap_or_default();
            self.is_cut |= listing.is_cut;
            let missing = self.missing_in(folder).filter_map(|it| it.strip_prefix(folder).ok());
            let missing = missing.filter_map(|below| below.iter().next());
            let missing: BTreeSet<&OsStr> =
                missing.filter(|name| !folder.join(name).exists()).collect();
            let there = listing.entries.iter().map(fs::DirEntry::file_name);
            let names: Arc<[OsString]> =
                there.chain(missing.into_iter().map(OsStr::to_owned)).collect();
            self.names.insert(folder.to_owned(), Arc::clone(&names));
            names
        });
        self.compared += names.len();
        if self.compared <= MOST_COMPARED {
            return names;
        }
        self.is_cut = true;
        Arc::default()
    }
}

/// Whether a pattern could stand for a name, by what it spells out at its beginning and end.
fn could_match(pattern: &str, name: &str) -> bool {
    let start = pattern.split(WILDCARDS).next().unwrap_or_default();
    let end = pattern.rsplit(['*', '?', '[', ']']).next().unwrap_or_default();
    name.starts_with(start) && name.ends_with(end)
}

/// Whether something in the settings of mise can start a task by itself.
fn starts_tasks(text: &str) -> bool {
    STARTERS.iter().any(|starter| text.contains(starter))
}

/// The files and folders in which settings of mise have tasks looked for.
fn included_tasks(text: &str) -> Vec<&str> {
    let lists = text.split("includes").skip(1);
    let lists =
        lists.filter_map(|rest| rest.trim_start_matches(['"', '\'', ' ']).strip_prefix('='));
    let lists = lists.map(|rest| rest.split(']').next().unwrap_or_default());
    // Every other piece lies between quotes.
    lists.flat_map(|list| list.split(['"', '\'']).skip(1).step_by(2)).collect()
}

/// The settings of mise without those that have nothing loaded: the tasks, which the person starts.
fn loading_in_mise(text: &str, is_all: bool) -> String {
    let (mut kept, mut is_task) = (Vec::new(), false);
    for line in text.lines().map(str::trim_start) {
        if line.starts_with('[') {
            is_task = line.starts_with("[tasks]") || line.starts_with("[tasks.");
        }
        if is_all || !(is_task || line.starts_with('#')) {
            kept.push(line);
        }
    }
    // Any text in quotes could be a path, as what this word is given is.
    kept.join("\n").replace(['"', '\''], " source ")
}

/// Whether a file could be one that a shell reads.
fn is_shell(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let ending = path.extension().and_then(|it| it.to_str());
    let is_usual = ending.is_none_or(|it| ["sh", "bash", "zsh"].contains(&it));
    name.starts_with(ENVIRONMENT) || (is_usual && !name.starts_with(".env"))
}

#[cfg(test)]
mod tests;
