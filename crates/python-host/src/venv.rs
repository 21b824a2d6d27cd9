//! The packages that a plugin declares: a venv for them, made when it is first needed.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use contract::python::PythonFacts;
use contract::sandbox::{Channel, Network, Spawn, Stdin};
use files::private;

use crate::hash::short_hash;
use crate::interpreter::{Interpreter, bare_profile, of_venv};
use crate::job;
use crate::settings::Settings;

const LIST_LIMIT: u64 = 256 << 10;
const CREATE_TIME: Duration = Duration::from_mins(2);
const INSTALL_TIME: Duration = Duration::from_mins(20);
const LOCK_POLL: Duration = Duration::from_millis(200);
/// Written last, so that a venv that was not finished is not taken for one.
const COMPLETE_MARKER: &str = ".brynhild-complete";

/// The packages that a plugin declares, as `pip` takes them; none where it declares none.
pub(crate) fn declared(plugin: &PythonFacts) -> Result<Vec<String>, String> {
    let (mut all, lists) = plugin.requirements.clone();
    for list in lists {
        let Some(text) = text_of(&list)? else { continue };
        if list.extension().is_some_and(|ending| ending == "toml") {
            all.extend(project_dependencies(&text));
        } else {
            all.extend(requirements(&text)?);
        }
    }
    // Plugins can import `brynhild` without an installation.
    all.retain(|item| !item.trim().is_empty() && name_of(item) != "brynhild");
    for item in &all {
        // A word that begins like an option would be one.
        if item.trim_start().starts_with('-') || item.contains(['\n', '\r', '\0']) {
            return Err(format!("`{item}` is not a name of a package"));
        }
    }
    all.sort();
    all.dedup();
    Ok(all)
}

/// The name of a package among what pip takes beside it, in lower case.
fn name_of(package: &str) -> String {
    let is_name = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    package.trim().chars().take_while(is_name).collect::<String>().to_lowercase()
}

fn text_of(file: &Path) -> Result<Option<String>, String> {
    let shown = file.display();
    let fault = |error: io::Error| format!("cannot read {shown}: {error}");
    match fs::metadata(file) {
        Ok(found) if !found.is_file() => Err(format!("{shown} is not a regular file")),
        Ok(found) if found.len() > LIST_LIMIT => Err(format!("{shown} is too long")),
        Ok(_) => fs::read_to_string(file).map(Some).map_err(fault),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(fault(error)),
    }
}

/// The lines of a list of requirements that name packages.
fn requirements(text: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for line in text.replace("\\\n", "").lines() {
        let line = line.split(" #").next().unwrap_or_default().trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with('-') {
            return Err(format!(
                "`{line}` in requirements.txt is an option of pip, which is not used here; list \
                 packages, or make a venv `.venv` in the plugin's directory yourself"
            ));
        }
        // Hashes of single files cannot stand on a command line.
        found.push(line.split(" --hash").next().unwrap_or(line).trim().to_owned());
    }
    Ok(found)
}

/// The strings of `dependencies` in the section `[project]`.
fn project_dependencies(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut list = String::new();
    let mut is_open = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if is_open {
            list.push_str(line);
            list.push('\n');
        } else if trimmed.starts_with('[') {
            inside = trimmed == "[project]";
        } else if inside
            && let Some(rest) = trimmed.strip_prefix("dependencies")
            && let Some(rest) = rest.trim_start().strip_prefix('=')
        {
            list.push_str(rest);
            list.push('\n');
            is_open = true;
        }
        if is_open && let Some(strings) = closed_list(&list) {
            return strings;
        }
    }
    Vec::new()
}

/// The strings of a TOML array, once its end is there.
fn closed_list(text: &str) -> Option<Vec<String>> {
    let mut strings = Vec::new();
    let mut rest = text.trim_start().strip_prefix('[')?.chars();
    while let Some(c) = rest.next() {
        match c {
            ']' => return Some(strings),
            '#' => while rest.next().is_some_and(|c| c != '\n') {},
            quote @ ('"' | '\'') => {
                let mut string = String::new();
                loop {
                    match rest.next()? {
                        c if c == quote => break,
                        '\\' if quote == '"' => string.push(rest.next()?),
                        c => string.push(c),
                    }
                }
                strings.push(string);
            }
            _ => {}
        }
    }
    None
}

