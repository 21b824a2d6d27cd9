//! Finds the repository of a workspace and refuses one that could lead a commit elsewhere. Reads
//! names and pointers only, never a setting.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use contract::broker::BrokerError;
use contract::text::normalize;

use super::reference;

const POINTER: u64 = 8 << 10;
/// So many folders of objects are looked at for further ones.
const FOLDERS: usize = 32;

/// What git leaves behind while something else is going on.
const IN_PROGRESS: [(&str, &str); 5] = [
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
];

/// A repository with one of its working trees.
#[derive(Debug)]
pub(crate) struct Repository {
    /// The top of the working tree.
    pub(crate) root: PathBuf,
    /// Holds what belongs to this working tree: `HEAD` and the index.
    pub(crate) own: PathBuf,
    /// Holds what all working trees share: branches, objects, settings.
    pub(crate) common: PathBuf,
    /// How it is known that the repository belongs to this working tree.
    pub(crate) tie: Tie,
}

/// How it is known that a repository belongs to its working tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tie {
    /// It is the `.git` in it, or names it as a linked working tree.
    Proven,
    /// Its `core.worktree` must name it, as that of a submodule does.
    Setting,
}

/// Where a commit goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// A branch, by its full name.
    Branch(String),
    /// No branch: `HEAD` itself holds the commit.
    Detached(String),
}

impl Head {
    /// The branch's short name.
    pub(crate) fn branch(&self) -> Option<String> {
        match self {
            Self::Branch(name) => Some(name.trim_start_matches("refs/heads/").to_owned()),
            Self::Detached(_) => None,
        }
    }
}

fn refused(path: &Path, why: &str) -> BrokerError {
    BrokerError::Refused(format!("{} {why}", path.display()))
}

impl Repository {
    /// The repository that `workspace`, a real path, lies in.
    pub(crate) fn find(workspace: &Path) -> Result<Self, BrokerError> {
        for folder in workspace.ancestors() {
            let entry = folder.join(".git");
            let Ok(found) = fs::symlink_metadata(&entry) else { continue };
            let repository = if found.is_dir() {
                Self::plain(folder, entry)?
            } else if found.is_file() {
                Self::pointed(folder, &entry)?
            } else {
                return Err(refused(&entry, "is neither a folder nor a file; it is not followed"));
            };
            repository.check()?;
            return Ok(repository);
        }
        Err(BrokerError::NotARepository(workspace.to_owned()))
    }

    fn plain(folder: &Path, own: PathBuf) -> Result<Self, BrokerError> {
        if fs::symlink_metadata(own.join("commondir")).is_ok() {
            return Err(refused(&own, "is redirected by a file `commondir`; it is not followed"));
        }
        let common = own.clone();
        Ok(Self { root: folder.to_owned(), own, common, tie: Tie::Proven })
    }

    /// The repository that a `.git` file points to, which has to point back.
    fn pointed(folder: &Path, entry: &Path) -> Result<Self, BrokerError> {
        let text = pointer(entry)?;
        let target = text.strip_prefix("gitdir: ").unwrap_or_default();
        let own = folder.join(target).canonicalize().ok();
        let own = own.filter(|_| !target.is_empty());
        let own = own.ok_or_else(|| refused(entry, "points to no repository"))?;
        let (common, tie) = if own.join("commondir").exists() {
            let text = pointer(&own.join("commondir"))?;
            let common = own.join(text).canonicalize();
            let common = common.map_err(|_| refused(&own, "points to no repository"))?;
            let back = own.join(pointer(&own.join("gitdir"))?);
            let is_tied = own.parent() == Some(&common.join("worktrees"))
                && back.file_name() == entry.file_name()
                && back.parent().and_then(|parent| parent.canonicalize().ok()).as_deref()
                    == Some(folder);
            if !is_tied {
                return Err(refused(entry, "points to a repository that does not know of it"));
            }
            (common, Tie::Proven)
        } else {
            (own.clone(), Tie::Setting)
        };
        if own.starts_with(folder) || common.starts_with(folder) {
            return Err(refused(entry, "points to a repository in the files of the workspace"));
        }
        Ok(Self { root: folder.to_owned(), own, common, tie })
    }

