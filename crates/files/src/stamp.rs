//! Stamps, by which a change of a file is noticed without reading it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::Stat;

/// A file that changed no longer ago than this may change again without another stamp.
const RECENT: Duration = Duration::from_millis(50);

/// Returns a number that differs if the file, its size, its times or its permissions do.
pub fn stamp(stat: &Stat) -> u64 {
    let facts = [
        number(stat.st_ino),
        number(stat.st_dev),
        number(stat.st_size),
        number(stat.st_mode),
        number(stat.st_mtime),
        number(stat.st_mtime_nsec),
        number(stat.st_ctime),
        number(stat.st_ctime_nsec),
    ];
    let mix = |stamp: u64, fact: u64| {
        let mixed = (stamp ^ fact).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 29)
    };
    facts.into_iter().fold(0x243f_6a88_85a3_08d3, mix)
}

/// Returns true if a file changed so shortly before `now` that its stamp proves nothing.
pub fn is_recent(stat: &Stat, now: SystemTime) -> bool {
    let changed = Duration::from_secs(number(stat.st_ctime));
    let changed = changed + Duration::from_nanos(number(stat.st_ctime_nsec));
    UNIX_EPOCH + changed + RECENT > now
}

/// A number whose width differs between systems.
fn number<T: TryInto<u64>>(number: T) -> u64 {
    number.try_into().unwrap_or(0)
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
    }
}
