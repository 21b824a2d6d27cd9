//! A temporary project and home for one test.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The files that every project of a plugin's tests begins with.
pub const PROJECT_FILES: &str = "tests/project";

/// Environment variables that tests see. Keys of providers and settings are not among them.
pub const VARIABLES: [&str; 11] = [
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "LOGNAME",
    "BRYNHILD_SITE_CONFIG",
    "PIP_NO_INDEX",
];

/// A temporary directory with a project and a home, deleted when it is dropped.
pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// Creates an empty project and an empty home in the directory `temp`.
    pub fn create(temp: &Path) -> io::Result<Self> {
        let workspace = Self { root: fresh_directory(temp)? };
        fs::create_dir(workspace.project())?;
        fs::create_dir(workspace.home())?;
        Ok(workspace)
    }

    pub fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Copies the files of `tests/project` of a plugin, and writes further files.
    pub fn fill(&self, plugin: &Path, files: &BTreeMap<String, String>) -> io::Result<()> {
        let source = plugin.join(PROJECT_FILES);
        if source.is_dir() {
            copy(&source, &self.project())?;
        }
        for (path, text) in files {
            let path = self.project().join(path);
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            fs::write(path, text)?;
        }
        Ok(())
    }

    /// Deletes the cached descriptions of plugins and servers. The interpreter stays known.
    pub fn forget_descriptions(&self) -> io::Result<()> {
        let cache = self.config_directory().join("cache");
        let host = cache.join("python-host");
        let others = fs::read_dir(cache)?.collect::<io::Result<Vec<_>>>()?;
        let others = others.iter().map(fs::DirEntry::path).filter(|path| *path != host);
        for path in others.chain([host.join("descriptions")]) {
            if path.is_dir() {
                fs::remove_dir_all(path)?;
            } else if path.exists() {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    fn config_directory(&self) -> PathBuf {
        self.home().join(".config/brynhild")
    }

    /// Writes the user's configuration.
    pub fn configure(&self, config: &serde_json::Value) -> io::Result<()> {
        let directory = self.config_directory();
        fs::create_dir_all(&directory)?;
        fs::write(directory.join("config.yaml"), config.to_string())
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // A leftover in the temporary directory is not a failure of a test.
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// Creates a directory that did not exist, so that no other user could have prepared it.
pub fn fresh_directory(temp: &Path) -> io::Result<PathBuf> {
    let temp = temp.canonicalize()?;
    for number in 0..1000_u32 {
        let directory = temp.join(format!("brynhild-{}-{number}", std::process::id()));
        match fs::create_dir(&directory) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                let text = format!("cannot create {}: {error}", directory.display());
                return Err(io::Error::new(error.kind(), text));
            }
            Ok(()) => return Ok(directory),
        }
    }
    Err(io::Error::other(format!("no free name for a directory in {}", temp.display())))
}

/// Copies files and directories. Symlinks are left out, since they may lead anywhere.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            fs::create_dir_all(&target)?;
            copy(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspace_has_project_files_and_vanishes() {
        let temp = tempfile::tempdir().unwrap();
        let plugin = temp.path().join("plugin");
        fs::create_dir_all(plugin.join("tests/project/sub")).unwrap();
        fs::write(plugin.join("tests/project/sub/a.txt"), "a").unwrap();
        std::os::unix::fs::symlink("/etc", plugin.join("tests/project/etc")).unwrap();
        let workspace = Workspace::create(temp.path()).unwrap();
        let files = BTreeMap::from([("b/c.txt".to_owned(), "c".to_owned())]);
        workspace.fill(&plugin, &files).unwrap();
        let project = workspace.project();
        assert_eq!(fs::read_to_string(project.join("sub/a.txt")).unwrap(), "a");
        assert_eq!(fs::read_to_string(project.join("b/c.txt")).unwrap(), "c");
        assert!(!project.join("etc").exists());
        drop(workspace);
        assert!(!project.exists());
    }
}
