//! A workspace as a process sees it that must find certain files with certain bytes. A mount over such
//! a file would not do: who renames the file outside moves the mount along with it. So the directories on
//! the way to it are directories of ours, and everything else in them is linked or mounted there.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use contract::sandbox::{Fixed, SandboxError};
use rustix::fs::{AtFlags, FlockOperation, RenameFlags, flock, renameat_with, unlinkat};
use rustix::io::Errno;

use crate::contents::private_directory;
use crate::pinned_path;
use crate::request::Request;

/// The directory that they lie in.
pub(crate) const VIEWS: &str = "views";

/// Where Python keeps what it made of modules, which it would take in their place.
const CACHE: &str = "__pycache__";

/// More entries in all these directories make too many mounts.
const MAX_ENTRIES: usize = 1_000;

/// The directories of ours, which go away with this.
#[derive(Debug)]
pub(crate) struct TrustedCopies {
    /// The workspace.
    pub(crate) root: PathBuf,
    /// The directory that replaces it.
    pub(crate) view: PathBuf,
    /// Paths that are mounted in it, each from its original location.
    pub(crate) mounted: Vec<PathBuf>,
    /// Copies of the files, with their places.
    pub(crate) copies: Vec<(PathBuf, PathBuf)>,
    /// Protected paths.
    held: BTreeSet<PathBuf>,
    /// The entries of each directory, relative to the root, with the inode of a file with hard links.
    known: BTreeMap<PathBuf, BTreeMap<OsString, Option<u64>>>,
    _directory: tempfile::TempDir,
    /// Locked while in use, so that a sweep knows what was abandoned.
    _lock: File,
}

impl TrustedCopies {
    /// Makes one in `state`, where the process needs it; the `held` paths are mounted separately.
    pub(crate) fn of(
        request: &Request,
        state: &Path,
        held: BTreeSet<PathBuf>,
    ) -> Result<Option<Self>, SandboxError> {
        let fixed: Vec<&Fixed> =
            request.fixed.iter().filter(|fixed| request.can_place(fixed)).collect();
        if fixed.is_empty() {
            return Ok(None);
        }
        let made = Self::make(&request.workspace, &fixed, held, state);
        made.map(Some).map_err(|error| {
            SandboxError::Refused(format!("cannot hold trusted files in their places: {error}"))
        })
    }

    fn make(
        root: &Path,
        fixed: &[&Fixed],
        held: BTreeSet<PathBuf>,
        state: &Path,
    ) -> io::Result<Self> {
        let parent = state.join(VIEWS);
        private_directory(&parent)?;
        let directory = tempfile::Builder::new().prefix("run-").tempdir_in(parent)?;
        let lock = File::open(directory.path())?;
        flock(&lock, FlockOperation::LockShared)?;
        let (view, store) = (directory.path().join("view"), directory.path().join("copies"));
        private_directory(&store)?;
        let mut trusted = Self {
            root: root.to_owned(),
            view,
            mounted: Vec::new(),
            copies: Vec::new(),
            held,
            known: BTreeMap::new(),
            _directory: directory,
            _lock: lock,
        };
        let places: BTreeSet<&Path> =
            fixed.iter().filter_map(|fixed| fixed.place.strip_prefix(root).ok()).collect();
        let ways = places.iter().flat_map(|place| place.ancestors().skip(1).map(Path::to_owned));
        let ways: BTreeSet<PathBuf> = ways.collect();
        for way in &ways {
            trusted.take_over(way, &ways, &places)?;
        }
        for (number, fixed) in fixed.iter().enumerate() {
            let copy = store.join(number.to_string());
            fs::write(&copy, &fixed.bytes)?;
            fs::set_permissions(&copy, fs::Permissions::from_mode(fixed.mode & 0o555))?;
            trusted.copies.push((copy, fixed.place.clone()));
        }
        Ok(trusted)
    }

