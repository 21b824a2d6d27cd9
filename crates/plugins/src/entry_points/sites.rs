//! Where an interpreter keeps its packages, told by the layout of its files without running it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The environment in which interpreters and packages are searched.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    pub path: &'a str,
    /// Directories of modules that are named in the environment, separated by colons.
    pub python_path: &'a str,
    pub home: Option<&'a Path>,
}

/// The interpreter: the configured one, or the `python3` that a shell would start.
pub fn interpreter(configured: Option<&Path>, surroundings: Surroundings<'_>) -> Option<PathBuf> {
    let name = configured.unwrap_or(Path::new("python3"));
    if name.is_absolute() {
        return is_program(name).then(|| name.to_path_buf());
    }
    let path = on_path(name, surroundings.path)?;
    Some(unshimmed(&path).unwrap_or(path))
}

fn on_path(name: &Path, path: &str) -> Option<PathBuf> {
    let directories = std::env::split_paths(path).filter(|directory| directory.is_absolute());
    directories.map(|directory| directory.join(name)).find(|path| is_program(path))
}

/// Returns true if a program is named like Python; nothing else shows without running it.
pub fn looks_like_python(program: &Path) -> bool {
    let called = |path: &Path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().to_lowercase().contains("py"))
    };
    called(program) || program.canonicalize().is_ok_and(|real| called(&real))
}

/// The directories of packages of an interpreter, in the order in which it looks into them.
pub fn sites(python: &Path, surroundings: Surroundings<'_>) -> Vec<PathBuf> {
    let mut sites: Vec<PathBuf> = std::env::split_paths(surroundings.python_path)
        .filter(|directory| directory.is_absolute())
        .collect();
    if let Some(environment) = Environment::of(python) {
        sites.extend(libraries(&environment.prefix));
        if environment.sees_system {
            let base = environment.home.join("python3");
            sites.extend(system_sites(&base, surroundings.home));
        }
    } else {
        sites.extend(system_sites(python, surroundings.home));
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
