//! Stamps, by which a change of a file is noticed without reading it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::Stat;
use serde::{Deserialize, Serialize};

/// A file that changed more recently than this may change again without another stamp.
const RECENT: Duration = Duration::from_millis(50);

/// Seconds for which a time is not relied upon by another run: as long as the coarsest clock of a
/// file system stands still, a file can change twice and look the same.
const UNSETTLED: u64 = 2;

/// A stamp for caches that outlive the run: the second of the last change, and a number that differs
/// if the file does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp(u64, u64);

impl Stamp {
    pub fn of(stat: &Stat) -> Self {
        Self(stat.st_ctime.try_into().unwrap_or(0), stamp(stat))
    }

    /// Returns true if any change after `now` must show in another stamp. Only the system sets this
    /// time, whatever a program makes of the others.
    pub fn is_settled(self, now: SystemTime) -> bool {
        let now = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        self.0.saturating_add(UNSETTLED) < now
    }
}

/// Returns a number that differs if the file, its size, its times or its permissions do.
pub fn stamp(stat: &Stat) -> u64 {
    let times = (stat.st_mtime, stat.st_mtime_nsec, stat.st_ctime, stat.st_ctime_nsec);
    let mut hasher = DefaultHasher::new();
    (stat.st_ino, stat.st_dev, stat.st_size, stat.st_mode, times).hash(&mut hasher);
    hasher.finish()
}

/// Returns true if a file changed so shortly before `now` that its stamp proves nothing.
pub fn is_recent(stat: &Stat, now: SystemTime) -> bool {
    let seconds = Duration::from_secs(stat.st_ctime.try_into().unwrap_or(0));
    // The width of the number differs between systems.
    let nanoseconds = u64::try_from(i128::from(stat.st_ctime_nsec)).unwrap_or(0);
    UNIX_EPOCH + seconds + Duration::from_nanos(nanoseconds) + RECENT > now
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_stamp_differs_after_a_change() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("file");
        fs::write(&path, "one").unwrap();
        let first = rustix::fs::lstat(&path).unwrap();
        assert_eq!(stamp(&first), stamp(&rustix::fs::lstat(&path).unwrap()));
        assert!(is_recent(&first, SystemTime::now()));
        assert!(!is_recent(&first, SystemTime::now() + RECENT));
        fs::write(&path, "three").unwrap();
        assert_ne!(stamp(&first), stamp(&rustix::fs::lstat(&path).unwrap()));
        let stamp = Stamp::of(&first);
        assert!(!stamp.is_settled(SystemTime::now()) && !stamp.is_settled(UNIX_EPOCH));
        assert!(stamp.is_settled(SystemTime::now() + Duration::from_secs(5)));
    }
}
