//! The pins of a server: hashes of the program files and of the catalog that the user agreed to.

mod files;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use ::files::private::{self, Durability};
use serde::{Deserialize, Serialize};

use crate::catalog::{self, CatalogHashes};
use crate::config::{Scope, Server};

pub(crate) use files::files;

/// Paths of files with their hashes.
pub(crate) type Files = BTreeMap<String, String>;

/// The content of a pin file.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
struct PinnedState {
    /// The approved files, for every configuration.
    files: Files,
    /// The files that each configuration has run, by its digest.
    runs: BTreeMap<String, BTreeSet<String>>,
    /// The approved catalog of each configuration.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    catalogs: BTreeMap<String, CatalogHashes>,
}

/// A program that needs the user's consent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnapprovedProgram {
    pub(crate) files: Files,
    /// The error if the pins cannot be read.
    pub(crate) unreadable: Option<String>,
}

impl UnapprovedProgram {
    pub(crate) fn names(&self) -> String {
        self.files.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }
}

/// The pin file of one server. It stays the same when the configuration changes.
pub(crate) struct Pins {
    path: PathBuf,
    configuration: String,
    workspace: PathBuf,
}

impl Pins {
    /// The pins of a server. Those of a project's server hold in the directory of that project alone:
    /// another project may give a server the same name.
    pub(crate) fn new(directory: &Path, prefix: &str, server: &Server, workspace: &Path) -> Self {
        let workspace = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
        let place = (server.scope == Scope::Project).then(|| workspace.to_string_lossy());
        let identity = serde_json::json!([server.scope.label(), server.name, place]);
        let name = format!("{prefix}-{}.json", catalog::digest(identity));
        Self { path: directory.join(name), configuration: server.digest.clone(), workspace }
    }

    /// None if there is no file: the user was never asked.
    fn read(&self) -> io::Result<Option<PinnedState>> {
        let bytes = private::read(&self.path)?;
        Ok(bytes.map(|bytes| serde_json::from_slice(&bytes)).transpose()?)
    }

    /// The program with these files, if it needs the user's consent. A new configuration is consent to
    /// files that were never run.
    pub(crate) fn unapproved(&self, files: &Files) -> Option<UnapprovedProgram> {
        let pinned = match self.read() {
            Ok(pinned) => pinned?,
            Err(error) => {
                let unreadable = Some(format!("{}: {error}", self.path.display()));
                return Some(UnapprovedProgram { files: files.clone(), unreadable });
            }
        };
        let run = pinned.runs.get(&self.configuration);
        let is_other = |(path, hash): &(&String, &String)| match pinned.files.get(*path) {
            Some(known) if known != *hash => true,
            _ => run.is_some_and(|run| {
                !run.contains(*path) && !self.is_same_elsewhere((path, hash), run, &pinned.files)
            }),
        };
        let other = files.iter().filter(is_other);
        let files: Files = other.map(|(path, hash)| (path.clone(), hash.clone())).collect();
        (!files.is_empty()).then_some(UnapprovedProgram { files, unreadable: None })
    }

    /// Returns true if a file of the workspace was run with the same content at the same path of another
    /// workspace: a relative path on the command line means both.
    fn is_same_elsewhere(
        &self,
        (path, hash): (&String, &String),
        run: &BTreeSet<String>,
        files: &Files,
    ) -> bool {
        let Ok(place) = Path::new(path).strip_prefix(&self.workspace) else { return false };
        run.iter().any(|other| Path::new(other).ends_with(place) && files.get(other) == Some(hash))
    }

    pub(crate) fn approve_files(&self, files: &Files) -> io::Result<()> {
        self.change(|pinned| {
            pinned.files.extend(files.clone());
            let run = pinned.runs.entry(self.configuration.clone()).or_default();
            run.extend(files.keys().cloned());
        })
    }

    /// The approved catalog. None if the user was never asked.
    pub(crate) fn catalog(&self) -> io::Result<Option<CatalogHashes>> {
        Ok(self.read()?.and_then(|mut pinned| pinned.catalogs.remove(&self.configuration)))
    }

    pub(crate) fn approve_catalog(&self, hashes: CatalogHashes) -> io::Result<()> {
        self.change(|pinned| {
            pinned.catalogs.entry(self.configuration.clone()).or_default().extend(hashes);
        })
    }

    fn change(&self, change: impl FnOnce(&mut PinnedState)) -> io::Result<()> {
        let _lock = private::lock(&self.path)?;
        // The user was asked about a file that cannot be read.
        let before = self.read().ok().flatten();
        let mut pinned = before.clone().unwrap_or_default();
        change(&mut pinned);
        if before.as_ref() == Some(&pinned) {
            return Ok(());
        }
        private::replace(&self.path, &serde_json::to_vec(&pinned)?, Durability::Synced)
    }
}

#[cfg(test)]
mod tests;
