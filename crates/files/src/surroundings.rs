//! The directories and environment variables of the processes of plugins, and their programs. Reads
//! no environment variable of this process.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

/// The directories and environment variables of a process.
#[derive(Clone, Debug)]
pub struct Surroundings {
    pub workspace: PathBuf,
    /// The working directory of the user.
    pub cwd: PathBuf,
    /// The environment variables of every process.
    pub env: BTreeMap<String, String>,
    /// All environment variables, for those that are granted by name.
    pub variables: BTreeMap<String, String>,
    pub home: Option<PathBuf>,
}

impl Surroundings {
    /// Resolves a path of the configuration: from the home with `~`, else from the workspace.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        let mut parts = path.components();
        match (parts.next(), &self.home) {
            (Some(Component::Normal(first)), Some(home)) if first == "~" => {
                home.join(parts.as_path())
            }
            _ => self.workspace.join(path),
        }
    }

    /// Finds a program by its name or path.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        let found = if name.contains('/') {
            Some(self.resolve(Path::new(name)))
        } else {
            let search_path = self.variables.get("PATH").or(self.env.get("PATH"));
            on_path(name, search_path, &self.workspace)
        };
        found.filter(|path| path.exists())
    }

    /// The directory that processes start in.
    pub fn directory(&self) -> &Path {
        if self.cwd.starts_with(&self.workspace) { &self.cwd } else { &self.workspace }
    }
}

/// Finds the first executable file of a name on a search path. Directories of the workspace, such as
/// a virtual environment, are skipped: their files are not trusted.
pub fn on_path(name: &str, search_path: Option<&String>, workspace: &Path) -> Option<PathBuf> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let real_workspace = real(workspace);
    let is_outside = |directory: &PathBuf| {
        directory.is_absolute()
            && !directory.starts_with(workspace)
            && !real(directory).starts_with(&real_workspace)
    };
    let is_program = |it: fs::Metadata| it.is_file() && it.permissions().mode() & 0o111 != 0;
    let directories = std::env::split_paths(search_path?).filter(is_outside);
    let mut files = directories.map(|directory| directory.join(name));
    files.find(|file| fs::metadata(file).is_ok_and(is_program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_the_project_is_not_found_on_the_search_path() {
        let base = tempfile::tempdir().expect("tempdir");
        let (work, own) = (base.path().join("work"), base.path().join("own"));
        for directory in [work.join(".venv/bin"), own.clone()] {
            fs::create_dir_all(&directory).expect("a directory");
            let file = directory.join("python3");
            fs::write(&file, "").expect("a file");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("a mode");
        }
        std::os::unix::fs::symlink(work.join(".venv/bin"), base.path().join("link"))
            .expect("a link");
        let path = |directories: &[PathBuf]| {
            let joined = std::env::join_paths(directories).expect("a path");
            joined.into_string().expect("text")
        };
        let all = path(&[work.join(".venv/bin"), base.path().join("link"), own.clone()]);
        assert_eq!(on_path("python3", Some(&all), &work), Some(own.join("python3")));
        let none = path(&[work.join(".venv/bin"), base.path().join("link")]);
        assert_eq!(on_path("python3", Some(&none), &work), None);
    }
}
