//! Opens and replaces files at paths that `paths` has resolved and checked.
//!
//! Nothing here follows a symlink: one that appeared since the check is an error. Nothing here
//! opens a pipe, a socket or a device.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ::files::{bounded, exact_path};
use rustix::fs::{self as system, AtFlags, Mode};
use rustix::io::Errno;

/// The largest file that is loaded whole.
pub(crate) const MAX_LOADED: u64 = 64 << 20;

/// Differs if the file is another one, changed, or has other permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    mode: u32,
    size: u64,
    modified: (i64, i64),
}

impl Identity {
    pub(crate) fn of(metadata: &std::fs::Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            mode: metadata.mode(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fingerprint {
    Content(blake3::Hash),
    /// For a file that is too large to hash.
    Identity(Identity),
}

impl Fingerprint {
    pub(crate) fn of(content: &[u8]) -> Self {
        Self::Content(blake3::hash(content))
    }
}

/// A file as it was at one moment.
pub(crate) struct Snapshot {
    pub(crate) identity: Identity,
    /// None if it is larger than [`MAX_LOADED`].
    pub(crate) content: Option<Vec<u8>>,
    owner: (u32, u32),
}

impl Snapshot {
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        let identity = || Fingerprint::Identity(self.identity.clone());
        self.content.as_deref().map_or_else(identity, Fingerprint::of)
    }
}

/// Opens a regular file for reading. `given` is the path in the caller's words.
pub(crate) fn open(path: &Path, given: &str) -> Result<File, String> {
    let explain = |error: io::Error| explain(given, "read", &error);
    // Opening a device can have an effect of its own, so look first.
    let before = std::fs::symlink_metadata(path).map_err(explain)?;
    if !before.is_file() && !before.is_symlink() {
        return Err(format!("Not a file: {given}"));
    }
    bounded::open_exactly(path).map_err(explain)
}

/// Loads a regular file; none if there is no file.
pub(crate) fn load(path: &Path, given: &str) -> Result<Option<Snapshot>, String> {
    if std::fs::symlink_metadata(path).is_err_and(|error| is_absence(&error)) {
        return Ok(None);
    }
    let file = open(path, given)?;
    let explain = |error: io::Error| explain(given, "read", &error);
    let metadata = file.metadata().map_err(explain)?;
    let mut content = Vec::new();
    file.take(MAX_LOADED + 1).read_to_end(&mut content).map_err(explain)?;
    Ok(Some(Snapshot {
        identity: Identity::of(&metadata),
        content: (content.len() as u64 <= MAX_LOADED).then_some(content),
        owner: (metadata.uid(), metadata.gid()),
    }))
}

/// Replaces the file at `path` by a temporary file with `content`, or leaves it as it was. Fails if
/// the file is not `before`. Mode and owner stay. Missing directories are made.
pub(crate) fn replace(
    path: &Path,
    given: &str,
    before: Option<&Snapshot>,
    content: &[u8],
) -> Result<(), String> {
    let explain = |error: io::Error| explain(given, "write", &error);
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(format!("Not a file: {given}"));
    };
    let directory = exact_path::make_directories(parent).map_err(explain)?;
    if before.is_some() {
        let writable = system::Access::WRITE_OK;
        system::accessat(&directory, name, writable, AtFlags::empty())
            .map_err(|error| explain(error.into()))?;
    }
    // A file that exists keeps its mode, which may be private; a new one gets the umask.
    let mode = Mode::from_raw_mode(if before.is_some() { 0o600 } else { 0o666 });
    let (temporary, file) = exact_path::create_temporary(&directory, mode).map_err(explain)?;
    let known = before.map(|before| &before.identity);
    let replacement = Replacement { directory: &directory, temporary: &temporary, name, path };
    let taken = fill(file, before, content).map_err(explain).and_then(|()| {
        // If the file is already another one, nothing needs to be moved.
        let is_known = replacement.present().as_ref() == known
            && replacement.rename(known).map_err(explain)?;
        is_known
            .then_some(())
            .ok_or_else(|| format!("{given} changed while it was being written; read it again"))
    });
    // A temporary file that stays does no harm.
    let _ = system::unlinkat(&directory, &temporary, AtFlags::empty());
    taken?;
    exact_path::sync_directory(&directory).map_err(explain)
}

/// The message about a path that the caller gave.
pub(crate) fn explain(given: &str, verb: &str, error: &io::Error) -> String {
    if is_absence(error) {
        return format!("File not found: {given}");
    }
    match error.kind() {
        io::ErrorKind::PermissionDenied => format!("Permission denied: {given}"),
        io::ErrorKind::IsADirectory | io::ErrorKind::InvalidInput => format!("Not a file: {given}"),
        _ if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            format!("cannot {verb} {given}: a symbolic link replaced it in the meantime")
        }
        _ => format!("cannot {verb} {given}: {error}"),
    }
}

pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// A temporary file, and the name that it will get.
struct Replacement<'a> {
    directory: &'a OwnedFd,
    temporary: &'a str,
    name: &'a OsStr,
    path: &'a Path,
}

impl Replacement<'_> {
    /// The file that has the name now.
    fn present(&self) -> Option<Identity> {
        std::fs::symlink_metadata(self.path).ok().map(|metadata| Identity::of(&metadata))
    }

    /// Gives the temporary file the name if the file that has it is `known`. The two files are
    /// exchanged, so that a file that another process put there is not lost.
    #[cfg(target_os = "linux")]
    fn rename(&self, known: Option<&Identity>) -> io::Result<bool> {
        use system::RenameFlags;
        let rename = |flags| {
            system::renameat_with(self.directory, self.temporary, self.directory, self.name, flags)
        };
        let beside = self.path.with_file_name(self.temporary);
        let at_side = || std::fs::symlink_metadata(&beside).map(|it| Identity::of(&it));
        let written = at_side()?;
        let flags = if known.is_some() { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
        match rename(flags) {
            Ok(()) => {}
            Err(Errno::EXIST | Errno::NOENT) => return Ok(false),
            // Not every file system can do it.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => return self.replace(),
            Err(error) => return Err(error.into()),
        }
        let Some(known) = known else { return Ok(true) };
        if at_side()? == *known {
            return Ok(true);
        }
        // A third file that appeared in between is the latest: it gets the name again.
        if rename(RenameFlags::EXCHANGE).is_ok() && at_side()?.inode != written.inode {
            // If this fails, another process has removed that file again.
            let _ = rename(RenameFlags::EXCHANGE);
        }
        Ok(false)
    }

    #[cfg(not(target_os = "linux"))]
    fn rename(&self, _: Option<&Identity>) -> io::Result<bool> {
        self.replace()
    }

    fn replace(&self) -> io::Result<bool> {
        system::renameat(self.directory, self.temporary, self.directory, self.name)?;
        Ok(true)
    }
}

fn fill(mut file: File, before: Option<&Snapshot>, content: &[u8]) -> io::Result<()> {
    file.write_all(content)?;
    if let Some(before) = before {
        let created = file.metadata()?;
        if (created.uid(), created.gid()) != before.owner {
            // Only a privileged process can give a file away; others keep their own.
            drop(std::os::unix::fs::fchown(&file, Some(before.owner.0), Some(before.owner.1)));
        }
        system::fchmod(&file, Mode::from_raw_mode(before.identity.mode & 0o7777))?;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::tests::fixture;

    #[test]
    fn write_does_not_follow_a_swapped_in_symlink() {
        let directory = fixture::directory();
        let root = directory.path();
        std::fs::create_dir(root.join("outside")).unwrap();
        symlink(root.join("outside"), root.join("swapped")).unwrap();
        let error = replace(&root.join("swapped/file"), "swapped/file", None, b"x");
        assert!(error.is_err());
        assert!(!root.join("outside/file").exists());

        std::fs::write(root.join("victim"), "safe").unwrap();
        symlink(root.join("victim"), root.join("link")).unwrap();
        let error = replace(&root.join("link"), "link", None, b"x").unwrap_err();
        assert_eq!(error, "link changed while it was being written; read it again");
        assert_eq!(std::fs::read(root.join("victim")).unwrap(), b"safe");
    }

    #[test]
    fn a_failed_write_leaves_neither_a_change_nor_a_temporary_file() {
        let directory = fixture::directory();
        let path = directory.path().join("file");
        std::fs::write(&path, "one").unwrap();
        let before = load(&path, "file").unwrap();
        std::fs::write(&path, "other").unwrap();
        assert!(replace(&path, "file", before.as_ref(), b"two").is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"other");
        let before = load(&path, "file").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(replace(&path, "file", before.as_ref(), b"two").is_err());
        assert!(replace(&path, "file", None, b"two").is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"other");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_replaced_file_keeps_its_mode() {
        let directory = fixture::directory();
        let path = directory.path().join("script");
        std::fs::write(&path, "one").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o751)).unwrap();
        let before = load(&path, "script").unwrap();
        replace(&path, "script", before.as_ref(), b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o751);
    }

    #[test]
    fn special_files_are_never_opened() {
        let directory = fixture::directory();
        let pipe = directory.path().join("pipe");
        system::mknodat(system::CWD, &pipe, system::FileType::Fifo, Mode::from_raw_mode(0o600), 0)
            .unwrap();
        assert_eq!(open(&pipe, "pipe").unwrap_err(), "Not a file: pipe");
        assert_eq!(open(Path::new("/dev/zero"), "zero").unwrap_err(), "Not a file: zero");
        assert_eq!(open(directory.path(), "it").unwrap_err(), "Not a file: it");
        assert!(load(&pipe, "pipe").is_err());
    }
}
