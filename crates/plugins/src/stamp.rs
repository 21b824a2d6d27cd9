//! When and how large a file was, by which a change of it is noticed without reading it.

use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// Seconds for which a time is not relied upon: as long as the coarsest clock of a file system
/// stands still, a file can change twice and look the same.
const UNSETTLED: i64 = 2;

/// When a file or folder last changed, in seconds, and a hash of its times, its size and which one it
/// is: many of them are read at every start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp(i64, u64);

impl Stamp {
    /// The stamp of what was found.
    pub(crate) fn of(found: &Metadata) -> Self {
        let times = [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()];
        let mut hasher = DefaultHasher::new();
        (times, [found.len(), found.ino(), found.dev()]).hash(&mut hasher);
        Self(found.ctime(), hasher.finish())
    }

    /// Whether any change after `now` must show in another stamp. Only then may it be kept for
    /// another run. Nobody but the system sets this time, whatever a program makes of the others.
    pub(crate) fn is_settled(self, now: SystemTime) -> bool {
        let now = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        self.0.saturating_add(UNSETTLED) < i64::try_from(now).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_stamp_settles_when_no_clock_can_stand_still_any_more() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let stamp = Stamp::of(&file.as_file().metadata().unwrap());
        let now = SystemTime::now();
        assert!(!stamp.is_settled(now));
        assert!(!stamp.is_settled(UNIX_EPOCH));
        assert!(stamp.is_settled(now + Duration::from_secs(5)));
    }
}
