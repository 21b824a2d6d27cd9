//! A spawn with its profile, checked and with every path resolved once, so that all rungs see the
//! same roots.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use contract::policy::Access;
use contract::sandbox::{Channel, Fixed, Limits, Network, Profile, SandboxError, Spawn, Stdin};

use crate::{Rung, view};

/// What to start, and what it may touch.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) cwd: PathBuf,
    pub(crate) stdin: Stdin,
    pub(crate) channel: Channel,
    pub(crate) env: BTreeMap<String, String>,
    /// The workspace and the further writable paths, parents before children.
    pub(crate) roots: Vec<PathBuf>,
    /// The workspace, where there are roots.
    pub(crate) workspace: PathBuf,
    /// Files of it that must be found as they were looked at.
    pub(crate) fixed: Vec<Fixed>,
    /// Further readable paths, parents before children.
    pub(crate) read: Vec<PathBuf>,
    /// Folders of the process' own, parents before children.
    pub(crate) own: Vec<PathBuf>,
    pub(crate) access: Access,
    pub(crate) network: Network,
    pub(crate) limits: Limits,
    /// The person's home.
    pub(crate) home: Option<PathBuf>,
    /// A folder that is to be its home.
    pub(crate) own_home: Option<PathBuf>,
}

/// Folders that nothing may be granted as a whole.
const SYSTEM: [&str; 15] = [
    "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/proc", "/root", "/run",
    "/sbin", "/sys", "/usr", "/var",
];

impl Request {
    /// Checks `spawn` against `profile`.
    pub(crate) fn check(
        spawn: &Spawn,
        profile: &Profile,
        home: Option<&Path>,
    ) -> Result<Self, SandboxError> {
        let home = home.and_then(|home| fs::canonicalize(home).ok());
        let home = home.filter(|home| home != Path::new("/"));
        let workspace = fs::canonicalize(&profile.workspace).map_err(|error| {
            let path = profile.workspace.display();
            SandboxError::Refused(format!("the workspace {path} cannot be used: {error}"))
        })?;
        let mut roots = existing(&profile.write);
        roots.push(workspace.clone());
        tidy(&mut roots);
        for root in &roots {
            refuse_too_wide(root, home.as_deref())?;
        }
        let mut own = existing(&profile.own);
        tidy(&mut own);
        for folder in &own {
            refuse_too_wide(folder, home.as_deref())?;
            if let Some(root) = roots.iter().find(|root| root.starts_with(folder)) {
                return Err(SandboxError::Refused(format!(
                    "{} cannot be a folder of the process' own, because {} lies in it",
                    folder.display(),
                    root.display()
                )));
            }
        }
        let mut read = existing(&profile.read);
        read.extend(view::git_directory(&workspace));
        let path = profile.env.get("PATH").map(String::as_str).unwrap_or_default();
        read.extend(view::toolchains_on(path, home.as_deref()));
        tidy(&mut read);
        let cwd = fs::canonicalize(&spawn.cwd).map_err(|error| {
            let path = spawn.cwd.display();
            SandboxError::Refused(format!("the working directory {path} cannot be used: {error}"))
        })?;
        if !roots.iter().chain(&read).chain(&own).any(|path| cwd.starts_with(path)) {
            return Err(SandboxError::Refused(format!(
                "the working directory {} lies outside of the workspace and the allowed paths",
                cwd.display()
            )));
        }
        Ok(Self { cwd, roots, workspace, read, own, home, ..Self::unchecked(spawn, profile) })
    }

    /// Takes `spawn` as it is, for a start without walls.
    pub(crate) fn unchecked(spawn: &Spawn, profile: &Profile) -> Self {
        let mut env = profile.env.clone();
        env.extend(spawn.env.clone());
        Self {
            program: spawn.program.clone(),
            args: spawn.args.clone(),
            cwd: spawn.cwd.clone(),
            stdin: spawn.stdin,
            channel: spawn.channel,
            env,
            roots: Vec::new(),
            workspace: profile.workspace.clone(),
            fixed: profile.fixed.clone(),
            read: Vec::new(),
            own: Vec::new(),
            access: profile.access,
            network: profile.network.clone(),
            limits: profile.limits,
            home: None,
            own_home: spawn.home.clone(),
        }
    }
}

/// Packages are too many to be mounted one by one; what counts of them is compared.
const PACKAGES: &str = "node_modules";

impl Request {
    /// Whether a file of the workspace can be put into its place by mounts.
    pub(crate) fn can_place(&self, fixed: &Fixed) -> bool {
        let root = self.roots.iter().rfind(|root| fixed.place.starts_with(root));
        root == Some(&self.workspace)
            && !fixed.place.components().any(|part| part.as_os_str() == PACKAGES)
    }

