//! Mounts that enforce rules for files: a path that may not be written is read-only, and over a path
//! that may not be read lies a file or directory that nobody can open. An empty one would mislead.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use contract::sandbox::SandboxError;

use crate::Settings;
use crate::contents::private_directory;
use crate::denied_paths::DeniedPaths;
use crate::request::Request;

/// The mounts that enforce rules.
#[derive(Debug, Default)]
pub(crate) struct Mounts {
    pub(crate) found: DeniedPaths,
    /// The file that lies in the place of others which may not be read, and these.
    pub(crate) seal: PathBuf,
    pub(crate) files: Vec<PathBuf>,
    /// Directories that may not be read.
    pub(crate) directories: Vec<PathBuf>,
}

impl Mounts {
    /// Looks for what the rules keep from `request`.
    pub(crate) fn find(request: &Request, settings: &Settings) -> Result<Self, SandboxError> {
        let found = DeniedPaths::find(request, settings)?;
        let mut mounts = Self { found, ..Self::default() };
        for path in &mounts.found.hidden {
            match fs::symlink_metadata(path) {
                Ok(it) if it.is_dir() => mounts.directories.push(path.clone()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                // A path that cannot be examined must not be shown.
                Ok(_) | Err(_) => mounts.files.push(path.clone()),
            }
        }
        if !mounts.files.is_empty() {
            mounts.seal = seal(&settings.state).map_err(|error| {
                SandboxError::Refused(format!("cannot hide what rules deny: {error}"))
            })?;
        }
        Ok(mounts)
    }
}

/// A file that nobody may open, made where it is missing.
fn seal(state: &Path) -> io::Result<PathBuf> {
    let store = state.join("seals");
    private_directory(&store)?;
    let file = store.join("file");
    match OpenOptions::new().write(true).create_new(true).mode(0o0).open(&file) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(_) | Err(_) => Ok(file),
    }
}
