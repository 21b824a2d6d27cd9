//! Checks, when a process of a project's plugin starts, that the project's files are the ones that
//! the user trusts. The sandbox that starts all processes is wrapped with this check.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use contract::sandbox::{Child, Enforcement, Profile, Sandbox, SandboxError, Spawn};

use crate::project::{ProjectTrust, verified};
use crate::store::Store;

/// Directories that are used because the user trusts the project they are in.
#[derive(Debug, Default)]
pub struct TrustedRoots(Mutex<BTreeMap<PathBuf, (PathBuf, Store)>>);

impl TrustedRoots {
    /// Returns true if a project is trusted. Processes that read `directories` then start only while
    /// it is.
    pub fn admit(&self, project: &ProjectTrust, directories: &[&Path]) -> bool {
        let Some(trusted) = project.trusted() else { return false };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for directory in directories {
            known.insert((*directory).to_owned(), (trusted.root.clone(), trusted.store.clone()));
        }
        true
    }

    /// Fails if one of these directories belongs to a project that is no longer trusted.
    fn check(&self, directories: &[PathBuf]) -> Result<(), String> {
        let project = {
            let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            directories.iter().find_map(|directory| known.get(directory).cloned())
        };
        project.map_or(Ok(()), |(root, store)| verified(&root, &store).map(drop))
    }
}

/// A sandbox that starts processes of trusted directories only while they are trusted.
pub struct CheckedSandbox {
    pub sandbox: Arc<dyn Sandbox>,
    pub roots: Arc<TrustedRoots>,
}

impl Sandbox for CheckedSandbox {
    fn describe(&self) -> String {
        self.sandbox.describe()
    }

    fn enforces(&self) -> Enforcement {
        self.sandbox.enforces()
    }

    fn start(&self, spawn: &Spawn, profile: &Profile) -> Result<Child, SandboxError> {
        // The profile of a plugin's process lists the plugin's directory as readable.
        self.roots.check(&profile.read).map_err(SandboxError::Refused)?;
        self.sandbox.start(spawn, profile)
    }
}