    /// The first file that is not as it was looked at, of those that `rung` leaves where they are.
    pub(crate) fn changed(&self, rung: Rung) -> Option<&Path> {
        let is_placed = |fixed: &&Fixed| rung == Rung::Bubblewrap && self.can_place(fixed);
        let is_changed = |fixed: &&Fixed| {
            let bytes = fs::read(&fixed.place);
            bytes.map_or(true, |bytes| *bytes != *fixed.bytes)
        };
        let mut left = self.fixed.iter().filter(|fixed| !is_placed(fixed));
        left.find(is_changed).map(|fixed| fixed.place.as_path())
    }
}

fn existing(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().filter_map(|path| fs::canonicalize(path).ok()).collect()
}

fn tidy(paths: &mut Vec<PathBuf>) {
    paths.sort_by_key(|path| (path.components().count(), path.clone()));
    paths.dedup();
}

fn refuse_too_wide(root: &Path, home: Option<&Path>) -> Result<(), SandboxError> {
    let is_home = home.is_some_and(|home| home.starts_with(root));
    if is_home || SYSTEM.iter().any(|system| root == Path::new(system)) {
        let what =
            if is_home { "the home directory or a parent of it" } else { "a system directory" };
        return Err(SandboxError::Refused(format!(
            "{} is {what}; work in a project directory instead",
            root.display()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spawn(cwd: &Path) -> Spawn {
        Spawn {
            program: PathBuf::from("true"),
            args: Vec::new(),
            cwd: cwd.to_owned(),
            stdin: Stdin::Null,
            channel: Channel::None,
            env: BTreeMap::from([("B".to_owned(), "spawn".to_owned())]),
            home: None,
        }
    }

    fn profile(workspace: &Path) -> Profile {
        Profile {
            workspace: workspace.to_owned(),
            access: Access::Workspace,
            read: vec![PathBuf::from("/does/not/exist")],
            write: vec![PathBuf::from("/does/not/exist/either")],
            own: Vec::new(),
            fixed: Vec::new(),
            network: Network::None,
            env: BTreeMap::from([
                ("A".to_owned(), "profile".to_owned()),
                ("B".to_owned(), "profile".to_owned()),
            ]),
            limits: Limits::default(),
        }
    }

    #[test]
    fn paths_are_resolved_and_missing_ones_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(folder.path()).unwrap().join("real");
        let link = folder.path().join("link");
        fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let request = Request::check(&spawn(&link), &profile(&link), None).unwrap();
        assert_eq!(request.roots, std::slice::from_ref(&real));
        assert_eq!(request.cwd, real);
        assert!(request.read.is_empty());
        assert_eq!(request.env["A"], "profile");
        assert_eq!(request.env["B"], "spawn");
    }

    #[test]
    fn the_home_its_parents_and_system_folders_are_no_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        fs::create_dir(&home).unwrap();
        for workspace in [home.as_path(), folder.path(), Path::new("/"), Path::new("/usr")] {
            let result = Request::check(&spawn(workspace), &profile(workspace), Some(&home));
            let error = result.unwrap_err().to_string();
            assert!(error.contains("work in a project directory"), "{error}");
        }
    }

    #[test]
    fn a_file_that_changed_is_found_where_no_mount_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let (script, package) = (root.join("h.sh"), root.join("node_modules/a/index.js"));
        fs::create_dir_all(package.parent().unwrap()).unwrap();
        let mut profile = profile(&root);
        for place in [&script, &package] {
            fs::write(place, "one").unwrap();
            let fixed =
                Fixed { place: place.clone(), bytes: b"one".as_slice().into(), mode: 0o644 };
            profile.fixed.push(fixed);
        }
        let request = Request::check(&spawn(&root), &profile, None).unwrap();
        assert_eq!(request.changed(Rung::Landlock), None);
        fs::write(&script, "two").unwrap();
        assert_eq!(request.changed(Rung::Landlock), Some(script.as_path()));
        assert_eq!(request.changed(Rung::Bubblewrap), None);
        fs::remove_file(&package).unwrap();
        assert_eq!(request.changed(Rung::Bubblewrap), Some(package.as_path()));
    }

    #[test]
    fn a_working_directory_outside_of_all_roots_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, outside) = (folder.path().join("app"), folder.path().join("app-secrets"));
        fs::create_dir(&inside).unwrap();
        fs::create_dir(&outside).unwrap();
        let error = Request::check(&spawn(&outside), &profile(&inside), None).unwrap_err();
        assert!(error.to_string().contains("app-secrets lies outside"), "{error}");
    }
}
