//! The one list of regenerable directories: a build or a package manager makes them again, so they
//! are neither watched nor covered by undo.

use std::ffi::OsStr;
use std::path::Path;

/// Regenerable by their names alone.
const ALWAYS: [&str; 9] = [
    "node_modules",
    "__pycache__",
    ".venv",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".gradle",
];
/// Build files next to a directory `target` that say it is build output and not source.
const BESIDE_TARGET: [&str; 3] = ["Cargo.toml", "pom.xml", "build.sbt"];
/// The file that marks a directory as a cache: <https://bford.info/cachedir/>.
pub const CACHE_TAG: &str = "CACHEDIR.TAG";

/// Returns true if everything in a directory can be made again by a build or a package manager.
/// Reads the file system only for names that are not conclusive.
pub fn is_regenerable(directory: &Path) -> bool {
    let name = directory.file_name().unwrap_or_default();
    let has = |file: &str| directory.join(file).symlink_metadata().is_ok_and(|it| it.is_file());
    if is_regenerable_name(name) {
        return true;
    }
    match name.to_str() {
        Some("target") if is_build_output(directory) => true,
        Some("venv") if has("pyvenv.cfg") => true,
        _ => has(CACHE_TAG),
    }
}

/// Returns true if a directory of this name is regenerable wherever it is.
pub fn is_regenerable_name(name: &OsStr) -> bool {
    ALWAYS.iter().any(|known| name == *known)
}

fn is_build_output(target: &Path) -> bool {
    let Some(parent) = target.parent() else { return false };
    BESIDE_TARGET.iter().any(|file| parent.join(file).symlink_metadata().is_ok())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn regenerable_directories_are_recognized() {
        let root = tempfile::tempdir().unwrap();
        let make = |path: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(&path).unwrap();
            path
        };
        assert!(is_regenerable(&make("a/node_modules")));
        assert!(is_regenerable(&make("b/.venv")));
        assert!(!is_regenerable(&make("src")));
        let source = make("java/target");
        assert!(!is_regenerable(&source));
        fs::write(root.path().join("java/Cargo.toml"), "").unwrap();
        assert!(is_regenerable(&source));
        let environment = make("venv");
        assert!(!is_regenerable(&environment));
        fs::write(environment.join("pyvenv.cfg"), "").unwrap();
        assert!(is_regenerable(&environment));
        let cache = make("any");
        fs::write(cache.join(CACHE_TAG), "").unwrap();
        assert!(is_regenerable(&cache));
    }
}
