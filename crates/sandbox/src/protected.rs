//! The names that a confined process must not touch at the top of a writable root: what the host,
//! an editor or an assistant executes or obeys later.

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) use contract::protected::NAMES;
use contract::sandbox::SandboxError;

const MODULES_BYTES: usize = 64 * 1024;
const MODULES: usize = 128;

/// Protected paths under one root.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Protected {
    /// Those that exist.
    pub(crate) present: Vec<PathBuf>,
    /// Those that do not.
    pub(crate) absent: Vec<PathBuf>,
}

/// Sorts the protected paths under `root` into present and absent ones.
pub(crate) fn find(root: &Path) -> Result<Protected, SandboxError> {
    let mut found = Protected::default();
    for name in NAMES {
        sort(root.join(name), &mut found)?;
    }
    for module in submodules(root) {
        sort(module.join(".git"), &mut found)?;
    }
    Ok(found)
}

/// Whether a bare repository lies at `root`: git would take its configuration.
pub(crate) fn is_bare_repository(root: &Path) -> bool {
    ["HEAD", "objects", "refs"].iter().all(|name| fs::symlink_metadata(root.join(name)).is_ok())
}

fn sort(path: PathBuf, found: &mut Protected) -> Result<(), SandboxError> {
    match fs::symlink_metadata(&path) {
        Ok(metadata) if metadata.is_symlink() => Err(SandboxError::Refused(format!(
            "{} is a symbolic link, so it cannot be protected; replace it by what it points to, \
             or use read-only access",
            path.display()
        ))),
        Ok(_) => {
            found.present.push(path);
            Ok(())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            found.absent.push(path);
            Ok(())
        }
        Err(error) => {
            Err(SandboxError::Refused(format!("cannot examine {}: {error}", path.display())))
        }
    }
}

/// The submodule folders that exist: git on the host looks into each of them.
fn submodules(root: &Path) -> Vec<PathBuf> {
    let path = root.join(".gitmodules");
    let is_file = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file());
    if !is_file {
        return Vec::new();
    }
    let Ok(bytes) = fs::read(&path) else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MODULES_BYTES)]).into_owned();
    text.lines()
        .filter_map(|line| line.trim().strip_prefix("path"))
        .filter_map(|rest| rest.trim_start().strip_prefix('='))
        .map(|value| PathBuf::from(value.trim().trim_matches('"')))
        .filter(|path| is_plain(path))
        .map(|path| root.join(path))
        .filter(|path| is_real_directory(root, path))
        .take(MODULES)
        .collect()
}

fn is_plain(path: &Path) -> bool {
    path.components().next().is_some()
        && path.components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

/// Whether `path` is a folder beneath `root` that no link leads through.
pub(crate) fn is_real_directory(root: &Path, path: &Path) -> bool {
    path.ancestors()
        .take_while(|ancestor| *ancestor != root)
        .all(|part| fs::symlink_metadata(part).is_ok_and(|metadata| metadata.is_dir()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_either_present_or_absent() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join(".git")).unwrap();
        fs::write(root.path().join(".mcp.json"), "{}").unwrap();
        let found = find(root.path()).unwrap();
        assert_eq!(found.present, [root.path().join(".git"), root.path().join(".mcp.json")]);
        assert_eq!(found.absent.len(), NAMES.len() - 2);
    }

    #[test]
    fn a_symbolic_link_at_a_protected_name_is_refused() {
        let root = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc", root.path().join(".vscode")).unwrap();
        let error = find(root.path()).unwrap_err().to_string();
        assert!(error.contains(".vscode is a symbolic link"), "{error}");
    }

    #[test]
    fn the_git_entry_of_each_submodule_is_protected() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("a/b")).unwrap();
        fs::create_dir(root.path().join("c")).unwrap();
        fs::write(root.path().join("c/.git"), "gitdir: ../.git/modules/c").unwrap();
        std::os::unix::fs::symlink("/etc", root.path().join("d")).unwrap();
        fs::write(
            root.path().join(".gitmodules"),
            "[submodule \"x\"]\n\tpath = a/b\n[submodule \"y\"]\npath=\"c\"\n\
             [submodule \"z\"]\npath = ../out\n[submodule \"l\"]\npath = d\n",
        )
        .unwrap();
        let found = find(root.path()).unwrap();
        assert!(found.absent.contains(&root.path().join("a/b/.git")));
        assert!(found.present.contains(&root.path().join("c/.git")));
        let all = found.present.len() + found.absent.len();
        assert_eq!(all, NAMES.len() + 2);
    }
}
