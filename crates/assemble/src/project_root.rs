//! Finds the project's root from the environment of the program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use config::expansion::Expansion;
use config::schema::switch;
pub use trust::project_root::{NoProject, passed_over};
use trust::project_root::{SandboxFacts, Search};

/// The root of the project that contains `start`.
pub fn project_root(
    start: &Path,
    home: Option<&Path>,
    env: &BTreeMap<String, String>,
) -> Result<PathBuf, NoProject> {
    let expansion = Expansion { env, home };
    let allows_home = expansion.variable("BRYNHILD_ALLOW_HOME_DIRECTORY");
    let named = expansion.variable("BRYNHILD_PROJECT_ROOT");
    let state = expansion.config_dir().unwrap_or_default().join(setup::user_files::SANDBOX);
    let search = Search {
        start,
        home,
        pwd: expansion.variable("PWD").map(Path::new),
        named: named.map(|named| (named, expansion.expand(named))),
        allows_home: allows_home.is_some_and(|value| switch(&value.into()) == Some(true)),
        sandbox: &SandboxPaths { home, state },
    };
    search.root()
}

/// The path by which the shell entered the project, if symlinks are on it.
pub(crate) fn entered_by(root: &Path, env: &BTreeMap<String, String>) -> Option<PathBuf> {
    trust::project_root::entered_by(root, Path::new(env.get("PWD")?))
}

struct SandboxPaths<'a> {
    home: Option<&'a Path>,
    state: PathBuf,
}

impl SandboxFacts for SandboxPaths<'_> {
    fn project_at(&self, path: &Path) -> Result<Option<PathBuf>, (PathBuf, PathBuf)> {
        sandbox::project_at(path, &self.state).map_err(|astray| (astray.link, astray.real))
    }

    fn cwd_moved_out(&self, pwd: &Path, cwd: &Path) -> Option<PathBuf> {
        sandbox::cwd_moved_out(pwd, cwd, &self.state)
    }

    fn secrets_around(&self, path: &Path) -> Option<PathBuf> {
        self.home.and_then(|home| sandbox::secrets_around(path, home))
    }
}
