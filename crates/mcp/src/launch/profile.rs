//! The sandbox profile and the environment of a server's program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use contract::policy::Mode;
use contract::sandbox::Access;
use contract::sandbox::{Network, Profile};

use super::Launch;
use crate::config::Scope;

/// Caches of package managers in a home, which servers may read.
const CACHES: [&str; 3] = [".npm", ".cache/uv", ".cache/pip"];

impl Launch<'_> {
    /// The profile: the user's grants, in read-only mode without writes and network.
    pub(super) fn profile(&self) -> Profile {
        let (grants, settings) = (&self.server.grants, self.settings);
        let is_read_only = settings.mode == Mode::ReadOnly;
        let full = |path: &PathBuf| settings.full_path(path);
        let mut own = vec![self.data.clone()];
        let mut access = Access::ReadOnly;
        for path in grants.write.iter().map(full).filter(|_| !is_read_only) {
            if settings.workspace.starts_with(&path) {
                access = Access::Workspace;
            } else {
                own.push(path);
            }
        }
        let mut read: Vec<PathBuf> = grants.read.iter().chain(&grants.exec).map(full).collect();
        if self.server.scope == Scope::User {
            let words = std::iter::once(&self.program.command).chain(&self.program.args);
            let files = words.map(Path::new).filter(|path| path.is_absolute() && path.is_file());
            read.extend(installed_paths(files, settings.home.as_deref()));
        }
        let home = settings.home.iter();
        read.extend(home.flat_map(|home| CACHES.iter().map(move |cache| home.join(cache))));
        Profile {
            workspace: settings.workspace.clone(),
            access,
            read,
            write: Vec::new(),
            own,
            fixed: Vec::new(),
            network: if is_read_only { Network::None } else { grants.network.clone() },
            env: self.environment(),
            limits: settings.limits,
        }
    }

    /// The environment of the program.
    pub(super) fn environment(&self) -> BTreeMap<String, String> {
        let (settings, data) = (self.settings, &self.data);
        let mut env = settings.env.clone();
        for (name, path) in [
            ("XDG_CACHE_HOME", data.join("cache")),
            ("PIP_CACHE_DIR", data.join("pip")),
            ("UV_CACHE_DIR", data.join("uv")),
            ("UV_TOOL_DIR", data.join("uv-tools")),
            ("npm_config_cache", self.npm_cache()),
        ] {
            env.insert(name.to_owned(), path.display().to_string());
        }
        let is_offline = self.server.grants.network == Network::None;
        let offline = [("UV_OFFLINE", "1"), ("npm_config_offline", "true")];
        let offline = offline.into_iter().filter(|_| is_offline);
        let fixed = [
            ("npm_config_update_notifier", "false"),
            ("npm_config_fund", "false"),
            ("npm_config_audit", "false"),
            ("npm_config_prefer_offline", "true"),
            ("PYTHONDONTWRITEBYTECODE", "1"),
            // The catalog of a server must not depend on the order of a set.
            ("PYTHONHASHSEED", "0"),
        ];
        let fixed = fixed.into_iter().chain(offline);
        env.extend(fixed.map(|(name, value)| (name.to_owned(), value.to_owned())));
        for name in self.program.inherited.iter().chain(&self.server.grants.env) {
            env.extend(settings.variables.get(name).map(|value| (name.clone(), value.clone())));
        }
        let own = self.program.env.iter();
        env.extend(own.map(|(name, value)| (name.clone(), value.expose().clone())));
        if self.server.scope != Scope::Project
            && let Some(path) = env.get_mut("PATH")
        {
            *path = without_workspace(path, &settings.workspace);
        }
        env
    }

    /// The cache of npm: in the server's own directory, or the user's if the server has none yet and no
    /// network to fill one.
    fn npm_cache(&self) -> PathBuf {
        let own = self.data.join("npm");
        let of_user = self.settings.home.as_ref().map(|home| home.join(".npm"));
        let is_offline = self.server.grants.network == Network::None;
        of_user.filter(|it| is_offline && !own.exists() && it.exists()).unwrap_or(own)
    }
}

