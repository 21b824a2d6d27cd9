//! Opens and replaces files at paths that `paths` has resolved and judged.
//!
//! Nothing here follows a symbolic link: one that has appeared since the path was judged is an
//! error. Nothing here opens a pipe, a socket or a device.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ::files::exact_path;
use rustix::fs::{self as system, AtFlags, Mode, OFlags};
use rustix::io::Errno;

/// The largest file that is loaded whole.
pub(crate) const MAX_LOADED: u64 = 64 << 20;

/// Which file it is, what may be done with it, and when it last changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    mode: u32,
    size: u64,
    modified: (i64, i64),
}

impl Identity {
    /// The identity of an open file.
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

/// What a file was like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fingerprint {
    /// The hash of all it held.
    Content(blake3::Hash),
    /// For a file too large to hash: which file it was, how long, and when it last changed.
    Identity(Identity),
}

impl Fingerprint {
    /// The fingerprint of a file that holds `content`.
    pub(crate) fn of(content: &[u8]) -> Self {
        Self::Content(blake3::hash(content))
    }
}

/// A file as it was at one moment.
pub(crate) struct Snapshot {
    /// Which file it was.
    pub(crate) identity: Identity,
    /// All it held; none past [`MAX_LOADED`].
    pub(crate) content: Option<Vec<u8>>,
    owner: (u32, u32),
}

impl Snapshot {
    /// What tells it from another one.
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
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(exact_path::open(path, flags).map_err(explain)?);
    if file.metadata().map_err(explain)?.is_file() {
        Ok(file)
    } else {
        Err(format!("Not a file: {given}"))
    }
}

/// Loads a regular file; none where there is no file.
pub(crate) fn load(path: &Path, given: &str) -> Result<Option<Snapshot>, String> {
    match std::fs::symlink_metadata(path) {
        Err(error) if is_absence(&error) => return Ok(None),
        _ => {}
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

/// Makes `content` all that the file at `path` holds, or leaves it as it was: a temporary file
/// beside it takes its name. `before` is the file as the caller knows it; one that is not as
/// known is left alone. Mode and owner stay. Missing directories are made.
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
    let (temporary, file) = create_temporary(&directory, before).map_err(explain)?;
    let known = before.map(|before| &before.identity);
    let place = Place { directory: &directory, temporary: &temporary, name, path };
    let taken = fill(file, before, content).map_err(explain).and_then(|()| {
        // Where the file is another one by now, nothing needs to be moved to find that out.
        let is_known = place.identity().as_ref() == known && place.take(known).map_err(explain)?;
        is_known
            .then_some(())
            .ok_or_else(|| format!("{given} changed while it was being written; read it again"))
    });
    // What has the temporary name has no other; one that stays does no harm.
    let _ = system::unlinkat(&directory, &temporary, AtFlags::empty());
    taken?;
    exact_path::sync_directory(&directory).map_err(explain)
}

/// What an error means for the path the caller gave.
pub(crate) fn explain(given: &str, verb: &str, error: &io::Error) -> String {
    if is_absence(error) {
        return format!("File not found: {given}");
    }
    match error.kind() {
        io::ErrorKind::PermissionDenied => format!("Permission denied: {given}"),
        io::ErrorKind::IsADirectory => format!("Not a file: {given}"),
        _ if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            format!("cannot {verb} {given}: a symbolic link took its place meanwhile")
        }
        _ => format!("cannot {verb} {given}: {error}"),
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// A file that is written, and the name that it is to get.
struct Place<'a> {
    directory: &'a OwnedFd,
    temporary: &'a str,
    name: &'a OsStr,
    path: &'a Path,
}

impl Place<'_> {
    /// What has the name at this moment.
    fn identity(&self) -> Option<Identity> {
        std::fs::symlink_metadata(self.path).ok().map(|metadata| Identity::of(&metadata))
    }

    /// Gives the written file the name, if what had it is `known`. Where somebody was faster,
    /// theirs keeps it: the two change places, so that nothing is lost before it was looked at.
    #[cfg(target_os = "linux")]
    fn take(&self, known: Option<&Identity>) -> io::Result<bool> {
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
        let Some(known) = known else {
            return Ok(true);
        };
        if at_side()? == *known {
            return Ok(true);
        }
        // A third one that came meanwhile is the latest: it gets the name again.
        if rename(RenameFlags::EXCHANGE).is_ok() && at_side()?.inode != written.inode {
            // Where this fails, theirs was taken away again by whoever put it there.
            let _ = rename(RenameFlags::EXCHANGE);
        }
        Ok(false)
    }

    #[cfg(not(target_os = "linux"))]
    fn take(&self, _: Option<&Identity>) -> io::Result<bool> {
        self.replace()
    }

    fn replace(&self) -> io::Result<bool> {
        system::renameat(self.directory, self.temporary, self.directory, self.name)?;
        Ok(true)
    }
}

fn create_temporary(
    directory: &OwnedFd,
    before: Option<&Snapshot>,
) -> io::Result<(String, std::fs::File)> {
    // A file that exists keeps its mode, which may be private; one that is created gets the umask.
    let mode = Mode::from_raw_mode(if before.is_some() { 0o600 } else { 0o666 });
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    loop {
        let name = format!(".brynhild-{:016x}.tmp", fastrand::u64(..));
        match system::openat(directory, &name, flags, mode) {
            Ok(descriptor) => return Ok((name, File::from(descriptor))),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
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
    use crate::fixture;

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