/// The directory of the venv for a list of packages, which need not exist.
pub(crate) fn place(
    settings: &Settings,
    plugin: &PythonFacts,
    packages: &[String],
    base: &Interpreter,
) -> PathBuf {
    let key = format!("{}\n{}", base.identity(), packages.join("\n"));
    let name = format!("{}-{}", plugin.name, &short_hash(key.as_bytes())[..16]);
    settings.state.join("venvs").join(name)
}

/// Returns true if a venv is complete.
pub(crate) fn is_finished(venv: &Path) -> bool {
    venv.join(COMPLETE_MARKER).is_file()
}

/// Makes a venv with packages in it; says when it begins and when it is done. What pip says is
/// told where it fails.
pub(crate) async fn make(
    settings: &Settings,
    plugin: &PythonFacts,
    packages: &[String],
    base: &Interpreter,
) -> Result<Interpreter, String> {
    let venv = place(settings, plugin, packages, base);
    let say = |text: &str| (settings.on_progress)(&plugin.name, text);
    let _lock = lock(&venv).await?;
    if is_finished(&venv) {
        return of_venv(&venv);
    }
    if venv.exists() {
        fs::remove_dir_all(&venv)
            .map_err(|error| format!("cannot remove {}: {error}", venv.display()))?;
    }
    private::make_directory(&venv)
        .map_err(|error| format!("cannot make {}: {error}", venv.display()))?;
    let work = Work { base, root: &plugin.root, venv: &venv };
    say(&format!("installing {} into a venv of its own", packages.join(", ")));
    let made = fill(settings, work, packages).await;
    if let Err(why) = made {
        // It would be made anew the next time in any case.
        let _ = fs::remove_dir_all(&venv);
        return Err(why);
    }
    fs::write(venv.join(COMPLETE_MARKER), "")
        .map_err(|error| format!("cannot write to {}: {error}", venv.display()))?;
    say("its packages are installed");
    of_venv(&venv)
}

/// Keeps other processes from making the same venv at the same time.
async fn lock(venv: &Path) -> Result<fs::File, String> {
    let file = venv.with_extension("lock");
    let fault = |error: std::io::Error| format!("cannot lock {}: {error}", file.display());
    if let Some(directory) = file.parent() {
        private::make_directory(directory).map_err(fault)?;
    }
    let lock = fs::File::create(&file).map_err(fault)?;
    let deadline = tokio::time::Instant::now() + CREATE_TIME + INSTALL_TIME;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(fs::TryLockError::Error(error)) => return Err(fault(error)),
            Err(fs::TryLockError::WouldBlock) if tokio::time::Instant::now() > deadline => {
                return Err(format!("{} is held by another process", file.display()));
            }
            Err(fs::TryLockError::WouldBlock) => tokio::time::sleep(LOCK_POLL).await,
        }
    }
}

/// The parts of a venv in the making.
#[derive(Clone, Copy)]
struct Work<'a> {
    base: &'a Interpreter,
    /// The plugin's directory.
    root: &'a Path,
    venv: &'a Path,
}

async fn fill(settings: &Settings, work: Work<'_>, packages: &[String]) -> Result<(), String> {
    let Work { base, venv, .. } = work;
    let run = |program: &Path, words: Vec<OsString>, time: Duration| {
        let program = program.to_owned();
        async move { command(settings, work, (&program, words, time)).await }
    };
    let make = words(["-I", "-m", "venv", "--without-pip"], [venv.as_os_str()]);
    run(&base.program, make, CREATE_TIME).await?;
    let cache = venv.join("pip-cache");
    let mut install = words(["install", "--no-input", "--disable-pip-version-check"], []);
    install.extend(["--cache-dir".into(), cache.clone().into(), "--".into()]);
    install.extend(packages.iter().map(OsString::from));
    // The base's own pip serves where it can: to give each venv one takes longer than the rest.
    let python = venv.join("bin/python");
    let borrowed = words(["-I", "-m", "pip", "--python"], [python.as_os_str()]);
    let done = run(&base.program, [borrowed, install.clone()].concat(), INSTALL_TIME).await;
    match done {
        Err(why)
            if why.contains("No module named pip") || why.contains("no such option: --python") =>
        {
            run(&python, words(["-I", "-m", "ensurepip"], []), CREATE_TIME).await?;
            let own = words(["-I", "-m", "pip"], []);
            run(&python, [own, install].concat(), INSTALL_TIME).await?;
        }
        done => done?,
    }
    // The downloads are not needed again; files that stay do no harm.
    let _ = fs::remove_dir_all(cache);
    Ok(())
}

