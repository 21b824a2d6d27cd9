//! The folder that one commit works in, with notes of the locks that it takes in the repository. What a
//! killed program left of both is removed by the next one. A folder is held as long as its program lives,
//! and a note tells the very file that was made, so no lock of anybody else's git is ever removed.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use contract::broker::BrokerError;
use rustix::fs::{FlockOperation, flock};
use rustix::io::retry_on_intr;
use tempfile::TempDir;

use super::lock::Lock;
use crate::guard::Birth;

const PREFIX: &str = "git-";
/// The notes, in the folder: a path and what tells its file from others, each with a zero after it.
const LOCKS: &str = "locks";

/// A folder of our own that goes when this is dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    folder: TempDir,
    /// Says that its program lives.
    _held: File,
}

impl Folder {
    /// Makes one in `state`, and removes what killed programs left.
    pub(crate) fn make(state: &Path) -> io::Result<Self> {
        remove_left(state);
        loop {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(state)?;
            let held = match File::open(folder.path()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            };
            // Where it cannot be held, nobody else can either, and it is never taken for one that was left.
            let _ = retry_on_intr(|| flock(&held, FlockOperation::LockExclusive));
            // A start beside this one may have taken it for one that was left.
            if folder.path().exists() {
                return Ok(Self { folder, _held: held });
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Locks `target`, which need not exist.
    pub(crate) fn lock(&self, target: &Path) -> Result<Lock, BrokerError> {
        let lock = Lock::take(target)?;
        let noted = lock.birth().map_or(Ok(()), |birth| self.note(lock.path(), &birth));
        noted.map(|()| lock).map_err(|error| {
            BrokerError::Failed(format!("cannot note a lock in {}: {error}", self.path().display()))
        })
    }

    fn note(&self, path: &Path, birth: &Birth) -> io::Result<()> {
        let fields = [path.as_os_str().as_bytes(), birth.words().as_bytes(), b""].join(&0);
        let notes = File::options().append(true).create(true).open(self.path().join(LOCKS));
        notes?.write_all(&fields)
    }
}

/// Removes folders whose program is gone, and the locks that these note.
fn remove_left(state: &Path) {
    for entry in fs::read_dir(state).into_iter().flatten().flatten() {
        let is_one = entry.file_name().as_bytes().starts_with(PREFIX.as_bytes())
            && entry.file_type().is_ok_and(|kind| kind.is_dir());
        let folder = entry.path();
        let Some(held) = File::open(&folder).ok().filter(|_| is_one) else { continue };
        if flock(&held, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        for (path, birth) in noted(&folder) {
            if Birth::of(&path).is_some_and(|found| found.words().as_bytes() == birth) {
                let _ = fs::remove_file(path);
            }
        }
        let _ = fs::remove_dir_all(folder);
    }
}

fn noted(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let bytes = fs::read(folder.join(LOCKS)).unwrap_or_default();
    // What follows the last zero is no whole field.
    let fields: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
    let whole = &fields[..fields.len() - 1];
    let pair = |pair: &[&[u8]]| (OsStr::from_bytes(pair[0]).into(), pair[1].to_vec());
    whole.chunks_exact(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A state folder, and a repository beside it.
    fn places() -> (TempDir, PathBuf, PathBuf) {
        let base = tempfile::tempdir().unwrap();
        let (state, repository) = (base.path().join("state"), base.path().join("repository"));
        fs::create_dir(&state).unwrap();
        fs::create_dir(&repository).unwrap();
        (base, state, repository)
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }

    /// Ends like a program that is killed.
    fn kill(folder: Folder, locks: Vec<Lock>) {
        let Folder { folder, _held: held } = folder;
        locks.into_iter().for_each(std::mem::forget);
        std::mem::forget(folder);
        drop(held);
    }

    #[test]
    fn what_a_killed_program_left_goes_and_nothing_of_a_living_one() {
        let (_base, state, repository) = places();
        let living = Folder::make(&state).unwrap();
        let kept = living.lock(&repository.join("HEAD")).unwrap();
        let killed = Folder::make(&state).unwrap();
        let locks = ["index", "main"].map(|name| killed.lock(&repository.join(name)).unwrap());
        kill(killed, locks.into());
        fs::create_dir(state.join("unfinished")).unwrap();
        let next = Folder::make(&state).unwrap();
        assert_eq!(names(&repository), ["HEAD.lock"]);
        assert_eq!(names(&state).len(), 3, "unfinished, the living one and the next one");
        drop((kept, living, next));
        assert_eq!((names(&repository), names(&state)), (vec![], vec!["unfinished".to_owned()]));
    }

    #[test]
    fn a_lock_of_another_program_in_its_place_stays() {
        let (_base, state, repository) = places();
        let killed = Folder::make(&state).unwrap();
        let lock = killed.lock(&repository.join("index")).unwrap();
        // Held open, so that its number is not given to another file.
        let path = repository.join("index.lock");
        let _open = File::open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "theirs").unwrap();
        kill(killed, vec![lock]);
        drop(Folder::make(&state).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
        assert_eq!(names(&state), [""; 0]);
    }

    #[test]
    fn half_a_note_names_nothing() {
        let (_base, state, repository) = places();
        let killed = Folder::make(&state).unwrap();
        let lock = killed.lock(&repository.join("index")).unwrap();
        let notes = killed.path().join(LOCKS);
        let bytes = fs::read(&notes).unwrap();
        fs::write(&notes, &bytes[..bytes.len() - 1]).unwrap();
        kill(killed, vec![lock]);
        drop(Folder::make(&state).unwrap());
        assert_eq!(names(&repository), ["index.lock"]);
    }
}
