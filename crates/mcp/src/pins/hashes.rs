//! The hashes of files, so that one which has not changed since is read once: programs can be large,
//! and are looked at before each call that would start them.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio_util::sync::CancellationToken;

/// Clocks of file systems do not tell moments apart that are closer than this.
const COARSE: Duration = Duration::from_secs(2);
/// The largest file that is read. A larger one is told apart by its size and its last change: to read
/// it would hold up a call for seconds.
const LARGEST: u64 = 1 << 30;
/// What is read at a time, before it is asked whether anybody still waits.
const PIECE: usize = 1 << 20;

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
#[derive(Clone, Default)]
pub(crate) struct Hashes {
    known: Arc<Mutex<BTreeMap<PathBuf, (Stamp, String)>>>,
    /// Fires when nobody waits for one any more.
    unwanted: CancellationToken,
}

impl Hashes {
    /// The same for somebody who may stop to wait.
    pub(crate) fn until(&self, unwanted: CancellationToken) -> Self {
        Self { known: Arc::clone(&self.known), unwanted }
    }

    /// The hash of a file that was opened.
    pub(super) fn of(&self, path: &Path, file: &File) -> io::Result<String> {
        let before = Stamp::of(&file.metadata()?);
        if before.size > LARGEST {
            let Stamp { place, size, changed } = before;
            return Ok(format!("not read: {place:?} of {size} bytes, changed {changed:?}"));
        }
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((stamp, hash)) = known().get(path)
            && *stamp == before
        {
            return Ok(hash.clone());
        }
        let is_old = before.is_old();
        let hash = self.read(file)?;
        if is_old && Stamp::of(&file.metadata()?) == before {
            known().insert(path.to_owned(), (before, hash.clone()));
        }
        Ok(hash)
    }

    fn read(&self, file: &File) -> io::Result<String> {
        let mut hasher = blake3::Hasher::new();
        // It may grow meanwhile, even without an end.
        let mut rest = file.take(LARGEST);
        let mut piece = vec![0; PIECE];
        loop {
            if self.unwanted.is_cancelled() {
                return Err(io::Error::other("nobody waits for it"));
            }
            match rest.read(&mut piece) {
                Ok(0) => return Ok(hasher.finalize().to_hex().to_string()),
                Ok(count) => hasher.update(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_again_once_it_has_changed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        let hashes = Hashes::default();
        let of = |text: &str| {
            std::fs::write(&path, text).unwrap();
            hashes.of(&path, &File::open(&path).unwrap()).unwrap()
        };
        let first = of("1");
        assert_ne!(first, of("2"), "nobody waited in between");
        assert_eq!(first, of("1"));
        assert!(hashes.known.lock().unwrap().is_empty(), "what is young is not kept");
    }

    #[test]
    fn a_file_that_has_not_changed_is_not_read_again() {
        let path = std::env::current_exe().unwrap();
        let (hashes, file) = (Hashes::default(), || File::open(&path).unwrap());
        let stamp = Stamp::of(&file().metadata().unwrap());
        hashes.known.lock().unwrap().insert(path.clone(), (stamp.clone(), "kept".to_owned()));
        assert_eq!(hashes.of(&path, &file()).unwrap(), "kept");
        let other = Stamp { size: 0, ..stamp };
        hashes.known.lock().unwrap().insert(path.clone(), (other, "kept".to_owned()));
        assert_ne!(hashes.of(&path, &file()).unwrap(), "kept");
    }

    #[test]
    fn a_file_that_is_too_large_to_be_read_is_told_apart_by_its_size() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("large");
        let file = File::create(&path).unwrap();
        let hashes = Hashes::default();
        // To read this would take hours.
        file.set_len(1 << 42).unwrap();
        let first = hashes.of(&path, &file).unwrap();
        assert_eq!(first, hashes.of(&path, &file).unwrap());
        file.set_len((1 << 42) + 1).unwrap();
        assert_ne!(first, hashes.of(&path, &file).unwrap());
    }

    #[test]
    fn nothing_is_read_once_nobody_waits_for_it() {
        let path = std::env::current_exe().unwrap();
        let unwanted = CancellationToken::new();
        let hashes = Hashes::default().until(unwanted.clone());
        let of = || hashes.of(&path, &File::open(&path).unwrap());
        unwanted.cancel();
        assert!(of().is_err());
        assert!(hashes.known.lock().unwrap().is_empty());
    }
}
