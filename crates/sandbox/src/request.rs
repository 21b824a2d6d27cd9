//! A spawn with its profile, checked and with every path resolved once, so that all backends see the
//! same roots.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use contract::sandbox::{
    Access, Channel, Fixed, Limits, Network, Profile, SandboxError, Spawn, Stdin,
};
use files::protected::protected;

use crate::symlinks::{Writable, followed};
use crate::{Backend, contents, git_directory, visible_paths};

/// A process to start, and the paths that it may use.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) cwd: PathBuf,
    pub(crate) stdin: Stdin,
    pub(crate) channel: Channel,
    pub(crate) env: BTreeMap<String, String>,
    /// The workspace, the further writable paths and the directories that the user grants, parents before
    /// children.
    pub(crate) roots: Vec<PathBuf>,
    /// The workspace, where there are roots.
    pub(crate) workspace: PathBuf,
    /// Files of it that must be found as they were looked at.
    pub(crate) fixed: Vec<Fixed>,
    /// Further readable paths, parents before children.
    pub(crate) read: Vec<PathBuf>,
    /// Symlinks on the way to the home and to readable paths in it, with their targets.
    pub(crate) names: BTreeMap<PathBuf, PathBuf>,
    /// Paths that are writable whatever the access, parents before children.
    pub(crate) own: Vec<PathBuf>,
    pub(crate) access: Access,
    pub(crate) network: Network,
    pub(crate) limits: Limits,
    /// The user's home.
    pub(crate) home: Option<PathBuf>,
    /// A directory that is to be its home.
    pub(crate) own_home: Option<PathBuf>,
}

/// Directories that nothing may be granted as a whole.
const SYSTEM: [&str; 15] = [
    "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/proc", "/root", "/run",
    "/sbin", "/sys", "/usr", "/var",
];

/// Directories of which every process has its own.
const UNSHOWN: [&str; 4] = ["/", "/dev", "/proc", "/run"];

