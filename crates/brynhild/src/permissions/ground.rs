//! Looks at the disk for the policy, which reads nothing itself: where links lead, which names there
//! are, and what a repository makes git run.

use std::fs;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use policy::ground::{Look, Sought, Width};

use super::programs::Programs;

/// Larger folders are not listed.
const MOST_NAMES: usize = 5000;
/// More files than this are not gone through for the sake of a decision.
const MOST_FILES: usize = 50_000;

/// The disk as it is at the moment.
pub(super) struct Disk {
    /// The project.
    pub(super) root: PathBuf,
    /// Whose settings git obeys.
    pub(super) user: sandbox::User,
    /// Where programs are found.
    pub(super) programs: Programs,
}

impl Look for Disk {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        path.canonicalize().ok()
    }

    fn names(&self, folder: &Path) -> Option<Vec<String>> {
        let entries = fs::read_dir(folder).ok()?.flatten().take(MOST_NAMES + 1);
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let names: Vec<String> = entries.map(name).collect();
        (names.len() <= MOST_NAMES).then_some(names)
    }

    fn git_runs(&self, folder: &Path) -> Option<String> {
        sandbox::git_runs(folder)
    }

    fn git_elsewhere(&self, folder: &Path) -> Option<String> {
        sandbox::git_elsewhere(folder)
    }

    fn git_keeps(&self, folder: &Path, wanted: &mut dyn FnMut(&Path) -> bool) -> Sought {
        match sandbox::git_keeps(folder, wanted) {
            Ok(Some(path)) => Sought::Found(path),
            Ok(None) => Sought::Nothing,
            Err(_) => Sought::TooMany,
        }
    }

    fn git_obeys(&self, path: &Path) -> Option<String> {
        sandbox::git_obeys(path, &self.root, Some(&self.user))
    }

    fn is_own(&self, program: &str) -> bool {
        self.programs.is_own(program)
    }

    fn seek(&self, folder: &Path, width: Width, wanted: &mut dyn FnMut(&Path) -> bool) -> Sought {
        let mut walk = WalkBuilder::new(folder);
        walk.standard_filters(width != Width::Everything)
            .hidden(width == Width::Visible)
            .require_git(false)
            // It would be looked up in the environment and the home folder.
            .git_global(false)
            // Objects of git are packed: no search reads them as text.
            .filter_entry(|entry| {
                let is_packed = entry.file_name() == "objects"
                    && entry.path().parent().is_some_and(|folder| folder.ends_with(".git"));
                !is_packed
            });
        for (count, entry) in walk.build().enumerate() {
            if count >= MOST_FILES {
                return Sought::TooMany;
            }
            // What cannot be opened here cannot be read by the command either.
            let Ok(entry) = entry else { continue };
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            if !is_folder && wanted(entry.path()) {
                return Sought::Found(entry.into_path());
            }
        }
        Sought::Nothing
    }
}
