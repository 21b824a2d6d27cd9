//! The profile of a worker: the least, and the user's grants. The requests of a manifest have no effect.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use ::files::path::normalize;
use ::files::surroundings::Surroundings;
use contract::policy::Mode;
use contract::sandbox::{Access, Limits, Network, Profile};
use files::protected::protected;
use rustix::fs::{self as system, OFlags};
use rustix::io::Errno;

use crate::plugin::{Dialect, Plugin};
use crate::problem::{Problem, shown};
use crate::words::Words;

/// Variables of ours that plugins read, none of which holds a secret.
const PASSED_VARIABLES: Words = Words(
    "BRYNHILD_CONFIG_DIR BRYNHILD_DEBUG BRYNHILD_LOG_LEVEL BRYNHILD_MODELS__DEFAULT \
     BRYNHILD_OLLAMA_HOST BRYNHILD_PLUGIN_PATH BRYNHILD_PROVIDERS__DEFAULT BRYNHILD_SKILL_PATH \
     BRYNHILD_VENV OLLAMA_HOST",
);

/// The least that any process of a plugin gets, and the user's grants; `data` is its own directory.
pub(crate) fn granted(
    plugin: &Plugin,
    surroundings: &Surroundings,
    data: &Path,
    mode: Mode,
) -> (Profile, Vec<Problem>) {
    let grants = &plugin.settings.grants;
    let mut problems = Vec::new();
    let mut refuse = |what: String, hint: &str| {
        let what = format!("plugins.{}.sandbox: {what}", plugin.name());
        problems.push(Problem::new(&plugin.root, what, hint));
    };
    let mut profile = Profile {
        workspace: surroundings.workspace.clone(),
        access: Access::ReadOnly,
        read: own(plugin, surroundings),
        write: Vec::new(),
        own: vec![data.to_owned()],
        fixed: Vec::new(),
        network: Network::None,
        env: environment(plugin, surroundings),
        limits: Limits::default(),
    };
    let place = data.to_string_lossy().into_owned();
    profile.env.insert("BRYNHILD_PLUGIN_DATA".to_owned(), place);
    profile.read.extend(grants.read.iter().map(|path| surroundings.resolve(path)));
    for name in &grants.exec {
        match surroundings.program(name) {
            Some(program) => allow_program(&mut profile, &program),
            None => {
                refuse(format!("there is no program `{name}`"), "install it, or correct the name");
            }
        }
    }
    if mode == Mode::ReadOnly {
        return (profile, problems);
    }
    let home = surroundings.home.as_deref();
    for path in &grants.write {
        if let Err(why) = allow_write(&mut profile, &surroundings.resolve(path), home) {
            refuse(why, "grant another directory");
        }
    }
    profile.network = grants.network.granted(plugin.name());
    (profile, problems)
}

pub(crate) fn home_among(data: &Path) -> PathBuf {
    data.join("home")
}

/// The own files of a plugin that its process reads: its directory; of a role in a directory with a
/// home in it, no more than the files that count.
fn own(plugin: &Plugin, surroundings: &Surroundings) -> Vec<PathBuf> {
    let holds = |home: &Path| home.starts_with(&plugin.root);
    let is_wide = surroundings
        .home
        .as_ref()
        .is_some_and(|home| holds(home) || home.canonicalize().is_ok_and(|home| holds(&home)));
    match plugin.manifest.dialect {
        Dialect::InitRunner if is_wide => {
            plugin.manifest.tools.iter().map(PathBuf::from).filter(|path| path.exists()).collect()
        }
        Dialect::Brynhild | Dialect::Lmao | Dialect::InitRunner => vec![plugin.root.clone()],
    }
}

/// Makes a program visible and its directory part of the search path. What a link on the way to it shows is for the
/// sandbox to judge.
pub(crate) fn allow_program(profile: &mut Profile, program: &Path) {
    profile.read.push(program.to_owned());
    if let Some(directory) = fs::canonicalize(program).ok().as_deref().and_then(Path::parent) {
        let path = profile.env.entry("PATH".to_owned()).or_default();
        let directory = directory.to_string_lossy();
        if !path.split(':').any(|known| known == directory) {
            path.push(':');
            path.push_str(&directory);
        }
    }
}

