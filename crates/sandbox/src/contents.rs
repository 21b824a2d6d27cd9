//! The contents of files and directories. "Nothing is there" and "it cannot be read" are different
//! results: a caller that decides by absence must treat the second as the worst case. Bounded, only
//! reads, and waits for no pipe.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// The result of reading.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReadResult<T> {
    /// There is nothing.
    Absent,
    /// This is there.
    Read(T),
    /// Something is there, or could be: of another kind, too large, or closed.
    Unknown,
}

impl<T> ReadResult<T> {
    /// The contents, for callers that treat the other results alike.
    pub(crate) fn known(self) -> Option<T> {
        match self {
            Self::Read(it) => Some(it),
            Self::Absent | Self::Unknown => None,
        }
    }

    pub(crate) fn of(result: io::Result<T>) -> Self {
        match result {
            Ok(it) => Self::Read(it),
            Err(error) if is_absent(&error) => Self::Absent,
            Err(_) => Self::Unknown,
        }
    }
}

/// Returns true if the error says that nothing is at a path.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The contents of a file of at most `most` bytes. Follows symlinks.
pub(crate) fn file(path: &Path, most: u64) -> ReadResult<Vec<u8>> {
    read(path, most, OFlags::empty())
}

/// Like [`file`], but a symlink is not a file.
pub(crate) fn plain_file(path: &Path, most: u64) -> ReadResult<Vec<u8>> {
    read(path, most, OFlags::NOFOLLOW)
}

fn read(path: &Path, most: u64, further: OFlags) -> ReadResult<Vec<u8>> {
    ReadResult::of(open(path, further).and_then(|file| {
        if is_null(&file.metadata()?) {
            return Ok(Vec::new());
        }
        let too_large = || io::Error::from(ErrorKind::FileTooLarge);
        if file.metadata()?.len() > most {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        // It could grow while it is read.
        let length = file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        let is_whole = u64::try_from(length).is_ok_and(|length| length <= most);
        if is_whole { Ok(bytes) } else { Err(too_large()) }
    }))
}

/// Returns true for `/dev/null`, which users name if they want no file.
fn is_null(found: &Metadata) -> bool {
    let is_same = |null: Metadata| null.rdev() == found.rdev();
    found.file_type().is_char_device() && fs::metadata("/dev/null").is_ok_and(is_same)
}

/// Opens what is a file, or always empty.
fn open(path: &Path, further: OFlags) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | further;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let found = file.metadata()?;
    if found.is_file() || is_null(&found) { Ok(file) } else { Err(ErrorKind::InvalidInput.into()) }
}

/// Creates a directory with its parents for this user alone, unless it exists.
pub(crate) fn private_directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_absent_read_or_unknown() {
        let base = tempfile::tempdir().unwrap();
        let path = |name: &str| base.path().join(name);
        fs::write(path("file"), "four").unwrap();
        fs::create_dir(path("directory")).unwrap();
        std::os::unix::fs::symlink("file", path("link")).unwrap();
        std::os::unix::fs::symlink("circle", path("circle")).unwrap();
        std::os::unix::fs::symlink("/dev/null", path("null")).unwrap();
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe"), mode).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        for (name, most, wanted) in [
            ("file", 4, ReadResult::Read(b"four".to_vec())),
            ("file", 3, ReadResult::Unknown),
            ("link", 4, ReadResult::Read(b"four".to_vec())),
            ("nothing", 4, ReadResult::Absent),
            ("file/below", 4, ReadResult::Absent),
            ("directory", 4, ReadResult::Unknown),
            ("circle", 4, ReadResult::Unknown),
            ("pipe", 4, ReadResult::Unknown),
            ("socket", 4, ReadResult::Unknown),
            ("/dev/null", 4, ReadResult::Read(Vec::new())),
            ("null", 4, ReadResult::Read(Vec::new())),
            ("/dev/zero", 4, ReadResult::Unknown),
        ] {
            assert_eq!(file(&path(name), most), wanted, "{name}");
        }
        assert_eq!(plain_file(&path("link"), 4), ReadResult::Unknown);
        assert_eq!(plain_file(&path("file"), 4), ReadResult::Read(b"four".to_vec()));
    }
}
