//! Starts the programs of servers: each under a profile of its own, with the environment variables
//! that its configuration names, and with its caches in a directory of its own.

mod advice;
mod directory;
mod process;
mod profile;

use std::collections::BTreeMap;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::policy::Mode;
use contract::sandbox::{Channel, Limits, Sandbox, SandboxError, Spawn, Stdin};
use contract::trust_check::TrustCheck;

use crate::config::{Program, Scope, Server};
use crate::failure::Failure;
use crate::tool_name;

pub(crate) use advice::{advice, advice_on_success, remedy};
pub(crate) use process::{Pipes, ServerProcess, StderrTail, exit_text, quoted_stderr};

/// The settings for the programs of all servers.
#[derive(Clone, Debug)]
pub struct LaunchSettings {
    /// The project.
    pub workspace: PathBuf,
    /// The environment of every server.
    pub env: BTreeMap<String, String>,
    /// The environment of this process. A server gets the variables that it is granted.
    pub variables: BTreeMap<String, String>,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// Holds a directory for each server, which it may write.
    pub data: PathBuf,
    /// The mode in which tools run.
    pub mode: Mode,
    /// Upper bounds on a server's program.
    pub limits: Limits,
    /// Checks that the project is still the one that the user trusts.
    pub trust_check: TrustCheck,
}

impl LaunchSettings {
    /// Fails if a project's server is not the one that the user trusts.
    pub(crate) fn check_trust(&self, server: &Server) -> Result<(), Failure> {
        if server.scope == Scope::Project {
            self.trust_check.ask().map_err(Failure::new)?;
        }
        Ok(())
    }

    /// A path of the configuration: relative to the workspace, or to the home behind `~`.
    fn full_path(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), &self.home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => self.workspace.join(path),
        }
    }

    /// A warning about a write grant that is narrower than it is written.
    pub(crate) fn narrowed_grants(&self, server: &Server) -> Option<String> {
        let workspace = &self.workspace;
        let mut granted = server.grants.write.iter().map(|path| self.full_path(path));
        let wide = granted.find(|path| path != workspace && workspace.starts_with(path))?;
        let wide = wide.display();
        Some(format!(
            "{wide} is granted for writing, but contains the project: only the project is writable"
        ))
    }
}

/// The program of a server, as it is started.
pub(crate) struct Launch<'a> {
    server: &'a Server,
    program: &'a Program,
    settings: &'a LaunchSettings,
    /// The server's own directory.
    data: PathBuf,
}

impl<'a> Launch<'a> {
    pub(crate) fn new(
        server: &'a Server,
        program: &'a Program,
        settings: &'a LaunchSettings,
    ) -> Self {
        let data = settings.data.join(tool_name::prefix(&server.name).unwrap_or_default());
        Self { server, program, settings, data }
    }

    /// Starts the program.
    pub(crate) fn start(
        &self,
        sandbox: &Arc<dyn Sandbox>,
        stderr: &StderrTail,
    ) -> Result<(ServerProcess, Pipes), Failure> {
        self.settings.check_trust(self.server)?;
        self.check_script()?;
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&self.data).map_err(|error| {
            let (name, data) = (&self.server.name, self.data.display());
            Failure::new(format!(
                "cannot make the directory {data} of MCP server `{name}`: {error}"
            ))
        })?;
        let spawn = Spawn {
            program: self.program_path(),
            args: self.arguments().into_iter().map(Into::into).collect(),
            cwd: self.working_directory(),
            stdin: Stdin::Piped,
            channel: Channel::None,
            env: self.python_cache(),
            home: None,
        };
        let child = sandbox.start(&spawn, &self.profile());
        ServerProcess::new(child.map_err(|error| self.start_failure(&spawn, error))?, stderr)
    }

    /// Keeps Python from cached bytecode beside a project's modules, which it would run in their place.
    fn python_cache(&self) -> BTreeMap<String, String> {
        let cache = self.data.join("pycache").to_string_lossy().into_owned();
        let is_project_s = self.server.scope == Scope::Project;
        is_project_s.then(|| ("PYTHONPYCACHEPREFIX".to_owned(), cache)).into_iter().collect()
    }

    /// The program: a path relative to the workspace, or a name to look up.
    fn program_path(&self) -> PathBuf {
        let command = &self.program.command;
        if command.contains('/') {
            self.settings.workspace.join(command)
        } else {
            PathBuf::from(command)
        }
    }

    /// The file of the program, which a name has on the search path.
    pub(crate) fn program_file(&self) -> Option<PathBuf> {
        let path = self.program_path();
        if self.program.command.contains('/') {
            return Some(path);
        }
        let env = self.environment();
        let search = env.get("PATH").map(String::as_str).unwrap_or_default();
        let mut places = std::env::split_paths(search).map(|directory| directory.join(&path));
        places.find(|place| is_executable(place))
    }

    /// The failure to start the program, with advice.
    fn start_failure(&self, spawn: &Spawn, error: SandboxError) -> Failure {
        let (server, name) = (self.server, &self.server.name);
        let failed =
            |why: &dyn std::fmt::Display| Failure::of(server, format_args!("did not start: {why}"));
        if let (SandboxError::Refused(_), Some(directory)) = (&error, self.hidden_directory(spawn))
        {
            let directory = directory.display();
            let hint = format!(
                "`brynhild mcp grant {name} --read {directory}` lets it see its `cwd`, and \
                 `--write` change what is in it"
            );
            return failed(&error).hinted(hint);
        }
        let SandboxError::Start { source, .. } = &error else { return error.into() };
        let program = spawn.program.display();
        let is_name = spawn.program.components().count() == 1;
        if !is_name && !spawn.program.exists() {
            let hint = format!("`brynhild mcp remove {name}` and `mcp add` name another");
            return failed(&format_args!("there is no program {program}")).hinted(hint);
        }
        let search = self.settings.variables.get("PATH").map(String::as_str).unwrap_or_default();
        let mut places = std::env::split_paths(search).map(|it| it.join(&spawn.program));
        let hint = if let Some(place) = places.find(|place| is_name && place.is_file()) {
            let place = place.display();
            format!(
                "{place} is there, but a confined program does not see it: \
                 `brynhild mcp grant {name} --exec {place}` lets it run"
            )
        } else {
            let hint = match source.kind() {
                std::io::ErrorKind::NotFound => advice(server, "No such file or directory"),
                _ => advice(server, &source.to_string()),
            };
            if is_name { format!("is `{program}` installed? {hint}") } else { hint }
        };
        failed(&format_args!("cannot run {program}: {source}")).hinted(hint)
    }

    /// The working directory, if it exists outside of the workspace and is not granted.
    fn hidden_directory(&self, spawn: &Spawn) -> Option<PathBuf> {
        let directory = spawn.cwd.canonicalize().ok().filter(|directory| directory.is_dir())?;
        let workspace = self.settings.workspace.canonicalize();
        let is_inside = workspace.is_ok_and(|workspace| directory.starts_with(workspace));
        let mut granted = self.server.grants.read.iter().chain(&self.server.grants.write);
        let is_granted = granted.any(|path| directory.starts_with(path));
        (!is_inside && !is_granted).then_some(directory)
    }
}

/// Returns true if a path is an executable file.
pub(crate) fn is_executable(path: &Path) -> bool {
    let about = path.metadata();
    about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}
