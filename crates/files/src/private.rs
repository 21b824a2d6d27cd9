//! Files and directories that only their owner may read.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Says if a file must outlive a power failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// It must, so it is synced.
    Synced,
    /// It can be made again.
    Unsynced,
}

/// Creates a directory and its parents, unless they exist.
pub fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Opens a file for appending and reading. Creates it if it does not exist.
pub fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)
}

/// Creates an empty file, or empties one.
pub fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// Replaces a file in one step: readers see the old or the new one. Only one writer at a time may
/// do so.
pub fn replace(path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    let temporary = PathBuf::from(name);
    let replaced = create(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        if durability == Durability::Synced {
            file.sync_all()?;
        }
        fs::rename(&temporary, path)
    });
    if replaced.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    replaced
}

/// Removes a file, if there is one.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn files_and_directories_are_closed_to_others() {
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
}
