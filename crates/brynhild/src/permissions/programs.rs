//! Where a command's program would be found, and whether its name can be relied on. Only looks at
//! names and kinds of files; runs nothing.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use policy::Search;

/// Where the system has its programs.
const SYSTEM: &[&str] = &["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"];

/// The search path that commands get, with the places that others than the user write.
#[derive(Clone, Debug, Default)]
pub(crate) struct Programs {
    /// The places before the first doubtful one.
    folders: Vec<PathBuf>,
    doubtful: Option<PathBuf>,
    /// The places after that which are not doubtful themselves.
    later: Vec<PathBuf>,
}

impl Programs {
    /// Reads a search path. A folder in one of `open` is doubtful, and so is one that depends on
    /// the working directory or that everybody may write.
    pub(crate) fn new(search_path: &str, open: &[PathBuf]) -> Self {
        let mut found = Self::default();
        for folder in std::env::split_paths(search_path) {
            let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
            let is_within = |place: &PathBuf| real.starts_with(place) || folder.starts_with(place);
            if !folder.is_absolute() || open.iter().any(is_within) || is_everybodys(&real) {
                found.doubtful.get_or_insert(folder);
            } else if found.doubtful.is_none() {
                found.folders.push(folder);
            } else {
                found.later.push(folder);
            }
        }
        found
    }

    /// The program of this name, where it is found before any doubtful place.
    pub(crate) fn find(&self, name: &str) -> Option<PathBuf> {
        let is_name = !name.is_empty() && !name.contains('/');
        let mut places = self.folders.iter().filter(|_| is_name).map(|folder| folder.join(name));
        let found = places.find(|path| is_program(path))?;
        Some(found.canonicalize().unwrap_or(found))
    }

    /// What the policy needs of it. Lists folders only where something is doubtful.
    pub(crate) fn search(&self) -> Search {
        let Some(doubtful) = &self.doubtful else {
            return Search::default();
        };
        let files = self.folders.iter().filter_map(|folder| folder.read_dir().ok()).flatten();
        let certain = files
            .filter_map(Result::ok)
            .filter(|entry| is_program(&entry.path()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        let sure = std::env::join_paths(self.folders.iter().chain(&self.later)).ok();
        let sure = sure.and_then(|path| path.into_string().ok()).filter(|path| !path.is_empty());
        Search { doubtful: Some(doubtful.clone()), certain, sure }
    }

    /// Whether a program is found first where only the system puts programs, or Rust's installer.
    pub(crate) fn is_own(&self, name: &str) -> bool {
        let mut places = self.folders.iter();
        let Some(folder) = places.find(|folder| is_program(&folder.join(name))) else {
            return false;
        };
        SYSTEM.iter().any(|place| folder == Path::new(place)) || folder.ends_with(".cargo/bin")
    }
}

fn is_everybodys(folder: &Path) -> bool {
    folder.metadata().is_ok_and(|found| found.permissions().mode() & 0o002 != 0)
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn program(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn only_what_comes_before_a_doubtful_place_is_certain() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        program(&root.join("bin/ls"));
        program(&root.join("work/bin/cat"));
        program(&root.join("late/cat"));
        std::os::unix::fs::symlink(root.join("work/bin"), root.join("link")).unwrap();
        fs::create_dir(root.join("open")).unwrap();
        fs::set_permissions(root.join("open"), fs::Permissions::from_mode(0o777)).unwrap();
        let text = |name: &str| root.join(name).display().to_string();
        let doubtful = [text("work/bin"), text("link"), text("open"), ".".into(), String::new()];
        for doubtful in doubtful {
            let path = format!("{}:{doubtful}:{}", text("bin"), text("late"));
            let programs = Programs::new(&path, &[root.join("work")]);
            assert_eq!(programs.find("ls"), Some(root.join("bin/ls")));
            assert_eq!(programs.find("cat"), None);
            let search = programs.search();
            assert_eq!(search.doubtful, Some(PathBuf::from(doubtful)));
            assert_eq!(search.certain.into_iter().collect::<Vec<_>>(), ["ls"]);
            assert_eq!(search.sure, Some(format!("{}:{}", text("bin"), text("late"))));
        }
        let plain = format!("{}:{}", text("bin"), text("late"));
        let programs = Programs::new(&plain, &[root.join("work")]);
        assert_eq!(programs.find("cat"), Some(root.join("late/cat")));
        assert_eq!(programs.search(), Search::default());
    }

    #[test]
    fn only_what_is_found_first_in_a_folder_of_the_system_is_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        program(&root.join("shims/sed"));
        program(&root.join(".cargo/bin/cargo"));
        let text = |name: &str| root.join(name).display().to_string();
        let path = format!("{}:{}:/usr/bin:/bin", text("shims"), text(".cargo/bin"));
        let programs = Programs::new(&path, &[]);
        let own: Vec<&str> =
            ["cargo", "cat", "sed"].into_iter().filter(|name| programs.is_own(name)).collect();
        assert_eq!(own, ["cargo", "cat"]);
    }
}
