//! Repositories of other systems than git. Work in them changes much of them, so that only what makes
//! the system run something is protected: settings, and what leads to those of another repository.

use std::path::{Path, PathBuf};

/// The folder of each system, with these files.
const SYSTEMS: [(&str, &[&str]); 3] = [
    (".hg", &["hgrc", "hgrc-not-shared", "sharedpath"]),
    (".jj", &["repo", "repo/config.toml", "workspace-config.toml"]),
    (".sl", &["config", "hgrc", "sharedpath"]),
];

/// Whether it is the name of such a folder.
pub(crate) fn is_name(name: &str) -> bool {
    SYSTEMS.iter().any(|(known, _)| *known == name)
}

/// Of such a folder the files in it that its system obeys; none for anything else.
pub(crate) fn obeyed(path: &Path) -> Option<Vec<PathBuf>> {
    let (_, files) = SYSTEMS.iter().find(|(name, _)| path.ends_with(name))?;
    let is_there = |file: &PathBuf| file.symlink_metadata().is_ok_and(|found| !found.is_dir());
    let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
    is_folder.then(|| files.iter().map(|file| path.join(file)).filter(is_there).collect())
}
