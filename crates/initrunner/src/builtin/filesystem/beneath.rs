//! Reads, lists and writes beneath a directory, by paths of which no part is a symlink. Opens nothing
//! but regular files and directories.

use std::io::{self, Read as _};
use std::path::Path;

use ::files::bounded;
use ::files::exact_path::{self, ExactPath};
use rustix::fs::{Dir, FileType};
use rustix::io::Errno;

use super::super::cut;

const READ_LIMIT: usize = 1 << 20;
const ENTRIES_LIMIT: usize = 2000;

pub(super) fn read(path: &Path) -> Result<String, String> {
    let file = bounded::open_exactly(path).map_err(explained)?;
    let mut bytes = Vec::new();
    file.take(READ_LIMIT as u64 + 1).read_to_end(&mut bytes).map_err(explained)?;
    let is_cut = bytes.len() > READ_LIMIT;
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        // The last character may have been cut.
        Err(error) if is_cut && error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return Err(String::from("it is not UTF-8 text")),
    };
    Ok(if is_cut { cut(text, READ_LIMIT) } else { text.to_owned() })
}

pub(super) fn list(path: &Path) -> Result<String, String> {
    let directory = exact_path::open_directory(path).map_err(explained)?;
    let mut names = Vec::new();
    for entry in Dir::read_from(&directory).map_err(explained)? {
        let entry = entry.map_err(explained)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == "." || name == ".." {
            continue;
        }
        let slash = if entry.file_type() == FileType::Directory { "/" } else { "" };
        names.push(format!("{name}{slash}"));
    }
    names.sort();
    let more = names.len().saturating_sub(ENTRIES_LIMIT);
    names.truncate(ENTRIES_LIMIT);
    if more > 0 {
        names.push(format!("[truncated: {more} more]"));
    }
    Ok(if names.is_empty() { String::from("(empty directory)") } else { names.join("\n") })
}

/// Makes `content` all that a file holds, or leaves it as it was. A file that exists keeps its mode;
/// missing directories are made in `root` and nowhere else.
pub(super) fn write(root: &Path, path: &Path, content: &[u8]) -> Result<(), String> {
    if !root.is_dir() {
        return Err(explained(io::ErrorKind::NotFound));
    }
    let place = ExactPath::open_or_create(path).map_err(explained)?;
    let written = match place.stat().map_err(explained)? {
        Some(found) if FileType::from_raw_mode(found.st_mode) == FileType::RegularFile => {
            let mode = u32::try_from(i64::from(found.st_mode)).unwrap_or(0o600) & 0o7777;
            place.write(content, Some(mode))
        }
        Some(_) => return Err(String::from("it is not a regular file")),
        None => place.write(content, None),
    };
    written.map_err(explained)
}

fn explained(error: impl Into<io::Error>) -> String {
    let error = error.into();
    match error.kind() {
        io::ErrorKind::NotFound => String::from("there is no such file or directory"),
        io::ErrorKind::PermissionDenied => String::from("permission denied"),
        io::ErrorKind::InvalidInput => String::from("it is not a regular file"),
        _ if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            String::from("it is a symbolic link")
        }
        _ => error.to_string(),
    }
}
