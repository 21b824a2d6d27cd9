//! The interpreter of plugins and the directories of its packages, found by the layout of its files
//! without running it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The interpreter: the configured one, or the `python3` that a shell would start. An error says
/// what is found instead.
pub fn interpreter(configured: Option<&Path>, path: &str) -> Result<PathBuf, &'static str> {
    let name = configured.unwrap_or(Path::new("python3"));
    let program = if name.is_absolute() {
        Some(name.to_path_buf()).filter(|name| is_program(name))
    } else {
        on_path(name, path).map(|program| unshimmed(&program).unwrap_or(program))
    };
    let program = program.ok_or("no program")?;
    if looks_like_python(&program) { Ok(program) } else { Err("no Python") }
}

fn on_path(name: &Path, path: &str) -> Option<PathBuf> {
    let directories = std::env::split_paths(path).filter(|directory| directory.is_absolute());
    directories.map(|directory| directory.join(name)).find(|path| is_program(path))
}

/// Returns true if a program is named like Python; nothing else shows without running it.
fn looks_like_python(program: &Path) -> bool {
    let called = |path: &Path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().to_lowercase().contains("py"))
    };
    called(program) || program.canonicalize().is_ok_and(|real| called(&real))
}

/// The directories of packages of an interpreter, in the order in which it looks into them.
pub fn of_interpreter(python: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut sites = Vec::new();
    if let Some(environment) = Environment::of(python) {
        sites.extend(libraries(&environment.prefix));
        if environment.sees_system {
            let base = environment.home.join("python3");
            sites.extend(system_sites(&base, home));
        }
    } else {
        sites.extend(system_sites(python, home));
    }
    let mut unique: Vec<PathBuf> = Vec::new();
    for site in sites {
        if !unique.contains(&site) {
            unique.push(site);
        }
    }
    unique
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The interpreter behind a shim of pyenv, which is a script that looks for the real one.
fn unshimmed(path: &Path) -> Option<PathBuf> {
    let shims = path.parent().filter(|directory| directory.ends_with("shims"))?;
    let root = shims.parent()?;
    let chosen = fs::read_to_string(root.join("version")).ok()?;
    let version = chosen.split_whitespace().find(|version| *version != "system")?;
    let python = root.join("versions").join(version).join("bin").join(path.file_name()?);
    is_program(&python).then_some(python)
}

struct Environment {
    prefix: PathBuf,
    home: PathBuf,
    sees_system: bool,
}

impl Environment {
    fn of(python: &Path) -> Option<Self> {
        let directory = python.parent()?;
        let read = |directory: &Path| fs::read_to_string(directory.join("pyvenv.cfg")).ok();
        let parent = directory.parent()?;
        let (prefix, text) = match read(parent) {
            Some(text) => (parent, text),
            None => (directory, read(directory)?),
        };
        let value = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once('='));
            let found = lines.find(|(key, _)| key.trim().eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.trim().to_owned())
        };
        let sees_system = value("include-system-site-packages");
        Some(Self {
            prefix: prefix.to_path_buf(),
            home: value("home").map(PathBuf::from).unwrap_or_default(),
            sees_system: sees_system.is_some_and(|value| value.eq_ignore_ascii_case("true")),
        })
    }
}

fn libraries(prefix: &Path) -> Vec<PathBuf> {
    let mut directories = Vec::new();
    for library in ["lib", "lib64"] {
        let entries = fs::read_dir(prefix.join(library)).into_iter().flatten().flatten();
        let mut versions: Vec<PathBuf> = entries
            .filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"python3"))
            .map(|entry| entry.path().join("site-packages"))
            .filter(|site| site.is_dir())
            .collect();
        versions.sort();
        directories.extend(versions);
    }
    directories
}

/// Those of an interpreter that is not a virtual environment, with the user's own first.
fn system_sites(python: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let Ok(real) = fs::canonicalize(python) else {
        return Vec::new();
    };
    let Some(prefix) = real.parent().and_then(Path::parent) else {
        return Vec::new();
    };
    let Some(version) = version(&real, prefix) else {
        return Vec::new();
    };
    let python = format!("python{version}");
    let mut sites: Vec<PathBuf> = Vec::new();
    sites.extend(home.map(|home| home.join(".local/lib").join(&python).join("site-packages")));
    let mut prefixes = vec![prefix.to_path_buf()];
    if prefix == Path::new("/usr") {
        prefixes.insert(0, PathBuf::from("/usr/local"));
    }
    for prefix in &prefixes {
        for library in ["lib", "lib64"] {
            let library = prefix.join(library);
            sites.push(library.join(&python).join("site-packages"));
            sites.push(library.join(&python).join("dist-packages"));
        }
        sites.push(prefix.join("lib/python3/dist-packages"));
    }
    sites.retain(|site| site.is_dir());
    sites
}