impl Request {
    /// Checks `spawn` against `profile`; links in what is `known` to be writable grant nothing.
    pub(crate) fn check(
        spawn: &Spawn,
        profile: &Profile,
        home: Option<&Path>,
        known: &Writable,
    ) -> Result<Self, SandboxError> {
        let given = home;
        let home = home.and_then(|home| fs::canonicalize(home).ok());
        let home = home.filter(|home| home != Path::new("/") && home.is_dir());
        let workspace = known.real(&profile.workspace, &[])?.ok_or_else(|| {
            let path = profile.workspace.display();
            SandboxError::Refused(format!("the workspace {path} is not there any more"))
        })?;
        let mut roots = vec![workspace.clone()];
        let known = known.with([workspace.clone()]);
        // A path without symlinks cannot be redirected by one.
        let is_plain = |path: &&PathBuf| fs::canonicalize(path).is_ok_and(|real| real == **path);
        let plain: Vec<PathBuf> = profile.write.iter().filter(is_plain).cloned().collect();
        let known = known.with(plain.iter().cloned());
        let open = [plain, roots.clone()].concat();
        for path in &profile.write {
            roots.extend(known.real(path, &open)?);
        }
        // The repository of a linked worktree is used like a `.git` in the workspace.
        roots.extend(git_directory::linked_git_directories(&workspace).map(|git| git.common));
        tidy(&mut roots);
        for root in &roots {
            refuse_too_wide(root, home.as_deref())?;
        }
        let existing = |paths: &[PathBuf]| -> Result<Vec<PathBuf>, SandboxError> {
            let real = paths.iter().map(|path| known.real(path, &roots));
            Ok(real.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
        };
        let own = own_directories(&profile.own, &known, &roots, &workspace)?;
        for directory in &own {
            refuse_too_wide(directory, home.as_deref())?;
        }
        let mut read = existing(&profile.read)?;
        if let Some(path) = read.iter().find(|path| UNSHOWN.iter().any(|it| *path == Path::new(it)))
        {
            return Err(SandboxError::Refused(format!(
                "{0} cannot be shown as a whole, because a command has its own; name what it needs \
                 there in `sandbox.read_paths`",
                path.display()
            )));
        }
        let path = profile.env.get("PATH").map(String::as_str).unwrap_or_default();
        read.extend(visible_paths::toolchains_on(path, home.as_deref(), &known));
        // A path in a root is visible there, whatever replaces it.
        read.retain(|path| !roots.iter().any(|root| path.starts_with(root)));
        tidy(&mut read);
        let taken = [roots.as_slice(), &read, &own].concat();
        let mut names: BTreeMap<PathBuf, PathBuf> =
            given.map(|given| links_to_home(given, &taken).collect()).unwrap_or_default();
        for path in &profile.read {
            let mut homes = [given, home.as_deref()].into_iter().flatten();
            let below = homes.find_map(|home| path.strip_prefix(home).ok());
            let name = below.zip(home.as_deref()).map(|(below, home)| home.join(below));
            if let (Some(name), Some(real)) = (name, known.real(path, &roots)?) {
                let meets = |it: &PathBuf| name.starts_with(it) || it.starts_with(&name);
                if name != real && !taken.iter().chain(names.keys()).any(meets) {
                    names.insert(name, real);
                }
            }
        }
        let cwd = fs::canonicalize(&spawn.cwd).map_err(|error| {
            let path = spawn.cwd.display();
            SandboxError::Refused(format!("the working directory {path} cannot be used: {error}"))
        })?;
        if !roots.iter().chain(&read).chain(&own).any(|path| cwd.starts_with(path)) {
            return Err(SandboxError::Refused(format!(
                "the working directory {} is outside the workspace and the allowed paths",
                cwd.display()
            )));
        }
        let checked = Self {
            cwd,
            roots,
            workspace,
            read,
            names,
            own,
            home,
            ..Self::unchecked(spawn, profile)
        };
        Ok(checked)
    }

    /// Takes `spawn` as it is, for an unconfined start.
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
            names: BTreeMap::new(),
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
    /// Returns true if a file of the workspace can be mounted at its place.
    pub(crate) fn can_place(&self, fixed: &Fixed) -> bool {
        let root = self.roots.iter().rfind(|root| fixed.place.starts_with(root));
        root == Some(&self.workspace)
            && !fixed.place.components().any(|part| part.as_os_str() == PACKAGES)
    }

    /// The first file that is not as it was looked at, of those that `backend` leaves where they are.
    pub(crate) fn changed(&self, backend: Backend) -> Option<&Path> {
        let is_placed = |fixed: &&Fixed| backend == Backend::Bubblewrap && self.can_place(fixed);
        // Whatever stands there now: no pipe is waited for, and no more is read than there was.
        let is_changed = |fixed: &&Fixed| {
            let length = u64::try_from(fixed.bytes.len()).unwrap_or(u64::MAX);
            contents::file(&fixed.place, length).known().is_none_or(|it| *it != *fixed.bytes)
        };
        let mut left = self.fixed.iter().filter(|fixed| !is_placed(fixed));
        left.find(is_changed).map(|fixed| fixed.place.as_path())
    }
}

/// The links on the way to the home as it is called, each with where it leads: variables and settings name the
/// home by them. Those at the root of the file system are repeated anyway, as all of them are.
fn links_to_home(given: &Path, taken: &[PathBuf]) -> impl Iterator<Item = (PathBuf, PathBuf)> {
    let is_shown = |link: &Path| {
        link.parent() == Some(Path::new("/"))
            || visible_paths::is_of_system(link)
            || taken.iter().any(|path| link.starts_with(path))
    };
    let links = followed(given).map(|(_, links)| links).unwrap_or_default();
    links.into_iter().filter(move |link| !is_shown(link)).filter_map(|link| {
        let real = fs::canonicalize(&link).ok()?;
        Some((link, real))
    })
}

/// Puts parents before children, each once.
pub(crate) fn tidy(paths: &mut Vec<PathBuf>) {
    paths.sort_by_key(|path| (path.components().count(), path.clone()));
    paths.dedup();
}

/// Where the directories of a process' own lie, as far as they are there.
fn own_directories(
    written: &[PathBuf],
    known: &Writable,
    roots: &[PathBuf],
    workspace: &Path,
) -> Result<Vec<PathBuf>, SandboxError> {
    let mut own = Vec::new();
    for path in written {
        let Some(directory) = known.real(path, roots)? else { continue };
        refuse_protected(path, &directory, workspace)?;
        if let Some(root) = roots.iter().find(|root| root.starts_with(&directory)) {
            return Err(SandboxError::Refused(format!(
                "{} cannot be a directory of the process' own, because {} lies in it",
                directory.display(),
                root.display()
            )));
        }
        own.push(directory);
    }
    tidy(&mut own);
    Ok(own)
}

/// Refuses a directory of the process' own to which a link leads that makes more of it than was written: what
/// commands must not write in a workspace.
fn refuse_protected(written: &Path, real: &Path, workspace: &Path) -> Result<(), SandboxError> {
    let name = real.strip_prefix(workspace).ok().and_then(protected);
    let is_written = protected(written.strip_prefix(workspace).unwrap_or(written)).is_some();
    match name.filter(|_| !is_written) {
        None => Ok(()),
        Some(name) => Err(SandboxError::Refused(format!(
            "{} is granted, but leads to {}: `{name}` in a workspace stays read-only",
            written.display(),
            real.display()
        ))),
    }
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
    fn fifo_in_place_of_a_script_is_a_change_and_does_not_block() {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        let place = root.join("hook.sh");
        let mut profile = profile(&root);
        profile.fixed =
            vec![Fixed { place: place.clone(), bytes: b"true".as_slice().into(), mode: 0o644 }];
        fs::write(&place, "true").unwrap();
        let request = Request::check(&spawn(&root), &profile, None, &Writable::default()).unwrap();
        assert_eq!(request.changed(Backend::Landlock), None);
        fs::remove_file(&place).unwrap();
        let pipe = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR);
        rustix::fs::mknodat(rustix::fs::CWD, &place, pipe.0, pipe.1, 0).unwrap();
        assert_eq!(request.changed(Backend::Landlock), Some(place.as_path()));
    }

