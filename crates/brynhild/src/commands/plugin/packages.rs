//! Plugins that are Python packages. Each gets a virtual environment of its own; the user's Python is
//! not changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plugin_kit::content;
use plugin_kit::lock::{Lock, LockedPlugin};
use plugin_kit::python_package;
use plugin_kit::source::Source;
use plugins::entry_points;
use serde_json::json;

use super::fetch::Job;
use crate::assemble::assembly::Assembly;
use crate::exit::{Outcome, Problem};
use crate::output;

pub(super) async fn install(assembly: &Assembly, package: &str) -> Outcome {
    let name = python_package::name(package)
        .ok_or_else(|| Problem::misuse(format!("{package:?} names no package")))?;
    let place = Path::new(entry_points::PLUGIN_PACKAGES).join(&name);
    let directory = assembly.config_dir()?.join(&place);
    let mut lock = Lock::read(assembly.config_dir()?)?;
    let before = lock.plugins.get(&name).map(|it| it.packages.clone()).unwrap_or_default();
    let is_first = !directory.exists();
    let installed = pip_source(assembly, &directory, package).await;
    if installed.is_err() && is_first {
        std::fs::remove_dir_all(&directory)?;
    }
    let packages = installed?;
    for line in packages.iter().filter(|line| !before.contains(line)) {
        output::line(format_args!("+ {line}"))?;
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
    lock.write(assembly.config_dir()?)?;
    assembly
        .report(&data, format!("Installed {name} in {} (packages: {count})", directory.display()))
}

/// Installs a package by its name, its wheel or its directory; a build writes into a copy of that.
async fn pip_source(
    assembly: &Assembly,
    directory: &Path,
    package: &str,
) -> Result<Vec<String>, Problem> {
    let local = assembly.environment.cwd.join(package);
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
    pip(assembly, directory, &["--upgrade", &wanted]).await
}

/// Installs exactly the packages that are locked.
pub(super) async fn install_frozen(
    assembly: &Assembly,
    name: &str,
    locked: &LockedPlugin,
) -> Result<(), Problem> {
    let directory = assembly.config_dir()?.join(&locked.directory);
    let found = if directory.join("pyvenv.cfg").exists() {
        freeze(assembly, &directory).await?
    } else {
        let mut wanted: Vec<&str> = vec!["--no-deps"];
        wanted.extend(locked.packages.iter().map(String::as_str));
        pip(assembly, &directory, &wanted).await?
    };
    if python_package::hash(&found) == locked.content {
        return Ok(());
    }
    Err(Problem::failed(format!("the packages of {name} differ from plugins.lock"))
        .hint(format!("`brynhild plugin update {name}` updates the lock")))
}

/// Installs packages into the environment in a directory. Returns all that it has then.
async fn pip(
    assembly: &Assembly,
    directory: &Path,
    wanted: &[&str],
) -> Result<Vec<String>, Problem> {
    files::private::make_directory(directory)?;
    if !directory.join("pyvenv.cfg").exists() {
        let (program, read) = interpreter(assembly).await?;
        let place = directory.display().to_string();
        let args = ["-m", "venv", &place].map(str::to_owned).to_vec();
        let job = Job { name: "python", program: &program, args, read };
        job.run(assembly, directory).await?;
    }
    let mut args = vec!["install", "--quiet", "--disable-pip-version-check"];
    args.extend(wanted);
    run_pip(assembly, directory, &args).await?;
    freeze(assembly, directory).await
}

async fn freeze(assembly: &Assembly, directory: &Path) -> Result<Vec<String>, Problem> {
    let printed = run_pip(assembly, directory, &["list", "--format=freeze"]).await?;
    let is_plugin = |line: &&str| !line.starts_with("pip==") && !line.starts_with("setuptools==");
    Ok(printed.lines().filter(is_plugin).map(str::to_owned).collect())
}

async fn run_pip(assembly: &Assembly, directory: &Path, args: &[&str]) -> Result<String, Problem> {
    let (_, mut read) = interpreter(assembly).await?;
    let local = args.iter().map(PathBuf::from).filter(|path| path.is_absolute());
    read.extend(local.filter(|path| path.exists()));
    let python = directory.join("bin/python").display().to_string();
    let args = ["-m", "pip"].iter().chain(args).map(|it| (*it).to_owned()).collect();
    Job { name: "pip", program: &python, args, read }.run(assembly, directory).await
}

/// The interpreter that plugins run with, and the directories that it needs.
async fn interpreter(assembly: &Assembly) -> Result<(String, Vec<PathBuf>), Problem> {
    let host = assembly.python()?.python.host();
    Ok(match host.interpreter().await {
        Some((program, directories)) => (program.display().to_string(), directories),
        None => ("python3".to_owned(), Vec::new()),
    })
}
