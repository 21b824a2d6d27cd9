//! Files and directories that only their owner may read. Files that must survive a crash are written
//! under a lock, replaced in one step, and synced before anything relies on them.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use crate::bounded;
use crate::lock::Lock;

/// The largest file that [`read`] accepts, in bytes.
pub const SIZE_LIMIT: u64 = 16 << 20;

/// Says if a file must survive a power failure, or can be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    Synced,
    Unsynced,
}

/// Creates a directory and its parents, unless they exist.
pub fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Returns true if files can be created in a directory, which is created if it is missing.
pub fn is_writable(directory: &Path) -> bool {
    make_directory(directory).is_ok() && could_be_writable(directory)
}

/// Returns true if files could be created in a directory, which need not exist.
pub fn could_be_writable(directory: &Path) -> bool {
    let wanted = Access::WRITE_OK | Access::EXEC_OK;
    let nearest = directory.ancestors().find(|it| it.symlink_metadata().is_ok());
    nearest.is_some_and(|it| it.is_dir() && rustix::fs::access(it, wanted).is_ok())
}

/// Waits for the lock on a file, which need not exist. Its directory is created if it is missing.
pub fn lock(path: &Path) -> io::Result<Lock> {
    path.parent().map_or(Ok(()), make_directory)?;
    Lock::wait(&with_suffix(path, ".lock"))
}

/// Reads a file. Returns none if it does not exist, and an error if a dangling symlink is why.
pub fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let error = match bounded::read(path, SIZE_LIMIT) {
        Ok(Some(bytes)) => return Ok(Some(bytes)),
        Ok(None) => return Err(io::Error::other("it is larger than 16 MiB")),
        Err(error) => error,
    };
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            dangling_symlink(path).map_or(Ok(None), Err)
        }
        ErrorKind::InvalidInput => Err(io::Error::other("it is not a regular file")),
        _ => Err(error),
    }
}

/// Reads the last `limit` bytes of a file of any size; nothing if it does not exist.
pub fn read_end(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut file = match bounded::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(limit)))?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a file for appending and reading. Creates it if it does not exist.
pub fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)
}

/// Appends a line and syncs it. If the last line was cut off by a crash, it is ended first.
pub fn append_line(path: &Path, line: &str) -> io::Result<()> {
    let is_whole = read_end(path, 1)?.iter().all(|byte| *byte == b'\n');
    let mut file = append(path)?;
    file.write_all(format!("{}{line}\n", if is_whole { "" } else { "\n" }).as_bytes())?;
    file.sync_all()?;
    sync_parent(path)
}

/// Creates an empty file, or empties one.
pub fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// Replaces a file in one step: readers see the old or the new one. Only one writer at a time may
/// do so. Its directory is created if it is missing.
pub fn replace(path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    path.parent().map_or(Ok(()), make_directory)?;
    let temporary = with_suffix(path, ".tmp");
    let replaced = remove(&temporary).and_then(|()| {
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&temporary)?;
        file.write_all(bytes)?;
        match durability {
            Durability::Synced => file.sync_all()?,
            Durability::Unsynced => return fs::rename(&temporary, path),
        }
        fs::rename(&temporary, path)?;
        sync_parent(path)
    });
    if replaced.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    replaced
}

/// Removes a file, if there is one.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The error for a symlink in a path whose target does not exist: the missing file may forbid
/// something.
fn dangling_symlink(path: &Path) -> Option<io::Error> {
    let link = path.ancestors().find(|it| it.is_symlink() && !it.exists())?;
    let target = fs::read_link(link).ok()?;
    let (link, target) = (link.display(), target.display());
    Some(io::Error::other(format!(
        "{link} is a link to {target}, and nothing is there; put it there, or remove the link"
    )))
}

fn sync_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |directory| File::open(directory)?.sync_all())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn files_and_directories_are_private() {
        let base = tempfile::tempdir().unwrap();
        let directory = base.path().join("a/b");
        make_directory(&directory).unwrap();
        make_directory(&directory).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&directory), 0o700);
        let path = directory.join("file");
        append(&path).unwrap().write_all(b"one").unwrap();
        replace(&path, b"two", Durability::Synced).unwrap();
        append(&path).unwrap().write_all(b"three").unwrap();
        assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"twothree".to_vec(), 0o600));
        assert!(replace(&directory, b"", Durability::Unsynced).is_err());
        assert_eq!(fs::read_dir(base.path().join("a")).unwrap().count(), 1);
        remove(&path).unwrap();
        remove(&path).unwrap();
    }

    #[test]
    fn replace_creates_the_directory_and_follows_no_symlink() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("new/state.json");
        let _lock = lock(&path).unwrap();
        fs::write(base.path().join("precious"), "precious").unwrap();
        symlink("../precious", base.path().join("new/state.json.tmp")).unwrap();
        replace(&path, b"one", Durability::Synced).unwrap();
        assert_eq!(read(&path).unwrap().unwrap(), b"one");
        assert_eq!(fs::read(base.path().join("precious")).unwrap(), b"precious");
        assert!(!base.path().join("new/state.json.tmp").is_symlink());
    }

    #[test]
    fn appended_line_is_separate_from_one_cut_off() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        fs::write(&path, "one\ntw").unwrap();
        append_line(&path, "three").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntw\nthree\n");
        assert_eq!(read_end(&path, 6).unwrap(), b"three\n");
    }

    #[test]
    fn missing_file_is_none_and_dangling_symlink_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        assert!(read(&path).unwrap().is_none());
        symlink("nowhere", &path).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("is a link to nowhere, and nothing is there"), "{error}");
    }

    #[test]
    fn large_files_and_directories_are_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("large");
        File::create(&path).unwrap().set_len(SIZE_LIMIT + 1).unwrap();
        assert_eq!(read(&path).unwrap_err().to_string(), "it is larger than 16 MiB");
        let error = read(directory.path()).unwrap_err();
        assert_eq!(error.to_string(), "it is not a regular file");
    }
}
