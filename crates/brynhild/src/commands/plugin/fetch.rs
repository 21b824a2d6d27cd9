//! Fetches a plugin into a directory of its own. Programs run confined, with network access: they
//! write to that directory only.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use contract::sandbox::{Access, Channel, Limits, Network, Profile, Spawn, Stdin};
use plugin_kit::fetch_settings::{CLONE, SETTINGS, VARIABLES};
use plugin_kit::source::Source;
use plugins::process;
use tempfile::TempDir;
use tokio::time::Instant;

use crate::assemble::assembly::Assembly;
use crate::assemble::child_environment::child_environment;
use crate::assemble::confinement;
use crate::exit::Problem;

const TIME: Duration = Duration::from_mins(10);
const OUTPUT_LIMIT: usize = 1 << 20;

/// A fetched plugin. Its files are deleted when this is dropped.
pub(super) struct Fetched {
    pub(super) directory: PathBuf,
    pub(super) revision: Option<String>,
    pub(super) scratch: Option<TempDir>,
}

/// Fetches a plugin that is not listed in a marketplace and is no Python package.
pub(super) async fn fetch(
    assembly: &Assembly,
    source: &Source,
    revision: Option<&str>,
) -> Result<Fetched, Problem> {
    match source {
        Source::Directory(path) if path.is_dir() => {
            Ok(Fetched { directory: path.clone(), revision: None, scratch: None })
        }
        Source::Directory(path) => {
            Err(Problem::failed(format!("{} is no directory any more", path.display())))
        }
        Source::Git { url, reference, directory } => {
            let wanted = revision.or(reference.as_deref());
            let mut fetched = clone(assembly, url, wanted).await?;
            if let Some(inside) = directory {
                fetched.directory.push(inside);
            }
            if !fetched.directory.is_dir() {
                let inside = directory.as_deref().unwrap_or(Path::new("")).display();
                return Err(Problem::failed(format!("{url} has no directory {inside}")));
            }
            Ok(fetched)
        }
        Source::Npm(package) => pack(assembly, package).await,
        Source::Pip(_) | Source::Marketplace { .. } => {
            Err(Problem::failed(format!("{source} cannot be fetched as a directory")))
        }
    }
}

async fn clone(assembly: &Assembly, url: &str, wanted: Option<&str>) -> Result<Fetched, Problem> {
    if let Some(wanted) = wanted.filter(|wanted| wanted.starts_with('-')) {
        return Err(Problem::misuse(format!("{wanted:?} is no branch, tag or commit")));
    }
    let scratch = scratch(assembly)?;
    let local = url.strip_prefix("file://").map_or(Path::new(url), Path::new);
    let read: Vec<PathBuf> = local.canonicalize().into_iter().collect();
    let commit = format!("{}^{{commit}}", wanted.unwrap_or("HEAD"));
    let args = ["-c", CLONE, "sh", url, &commit].map(str::to_owned).to_vec();
    let job = Job { name: "git", program: "sh", args, read };
    let revision = job.run(assembly, scratch.path()).await?;
    std::fs::create_dir(scratch.path().join("clone"))?;
    let args = ["-xf", "files.tar", "-C", "clone", "--no-same-owner"];
    run(assembly, "tar", &args, scratch.path()).await?;
    let directory = scratch.path().join("clone");
    let revision = Some(revision.trim().to_owned());
    Ok(Fetched { directory, revision, scratch: Some(scratch) })
}

async fn pack(assembly: &Assembly, package: &str) -> Result<Fetched, Problem> {
    let scratch = scratch(assembly)?;
    let local = assembly.environment.cwd.join(package);
    let wanted = if local.exists() { local.display().to_string() } else { package.to_owned() };
    let args = ["pack", "--loglevel=error", "--ignore-scripts", "--", &wanted];
    let args = args.map(str::to_owned).to_vec();
    let read = local.canonicalize().into_iter().collect();
    let job = Job { name: "npm", program: "npm", args, read };
    let printed = job.run(assembly, scratch.path()).await?;
    let archive = printed.lines().last().unwrap_or_default().trim().to_owned();
    run(assembly, "tar", &["-xzf", &archive, "--no-same-owner"], scratch.path()).await?;
    let directory = scratch.path().join("package");
    if !directory.is_dir() {
        return Err(Problem::failed(format!(
            "the npm package {package} has no directory `package`"
        )));
    }
    let revision = Some(archive.trim_end_matches(".tgz").to_owned());
    Ok(Fetched { directory, revision, scratch: Some(scratch) })
}

