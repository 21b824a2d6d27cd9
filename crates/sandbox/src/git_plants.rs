//! Whether a file that somebody is about to write would decide what git runs on the host: a part of a
//! repository beside which no `.git` stands, or a file that the settings of the project's repository
//! name. Only reads, and takes the file for written.

use std::path::Path;

use crate::User;
use crate::git_pointers;
use crate::harmless::is_harmless_directory;
use crate::nested::{self, OBEYED};
use crate::protected::{is_bare_repository, would_be_bare_repository};

/// Why git on the host would obey a file at `path`, in a project at `root` of this user.
pub fn git_obeys(path: &Path, root: &Path, user: Option<&User>) -> Option<String> {
    if let Some(why) = git_plants(path) {
        return Some(why);
    }
    if git_pointers::names(root, user, path) {
        let why =
            "settings or hooks of git make it run this, or your shell loads it before a prompt";
        return Some(why.to_owned());
    }
    let link = nested::obeyed_by_link(root, path)?;
    Some(format!("the link `{}` leads there, by whose name programs obey it", link.display()))
}

/// Why a file at `path` would make one of the folders around it a repository that runs something, or
/// decide what one runs.
pub fn git_plants(path: &Path) -> Option<String> {
    let planted = path.ancestors().skip(1).find(|folder| is_planted(folder, path));
    planted.map(|folder| {
        let shown = folder.display();
        format!("it would decide what git runs in `{shown}`, which it takes for a repository")
    })
}

/// Whether `folder` is a repository with the file at `path` that runs what was written there.
fn is_planted(folder: &Path, path: &Path) -> bool {
    let part = path.strip_prefix(folder).ok().and_then(|below| below.components().next());
    let Some(part) = part.and_then(|part| part.as_os_str().to_str()) else {
        return false;
    };
    // Some file systems take one case for the other.
    if OBEYED.iter().any(|name| name.eq_ignore_ascii_case(part)) {
        return would_be_bare_repository(folder, part);
    }
    !is_bare_repository(folder)
        && would_be_bare_repository(folder, part)
        && !is_harmless_directory(folder, 0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn is_obeyed(root: &Path, path: &str) -> bool {
        git_obeys(&root.join(path), root, None).is_some()
    }

    #[test]
    fn no_part_completes_a_repository_that_runs_something() {
        let parts = ["a/HEAD", "a/objects/k", "a/refs/k", "a/config"];
        for last in parts {
            let base = tempfile::tempdir().unwrap();
            let root = base.path();
            for part in parts.iter().filter(|part| **part != last) {
                assert!(!is_obeyed(root, part), "{part} before {last}");
                write(root, part, "[core]\nfsmonitor = x\n");
            }
            assert!(is_obeyed(root, last), "{last}");
            assert!(!is_obeyed(root, "a/other") && !is_obeyed(root, "config"));
        }
    }

    #[test]
    fn a_harmless_repository_is_made_and_then_its_settings_are_nobody_s_to_write() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path();
        for part in ["HEAD", "refs/k"] {
            write(root, part, "");
        }
        assert!(!is_obeyed(root, "objects/k"));
        write(root, "objects/k", "");
        for part in ["config", "CONFIG", "hooks/pre-commit", "config.worktree", "commondir"] {
            assert!(is_obeyed(root, part), "{part}");
        }
        assert!(!is_obeyed(root, "refs/heads/main"));
        write(root, "w/commondir", "../x");
        assert!(is_obeyed(root, "w/HEAD"));
    }

    #[test]
    fn a_program_that_settings_hooks_or_links_name_is_not_made() {
        let base = tempfile::tempdir().unwrap();
        let root = &base.path().canonicalize().unwrap();
        write(root, ".git/config", "[core]\n\tfsmonitor = \"sh scripts/fsm.sh\"\n");
        write(root, ".git/hooks/pre-push", "#!/bin/sh\nexec ./scripts/check src/new.rs\n");
        fs::create_dir_all(root.join("real")).unwrap();
        std::os::unix::fs::symlink("../../scripts/pc", root.join(".git/hooks/pre-commit")).unwrap();
        std::os::unix::fs::symlink("real", root.join("scripts")).unwrap();
        for name in ["real/fsm.sh", "real/check", "real/pc"] {
            assert!(is_obeyed(root, name), "{name}");
        }
        for name in ["real/other.sh", "src/new.rs", "fsm.sh"] {
            assert!(!is_obeyed(root, name), "{name}");
        }
    }

    #[test]
    fn what_the_settings_of_a_repository_within_the_repository_name_is_not_made() {
        let base = tempfile::tempdir().unwrap();
        let root = &base.path().canonicalize().unwrap();
        let settings =
            "[core]\nhooksPath = .husky\nfsmonitor = ./mon.sh\n[include]\npath = ../../../inc\n";
        write(root, "a/lib/.git/config", settings);
        for name in ["a/lib/.husky/pre-commit", "a/lib/mon.sh", "inc"] {
            assert!(is_obeyed(root, name), "{name}");
        }
        for name in ["a/.husky/pre-commit", ".husky/pre-commit", "mon.sh", "a/lib/src/x"] {
            assert!(!is_obeyed(root, name), "{name}");
        }
    }
}
