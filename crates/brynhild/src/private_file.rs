//! Files that are the user's own and must survive a crash: one writer at a time, synced before
//! anything relies on them, readable by their owner alone.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::Access;

/// The most that is read of such a file.
pub(crate) const LARGEST: u64 = 16 << 20;

/// Opens a file to read it, and nothing else: a pipe would wait for somebody who writes.
fn open(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is no regular file"))
    }
}

/// What is said of a file that is not there, because a link at its place or on the way to it leads
/// nowhere: somebody meant a file to be there, which may forbid something.
pub(crate) fn lost(path: &Path) -> Option<String> {
    let link = path.ancestors().find(|it| it.is_symlink() && !it.exists())?;
    let target = std::fs::read_link(link).ok()?;
    Some(format!(
        "{} is a link to {}, and nothing is there; put it there, or remove the link",
        link.display(),
        target.display()
    ))
}

/// Reads a file; none where there is none.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match open(path) {
        Ok(file) => file,
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return lost(path).map_or(Ok(None), |words| Err(io::Error::other(words)));
        }
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len().min(LARGEST);
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default() + 1);
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::other("it is larger than 16 MiB"));
    }
    Ok(Some(bytes))
}

/// Reads the last `most` bytes of a file of any length; nothing where there is none.
pub(crate) fn read_end(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    file.seek(io::SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Makes the directory of a file, for its owner alone.
pub(crate) fn make_directory(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(directory) => DirBuilder::new().recursive(true).mode(0o700).create(directory),
        None => Ok(()),
    }
}

/// Whether files can be put into a directory, which is made where there is none.
pub(crate) fn is_writable(directory: &Path) -> bool {
    let wanted = Access::WRITE_OK | Access::EXEC_OK;
    make_directory(&directory.join("file")).is_ok() && rustix::fs::access(directory, wanted).is_ok()
}

/// Whether something could be kept in a directory, which need not be there yet.
pub(crate) fn may_be_writable(directory: &Path) -> bool {
    let wanted = Access::WRITE_OK | Access::EXEC_OK;
    let nearest = directory.ancestors().find(|it| it.symlink_metadata().is_ok());
    nearest.is_some_and(|it| it.is_dir() && rustix::fs::access(it, wanted).is_ok())
}

/// Keeps other programs of this kind from changing a file until the result is dropped.
pub(crate) fn lock(path: &Path) -> io::Result<File> {
    make_directory(path)?;
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(beside(path, "lock"))?;
    lock.lock()?;
    Ok(lock)
}

/// Puts `bytes` in place of a file whose lock is held: a reader sees the old or the new, whole.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    make_directory(path)?;
    let draft = beside(path, "draft");
    // One that is left over was never finished.
    if let Err(error) = std::fs::remove_file(&draft)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&draft, path)?;
    sync_directory(path)
}

/// Adds a line to a file whose lock is held. A line that broke off earlier stays apart from it.
pub(crate) fn append(path: &Path, line: &str) -> io::Result<()> {
    let is_whole = read_end(path, 1)?.iter().all(|byte| *byte == b'\n');
    let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    let seal = if is_whole { "" } else { "\n" };
    file.write_all(format!("{seal}{line}\n").as_bytes())?;
    file.sync_all()?;
    sync_directory(path)
}

fn sync_directory(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |directory| File::open(directory)?.sync_all())
}

fn beside(path: &Path, kind: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(kind);
    name.into()
}
