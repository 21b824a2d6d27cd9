//! Moves files that a confined process planted out of effect, to a directory in the same file
//! system that no program looks into.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use files::protected::protected;

use crate::pinned_path::PinnedPath;

/// The directory, at the top of a root.
pub(crate) const QUARANTINE: &str = ".brynhild-quarantine";
/// Directories of that name that are tried, and numbers behind a file name.
const DIRECTORIES: usize = 10;
const NUMBERS: usize = 1000;
/// Characters of a name there, of up to four bytes each.
const NAME_LENGTH: usize = 55;

/// Moves `path` below `root` to quarantine and returns its new place. `None` if nothing is there.
pub(crate) fn quarantine(root: &Path, path: &Path) -> io::Result<Option<PathBuf>> {
    if fs::symlink_metadata(path).is_err() {
        return Ok(None);
    }
    // The command may have taken permissions away.
    for directory in [root, path.parent().unwrap_or(root), path] {
        make_writable(directory);
    }
    let mut moved = move_within(root, path);
    if moved.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::CrossesDevices) {
        moved = move_within(path.parent().unwrap_or(root), path);
    }
    match moved {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
        Ok(place) => Ok(Some(place)),
    }
}

/// Gives the owner all permissions of a directory of ours.
pub(crate) fn make_writable(directory: &Path) {
    let user = rustix::process::geteuid().as_raw();
    let Ok(found) = fs::symlink_metadata(directory) else { return };
    if found.is_dir() && found.uid() == user && found.mode() & 0o700 != 0o700 {
        let mode = fs::Permissions::from_mode(found.mode() & 0o7777 | 0o700);
        let _ = PinnedPath::of(directory).and_then(|it| fs::set_permissions(it.path(), mode));
    }
}

fn move_within(base: &Path, path: &Path) -> io::Result<PathBuf> {
    let from = PinnedPath::of(path)?;
    let place = free_place(base, path)?;
    let moved = PinnedPath::of(&place).and_then(|to| fs::rename(from.path(), to.path()));
    if let (Err(_), Some(directory)) = (&moved, place.parent()) {
        // Removes a directory that was created for nothing; one with other files stays.
        let is_empty = fs::read_dir(directory).is_ok_and(|entries| entries.count() < 2);
        if let (true, Ok(made)) = (is_empty, PinnedPath::of(directory)) {
            let _ = fs::remove_file(made.path().join(".gitignore"));
            let _ = fs::remove_dir(made.path());
        }
    }
    moved.map(|()| place)
}

/// A name in the quarantine that is free.
fn free_place(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let name = path.strip_prefix(root).unwrap_or(path);
    let flat = name.to_string_lossy().replace('/', "_");
    // The end of a path says more than its start.
    let start = flat.char_indices().rev().nth(NAME_LENGTH).map_or(0, |(at, _)| at);
    // Programs obey some names with any ending.
    let flat = match &flat[start..] {
        flat if protected(format!("{flat}.1")).is_some() => format!("_{flat}"),
        flat => flat.to_owned(),
    };
    for number in 0..DIRECTORIES {
        let suffix = if number == 0 { String::new() } else { format!("-{number}") };
        let directory = root.join(format!("{QUARANTINE}{suffix}"));
        let pinned = PinnedPath::of(&directory)?;
        if fs::create_dir(pinned.path()).is_ok() {
            // Keeps the files out of commits.
            let _ = fs::write(pinned.path().join(".gitignore"), "*\n");
        } else {
            make_writable(&directory);
        }
        if !fs::symlink_metadata(pinned.path()).is_ok_and(|found| found.is_dir()) {
            continue;
        }
        let mut places = (1..NUMBERS).map(|number| directory.join(format!("{flat}.{number}")));
        if let Some(place) = places.find(|place| fs::symlink_metadata(place).is_err()) {
            return Ok(place);
        }
    }
    Err(io::Error::other(format!("{QUARANTINE} is full")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarantine_moves_a_file_and_ignores_a_missing_one() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        fs::write(root.join("sub/.envrc"), "x").unwrap();
        let place = quarantine(&root, &root.join("sub/.envrc")).unwrap().unwrap();
        assert_eq!(place, root.join(QUARANTINE).join("sub_.envrc.1"));
        assert_eq!(quarantine(&root, &root.join("sub/.envrc")).unwrap(), None);
        fs::write(root.join(".envrc"), "x").unwrap();
        let place = quarantine(&root, &root.join(".envrc")).unwrap().unwrap();
        assert!(protected(place.strip_prefix(&root).unwrap()).is_none(), "{place:?}");
    }
}
