//! When and how large a file was, by which a change of it is noticed without reading it.

use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::FileType;
use serde::{Deserialize, Serialize};

/// Seconds for which a time is not relied upon: as long as the coarsest clock of a file system
/// stands still, a file can change twice and look the same.
const UNSETTLED: i64 = 2;

/// When a file or directory last changed, in seconds, and a hash of its times, its size and which one it
/// is: many of them are read at every start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp(i64, u64);

impl Stamp {
    pub(crate) fn of(found: &FileMetadata) -> Self {
        let mut hasher = DefaultHasher::new();
        (found.times(), [found.length, found.number, found.device]).hash(&mut hasher);
        Self(found.changed.0, hasher.finish())
    }

    /// Returns true if any change after `now` must show in another stamp. Only then may it be kept for
    /// another run. Nobody but the system sets this time, whatever a program makes of the others.
    pub(crate) fn is_settled(self, now: SystemTime) -> bool {
        let now = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        self.0.saturating_add(UNSETTLED) < i64::try_from(now).unwrap_or(i64::MAX)
    }
}

/// The metadata that counts: many are kept at every start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileMetadata {
    pub(crate) mode: u32,
    pub(crate) length: u64,
    pub(crate) number: u64,
    pub(crate) device: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl FileMetadata {
    pub(crate) fn of(found: &Metadata) -> Self {
        Self {
            mode: found.mode(),
            length: found.len(),
            number: found.ino(),
            device: found.dev(),
            written: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }

    /// When it was written, and when anything of it changed: seconds and nanoseconds of each.
    pub(crate) fn times(&self) -> [i64; 4] {
        [self.written.0, self.written.1, self.changed.0, self.changed.1]
    }

    pub(crate) fn is_file(&self) -> bool {
        FileType::from_raw_mode(self.mode) == FileType::RegularFile
    }

    pub(crate) fn is_directory(&self) -> bool {
        FileType::from_raw_mode(self.mode) == FileType::Directory
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn stamp_settles_after_the_clock_resolution() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let stamp = Stamp::of(&FileMetadata::of(&file.as_file().metadata().unwrap()));
        let now = SystemTime::now();
        assert!(!stamp.is_settled(now));
        assert!(!stamp.is_settled(UNIX_EPOCH));
        assert!(stamp.is_settled(now + Duration::from_secs(5)));
    }
}
