//! Starts the programs of servers: each under a profile of its own, with the environment variables
//! that its configuration names, and with its caches in a directory of its own.

mod advice;
mod directory;

use std::collections::BTreeMap;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use contract::policy::{Access, Mode};
use contract::sandbox::{
    Channel, Child, Exit, Limits, Network, Process, Profile, Sandbox, SandboxError, Spawn, Stdin,
};
use contract::text::{tail, visible};
use contract::trust_check::TrustCheck;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::task::JoinHandle;

use crate::config::{Program, Scope, Server};
use crate::failure::Failure;
pub(crate) use advice::{advice, remedy, seems_shut_off};
pub(crate) use directory::{arguments, working_directory};

/// The part of a program's standard error that is kept, in bytes.
const MAX_STDERR: usize = 4096;

/// Caches of package managers in a home, which servers may read.
const CACHES: [&str; 3] = [".npm", ".cache/uv", ".cache/pip"];

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
    /// How much freedom tools have.
    pub mode: Mode,
    /// Upper bounds on a server's program.
    pub limits: Limits,
    /// Checks that the project is still the one that the user trusts.
    pub vouch: TrustCheck,
}

impl LaunchSettings {
    /// Fails if a project's server is not the one that the user trusts.
    pub(crate) fn check_trust(&self, server: &Server) -> Result<(), Failure> {
        if server.scope == Scope::Project {
            self.vouch.ask().map_err(Failure::new)?;
        }
        Ok(())
    }
}

/// Keeps Python from cached bytecode beside a project's modules, which it would run in their place.
fn python_cache(server: &Server, data: &Path) -> BTreeMap<String, String> {
    let cache = data.join("pycache").to_string_lossy().into_owned();
    let is_theirs = server.scope == Scope::Project;
    is_theirs.then(|| ("PYTHONPYCACHEPREFIX".to_owned(), cache)).into_iter().collect()
}

/// The end of a program's standard error. Outlives the program.
#[derive(Clone, Default)]
pub(crate) struct StderrTail(Arc<Mutex<Vec<u8>>>);

impl StderrTail {
    /// The text, safe to show.
    pub(crate) fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        visible(String::from_utf8_lossy(&bytes).trim()).into_owned()
    }

    fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn add(&self, more: &[u8]) {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.extend_from_slice(more);
        let surplus = bytes.len().saturating_sub(MAX_STDERR);
        bytes.drain(..surplus);
    }
}

/// The running program of a server. Dropping it ends the program and all it started.
pub(crate) struct ServerProcess {
    process: Mutex<Option<Box<dyn Process>>>,
    stderr: StderrTail,
    listener: JoinHandle<()>,
}

/// The standard output and input of a program.
pub(crate) type Pipes = (Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>);

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl ServerProcess {
    /// Starts a server's program, which has said nothing yet.
    pub(crate) fn start(
        (server, program): (&Server, &Program),
        launch_settings: &LaunchSettings,
        sandbox: &Arc<dyn Sandbox>,
        stderr_tail: &StderrTail,
    ) -> Result<(Self, Pipes), Failure> {
        launch_settings.check_trust(server)?;
        directory::check(server, program)?;
        let data = data_directory(server, launch_settings);
        let mut maker = std::fs::DirBuilder::new();
        maker.recursive(true).mode(0o700).create(&data).map_err(|error| {
            let (name, data) = (&server.name, data.display());
            Failure::new(format!(
                "cannot make the directory {data} of MCP server `{name}`: {error}"
            ))
        })?;
        let profile = profile(server, program, launch_settings, &data);
        let spawn = Spawn {
            program: located(&program.command, &launch_settings.workspace),
            args: arguments((server, program), &launch_settings.workspace)
                .into_iter()
                .map(Into::into)
                .collect(),
            cwd: working_directory((server, program), launch_settings, &data),
            stdin: Stdin::Piped,
            channel: Channel::None,
            env: python_cache(server, &data),
            home: None,
        };
        let started = sandbox.start(&spawn, &profile);
        let child =
            started.map_err(|error| start_failure(server, &spawn, launch_settings, error))?;
        let Child { stdin, stdout, stderr, process, .. } = child;
        let stdin = stdin.ok_or_else(|| Failure::new("the sandbox gave no standard input"))?;
        stderr_tail.clear();
        let tail = stderr_tail.clone();
        let listener = tokio::spawn(collect(stderr, tail.clone()));
        let process = Mutex::new(Some(process));
        Ok((Self { process, stderr: tail, listener }, (stdout, stdin)))
    }

    /// The end of its standard error.
    pub(crate) fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// How it ended. None if it goes on for `grace`.
    pub(crate) async fn exit(&self, grace: std::time::Duration) -> Option<Exit> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let exit = tokio::time::timeout(grace, process.wait()).await;
        // The rest of its output arrives with its end.
        tokio::task::yield_now().await;
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = Some(process);
        exit.ok()?.ok()
    }

    /// Ends it.
    pub(crate) fn kill(&self) {
        if let Some(process) = &mut *self.process.lock().unwrap_or_else(PoisonError::into_inner) {
            process.kill();
        }
    }
}