    /// Refuses what would let git write somewhere else.
    fn check(&self) -> Result<(), BrokerError> {
        let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
        let is_file = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
        if self.common.join("reftable").exists() {
            return Err(refused(&self.common, "keeps its branches in a reftable; use git itself"));
        }
        for name in ["objects", "refs"] {
            let path = self.common.join(name);
            if !is_folder(&path) {
                return Err(refused(&path, "is not a folder, so there is no usable repository"));
            }
        }
        for path in [self.own.join("HEAD"), self.common.join("config")] {
            if !is_file(&path) {
                return Err(refused(&path, "is not a file, so there is no usable repository"));
            }
        }
        let objects = self.common.join("objects");
        let others = objects.join("info/alternates");
        if fs::symlink_metadata(&others).is_ok_and(|found| !found.is_file()) {
            return Err(refused(&others, "is not a file, so there is no usable repository"));
        }
        let entries = fs::read_dir(&objects).map_err(|error| refused(&objects, &error.to_string()));
        for entry in entries?.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                return Err(refused(&entry.path(), "is a symbolic link; it is not followed"));
            }
        }
        Ok(())
    }

    /// The folders of its objects: its own, and those outside of the files that it borrows from. Only what
    /// has the name of such a folder counts, since a hostile repository could list any.
    pub(crate) fn objects(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.common.join("objects")];
        for number in 0..FOLDERS {
            let Some(folder) = folders.get(number).cloned() else { break };
            let list = regular(&folder.join("info/alternates"), POINTER).ok().flatten();
            for line in list.unwrap_or_default().split(|byte| *byte == b'\n') {
                let borrowed = normalize(&folder.join(OsStr::from_bytes(line)));
                let is_one = borrowed.ends_with("objects") && !borrowed.starts_with(&self.root);
                if is_one && !folders.contains(&borrowed) {
                    folders.push(borrowed);
                }
            }
        }
        folders
    }

    /// The part of it that belongs to somebody else.
    pub(crate) fn foreign(&self) -> Option<&Path> {
        let user = rustix::process::geteuid().as_raw();
        let is_own = |path: &Path| fs::metadata(path).is_ok_and(|found| found.uid() == user);
        let parts = [&self.root, &self.own, &self.common];
        parts.into_iter().map(PathBuf::as_path).find(|path| !is_own(path))
    }

    /// Where a commit goes.
    pub(crate) fn head(&self) -> Result<Head, BrokerError> {
        let path = self.own.join("HEAD");
        let text = pointer(&path)?;
        let Some(name) = text.strip_prefix("ref:").map(str::trim_start) else {
            if reference::is_id(&text) {
                return Ok(Head::Detached(text));
            }
            return Err(refused(&path, "names neither a branch nor a commit"));
        };
        if reference::is_branch(name) {
            return Ok(Head::Branch(name.to_owned()));
        }
        Err(refused(&path, "names something that is not a branch"))
    }

    /// Fails where something else is going on.
    pub(crate) fn is_idle(&self) -> Result<(), BrokerError> {
        let under_way = IN_PROGRESS.iter().find(|(name, _)| self.own.join(name).exists());
        match under_way {
            Some((_, what)) => Err(BrokerError::InProgress((*what).to_owned())),
            None => Ok(()),
        }
    }
}

/// A small file of one line, not followed through a link, never waited for.
fn pointer(path: &Path) -> Result<String, BrokerError> {
    let bytes = regular(path, POINTER)?.unwrap_or_default();
    let text = String::from_utf8(bytes).ok();
    let line = text.as_deref().map(|text| text.trim_end_matches(['\n', '\r']));
    match line {
        Some(line) if !line.is_empty() && !line.contains('\n') => Ok(line.to_owned()),
        _ => Err(refused(path, "makes no sense")),
    }
}

/// What a regular file of at most `limit` bytes holds; none where there is nothing.
pub(crate) fn regular(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, BrokerError> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let cannot = |error: std::io::Error| {
        BrokerError::Failed(format!("cannot read {}: {error}", path.display()))
    };
    let file = match fs::OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cannot(error)),
    };
    let metadata = file.metadata().map_err(cannot)?;
    if !metadata.is_file() || metadata.len() > limit {
        return Err(refused(path, "is not a file of a sensible size"));
    }
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).map_err(cannot)?;
    Ok(Some(bytes))
}
