//! Programs that fetch plugins: their files, their variables and their confinement.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use contract::sandbox::{Access, Channel, Limits, Network, Profile, Spawn, Stdin};
use files::surroundings::Surroundings;

use crate::host::Job;

/// Files of the home that git and npm read for addresses and credentials.
const SETTINGS: [&str; 7] =
    [".gitconfig", ".config/git", ".git-credentials", ".netrc", ".ssh", ".npmrc", ".config/pip"];
/// Variables with which package managers find their servers.
const VARIABLES: [&str; 10] = [
    "SSH_AUTH_SOCK",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "PIP_INDEX_URL",
    "NPM_CONFIG_REGISTRY",
];

impl Job<'_> {
    /// The process of a program at a path. It has network access, and writes to `directory` only.
    pub fn confined(
        self,
        program: PathBuf,
        (directory, workspace): (&Path, &Path),
        surroundings: &Surroundings,
    ) -> (Spawn, Profile) {
        let Surroundings { variables, home, .. } = surroundings;
        let mut read = self.read;
        // A program outside of the system's directories finds its library beside its `bin`.
        let resolved = program.canonicalize().unwrap_or_else(|_| program.clone());
        let library = |it: &PathBuf| Some(it.parent()?.parent()?.to_owned());
        read.extend([&program, &resolved].into_iter().filter_map(library));
        read.retain(|path| path.parent().is_some() && Some(path) != home.as_ref());
        let own = home.iter().flat_map(|home| SETTINGS.map(|it| home.join(it)));
        read.extend(own.filter(|it| it.exists()));
        let mut env = surroundings.env.clone();
        let set = |name: &str| variables.get(name).filter(|value| !value.is_empty());
        env.extend(VARIABLES.iter().filter_map(|name| Some(((*name).into(), set(name)?.clone()))));
        env.insert("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned());
        read.extend(set("SSH_AUTH_SOCK").map(PathBuf::from));
        let profile = Profile {
            workspace: workspace.to_owned(),
            access: Access::ReadOnly,
            read,
            write: Vec::new(),
            own: vec![directory.to_owned()],
            fixed: Vec::new(),
            network: Network::Host,
            env,
            limits: Limits::default(),
        };
        let spawn = Spawn {
            program,
            args: self.args.into_iter().map(Into::into).collect(),
            cwd: directory.to_owned(),
            stdin: Stdin::Null,
            channel: Channel::None,
            env: BTreeMap::new(),
            home: None,
        };
        (spawn, profile)
    }
}
