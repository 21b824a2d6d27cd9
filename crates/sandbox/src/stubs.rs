//! Empty folders that stand in for protected names that do not exist, so that a read-only mount
//! can lie on them. They are recorded outside of the workspace, shared by the sandboxes that run
//! in it at the same time, and removed by the last of them, or by the next start after a crash.
//!
//! Git shows no empty folder, so a stub is never litter in its status. Stubs are moved in and out
//! of a store of spare ones where they can be: removing a folder can cost milliseconds.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use contract::sandbox::SandboxError;
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};

use crate::choose::Failure;
use crate::guard::Birth;
use crate::held::Held;
use crate::nested::Nested;
use crate::protected::{self, Protected, is_empty_folder};

/// How many spare stubs are kept.
const SPARES: usize = 64;
/// How long a record of what is not there is kept.
pub(crate) const FORGOTTEN: Duration = Duration::from_hours(24 * 30);

/// Where records of stubs are kept.
#[derive(Clone, Debug)]
pub(crate) struct Stubs {
    directory: PathBuf,
}

/// The stubs under one root, kept while this lives.
#[derive(Debug)]
pub(crate) struct Hold {
    /// Protected paths that the workspace has.
    pub(crate) present: Vec<PathBuf>,
    /// Protected paths that it lacks, with a stub at each.
    pub(crate) absent: Vec<PathBuf>,
    /// Folders in which nothing is to be made.
    pub(crate) empty: Vec<PathBuf>,
    /// Folders on the way to those that lie deeper.
    pub(crate) way: Vec<PathBuf>,
    /// Protected paths for which there should be no mount.
    pub(crate) more: Vec<PathBuf>,
    pub(crate) root: PathBuf,
    /// What stands at the protected paths, stubs included.
    births: BTreeMap<PathBuf, Birth>,
    stubs: Stubs,
    record: PathBuf,
    file: File,
}

impl Stubs {
    /// Keeps records in `state`, which need not exist yet.
    pub(crate) fn new(state: &Path) -> Self {
        Self { directory: state.join("stubs") }
    }

    /// Finds the protected paths under `root`, deeper in which `nested` was found, and makes an empty
    /// folder at each absent one.
    pub(crate) fn hold(&self, root: &Path, nested: &Nested) -> Result<Hold, Failure> {
        let refused = |error| Failure::Fatal(SandboxError::Refused(self.fault(&error)));
        private_directory(&self.directory).map_err(refused)?;
        let _mutex = self.lock().map_err(refused)?;
        // Under the lock: another sandbox must not remove a stub between the look and the hold.
        let found = protected::find(root, nested)?;
        self.make(root, found).map_err(|error| match error.kind() {
            // Something else is by now in the place of the root, of a folder in it, or of a name.
            io::ErrorKind::NotADirectory
            | io::ErrorKind::NotFound
            | io::ErrorKind::AlreadyExists => Failure::Exchanged(self.fault(&error)),
            _ => refused(error),
        })
    }

    fn make(&self, root: &Path, found: Protected) -> io::Result<Hold> {
        let record = self.directory.join(record_name(root));
        let mut file = open(&record)?;
        let recorded = read(&mut file)?;
        let mut lines = Vec::new();
        for path in &found.absent {
            lines.extend_from_slice(path.as_os_str().as_bytes());
            lines.push(0);
        }
        file.seek(SeekFrom::End(0))?;
        file.write_all(&lines)?;
        let mut spares = self.spares();
        let mut placed = Vec::new();
        for path in found.absent {
            match place(&path, &mut spares) {
                Ok(()) => placed.push(path),
                Err(error) if is_out_of_reach(&path, &error) => {}
                Err(error) => {
                    let text = format!(
                        "{}: {error}; let that folder be written, or use read-only access",
                        path.display()
                    );
                    return Err(io::Error::new(error.kind(), text));
                }
            }
        }
        flock(&file, FlockOperation::LockShared)?;
        let is_stub = |path: &PathBuf| recorded.contains(path) && is_empty_folder(path);
        let (stubs, present): (Vec<_>, Vec<_>) = found.present.into_iter().partition(is_stub);
        let absent = [stubs, placed].concat();
        let (empty, way, more, root) = (found.empty, found.way, found.more, root.to_owned());
        let births = present.iter().chain(&absent);
        let births = births.filter_map(|path| Some((path.clone(), Birth::of(path)?))).collect();
        let stubs = self.clone();
        Ok(Hold { present, absent, empty, way, more, root, births, stubs, record, file })
    }

    fn fault(&self, error: &io::Error) -> String {
        format!(
            "cannot protect the names that do not exist yet: {error} (records are kept in {})",
            self.directory.display()
        )
    }