/// The failure to start a program, with advice.
fn start_failure(
    server: &Server,
    spawn: &Spawn,
    launch_settings: &LaunchSettings,
    error: SandboxError,
) -> Failure {
    let name = &server.name;
    if let SandboxError::Refused(_) = &error
        && let Some(directory) = directory_outside(&spawn.cwd, launch_settings)
        && !server
            .grants
            .read
            .iter()
            .chain(&server.grants.write)
            .any(|it| directory.starts_with(it))
    {
        return Failure::hinted(
            format!("MCP server `{name}` did not start: {error}"),
            format!(
                "`mcp.servers.{name}.sandbox.read: [{}]` lets it see its `cwd`, and `.write` \
                 change what is in it",
                directory.display()
            ),
        );
    }
    let SandboxError::Start { source, .. } = &error else { return error.into() };
    let program = spawn.program.display();
    let is_bare = spawn.program.components().count() == 1;
    let search = launch_settings.variables.get("PATH").map(String::as_str).unwrap_or_default();
    let mut places = std::env::split_paths(search).map(|directory| directory.join(&spawn.program));
    if let Some(place) = places.find(|place| is_bare && place.is_file()) {
        return Failure::hinted(
            format!("MCP server `{name}` did not start: cannot run {program}: {source}"),
            format!(
                "{} is there, but a confined program does not see it: \
                 `mcp.servers.{name}.sandbox.exec` names programs that it may run",
                place.display()
            ),
        );
    }
    if is_bare || spawn.program.exists() {
        let words = "No such file or directory";
        let hint = match source.kind() {
            std::io::ErrorKind::NotFound => advice(server, words),
            _ => advice(server, &source.to_string()),
        };
        let hint = if is_bare { format!("is `{program}` installed? {hint}") } else { hint };
        return Failure::hinted(
            format!("MCP server `{name}` did not start: cannot run {program}: {source}"),
            hint,
        );
    }
    Failure::hinted(
        format!("MCP server `{name}` did not start: there is no program {program}"),
        format!("`brynhild mcp remove {name}` and `mcp add` name another"),
    )
}

/// The directory that a program would start in, where that is there and lies outside of the workspace.
fn directory_outside(cwd: &Path, launch_settings: &LaunchSettings) -> Option<PathBuf> {
    let directory = cwd.canonicalize().ok().filter(|directory| directory.is_dir())?;
    let workspace = launch_settings.workspace.canonicalize();
    let is_inside = workspace.is_ok_and(|workspace| directory.starts_with(workspace));
    (!is_inside).then_some(directory)
}

async fn collect(mut stderr: Box<dyn AsyncRead + Send + Unpin>, tail: StderrTail) {
    let mut buffer = [0; 4096];
    while let Ok(count) = stderr.read(&mut buffer).await {
        if count == 0 {
            return;
        }
        tail.add(&buffer[..count]);
    }
}

