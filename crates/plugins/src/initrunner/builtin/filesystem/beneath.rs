//! Opens and writes what lies beneath a directory. No step of a path is a symbolic link, also where one
//! appears between the look and the deed, and nothing but regular files is opened.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{self as system, AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::super::cut;

/// Bytes of a file that are read.
const READ: usize = 1 << 20;
/// Entries of a directory that are listed.
const LISTED: usize = 2000;

const DIRECTORY: OFlags =
    STEP.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A step needs the right to pass through a directory, not to list it, where the system can say so.
#[cfg(target_os = "linux")]
const STEP: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const STEP: OFlags = OFlags::RDONLY;

/// What is to happen with directories that do not exist.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Make,
    Fail,
}

/// The text of a file.
pub(super) fn read(root: &Path, path: &Path) -> Result<String, String> {
    let name = path.file_name().ok_or("it is no file")?;
    let directory = directory(root, parent(path), Missing::Fail).map_err(said)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = system::openat(&directory, name, flags, Mode::empty()).map_err(said)?;
    let file = File::from(file);
    if !file.metadata().map_err(said)?.is_file() {
        return Err(String::from("it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(READ as u64 + 1).read_to_end(&mut bytes).map_err(said)?;
    let is_cut = bytes.len() > READ;
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        // The last character may have been cut.
        Err(error) if is_cut && error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return Err(String::from("it is not UTF-8 text")),
    };
    Ok(if is_cut { cut(text, READ) } else { text.to_owned() })
}

/// The names in a directory, one a line, those of directories with a slash behind.
pub(super) fn list(root: &Path, path: &Path) -> Result<String, String> {
    let directory = directory(root, path, Missing::Fail).map_err(said)?;
    let mut names = Vec::new();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = system::openat(&directory, ".", flags, Mode::empty()).map_err(said)?;
    for entry in Dir::read_from(&directory).map_err(said)? {
        let entry = entry.map_err(said)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == "." || name == ".." {
            continue;
        }
        let slash = if entry.file_type() == FileType::Directory { "/" } else { "" };
        names.push(format!("{name}{slash}"));
    }
    names.sort();
    let more = names.len().saturating_sub(LISTED);
    names.truncate(LISTED);
    if more > 0 {
        names.push(format!("[truncated: {more} more]"));
    }
    Ok(if names.is_empty() { String::from("(empty directory)") } else { names.join("\n") })
}

/// Makes `content` all that a file holds, or leaves it as it was.
pub(super) fn write(root: &Path, path: &Path, content: &[u8]) -> Result<(), String> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or("it is no file")?;
    let directory = directory(root, parent(path), Missing::Make).map_err(said)?;
    let before = match system::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::RegularFile => Some(found),
        Ok(_) => return Err(String::from("it is no regular file")),
        Err(Errno::NOENT) => None,
        Err(error) => return Err(said(error)),
    };
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let temporary = format!(".brynhild-{}-{count}.tmp", std::process::id());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // What exists keeps its mode, which may be private; what is made gets the usual one.
    let mode = Mode::from_raw_mode(if before.is_some() { 0o600 } else { 0o666 });
    let file = system::openat(&directory, &temporary, flags, mode).map_err(said)?;
    let written = fill(File::from(file), before.map(|it| it.st_mode), content)
        .and_then(|()| Ok(system::renameat(&directory, &temporary, &directory, name)?));
    if written.is_err() {
        // The first error says what went wrong; a temporary file that stays does no harm.
        let _ = system::unlinkat(&directory, &temporary, AtFlags::empty());
    }
    written.map_err(said)
}

fn fill(mut file: File, mode: Option<system::RawMode>, content: &[u8]) -> io::Result<()> {
    file.write_all(content)?;
    if let Some(mode) = mode {
        system::fchmod(&file, Mode::from_raw_mode(mode & 0o7777))?;
    }
    file.sync_all()
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// Opens a directory one step at a time from `/`: a command may have put a link in the place of the root, too.
fn directory(root: &Path, path: &Path, missing: Missing) -> io::Result<OwnedFd> {
    let mut directory = system::open("/", DIRECTORY, Mode::empty())?;
    for name in root.strip_prefix("/").unwrap_or(root) {
        directory = system::openat(&directory, name, DIRECTORY, Mode::empty())?;
    }
    for name in path {
        directory = match system::openat(&directory, name, DIRECTORY, Mode::empty()) {
            Err(Errno::NOENT) if missing == Missing::Make => {
                match system::mkdirat(&directory, name, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                system::openat(&directory, name, DIRECTORY, Mode::empty())?
            }
            other => other?,
        };
    }
    Ok(directory)
}

fn said(error: impl Into<io::Error>) -> String {
    let error = error.into();
    match error.kind() {
        io::ErrorKind::NotFound => String::from("there is no such file or directory"),
        io::ErrorKind::PermissionDenied => String::from("permission denied"),
        _ if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            String::from("it is a symbolic link")
        }
        _ => error.to_string(),
    }
}