    /// Removes the stubs that a killed process left anywhere.
    pub(crate) fn sweep(&self) -> io::Result<()> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let records = entries.map(|entry| entry.path()).filter(|path| !path.ends_with("lock"));
        let records: Vec<PathBuf> = records.collect();
        if records.is_empty() {
            return Ok(());
        }
        let _mutex = self.lock()?;
        for record in records {
            self.remove_if_unused(&record, &mut open(&record)?)?;
        }
        Ok(())
    }

    fn store(&self) -> PathBuf {
        self.directory.with_extension("spare")
    }

    fn spares(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.store());
        entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    }

    fn remove_if_unused(&self, record: &Path, file: &mut File) -> io::Result<()> {
        if flock(&*file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(());
        }
        private_directory(&self.store())?;
        let taken = self.spares();
        let free = (0..SPARES).map(|number| self.store().join(number.to_string()));
        let mut free = free.filter(|place| !taken.contains(place));
        let mut is_left = false;
        for path in read(file)? {
            let held = match Held::of(&path) {
                Ok(held) => held,
                Err(error) => {
                    // A disk that is not there today may be there tomorrow. Where a link leads there, what
                    // lies behind it was never a stub.
                    is_left |= error.kind() == io::ErrorKind::NotFound && !is_old(file);
                    continue;
                }
            };
            let path = held.path();
            // Only an empty folder goes: whatever somebody has put there stays.
            let is_stored =
                is_empty_folder(path) && free.next().is_some_and(|place| put_away(path, &place));
            let removed = if is_stored { Ok(()) } else { fs::remove_dir(path) };
            is_left |= removed.is_err_and(|it| it.kind() == io::ErrorKind::PermissionDenied);
        }
        // What lies in a folder that a command has closed is removed by a later sweep.
        if is_left { Ok(()) } else { fs::remove_file(record) }
    }

    fn lock(&self) -> io::Result<File> {
        let file = open(&self.directory.join("lock"))?;
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    }
}

impl Hold {
    /// The stubs, with what tells each from another folder.
    pub(crate) fn stubs(&self) -> impl Iterator<Item = (&PathBuf, &Birth)> {
        self.absent.iter().filter_map(|path| Some((path, self.births.get(path)?)))
    }

    /// The protected paths at which something else stands than before, those first that were absent:
    /// where the host moves or removes what a mount lies on, the mount is gone.
    pub(crate) fn exchanged(&self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let is_other = |path: &&PathBuf| {
            let birth = Birth::of(path);
            birth.is_some() && birth.as_ref() != self.births.get(*path)
        };
        // Another sandbox may have put its own stub there.
        let is_planted = |path: &&PathBuf| is_other(path) && !is_empty_folder(path);
        let planted = self.absent.iter().filter(is_planted).cloned().collect();
        (planted, self.present.iter().filter(is_other).cloned().collect())
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // What cannot be removed here is removed by the sweep of a later start.
        if let Ok(_mutex) = self.stubs.lock() {
            let _ = flock(&self.file, FlockOperation::Unlock);
            let _ = self.stubs.remove_if_unused(&self.record, &mut self.file);
        }
    }
}

/// Creates `path` and its parents for this user alone.
pub(crate) fn private_directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Whether a record is so old that what it speaks of will not come back.
fn is_old(record: &File) -> bool {
    let noted = record.metadata().and_then(|found| found.modified());
    noted.is_ok_and(|noted| noted.elapsed().is_ok_and(|age| age > FORGOTTEN))
}

/// Whether nothing can come to stand at `path`, neither a stub nor what a command would plant: the disk
/// cannot be written, or its folder is another user's, who alone could open it.
fn is_out_of_reach(path: &Path, error: &io::Error) -> bool {
    let owner = || fs::symlink_metadata(path.parent()?).ok().map(|folder| folder.uid());
    match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem => true,
        io::ErrorKind::PermissionDenied => {
            owner().is_some_and(|owner| owner != rustix::process::geteuid().as_raw())
        }
        _ => false,
    }
}

/// Puts a stub at `path`: a spare one, or a fresh one where those are on another disk.
fn place(path: &Path, spares: &mut Vec<PathBuf>) -> io::Result<()> {
    let held = Held::of(path)?;
    while let Some(spare) = spares.pop() {
        if !is_empty_folder(&spare) {
            continue;
        }
        if move_to(&spare, held.path()).is_ok() {
            return Ok(());
        }
        spares.clear();
    }
    fs::DirBuilder::new().mode(0o700).create(held.path())
}

/// Moves a stub to the store, and back if somebody used it at that moment.
fn put_away(path: &Path, place: &Path) -> bool {
    if move_to(path, place).is_err() {
        return false;
    }
    is_empty_folder(place) || move_to(place, path).is_ok()
}

fn move_to(from: &Path, to: &Path) -> io::Result<()> {
    Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn read(file: &mut File) -> io::Result<Vec<PathBuf>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    let complete = bytes.iter().rposition(|&byte| byte == 0).unwrap_or(0);
    Ok(bytes[..complete]
        .split(|&byte| byte == 0)
        .filter(|path| !path.is_empty())
        .map(|path| PathBuf::from(std::ffi::OsString::from_vec(path.to_vec())))
        .collect())
}