/// The directory of a server's own.
pub(crate) fn data_directory(server: &Server, launch_settings: &LaunchSettings) -> PathBuf {
    launch_settings.data.join(crate::tool_name::prefix(&server.name).unwrap_or_default())
}

/// The program: a path as seen from a directory, or a name to look up.
fn located(command: &str, directory: &Path) -> PathBuf {
    if command.contains('/') { directory.join(command) } else { PathBuf::from(command) }
}

fn home_path(path: &Path, launch_settings: &LaunchSettings) -> PathBuf {
    match (path.strip_prefix("~"), &launch_settings.home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

fn profile(
    server: &Server,
    program: &Program,
    launch_settings: &LaunchSettings,
    data: &Path,
) -> Profile {
    let grants = &server.grants;
    let is_tight = launch_settings.mode == Mode::ReadOnly;
    let workspace = &launch_settings.workspace;
    let full = |path: &PathBuf| workspace.join(home_path(path, launch_settings));
    let mut own = vec![data.to_owned()];
    let mut access = Access::ReadOnly;
    for path in grants.write.iter().map(full).filter(|_| !is_tight) {
        if workspace.starts_with(&path) {
            access = Access::Workspace;
        } else {
            own.push(path);
        }
    }
    let mut read: Vec<PathBuf> = grants.read.iter().chain(&grants.exec).map(full).collect();
    if server.scope == Scope::User {
        read.extend(named_paths(program, launch_settings));
    }
    let home = launch_settings.home.iter();
    read.extend(home.flat_map(|home| CACHES.iter().map(move |cache| home.join(cache))));
    Profile {
        workspace: workspace.clone(),
        access,
        read,
        write: Vec::new(),
        own,
        fixed: Vec::new(),
        network: if is_tight { Network::None } else { grants.network.clone() },
        env: environment(server, program, launch_settings, data),
        limits: launch_settings.limits,
    }
}

/// A warning about a write grant that is narrower than it is written.
pub(crate) fn narrowed_grants(server: &Server, launch_settings: &LaunchSettings) -> Option<String> {
    let workspace = &launch_settings.workspace;
    let full = |path: &PathBuf| workspace.join(home_path(path, launch_settings));
    let mut wide = server.grants.write.iter().map(full);
    let wide = wide.find(|path| path != workspace && workspace.starts_with(path))?;
    let wide = wide.display();
    Some(format!(
        "{wide} is granted for writing, but the project lies in it: only the project is open"
    ))
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

/// The paths that a server reads since the command line names them: the program and its script, with
/// the directories they are installed in.
fn named_paths(program: &Program, launch_settings: &LaunchSettings) -> Vec<PathBuf> {
    let words = std::iter::once(&program.command).chain(&program.args).map(Path::new);
    let files: Vec<&Path> = words.filter(|path| path.is_absolute() && path.is_file()).collect();
    installed_paths(&files, launch_settings.home.as_deref())
}

/// Files with the directories they are installed in.
fn installed_paths(files: &[&Path], home: Option<&Path>) -> Vec<PathBuf> {
    let place = |path: &'_ Path| -> PathBuf {
        installation(path).or_else(|| directory(path, home)).unwrap_or(path).to_owned()
    };
    let mut paths = Vec::new();
    for &file in files {
        paths.extend([file.to_owned(), place(file)]);
        if let Ok(target) = file.canonicalize().as_deref() {
            // Told as a way from the file: the link may be another by the time that the sandbox looks, which
            // judges where it leads then.
            let above = target.strip_prefix(place(target)).map_or(0, |it| it.components().count());
            paths.push((0..above).fold(file.to_owned(), |path, _| path.join("..")));
        }
    }
    paths.sort();
    paths.dedup();
    paths
}

/// The packages that a program is installed with: the innermost `node_modules`, or the virtual
/// environment of Python around it.
fn installation(file: &Path) -> Option<&Path> {
    let mut around = file.ancestors().skip(1);
    around.find(|directory| {
        directory.ends_with("node_modules") || directory.join("pyvenv.cfg").is_file()
    })
}

/// The directory of a program that brings more than one file; none where that directory holds what is
/// the user's or everybody's.
fn directory<'a>(file: &'a Path, home: Option<&Path>) -> Option<&'a Path> {
    let directory = file.parent()?;
    let is_wide = directory.components().count() <= 2
        || home.is_some_and(|home| home.starts_with(directory))
        || ["tmp", "Downloads", "Desktop", "Documents"]
            .iter()
            .any(|name| directory.ends_with(name));
    let is_hidden = directory.components().any(|part| {
        let name = part.as_os_str().to_string_lossy();
        name.starts_with('.') && name.len() > 1
    });
    (!is_wide && !is_hidden).then_some(directory)
}