/// Makes a directory or file writable. The workspace as a whole opens with its protected names shut. The sandbox is
/// told the path as it is written, and judges the links on the way: commands could have made them.
pub(crate) fn allow_write(
    profile: &mut Profile,
    path: &Path,
    home: Option<&Path>,
) -> Result<(), String> {
    let path = normalize(path);
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let workspace = real(&profile.workspace);
    // The outermost that is the workspace: a link in it may lead to its top.
    match path.ancestors().filter(|directory| real(directory) == workspace).last() {
        Some(top) if top == path => {
            profile.access = Access::Workspace;
            return Ok(());
        }
        Some(top) => {
            if let Some(name) = path.strip_prefix(top).ok().and_then(protected) {
                return Err(format!("`{name}` in a workspace stays read-only"));
            }
        }
        None if workspace.starts_with(real(&path)) => {
            return Err(format!("{} contains the workspace and stays read-only", shown(&path)));
        }
        None => {}
    }
    if !path.exists() {
        make(&path, [Some(profile.workspace.as_path()), home])
            .map_err(|error| format!("cannot make {}: {error}", shown(&path)))?;
    }
    profile.own.push(path);
    Ok(())
}

/// Makes a directory and those above it that are missing. Only on the way to the innermost of `bases` links are
/// followed.
fn make(path: &Path, bases: [Option<&Path>; 2]) -> io::Result<()> {
    const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    let around = bases.into_iter().flatten().filter(|base| path.starts_with(base));
    let base = around.max_by_key(|base| base.components().count()).unwrap_or(Path::new("/"));
    let mut directory = system::open(base, DIRECTORY, system::Mode::empty())?;
    for name in path.strip_prefix(base).unwrap_or(path) {
        match system::mkdirat(&directory, name, system::Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        directory =
            system::openat(&directory, name, DIRECTORY | OFlags::NOFOLLOW, system::Mode::empty())?;
    }
    Ok(())
}

/// The variables that every worker sees and that may change its description: none that only concern the
/// terminal, nor `PATH`, which few read.
pub(crate) fn description_variables(
    surroundings: &Surroundings,
) -> impl Iterator<Item = (&str, &str)> {
    const TERMINAL_VARIABLES: [&str; 4] = ["COLORTERM", "NO_COLOR", "PATH", "TERM"];
    let ours =
        PASSED_VARIABLES.into_iter().filter_map(|name| surroundings.variables.get_key_value(name));
    let usual =
        usual(surroundings).filter(|(name, _)| !TERMINAL_VARIABLES.contains(&name.as_str()));
    usual.chain(ours).map(|(name, value)| (name.as_str(), value.as_str()))
}

/// The variables that every process sees, without those that would choose a worker's imports: these
/// come from its interpreter and its plugin alone.
fn usual(surroundings: &Surroundings) -> impl Iterator<Item = (&String, &String)> {
    let env = surroundings.env.iter();
    env.filter(|(name, _)| !name.starts_with("PYTHON") && *name != "VIRTUAL_ENV")
}

fn environment(plugin: &Plugin, surroundings: &Surroundings) -> BTreeMap<String, String> {
    let usual = usual(surroundings).map(|(name, value)| (name.clone(), value.clone()));
    let mut env: BTreeMap<String, String> = usual.collect();
    let granted = plugin.settings.grants.env.iter().map(String::as_str);
    for name in PASSED_VARIABLES.into_iter().chain(granted) {
        if let Some(value) = surroundings.variables.get(name) {
            env.insert(name.to_owned(), value.clone());
        }
    }
    let text = |path: &Path| path.to_string_lossy().into_owned();
    env.insert("BRYNHILD_PLUGIN_NAME".to_owned(), plugin.name().to_owned());
    env.insert("BRYNHILD_PROJECT_ROOT".to_owned(), text(&surroundings.workspace));
    env.insert("BRYNHILD_CWD".to_owned(), text(surroundings.directory()));
    if plugin.manifest.dialect == Dialect::Brynhild {
        env.extend(plugin.settings.variable());
    }
    env
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::{NetworkPermission, Permissions};
    use crate::tests::fixture::{plugin, surroundings};

    fn made(permissions: Permissions, mode: Mode) -> (Profile, Vec<Problem>, tempfile::TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let surroundings = surroundings(directory.path());
        let mut plugin = plugin(directory.path(), "p");
        plugin.settings.grants = permissions;
        let (profile, problems) = granted(&plugin, &surroundings, Path::new("/data"), mode);
        (profile, problems, directory)
    }

    #[test]
    fn plugin_without_grants_gets_minimal_access() {
        let (profile, problems, directory) = made(Permissions::default(), Mode::Yolo);
        assert_eq!(profile.access, Access::ReadOnly);
        assert_eq!(profile.own, [PathBuf::from("/data")]);
        assert_eq!(profile.network, Network::None);
        assert!(profile.read.contains(&directory.path().join("p")));
        assert!(!profile.env.contains_key("SECRET") && !profile.env.contains_key("PYTHONPATH"));
        assert_eq!(profile.env["BRYNHILD_PLUGIN_NAME"], "p");
        assert!(problems.is_empty());
    }

    #[test]
    fn role_in_the_home_does_not_expose_the_home() {
        let directory = tempfile::tempdir().unwrap();
        let surroundings = surroundings(directory.path());
        let home = surroundings.home.clone().unwrap();
        fs::create_dir_all(&home).unwrap();
        fs::write(home.join("my_tools.py"), "").unwrap();
        let mut plugin = plugin(directory.path(), "p");
        plugin.manifest.dialect = Dialect::InitRunner;
        plugin.manifest.tools = vec![home.join("my_tools.py").display().to_string()];
        assert_eq!(own(&plugin, &surroundings), [plugin.root.clone()]);
        plugin.root.clone_from(&home);
        assert_eq!(own(&plugin, &surroundings), [home.join("my_tools.py")]);
    }

    #[test]
    fn grants_apply_except_in_read_only_mode() {
        let permissions = Permissions {
            network: NetworkPermission::All,
            write: vec!["~/out".into(), "build".into()],
            env: vec!["SECRET".into()],
            ..Permissions::default()
        };
        let (profile, problems, directory) = made(permissions.clone(), Mode::Normal);
        let base = directory.path().canonicalize().unwrap();
        assert_eq!(profile.network, Network::Host);
        assert_eq!(profile.own[1..], [base.join("home/out"), base.join("work/build")]);
        assert_eq!(profile.access, Access::ReadOnly);
        assert_eq!(profile.env["SECRET"], "s");
        assert!(problems.is_empty(), "{problems:?}");
        let (profile, _, _directory) = made(permissions, Mode::ReadOnly);
        assert_eq!((profile.network, profile.own.len()), (Network::None, 1));
    }

    #[test]
    fn forbidden_grants_are_reported() {
        let permissions = Permissions {
            write: vec!["..".into(), ".git/hooks".into()],
            exec: vec!["no-such-program".into()],
            ..Permissions::default()
        };
        let (profile, problems, _directory) = made(permissions, Mode::Normal);
        assert_eq!(profile.own.len(), 1);
        assert_eq!(problems.len(), 3, "{problems:?}");
    }

    #[test]
    fn hosts_are_granted_under_the_key_that_lists_them() {
        let permissions = Permissions {
            network: NetworkPermission::Hosts(vec!["example.org".into()]),
            ..Permissions::default()
        };
        let (profile, problems, _directory) = made(permissions.clone(), Mode::Normal);
        let Network::Hosts(hosts) = profile.network else {
            panic!("hosts were granted");
        };
        assert_eq!(hosts.names, ["example.org"]);
        assert_eq!(hosts.key, "plugins.p.sandbox.network");
        assert!(problems.is_empty());
        assert_eq!(made(permissions, Mode::ReadOnly).0.network, Network::None);
    }

    #[test]
    fn granted_workspace_keeps_protected_names_closed() {
        let permissions = Permissions { write: vec![".".into()], ..Permissions::default() };
        let (profile, _, _directory) = made(permissions, Mode::Normal);
        assert_eq!(profile.access, Access::Workspace);
        assert_eq!(profile.own.len(), 1);
    }
}