    /// Makes a directory of ours, parents before children, with all that the one in the workspace holds.
    fn take_over(
        &mut self,
        way: &Path,
        ways: &BTreeSet<PathBuf>,
        places: &BTreeSet<&Path>,
    ) -> io::Result<()> {
        // Another process may put a link there, and what lies behind it is not the workspace's.
        let directory = pinned_path::directory(&self.root.join(way))?;
        let (source, target) = (pinned_path::place(&directory), self.view.join(way));
        fs::create_dir(&target)?;
        let mut known = BTreeMap::new();
        for entry in fs::read_dir(&source)?.flatten() {
            let (name, path) = (entry.file_name(), way.join(entry.file_name()));
            let to = target.join(&name);
            let mut number = None;
            if name == CACHE {
                known.insert(name, None);
                continue;
            }
            if places.contains(path.as_path()) {
                File::create(&to)?;
            } else if !ways.contains(&path) {
                number = self.link(&source.join(&name), &self.root.join(&path), &to)?;
            }
            known.insert(name, number);
            let count = self.known.values().map(BTreeMap::len).sum::<usize>() + known.len();
            if count > MAX_ENTRIES {
                let words =
                    format!("more than {MAX_ENTRIES} files are beside them; move them away");
                return Err(io::Error::other(words));
            }
        }
        let mode = fs::metadata(&source)?.mode() & 0o777;
        fs::set_permissions(&target, fs::Permissions::from_mode(mode | 0o700))?;
        self.known.insert(way.to_owned(), known);
        Ok(())
    }

    /// Shows at `to` what lies at `from`, which has this place in the workspace. Returns the number of a
    /// file that is the same in both.
    fn link(&mut self, from: &Path, place: &Path, to: &Path) -> io::Result<Option<u64>> {
        let Ok(found) = fs::symlink_metadata(from) else { return Ok(None) };
        let kind = found.file_type();
        if kind.is_symlink() {
            symlink(fs::read_link(from)?, to)?;
            return Ok(fs::symlink_metadata(to).ok().map(|link| link.ino()));
        }
        if kind.is_file() && fs::hard_link(from, to).is_ok() {
            return Ok(fs::symlink_metadata(to).ok().map(|file| file.ino()));
        }
        if kind.is_dir() {
            fs::create_dir(to)?;
        } else {
            File::create(to)?;
        }
        if !kind.is_socket() && !self.held.contains(place) {
            self.mounted.push(place.to_owned());
        }
        Ok(None)
    }

    /// The directories of ours below the root with their places, parents first, and whether each may be
    /// written.
    pub(crate) fn directories(&self) -> impl Iterator<Item = (PathBuf, PathBuf, bool)> {
        let ways = self.known.keys().filter(|way| !way.as_os_str().is_empty());
        ways.map(|way| {
            let place = self.root.join(way);
            let is_free = !self.is_held(&place);
            (self.view.join(way), place, is_free)
        })
    }

    /// Returns true if a path is protected, or is in a protected directory.
    pub(crate) fn is_held(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.held.contains(above))
    }

    /// Returns true if a path is a copied directory.
    pub(crate) fn is_directory(&self, path: &Path) -> bool {
        path.strip_prefix(&self.root).is_ok_and(|way| self.known.contains_key(way))
    }

    /// Brings what the process has made, replaced and removed in these directories to the workspace.
    pub(crate) fn settle(&self) -> io::Result<()> {
        let mut met = Vec::new();
        for (way, known) in &self.known {
            let own = self.view.join(way);
            let target = match pinned_path::directory(&self.root.join(way)) {
                // A directory that is gone takes what would come there with it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(_) => {
                    met.push(own);
                    continue;
                }
                Ok(target) => target,
            };
            let source = File::open(&own)?;
            let mut seen = BTreeSet::new();
            for entry in fs::read_dir(&own)? {
                let entry = entry?;
                let name = entry.file_name();
                let number = entry.path().symlink_metadata()?.ino();
                match known.get(&name) {
                    Some(Some(before)) if *before != number => {
                        carry(&source, &target, &name, RenameFlags::empty(), &entry.path())?;
                    }
                    Some(_) => {}
                    None => {
                        let flags = RenameFlags::NOREPLACE;
                        match carry(&source, &target, &name, flags, &entry.path()) {
                            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                                met.push(entry.path());
                            }
                            other => other?,
                        }
                    }
                }
                seen.insert(name);
            }
            for (name, number) in known {
                if number.is_some() && !seen.contains(name) {
                    let _ = unlinkat(&target, name, AtFlags::empty());
                }
            }
        }
        let Some(path) = met.first() else { return Ok(()) };
        let place = path.strip_prefix(&self.view).unwrap_or(path).display();
        Err(io::Error::other(format!("{place} was created in the meantime, and is kept")))
    }
}

