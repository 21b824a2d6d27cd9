//! Packages that plugins import and do not declare, as far as they are well known: which were found
//! out for which plugin. Installs nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use contract::python::PythonFacts;
use files::cache;
use serde::{Deserialize, Serialize};

use crate::venv;

/// The modules that plugins count on without a word, each with the package that brings it.
const KNOWN: [(&str, &str); 18] = [
    ("anyio", "anyio"),
    ("certifi", "certifi"),
    ("click", "click"),
    ("dotenv", "python-dotenv"),
    ("httpx", "httpx"),
    ("openai", "openai"),
    ("pydantic", "pydantic"),
    ("pydantic_settings", "pydantic-settings"),
    ("pygments", "pygments"),
    ("requests", "requests"),
    ("rich", "rich"),
    ("textual", "textual"),
    ("tiktoken", "tiktoken"),
    ("tree_sitter", "tree-sitter"),
    ("tree_sitter_bash", "tree-sitter-bash"),
    ("typing_extensions", "typing-extensions"),
    ("watchfiles", "watchfiles"),
    ("yaml", "pyyaml"),
];
/// How long what could not be installed is left alone: without a network each attempt takes a while.
const PAUSE: Duration = Duration::from_hours(1);

/// The well-known modules.
pub(crate) fn modules() -> Vec<&'static str> {
    KNOWN.iter().map(|(module, _)| *module).collect()
}

/// The packages that bring these modules, without those that are not well known.
pub(crate) fn packages(modules: &[String]) -> Vec<String> {
    let package = |module: &String| KNOWN.iter().find(|(known, _)| known == module);
    modules.iter().filter_map(package).map(|(_, package)| (*package).to_owned()).collect()
}

/// Whether one of the declared packages is the one that brings a module.
pub(crate) fn is_among(module: &str, declared: &[String]) -> bool {
    let known = KNOWN.iter().find(|(known, _)| *known == module);
    let package = known.map_or(module, |(_, package)| package);
    declared.iter().any(|item| venv::name_of(item) == package)
}

/// What was found out.
pub(crate) struct Undeclared {
    file: PathBuf,
    found: Mutex<Option<BTreeMap<String, Entry>>>,
}

/// What was found out about one plugin.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Entry {
    packages: Vec<String>,
    /// The last attempt to install them that failed, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<u64>,
}

impl Undeclared {
    /// What is kept in a file. Reads nothing yet.
    pub(crate) fn new(file: PathBuf) -> Self {
        Self { file, found: Mutex::new(None) }
    }

    /// The packages that a plugin was given; none for most.
    pub(crate) fn of(&self, plugin: &PythonFacts) -> Vec<String> {
        self.with(|found| {
            if found.is_empty() {
                return Vec::new();
            }
            let entry = found.get(&name(plugin)).filter(|entry| entry.failed.is_none());
            entry.map(|entry| entry.packages.clone()).unwrap_or_default()
        })
    }

    /// Whether an attempt to install packages is worth while.
    pub(crate) fn may_try(&self, plugin: &PythonFacts, packages: &[String]) -> bool {
        self.with(|found| match found.get(&name(plugin)) {
            Some(Entry { packages: tried, failed: Some(time) }) if tried == packages => {
                seconds().abs_diff(*time) > PAUSE.as_secs()
            }
            _ => true,
        })
    }

    /// Keeps what a plugin needs, and whether it could be had.
    pub(crate) fn keep(&self, plugin: &PythonFacts, packages: &[String], is_installed: bool) {
        let failed = (!is_installed).then(seconds);
        self.with(|found| {
            found.insert(name(plugin), Entry { packages: packages.to_vec(), failed });
            // What cannot be written is found out again the next time.
            let _ = cache::write(&self.file, found);
        });
    }

    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<String, Entry>) -> T) -> T {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        act(found.get_or_insert_with(|| cache::read(&self.file).unwrap_or_default()))
    }
}

fn name(plugin: &PythonFacts) -> String {
    format!("{} {}", plugin.name, plugin.root.display())
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::Plugin;

    #[test]
    fn what_could_not_be_had_is_left_alone_for_a_while() {
        let directory = tempfile::tempdir().unwrap();
        let undeclared = || Undeclared::new(directory.path().join("undeclared.json"));
        let plugin = Plugin::new(directory.path(), "p").facts;
        let wanted = packages(&["yaml".to_owned(), "evil".to_owned()]);
        assert_eq!(wanted, ["pyyaml"]);
        assert!(undeclared().may_try(&plugin, &wanted));
        undeclared().keep(&plugin, &wanted, false);
        assert!(!undeclared().may_try(&plugin, &wanted));
        assert!(undeclared().may_try(&plugin, &["httpx".to_owned()]));
        assert!(undeclared().of(&plugin).is_empty());
        undeclared().keep(&plugin, &wanted, true);
        assert_eq!(undeclared().of(&plugin), wanted);
    }
}