/// FNV-1a over the path: short, and the same in every version of the program.
fn record_name(root: &Path) -> String {
    let hash = root.as_os_str().as_bytes().iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        _folder: tempfile::TempDir,
        stubs: Stubs,
        root: PathBuf,
    }

    impl Place {
        fn hold(&self, root: &Path) -> Hold {
            self.stubs.hold(root, &crate::nested::look(root, None)).unwrap()
        }
    }

    #[test]
    fn a_link_in_the_place_of_a_root_is_a_reason_to_look_again() {
        let place = place();
        let link = place.root.with_file_name("link");
        std::os::unix::fs::symlink(&place.root, &link).unwrap();
        let held = place.stubs.hold(&link, &Nested::default());
        assert!(matches!(held, Err(Failure::Exchanged(_))), "{held:?}");
        assert_eq!(fs::read_dir(&place.root).unwrap().count(), 0);
    }

    fn place() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir(&root).unwrap();
        Place { stubs: Stubs::new(&folder.path().join("state")), root, _folder: folder }
    }

    #[test]
    fn the_last_of_two_removes_the_stubs() {
        let place = place();
        let name = place.root.join(".vscode");
        let first = place.hold(&place.root);
        let second = place.hold(&place.root);
        assert!(first.absent.contains(&name) && second.absent.contains(&name));
        drop(first);
        assert!(name.is_dir());
        drop(second);
        assert_eq!(fs::read_dir(&place.root).unwrap().count(), 0);
    }

    #[test]
    fn a_sweep_removes_what_a_crash_left_and_nothing_in_use() {
        let place = place();
        let other = place.root.join("other");
        fs::create_dir(&other).unwrap();
        let hold = place.hold(&place.root);
        let crashed = place.hold(&other);
        // A killed process releases its locks and runs no destructor.
        flock(&crashed.file, FlockOperation::Unlock).unwrap();
        std::mem::forget(crashed);
        place.stubs.sweep().unwrap();
        assert!(place.root.join(".idea").is_dir());
        assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
        drop(hold);
        assert!(!place.root.join(".idea").exists());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn nothing_is_made_or_removed_where_a_link_leads() {
        use std::os::unix::fs::symlink;
        let place = place();
        let (within, home) = (place.root.join("x"), place.root.join("home"));
        fs::create_dir(&within).unwrap();
        let hold = place.hold(&within);
        for path in &hold.absent {
            fs::create_dir_all(home.join(path.strip_prefix(&within).unwrap())).unwrap();
        }
        let count = fs::read_dir(&home).unwrap().count();
        fs::rename(&within, place.root.join("aside")).unwrap();
        symlink(&home, &within).unwrap();
        assert!(super::place(&within.join("new"), &mut Vec::new()).is_err());
        assert!(
            super::place(&within.join("new"), &mut vec![place.root.join("aside/.idea")]).is_err()
        );
        flock(&hold.file, FlockOperation::Unlock).unwrap();
        std::mem::forget(hold);
        place.stubs.sweep().unwrap();
        assert_eq!(fs::read_dir(&home).unwrap().count(), count);
    }

    #[test]
    fn what_cannot_be_removed_is_not_forgotten() {
        use std::os::unix::fs::PermissionsExt;
        let place = place();
        let close =
            |mode| fs::set_permissions(&place.root, fs::Permissions::from_mode(mode)).unwrap();
        let hold = place.hold(&place.root);
        close(0o600);
        drop(hold);
        close(0o755);
        place.stubs.sweep().unwrap();
        assert_eq!(fs::read_dir(&place.root).unwrap().count(), 0);
    }

    #[test]
    fn stubs_are_used_again() {
        use std::os::unix::fs::MetadataExt;
        let place = place();
        let inodes = || {
            let hold = place.hold(&place.root);
            hold.absent.iter().map(|path| fs::metadata(path).unwrap().ino()).collect::<Vec<_>>()
        };
        let (mut first, mut second) = (inodes(), inodes());
        first.sort_unstable();
        second.sort_unstable();
        assert_eq!(first, second);
        assert_eq!(place.stubs.spares().len(), first.len());
    }

    #[test]
    fn a_spare_that_is_no_empty_folder_is_never_used() {
        let place = place();
        drop(place.hold(&place.root));
        for spare in place.stubs.spares() {
            fs::write(spare.join("planted"), "x").unwrap();
        }
        let hold = place.hold(&place.root);
        assert!(hold.absent.iter().all(|path| is_empty_folder(path)));
    }

    #[test]
    fn what_somebody_put_into_a_stub_stays() {
        let place = place();
        let name = place.root.join(".vscode");
        let hold = place.hold(&place.root);
        fs::write(name.join("settings.json"), "{}").unwrap();
        drop(hold);
        assert!(name.join("settings.json").is_file());
        assert_eq!(fs::read_dir(&place.root).unwrap().count(), 1);
    }
}
