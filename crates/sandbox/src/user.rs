//! The person for whom something runs: the home, and where else the environment says that git's settings
//! are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Whose settings git obeys beside those of a repository.
#[derive(Clone, Debug, Default)]
pub struct User {
    /// The home directory, which confined processes must not see.
    pub home: Option<PathBuf>,
    /// Files with settings of git's besides the usual ones.
    pub git: Vec<PathBuf>,
}

impl User {
    /// The user with this home whose programs have these variables.
    pub fn new(home: Option<PathBuf>, variables: &BTreeMap<String, String>) -> Self {
        let given =
            |name: &str| variables.get(name).filter(|value| !value.is_empty()).map(Path::new);
        let usual = given("XDG_CONFIG_HOME").map(|folder| folder.join("git/config"));
        let others = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].into_iter().filter_map(given);
        let git = usual.into_iter().chain(others.map(Path::to_owned)).collect();
        Self { home, git }
    }

    /// The same user, whose home is known by another path.
    pub(crate) fn at(&self, home: Option<&Path>) -> Self {
        Self { home: home.map(Path::to_owned), git: self.git.clone() }
    }
}
