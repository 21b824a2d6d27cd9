//! Plugins that are Python packages. Each gets a virtual environment of its own; the user's Python is
//! not changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::content;
use crate::host::{Host, HostError as _, Job};
use crate::lock::{Lock, LockedPlugin};
use crate::python_package;
use crate::source::Source;

pub(super) async fn install<H: Host>(host: &H, package: &str) -> Result<(), H::Error> {
    let name = python_package::name(package)
        .ok_or_else(|| H::Error::misuse(format!("{package:?} names no package")))?;
    let place = Path::new(H::PACKAGE_DIRECTORY).join(&name);
    let directory = host.config_dir().join(&place);
    let mut lock = Lock::read(host.config_dir())?;
    let before = lock.plugins.get(&name).map(|it| it.packages.clone()).unwrap_or_default();
    let is_first = !directory.exists();
    let installed = pip_source(host, &directory, package).await;
    if installed.is_err() && is_first {
        std::fs::remove_dir_all(&directory)?;
    }
    let packages = installed?;
    for line in packages.iter().filter(|line| !before.contains(line)) {
        host.show(&format!("+ {line}"))?;
    }
    let data = json!({"name": name, "directory": directory, "packages": packages});
    let count = packages.len();
    let locked = LockedPlugin {
        source: Source::Pip(package.to_owned()),
        revision: python_package::version(&packages, &name),
        directory: place,
        content: python_package::hash(&packages),
        packages,
        servers: BTreeMap::new(),
    };
    lock.plugins.insert(name.clone(), locked);
    lock.write(host.config_dir())?;
    let text = format!("Installed {name} in {} (packages: {count})", directory.display());
    Ok(host.report(&data, &text)?)
}

/// Installs a package by its name, its wheel or its directory; a build writes into a copy of that.
async fn pip_source<H: Host>(
    host: &H,
    directory: &Path,
    package: &str,
) -> Result<Vec<String>, H::Error> {
    let local = host.cwd().join(package);
    let copy = directory.join("source");
    if local.is_dir() {
        files::private::make_directory(directory)?;
        if copy.exists() {
            std::fs::remove_dir_all(&copy)?;
        }
        content::copy(&local, &copy)?;
    }
    let place = if local.is_dir() { &copy } else { &local };
    let wanted = if local.exists() { place.display().to_string() } else { package.to_owned() };
    pip(host, directory, &["--upgrade", &wanted]).await
}

pub(super) async fn install_frozen<H: Host>(
    host: &H,
    name: &str,
    locked: &LockedPlugin,
) -> Result<(), H::Error> {
    let directory = host.config_dir().join(&locked.directory);
    let found = if directory.join("pyvenv.cfg").exists() {
        freeze(host, &directory).await?
    } else {
        let mut wanted: Vec<&str> = vec!["--no-deps"];
        wanted.extend(locked.packages.iter().map(String::as_str));
        pip(host, &directory, &wanted).await?
    };
    if python_package::hash(&found) == locked.content {
        return Ok(());
    }
    Err(H::Error::failed(format!("the packages of {name} differ from plugins.lock"))
        .hint(format!("`brynhild plugin update {name}` updates the lock")))
}

/// Installs packages into the environment in a directory. Returns all that it has then.
async fn pip<H: Host>(
    host: &H,
    directory: &Path,
    wanted: &[&str],
) -> Result<Vec<String>, H::Error> {
    files::private::make_directory(directory)?;
    if !directory.join("pyvenv.cfg").exists() {
        let (program, read) = host.interpreter().await?;
        let place = directory.display().to_string();
        let args = ["-m", "venv", &place].map(str::to_owned).to_vec();
        let job = Job { name: "python", program: &program, args, read };
        host.run(job, directory).await?;
    }
    let mut args = vec!["install", "--quiet", "--disable-pip-version-check"];
    args.extend(wanted);
    run_pip(host, directory, &args).await?;
    freeze(host, directory).await
}

async fn freeze<H: Host>(host: &H, directory: &Path) -> Result<Vec<String>, H::Error> {
    let printed = run_pip(host, directory, &["list", "--format=freeze"]).await?;
    let is_plugin = |line: &&str| !line.starts_with("pip==") && !line.starts_with("setuptools==");
    Ok(printed.lines().filter(is_plugin).map(str::to_owned).collect())
}

async fn run_pip<H: Host>(host: &H, directory: &Path, args: &[&str]) -> Result<String, H::Error> {
    let (_, mut read) = host.interpreter().await?;
    let local = args.iter().map(PathBuf::from).filter(|path| path.is_absolute());
    read.extend(local.filter(|path| path.exists()));
    let python = directory.join("bin/python").display().to_string();
    let args = ["-m", "pip"].iter().chain(args).map(|it| (*it).to_owned()).collect();
    host.run(Job { name: "pip", program: &python, args, read }, directory).await
}
