//! The files of conversation logs: made without ever overwriting one, found again, read.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use contract::id::Timestamp;
use files::private;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use serde::Serialize;
use serde_json::Value;

use super::{Error, Settings};
use crate::error::cannot;
use crate::reader::{Line, Lines};

/// The kind of a log file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A conversation.
    Conversation,
    /// Requests and responses of providers.
    Raw,
}

impl Kind {
    fn holds(self, name: &str) -> bool {
        let stem = name.strip_suffix(".jsonl").filter(|stem| stem.starts_with("brynhild_"));
        stem.is_some_and(|stem| stem.starts_with("brynhild_raw_") == (self == Self::Raw))
    }
}

/// A log file as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogFile {
    /// The file.
    pub path: PathBuf,
    /// Its name.
    pub name: String,
    /// Its length in bytes.
    pub size: u64,
    /// When it was last written to.
    pub modified: Timestamp,
}

/// The logs of a directory, the one that was last written to first.
pub fn list(directory: &Path, kind: Kind) -> Result<Vec<LogFile>, Error> {
    let mut logs = Vec::new();
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(logs),
        Err(error) => return Err(cannot("read the directory", directory)(error).into()),
    };
    for entry in entries {
        let entry = entry.map_err(cannot("read the directory", directory))?;
        let name = entry.file_name().into_string().ok().filter(|name| kind.holds(name));
        let metadata = entry.metadata().ok().filter(fs::Metadata::is_file);
        let (Some(name), Some(metadata)) = (name, metadata) else { continue };
        let at = metadata.modified().ok().and_then(|at| jiff::Timestamp::try_from(at).ok());
        let modified = Timestamp(at.unwrap_or(jiff::Timestamp::UNIX_EPOCH));
        logs.push(LogFile { path: entry.path(), name, size: metadata.len(), modified });
    }
    logs.sort_by(|a, b| (b.modified, &b.name).cmp(&(a.modified, &a.name)));
    Ok(logs)
}

/// The log that `name` means: a path, the name of a file in the directory, or without a name the log
/// that was last written to.
pub fn locate(directory: &Path, kind: Kind, name: Option<&str>) -> Result<PathBuf, Error> {
    let not_found =
        || Error::NotFound { directory: directory.to_owned(), name: name.map(str::to_owned) };
    let Some(name) = name else {
        let newest = list(directory, kind)?.into_iter().next();
        return newest.map(|log| log.path).ok_or_else(not_found);
    };
    let candidates = [PathBuf::from(name), directory.join(name)];
    let found = candidates.into_iter().find(|path| path.is_file());
    found.ok_or_else(not_found)
}

/// The lines of a log, and how many could not be read.
pub fn read(path: &Path) -> Result<(Vec<Value>, u64), Error> {
    let file = File::open(path).map_err(cannot("read", path))?;
    let mut lines = Lines::new(BufReader::new(file));
    let (mut values, mut skipped) = (Vec::new(), 0);
    while let Some(line) = lines.next().map_err(cannot("read", path))? {
        let value = match line {
            Line::Bytes(b"") => continue,
            Line::Bytes(line) => serde_json::from_slice(line).ok(),
            Line::TooLong => None,
        };
        match value {
            Some(value @ Value::Object(_)) => values.push(value),
            _ => skipped += 1,
        }
    }
    Ok((values, skipped))
}

/// Makes a log file that is named for the moment; a number tells logs of one second apart.
pub(super) fn create(
    settings: &Settings,
    at: Timestamp,
    prefix: &str,
) -> Result<(PathBuf, File), Error> {
    let directory = open_directory(settings)?;
    prune(settings, &directory, prefix)?;
    let local = at.0.to_zoned(settings.zone.clone());
    let stem = format!("{prefix}_{}", local.strftime("%Y%m%d_%H%M%S"));
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mut number = 1;
    loop {
        let name = match number {
            1 => format!("{stem}.jsonl"),
            _ => format!("{stem}_{number}.jsonl"),
        };
        let path = settings.directory.join(&name);
        match rustix::fs::openat(&directory, &name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => return Ok((path, file.into())),
            Err(Errno::EXIST) => number += 1,
            Err(error) => return Err(cannot("create", &path)(error).into()),
        }
    }
}

/// Deletes the oldest logs of a kind, so that one more does not exceed the limit.
fn prune(settings: &Settings, directory: &File, prefix: &str) -> Result<(), Error> {
    let Some(limit) = settings.limit else { return Ok(()) };
    let kind = if prefix == "brynhild_raw" { Kind::Raw } else { Kind::Conversation };
    for log in list(&settings.directory, kind)?.iter().skip(limit.saturating_sub(1)) {
        match rustix::fs::unlinkat(directory, &log.name, AtFlags::empty()) {
            // Another process may have deleted it.
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(cannot("delete", &log.path)(error).into()),
        }
    }
    Ok(())
}

/// Opens a log file that the user named, at its end.
pub(super) fn open_named(path: &Path) -> Result<File, Error> {
    let mut file = private::append(path).map_err(cannot("open", path))?;
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(-1)).is_ok() {
        file.read_exact(&mut last).map_err(cannot("read", path))?;
    }
    if last != [b'\n'] {
        file.write_all(b"\n").map_err(cannot("write", path))?;
    }
    Ok(file)
}

/// Opens the directory and makes sure that it is ours: names in a shared place can be taken by
/// others beforehand.
fn open_directory(settings: &Settings) -> Result<File, Error> {
    let path = &settings.directory;
    let refuse = |why| Error::Unsafe { directory: path.clone(), why };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = rustix::fs::lstat(path);
    if matches!(found, Err(Errno::NOENT)) {
        private::make_directory(path).map_err(cannot("create the directory", path))?;
    } else if let Ok(stat) = found {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {}
            FileType::Symlink => return Err(refuse("is a symbolic link")),
            _ => return Err(refuse("is not a directory")),
        }
    }
    let directory =
        rustix::fs::open(path, flags, Mode::empty()).map_err(cannot("open the directory", path))?;
    let stat = rustix::fs::fstat(&directory).map_err(cannot("open the directory", path))?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(refuse("belongs to another user"));
    }
    if settings.private && stat.st_mode & 0o077 != 0 {
        rustix::fs::fchmod(&directory, Mode::RWXU).map_err(cannot("close to others", path))?;
    }
    Ok(directory.into())
}

/// The session that a log is about, which its first line names.
pub fn session_of(path: &Path) -> Option<String> {
    let mut line = String::new();
    BufReader::new(File::open(path).ok()?).read_line(&mut line).ok()?;
    let line: Value = serde_json::from_str(&line).ok()?;
    Some(line["session_id"].as_str()?.to_owned())
}
