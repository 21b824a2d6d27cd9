//! Repositories of other systems than git. Work in them changes much of them, so that only what makes
//! the system run something is protected: settings, and what leads to those of another repository.

use std::path::{Path, PathBuf};

use crate::contents::{self, Found};
use crate::protected::is_real_directory;

/// The file of Jujutsu that tells where the repository of git is that it works on.
const TARGET: &str = "repo/store/git_target";

/// The folder of each system, with these files.
const SYSTEMS: [(&str, &[&str]); 3] = [
    (".hg", &["hgrc", "hgrc-not-shared", "sharedpath"]),
    (".jj", &["repo", "repo/config.toml", "workspace-config.toml", TARGET]),
    (".sl", &["config", "hgrc", "sharedpath"]),
];

/// Where some keep a repository of git, whose settings git obeys when they call it.
const STORES: [(&str, &str); 2] = [(".jj", "repo/store/git"), (".sl", "store/git")];

/// Whether it is the name of such a folder.
pub(crate) fn is_name(name: &str) -> bool {
    SYSTEMS.iter().any(|(known, _)| *known == name)
}

/// Of such a folder the files in it that its system obeys; none for anything else.
pub(crate) fn obeyed(path: &Path) -> Option<Vec<PathBuf>> {
    let (_, files) = SYSTEMS.iter().find(|(name, _)| path.ends_with(name))?;
    let is_there = |file: &PathBuf| match contents::kind(file) {
        Found::Absent => false,
        Found::Read(found) => !found.is_dir(),
        Found::Unknown => true,
    };
    let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
    is_folder.then(|| files.iter().map(|file| path.join(file)).filter(is_there).collect())
}

/// The repository of git within such a folder.
pub(crate) fn git_directory(path: &Path) -> Option<PathBuf> {
    let (_, store) = STORES.iter().find(|(name, _)| path.ends_with(name))?;
    let store = path.join(store);
    // What a link leads to lies elsewhere, and is looked at there.
    is_real_directory(path.parent()?, &store).then_some(store)
}

/// Whether nothing in such a folder makes its system run something, but for the repository of git in it;
/// false for anything else.
pub(crate) fn is_harmless(path: &Path) -> bool {
    let is_usual = |file: &PathBuf| file.ends_with(TARGET) && leads_near(path, file);
    obeyed(path).is_some_and(|files| files.iter().all(is_usual))
}

/// Whether the repository of git is the one in Jujutsu's folder, or the one beside it.
fn leads_near(path: &Path, file: &Path) -> bool {
    let text = contents::plain_file(file, 64).known();
    text.is_some_and(|text| matches!(text.as_slice(), b"git" | b"../../../.git"))
        && path.join("repo").symlink_metadata().is_ok_and(|found| found.is_dir())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_repository_of_git_in_another_s_folder_is_found_and_only_the_usual_ones_are_harmless() {
        let base = tempfile::tempdir().unwrap();
        let jujutsu = base.path().join(".jj");
        fs::create_dir_all(jujutsu.join("repo/store/git")).unwrap();
        assert_eq!(git_directory(&jujutsu), Some(jujutsu.join("repo/store/git")));
        assert_eq!(git_directory(base.path()), None);
        assert!(is_harmless(&jujutsu) && !is_harmless(base.path()));
        for (target, is_usual) in
            [("git", true), ("../../../.git", true), ("../../../evil", false), ("/etc", false)]
        {
            fs::write(jujutsu.join(TARGET), target).unwrap();
            assert_eq!(is_harmless(&jujutsu), is_usual, "{target}");
        }
        fs::write(jujutsu.join(TARGET), "git").unwrap();
        fs::write(jujutsu.join("repo/config.toml"), "x").unwrap();
        assert!(!is_harmless(&jujutsu));
    }
}
