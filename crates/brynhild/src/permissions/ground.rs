//! Looks at the disk for the policy, which reads nothing itself: where links lead, which names there
//! are, what is mounted, and what a repository makes git run.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use policy::ground::{Entry, Look, Sought, Width};
use tools::walk::{self, Filter, IgnoreFiles, Sources};

use super::mounts;
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

impl Disk {
    /// Whether an ignore file above the project says something about what is in it.
    fn is_told_from_above(&self, own: &str) -> bool {
        let is_repository = self.root.join(".git").exists();
        let names = &[".ignore", own, ".gitignore"];
        // Those of git end at the repository.
        let names = if is_repository { &names[..2] } else { &names[..] };
        let tells = |folder: &Path| names.iter().any(|name| folder.join(name).exists());
        self.root.ancestors().skip(1).any(tells)
    }

    /// The ignore files that count in a search; none where all is seen. A list of the person's own
    /// would be looked up in the environment and the home folder.
    fn sources(&self, width: Width) -> Option<Sources> {
        match width {
            Width::Everything => None,
            Width::Unignored => {
                let names = vec![".gitignore"];
                Some(Sources { names, above: true, ..Sources::default() })
            }
            Width::Searched | Width::Visible => Some(self.told_by(".rgignore")),
            Width::Found => Some(self.told_by(".fdignore")),
        }
    }

    /// The ignore files of a program with one of its own.
    fn told_by(&self, own: &'static str) -> Sources {
        Sources {
            names: vec![own, ".ignore", ".gitignore"],
            repositories_only: true,
            // What it is told above the project it may not see when it is confined.
            above: !self.is_told_from_above(own),
            global: None,
        }
    }
}

impl Look for Disk {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        path.canonicalize().ok()
    }

    fn links(&self, path: &Path) -> Vec<PathBuf> {
        tools::links::names_on_the_way(path)
    }

    fn names(&self, folder: &Path) -> Option<Vec<String>> {
        let entries = self.entries(folder)?.into_iter();
        Some(entries.map(|(name, _)| name.to_string_lossy().into_owned()).collect())
    }

    fn entries(&self, folder: &Path) -> Option<Vec<(OsString, Entry)>> {
        let entries = fs::read_dir(folder).ok()?.flatten().take(MOST_NAMES + 1);
        let named = |entry: fs::DirEntry| {
            let kind = match entry.file_type() {
                Ok(kind) if kind.is_dir() => Entry::Folder,
                Ok(kind) if kind.is_file() => Entry::File,
                Ok(_) | Err(_) => Entry::Other,
            };
            (entry.file_name(), kind)
        };
        let entries: Vec<(OsString, Entry)> = entries.map(named).collect();
        (entries.len() <= MOST_NAMES).then_some(entries)
    }

    fn mounts(&self) -> Option<Vec<PathBuf>> {
        mounts::listed()
    }

    fn is_mount(&self, folder: &Path) -> bool {
        mounts::is_mount(folder)
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

    fn leads_to_program(&self, path: &Path, added: Option<Vec<&str>>) -> Option<String> {
        sandbox::leads_to_program(path, &self.root, added.as_deref())
    }

    fn is_own(&self, program: &str) -> bool {
        self.programs.is_own(program)
    }

    fn seek(&self, folder: &Path, width: Width, wanted: &mut dyn FnMut(&Path) -> bool) -> Sought {
        let ignored = self.sources(width).map(|sources| IgnoreFiles::new(folder, sources));
        let filter =
            Arc::new(Filter::new(ignored, !matches!(width, Width::Visible | Width::Found)));
        let seen = Arc::clone(&filter);
        let walk = walk::filtered(folder, move |entry| {
            // Objects of git are packed: no search reads them as text.
            let is_packed = entry.file_name() == "objects"
                && entry.path().parent().is_some_and(|folder| folder.ends_with(".git"));
            !is_packed && seen.shows(entry)
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
        // An ignore file that is not read can also say what is not to be left out.
        if filter.has_unread() { Sought::TooMany } else { Sought::Nothing }
    }
}