fn words<const N: usize, const M: usize>(first: [&str; N], rest: [&OsStr; M]) -> Vec<OsString> {
    first.into_iter().map(OsString::from).chain(rest.into_iter().map(OsString::from)).collect()
}

async fn command(
    settings: &Settings,
    Work { base, root, venv }: Work<'_>,
    (program, args, time): (&Path, Vec<OsString>, Duration),
) -> Result<(), String> {
    let spawn = Spawn {
        program: program.to_owned(),
        args,
        // Packages may lie in the plugin's own directory.
        cwd: root.to_owned(),
        stdin: Stdin::Null,
        channel: Channel::None,
        env: BTreeMap::new(),
        home: None,
    };
    let mut profile = bare_profile(settings, base.program.clone(), venv.to_owned())?;
    profile.read = base.directories(settings.surroundings.home.as_deref());
    profile.read.push(root.to_owned());
    profile.network = Network::Host;
    let surroundings = &settings.surroundings;
    for name in [
        "PIP_INDEX_URL",
        "PIP_EXTRA_INDEX_URL",
        "PIP_FIND_LINKS",
        "PIP_NO_INDEX",
        "PIP_CERT",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "REQUESTS_CA_BUNDLE",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "http_proxy",
        "https_proxy",
        "no_proxy",
    ] {
        if let Some(value) = surroundings.variables.get(name) {
            profile.env.insert(name.to_owned(), value.clone());
        }
    }
    let local = profile.env.get("PIP_FIND_LINKS").map(PathBuf::from);
    profile.read.extend(local.filter(|path| path.is_absolute()));
    let done = job::run(&*settings.sandbox, (&spawn, &profile), time).await?;
    if done.exit.is_success() { Ok(()) } else { Err(done.last) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::Plugin;

    #[test]
    fn packages_are_read_from_manifest_and_both_files() {
        let directory = tempfile::tempdir().unwrap();
        let mut plugin = Plugin::new(directory.path(), "p").facts;
        plugin.requirements.0 = vec!["b>=1".into()];
        let write = |name: &str, text: &str| fs::write(plugin.root.join(name), text).unwrap();
        write("requirements.txt", "# list\na==1 # pinned\n\nb>=1\nBrynhild>=0.1\n");
        write(
            "pyproject.toml",
            "[build-system]\nrequires = ['x']\n[project]\nname = 'p'\ndependencies = [\n  \
             \"c[extra]~=2; python_version < '3.11'\", # ]\n  'd',\n]\n[tool.y]\ndependencies = ['z']\n",
        );
        let lists = ["requirements.txt", "pyproject.toml"].map(|name| plugin.root.join(name));
        plugin.requirements.1 = lists.into();
        let packages = declared(&plugin).unwrap();
        assert_eq!(packages, ["a==1", "b>=1", "c[extra]~=2; python_version < '3.11'", "d"]);
    }

    #[test]
    fn pip_option_is_no_package() {
        let directory = tempfile::tempdir().unwrap();
        let mut plugin = Plugin::new(directory.path(), "p").facts;
        plugin.requirements.0 = vec!["--index-url=http://evil".into()];
        assert!(declared(&plugin).unwrap_err().contains("not a name of a package"));
        assert!(requirements("-r other.txt").unwrap_err().contains("option of pip"));
    }
}
