//! What a user agreed to of a server: the files that its command runs, which can change without its
//! description changing, and what it offers.

mod files;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::catalog::{self, Offer};
use crate::config::{Scope, Server};
use crate::private_file;

pub(crate) use files::files;

/// Paths of files with their hashes.
pub(crate) type Files = BTreeMap<String, String>;

/// What a user agreed to of one server.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
struct Agreed {
    /// What each file held, whatever description it was run by.
    files: Files,
    /// The files that each description has run.
    runs: BTreeMap<String, BTreeSet<String>>,
    /// What was offered under each description.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    offers: BTreeMap<String, Offer>,
}

/// Why a program is not started before somebody agrees to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Doubt {
    /// The files that it would run, and that nobody agreed to as they are.
    pub(crate) files: Files,
    /// Why nobody knows what was agreed to, where that is so.
    pub(crate) unknown: Option<String>,
}

impl Doubt {
    /// The files in words.
    pub(crate) fn names(&self) -> String {
        self.files.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }
}

/// The file that keeps what was agreed to for one server, however its description changes.
pub(crate) struct Pins {
    path: PathBuf,
    description: String,
    workspace: PathBuf,
}

impl Pins {
    /// Those of a server whose name for tools is `prefix`, in a workspace that is named without links.
    /// What a project brings is trusted in its own directory, and says nothing of a server that another
    /// project calls the same.
    pub(crate) fn new(directory: &Path, prefix: &str, server: &Server, workspace: &Path) -> Self {
        let workspace = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
        let place = (server.scope == Scope::Project).then(|| workspace.to_string_lossy());
        let identity = serde_json::json!([server.scope.label(), server.name, place]);
        let name = format!("{prefix}-{}.json", catalog::digest(&identity));
        Self { path: directory.join(name), description: server.digest.clone(), workspace }
    }

    /// What is kept. Only where there is no file was nothing agreed to.
    fn read(&self) -> io::Result<Option<Agreed>> {
        let bytes = private_file::read(&self.path)?;
        Ok(bytes.map(|bytes| serde_json::from_slice(&bytes)).transpose()?)
    }

    /// What somebody has to agree to before these files are run. Where the user has described the
    /// server as never before, files that were never run are agreed to by that.
    pub(crate) fn doubt(&self, files: &Files) -> Option<Doubt> {
        let agreed = match self.read() {
            Ok(agreed) => agreed?,
            Err(error) => {
                let unknown = Some(format!("{}: {error}", self.path.display()));
                return Some(Doubt { files: files.clone(), unknown });
            }
        };
        let run = agreed.runs.get(&self.description);
        let is_other = |(path, hash): &(&String, &String)| match agreed.files.get(*path) {
            Some(known) if known != *hash => true,
            _ => run.is_some_and(|run| {
                !run.contains(*path) && !self.is_known_elsewhere((path, hash), run, &agreed.files)
            }),
        };
        let other = files.iter().filter(is_other);
        let files: Files = other.map(|(path, hash)| (path.clone(), hash.clone())).collect();
        (!files.is_empty()).then_some(Doubt { files, unknown: None })
    }

    /// Whether a file of the workspace was run with the same bytes at the same place of another one:
    /// who names a script from wherever they are means each that is the same.
    fn is_known_elsewhere(
        &self,
        (path, hash): (&String, &String),
        run: &BTreeSet<String>,
        files: &Files,
    ) -> bool {
        let Ok(place) = Path::new(path).strip_prefix(&self.workspace) else { return false };
        run.iter().any(|other| Path::new(other).ends_with(place) && files.get(other) == Some(hash))
    }

    /// Agrees to files.
    pub(crate) fn agree(&self, files: &Files) -> io::Result<()> {
        self.change(|agreed| {
            agreed.files.extend(files.clone());
            agreed.runs.entry(self.description.clone()).or_default().extend(files.keys().cloned());
        })
    }

    /// What was agreed to of what the server offers; none where that was never asked.
    pub(crate) fn offer(&self) -> io::Result<Option<Offer>> {
        Ok(self.read()?.and_then(|mut agreed| agreed.offers.remove(&self.description)))
    }

    /// Agrees to something that the server offers.
    pub(crate) fn agree_to_offer(&self, offer: Offer) -> io::Result<()> {
        self.change(|agreed| {
            agreed.offers.entry(self.description.clone()).or_default().extend(offer);
        })
    }

    fn change(&self, change: impl FnOnce(&mut Agreed)) -> io::Result<()> {
        let _lock = private_file::lock(&self.path)?;
        // The user was asked about a file that cannot be read.
        let before = self.read().ok().flatten();
        let mut agreed = before.clone().unwrap_or_default();
        change(&mut agreed);
        if before.as_ref() == Some(&agreed) {
            return Ok(());
        }
        private_file::replace(&self.path, &serde_json::to_vec(&agreed)?)
    }
}

#[cfg(test)]
mod tests;