/// A directory for one fetch, on the file system of the configuration.
pub(super) fn scratch(assembly: &Assembly) -> Result<TempDir, Problem> {
    let parent = assembly.config_dir()?.join("cache");
    files::private::make_directory(&parent)?;
    Ok(tempfile::Builder::new().prefix("fetch-").tempdir_in(parent)?)
}

/// Runs a program in a directory that it may write to. Returns its standard output.
async fn run(
    assembly: &Assembly,
    program: &str,
    args: &[&str],
    directory: &Path,
) -> Result<String, Problem> {
    let args = args.iter().map(|it| (*it).to_owned()).collect();
    Job { name: program, program, args, read: Vec::new() }.run(assembly, directory).await
}

/// A program to run.
pub(super) struct Job<'a> {
    /// Its name in messages.
    pub(super) name: &'a str,
    pub(super) program: &'a str,
    pub(super) args: Vec<String>,
    pub(super) read: Vec<PathBuf>,
}

impl Job<'_> {
    /// Runs it in a directory that it may write to. Returns its standard output.
    pub(super) async fn run(
        self,
        assembly: &Assembly,
        directory: &Path,
    ) -> Result<String, Problem> {
        let Job { name, program, args, mut read } = self;
        let environment = &assembly.environment;
        let surroundings = crate::assemble::workers::surroundings(assembly);
        let path = if program.contains('/') {
            PathBuf::from(program)
        } else {
            surroundings.program(program).ok_or_else(|| {
                Problem::failed(format!("the program `{program}` is not installed"))
                    .hint(format!("install {program} and try again"))
            })?
        };
        // A program outside of the system's directories finds its library beside its `bin`.
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        read.extend([&path, &real].iter().filter_map(|it| Some(it.parent()?.parent()?.to_owned())));
        read.retain(|path| {
            path.parent().is_some() && Some(path.as_path()) != environment.home.as_deref()
        });
        let home = environment.home.iter();
        read.extend(
            home.flat_map(|home| SETTINGS.map(|it| home.join(it))).filter(|it| it.exists()),
        );
        let mut env = child_environment(assembly);
        for name in VARIABLES {
            if let Some(value) = environment.variable(name) {
                env.insert(name.to_owned(), value.to_owned());
            }
        }
        env.insert("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned());
        if let Some(agent) = environment.variable("SSH_AUTH_SOCK") {
            read.push(agent.into());
        }
        // It works on no project.
        let nothing = scratch(assembly)?;
        let profile = Profile {
            workspace: nothing.path().to_owned(),
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
            program: path,
            args: args.into_iter().map(Into::into).collect(),
            cwd: directory.to_owned(),
            stdin: Stdin::Null,
            channel: Channel::None,
            env: BTreeMap::new(),
            home: None,
        };
        let failed = |why: String| Problem::failed(format!("{name} failed: {why}"));
        let child = confinement::sandbox(assembly)?.start(&spawn, &profile);
        let child = child.map_err(|error| failed(error.to_string()))?;
        let limits = process::Limits {
            output: OUTPUT_LIMIT,
            deadline: Some(Instant::now() + TIME),
            cancel: None,
        };
        let ended =
            process::run(child, &[], limits).await.map_err(|error| failed(error.to_string()))?;
        match ended.end {
            process::End::Exited(0) => Ok(ended.stdout.text),
            process::End::Exited(_) => Err(failed(ended.stderr.text.trim().to_owned())),
            process::End::Late | process::End::Cancelled => {
                Err(failed(format!("it did not end within {} minutes", TIME.as_secs() / 60)))
            }
        }
    }
}
