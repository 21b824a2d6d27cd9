//! The one list of regenerable directories: a build or a package manager makes them again, so they
//! are neither watched nor covered by undo.

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
const CACHE_TAG: &str = "CACHEDIR.TAG";

/// Returns true if everything in a directory can be made again by a build or a package manager.
/// Reads the file system only for names that are not conclusive.
pub fn is_regenerable(directory: &Path) -> bool {
    let name = directory.file_name().unwrap_or_default();
    let has = |file: &str| directory.join(file).symlink_metadata().is_ok_and(|it| it.is_file());
    let is_beside = |file: &&str| directory.with_file_name(file).symlink_metadata().is_ok();
    match name.to_str() {
        Some(name) if ALWAYS.contains(&name) => true,
        Some("target") if BESIDE_TARGET.iter().any(is_beside) => true,
        Some("venv") if has("pyvenv.cfg") => true,
        _ => has(CACHE_TAG),
    }
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
