//! The hashes of files, so that one which has not changed since is read once: programs can be large,
//! and are looked at before each call that would start them.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Clocks of file systems do not tell moments apart that are closer than this.
const COARSE: Duration = Duration::from_secs(2);

/// What becomes another with every write, whoever writes: nobody sets the time of the last change.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    place: (u64, u64),
    size: u64,
    changed: (i64, i64),
}

impl Stamp {
    fn of(about: &Metadata) -> Self {
        Self {
            place: (about.dev(), about.ino()),
            size: about.size(),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }

    /// Whether a change from now on would show.
    fn is_old(&self) -> bool {
        let changed = u64::try_from(self.changed.0).map(Duration::from_secs).unwrap_or_default();
        SystemTime::now().duration_since(UNIX_EPOCH + changed).is_ok_and(|age| age > COARSE)
    }
}

/// Hashes of files with what told them apart.
#[derive(Default)]
pub(crate) struct Hashes(Mutex<BTreeMap<PathBuf, (Stamp, String)>>);

impl Hashes {
    /// The hash of a file that was opened.
    pub(super) fn of(&self, path: &Path, file: &File) -> io::Result<String> {
        let before = Stamp::of(&file.metadata()?);
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((stamp, hash)) = known().get(path)
            && *stamp == before
        {
            return Ok(hash.clone());
        }
        let is_old = before.is_old();
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(file)?;
        let hash = hasher.finalize().to_hex().to_string();
        if is_old && Stamp::of(&file.metadata()?) == before {
            known().insert(path.to_owned(), (before, hash.clone()));
        }
        Ok(hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_again_once_it_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let hashes = Hashes::default();
        let of = |text: &str| {
            std::fs::write(&path, text).unwrap();
            hashes.of(&path, &File::open(&path).unwrap()).unwrap()
        };
        let first = of("1");
        assert_ne!(first, of("2"), "nobody waited in between");
        assert_eq!(first, of("1"));
        assert!(hashes.0.lock().unwrap().is_empty(), "what is young is not kept");
    }

    #[test]
    fn a_file_that_has_not_changed_is_not_read_again() {
        let path = std::env::current_exe().unwrap();
        let (hashes, file) = (Hashes::default(), || File::open(&path).unwrap());
        let stamp = Stamp::of(&file().metadata().unwrap());
        hashes.0.lock().unwrap().insert(path.clone(), (stamp.clone(), "kept".to_owned()));
        assert_eq!(hashes.of(&path, &file()).unwrap(), "kept");
        let other = Stamp { size: 0, ..stamp };
        hashes.0.lock().unwrap().insert(path.clone(), (other, "kept".to_owned()));
        assert_ne!(hashes.of(&path, &file()).unwrap(), "kept");
    }
}
