//! What is in a file or a folder, with "nothing is there" and "it cannot be told" kept apart: whoever
//! decides by what is not there has to take the second for the worst. Bounded, only reads, and waits for
//! no pipe.

use std::fs::{self, DirEntry, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{Access, Mode, OFlags, access};
use rustix::io::Errno;

/// What a look says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found<T> {
    /// There is nothing.
    Absent,
    /// This is there.
    Read(T),
    /// Something is there, or could be: of another kind, too large, or closed.
    Unknown,
}

impl<T> Found<T> {
    /// What is there, for those to whom the rest is the same.
    pub(crate) fn known(self) -> Option<T> {
        match self {
            Self::Read(it) => Some(it),
            Self::Absent | Self::Unknown => None,
        }
    }

    /// What a look says by its result.
    pub(crate) fn of(result: io::Result<T>) -> Self {
        match result {
            Ok(it) => Self::Read(it),
            Err(error) if is_absent(&error) => Self::Absent,
            Err(_) => Self::Unknown,
        }
    }
}

/// Whether there is nothing at a path, by what looking at it says.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// What lies at a path itself; of a link the link.
pub(crate) fn kind(path: &Path) -> Found<Metadata> {
    Found::of(fs::symlink_metadata(path))
}

/// What a file of at most so many bytes holds, wherever links lead.
pub(crate) fn file(path: &Path, most: u64) -> Found<Vec<u8>> {
    read(path, most, OFlags::empty())
}

/// The same, where a link is not a file.
pub(crate) fn plain_file(path: &Path, most: u64) -> Found<Vec<u8>> {
    read(path, most, OFlags::NOFOLLOW)
}

/// Opens what is a file itself, and no link to one.
pub(crate) fn open_plain(path: &Path) -> io::Result<File> {
    open(path, OFlags::NOFOLLOW)
}

/// Whether git, a shell or another interpreter could read a file that was not read here: not a program
/// as such, and nothing that is closed to the user and all that runs for them.
pub(crate) fn is_text(path: &Path) -> bool {
    const STARTS: [&[u8]; 4] =
        [b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe"];
    let mut start = [0; 4];
    let read = open(path, OFlags::empty()).and_then(|mut file| file.read_exact(&mut start));
    let is_program = read.is_ok() && STARTS.contains(&start.as_slice());
    !is_program && access(path, Access::READ_OK) != Err(Errno::ACCESS)
}

fn read(path: &Path, most: u64, further: OFlags) -> Found<Vec<u8>> {
    Found::of(open(path, further).and_then(|file| {
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

/// Whether it is the device that is always empty, which people name where they want no file.
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

/// What is in a folder.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) entries: Vec<DirEntry>,
    /// Whether there are more.
    pub(crate) is_cut: bool,
}

/// At most so many entries of a folder, wherever links lead.
pub(crate) fn list(folder: &Path, most: usize) -> Found<Listing> {
    let listed = fs::read_dir(folder).and_then(|mut entries| {
        let some = entries.by_ref().take(most).collect::<io::Result<_>>()?;
        Ok(Listing { entries: some, is_cut: entries.next().is_some() })
    });
    Found::of(listed)
}

/// Whether all entries of a folder, of which there are at most so many, are surely such.
pub(crate) fn holds_only(folder: &Path, most: usize, is_such: impl Fn(&DirEntry) -> bool) -> bool {
    match list(folder, most) {
        Found::Absent => true,
        Found::Read(listing) => !listing.is_cut && listing.entries.iter().all(is_such),
        Found::Unknown => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_absent_read_or_unknown() {
        let base = tempfile::tempdir().unwrap();
        let path = |name: &str| base.path().join(name);
        fs::write(path("file"), "four").unwrap();
        fs::create_dir(path("folder")).unwrap();
        std::os::unix::fs::symlink("file", path("link")).unwrap();
        std::os::unix::fs::symlink("circle", path("circle")).unwrap();
        std::os::unix::fs::symlink("/dev/null", path("null")).unwrap();
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe"), mode).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        for (name, most, wanted) in [
            ("file", 4, Found::Read(b"four".to_vec())),
            ("file", 3, Found::Unknown),
            ("link", 4, Found::Read(b"four".to_vec())),
            ("nothing", 4, Found::Absent),
            ("file/below", 4, Found::Absent),
            ("folder", 4, Found::Unknown),
            ("circle", 4, Found::Unknown),
            ("pipe", 4, Found::Unknown),
            ("socket", 4, Found::Unknown),
            ("/dev/null", 4, Found::Read(Vec::new())),
            ("null", 4, Found::Read(Vec::new())),
            ("/dev/zero", 4, Found::Unknown),
        ] {
            assert_eq!(file(&path(name), most), wanted, "{name}");
        }
        assert_eq!(plain_file(&path("link"), 4), Found::Unknown);
        assert_eq!(plain_file(&path("file"), 4), Found::Read(b"four".to_vec()));
    }

    #[test]
    fn a_folder_is_absent_read_or_unknown() {
        let base = tempfile::tempdir().unwrap();
        let path = |name: &str| base.path().join(name);
        for name in ["folder/a", "folder/b"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        std::os::unix::fs::symlink("circle", path("circle")).unwrap();
        let count = |name: &str, most| list(&path(name), most).known().map(|it| it.entries.len());
        assert_eq!((count("folder", 2), count("folder", 1)), (Some(2), Some(1)));
        assert!(list(&path("folder"), 1).known().unwrap().is_cut);
        assert!(matches!(list(&path("nothing"), 2), Found::Absent));
        assert!(matches!(list(&path("circle"), 2), Found::Unknown));
        assert!(holds_only(&path("nothing"), 2, |_| false));
        assert!(
            holds_only(&path("folder"), 2, |_| true) && !holds_only(&path("folder"), 1, |_| true)
        );
        assert!(!holds_only(&path("circle"), 2, |_| true));
    }
}