/// The whole environment of a server's program.
pub(crate) fn environment(
    server: &Server,
    program: &Program,
    launch_settings: &LaunchSettings,
    data: &Path,
) -> BTreeMap<String, String> {
    let mut env = launch_settings.env.clone();
    let mut set = |name: &str, value: &Path| {
        env.insert(name.to_owned(), value.display().to_string());
    };
    set("XDG_CACHE_HOME", &data.join("cache"));
    set("PIP_CACHE_DIR", &data.join("pip"));
    set("UV_CACHE_DIR", &data.join("uv"));
    set("UV_TOOL_DIR", &data.join("uv-tools"));
    set("npm_config_cache", &package_cache(server, launch_settings, data));
    for (name, value) in [
        ("npm_config_update_notifier", "false"),
        ("npm_config_fund", "false"),
        ("npm_config_audit", "false"),
        ("npm_config_prefer_offline", "true"),
        ("PYTHONDONTWRITEBYTECODE", "1"),
        // What a server says of itself must not depend on the order of a set.
        ("PYTHONHASHSEED", "0"),
    ] {
        env.insert(name.to_owned(), value.to_owned());
    }
    if server.grants.network == Network::None {
        env.insert("UV_OFFLINE".to_owned(), "1".to_owned());
        env.insert("npm_config_offline".to_owned(), "true".to_owned());
    }
    for name in program.inherited.iter().chain(&server.grants.env) {
        if let Some(value) = launch_settings.variables.get(name) {
            env.insert(name.clone(), value.clone());
        }
    }
    let own = program.env.iter();
    env.extend(own.map(|(name, value)| (name.clone(), value.expose().clone())));
    if server.scope != Scope::Project
        && let Some(path) = env.get_mut("PATH")
    {
        *path = without_workspace(path, &launch_settings.workspace);
    }
    env
}

/// The file of a command: a path relative to a directory, or a name on the search path.
pub(crate) fn resolved(command: &str, directory: &Path, search: &str) -> Option<PathBuf> {
    let path = located(command, directory);
    if command.contains('/') {
        return Some(path);
    }
    let mut places = std::env::split_paths(search).map(|directory| directory.join(&path));
    places.find(|place| is_executable(place))
}

/// Returns true if a path is an executable file.
pub(crate) fn is_executable(path: &Path) -> bool {
    let about = path.metadata();
    about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// Where npm looks for packages: in the server's own directory, or in the user's cache where the
/// server has none yet and no network to fill one.
fn package_cache(server: &Server, launch_settings: &LaunchSettings, data: &Path) -> PathBuf {
    let own = data.join("npm");
    let theirs = launch_settings.home.as_ref().map(|home| home.join(".npm"));
    match theirs {
        Some(theirs)
            if server.grants.network == Network::None && !own.exists() && theirs.exists() =>
        {
            theirs
        }
        _ => own,
    }
}

/// An exit status in words.
pub(crate) fn exit_text(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
    }
}

/// The end of a program's standard error, for the end of a message.
pub(crate) fn quoted_stderr(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("; it said: {}", tail(text, 2000)) }
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
        let paths = installed_paths(&[&link], None);
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