    #[test]
    fn paths_are_resolved_and_missing_ones_skipped() {
        let directory = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(directory.path()).unwrap().join("real");
        let link = directory.path().join("link");
        fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let request =
            Request::check(&spawn(&link), &profile(&link), None, &Writable::default()).unwrap();
        assert_eq!(request.roots, std::slice::from_ref(&real));
        assert_eq!(request.cwd, real);
        assert!(request.read.is_empty());
        assert_eq!(request.env["A"], "profile");
        assert_eq!(request.env["B"], "spawn");
    }

    #[test]
    fn home_behind_symlinks_keeps_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(directory.path()).unwrap();
        for name in ["disk/me/work", "homes"] {
            fs::create_dir_all(base.join(name)).unwrap();
        }
        std::os::unix::fs::symlink("../disk/me", base.join("homes/me")).unwrap();
        std::os::unix::fs::symlink("homes", base.join("h")).unwrap();
        let work = base.join("disk/me/work");
        let home = base.join("h/me");
        let request =
            Request::check(&spawn(&work), &profile(&work), Some(&home), &Writable::default());
        let names = [("h", "homes"), ("homes/me", "disk/me")];
        let names = names.map(|(name, real)| (base.join(name), base.join(real)));
        assert_eq!(request.unwrap().names, BTreeMap::from(names));
    }

    #[test]
    fn home_and_system_directories_are_no_workspace() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().join("home");
        fs::create_dir(&home).unwrap();
        for workspace in [home.as_path(), directory.path(), Path::new("/"), Path::new("/usr")] {
            let result = Request::check(
                &spawn(workspace),
                &profile(workspace),
                Some(&home),
                &Writable::default(),
            );
            let error = result.unwrap_err().to_string();
            assert!(error.contains("work in a project directory"), "{error}");
        }
    }

    #[test]
    fn proc_and_dev_are_not_shared_whole() {
        let directory = tempfile::tempdir().unwrap();
        let read = |path: &str| {
            let read = vec![PathBuf::from(path)];
            Request::check(
                &spawn(directory.path()),
                &Profile { read, ..profile(directory.path()) },
                None,
                &Writable::default(),
            )
        };
        for path in ["/", "/run", "/proc", "/dev/"] {
            let error = read(path).unwrap_err().to_string();
            assert!(error.contains("cannot be shown as a whole"), "{error}");
        }
        assert!(read("/var").is_ok() && read("/dev/shm").is_ok());
    }

    #[test]
    fn symlink_in_the_workspace_grants_nothing_outside() {
        let directory = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(directory.path()).unwrap();
        let (work, keys) = (base.join("work"), base.join("keys"));
        fs::create_dir_all(work.join("build/deep")).unwrap();
        fs::create_dir(&keys).unwrap();
        std::os::unix::fs::symlink(&keys, work.join("out")).unwrap();
        std::os::unix::fs::symlink(&work, base.join("link")).unwrap();
        let check = |workspace: &Path, write: PathBuf| {
            let profile =
                Profile { write: vec![write.clone()], read: vec![write], ..profile(workspace) };
            Request::check(&spawn(&work), &profile, None, &Writable::default())
        };
        let request = check(&work, work.join("build/deep")).unwrap();
        assert_eq!(request.roots, [work.clone(), work.join("build/deep")]);
        assert!(request.read.is_empty());
        assert_eq!(check(&work, keys.clone()).unwrap().roots, [keys.clone(), work.clone()]);
        for (workspace, name) in [(&work, "work/out"), (&base.join("link"), "link/out")] {
            let error = check(workspace, base.join(name)).unwrap_err().to_string();
            assert!(error.contains("a command could have made it"), "{error}");
        }
    }

    #[test]
    fn changed_fixed_file_is_found_without_mounts() {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        let (script, package) = (root.join("h.sh"), root.join("node_modules/a/index.js"));
        fs::create_dir_all(package.parent().unwrap()).unwrap();
        let mut profile = profile(&root);
        for place in [&script, &package] {
            fs::write(place, "one").unwrap();
            let fixed =
                Fixed { place: place.clone(), bytes: b"one".as_slice().into(), mode: 0o644 };
            profile.fixed.push(fixed);
        }
        let request = Request::check(&spawn(&root), &profile, None, &Writable::default()).unwrap();
        assert_eq!(request.changed(Backend::Landlock), None);
        fs::write(&script, "two").unwrap();
        assert_eq!(request.changed(Backend::Landlock), Some(script.as_path()));
        assert_eq!(request.changed(Backend::Bubblewrap), None);
        fs::remove_file(&package).unwrap();
        assert_eq!(request.changed(Backend::Bubblewrap), Some(package.as_path()));
    }

    #[test]
    fn a_working_directory_outside_of_all_roots_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let (inside, outside) =
            (directory.path().join("app"), directory.path().join("app-secrets"));
        fs::create_dir(&inside).unwrap();
        fs::create_dir(&outside).unwrap();
        let error = Request::check(&spawn(&outside), &profile(&inside), None, &Writable::default())
            .unwrap_err();
        assert!(error.to_string().contains("app-secrets is outside"), "{error}");
    }
}