/// The `3.11` of an interpreter: from its own name, or from the one library beside it.
fn version(real: &Path, prefix: &Path) -> Option<String> {
    let of = |name: &str| {
        let version = name.strip_prefix("python")?;
        let (major, minor) = version.split_once('.')?;
        let digits: String = minor.chars().take_while(char::is_ascii_digit).collect();
        (major == "3" && !digits.is_empty()).then(|| format!("3.{digits}"))
    };
    if let Some(version) = real.file_name().and_then(|name| name.to_str()).and_then(of) {
        return Some(version);
    }
    let entries = fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten();
    let mut versions: Vec<String> =
        entries.filter_map(|entry| of(entry.file_name().to_str()?)).collect();
    versions.sort_by_key(|version| version[2..].parse::<u32>().unwrap_or(0));
    versions.pop()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn program(path: &Path) {
        write(path, "#!/bin/sh\n");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn virtual_environment_has_its_own_packages() {
        let directory = tempfile::tempdir().unwrap();
        let (venv, base) = (directory.path().join("venv"), directory.path().join("base"));
        program(&base.join("bin/python3.11"));
        symlink("python3.11", base.join("bin/python3")).unwrap();
        fs::create_dir_all(base.join("lib/python3.11/site-packages")).unwrap();
        fs::create_dir_all(venv.join("bin")).unwrap();
        symlink(base.join("bin/python3"), venv.join("bin/python3")).unwrap();
        fs::create_dir_all(venv.join("lib/python3.11/site-packages")).unwrap();
        let settings = |sees: &str| {
            let home = base.join("bin");
            format!("home = {}\ninclude-system-site-packages = {sees}\n", home.display())
        };
        let python = venv.join("bin/python3");
        let own = venv.join("lib/python3.11/site-packages");
        let shared = base.join("lib/python3.11/site-packages");
        write(&venv.join("pyvenv.cfg"), &settings("false"));
        assert_eq!(of_interpreter(&python, None), [own.as_path()]);
        write(&venv.join("pyvenv.cfg"), &settings("true"));
        assert_eq!(of_interpreter(&python, None), [own.as_path(), shared.as_path()]);
    }

    #[test]
    fn plain_interpreter_has_prefix_and_user_packages() {
        let directory = tempfile::tempdir().unwrap();
        let (prefix, home) = (directory.path().join("prefix"), directory.path().join("home"));
        program(&prefix.join("bin/python3.12"));
        let site = prefix.join("lib/python3.12/site-packages");
        let own = home.join(".local/lib/python3.12/site-packages");
        fs::create_dir_all(&site).unwrap();
        fs::create_dir_all(&own).unwrap();
        let python = prefix.join("bin/python3.12");
        assert_eq!(of_interpreter(&python, Some(&home)), [own, site]);
    }

    #[test]
    fn interpreter_is_found_on_the_search_path() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        write(&root.join("a/python3"), "no program");
        program(&root.join("pyenv/shims/python3"));
        program(&root.join("pyenv/versions/3.10.4/bin/python3"));
        let path = format!("relative:{0}/a:{0}/pyenv/shims", root.display());
        let shim = root.join("pyenv/shims/python3");
        assert_eq!(interpreter(None, &path), Ok(shim));
        write(&root.join("pyenv/version"), "3.10.4\n");
        let real = root.join("pyenv/versions/3.10.4/bin/python3");
        assert_eq!(interpreter(None, &path), Ok(real.clone()));
        assert_eq!(interpreter(Some(&real), ""), Ok(real));
        assert_eq!(interpreter(Some(Path::new("/none")), &path), Err("no program"));
        let other = root.join("a/other");
        program(&other);
        assert_eq!(interpreter(Some(&other), &path), Err("no Python"));
    }
}
