//! Fetches a plugin into a directory of its own. Programs run confined, with network access: they
//! write to that directory only.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::host::{Host, HostError as _, Job};
use crate::source::Source;

/// Clones `$1` into the private temporary directory, prints the commit `$2`, and packs its files. A
/// repository in a lasting directory would be moved away by the sandbox, for its hooks and settings.
const CLONE: &str = "git clone --quiet --bare -- \"$1\" /tmp/repository && \
    git --git-dir=/tmp/repository rev-parse --verify \"$2\" && \
    git --git-dir=/tmp/repository archive --output=files.tar \"$2\"";

/// A fetched plugin. Its files are deleted when this is dropped.
pub(super) struct Fetched {
    pub(super) directory: PathBuf,
    pub(super) revision: Option<String>,
    pub(super) scratch: Option<TempDir>,
}

/// Fetches a plugin that is not listed in a marketplace and is not a Python package.
pub(super) async fn fetch<H: Host>(
    host: &H,
    source: &Source,
    revision: Option<&str>,
) -> Result<Fetched, H::Error> {
    match source {
        Source::Directory(path) if path.is_dir() => {
            Ok(Fetched { directory: path.clone(), revision: None, scratch: None })
        }
        Source::Directory(path) => {
            Err(H::Error::failed(format!("{} is not a directory any more", path.display())))
        }
        Source::Git { url, reference, directory } => {
            let wanted = revision.or(reference.as_deref());
            let mut fetched = clone(host, url, wanted).await?;
            if let Some(inside) = directory {
                fetched.directory.push(inside);
            }
            if !fetched.directory.is_dir() {
                let inside = directory.as_deref().unwrap_or(Path::new("")).display();
                return Err(H::Error::failed(format!("{url} has no directory {inside}")));
            }
            Ok(fetched)
        }
        Source::Npm(package) => pack(host, package).await,
        Source::Pip(_) | Source::Marketplace { .. } => {
            Err(H::Error::failed(format!("{source} cannot be fetched as a directory")))
        }
    }
}

async fn clone<H: Host>(host: &H, url: &str, wanted: Option<&str>) -> Result<Fetched, H::Error> {
    if let Some(wanted) = wanted.filter(|wanted| wanted.starts_with('-')) {
        return Err(H::Error::misuse(format!("{wanted:?} is not a branch, tag or commit")));
    }
    let scratch = super::scratch(host)?;
    let local = url.strip_prefix("file://").map_or(Path::new(url), Path::new);
    let read: Vec<PathBuf> = local.canonicalize().into_iter().collect();
    let commit = format!("{}^{{commit}}", wanted.unwrap_or("HEAD"));
    let args = ["-c", CLONE, "sh", url, &commit].map(str::to_owned).to_vec();
    let job = Job { name: "git", program: "sh", args, read };
    let revision = host.run(job, scratch.path()).await?;
    std::fs::create_dir(scratch.path().join("clone"))?;
    let args = ["-xf", "files.tar", "-C", "clone", "--no-same-owner"];
    run(host, "tar", &args, scratch.path()).await?;
    let directory = scratch.path().join("clone");
    let revision = Some(revision.trim().to_owned());
    Ok(Fetched { directory, revision, scratch: Some(scratch) })
}

async fn pack<H: Host>(host: &H, package: &str) -> Result<Fetched, H::Error> {
    let scratch = super::scratch(host)?;
    let local = host.cwd().join(package);
    let wanted = if local.exists() { local.display().to_string() } else { package.to_owned() };
    let args = ["pack", "--loglevel=error", "--ignore-scripts", "--", &wanted];
    let args = args.map(str::to_owned).to_vec();
    let read = local.canonicalize().into_iter().collect();
    let job = Job { name: "npm", program: "npm", args, read };
    let printed = host.run(job, scratch.path()).await?;
    let archive = printed.lines().last().unwrap_or_default().trim().to_owned();
    run(host, "tar", &["-xzf", &archive, "--no-same-owner"], scratch.path()).await?;
    let directory = scratch.path().join("package");
    if !directory.is_dir() {
        return Err(H::Error::failed(format!(
            "the npm package {package} has no directory `package`"
        )));
    }
    let revision = Some(archive.trim_end_matches(".tgz").to_owned());
    Ok(Fetched { directory, revision, scratch: Some(scratch) })
}

/// Runs a program in a directory that it may write to. Returns its standard output.
async fn run<H: Host>(
    host: &H,
    program: &str,
    args: &[&str],
    directory: &Path,
) -> Result<String, H::Error> {
    let args = args.iter().map(|it| (*it).to_owned()).collect();
    host.run(Job { name: program, program, args, read: Vec::new() }, directory).await
}