/// Moves what has a name in one directory to the same name in another.
fn carry(
    source: &impl AsFd,
    target: &impl AsFd,
    name: &OsString,
    flags: RenameFlags,
    path: &Path,
) -> io::Result<()> {
    match renameat_with(source, name, target, name, flags) {
        Err(Errno::XDEV) if flags.contains(RenameFlags::NOREPLACE) => copy(path, target, name),
        Err(Errno::XDEV) => replace(path, target, name),
        other => Ok(other?),
    }
}

/// Copies what lies at `from` to a directory on another disk, in place of what has the name there.
fn replace(from: &Path, directory: &impl AsFd, name: &OsString) -> io::Result<()> {
    let made = tempfile::tempdir_in(pinned_path::place(directory))?;
    let name_beside = made.path().file_name().unwrap_or_default();
    let beside = pinned_path::directory_in(directory, Path::new(name_beside))?;
    copy(from, &beside, name)?;
    Ok(renameat_with(&beside, name, directory, name, RenameFlags::empty())?)
}

/// Copies what lies at `from` to a directory on another disk, unless something has the name there.
fn copy(from: &Path, directory: &impl AsFd, name: &OsString) -> io::Result<()> {
    let found = fs::symlink_metadata(from)?;
    let to = pinned_path::place(directory).join(name);
    if found.is_dir() {
        fs::create_dir(to)?;
        let made = pinned_path::directory_in(directory, Path::new(name))?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &made, &entry.file_name())?;
        }
    } else if found.is_symlink() {
        symlink(fs::read_link(from)?, to)?;
    } else if found.is_file() {
        let mut file = fs::OpenOptions::new();
        let mut file = file.write(true).create_new(true).mode(found.mode() & 0o777).open(to)?;
        io::copy(&mut File::open(from)?, &mut file)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(place: PathBuf, text: &str) -> Fixed {
        Fixed { place, bytes: text.as_bytes().into(), mode: 0o755 }
    }

    #[test]
    fn changes_of_a_process_reach_the_workspace() {
        let (state, directory) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = directory.path();
        fs::create_dir_all(root.join("tools/deep")).unwrap();
        for name in ["h.sh", "kept", "replaced", "removed", "tools/x.sh", "tools/deep/far"] {
            fs::write(root.join(name), "before").unwrap();
        }
        symlink("kept", root.join("link")).unwrap();
        let files = [fixed(root.join("h.sh"), "before"), fixed(root.join("tools/x.sh"), "before")];
        let trusted =
            TrustedCopies::make(root, &files.each_ref(), BTreeSet::new(), state.path()).unwrap();
        assert_eq!(trusted.mounted, [root.join("tools/deep")]);
        let view = &trusted.view;
        fs::write(view.join("kept"), "written").unwrap();
        fs::write(view.join("tools/made"), "made").unwrap();
        fs::create_dir(view.join("directory")).unwrap();
        fs::write(view.join("other"), "after").unwrap();
        fs::rename(view.join("other"), view.join("replaced")).unwrap();
        fs::remove_file(view.join("removed")).unwrap();
        trusted.settle().unwrap();
        let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
        assert_eq!((read("kept"), read("replaced")), ("written".to_owned(), "after".to_owned()));
        assert_eq!((read("tools/made"), read("h.sh")), ("made".to_owned(), "before".to_owned()));
        assert!(root.join("directory").is_dir() && !root.join("removed").exists());
        assert!(root.join("link").is_symlink() && !root.join("other").exists());
        assert_eq!(read("tools/deep/far"), "before");
    }

    #[test]
    fn copy_between_disks_replaces_only_listed_files() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (from, to) = (from.path(), to.path());
        fs::create_dir(from.join("directory")).unwrap();
        for name in ["one", "directory/two"] {
            fs::write(from.join(name), "theirs").unwrap();
        }
        symlink("one", from.join("link")).unwrap();
        for name in ["one", "link"] {
            fs::write(to.join(name), "mine").unwrap();
        }
        let read = |name: &str| fs::read_to_string(to.join(name)).unwrap();
        let target = pinned_path::directory(to).unwrap();
        for name in ["one", "link"] {
            let error = copy(&from.join(name), &target, &name.into()).unwrap_err();
            assert_eq!((error.kind(), read(name)), (io::ErrorKind::AlreadyExists, "mine".into()));
        }
        copy(&from.join("directory"), &target, &"directory".into()).unwrap();
        assert_eq!(read("directory/two"), "theirs");
        for name in ["one", "link"] {
            replace(&from.join(name), &target, &name.into()).unwrap();
            assert_eq!(read(name), "theirs");
        }
        assert_eq!(fs::read_dir(to).unwrap().count(), 3);
    }

    #[test]
    fn concurrent_files_on_another_disk_are_not_overwritten() {
        let Ok(state) = tempfile::tempdir_in("/dev/shm") else { return };
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::write(root.join("h.sh"), "x").unwrap();
        symlink("h.sh", root.join("link")).unwrap();
        let file = fixed(root.join("h.sh"), "x");
        let trusted = TrustedCopies::make(root, &[&file], BTreeSet::new(), state.path()).unwrap();
        for name in ["out", "made"] {
            fs::write(trusted.view.join(name), "theirs").unwrap();
        }
        symlink("made", trusted.view.join("new")).unwrap();
        fs::rename(trusted.view.join("new"), trusted.view.join("link")).unwrap();
        fs::write(root.join("out"), "mine").unwrap();
        let error = trusted.settle().unwrap_err().to_string();
        assert!(error.starts_with("out was created in the meantime"), "{error}");
        let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
        assert_eq!((read("out"), read("made")), ("mine".to_owned(), "theirs".to_owned()));
        assert_eq!(fs::read_link(root.join("link")).unwrap(), Path::new("made"));
        assert_eq!(fs::read_dir(root).unwrap().count(), 4);
    }

    #[test]
    fn changes_do_not_follow_a_swapped_in_symlink() {
        let (state, directory) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let outside = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir(root.join("tools")).unwrap();
        fs::write(root.join("tools/x.sh"), "x").unwrap();
        let files = [fixed(root.join("tools/x.sh"), "x")];
        let trusted =
            TrustedCopies::make(root, &files.each_ref(), BTreeSet::new(), state.path()).unwrap();
        fs::write(trusted.view.join("tools/made"), "made").unwrap();
        fs::rename(root.join("tools"), root.join("aside")).unwrap();
        symlink(outside.path(), root.join("tools")).unwrap();
        let error = trusted.settle().unwrap_err().to_string();
        assert!(error.starts_with("tools was created in the meantime"), "{error}");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }

    #[test]
    fn copies_do_not_follow_a_swapped_in_symlink() {
        let (state, directory) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let home = tempfile::tempdir().unwrap();
        for name in ["x.sh", "secret"] {
            fs::write(home.path().join(name), "theirs").unwrap();
        }
        symlink(home.path(), directory.path().join("tools")).unwrap();
        let file = fixed(directory.path().join("tools/x.sh"), "x");
        let made = TrustedCopies::make(directory.path(), &[&file], BTreeSet::new(), state.path());
        assert!(made.unwrap_err().to_string().contains("is a symlink or no directory"));
        assert_eq!(fs::metadata(home.path().join("secret")).unwrap().nlink(), 1);
    }
}
