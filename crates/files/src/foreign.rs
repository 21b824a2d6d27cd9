//! Bounded reading of text files and directories that somebody else may have put there: regular files
//! only, never more than a limit, never a wait on a pipe, and inside a boundary if there is one.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::bounded;

/// The directories in which a path's target may be.
#[derive(Clone, Copy)]
pub enum Boundary<'a> {
    Anywhere,
    /// In one of these directories, which are canonical.
    Within(&'a [PathBuf]),
}

impl Boundary<'_> {
    /// Returns true if a canonical path is inside.
    pub fn holds(self, canonical: &Path) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Within(directories) => {
                directories.iter().any(|directory| canonical.starts_with(directory))
            }
        }
    }
}

/// The text of a file, up to a limit.
#[derive(Debug)]
pub struct Text {
    pub text: String,
    pub truncated: bool,
}

/// Reasons why a file is not read.
#[derive(Debug)]
pub enum Refusal {
    Missing,
    /// It is a symbolic link whose target does not exist.
    Dangling,
    Outside(PathBuf),
    /// It is a directory, a pipe, a socket or a device.
    NotRegular,
    NotText,
    /// It is longer than this many bytes.
    TooLong(usize),
    System(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// Reads at most `limit` bytes of a text file, without a byte order mark.
pub fn read(path: &Path, boundary: Boundary<'_>, limit: usize) -> Result<Text, Refusal> {
    let file = open_within(path, boundary).map_err(|refusal| match refusal {
        Refusal::System(error) if is_absence(&error) => match fs::symlink_metadata(path) {
            Ok(_) => Refusal::Dangling,
            Err(error) if is_absence(&error) => Refusal::Missing,
            Err(error) => Refusal::System(error),
        },
        refusal => refusal,
    })?;
    let mut bytes = bounded::head_of(file, limit + 1)?;
    let truncated = bytes.len() > limit;
    bytes.truncate(limit);
    let text = into_text(bytes, truncated)?;
    Ok(Text { text, truncated })
}

/// Reads a text file of at most `limit` bytes.
pub fn read_whole(path: &Path, boundary: Boundary<'_>, limit: usize) -> Result<String, Refusal> {
    let file = read(path, boundary, limit)?;
    if file.truncated { Err(Refusal::TooLong(limit)) } else { Ok(file.text) }
}

/// The entries of a directory, sorted, at most `limit`, and if there are more; none if it is missing.
pub fn entries(directory: &Path, limit: usize) -> io::Result<(Vec<PathBuf>, bool)> {
    let reader = match fs::read_dir(directory) {
        Ok(reader) => reader,
        Err(error) if is_absence(&error) => return Ok((Vec::new(), false)),
        Err(error) => return Err(error),
    };
    let (mut paths, mut is_cut) = (Vec::new(), false);
    for entry in reader {
        is_cut = paths.len() == limit;
        if is_cut {
            break;
        }
        paths.push(entry?.path());
    }
    paths.sort();
    Ok((paths, is_cut))
}

/// Resolves the last part of a path in a canonical directory, without a look at every part of it.
pub fn resolved(path: &Path) -> io::Result<PathBuf> {
    if fs::symlink_metadata(path)?.is_symlink() {
        fs::canonicalize(path)
    } else {
        Ok(path.to_path_buf())
    }
}

/// Returns true if an error says that there is no such file.
pub fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn open_within(path: &Path, boundary: Boundary<'_>) -> Result<File, Refusal> {
    if let Boundary::Anywhere = boundary {
        return open_regular(path);
    }
    let target = fs::canonicalize(path)?;
    if boundary.holds(&target) { open_regular(&target) } else { Err(Refusal::Outside(target)) }
}

fn open_regular(path: &Path) -> Result<File, Refusal> {
    if !fs::metadata(path)?.is_file() {
        return Err(Refusal::NotRegular);
    }
    // Between the look and the opening the file may have become a pipe.
    bounded::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => Refusal::NotRegular,
        _ => Refusal::System(error),
    })
}

fn into_text(mut bytes: Vec<u8>, truncated: bool) -> Result<String, Refusal> {
    if truncated
        && let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    let mut text = String::from_utf8(bytes).map_err(|_| Refusal::NotText)?;
    if text.contains('\0') {
        return Err(Refusal::NotText);
    }
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(path: &Path) -> Refusal {
        read(path, Boundary::Anywhere, 100).unwrap_err()
    }

    #[test]
    fn a_file_is_read_up_to_the_limit_on_a_character_boundary() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        fs::write(&path, "\u{feff}ab漢字").unwrap();
        let whole = read(&path, Boundary::Anywhere, 100).unwrap();
        assert_eq!((whole.text.as_str(), whole.truncated), ("ab漢字", false));
        let cut = read(&path, Boundary::Anywhere, 9).unwrap();
        assert_eq!((cut.text.as_str(), cut.truncated), ("ab漢", true));
        assert_eq!(super::read_whole(&path, Boundary::Anywhere, 100).unwrap(), "ab漢字");
        let refusal = super::read_whole(&path, Boundary::Anywhere, 9).unwrap_err();
        assert!(matches!(refusal, Refusal::TooLong(9)));
    }

    #[test]
    fn non_text_file_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        assert!(matches!(refusal(&path), Refusal::Missing));
        assert!(matches!(refusal(&path.join("b")), Refusal::Missing));
        assert!(matches!(refusal(directory.path()), Refusal::NotRegular));
        fs::write(&path, b"\xff\xfe").unwrap();
        assert!(matches!(refusal(&path), Refusal::NotText));
        fs::write(&path, b"a\0b").unwrap();
        assert!(matches!(refusal(&path), Refusal::NotText));
        let socket = directory.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(matches!(refusal(&socket), Refusal::NotRegular));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn fifo_is_refused_without_blocking() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert!(matches!(refusal(&pipe), Refusal::NotRegular));
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&pipe, &link).unwrap();
        assert!(matches!(refusal(&link), Refusal::NotRegular));
    }

    #[test]
    fn symlinks_are_followed_only_inside_the_boundary() {
        let directory = tempfile::tempdir().unwrap();
        let inside = directory.path().canonicalize().unwrap().join("inside");
        fs::create_dir(&inside).unwrap();
        fs::write(inside.join("a"), "A").unwrap();
        fs::write(directory.path().join("secret"), "S").unwrap();
        std::os::unix::fs::symlink("a", inside.join("near")).unwrap();
        std::os::unix::fs::symlink("../secret", inside.join("far")).unwrap();
        std::os::unix::fs::symlink("nothing", inside.join("dangling")).unwrap();
        std::os::unix::fs::symlink("loop", inside.join("loop")).unwrap();
        let boundary = [inside.clone()];
        let within = |name: &str| read(&inside.join(name), Boundary::Within(&boundary), 100);
        assert_eq!(within("near").unwrap().text, "A");
        assert!(matches!(within("far").unwrap_err(), Refusal::Outside(_)));
        assert!(matches!(within("dangling").unwrap_err(), Refusal::Dangling));
        assert!(matches!(within("loop").unwrap_err(), Refusal::System(_)));
        assert_eq!(read(&inside.join("far"), Boundary::Anywhere, 9).unwrap().text, "S");
    }

    #[test]
    fn entries_are_sorted_and_bounded() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["c", "a", "b"] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        let (all, more) = entries(directory.path(), 3).unwrap();
        assert!(all.is_sorted() && all.len() == 3 && !more);
        let (some, more) = entries(directory.path(), 2).unwrap();
        assert!(some.len() == 2 && more);
        assert!(entries(&directory.path().join("none"), 2).unwrap().0.is_empty());
    }
}
