//! What tells from outside whether a file or folder is the one that was seen, untouched. It needs no
//! descriptor, so that it can be had where no file can be opened any more.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Nothing that a confined process can do changes a file and leaves its print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Print {
    file: (u64, u64),
    changed: (i64, i64),
    size: u64,
}

impl Print {
    /// The print of what lies at `path`, if anything does.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::symlink_metadata(path).ok()?;
        Some(Self {
            file: (metadata.dev(), metadata.ino()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            size: metadata.size(),
        })
    }

    /// Its numbers, as a line.
    pub(super) fn encode(&self) -> String {
        let Self { file, changed, size } = self;
        format!("{} {} {} {} {size}", file.0, file.1, changed.0, changed.1)
    }

    /// Reads a line of numbers back.
    pub(super) fn decode(line: &str) -> Option<Self> {
        let mut numbers = line.split(' ');
        let mut next = || numbers.next();
        let file = (next()?.parse().ok()?, next()?.parse().ok()?);
        let changed = (next()?.parse().ok()?, next()?.parse().ok()?);
        Some(Self { file, changed, size: next()?.parse().ok()? })
    }
}

/// Whether nothing could be opened because there is no descriptor left.
pub(crate) fn is_exhausted(error: &io::Error) -> bool {
    let exhausted = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE];
    exhausted.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