/// A search path without the directories of the project: no program of the user is there.
fn without_workspace(path: &str, workspace: &Path) -> String {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_outside = |directory: &PathBuf| {
        directory.is_absolute()
            && !directory.starts_with(workspace)
            && !real(directory).starts_with(real(workspace))
    };
    let directories = std::env::split_paths(path).filter(is_outside);
    std::env::join_paths(directories).unwrap_or_default().to_string_lossy().into_owned()
}

/// Files with the directories they are installed in.
fn installed_paths<'a>(files: impl Iterator<Item = &'a Path>, home: Option<&Path>) -> Vec<PathBuf> {
    let place = |path: &'_ Path| -> PathBuf {
        installation(path).or_else(|| directory(path, home)).unwrap_or(path).to_owned()
    };
    let mut paths = Vec::new();
    for file in files {
        paths.extend([file.to_owned(), place(file)]);
        if let Ok(target) = file.canonicalize().as_deref() {
            // Relative to the file: the symlink may have another target by the time that the sandbox
            // checks it.
            let above = target.strip_prefix(place(target)).map_or(0, |it| it.components().count());
            paths.push((0..above).fold(file.to_owned(), |path, _| path.join("..")));
        }
    }
    paths.sort();
    paths.dedup();
    paths
}

/// The packages that a program is installed with: the innermost `node_modules`, or the Python virtual
/// environment around it.
fn installation(file: &Path) -> Option<&Path> {
    let mut around = file.ancestors().skip(1);
    around.find(|directory| {
        directory.ends_with("node_modules") || directory.join("pyvenv.cfg").is_file()
    })
}

/// The directory of a program with several files. None for a directory with other files of the user.
fn directory<'a>(file: &'a Path, home: Option<&Path>) -> Option<&'a Path> {
    let directory = file.parent()?;
    let shared = ["tmp", "Downloads", "Desktop", "Documents"];
    let is_wide = directory.components().count() <= 2
        || home.is_some_and(|home| home.starts_with(directory))
        || shared.iter().any(|name| directory.ends_with(name));
    let is_hidden = directory.components().any(|part| {
        let name = part.as_os_str().to_string_lossy();
        name.starts_with('.') && name.len() > 1
    });
    (!is_wide && !is_hidden).then_some(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symlink_target_is_left_to_the_sandbox() {
        // Of directories with hidden names less is shown.
        let base = tempfile::Builder::new().prefix("mcp-").tempdir().expect("tempdir");
        let base = base.path().canonicalize().expect("a directory");
        std::fs::create_dir_all(base.join("lib/node_modules/it")).expect("a directory");
        std::fs::create_dir(base.join("bin")).expect("a directory");
        std::fs::write(base.join("lib/node_modules/it/main.js"), "").expect("a file");
        let link = base.join("bin/it");
        std::os::unix::fs::symlink(base.join("lib/node_modules/it/main.js"), &link)
            .expect("a link");
        let paths = installed_paths([link.as_path()].into_iter(), None);
        assert_eq!(paths, [base.join("bin"), link.clone(), link.join("../..")]);
        assert!(paths.iter().all(|path| !path.starts_with(base.join("lib"))));
    }

    #[test]
    fn search_path_leaves_out_the_project() {
        let base = tempfile::tempdir().expect("tempdir");
        let (work, link) = (base.path().join("work"), base.path().join("link"));
        std::fs::create_dir_all(work.join("bin")).expect("a directory");
        std::os::unix::fs::symlink(work.join("bin"), &link).expect("a link");
        let path = format!("{0}/bin:{1}:relative::/usr/bin:/bin", work.display(), link.display());
        assert_eq!(without_workspace(&path, &work), "/usr/bin:/bin");
    }
}
